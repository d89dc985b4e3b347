"""How fast a cluster of three nodes is, and what its nodes undo of each other where all are written.

What is compared runs in turns on one stage, and the median of the pairs counts. The clients are `bench-holdfast at`
(tests/bench/at.c) but for those that ask beside them. A wrong answer fails a drill; a figure that is missed is told.
"""
import contextlib
import json
import os
import statistics
import subprocess
import threading
import time

import clients
from cluster import NODES, ClusterStage
from stage import Skipped, Trouble, json_post

CONNECTIONS = 64            # to each node
WORKERS = 4                 # on each node, or three times as many on one
SHOP = [f'SHOP-{i:04}' for i in range(4000)]    # as the loads of tests/bench have them
UNITS = 1_000_000_000
READY_MIN = 10_000          # orders that wait to be settled, for each second of a turn
READERS, READ_EVERY_S = 4, 0.02
LARGE = ('--innodb-buffer-pool-size=512M', '--innodb-log-file-size=256M')
CAUSAL = b'wsrep_sync_wait = IF(@@wsrep_on, 1, 0)'
LOOSE = b'wsrep_sync_wait = IF(@@wsrep_on, 0, 0)'


def port(service):
    return service.address.rsplit(':', 1)[1]


def median(values):
    return statistics.median(values)


def loose_program(run):
    """A copy of the program with sessions that do not wait for what other nodes have committed."""
    with open(run.holdfast, 'rb') as file:
        program = file.read()
    if program.count(CAUSAL) != 1:
        raise Trouble(f'{run.holdfast} does not say once: {CAUSAL.decode()}')
    path = f'{run.folder}/holdfast-loose'
    with open(path, 'wb') as file:
        file.write(program.replace(CAUSAL, LOOSE))
    os.chmod(path, 0o755)
    return path


class Readers:
    """Ask for one order again and again while a block lasts."""

    def __init__(self, service, order_id):
        self.service, self.path, self.ms, self.ending = service, f'/v1/reservations/{order_id}', [], threading.Event()
        self.threads = [threading.Thread(target=self.read, daemon=True) for _ in range(READERS)]

    def read(self):
        connection = clients.Connection([self.service])
        while not self.ending.wait(READ_EVERY_S):
            began = time.monotonic()
            status = connection.call('GET', self.path)[0]
            self.ms.append((time.monotonic() - began) * 1000 if status == 200 else None)
        connection.close()

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join()

    def p99_ms(self):
        if not self.ms or None in self.ms:
            raise Trouble(f'a GET beside the load: {self.ms.count(None)} of {len(self.ms)} were not answered 200')
        return sorted(self.ms)[int(0.99 * (len(self.ms) - 1))]


