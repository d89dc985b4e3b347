"""Drills on clocks: the database's jumps, is fast, goes to and fro under load; then the services' own.

No client is served worse meanwhile. When the clocks are right again, rows with times of a wrong clock heal by
themselves.
"""
import contextlib
import datetime
import json
import random
import re
import subprocess
import threading
import time

import clients
import patience
from patience import PATIENCE_S
from stage import Clock, Skipped, Stage, Trouble

HOUR, DAY = 3600, 86400
LEASE_S = 3             # of the workers here
LEASE_MAX_S = 90        # no worker asks for more, and a reaper that brings a lease back may leave a minute of it
WAIT_MAX_S = 720        # longer than any pause after a failure
HEAL_S = 6 * PATIENCE_S # until nothing waits for a time that is far
DONE_S = 13.5 * PATIENCE_S # until everything that waits is done: the last lease, the pause after it
TRIES = 4               # after more the pause is longer than that
PROGRESS_S = 1.5 * PATIENCE_S
SLICE = 2               # jumps of a slice
JOBS = '--jobs=expire,settle,reap'


def year(number):
    """Seconds from now to that year."""
    return (datetime.datetime(number, 6, 1) - datetime.datetime.now()).total_seconds()


class Worker(threading.Thread):
    """Claims over HTTP; completes in parts, fails, gives back, or dies with what it has."""

    def __init__(self, stage, number):
        super().__init__(daemon=True)
        self.name, self.dice = f'worker-{number}', random.Random(f'{stage.run.seed}/worker/{number}')
        self.connection, self.ending = clients.Connection(stage.services), threading.Event()
        self.connection.at = number % len(stage.services)
        self.completed = []             # (order, task), as acknowledged

    def run(self):
        while not self.ending.is_set():
            try:
                self.work()
            except clients.NotConnected:
                time.sleep(0.02)
        self.connection.close()

    def end(self):
        self.ending.set()
        self.join(patience.scaled(clients.ANSWER_S + PATIENCE_S))

    def post(self, path, body):
        status, _, answer = self.connection.call('POST', path, body)
        return status, answer

    def work(self):
        kind = 'expire' if self.dice.random() < 0.3 else 'settle'
        status, task = self.post('/v1/tasks', {'kind': kind, 'worker': self.name, 'limit': 20, 'lease_s': LEASE_S})
        if status != 201:
            time.sleep(0.1)
            return
        path, chance = f'/v1/tasks/{task["task_id"]}', self.dice.random()
        ids = [order['order_id'] for order in task['orders']]
        if chance < 0.1:
            self.post(path + '/return', {})
        elif chance < 0.25:
            self.post(path + '/fail', {'orders': [{'order_id': id_, 'error': 'by chance', 'retry': chance < 0.22}
                                                  for id_ in ids]})
        elif chance < 0.85:
            self.complete(task['task_id'], ids[::2])
            self.post(path + '/heartbeat', {'lease_s': LEASE_S})
            self.complete(task['task_id'], ids[1::2])

    def complete(self, task_id, ids):
        if not ids:
            return
        status, answer = self.post(f'/v1/tasks/{task_id}/complete', {'order_ids': ids})
        if status == 200:
            self.completed += [(id_, task_id) for id_ in ids if id_ not in answer['lost_orders']]


class Watch(threading.Thread):
    """Looks at the figures that people watch: no age, and nothing else, is negative."""

    def __init__(self, stage):
        super().__init__(daemon=True)
        self.stage, self.ending, self.looks = stage, threading.Event(), 0
        self.wrong = {}                 # the first of each name

    def run(self):
        while not self.ending.wait(0.5):
            for service in self.stage.services:
                lines = re.findall(r'^(holdfast_.+) (\S+)$', service.get('/metrics', 15)[1], re.MULTILINE)
                self.enter((name, float(value)) for name, value in lines)
            try:
                stats = self.stage.command('stats', '--json', '--log-level', 'error')
            except Trouble as trouble:
                self.wrong.setdefault('stats', trouble)
            else:
                self.enter((name, n) for name, n in json.loads(stats).items() if isinstance(n, (int, float)))

    def enter(self, figures):
        for name, value in figures:
            self.looks += 1
            if value < 0:
                self.wrong.setdefault(name, value)

    def end(self):
        self.ending.set()
        self.join(30)


