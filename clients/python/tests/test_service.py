"""The clients and the real service: what its answers look like through them, lists, the feed, and a webhook."""
import asyncio
import contextlib
import inspect
import os
import subprocess
import sys
import tempfile
import unittest

import kit
from kit import with_each

from holdfast import AsyncHoldfast, Holdfast, HoldfastError


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = kit.Service('--jobs=expire,deliver', '--webhooks-allow', '127.0.0.1/32')
        cls.addClassCleanup(cls.service.end)
        cls.made = 0

    def each(self, check):
        """Each client on skus and orders of its own."""
        def with_names(client, _):
            Real.made += 1
            check(client, f'SKU {Real.made}/ä', f'#{Real.made}')

        with_each(self, lambda: contextlib.nullcontext(self.service), with_names)

    def receive(self, client, sku, order, qty):
        return client.call('move', {'movement_id': f'M{order}', 'kind': 'receipt', 'lines': [{'sku': sku, 'qty': qty}]})

    def refused(self, client, name, *arguments):
        with self.assertRaises(HoldfastError) as caught:
            client.call(name, *arguments)
        return caught.exception

    def test_an_order_from_the_basket_to_the_parcel(self):
        def check(client, sku, order):
            self.assertEqual(self.receive(client, sku, order, 5)['new_skus'], [sku])
            body = {'order_id': order, 'lines': [{'sku': sku, 'qty': 2}]}
            held = client.call('reserve', body)
            self.assertEqual((held['state'], 'replayed' in held), ('held', False))
            self.assertTrue(client.call('reserve', body)['replayed'])
            self.assertEqual(client.call('confirm', order)['state'], 'confirmed')
            short = self.refused(client, 'reserve', {'order_id': f'{order}-2', 'lines': [{'sku': sku, 'qty': 4}]})
            self.assertEqual((short.code, short.lines),
                             ('short', [{'sku': sku, 'location': 'main', 'requested': 4, 'available': 3}]))
            self.assertEqual(client.call('settle', order)['state'], 'settled')
            self.assertEqual(client.call('sku', sku)['on_hand'], 3)
            reused = self.refused(client, 'reserve', {'order_id': order, 'lines': [{'sku': sku, 'qty': 1}]})
            self.assertEqual(reused.code, 'order_id_reused')
            over = client.call('release', client.call('reserve', {
                'order_id': f'{order}-3', 'lines': [{'sku': sku, 'qty': 1}]})['order_id'])
            self.assertEqual(over['state'], 'released')
            again = self.refused(client, 'reserve', {'order_id': f'{order}-3', 'lines': [{'sku': sku, 'qty': 1}]})
            self.assertEqual((again.code, again.replayed, again.problem['reservation']['state']),
                             ('released', True, 'released'))
            wrong = self.refused(client, 'reserve', {'order_id': order, 'lines': [{'sku': sku, 'qty': 1.5}]})
            self.assertEqual((wrong.code, wrong.field), ('invalid_request', 'lines[0].qty'))
            self.assertIsNone(client.call('delete_webhook', order))
            self.assertEqual([event['type'] for event in client.items('history', order)],
                             ['reservation.settled', 'reservation.confirmed', 'reservation.held'])

        self.each(check)

    def test_lists_page_by_page(self):
        def check(client, sku, order):
            client.call('move', {'movement_id': f'M{order}', 'kind': 'receipt',
                                 'lines': [{'sku': f'{sku}-{i:02}', 'qty': i + 1} for i in range(25)]})
            listed = client.items('skus', {'prefix': sku, 'limit': 10})
            self.assertEqual([item['available'] for item in listed], list(range(1, 26)))

        self.each(check)
        with Holdfast(self.service.url) as client:
            self.assertEqual(len(client.skus({'limit': 1}).page()['items']), 1)
            self.assertEqual(len(next(client.skus({'limit': 20, 'prefix': 'SKU'}).pages())['items']), 20)

    def test_each_call_of_the_contract_is_one_that_the_service_knows(self):
        """Whatever is said to its arguments, no call is `not_found` or `method_not_allowed`."""
        with Holdfast(self.service.url) as client:
            methods = [name for name, call in vars(type(client).__mro__[1]).items() if not name.startswith('_')]
            for name in methods:
                method = getattr(client, name)
                needed = [parameter for parameter in inspect.signature(method).parameters.values()
                          if parameter.default is parameter.empty]
                arguments = [{'id': 'x'} if one.name == 'body' else 1 for one in needed]
                try:
                    answer = method(*arguments)
                    getattr(answer, 'page', lambda: None)()
                except HoldfastError as error:
                    self.assertNotIn(error.code, ('not_found', 'method_not_allowed', 'bad_answer', 'no_answer'), name)
            self.assertGreater(len(methods), 50)

    def test_the_feed(self):
        with Holdfast(self.service.url) as client:
            cursor = client.events({'after': 'now'})['next_cursor']
            for i in range(5):
                client.move({'movement_id': f'F{i}', 'kind': 'receipt', 'lines': [{'sku': 'FEED', 'qty': 1}]})
            seen = []
            for page in client.follow({'after': cursor, 'limit': 2, 'wait_s': 1, 'types': 'movement.receipt'}):
                self.assertLessEqual(len(page['items']), 2)
                seen += [event['data']['movement_id'] for event in page['items'] if event['type'] == 'movement.receipt']
                if len(seen) >= 5:
                    break
            self.assertEqual(seen, [f'F{i}' for i in range(5)])

        async def follow():
            async with AsyncHoldfast(self.service.url) as client:
                async for page in client.follow({'after': cursor, 'types': 'movement.receipt'}):
                    return [event['id'] for event in page['items']]

        self.assertEqual(len(asyncio.run(follow())), 5)
        asyncio.run(follow())           # another loop
        with Holdfast(self.service.url) as client, self.assertRaises(HoldfastError) as caught:
            next(client.follow({'after': 'nonsense'}))
        self.assertEqual(caught.exception.code, 'invalid_request')

    def test_the_example_of_a_receiver(self):
        port = kit.free_port()
        folder = tempfile.mkdtemp()
        self.addCleanup(kit.shutil.rmtree, folder)
        with Holdfast(self.service.url) as client:
            asked = {'webhook_id': 'w', 'url': f'http://127.0.0.1:{port}/', 'types': ['movement.count']}
            hook = client.make_webhook(asked)
            self.assertNotIn('secret', client.make_webhook(asked))
            receiver = subprocess.Popen(
                [sys.executable, str(kit.HERE.parent / 'examples' / 'receiver.py'), str(port)], cwd=folder, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, 'HOLDFAST_SECRET': hook['secret'], 'PYTHONPATH': str(kit.HERE.parent)})
            self.addCleanup(receiver.wait)
            self.addCleanup(receiver.kill)
            self.addCleanup(receiver.stdout.close)
            self.assertEqual(receiver.stdout.readline(), 'ready\n')
            client.rotate_webhook('w')              # the receiver knows the secret of before
            client.move({'movement_id': 'C1', 'kind': 'receipt', 'lines': [{'sku': 'C', 'qty': 1}]})
            client.move({'movement_id': 'C2', 'kind': 'count', 'lines': [{'sku': 'C', 'counted': 3}]})
            self.assertEqual(receiver.stdout.readline(), 'movement.count\n')
            forged = kit.urllib.request.Request(f'http://127.0.0.1:{port}/', b'{}', {
                'webhook-id': '1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,forged'})
            with self.assertRaises(kit.urllib.error.HTTPError) as caught:
                kit.urllib.request.urlopen(forged)
            caught.exception.close()
            self.assertEqual(caught.exception.code, 401)
            kit.wait_until(lambda: client.webhook('w').get('last_status') == 204, 'the delivery is noted')
            client.delete_webhook('w')


