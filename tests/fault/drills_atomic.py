"""A drill of atomic calls: many writers send them to two services, while a stranger keeps a slot for a second at a time,
and the services and the database die. Each call is done as a whole or not at all, whoever looks and whenever, and a buyer
beside calls that cannot be granted is never told `short` for units that none of them has kept.
"""
import collections
import random
import subprocess
import threading
import time

import clients
import patience
from patience import PATIENCE_S
from stage import Stage

WRITERS, BUYERS = 16, 8
SKUS = [f'S{i}' for i in range(6)]      # of calls that are granted
STOCK, MOST = 10_000_000, 6                # items of a call, at most
PARCEL = 10                             # units that buyers get of a sku, one each, before the next one
STRANGE_S, FREE_S = 1.0, 1.0            # how long the stranger keeps the slot, and leaves it
KILL_S, KILL_SLICE_S = 2.0, 1.2
LONG_TTL_S = 86_400
DONE_S = 12 * PATIENCE_S
# Ids of one call are CALL-SIZE-0, CALL-SIZE-1 and so on. Whatever happens to its orders happens to all of them at once.
TORN = """SELECT SUBSTRING_INDEX(order_id, '-', 2) AS of_call, COUNT(*) AS n, MIN(state), MAX(state) FROM reservation
 WHERE order_id LIKE 'w%-%' GROUP BY of_call
HAVING n <> SUBSTRING_INDEX(of_call, '-', -1) OR MIN(state) <> MAX(state)"""


class Asker(threading.Thread):
    """A client that repeats each call until it knows."""

    def __init__(self, drill, name, at):
        super().__init__(daemon=True)
        self.drill, self.name, self.count = drill, name, 0
        self.dice = random.Random(f'{drill.stage.run.seed}/{name}')
        self.connection = clients.Connection(drill.stage.services)
        self.connection.at = at % 2

    def run(self):
        try:
            while not self.drill.ending.is_set():
                self.turn()
        except BaseException as error:      # told where the drill waits
            self.drill.wrong.append(f'{self.name}: {type(error).__name__} {error}')
            raise
        finally:
            self.connection.close()

    def ask(self, path, body):
        """(status, answer), repeated until it has one."""
        began, repeats = time.monotonic(), 0
        while True:
            status = None
            try:
                status, _, answer = self.connection.call('POST', path, body)
            except clients.NotConnected:
                time.sleep(0.02)
            if status not in (None, 503):
                self.drill.count(path, status, repeats)
                return status, answer
            repeats += 1
            self.connection.at = self.dice.randrange(2) if not self.connection.http else self.connection.at
            if patience.is_over(began, DONE_S):
                raise RuntimeError(f'{path}: no answer in {time.monotonic() - began:.1f} s')
            time.sleep(0.01)

    def need(self, true, what):
        if not true:
            raise RuntimeError(what)


class Writer(Asker):
    """Makes orders by atomic calls, and changes them by others."""

    def item(self, id_, more=None):
        lines = [{'sku': sku, 'qty': self.dice.randint(1, 3)} for sku in self.dice.sample(SKUS, self.dice.randint(1, 3))]
        return {'order_id': id_, 'lines': lines, 'ttl_s': LONG_TTL_S, **(more or {})}

    def ids(self):
        self.count += 1
        size = self.dice.randint(2, MOST)
        return [f'{self.name}.{self.count}-{size}-{i}' for i in range(size)]

    def make(self, items, may):
        """True: they are made. `may`: they can be had."""
        status, answer = self.ask('/v1/reservations/batch', {'atomic': True, 'reservations': items})
        codes = [one.get('code', one['status']) for one in answer.get('results', [])]
        self.need(status == (200 if may else 409), f'{items[0]["order_id"]}: {status} {answer}')
        self.need(may or set(codes) <= {'not_done', 'short', 'unknown_sku'}, f'{items[0]["order_id"]}: {codes}')
        self.drill.told[items[0]['order_id'].rsplit('-', 1)[0]] = may
        return may

    def change(self, path, ids, more=None):
        status, answer = self.ask(path, {'atomic': True, 'order_ids': self.dice.sample(ids, len(ids)), **(more or {})})
        self.need(status == 200 and all(one['status'] == 200 for one in answer['results']), f'{path} {ids}: {answer}')

    def turn(self):
        ids, chance = self.ids(), self.dice.random()
        if chance < 0.5:
            self.refused(ids)
            return
        confirms = {'confirm': True} if chance < 0.6 else {}
        items = [self.item(id_, confirms) for id_ in ids]
        self.make(items, True)
        if self.dice.random() < 0.2:
            self.make(items, True)
        if self.dice.random() < 0.3:
            ids = self.replaced(ids, confirms)
        if not confirms and self.dice.random() < 0.4:
            self.change('/v1/confirmations', ids)
            confirms = {'confirm': True}
        if self.dice.random() < 0.4:
            self.change('/v1/releases', ids)
        elif confirms and self.dice.random() < 0.5:
            self.change('/v1/settlements', ids)

    def refused(self, ids):
        """One item cannot be had. The others ask for what buyers are after."""
        items = [self.item(id_) for id_ in ids]
        for item in items:
            item['lines'].append({'sku': self.drill.parcel, 'qty': self.dice.randint(1, PARCEL)})
        items[self.dice.randrange(len(items))]['lines'].append(
            self.dice.choice(({'sku': 'NONE', 'qty': 1}, {'sku': SKUS[0], 'qty': 100 * STOCK})))
        self.make(items, False)

    def replaced(self, ids, confirms):
        new = [f'{id_.split("-")[0]}r-{len(ids)}-{i}' for i, id_ in enumerate(ids)]
        self.make([self.item(id_, {**confirms, 'replaces': old}) for id_, old in zip(new, ids)], True)
        return new


