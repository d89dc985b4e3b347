"""Deliveries that are right, forged, old, malformed, or signed by several secrets."""
import base64
import hmac
import json
import time
import unittest
from email.message import Message

import kit
from holdfast import HoldfastError, Receiver

KEYS = [bytes([i] * 32) for i in range(3)]
SECRETS = [f'whsec_{base64.b64encode(key).decode()}' for key in KEYS]
BODY = '{"id":"7-12-3","type":"stock.out","at":"..","data":{"sku":"Tasse weiß","available":0}}'.encode()


def delivery(*keys, body=BODY, sent=None, name='7-12-3'):
    sent = str(int(time.time()) if sent is None else sent)
    signed = f'{name}.{sent}.'.encode() + body
    made = [base64.b64encode(hmac.digest(key, signed, 'sha256')).decode() for key in keys]
    return {'webhook-id': name, 'webhook-timestamp': sent, 'webhook-signature': ' '.join(f'v1,{one}' for one in made)}


class Deliveries(unittest.TestCase):
    def refused(self, headers, body=BODY, receiver=None):
        with self.assertRaises(HoldfastError, msg=headers) as caught:
            (receiver or Receiver(SECRETS[0])).verify(headers, body)
        self.assertEqual(caught.exception.code, 'bad_signature')

    def test_signatures_that_the_service_made(self):
        """Those of tests/contract/signatures.tsv, which libraries of others take, too."""
        with open(kit.PROJECT / 'tests' / 'contract' / 'signatures.tsv', encoding='utf-8', newline='\n') as file:
            rows = [line.rstrip('\n').split('\t') for line in file]
        self.assertGreater(len(rows), 5)
        for secrets, name, sent, signature, body in rows:
            headers = {'webhook-id': name, 'webhook-timestamp': sent, 'webhook-signature': signature}
            for secret in secrets.split(','):
                receiver = Receiver(secret, tolerance_s=1e12)
                self.assertEqual(receiver.verify(headers, body.encode()), json.loads(body))
                self.refused(headers, body.encode() + b' ', receiver)

    def test_right_ones(self):
        self.assertEqual(Receiver(SECRETS[0]).verify(delivery(KEYS[0]), BODY), json.loads(BODY))
        for secrets, keys in ((SECRETS[:2], KEYS[:1]), (SECRETS[:2], KEYS[1:2]), (SECRETS[1:2], KEYS), (SECRETS, KEYS)):
            Receiver(secrets).verify(delivery(*keys), BODY)
        for sent in (-290, 290):
            Receiver(SECRETS[0]).verify(delivery(KEYS[0], sent=int(time.time()) + sent), BODY)
        Receiver(SECRETS[0], tolerance_s=1e9).verify(delivery(KEYS[0], sent=1600000000), BODY)

    def test_headers_of_several_kinds(self):
        headers = delivery(KEYS[0])
        message = Message()
        for name, value in headers.items():
            message[name.title()] = value
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]     # of ASGI
        capitals = {name.upper(): value for name, value in headers.items()}
        others = {**headers, 'webhook-signature': f'v1a,x v2,y {headers["webhook-signature"]} v1,z'}
        for one in (headers, capitals, message, pairs, tuple(headers.items()), others):
            Receiver(SECRETS[0]).verify(one, BODY)

    def test_forged_ones(self):
        right = delivery(KEYS[0])
        self.refused(right, BODY + b' ')
        self.refused(delivery(KEYS[1]))
        self.refused({**right, 'webhook-id': '7-12-4'})
        self.refused({**right, 'webhook-timestamp': str(int(right['webhook-timestamp']) + 1)})
        good = right['webhook-signature']
        for signature in ('', 'v1,', 'v1', good[3:], good.replace('v1,', 'v1a,'), good[:-1], f'{good}\n', 'v1,ü',
                          'v1,\ud800', f'{good},{good}'):
            self.refused({**right, 'webhook-signature': signature})

    def test_old_and_malformed_ones(self):
        now = int(time.time())
        for sent in (now - 310, now + 310, 0, f'{now}.5', f' {now}', f'+{now}', f'{now}\n', f'{now * 1000}', '', 'now',
                     '９' * 10, '9' * 400, '1_0', '-1', 'nan'):
            self.refused(delivery(KEYS[0], sent=sent))
        right = delivery(KEYS[0])
        for name in right:
            self.refused({other: value for other, value in right.items() if other != name})
        self.refused([*right.items(), ('webhook-id', '7-12-3')])

    def test_use_that_cannot_be_right(self):
        safe, long = base64.urlsafe_b64encode(b'\xff' * 32).decode(), base64.b64encode(b'x' * 65).decode()
        for secret in ('', 'whsec_', SECRETS[0][6:], 'whsec_AAAAAAAA', f'whsec_{safe}', f'whsec_{long}',
                       f'{SECRETS[0]}\n'):
            with self.assertRaises(ValueError, msg=secret):
                Receiver(secret)
        with self.assertRaises(ValueError):
            Receiver([])
        with self.assertRaises(TypeError):
            Receiver(SECRETS[0]).verify(delivery(KEYS[0]), BODY.decode())

    def test_signatures_are_compared_in_constant_time(self):
        """Each given signature is compared with each key by hmac.compare_digest, also behind the right one."""
        compared = []
        true = hmac.compare_digest
        hmac.compare_digest = lambda a, b: compared.append(1) or true(a, b)
        self.addCleanup(setattr, hmac, 'compare_digest', true)
        Receiver(SECRETS).verify(delivery(*KEYS[:2]), BODY)
        self.assertEqual(len(compared), 6)


if __name__ == '__main__':
    unittest.main()
