"""Stands between the service and its database, and does to their connections what a network may do.

  service ── TCP ──▶ Proxy ── unix socket ──▶ MariaDB

The `fault`, which a drill sets while connections are open, decides what happens to the bytes. A statement that ends a
transaction is known by the word COMMIT in it. A lane's batch is known by its prepared statements: no other part of the
program has any.
"""
import contextlib
import random
import re
import socket
import struct
import threading
import time

COMMIT = re.compile(rb'COMMIT(?!TED)')      # TED: a level of isolation
ROLLBACK = b'ROLLBACK'
EXECUTE = b'\x17'                           # COM_STMT_EXECUTE, the fifth byte of a packet
CHUNK = 1 << 18
RST_ON_CLOSE = struct.pack('ii', 1, 0)      # SO_LINGER of no time: close sends RST


class Pair:
    """One connection of the service and ours to the server behind it."""

    def __init__(self, proxy, client, server):
        self.proxy, self.client, self.server = proxy, client, server
        self.at_commit = False              # the server has a COMMIT that it has not answered
        self.in_batch = False               # of a lane, until it was committed or rolled back

    def start(self):
        for pump in (self.upwards, self.downwards):
            threading.Thread(target=pump, daemon=True).start()

    def upwards(self):
        self.pump(self.client, lambda data: self.proxy.fault.up(self, data))

    def downwards(self):
        self.pump(self.server, lambda data: self.proxy.fault.down(self, data))

    def pump(self, source, give):
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                give(data)
        self.close()

    def close(self, reset=False):
        """Wakes the pump of the other direction, too."""
        with contextlib.suppress(OSError):
            if reset:
                self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_ON_CLOSE)
                self.client.shutdown(socket.SHUT_RD)
            else:
                self.client.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.client.close()
        self.server.close()
        self.proxy.pairs.discard(self)


class Clear:
    """No fault."""

    def up(self, pair, data):
        pair.at_commit = bool(COMMIT.search(data))
        pair.in_batch = (pair.in_batch or data[4:5] == EXECUTE) and ROLLBACK not in data
        pair.server.sendall(data)

    def down(self, pair, data):
        pair.in_batch = pair.in_batch and not pair.at_commit
        pair.at_commit = False
        pair.client.sendall(data)


class Slow(Clear):
    """Every chunk waits a while."""

    def __init__(self, most_s):
        self.most_s = most_s

    def up(self, pair, data):
        time.sleep(random.random() * self.most_s)
        super().up(pair, data)

    def down(self, pair, data):
        time.sleep(random.random() * self.most_s)
        super().down(pair, data)


class Bytes(Clear):
    """Every byte is a segment of its own."""

    def up(self, pair, data):
        for i in range(len(data)):
            pair.server.send(data[i:i + 1])

    def down(self, pair, data):
        for i in range(len(data)):
            pair.client.send(data[i:i + 1])


class Silent(Clear):
    """Both sides stay connected and nothing comes through; what was sent meanwhile is lost."""

    def up(self, pair, data):
        pass

    def down(self, pair, data):
        pass


class Stalled(Clear):
    """Nothing comes through until `go`; then all of it."""

    def __init__(self):
        self.go = threading.Event()

    def up(self, pair, data):
        self.go.wait()
        super().up(pair, data)

    def down(self, pair, data):
        self.go.wait()
        super().down(pair, data)


class CommitLost(Clear):
    """The server commits; its answer is dropped and the connection reset. `hits` counts those of lanes' batches."""

    def __init__(self):
        self.hits = 0

    def down(self, pair, data):
        if pair.at_commit:
            self.hits += pair.in_batch
            pair.close(reset=True)
        else:
            super().down(pair, data)


class AtCommit(Clear):
    """Calls `strike` once, shortly after a COMMIT was sent; held_back: when its answer is there, which is lost. lanes:
    a COMMIT of a lane's batch; otherwise of any transaction."""

    def __init__(self, strike, after_s=0.0, held_back=False, lanes=False):
        self.strike, self.after_s, self.held_back, self.lanes = strike, after_s, held_back, lanes
        self.struck, self.lock = threading.Event(), threading.Lock()

    def at_commit(self, pair):
        return pair.at_commit and (pair.in_batch or not self.lanes)

    def once(self):
        with self.lock:
            first = not self.struck.is_set()
            if first:
                self.strike()
                self.struck.set()
        return first

    def up(self, pair, data):
        super().up(pair, data)
        if self.at_commit(pair) and not self.held_back and not self.struck.is_set():
            time.sleep(self.after_s)
            self.once()

    def down(self, pair, data):
        if self.at_commit(pair) and self.held_back and self.once():
            pair.close()
        else:
            super().down(pair, data)


class Proxy:
    def __init__(self, server_path):
        self.server_path, self.fault, self.pairs = server_path, Clear(), set()
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.url = f'mariadb://root@127.0.0.1:{self.port}/holdfast'
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self.server_path)
                except OSError:
                    server.close()
                    client.close()
                    continue
                pair = Pair(self, client, server)
                self.pairs.add(pair)
                pair.start()

    def cut(self):
        """Every connection there is, with RST."""
        for pair in list(self.pairs):
            pair.close(reset=True)

    def end(self):
        self.listener.close()
        self.cut()
