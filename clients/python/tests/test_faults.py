"""64 callers through a proxy that cuts, delays and duplicates, while the service and its database are killed: no effect
twice, none lost. The service's own audit, sums, and the state of each order say so."""
import asyncio
import collections
import random
import threading
import time
import unittest

import kit
from holdfast import AsyncHoldfast, Holdfast, HoldfastError

CALLERS = 64
PROGRESS = 250          # answers between two kills, and after the last one
STOCK = 1_000_000
LATE_S = 1.2            # the proxy holds a request back for longer than a try lasts, and then delivers it
TRY_S = 1.0


class Journal:
    """What was asked for, and what was told. A call without an answer is kept, to be repeated at the end."""

    def __init__(self):
        self.lock = threading.Lock()
        self.orders, self.received, self.open, self.counts = {}, 0, [], collections.Counter()

    def told(self, step, answer):
        name, body = step
        with self.lock:
            self.counts[name, 'replayed' if answer.get('replayed') else 'done'] += 1
            if name == 'move':
                self.received += body['lines'][0]['qty']
            else:
                order = body['order_id'] if name == 'reserve' else body
                self.orders[order] = answer['state'], answer['lines'][0]['qty']

    def lost(self, step, error):
        with self.lock:
            self.counts[step[0], error.code] += 1
            self.open.append((step, error))


def steps_of(caller, round_, chance):
    """One round of a caller: an order that is held, then confirmed or released or neither; and a receipt."""
    order = f'C{caller}-{round_}'
    yield 'reserve', {'order_id': order, 'lines': [{'sku': 'HOT', 'qty': chance.randint(1, 3)}]}
    then = chance.choice(('confirm', 'release', None))
    if then:
        yield then, order
    yield 'move', {'movement_id': order, 'kind': 'receipt', 'lines': [{'sku': 'HOT', 'qty': chance.randint(1, 3)}]}


class Faults(unittest.TestCase):
    def setUp(self):
        self.service = kit.Service('--jobs=expire,reap')
        self.addCleanup(self.service.end)
        self.proxy = kit.Proxy(self.service.address, seed=self.id(), late_s=LATE_S)
        self.addCleanup(self.proxy.close)
        with Holdfast(self.service.url) as client:
            client.move({'movement_id': 'first', 'kind': 'receipt', 'lines': [{'sku': 'HOT', 'qty': STOCK}]})
        self.journal = Journal()
        self.is_over = False

    def trouble(self):
        """Harm by the proxy, a kill of the service, one of its database; then peace."""
        self.proxy.harm = 0.25
        try:
            self.progress()
            self.service.kill()
            self.service.start()
            self.progress()
            self.service.kill_database()
            self.progress()
        finally:
            self.is_over = True
            self.proxy.harm = 0.0

    def progress(self):
        """Waits for some answers."""
        wanted = sum(self.journal.counts.values()) + PROGRESS
        kit.wait_until(lambda: sum(self.journal.counts.values()) >= wanted, f'{PROGRESS} answers')

    def test_threads(self):
        with Holdfast(self.proxy.url, deadline_s=20, try_s=TRY_S, connections=CALLERS) as client:
            def call(caller):
                chance = random.Random(caller)
                for round_ in range(10000):
                    for step in steps_of(caller, round_, chance):
                        if self.is_over:
                            return
                        try:
                            self.journal.told(step, getattr(client, step[0])(step[1]))
                        except HoldfastError as error:
                            self.journal.lost(step, error)
                            break

            callers = [threading.Thread(target=call, args=(i,), daemon=True) for i in range(CALLERS)]
            for caller in callers:
                caller.start()
            self.trouble()
            for caller in callers:
                caller.join()
        self.judge()

    def test_asyncio(self):
        async def callers():
            async with AsyncHoldfast(self.proxy.url, deadline_s=20, try_s=TRY_S, connections=CALLERS) as client:
                async def call(caller):
                    chance = random.Random(caller)
                    for round_ in range(10000):
                        for step in steps_of(caller, round_, chance):
                            if self.is_over:
                                return
                            try:
                                self.journal.told(step, await getattr(client, step[0])(step[1]))
                            except HoldfastError as error:
                                self.journal.lost(step, error)
                                break

                await asyncio.gather(*(call(i) for i in range(CALLERS)))

        trouble = threading.Thread(target=self.trouble, daemon=True)
        trouble.start()
        asyncio.run(callers())
        trouble.join()
        self.judge()

    def judge(self):
        """Every order is in the state that was told, and units are neither lost nor made."""
        journal = self.journal
        with Holdfast(self.service.url, deadline_s=60) as client:
            for step, error in journal.open:                # as the documents say: the same call again
                self.assertTrue(error.maybe_done or error.code in ('no_answer', 'busy', 'unavailable'), error)
                journal.told(step, getattr(client, step[0])(step[1]))
            time.sleep(LATE_S)                              # the last late copies come
            self.assertGreater(len(journal.orders), CALLERS)
            known = {}
            for orders in (list(journal.orders)[i:i + 1000] for i in range(0, len(journal.orders), 1000)):
                known.update({one['order_id']: (one['state'], one['lines'][0]['qty'])
                              for one in client.find({'order_ids': orders})['items'] if one})
            self.assertEqual(known, journal.orders)
            listed = client.reservations({'prefix': 'C', 'limit': 1000})
            self.assertEqual({order['order_id'] for order in listed}, set(known))
            reserved = sum(qty for state, qty in known.values() if state in ('held', 'confirmed'))
            stock = client.sku('HOT')
            self.assertEqual((stock['reserved'], stock['on_hand']), (reserved, STOCK + journal.received))
            self.settle(client, known, stock['on_hand'])
        self.service.command('audit')
        self.service.stop()
        for fate in self.proxy.FATES:
            self.assertTrue(self.proxy.met[fate], fate)
        self.assertTrue(any(how == 'replayed' for _, how in journal.counts), journal.counts)

    def settle(self, client, known, on_hand):
        """A worker behind the proxy loses answers to its claims, and gives back the tasks that it does not know of.
        Each order is settled once."""
        self.proxy.harm = 0.25
        confirmed = {order: qty for order, (state, qty) in known.items() if state == 'confirmed'}
        held = sum(qty for state, qty in known.values() if state == 'held')
        done = 0
        with Holdfast(self.proxy.url, deadline_s=20, try_s=TRY_S) as worker:
            def is_settled():
                nonlocal done
                try:
                    task = worker.claim({'kind': 'settle', 'worker': 'w', 'limit': 50, 'lease_s': 60})
                    done += worker.complete(task['task_id'])['completed'] if task else 0
                except HoldfastError as error:
                    self.assertEqual((error.code, error.maybe_done), ('no_answer', True))
                for task in client.tasks({'limit': 20}).page()['items']:
                    if task['state'] == 'open':
                        client.give_back(task['task_id'])
                return client.sku('HOT')['reserved'] == held

            kit.wait_until(is_settled, 'all confirmed orders are settled')
        self.proxy.harm = 0.0
        self.assertLessEqual(done, len(confirmed))
        self.assertGreater(done, 0)
        self.assertEqual(client.sku('HOT')['on_hand'], on_hand - sum(confirmed.values()))


if __name__ == '__main__':
    unittest.main()