class Trial:
    """Two services, clients and workers in a stage with clocks that jump, and all that was found."""

    def __init__(self, stage, clock, own=None):
        self.stage, self.clock = stage, clock
        for number in range(2):
            stage.serve('--lanes', '2', '--slot', str(2 * number), JOBS, name=f'serve-{number}',
                        clock=own if number else None)
        self.load = stage.load(clients=8, expire=0.2, pause_s=0.01, jumps=True)
        for i, client in enumerate(self.load.clients):
            client.connection.at = i % 2
        self.workers = [stage.keep(Worker(stage, number)) for number in range(4)]
        self.watch = stage.keep(Watch(stage))
        self.wrong, self.jumps = [], 0

    @contextlib.contextmanager
    def going_on(self):
        """Clients and workers, until the clocks are right again."""
        with self.load:
            for thread in (*self.workers, self.watch):
                thread.start()
            yield
            self.clock.set(0)
            for worker in self.workers:
                worker.end()

    def found(self, text):
        if text not in self.wrong:
            self.wrong.append(text)

    def served(self, when):
        self.stage.progress(self.load, 20, PROGRESS_S, f'{when}: no progress')

    def jumps_all(self, jumps):
        for when, ahead_s in list(jumps.items())[:SLICE if self.stage.run.slice else None]:
            self.jump(when, ahead_s, self.stage.run.seconds)

    def jump(self, when, ahead_s, seconds):
        """There, and back; the services start anew in turn, also while the clock is wrong."""
        self.clock.set(ahead_s)
        until = time.monotonic() + seconds
        self.jumps += 1
        self.served(when)
        status, took_s = self.stage.services[self.jumps % 2].terminate()
        self.stage.need(status == 0, f'{when}: exit {status} after {took_s:.1f} s')
        self.stage.services[self.jumps % 2].start()
        self.stage.command('kick', '--all')
        self.purge(when)
        time.sleep(max(0, until - time.monotonic()))
        self.clock.set(0)
        self.served(f'{when}, and back')

    def purge(self, when):
        """Purge removes rows that are old by a clock: it refuses where two clocks differ."""
        own = None if self.stage.database.clock else self.clock.environment()
        words = [self.stage.program, 'purge', '--keep', '3650', '--db', self.stage.url]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, env=own,
                              timeout=patience.scaled(6 * PATIENCE_S), check=False)
        if done.returncode != 1:
            self.found(f'{when}: purge ends with {done.returncode} instead of 1')

    def moves(self, seconds, step_s, ahead):
        """`ahead` gives where the clock is after so many seconds."""
        began = time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            self.clock.set(ahead(passed))
            self.jumps += 1
            time.sleep(step_s)
        self.clock.set(0)
        self.served('after the clock moved')

    def heal(self):
        """The clocks are right. Waits until all is well, and notes what does not become so."""
        began, database = time.monotonic(), self.stage.database

        def none(what, within_s, sql):
            self.within(began, within_s, what, lambda: int(database.sql(f'SELECT COUNT(*) FROM {sql}')[0][0]) == 0)

        none('no confirmed order waits longer than any pause', HEAL_S, 'reservation WHERE state = 2 AND task_id IS NULL'
             f' AND due_at > UTC_TIMESTAMP(3) + INTERVAL {WAIT_MAX_S} SECOND')
        none('no lease lasts longer than one was asked for', HEAL_S,
             f'job_task WHERE state = 1 AND lease_until > UTC_TIMESTAMP(3) + INTERVAL {LEASE_MAX_S} SECOND')
        none('no order waits for units since a time to come', HEAL_S, 'waiting_line WHERE waits_since > UTC_TIMESTAMP(3)')
        self.within(began, HEAL_S, 'lists begin with the newest', self.newest_first, 2)
        if not self.stage.run.slice:
            self.stage.supply()
            none('every hold past its time was swept', DONE_S,
                 'reservation WHERE state = 1 AND expires_at < UTC_TIMESTAMP(3)')
            none('every claim has ended', DONE_S, 'job_task WHERE state = 1')
            none('every confirmed order was settled', DONE_S, f'reservation WHERE state = 2 AND attempts <= {TRIES}')

    def within(self, began, within_s, what, true, pause_s=0.2):
        while not true():
            if patience.is_over(began, within_s):
                self.found(f'after {time.monotonic() - began:.1f} s still not: {what}')
                return
            time.sleep(pause_s)
        self.stage.say(f'{what}: {time.monotonic() - began:.1f} s after the clocks were right')

    def newest_first(self):
        """Orders and movements that the services make in turn are listed as they came, the last first."""
        ids = []
        for i, service in enumerate(self.stage.services * 2):
            client = clients.Client(clients.Load([service], self.load.journal, '', name=f'N{time.monotonic_ns()}-{i}',
                                                 clients=0), 0)
            id_, line = client.load.name, {'sku': clients.SKUS[-1], 'location': clients.LOCATIONS[0], 'qty': 1}
            client.call('reserve', id_, {'order_id': id_, 'lines': [line], 'ttl_s': clients.LONG_TTL_S})
            client.call('receipt', id_, {'movement_id': id_, 'kind': 'receipt', 'lines': [line]})
            client.connection.close()
            ids.insert(0, id_)
            time.sleep(0.02)
        return all(self.listed(path, name, ids) == ids for path, name in (
            ('/v1/reservations', 'order_id'), (f'/v1/skus/{clients.SKUS[-1]}/movements', 'movement_id')))

    def listed(self, path, name, ids):
        """The ids that the list shows, in its order, of `ids`."""
        found, cursor = [], ''
        while len(found) < len(ids) and cursor is not None:
            text = self.stage.services[0].get(f'{path}?limit=1000{cursor and "&cursor=" + cursor}', 20)[1]
            answer = json.loads(text)
            found += [item[name] for item in answer['items'] if item[name] in ids]
            cursor = answer['next_cursor']
        return found

    def settled_once(self):
        tasks = {}
        for worker in self.workers:
            for id_, task in worker.completed:
                if tasks.setdefault(id_, task) != task:
                    self.found(f'{id_}: acknowledged as completed by the tasks {tasks[id_]} and {task}')
        return len(tasks)

    def judge(self):
        settled = self.settled_once()
        self.watch.end()
        for name, value in self.watch.wrong.items():
            self.found(f'{name} was {value}')
        try:
            self.stage.verify()
        except Trouble as trouble:
            self.found(str(trouble))
        self.stage.say(f'{self.jumps:,} jumps; {settled:,} orders completed over HTTP, none by two tasks; '
                       f'{self.watch.looks:,} figures looked at')
        self.stage.need(not self.wrong, '\n'.join(self.wrong))
        self.stage.need(settled > 0, 'no worker completed anything')
        self.stage.need(self.stage.journal.slowest_quiet_ms < clients.HANGS_MS, 'a call hung')
        return self.stage.said