class Speed:
    """The rows, on one stage."""

    def __init__(self, run, stage):
        self.run, self.stage, self.hot_units, self.ready = run, stage, 0, 0
        self.services = []
        for i in range(NODES):
            self.services.append(stage.serve('--slot', str(2 * i), name=f'serve{i}',
                                             db=f'{stage.url}?start={i + 1}'))
        program, loose = stage.program, loose_program(run)
        self.either = []        # with causal reads, and without
        for i, stage.program in enumerate((program, loose)):
            self.either.append(stage.serve('--slot', str(2 * (NODES + i)), name=('causal', 'loose')[i],
                                           db=f'{stage.url}?start=1'))
        stage.program = program
        for first in range(0, len(SHOP), 1000):
            self.receive(SHOP[first:first + 1000])
        self.receive(['HOT-0000'])
        status, _, answer = json_post(self.services[0], '/v1/reservations', {
            'order_id': 'beside', 'ttl_s': 86_400, 'lines': [{'sku': SHOP[0], 'qty': 1}]})
        stage.need(status == 201, f'{status} {answer}')

    def receive(self, skus):
        status, _, answer = json_post(self.services[0], '/v1/movements', {
            'movement_id': f'of-{skus[0]}', 'kind': 'receipt', 'lines': [{'sku': sku, 'qty': UNITS} for sku in skus]})
        self.stage.need(status == 201, f'{status} {answer}')

    def turn(self, where, what, connections):
        """One round of clients. where: a URL, or services."""
        at = where if isinstance(where, str) else ','.join(port(service) for service in where)
        done = subprocess.run([self.run.bench, 'at', at, what, str(connections), str(self.run.seconds)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120)
        self.stage.need(done.returncode == 0, f'{what} at {at}: exit {done.returncode}: {done.stderr[-2000:]}')
        told = json.loads(done.stdout)
        self.hot_units += told['units'] if what == 'reserve' else 0
        return told

    def pairs(self, one, other):
        """[(one, other)] of neighbouring turns, which change places from pair to pair."""
        found = []
        for i in range(self.run.rounds):
            swapped = [turn() for turn in ((other, one) if i % 2 else (one, other))]
            found.append(tuple(reversed(swapped)) if i % 2 else tuple(swapped))
        return found

    def say(self, name, found, required, unit='orders/s'):
        ratios = [one['rate'] / other['rate'] for one, other in found]
        word = 'reached' if median(ratios) >= required else 'MISSED'
        self.stage.say(f'{name}: {median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f}; at least '
                       f'{required}: {word}), {median([one["rate"] for one, _ in found]):,.0f} and '
                       f'{median([other["rate"] for _, other in found]):,.0f} {unit}')

    def classic(self):
        node = self.stage.cluster.nodes[0]
        node.sql_as_root("GRANT ALL ON classic.* TO app@'%'")
        found = self.pairs(lambda: self.turn(self.services[:1], 'reserve', CONNECTIONS),
                           lambda: self.turn(f'mariadb://app@{node.host}/holdfast', 'classic', CONNECTIONS))
        self.say(f'one hot sku, {CONNECTIONS} connections, against the classic statement', found, 16)
        lost, held = node.sql(f'SELECT {UNITS} - SUM(qty), (SELECT SUM(qty) FROM classic.reservation)'
                              ' FROM classic.stock')[0]
        self.stage.need(lost == held, f'the classic stock lost {lost}, its reservations hold {held}')

    def three_nodes(self):
        found = self.pairs(lambda: self.turn(self.services, 'reserve', NODES * CONNECTIONS),
                           lambda: self.turn(self.services[:1], 'reserve', CONNECTIONS))
        self.say(f'one hot sku through three nodes, {CONNECTIONS} each, against one node', found, 1.15)

    def causal_reads(self):
        def turn(service):
            with Readers(service, 'beside') as readers:
                told = self.turn([service], 'reserve', CONNECTIONS)
            return {**told, 'get_ms': readers.p99_ms()}
        found = self.pairs(*(lambda service=service: turn(service) for service in self.either))
        self.say(f'single orders, {CONNECTIONS} connections, with causal reads against without', found, 0.97)
        more = median([one['get_ms'] - other['get_ms'] for one, other in found])
        self.stage.say(f'GET beside them, p99: {median([one["get_ms"] for one, _ in found]):.1f} and '
                       f'{median([other["get_ms"] for _, other in found]):.1f} ms, {more:.1f} ms more (at most 5: '
                       f'{"reached" if more <= 5 else "MISSED"})')

    def claims(self, services, workers):
        while self.ready < READY_MIN * self.run.seconds:
            self.ready += self.turn(self.services[:1], 'waiting', 8)['orders']
        told = self.turn(services, 'claims', workers)
        self.ready -= told['orders']
        self.stage.need(self.ready > 0, 'nothing was left to claim')
        return {**told, 'rate': told['rate'] / 20}

    def workers(self):
        count = NODES * WORKERS
        found = self.pairs(lambda: self.claims(self.services, count), lambda: self.claims(self.services[:1], count))
        self.say(f'{count} workers on three nodes, against all on one', found, 0.5, 'claims of 20 orders/s')

    def check(self):
        """The acknowledged units are reserved, and no others."""
        status, answer = self.services[1].get('/v1/skus/HOT-0000')
        self.stage.need(status == 200 and json.loads(answer)['reserved'] == self.hot_units,
                        f'{self.hot_units} units were acknowledged: {status} {answer}')
        self.stage.command('audit')


def speed(run):
    """Pairs of turns: one hot sku, three nodes, causal reads, workers."""
    if not os.path.exists(run.bench):
        raise Skipped(f'needs {run.bench} (make build/bench-holdfast)')
    with ClusterStage(run, options=LARGE) as stage:
        row = Speed(run, stage)
        for measure in (row.classic, row.three_nodes, row.causal_reads, row.workers):
            measure()
            stage.say(f'    {run.rounds} pairs of turns of {run.seconds} s, {os.cpu_count()} cores, load average '
                      f'{os.getloadavg()[0]:.1f}')
        row.check()
        stage.agree()
        return stage.said


# ---- what nodes undo of each other

class Caller(threading.Thread):
    """Does one thing again and again: some of it through the service here, some through the next one."""

    def __init__(self, stage, services, number, way, seconds):
        super().__init__(daemon=True)
        self.stage, self.number, self.way, self.until = stage, number, way, time.monotonic() + seconds
        self.lines = [clients.Connection([services[(number + k) % len(services)]]) for k in range(2)]
        self.count, self.calls, self.busy, self.wrong = 0, 0, 0, None

    def run(self):
        with contextlib.suppress(Trouble):
            while time.monotonic() < self.until:
                self.count += 1
                self.way(self, f'{self.way.__name__}-{self.number}-{time.monotonic_ns()}')
        for line in self.lines:
            line.close()

    def ask(self, there, method, path, body):
        status, _, answer = self.lines[there].call(method, path, body)
        self.calls += 1
        self.busy += status == 503
        if status not in (200, 201, 204, 409, 503):
            self.wrong = f'{method} {path} {body}: {status} {answer}'
            raise Trouble(self.wrong)
        return answer if status in (200, 201) else None

    def reserve(self, id_, sku, qty=1, there=0, **more):
        """None: it was not granted."""
        place = {'location': more.pop('location')} if 'location' in more else {}
        return self.ask(there, 'POST', '/v1/reservations', {'order_id': id_, 'ttl_s': 3600,
                                                            'lines': [{'sku': sku, 'qty': qty, **place}], **more})

    def change(self, id_, what, there=1, **body):
        return self.ask(there, 'POST', f'/v1/reservations/{id_}/{what}', body)

    def move(self, id_, kind, there=1, **line):
        return self.ask(there, 'POST', '/v1/movements', {'movement_id': id_, 'kind': kind, 'lines': [line]})


def orders(caller, id_):
    caller.reserve(id_, 'W')


def gathers(caller, id_):
    caller.move(id_, 'receipt', sku='G', qty=2)
    caller.reserve(id_, 'G', 2)


def releases(caller, id_):
    if caller.reserve(id_, 'W'):
        caller.change(id_, 'release')


def replacements(caller, id_):
    if caller.reserve(id_, 'W', 3):
        caller.reserve(f'{id_}-r', 'W', 2, there=1, replaces=id_)


def splits(caller, id_):
    if caller.reserve(id_, 'W', 2):
        caller.change(id_, 'split', order_id=f'{id_}-p', lines=[{'sku': 'W', 'qty': 1}], then='release')


def settlements(caller, id_):
    if caller.reserve(id_, 'W', confirm=True):
        caller.change(id_, 'settle')


def claims(caller, id_):
    caller.reserve(id_, 'W', confirm=True)
    task = caller.ask(1, 'POST', '/v1/tasks', {'kind': 'settle', 'worker': id_[:30], 'limit': 10})
    if task:
        caller.ask(1, 'POST', f'/v1/tasks/{task["task_id"]}/complete', {})


def sweeps(caller, id_):
    caller.reserve(id_, 'E', ttl_s=1)


def one_customer(caller, id_):
    caller.reserve(id_, 'L', customer='C')


def counts(caller, id_):
    caller.move(id_, 'count', sku='N', counted=1_000 + caller.count % 10)


def levels(caller, id_):
    if caller.reserve(id_, 'V'):
        caller.change(id_, 'release')


def arrivals(caller, id_):
    if caller.reserve(id_, 'A', location='po', confirm=True):
        caller.move(id_, 'arrival', sku='A', qty=1, **{'from': 'po', 'to': 'main'})


def the_line(caller, id_):
    if caller.reserve(id_, 'Q', location='ordered', confirm=True):
        caller.move(id_, 'receipt', sku='Q', qty=1, location='shop')


WAYS = (orders, gathers, releases, replacements, splits, settlements, claims, sweeps, one_customer, counts, levels,
        arrivals, the_line)
CALLERS = 4                 # on each node


def prepare(stage, service):
    lines = [{'sku': sku, 'qty': 1_000_000} for sku in 'WENL'] + [{'sku': 'V', 'qty': 14}, {'sku': 'G', 'qty': 1}]
    lines += [{'sku': 'A', 'qty': 1_000_000, 'location': 'po'}, {'sku': 'Q', 'qty': 1_000_000, 'location': 'ordered'}]
    connection = clients.Connection([service])
    for method, path, body in (
            ('PUT', 'locations/po', {'kind': 'incoming'}), ('PUT', 'locations/ordered', {'kind': 'incoming'}),
            ('PUT', 'locations/shop', {'waits_at': 'ordered'}),
            ('POST', 'movements', {'movement_id': 'all', 'kind': 'receipt', 'lines': lines}),
            ('PUT', 'skus/L', {'per_customer': 1_000_000}), ('PUT', 'skus/V/threshold', {'low': 9})):
        status, _, answer = connection.call(method, f'/v1/{path}', body)
        stage.need(status in (200, 201), f'{method} {path}: {status} {answer}')
    connection.close()


def counted(stage, services):
    """(transactions replicated, undone by other nodes, tried again by the services) so far."""
    def of_nodes(*names):
        return sum(int(node.status(name)) for node in stage.cluster.nodes for name in names)
    return (of_nodes('wsrep_replicated'), of_nodes('wsrep_local_cert_failures', 'wsrep_local_bf_aborts'),
            sum(service.metric('holdfast_retries_total') for service in services))


def measured(stage, services, way):
    """(calls/s, of them busy, undone by other nodes and tried again, each of 100 transactions)"""
    before = counted(stage, services)
    callers = [Caller(stage, services, i, way, stage.run.seconds) for i in range(NODES * CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
        stage.need(not caller.wrong, str(caller.wrong))
    if way is sweeps:
        time.sleep(2)
    done, undone, again = (now - then for now, then in zip(counted(stage, services), before))
    calls = sum(caller.calls for caller in callers)
    return (calls / stage.run.seconds, sum(caller.busy for caller in callers), 100 * undone / max(done, 1),
            100 * again / max(done, 1))


def written(run):
    """Twelve clients do one thing, through three services on one node, then through three on three nodes: what is
    undone because it meets elsewhere."""
    with ClusterStage(run, options=LARGE) as stage:
        how, alone = ('--lanes', '2', '--jobs=expire'), f'mariadb://app@{stage.cluster.nodes[0].host}/holdfast'
        one = [stage.serve(*how, '--slot', str(2 * i), name=f'one{i}', db=alone) for i in range(NODES)]
        prepare(stage, one[0])
        rows = {way: [measured(stage, one, way)] for way in WAYS}
        for service in one:
            service.terminate()
        stage.services = []
        three = [stage.serve(*how, '--slot', str(2 * i), name=f'three{i}', db=f'{stage.url}?start={i + 1}')
                 for i in range(NODES)]
        for way, row in rows.items():
            row.append(measured(stage, three, way))
            stage.say(f'{way.__name__:<14} ' + '   '.join(
                f'{name}: {rate:6.0f} calls/s, {busy} busy, {undone:5.1f} undone and {again:5.1f} tried again of 100'
                for name, (rate, busy, undone, again) in zip(('one node', 'three'), row)))
        stage.say(f'load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, {run.seconds} s each')
        stage.command('audit')
        stage.agree()
        return stage.said
