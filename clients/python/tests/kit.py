"""What the tests are made with: the service on a private database, a proxy that does harm, a server that says what the
test wants, and both clients behind one face."""
import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[2]
sys.path[:0] = [str(HERE.parent), str(PROJECT / 'tests' / 'kit')]

import patience                                                     # noqa: E402
from holdfast import AsyncHoldfast, Holdfast                        # noqa: E402

signal.signal(signal.SIGTERM, signal.default_int_handler)      # so that services end with a test that is stopped
# The program takes no HOLDFAST_ of its environment that is not an option.
PROGRAM = os.environ.pop('HOLDFAST_BIN', None) or str(PROJECT / 'build' / 'holdfast')
READY_S = 6 * patience.PATIENCE_S
PORTS = 12000, 20000        # not those of other tests, nor those that the system gives away
RST_ON_CLOSE = struct.pack('ii', 1, 0)


def free_port():
    while True:
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(('127.0.0.1', random.randint(*PORTS)))
            return listener.getsockname()[1]


def wait_until(true, what):
    began = time.monotonic()
    while not true():
        if patience.is_over(began, READY_S):
            raise AssertionError(f'still not: {what}')
        time.sleep(0.02)


class Service:
    """`holdfast serve` on a private MariaDB in a scratch folder, at the same address after each start."""

    def __init__(self, *options, tls=None):
        if not os.access(PROGRAM, os.X_OK):
            raise unittest.SkipTest(f'{PROGRAM} is not built')
        self.folder = tempfile.mkdtemp(prefix='holdfast-python-')
        self.address = f'127.0.0.1:{free_port()}'
        self.url = f'{"https" if tls else "http"}://{self.address}'
        self.options, self.tls, self.process = options, tls, None
        atexit.register(self.end)
        self.start()

    def start(self):
        with open(f'{self.folder}/log', 'ab') as log:
            self.process = subprocess.Popen(
                [PROGRAM, 'serve', '--data', f'{self.folder}/data', '--listen', self.address, '--lanes', '2',
                 *self.options], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.ready, f'{self.address} is ready')

    def ready(self):
        if self.process.poll() is not None:
            raise AssertionError(pathlib.Path(self.folder, 'log').read_text(encoding='utf-8')[-2000:])
        ready = f'{self.url}/readyz'
        with contextlib.suppress(OSError), urllib.request.urlopen(ready, timeout=2, context=self.tls) as answer:
            return answer.status == 200
        return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def kill_database(self):
        os.kill(int(pathlib.Path(self.folder, 'data', 'mariadbd.pid').read_text(encoding='ascii')), signal.SIGKILL)

    def command(self, *words):
        """Its output; a status other than 0 fails the test."""
        done = subprocess.run([PROGRAM, *words, '--data', f'{self.folder}/data'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise AssertionError(f'holdfast {" ".join(words)}: {done.returncode}\n{done.stdout}')
        return done.stdout

    def stop(self):
        self.process.terminate()
        if self.process.wait():
            raise AssertionError(f'serve ended with {self.process.returncode}')

    def end(self):
        """Also what a kill has left: the database of a service that is dead."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        with contextlib.suppress(OSError, ValueError):
            self.kill_database()
        shutil.rmtree(self.folder, ignore_errors=True)


def read_request(source):
    """The bytes of a request; b'' at the end of the connection."""
    data = b''
    while b'\r\n\r\n' not in data:
        more = source.recv(1 << 16)
        if not more:
            return b''
        data += more
    head, _, body = data.partition(b'\r\n\r\n')
    lengths = [line.split(b':')[1] for line in head.lower().split(b'\r\n') if line.startswith(b'content-length:')]
    while len(body) < (int(lengths[0]) if lengths else 0):
        more = source.recv(1 << 16)
        if not more:
            return b''
        body += more
    return head + b'\r\n\r\n' + body


class Listener:
    """Serves each connection in a thread of its own."""

    def __init__(self, family=socket.AF_INET):
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(('::1' if family == socket.AF_INET6 else '127.0.0.1', 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        self.url = f'http://{"[::1]" if family == socket.AF_INET6 else "127.0.0.1"}:{self.port}'
        self.sockets = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.sockets.append(client)
                threading.Thread(target=self.serve_quietly, args=(client, len(self.sockets)), daemon=True).start()

    def serve_quietly(self, client, number):
        with contextlib.suppress(OSError):
            self.serve(client, number)
        client.close()

    def serve(self, client, number):
        raise NotImplementedError

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for client in self.sockets:
            client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def certificate(folder, name):
    """Makes files cert and key in the folder; returns a context that trusts them."""
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes',
                    '-days', '1', '-keyout', f'{folder}/key', '-out', f'{folder}/cert', '-subj', '/CN=test',
                    '-addext', f'subjectAltName={name}'], check=True, capture_output=True)
    return ssl.create_default_context(cafile=f'{folder}/cert')


class Scripted(Listener):
    """Answers the first, second .. request by the first, second .. step: the bytes of an answer, or a function that
    gets the socket and the request. The last step stays. It remembers the requests."""

    def __init__(self, *steps, family=socket.AF_INET):
        self.steps, self.requests, self.connections, self.lock = steps, [], set(), threading.Lock()
        super().__init__(family)

    def serve(self, client, number):
        while request := read_request(client):
            with self.lock:
                self.requests.append(request)
                self.connections.add(number)
                step = self.steps[min(len(self.requests), len(self.steps)) - 1]
            if callable(step):
                step(client, request)
            else:
                client.sendall(step)


def answer(status, body=b'{}', *headers, kind='application/json'):
    """The bytes of an answer with a length."""
    lines = [f'HTTP/1.1 {status} X', f'Content-Type: {kind}', f'Content-Length: {len(body)}', *headers]
    return '\r\n'.join([*lines, '', '']).encode() + body


def reset(client, _request=None):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_ON_CLOSE)
    client.close()


class Proxy(Listener):
    """Stands before the service, and does by chance what networks do: cuts connections before or behind the service's
    answer, and in the middle of it; delays requests, also beyond the client's patience, and delivers them nevertheless;
    delivers requests twice; says that the gateway failed. `harm` is the share of requests that meet that."""

    FATES = ('cut before', 'cut behind', 'cut within', 'delay', 'late', 'twice', 'gateway')

    def __init__(self, address, seed, late_s):
        host, port = address.split(':')
        self.upstream, self.chance, self.late_s = (host, int(port)), random.Random(seed), late_s
        self.harm, self.met, self.lock = 0.0, dict.fromkeys(self.FATES, 0), threading.Lock()
        super().__init__()

    def serve(self, client, number):
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.ExitStack() as stack:
            upstream = None
            while request := read_request(client):
                with self.lock:
                    fate = self.chance.choice(self.FATES) if self.chance.random() < self.harm else None
                    if fate:
                        self.met[fate] += 1
                if fate == 'cut before':
                    return reset(client)
                if fate in ('delay', 'late'):
                    time.sleep(self.late_s if fate == 'late' else self.chance.random() / 5)
                if fate == 'twice':
                    self.forward(request)
                upstream = upstream or stack.enter_context(socket.create_connection(self.upstream))
                upstream.sendall(request)
                told = read_request(upstream)
                if fate == 'cut behind' or not told:
                    return reset(client)
                if fate == 'cut within':
                    client.sendall(told[:len(told) // 2])
                    return reset(client)
                client.sendall(answer(502, b'<p>Bad Gateway', kind='text/html') if fate == 'gateway' else told)
                if b'\r\nconnection: close' in told.split(b'\r\n\r\n')[0].lower():
                    upstream = None

    def forward(self, request):
        """A copy of a request, on a connection of its own."""
        with contextlib.suppress(OSError), socket.create_connection(self.upstream) as upstream:
            upstream.sendall(request)
            read_request(upstream)


class Threads:
    """A client with one face for both: `call` blocks, whatever the client."""

    def __init__(self, url, **options):
        self.client = Holdfast(url, **options)

    def call(self, name, *arguments, **options):
        return getattr(self.client, name)(*arguments, **options)

    def items(self, name, *arguments):
        return list(getattr(self.client, name)(*arguments))

    def close(self):
        self.client.close()


class Loop:
    """The same on a loop of its own."""

    def __init__(self, url, **options):
        self.client, self.loop = AsyncHoldfast(url, **options), asyncio.new_event_loop()

    def call(self, name, *arguments, **options):
        return self.loop.run_until_complete(getattr(self.client, name)(*arguments, **options))

    def items(self, name, *arguments):
        async def collect():
            return [item async for item in getattr(self.client, name)(*arguments)]
        return self.loop.run_until_complete(collect())

    def close(self):
        self.loop.run_until_complete(self.client.close())
        self.loop.close()


def with_each(test, make, check, **options):
    """For each client, both at the same time: makes a server by `make`, and gives the test `check(client, server)`."""
    def one(kind):
        with make() as server:
            client = kind(server.url, **options)
            try:
                check(client, server)
            finally:
                client.close()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [(kind.__name__, pool.submit(one, kind)) for kind in (Threads, Loop)]
        for name, run in runs:
            with test.subTest(client=name):
                run.result()