class Buyer(Asker):
    """Buys one unit of what is on the table. There is one for each that is asked for."""

    def turn(self):
        parcel, number = self.drill.next_unit(self)
        status, answer = self.ask('/v1/reservations', {'order_id': f'b-{parcel}-{number}', 'ttl_s': LONG_TTL_S,
                                                       'lines': [{'sku': parcel, 'qty': 1}]})
        self.need(status in (200, 201), f'unit {number} of {parcel}: {status} {answer}')
        self.drill.count('bought', status, 0)


class Drill:
    def __init__(self, stage):
        self.stage, self.ending, self.lock, self.table = stage, threading.Event(), threading.Lock(), threading.Lock()
        self.wrong, self.told, self.counts = [], {}, collections.Counter()
        self.parcels, self.asked, self.parcel, self.looks = 0, PARCEL, SKUS[0], 0

    def count(self, path, status, repeats):
        with self.lock:
            self.counts[path.split('/')[-1], status] += 1
            self.counts['repeats'] += repeats

    def next_unit(self, buyer):
        """(sku, number) of a unit that is there. The last units of a sku are those for which buyers and calls meet."""
        with self.table:
            if self.asked == PARCEL:
                self.parcels += 1
                parcel = f'P{self.parcels}'
                status, answer = buyer.ask('/v1/movements', {'movement_id': parcel, 'kind': 'receipt',
                                                             'lines': [{'sku': parcel, 'qty': PARCEL}]})
                assert status in (200, 201), answer
                self.parcel, self.asked = parcel, 0
            self.asked += 1
            return self.parcel, self.asked

    def strange(self):
        """Keeps the slots of a sku for a second, and leaves them for one."""
        socket, dice = self.stage.database.socket, random.Random(self.stage.run.seed)
        while not self.ending.wait(FREE_S):
            lock = ('START TRANSACTION; SELECT COUNT(*) FROM (SELECT slot FROM stock_slot JOIN sku USING (sku_id) WHERE '
                    f"code = '{dice.choice(SKUS)}' FOR UPDATE) x; DO SLEEP({STRANGE_S}); ROLLBACK")
            subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={socket}', 'holdfast', '-e', lock],
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def look(self):
        torn = self.stage.database.sql(TORN)
        self.looks += 1
        self.stage.need(not torn, f'in part: {torn[:5]}')
        self.stage.need(not self.wrong, '\n'.join(self.wrong[:5]))

    def break_things(self, rounds, dice):
        """Kills a service or the database now and then, and looks all the time."""
        mean_s = KILL_SLICE_S if self.stage.run.slice else KILL_S
        for i in range(rounds):
            until = time.monotonic() + mean_s * (0.5 + dice.random())
            while time.monotonic() < until:
                self.look()
            if i % 3 == 2:
                self.stage.database.restart()
            else:
                victim = dice.choice(self.stage.services)
                victim.kill()
                victim.start(ready=False)
            for service in self.stage.services:
                service.wait_ready()

    def run(self):
        run = self.stage.run
        askers = [Writer(self, f'w{i}', i) for i in range(WRITERS)] + [Buyer(self, f'b{i}', i) for i in range(BUYERS)]
        askers[0].ask('/v1/movements', {'movement_id': 'stock', 'kind': 'receipt',
                                        'lines': [{'sku': sku, 'qty': STOCK} for sku in SKUS]})
        stranger = threading.Thread(target=self.strange, daemon=True)
        try:
            for thread in [stranger, *askers]:
                thread.start()
            self.break_things(run.rounds, random.Random(run.seed))
        finally:
            self.ending.set()
        for thread in [stranger, *askers]:
            thread.join(patience.scaled(DONE_S))
            self.stage.need(not thread.is_alive(), 'a client does not end')
        self.look()

    def compare(self):
        """What was told is so."""
        there = {call for call, in self.stage.database.sql(
            "SELECT DISTINCT SUBSTRING_INDEX(order_id, '-', 2) FROM reservation WHERE order_id LIKE 'w%-%'")}
        told = {call for call, done in self.told.items() if done}
        self.stage.need(told == there, f'told and there are {len(told)} and {len(there)}: {sorted(told ^ there)[:5]}')
        bought = int(self.stage.database.sql("SELECT COUNT(*) FROM reservation WHERE order_id LIKE 'b-%'")[0][0])
        told = self.bought()
        self.stage.need(bought == told, f'{told} units were bought, and {bought} are')

    def bought(self):
        return self.counts['bought', 200] + self.counts['bought', 201]


def atomic(run):
    """No call is done in part, and none takes a unit for a moment only."""
    with Stage(run) as stage:
        stage.serve('--lanes', '2', '--jobs=expire', name='first')
        stage.serve('--lanes', '2', '--slot', '2', name='second')
        drill = Drill(stage)
        drill.run()
        drill.compare()
        stage.command('audit')
        calls = {what: count for what, count in drill.counts.items() if isinstance(what, tuple)}
        stage.say(f'{calls["batch", 200]:,} atomic calls granted, {calls["batch", 409]:,} refused, '
                  f'{sum(n for (path, _), n in calls.items() if path in ("confirmations", "releases", "settlements")):,} '
                  f'that changed orders; {drill.counts["repeats"]:,} calls repeated')
        stage.say(f'{drill.bought():,} buyers beside them, none of them short; {run.rounds} kills, {drill.looks} looks')
        stage.need(calls['batch', 200] > 0 and calls['batch', 409] > 0 and drill.bought() > 0, 'nothing was done')
        return stage.said
