"""Drills on a service whose socket another process keeps, as systemd does: restarts refuse nobody (sd_listen_fds(3)).

The clients are simple ones, so that each connection's fate is known. What is acknowledged is counted in the database.
"""
import http.client
import json
import os
import random
import re
import socket
import subprocess
import threading
import time

import patience
from child import end_with_us
from patience import PATIENCE_S
from stage import Trouble, wait_until

CLIENTS = 64
CALLS_BETWEEN = 200         # answers between two restarts
WAIT_S = 6 * PATIENCE_S     # of a client for an answer: longer than any restart
UNITS = 100_000_000
LATE_S = 0.6                # a client that connects may send its first byte so much later
PASSED = ['sh', '-c', 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=door exec "$@"', 'sh']


class Door:
    """A listening socket, and the service that gets it. The private database is in `folder`/var."""

    def __init__(self, run):
        self.run, self.log, self.process = run, f'{run.folder}/serve.log', None
        self.socket = socket.create_server(('127.0.0.1', 0), backlog=4096)
        self.port = self.socket.getsockname()[1]

    def child(self):
        end_with_us()
        os.dup2(self.socket.fileno(), 3)
        os.set_inheritable(3, True)

    def start(self):
        with open(self.log, 'ab') as log:
            self.process = subprocess.Popen([*PASSED, self.run.holdfast, 'serve', '--data', f'{self.run.folder}/var',
                                             '--jobs=expire'], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=(3,), preexec_fn=self.child)

    def end(self):
        """SIGTERM; returns the exit status."""
        self.process.terminate()
        return self.process.wait(patience.scaled(3 * PATIENCE_S))

    def said(self, pattern):
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return re.findall(pattern, log.read())


class Client(threading.Thread):
    """Calls without pause: some on a new connection each, some after a moment of silence, some on one that is kept."""

    def __init__(self, all_, number):
        super().__init__(daemon=True)
        self.all, self.number, self.count = all_, number, 0
        self.dice = random.Random(f'{all_.seed}/{number}')
        self.keeps, self.http, self.used = number % 2 == 0, None, 0

    def run(self):
        while not self.all.ending.is_set():
            self.count += 1
            self.order(f'{self.number}-{self.count}')
            time.sleep(self.dice.random() * (0.4 if self.number % 8 == 0 else 0.05))
        if self.http:
            self.http.close()

    def order(self, id_):
        """Sends the call until it is answered."""
        began, replays = time.monotonic(), 0
        while True:
            fate = self.call(id_)
            if isinstance(fate, int):
                break
            self.all.tell(fate)
            replays += 1
            if replays > 3:
                self.all.tell('given up')
                return
        self.all.answered(fate, time.monotonic() - began)

    def call(self, id_):
        """The status, or what became of the call otherwise."""
        try:
            if not self.http:
                self.http, self.used = http.client.HTTPConnection('127.0.0.1', self.all.port,
                                                                  timeout=patience.scaled(WAIT_S)), 0
                self.http.connect()
                if self.number % 4 == 1:
                    time.sleep(self.dice.random() * LATE_S)
            self.http.request('POST', '/v1/reservations', json.dumps(
                {'order_id': id_, 'lines': [{'sku': 'A', 'qty': 1}], 'ttl_s': 86400}),
                {'Content-Type': 'application/json'})
            response = self.http.getresponse()
            response.read()
            self.used += 1
            if response.will_close or not self.keeps:
                self.close()
            return response.status
        except (OSError, http.client.HTTPException) as why:
            kept = self.used > 0
            self.close()
            if isinstance(why, ConnectionRefusedError):
                return 'refused'
            return 'closed between two calls' if kept else f'new connection: {type(why).__name__}'

    def close(self):
        self.http.close()
        self.http = None


class Clients:
    def __init__(self, port, seed):
        self.port, self.seed, self.ending, self.lock = port, seed, threading.Event(), threading.Lock()
        self.fates, self.count, self.slowest_s = {}, 0, 0
        self.threads = [Client(self, number) for number in range(CLIENTS)]

    def tell(self, fate):
        with self.lock:
            self.fates[fate] = self.fates.get(fate, 0) + 1

    def answered(self, status, took_s):
        with self.lock:
            self.count += 1
            self.slowest_s = max(self.slowest_s, took_s)
        if status not in (200, 201):
            self.tell(f'status {status}')

    def progress(self, calls, what):
        until = self.count + calls
        wait_until(lambda: self.count >= until, WAIT_S, what)


def children_have_none(door):
    """The database's server was not given the socket, nor told of one."""
    pid = door.said(r'event=server_started pid=(\d+)')[-1]
    with open(f'/proc/{pid}/environ', encoding='utf-8', errors='replace') as environment:
        if 'LISTEN_FDS' in environment.read():
            raise Trouble('mariadbd was told of the socket')
    inode = f'socket:[{os.fstat(door.socket.fileno()).st_ino}]'
    for number in os.listdir(f'/proc/{pid}/fd'):
        if os.readlink(f'/proc/{pid}/fd/{number}') == inode:
            raise Trouble('mariadbd has the socket')


def receive(port):
    http_ = http.client.HTTPConnection('127.0.0.1', port, timeout=patience.scaled(WAIT_S))
    http_.request('POST', '/v1/movements', json.dumps({'movement_id': 'M', 'kind': 'receipt',
                                                      'lines': [{'sku': 'A', 'qty': UNITS}]}),
                  {'Content-Type': 'application/json'})
    if http_.getresponse().status != 201:
        raise Trouble('the stock was not received')
    http_.close()


def judge(run, door, clients):
    """No connection was refused, and each acknowledged order is there once."""
    fates = {fate: n for fate, n in clients.fates.items() if fate != 'closed between two calls'}
    if fates:
        raise Trouble(f'of {clients.count} calls: {fates}')
    for command in (['audit'], ['stats']):
        done = subprocess.run([run.holdfast, *command, '--data', f'{run.folder}/var'], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Trouble(f'{command[0]}: {done.stdout} {done.stderr}')
    reserved = int(re.search(r'^reserved +(\d+)', done.stdout, re.MULTILINE)[1])
    if reserved != clients.count:
        raise Trouble(f'{clients.count} orders were acknowledged, {reserved} units are reserved')


def door(run):
    """The service and its private database are restarted under 64 clients, again and again."""
    place, down_s = Door(run), []
    try:
        place.start()
        receive(place.port)
        children_have_none(place)
        clients = Clients(place.port, run.seed)
        for thread in clients.threads:
            thread.start()
        for i in range(run.rounds):
            clients.progress(CALLS_BETWEEN, f'round {i}: progress')
            began = time.monotonic()
            status = place.end()
            if status:
                raise Trouble(f'round {i}: exit {status}')
            place.start()
            clients.progress(1, f'round {i}: an answer of the next process')
            down_s.append(time.monotonic() - began)
        clients.progress(CALLS_BETWEEN, 'progress at the end')
        clients.ending.set()
        for thread in clients.threads:
            thread.join(patience.scaled(WAIT_S))
        judge(run, place, clients)
        return [f'{run.rounds} restarts under {CLIENTS} clients: {clients.count:,} calls, none refused; the slowest took '
                f'{clients.slowest_s:.2f} s',
                f'from SIGTERM to the next answer {sorted(down_s)[len(down_s) // 2]:.2f} s in the median, '
                f'{max(down_s):.2f} s at most; {clients.fates.get("closed between two calls", 0)} calls on a kept '
                'connection met its end, and were sent again']
    finally:
        if place.process and place.process.poll() is None:
            place.end()
        place.socket.close()
