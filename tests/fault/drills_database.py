"""Drills on the database itself: stopped, out of space, locked by another program."""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import threading
import time

import clients
import patience
from patience import PATIENCE_S
from stage import Skipped, Stage, json_post, wait_until

QUEUE_MAX = 4096        # of a lane
LOCKED_SKUS = 300       # by a stranger, all at once
LOCKED_RATE = 30        # orders a second for these
HUNG_S = 0.6 * PATIENCE_S # after that a service knows that its database hangs
BACK_S = 0.3 * PATIENCE_S # after that it knows that it does not


def flood(service, answers):
    """More orders at once than a lane queues. They name a sku that there is not, so that none has an effect."""
    def post(number):
        orders = [{'order_id': f'flood-{number}-{i}', 'lines': [{'sku': 'GHOST', 'qty': 1}]} for i in range(1000)]
        status, headers, _ = json_post(service, '/v1/reservations/batch', {'reservations': orders})
        answers.append((status, headers.get('Retry-After')))

    threads = [threading.Thread(target=post, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    return threads


def stopped(run):
    """MariaDB is stopped for 5 s and longer: bounded queues, 503 in time, and back within 3 s."""
    with Stage(run) as stage:
        service = stage.serve('--lanes', '1', '--jobs=expire,settle')
        with stage.load(expire=0.1) as load:
            for i in range(run.rounds):
                stage.progress(load, 40, 3 * PATIENCE_S, 'no progress')
                stop_s = 5 + (run.seconds - 5) * i / max(1, run.rounds - 1)
                answers = []
                stage.database.signal(signal.SIGSTOP)
                until = time.monotonic() + stop_s
                floods = flood(service, answers)
                wait_until(lambda: service.get('/readyz')[0] == 503, HUNG_S, 'readyz says 503')
                deepest = service.metric('holdfast_queue_depth')
                stage.need(0 < deepest <= QUEUE_MAX, f'{deepest:.0f} requests in a queue of {QUEUE_MAX}')
                while time.monotonic() < until:
                    stage.need(service.get('/livez')[0] == 200, 'livez does not say 200')
                    time.sleep(0.2)
                stage.database.signal(signal.SIGCONT)
                back_s = service.wait_ready(BACK_S)
                stage.progress(load, 20, BACK_S, 'no progress after SIGCONT')
                for thread in floods:
                    thread.join()
                stage.need((503, '1') in answers, f'no call was refused by a full queue: {answers}')
                stage.say(f'stopped for {stop_s:.0f} s, ready {back_s:.2f} s after; {deepest:.0f} requests waited')
        stage.verify()
        stage.need(stage.journal.slowest_quiet_ms < clients.HANGS_MS, 'a call hung')
        return stage.said


@contextlib.contextmanager
def small_disk(run, mib):
    folder = f'{run.folder}/disk'
    os.mkdir(folder)
    done = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={mib}m', 'holdfast-fault', folder],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Skipped(f'a small disk cannot be mounted here: {done.stderr.strip()}')
    try:
        yield folder
    finally:
        subprocess.run(['umount', '--lazy', folder], stdin=subprocess.DEVNULL, check=False)


def fill(path):
    """Takes all the space there is."""
    with open(path, 'wb', buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass


def full_disk(run):
    """The disk below the data directory is full for a while."""
    with small_disk(run, 240) as disk, Stage(run, folder=disk) as stage:
        service = stage.serve('--lanes', '2', '--jobs=settle')
        counts, died = stage.journal.counts, 0
        with stage.load(lines=40) as load:
            for i in range(run.rounds):
                stage.progress(load, 40, 9 * PATIENCE_S, f'round {i}: no progress')
                before = counts['nothing_done'] + counts['unknown']
                fill(f'{disk}/filler')
                wait_until(lambda: counts['nothing_done'] + counts['unknown'] > before, 9 * PATIENCE_S, 'a call is told 503')
                until = time.monotonic() + run.seconds
                while time.monotonic() < until:
                    stage.need(service.get('/livez')[0] == 200, 'livez does not say 200')
                    time.sleep(0.2)
                os.remove(f'{disk}/filler')
                if stage.database.process.poll() is not None:       # as its supervisor would
                    died += 1
                    stage.database.start()
                began = time.monotonic()
                stage.progress(load, 40, 9 * PATIENCE_S, 'no progress after there was space again')
                stage.say(f'full for {run.seconds} s after the first 503; going on {time.monotonic() - began:.1f} s '
                          f'after there was space, {shutil.disk_usage(disk).free >> 20} MiB')
        stage.verify()
        stage.say(f'MariaDB gave up {died} times')
        return stage.said


class Stranger(threading.Thread):
    """Another program on the database, which locks rows: one sku for long, or many in an order that is not ours."""

    def __init__(self, stage):
        super().__init__(daemon=True)
        self.stage, self.ending, self.dice = stage, threading.Event(), random.Random(stage.run.seed)
        self.held = 0
        self.sql('CREATE DATABASE stranger', '')
        self.sql('CREATE TABLE weight (n INT)', 'stranger')     # the heavier transaction is no victim of a deadlock
        self.sql('INSERT INTO weight SELECT 0 FROM mysql.help_topic', 'stranger')

    def sql(self, text, database='stranger'):
        command = ['mariadb', '--no-defaults', '-uroot', f'--socket={self.stage.database.socket}', database]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False).returncode == 0

    def lock(self, sku_id):
        return f'SELECT COUNT(*) FROM holdfast.stock_slot WHERE sku_id = {sku_id} FOR UPDATE;\n'

    def run(self):
        while not self.ending.is_set():
            sku_ids = self.dice.sample(range(1, 21), 8)
            if self.dice.random() < 0.3:
                steps = self.lock(sku_ids[0]) + f'DO SLEEP({self.dice.random() * 6:.2f});\n'
            else:
                steps = 'UPDATE weight SET n = n + 1;\n' + ''.join(
                    self.lock(i) + 'DO SLEEP(0.02);\n' for i in sorted(sku_ids, reverse=True))
            self.held += self.sql('START TRANSACTION;\n' + steps + 'ROLLBACK;\n')

    def end(self):
        """His locks end, too."""
        self.ending.set()
        for (number,) in self.stage.database.sql("SELECT id FROM information_schema.processlist WHERE db = 'stranger'"):
            self.sql(f'KILL {number}')
        self.join(patience.scaled(2 * PATIENCE_S))


class Crowd:
    """Orders beside the load: of a free sku one after the other, of locked ones at a rate of their own."""

    def __init__(self, stage):
        self.load = clients.Load(stage.services, stage.journal, stage.run.seed, name='C', clients=0)
        self.free_ms, self.locked, self.threads = [], [], []
        self.ending = threading.Event()
        lines = [{'sku': sku, 'location': 'main', 'qty': 1_000_000}
                 for sku in ['FREE'] + [f'LOCKED-{i}' for i in range(LOCKED_SKUS)]]
        stage.need(self.call('receipt', 'C-stock', {'movement_id': 'C-stock', 'kind': 'receipt', 'lines': lines})
                   == 201, 'the stock was not received')

    def call(self, call, id_, sent):
        client = clients.Client(self.load, id_)
        status = client.call(call, id_, sent)
        client.connection.close()
        return status

    def order(self, id_, sku):
        """(status, when it was sent, when it was answered, how slow the machine was then)."""
        began = time.monotonic()
        status = self.call('reserve', id_, {'order_id': id_, 'ttl_s': clients.LONG_TTL_S,
                                            'lines': [{'sku': sku, 'location': 'main', 'qty': 1}]})
        return status, began, time.monotonic(), patience.factor()

    def order_free(self):
        while not self.ending.is_set():
            status, began, ended, slow = self.order(f'C-free-{len(self.free_ms)}', 'FREE')
            self.free_ms.append((ended - began) * 1000 / slow if status == 201 else 60_000)

    def order_locked(self):
        number = 0
        while not self.ending.wait(1 / LOCKED_RATE):
            number += 1
            self.threads.append(threading.Thread(target=lambda number=number: self.locked.append(
                self.order(f'C-{number}', f'LOCKED-{number % LOCKED_SKUS}'))))
            self.threads[-1].start()

    def run(self, seconds, lock=''):
        """Orders a second of the free sku, while the stranger has his locks or for so long; and when that ended."""
        self.ending.clear()
        before, began = len(self.free_ms), time.monotonic()
        mains = [threading.Thread(target=self.order_free)]
        if lock:
            mains.append(threading.Thread(target=self.order_locked))
        for thread in mains:
            thread.start()
        if lock:
            subprocess.run([*lock], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        else:
            time.sleep(seconds)
        ended = time.monotonic()
        rate = (len(self.free_ms) - before) / (ended - began)
        self.ending.set()
        for thread in mains + self.threads:
            thread.join()
        return rate, ended


def beside_locked_skus(stage, seconds):
    """A stranger keeps many skus; orders for another one go on, those for the locked ones are told so in time. Times are
    those of a quiet machine."""
    crowd = Crowd(stage)
    rate, _ = crowd.run(1 if stage.run.slice else 3)
    before = len(crowd.free_ms)
    lock = ("SET tx_isolation = 'READ-COMMITTED'; START TRANSACTION; SELECT COUNT(*) FROM (SELECT s.slot FROM sku k "
            "STRAIGHT_JOIN stock_slot s FORCE INDEX (PRIMARY) ON s.sku_id = k.sku_id WHERE k.code LIKE 'LOCKED-%' "
            f"FOR UPDATE) x; DO SLEEP({seconds}); ROLLBACK")
    beside, free = crowd.run(seconds, ['mariadb', '--no-defaults', '-uroot', f'--socket={stage.database.socket}',
                                       'holdfast', '-e', lock])
    waits_ms = sorted(crowd.free_ms[before:])
    p99_ms = waits_ms[int(len(waits_ms) * 0.99)]
    busy_s = max(((ended - began) / slow for status, began, ended, slow in crowd.locked if status == 503), default=0)
    served_s = max(((ended - free) / slow for status, began, ended, slow in crowd.locked if began < free and ended > free),
                   default=0)
    busy = sum(status == 503 for status, *_ in crowd.locked)
    stage.say(f'{LOCKED_SKUS} locked skus: {rate:.0f} orders/s of a free one before, {beside:.0f}/s beside, p99 '
              f'{p99_ms / 1000:.2f} s; {busy} of {len(crowd.locked)} told busy after {busy_s:.1f} s at most, the '
              f'others served {served_s:.2f} s after it was free')
    stage.need(busy > 0 and all(status in (201, 503) for status, *_ in crowd.locked), 'nobody was told busy')
    stage.need(p99_ms < 3000 and busy_s < 6 and served_s < 2, f'somebody waited too long: {stage.said[-1]}')
    stage.need(stage.run.slice or beside > rate / 2, f'others do not go on: {stage.said[-1]}')


def locks(run):
    """A stranger keeps many skus; then many lines in any order, two processes with the same slots: 1205 and 1213."""
    with Stage(run) as stage:
        for name in ('serve-1', 'serve-2'):
            stage.serve('--lanes', '4', '--jobs=settle', name=name)
        beside_locked_skus(stage, max(6, run.seconds))
        stranger = Stranger(stage)
        with stage.load(clients=32, lines=8) as load:
            for i, client in enumerate(load.clients):
                client.connection.at = i % 2
            stranger.start()
            until = time.monotonic() + run.rounds * run.seconds
            while time.monotonic() < until:
                stage.progress(load, 1, 0.8 * PATIENCE_S, 'nothing was answered')
                time.sleep(0.2)
        stranger.end()
        deadlocks, retries = (sum(service.metric(f'holdfast_{name}_total') for service in stage.services)
                              for name in ('deadlocks', 'retries'))
        stage.verify()
        stage.say(f'{stranger.held} transactions of a stranger; {deadlocks:.0f} deadlocks, {retries:.0f} retries, '
                  f'{stage.journal.counts["nothing_done"]} calls told busy')
        stage.need(retries < 30 * stage.journal.counts['calls'], 'retries without bound')
        stage.need(stage.journal.slowest_quiet_ms < clients.HANGS_MS, 'a call hung')
        if not run.slice:
            stage.need(deadlocks > 0 and stage.journal.counts['nothing_done'] > 0, 'no deadlock, or nobody told busy')
        return stage.said
