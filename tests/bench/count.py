#!/usr/bin/python3
"""Counts the service's instructions per operation under callgrind, and compares them with a table (counts.tsv).

The service runs under valgrind with one lane and without jobs. Its MariaDB is a private one that this script starts
beside it: valgrind 3.19 lacks pidfd_open, and so cannot run a service that owns its database. A row of the table is one
way to call the service. It is done once to warm up, and then counted. A row that costs too much is counted twice more,
and the least of them is taken: on a very busy machine one run of four had more of a row.

Batches have a fixed size, so that a row repeats: while the 32 connections send, the service is stopped (SIGSTOP), and
so it finds all requests at once. What glibc and OpenSSL choose by the CPU is fixed to SSE2, so that a row is the same
on every machine.

    count.py --holdfast build/holdfast [--rows NAME,..] [--write] [--keep FOLDER] [--statements]

Ends 0, or 1 if a row costs 3 % more than in the table. --statements prints what each statement costs the database
(statements.py) instead.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / name) for name in ('fault', 'kit')]
import stage        # noqa: E402
import statements   # noqa: E402  (beside this file)

TABLE = HERE / 'counts.tsv'
MORE = 0.03            # a row may cost so much more than in the table
ONE_CPU = {'GLIBC_TUNABLES': 'glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSSE3,'
                             '-SSE4_1,-SSE4_2',
           'OPENSSL_ia32cap': '~0x1200020200000000:0'}
LANE_S = 0.1           # a lane that has answered waits for work after that
# Calls that time alone makes, with what they call: the slower the machine, the more of them an operation sees.
BY_TIME = ('ticked', 'db_check', 'sku_limits_read')
BY_TIME_COST = re.compile(rf'^cfn=({"|".join(BY_TIME)})\ncalls=.*\n\S+ (\d+)$', re.MULTILINE)
SKUS = 60              # of orders of three lines


class Service(stage.Program):
    """`serve` under callgrind."""

    def __init__(self, play, environment, callgrind):
        self.folder, self.dumps, self.by_time = play.folder, 0, set()
        self.port = stage.free_port()
        self.callgrind = ['valgrind', '--tool=callgrind', '--separate-threads=yes', '--compress-strings=no',
                          f'--callgrind-out-file={self.folder}/profile'] if callgrind else []
        self.environment = {**os.environ, **environment}
        super().__init__(play, 'serve', ['serve', '--db', play.url, '--listen', f'127.0.0.1:{self.port}', '--lanes',
                                         '1', '--jobs=none', '--log-level', 'warn'])

    def start(self):
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen(
                [*self.callgrind, self.stage.program, *self.words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=stage.die_with_us, env=self.environment)
        stage.wait_until(self.ready, stage.START_S, 'the service is ready')

    def ready(self):
        if not self.alive():
            raise stage.Trouble(f'the service ended with {self.process.returncode}\n{self.last_words()}')
        try:
            with Client(self) as client:
                return client.call('GET', '/readyz')[0] == 200
        except OSError:
            return False

    def stop(self):
        """Every thread stands still until SIGCONT."""
        time.sleep(LANE_S)
        self.process.send_signal(signal.SIGSTOP)
        tasks = pathlib.Path(f'/proc/{self.process.pid}/task')
        stage.wait_until(lambda: all(') T ' in (task / 'stat').read_text() for task in tasks.iterdir()), stage.STOP_S,
                         'the service stands still')

    def count(self):
        """Instructions since the last count, of the threads that serve calls. Those beside them work by the clock."""
        subprocess.run(['vgdb', f'--pid={self.process.pid}', 'dump'], check=True, stdin=subprocess.DEVNULL,
                       capture_output=True)
        self.dumps += 1
        total = 0
        for path in self.profiles():
            profile = path.read_text(encoding='utf-8')
            if 'fn=background_main' not in profile:
                total += int(re.search(r'^(?:summary|totals): (\d+)', profile, re.MULTILINE)[1])
                for name, cost in BY_TIME_COST.findall(profile):
                    total -= int(cost)
                    self.by_time.add(name)
        return total

    def profiles(self):
        """A file for each thread."""
        return sorted(pathlib.Path(self.folder).glob(f'profile.{self.dumps}-*'))


class Client:
    """A connection that stays open."""

    def __init__(self, service):
        self.socket = socket.create_connection(('127.0.0.1', service.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile('rb')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answers.close()
        self.socket.close()

    def send(self, method, path, body=None):
        text = json.dumps(body) if body is not None else ''
        head = f'{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAccept-Encoding: identity\r\n'
        if text:
            head += f'Content-Type: application/json\r\nContent-Length: {len(text)}\r\n'
        self.socket.sendall(f'{head}\r\n{text}'.encode())

    def answer(self):
        status, length = int(self.answers.readline().split()[1]), 0
        while (line := self.answers.readline().lower()) != b'\r\n':
            if line.startswith(b'content-length:'):
                length = int(line.split()[1])
        return status, self.answers.read(length)

    def call(self, method, path, body=None):
        self.send(method, path, body)
        return self.answer()


def expect(answer, *statuses):
    status, body = answer
    if status not in statuses:
        raise stage.Trouble(f'{status} instead of {statuses}: {body[:300]}')
    return json.loads(body) if body else None


class Play:
    """Everything that the rows use: the database, the service, its clients, and the numbers of orders."""

    def __init__(self, folder, program, environment, measure='callgrind'):
        self.folder, self.program, self.run = folder, program, argparse.Namespace(folder=folder)
        self.database = stage.Database(folder, f'{folder}/template')
        at, self.proxy = self.database.socket, None
        if measure == 'statements':
            at = f'{folder}/proxy.sock'
            self.proxy = statements.Proxy(at, self.database.socket, lambda: self.database.process.pid)
        self.url = f'mariadb://root@localhost/holdfast?socket={at}'
        self.service = Service(self, environment, measure == 'callgrind')
        self.clients, self.orders, self.cursor = [], 0, None

    def __enter__(self):
        self.database.start()
        stage.wait_until(self.database.answers, stage.START_S, 'MariaDB answers')
        subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.database.socket}', '-e',
                        'CREATE DATABASE holdfast'], check=True, stdin=subprocess.DEVNULL)
        subprocess.run([self.program, 'migrate', '--db', self.url], check=True, stdin=subprocess.DEVNULL,
                       capture_output=True)
        self.service.start()
        self.clients = [Client(self.service) for _ in range(32)]
        lines = [{'sku': f'S-{n}', 'qty': 1_000_000} for n in range(SKUS)]
        expect(self.call('POST', '/v1/movements', {'movement_id': 'M-1', 'kind': 'receipt', 'lines': lines}), 201)
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.__exit__()
        self.service.end()
        if self.proxy:
            self.proxy.end()
        self.database.end()

    def call(self, method, path, body=None):
        return self.clients[0].call(method, path, body)

    def order(self, lines=1, **members):
        self.orders += 1
        first = self.orders if lines > 1 else 0
        return {'order_id': f'O-{self.orders:08d}', 'ttl_s': 900, **members,
                'lines': [{'sku': f'S-{(first + 7 * i) % SKUS}', 'qty': 1 + self.orders % 3} for i in range(lines)]}

    # ---- rows. Each does its operations once, and returns how many there were.

    def one_at_a_time(self):
        for _ in range(100):
            expect(self.call('POST', '/v1/reservations', self.order()), 201)
        return 100

    def together(self):
        for _ in range(5):
            self.service.stop()
            for client in self.clients:
                client.send('POST', '/v1/reservations', self.order())
            self.service.process.send_signal(signal.SIGCONT)
            for client in self.clients:
                expect(client.answer(), 201)
        return 5 * len(self.clients)

    def batch(self, lines=1, **members):
        orders = [self.order(lines, **members) for _ in range(500)]
        results = expect(self.call('POST', '/v1/reservations/batch', {'reservations': orders}), 200)['results']
        if any(result['status'] != 201 for result in results):
            raise stage.Trouble(f'an order of a batch was refused: {results[0]}')
        return len(orders)

    def batch_of_three_lines(self):
        return self.batch(3)

    def confirm(self):
        for n in range(self.orders - 50, self.orders):
            expect(self.call('POST', f'/v1/reservations/O-{n + 1:08d}/confirm', {}), 200)
        return 50

    def tasks(self):
        completed = 0
        for _ in range(3):
            task = expect(self.call('POST', '/v1/tasks', {'kind': 'settle', 'worker': 'w', 'limit': 100}), 201)
            completed += expect(self.call('POST', f'/v1/tasks/{task["task_id"]}/complete', {}), 200)['completed']
        return completed

    def get(self):
        for n in range(100):
            expect(self.call('GET', f'/v1/reservations/O-{self.orders - n:08d}'), 200)
        return 100

    def availability(self):
        for n in range(100):
            expect(self.call('GET', f'/v1/skus/S-{n % SKUS}'), 200)
        return 100

    def events(self):
        return len(expect(self.call('GET', '/v1/events?limit=1000'), 200)['items'])

    def confirmed(self):
        """The orders that the row `tasks` takes."""
        self.batch(confirm=True)

    # The work of each row, and the work before it, which is not counted.
    ROWS = {'one at a time': (one_at_a_time, None), '32 connections': (together, None), 'batch of 500': (batch, None),
            'batch of 500 with three lines': (batch_of_three_lines, None), 'confirm': (confirm, one_at_a_time),
            'claim and completion of 100': (tasks, confirmed), 'GET': (get, None), 'availability': (availability, None),
            'event read': (events, batch)}

    def measure(self, name):
        """Instructions per operation of a row."""
        work, before = self.ROWS[name]
        for _ in range(2):
            if before:
                before(self)
            self.service.count()
            done = work(self)
            count = self.service.count()
        return round(count / done)

    def statements(self, name):
        """The cost of the statements of a row for the database."""
        work, before = self.ROWS[name]
        for _ in range(2):
            if before:
                before(self)
            costs = self.proxy.measure(lambda: work(self))
        return costs


def table_read():
    """The head of the table, and its rows."""
    lines = TABLE.read_text(encoding='utf-8').splitlines(keepends=True) if TABLE.exists() else []
    rows = [line.split('\t') for line in lines if not line.startswith('#')]
    return ''.join(line for line in lines if line.startswith('#')), {name: int(count) for name, count in rows}


def table_write(head, counts):
    TABLE.write_text(head + ''.join(f'{name}\t{count}\n' for name, count in counts.items()), encoding='utf-8')


def judge(counts, table):
    """Prints each count beside the one of the table. True: none is too large."""
    fine = True
    for name, count in counts.items():
        more = count / table[name] - 1 if name in table else float('inf')
        fine = fine and more <= MORE
        print(f'{name:30}{count:>9}{table.get(name, 0):>9}{more:>+8.1%}{"" if more <= MORE else "  too much"}')
        if more < -MORE:
            print('  the table is out of date: say `make count COUNT_FLAGS=--write`')
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--holdfast', required=True)
    parser.add_argument('--rows', type=lambda text: text.split(','), default=list(Play.ROWS))
    parser.add_argument('--write', action='store_true', help='write the counts to the table')
    parser.add_argument('--keep', help='folder for the profiles, which callgrind_annotate reads')
    parser.add_argument('--any-cpu', action='store_true', help='let glibc and OpenSSL choose by the CPU')
    parser.add_argument('--statements', action='store_true', help='print what each statement costs the database')
    asked = parser.parse_args()
    counts, (head, table) = {}, table_read()
    with tempfile.TemporaryDirectory(prefix='holdfast-count.') as folder:
        if asked.statements:
            with Play(folder, asked.holdfast, {}, measure='statements') as play:
                for name in asked.rows:
                    statements.show(name, play.statements(name))
            return
        with Play(folder, asked.holdfast, {} if asked.any_cpu else ONE_CPU) as play:
            for name in asked.rows:
                counts[name] = play.measure(name)
                if counts[name] > table.get(name, 0) * (1 + MORE):
                    counts[name] = min(counts[name], play.measure(name), play.measure(name))
                for path in play.service.profiles() if asked.keep else []:
                    os.makedirs(asked.keep, exist_ok=True)
                    shutil.copy(path, f'{asked.keep}/{name.replace(" ", "-")}{path.suffix[-3:]}')
            if len(counts) == len(Play.ROWS) and (unseen := set(BY_TIME) - play.service.by_time):
                raise stage.Trouble(f'no call of {", ".join(unseen)}: was the function renamed?')
    if asked.write:
        table_write(head, {**table, **counts})
    sys.exit(0 if judge(counts, table) or asked.write else 1)


if __name__ == '__main__':
    main()
