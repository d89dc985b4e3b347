#!/usr/bin/env python3
"""Verifies signatures of webhooks by the letter of Standard Webhooks 1.0, with what Python has by itself.

signatures.py FILE, of which a line has: secrets divided by commas, id, time, value of webhook-signature, body, with tabs
between.
"""
import base64
import hashlib
import hmac
import sys


def verified(secret, id, time, signed, body):
    assert secret.startswith('whsec_')
    key = base64.b64decode(secret.removeprefix('whsec_'), validate=True)
    assert 24 <= len(key) <= 64
    mac = hmac.new(key, f'{id}.{time}.{body}'.encode(), hashlib.sha256).digest()
    wanted = base64.b64encode(mac).decode()
    return any(hmac.compare_digest(f'v1,{wanted}', one) for one in signed.split(' '))


def main():
    count = 0
    with open(sys.argv[1], encoding='utf-8', newline='\n') as file:
        for line in file:
            secrets, id, time, signed, body = line.rstrip('\n').split('\t')
            assert len(signed.split(' ')) == len(secrets.split(','))
            for secret in secrets.split(','):
                assert verified(secret, id, time, signed, body), line
                assert not verified(secret, id, time, signed, body + ' ')
                assert not verified(secret, id, time + '0', signed, body)
                count += 1
    print(f'{count} signatures are good')


if __name__ == '__main__':
    main()
