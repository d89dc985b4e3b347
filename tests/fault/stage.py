"""The stage of a drill: a private MariaDB and programs of Holdfast, which the drill breaks, and its run.

Everything is in one scratch folder and ends with the `Stage` block, whatever the drill did to it.
"""
import contextlib
import glob
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import time

import check
import clients
import patience
from child import die_with_us
from patience import PATIENCE_S

START_S, STOP_S, READY_S = 6 * PATIENCE_S, 3 * PATIENCE_S, 6 * PATIENCE_S
SERVED_S = 6 * PATIENCE_S   # an order that waits is served
PORTS = 20000, 32000        # Linux gives those from 32768 on to programs that ask for any
INSTALL = ['mariadb-install-db', '--no-defaults', '--skip-test-db', '--rpm',
           '--auth-root-authentication-method=normal']
REDO = '--innodb-log-file-size=32M'
SMALL_CACHES = '--key-buffer-size=64K', '--aria-pagecache-buffer-size=8M'


# Lines in the queue that wait although there are units for them.
KEPT_WAITING = """waiting_line w JOIN reservation r USING (reservation_id) JOIN location l ON l.waits_at = w.location_id
  JOIN stock_slot s ON s.sku_id = w.sku_id AND s.location_id = l.location_id AND s.available > 0
 WHERE r.state <> 1 OR r.expires_at > UTC_TIMESTAMP(3)"""


class Trouble(Exception):
    """The drill found something."""


class Skipped(Exception):
    """This machine does not allow the drill; the text says why."""


def wait_until(true, within_s, what):
    """Returns the seconds that it took."""
    began = time.monotonic()
    while not true():
        if patience.is_over(began, within_s):
            raise Trouble(f'after {time.monotonic() - began:.1f} s still not: {what}')
        time.sleep(0.01)
    return time.monotonic() - began


def as_root():
    return ['--user=root'] if os.geteuid() == 0 else []


class Clock:
    """The wall clock of processes that start with its environment, set while they run. Their monotonic one is true."""

    LIBRARY = '/usr/lib/*/faketime/libfaketimeMT.so.1'

    def __init__(self, path):
        self.path, self.library, self.processes = path, (glob.glob(self.LIBRARY) or [''])[0], []
        if not self.library:
            raise Skipped('needs libfaketime (apt-get install libfaketime)')
        self.set(0)

    def set(self, ahead_s):
        with open(f'{self.path}.new', 'w', encoding='ascii') as file:
            file.write(f'{ahead_s:+.3f}\n')
        os.rename(f'{self.path}.new', self.path)

    def environment(self):
        """Without the last of these the library ends waits by the monotonic clock at once."""
        return {**os.environ, 'LD_PRELOAD': self.library, 'FAKETIME_TIMESTAMP_FILE': self.path,
                'FAKETIME_NO_CACHE': '1', 'NO_FAKE_STAT': '1', 'FAKETIME_DONT_FAKE_MONOTONIC': '1',
                'FAKETIME_FORCE_MONOTONIC_FIX': '0'}

    def end(self):
        """Removes what the library leaves behind of a process."""
        for process in self.processes:
            for path in glob.glob(f'/dev/shm/*faketime_s*_{process.pid}'):
                os.remove(path)


