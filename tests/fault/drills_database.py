"""Drills on the database itself: stopped, out of space, locked by somebody else."""
import contextlib
import os
import random
import shutil
import signal
import subprocess
import threading
import time

from house import House, Skipped, json_post, wait_until

QUEUE_MAX = 4096        # of a lane
HUNG_S = 6              # after that a service knows that its database hangs
BACK_S = 3              # after that it knows that it does not


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
    with House(run) as house:
        service = house.serve('--lanes', '1', '--jobs=expire,settle')
        with house.load(expire=0.1) as load:
            for i in range(run.rounds):
                house.need(load.progress(40, 30), 'no progress')
                stop_s = 5 + (run.seconds - 5) * i / max(1, run.rounds - 1)
                answers = []
                house.database.signal(signal.SIGSTOP)
                until = time.monotonic() + stop_s
                floods = flood(service, answers)
                wait_until(lambda: service.get('/readyz')[0] == 503, HUNG_S, 'readyz says 503')
                deepest = service.metric('holdfast_queue_depth')
                house.need(0 < deepest <= QUEUE_MAX, f'{deepest:.0f} requests in a queue of {QUEUE_MAX}')
                while time.monotonic() < until:
                    house.need(service.get('/livez')[0] == 200, 'livez does not say 200')
                    time.sleep(0.2)
                house.database.signal(signal.SIGCONT)
                back_s = service.wait_ready(BACK_S)
                house.need(load.progress(20, BACK_S), f'no progress {BACK_S} s after SIGCONT')
                for thread in floods:
                    thread.join()
                house.need((503, '1') in answers, f'no call was refused by a full queue: {answers}')
                house.say(f'stopped for {stop_s:.0f} s, ready {back_s:.2f} s after; {deepest:.0f} requests waited')
        house.verify()
        house.need(house.journal.slowest_ms < 12000, 'a call hung')
        return house.said


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
    with small_disk(run, 240) as disk, House(run, folder=disk) as house:
        service = house.serve('--lanes', '2', '--jobs=settle')
        counts, died = house.journal.counts, 0
        with house.load(lines=40) as load:
            for i in range(run.rounds):
                house.need(load.progress(40, 90), f'round {i}: no progress')
                before = counts['nothing_done'] + counts['unknown']
                fill(f'{disk}/filler')
                wait_until(lambda: counts['nothing_done'] + counts['unknown'] > before, 90, 'a call is told 503')
                until = time.monotonic() + run.seconds
                while time.monotonic() < until:
                    house.need(service.get('/livez')[0] == 200, 'livez does not say 200')
                    time.sleep(0.2)
                os.remove(f'{disk}/filler')
                if house.database.process.poll() is not None:       # as its supervisor would
                    died += 1
                    house.database.start()
                began = time.monotonic()
                house.need(load.progress(40, 90), 'no progress 90 s after there was space again')
                house.say(f'full for {run.seconds} s after the first 503; going on {time.monotonic() - began:.1f} s '
                          f'after there was space, {shutil.disk_usage(disk).free >> 20} MiB')
        house.verify()
        house.say(f'MariaDB gave up {died} times')
        return house.said


class Stranger(threading.Thread):
    """Somebody else on the database, who locks rows: one sku for long, or many in an order that is not ours."""

    def __init__(self, house):
        super().__init__(daemon=True)
        self.house, self.ending, self.dice = house, threading.Event(), random.Random(house.run.seed)
        self.held = 0
        self.sql('CREATE DATABASE stranger', '')
        self.sql('CREATE TABLE weight (n INT)', 'stranger')     # who wrote more is not the victim of a deadlock
        self.sql('INSERT INTO weight SELECT 0 FROM mysql.help_topic', 'stranger')

    def sql(self, text, database='stranger'):
        command = ['mariadb', '--no-defaults', '-uroot', f'--socket={self.house.database.socket}', database]
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
        self.ending.set()
        self.join(20)


def locks(run):
    """Many lines in any order, two processes with the same slots, and a stranger who holds rows: 1205 and 1213."""
    with House(run) as house:
        for name in ('serve-1', 'serve-2'):
            house.serve('--lanes', '4', '--jobs=settle', name=name)
        stranger = Stranger(house)
        with house.load(clients=32, lines=8) as load:
            for i, client in enumerate(load.clients):
                client.connection.at = i % 2
            stranger.start()
            until = time.monotonic() + run.rounds * run.seconds
            while time.monotonic() < until:
                house.need(load.progress(1, 8), 'nothing was answered for 8 s')
                time.sleep(0.2)
        stranger.end()
        deadlocks, retries = (sum(service.metric(f'holdfast_{name}_total') for service in house.services)
                              for name in ('deadlocks', 'retries'))
        house.verify()
        house.say(f'{stranger.held} transactions of a stranger; {deadlocks:.0f} deadlocks, {retries:.0f} retries, '
                  f'{house.journal.counts["nothing_done"]} calls told busy')
        house.need(retries < 30 * house.journal.counts['calls'], 'retries without bound')
        house.need(house.journal.slowest_ms < 12000, 'a call hung')
        if not run.slice:
            house.need(deadlocks > 0 and house.journal.counts['nothing_done'] > 0, 'no deadlock, or nobody told busy')
        return house.said
