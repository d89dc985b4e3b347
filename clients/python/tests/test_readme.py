"""The shop of the README is run as it stands there, and killed."""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import kit
from holdfast import Holdfast

README = (kit.HERE.parent / 'README.md').read_text(encoding='utf-8')
SHOP = re.search('<!-- test: file shop.py -->\n```python\n(.*?)```', README, re.DOTALL)[1]


class Shop(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = kit.Service('--jobs=expire,settle,reap')
        cls.addClassCleanup(cls.service.end)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        pathlib.Path(self.folder, 'shop.py').write_text(SHOP, encoding='utf-8')
        self.port = kit.free_port()

    def start(self):
        shop = subprocess.Popen([sys.executable, 'shop.py'], cwd=self.folder, stderr=subprocess.DEVNULL, env={
            **os.environ, 'HOLDFAST_URL': self.service.url, 'PORT': str(self.port), 'PYTHONPATH': str(kit.HERE.parent)})
        self.addCleanup(shop.wait)
        self.addCleanup(shop.kill)

        def serves():
            try:
                return self.ask() is not None
            except OSError:
                return False
        kit.wait_until(serves, 'the shop is open')
        return shop

    def ask(self, order=None):
        body = None if order is None else json.dumps(order).encode()
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{self.port}/', body, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def state(self, order_id):
        with sqlite3.connect(f'{self.folder}/shop.db', timeout=10) as db:
            return db.execute('SELECT state FROM shop_order WHERE order_id = ?', (order_id,)).fetchone()[0]

    def test_the_first_screen_of_the_project(self):
        """Its Python part does what it says it prints."""
        text = (kit.PROJECT / 'README.md').read_text(encoding='utf-8')
        part = re.search('```python\n(from holdfast .*?)```', text, re.DOTALL)[1]
        with Holdfast(self.service.url) as holdfast:
            holdfast.move({'movement_id': 'M0', 'kind': 'receipt', 'lines': [{'sku': 'MUG', 'qty': 3}]})
            part = part.replace('http://127.0.0.1:8080', self.service.url)
            done = subprocess.run([sys.executable, '-c', part], check=True, text=True, stdout=subprocess.PIPE,
                                  env={**os.environ, 'PYTHONPATH': str(kit.HERE.parent)})
            self.assertEqual(done.stdout.split()[0], 'held')

    def test_the_shop(self):
        self.assertLessEqual(SHOP.count('\n'), 60)
        with Holdfast(self.service.url) as holdfast:
            holdfast.move({'movement_id': 'M1', 'kind': 'receipt', 'lines': [{'sku': 'MUG', 'qty': 5}]})
            shop = self.start()
            self.assertEqual(self.ask(), (200, {'MUG': 5, 'PLATE': 0}))
            status, order = self.ask({'lines': [{'sku': 'MUG', 'qty': 2}]})
            self.assertEqual((status, order['state']), (201, 'confirmed'))
            self.assertEqual(self.ask({'lines': [{'sku': 'MUG', 'qty': 4}]})[1]['state'], 'short')
            declined = self.ask({'lines': [{'sku': 'MUG', 'qty': 3}], 'card': 'declined'})
            self.assertEqual((declined[0], declined[1]['state']), (409, 'released'))
            kit.wait_until(lambda: self.state(order['order_id']) == 'settled', 'the feed has told that it was shipped')

            # Killed between its order and its payment; and before Holdfast had heard of the order.
            shop.kill()
            shop.wait()
            lines = json.dumps([{'sku': 'MUG', 'qty': 1}])
            with sqlite3.connect(f'{self.folder}/shop.db') as db:
                for order_id, card in (('K1', None), ('K2', None), ('K3', 'declined')):
                    db.execute("INSERT INTO shop_order VALUES (?, 'new', ?, ?)", (order_id, lines, card))
            holdfast.reserve({'order_id': 'K1', 'lines': json.loads(lines)})
            self.service.kill()
            self.service.start()
            self.start()
            self.assertIn(self.state('K1'), ('confirmed', 'settled'))
            self.assertIn(self.state('K2'), ('confirmed', 'settled'))
            self.assertEqual(self.state('K3'), 'released')
            self.assertEqual(self.ask()[1]['MUG'], 1)
        self.service.command('audit')


if __name__ == '__main__':
    unittest.main()