class Secure(unittest.TestCase):
    def test_keys_and_tls(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(kit.shutil.rmtree, folder)
        trust = kit.certificate(folder, 'IP:127.0.0.1')
        keys = {}
        for role in ('admin', 'read'):
            made = subprocess.run([kit.PROGRAM, 'key', 'new', f'{role}-1', role, '--keys', f'{folder}/keys'],
                                  check=True, text=True, stdout=subprocess.PIPE)
            keys[role] = made.stdout.split()[-1]
        service = kit.Service('--keys', f'{folder}/keys', '--tls-cert', f'{folder}/cert', '--tls-key', f'{folder}/key',
                              tls=trust)
        self.addCleanup(service.end)
        big = {'movement_id': 'M', 'kind': 'receipt', 'lines': [{'sku': f'S{i}' * 20, 'qty': 1} for i in range(1000)]}
        for key, code in (('nonsense', 'unauthorized'), (None, 'unauthorized'), (keys['read'], 'forbidden')):
            def is_refused(client, _):
                with self.assertRaises(HoldfastError) as caught:
                    client.call('move', big)
                self.assertEqual((caught.exception.code, caught.exception.tries), (code, 1))

            with_each(self, lambda: contextlib.nullcontext(service), is_refused, key=key, tls=trust)

        def works(client, _):
            self.assertEqual(client.call('key')['name'], 'admin-1')
            self.assertEqual(len(client.call('move', big)['lines']), 1000)
            self.assertEqual(len(client.items('skus', {'limit': 100})), 1000)

        with_each(self, lambda: contextlib.nullcontext(service), works, key=keys['admin'], tls=trust)


if __name__ == '__main__':
    unittest.main()