def clocks(run):
    """The database's clock: far ahead and behind for a while, to and fro, fast."""
    clock = Clock(f'{run.folder}/clock')
    jumps = {'a day ahead': DAY, 'an hour behind': -HOUR, 'an hour ahead': HOUR, 'a day behind': -DAY,
             'the year 2030': year(2030), 'the year 2021': year(2021), 'the year 2019': year(2019)}
    with Stage(run, clock=clock) as stage:
        tried = Trial(stage, clock)
        with tried.going_on():
            tried.jumps_all(jumps)
            if not run.slice:
                tried.moves(run.seconds, 0.015, lambda s: (HOUR, 0, -1, 0)[int(s / 0.015) % 4])
                tried.moves(2 * run.seconds, 1, lambda s: HOUR if int(s) % 2 else -HOUR)
                tried.moves(2 * run.seconds, 0.05, lambda s: 2 * (run.seconds - abs(run.seconds - s)))
        tried.heal()
        return tried.judge()


def starts_by(clock, program):
    """Sanitizers and libfaketime meet while a program is loaded: it ends at once, or hangs."""
    try:
        said = subprocess.run([program, '--version'], env=clock.environment(), capture_output=True, check=False,
                              timeout=patience.scaled(2 * PATIENCE_S))
    except subprocess.TimeoutExpired:
        return False
    return said.returncode == 0


def clocks_service(run):
    """The own clock of one of two services: facts have the database's, so nothing comes of it."""
    clock = Clock(f'{run.folder}/clock')
    if not starts_by(clock, run.holdfast):
        raise Skipped('a program with sanitizers does not start under libfaketime')
    jumps = {'the year 1970': DAY - time.time(), 'the year 2038': year(2038), 'a day ahead': DAY, 'a day behind': -DAY,
             'an hour ahead': HOUR, 'an hour behind': -HOUR}
    with Stage(run) as stage:
        tried = Trial(stage, stage.keep(clock), own=clock)
        with tried.going_on():
            tried.jumps_all(jumps)
        tried.heal()
        return tried.judge()