class Database:
    """A MariaDB server that ends with us. `template` is an empty data directory, made when it is not there."""

    def __init__(self, folder, template, redo=REDO, clock=None):
        self.folder, self.redo, self.clock, self.process, self.options = folder, redo, clock, None, []
        self.socket = f'{folder}/db.sock'
        if not os.path.isdir(template):
            self.install(template)
        shutil.copytree(template, f'{folder}/db')

    @staticmethod
    def install(template):
        new = f'{template}.{os.getpid()}'
        for folder in (f'{new}/db', f'{new}/tmp'):
            os.makedirs(folder)
        subprocess.run([*INSTALL, f'--datadir={new}/db', f'--tmpdir={new}/tmp', REDO, *as_root()], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with contextlib.suppress(OSError):      # another run may have been faster
            os.rename(f'{new}/db', template)
        shutil.rmtree(new, ignore_errors=True)

    def start(self):
        with open(f'{self.folder}/db.log', 'ab') as log:
            self.process = subprocess.Popen(
                ['mariadbd', '--no-defaults', f'--datadir={self.folder}/db', f'--socket={self.socket}',
                 f'--pid-file={self.folder}/db.pid', f'--tmpdir={self.folder}', '--skip-networking',
                 '--skip-name-resolve', '--skip-log-bin', self.redo, '--innodb-buffer-pool-size=256M',
                 '--innodb-flush-log-at-trx-commit=1', '--innodb-use-native-aio=OFF', '--max-connections=300',
                 '--performance-schema=OFF', *SMALL_CACHES, *self.options, *as_root()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_us,
                env=self.clock and self.clock.environment())
        if self.clock:
            self.clock.processes.append(self.process)

    def answers(self):
        done = subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.socket}', '-e', 'DO 1'],
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        return done.returncode == 0

    def sql(self, text):
        return check.rows_of(self.socket, text)

    def damage(self):
        """Faults that MariaDB itself finds in its tables."""
        for table, in self.sql('SHOW TABLES'):
            for name, _, kind, text in self.sql(f'CHECK TABLE `{table}`'):
                if kind != 'status':
                    yield f'CHECK TABLE {name}: {kind}: {text}'

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()

    def assertions(self):
        """The assertions of its own that MariaDB has failed. It may hang after one, and accept connections that it never
        answers."""
        log = pathlib.Path(self.folder, 'db.log').read_text(errors='replace')
        return re.findall(r'InnoDB: Assertion failure in file \S+ line \d+', log)

    def end(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()


class Program:
    """A command of Holdfast that runs beside the drill."""

    def __init__(self, stage, name, words, descriptors=None, clock=None):
        self.stage, self.name, self.words, self.descriptors, self.clock = stage, name, words, descriptors, clock
        self.log = f'{stage.run.folder}/{name}.log'     # the drill may fill the disk of stage.folder
        self.process = None

    def prepare(self):
        die_with_us()
        if self.descriptors:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

    def start(self):
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen([self.stage.program, *self.words], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, preexec_fn=self.prepare,
                                            env=self.clock and self.clock.environment())
        if self.clock:
            self.clock.processes.append(self.process)

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def terminate(self, within_s=STOP_S):
        """(exit status, seconds)."""
        began = time.monotonic()
        self.process.terminate()
        try:
            return self.process.wait(patience.scaled(within_s)), time.monotonic() - began
        except subprocess.TimeoutExpired:
            self.kill()
            raise Trouble(f'{self.name} did not end within {time.monotonic() - began:.1f} s after SIGTERM') from None

    def end(self):
        if self.process and self.alive():
            self.kill()

    def last_words(self):
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return ''.join(log.readlines()[-15:]).rstrip()


def free_port():
    """A port that the system does not give to programs that ask for any: while a service is down, its port stays
    free."""
    while True:
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(('127.0.0.1', random.randint(*PORTS)))
            return listener.getsockname()[1]


class Service(Program):
    """`serve`, at the same address after every start."""

    def __init__(self, stage, name, options, db, **how):
        self.address = f'127.0.0.1:{free_port()}'
        super().__init__(stage, name, ['serve', '--db', db, '--listen', self.address, *options], **how)

    def start(self, ready=True):
        super().start()
        if ready:
            self.wait_ready()

    def get(self, path, timeout_s=PATIENCE_S / 5):
        """(status, body); status None: no answer."""
        connection = http.client.HTTPConnection(self.address, timeout=patience.scaled(timeout_s))
        try:
            connection.request('GET', path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return None, ''
        finally:
            connection.close()

    def ready(self):
        if not self.alive():
            raise Trouble(f'{self.name} ended with {self.process.returncode}\n{self.last_words()}')
        return self.get('/readyz')[0] == 200

    def wait_ready(self, within_s=READY_S):
        return wait_until(self.ready, within_s, f'{self.name} is ready')

    def metric(self, name):
        """The sum of a metric's samples; 0 when there is none."""
        text = self.get('/metrics', 1.5 * PATIENCE_S)[1]
        return sum(float(n) for n in re.findall(rf'^{name}(?:{{[^}}]*}})? ([0-9.e+]+)$', text, re.MULTILINE))


class Stage:
    """One drill's database, programs, clients and journal. `run` is what was asked on the command line."""

    def __init__(self, run, folder=None, redo=REDO, clock=None, database=None):
        self.run, self.program = run, run.holdfast
        self.folder = folder or run.folder
        self.things = [clock] if clock else []
        self.services, self.said = [], []
        self.unknown_outcomes = 0
        self.database = database or Database(self.folder, run.template, redo, clock)
        self.url = f'mariadb://root@localhost/holdfast?socket={self.database.socket}'
        self.journal = clients.Journal(f'{run.folder}/journal.jsonl')

    def __enter__(self):
        try:
            self.things.append(self.database)
            self.database.start()
            wait_until(self.database.answers, START_S, 'MariaDB answers')
            subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.database.socket}', '-e',
                            'CREATE DATABASE holdfast'], check=True, stdin=subprocess.DEVNULL)
            self.command('migrate')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for thing in reversed(self.things):
            thing.end()
        self.journal.close()

    def command(self, *words, within_s=30 * PATIENCE_S):
        done = subprocess.run([self.program, *words, '--db', self.url], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=patience.scaled(within_s), check=False)
        if done.returncode:
            raise Trouble(f'holdfast {" ".join(words)}: exit {done.returncode}\n{done.stdout.strip()}')
        return done.stdout

    def serve(self, *options, name='serve', db=None, **how):
        service = Service(self, name, options, db or self.url, **how)
        self.things.append(service)
        self.services.append(service)
        service.start()
        return service

    def beside(self, name, *words):
        """Another program of Holdfast on this database."""
        program = Program(self, name, [*words, '--db', self.url])
        self.things.append(program)
        program.start()
        return program

    def keep(self, thing):
        self.things.append(thing)
        return thing

    def load(self, units=1_000_000, **how):
        load = clients.Load(self.services, self.journal, self.run.seed, **how)
        if not clients.stock(load, units):
            raise Trouble('the stock was not received')
        return load

    def none(self, where):
        """True: there is no row in `where`."""
        return not int(self.database.sql(f'SELECT COUNT(*) FROM {where}')[0][0])

    def supply(self, units=1_000_000):
        """Serves every order that waits."""
        wait_until(lambda: clients.supply(self.services, self.journal, units), READY_S, 'what is waited for came')

    def say(self, text):
        self.said.append(text)

    def need(self, true, text):
        if not true:
            raise Trouble(text)

    def progress(self, load, calls, within_s, text):
        """Waits until `calls` more calls of the load are answered."""
        began = time.monotonic()
        if not load.progress(calls, within_s):
            raise Trouble('\n'.join([*self.database.assertions(),
                                     f'{text}: not {calls} answers in {time.monotonic() - began:.1f} s']))

    def disagree(self, text):
        """Ends the drill. Where MariaDB finds damage, too, it is its recovery that failed, and not Holdfast."""
        raise Trouble('\n'.join([*self.database.damage(), text]))

    def verify(self, purged=False):
        """All is well again: resolve what is open, compare journal and tables, audit."""
        for service in self.services:
            service.wait_ready()
        counts = self.journal.counts
        repeated = clients.resolve(self.services, self.journal, self.run.seed)
        wait_until(lambda: self.none('arrival_open'), SERVED_S, 'every arrival is handed out')
        wait_until(lambda: self.none(KEPT_WAITING), SERVED_S, 'what is at a place goes to those who wait for it')
        self.unknown_outcomes += sum(service.metric('holdfast_unknown_outcomes_total') for service in self.services)
        self.journal.file.flush()
        troubles, orders, movements = check.check_all(self.journal.path, self.database.socket, purged)
        self.say(f'{counts["calls"]:,} calls: {counts["acknowledged"]:,} acknowledged, {counts["refused"]:,} refused, '
                 f'{counts["nothing_done"]:,} busy or unavailable, {counts["unknown"]:,} unknown, {counts["lost"]:,} '
                 f'without an answer; {repeated:,} repeated; slowest {self.journal.slowest_ms / 1000:.1f} s')
        self.say(f'{orders:,} orders and {movements:,} movements compared, {len(troubles)} disagreements; '
                 f'{self.unknown_outcomes:.0f} outcomes looked up by the service')
        if troubles:
            self.disagree('\n'.join(troubles[:check.TOLD_MAX]))
        try:
            self.command('audit')
        except Trouble as why:
            self.disagree(str(why))


def json_post(service, path, body, timeout_s=2 * PATIENCE_S):
    """(status, headers, answer) of one call beside the clients."""
    connection = http.client.HTTPConnection(service.address, timeout=patience.scaled(timeout_s))
    try:
        connection.request('POST', path, json.dumps(body), {'Content-Type': 'application/json'})
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read() or b'null')
    finally:
        connection.close()
