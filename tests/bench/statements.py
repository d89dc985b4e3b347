"""The cost of each statement for the database: a proxy on the way from the service to MariaDB.

It passes the commands of a connection on one by one, waits for the whole answer, and looks before and behind it at
  - the CPU time of the connection's thread in the server (/proc/PID/task/TID/schedstat),
  - SHOW SESSION STATUS, asked on the same connection: Handler_*, Rows_read and Innodb_lsn_current, the redo.
The cost of the look itself is measured first, and taken off. The figures of a statement are medians, so
that what another thread of the server does meanwhile (purge, which writes redo) does not show. Each look lies between
two statements, so their CPU time is that of cold caches: compare it with itself. Statements that time alone begins (the
watch of levels, what readers keep up to date) are among them.
"""
import collections
import os
import pathlib
import re
import socket
import statistics
import struct
import threading

QUERY, PREPARE, EXECUTE, CLOSE, LONG_DATA, QUIT, BULK = 3, 22, 23, 25, 24, 1, 250
MORE_RESULTS = 8
LOOK = b"SHOW SESSION STATUS WHERE Variable_name LIKE 'Handler%' OR Variable_name IN ('Rows_read', 'Innodb_lsn_current')"
WHOAMI = b'SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()'
ROW = r'\((?:\?|NULL)(?:, ?(?:\?|NULL))*\)'       # of values, once these are question marks
COLUMNS = ('CPU us', 'rows read', 'changed', 'handlers', 'redo')


class Gone(Exception):
    """One end has closed the connection."""


def lenenc(data, at):
    """(number, place behind it), as the protocol writes lengths."""
    size = {0xfc: 2, 0xfd: 3, 0xfe: 8}.get(data[at], 0)
    return (int.from_bytes(data[at + 1:at + 1 + size], 'little'), at + 1 + size) if size else (data[at], at + 1)


class End:
    """One end of a connection: packets in, bytes out."""

    def __init__(self, end):
        self.socket, self.file = end, end.makefile('rb')

    def packet(self):
        head = self.file.read(4)
        if len(head) < 4:
            raise Gone
        return head, self.file.read(int.from_bytes(head[:3], 'little'))

    def send(self, *parts):
        try:
            self.socket.sendall(b''.join(parts))
        except OSError:
            raise Gone from None


class Connection:
    """One connection of the service, and what its statements have cost."""

    def __init__(self, proxy, client):
        self.proxy, self.client = proxy, End(client)
        server = socket.socket(socket.AF_UNIX)
        server.connect(proxy.to)
        self.server, self.names, self.prepared = End(server), {}, None

    def run(self):
        try:
            self.greet()
            self.task = pathlib.Path(f'/proc/{self.proxy.pid()}/task/{int(self.ask(WHOAMI)[0][0])}')
            self.look()
            before = self.look()
            self.own = self.look() - before
            del self.own['Innodb_lsn_current']      # a look writes no redo
            while True:
                self.command()
        except Gone:
            pass
        finally:
            self.client.socket.close()
            self.server.socket.close()

    def greet(self):
        self.client.send(*self.server.packet())
        answer = b'\xfe'
        while answer[:1] not in (b'\0', b'\xff'):
            self.server.send(*self.client.packet())
            head, answer = self.server.packet()
            self.client.send(head, answer)

    def ask(self, sql):
        """The rows of a question of our own."""
        self.server.send(struct.pack('<I', len(sql) + 1), bytes([QUERY]), sql)
        rows = []
        for packet in self.answer(lambda *parts: None):
            row, at = [], 0
            while at < len(packet):
                size, at = lenenc(packet, at)
                row.append(packet[at:at + size].decode())
                at += size
            rows.append(row)
        return rows

    def look(self):
        counts = collections.Counter()
        for name, value in self.ask(LOOK):
            counts['handlers' if name.startswith('Handler') else name] += int(value)
            if name in ('Handler_write', 'Handler_update', 'Handler_delete'):
                counts['changed'] += int(value)
        return counts

    def cpu_us(self):
        """Once the thread waits for the next command."""
        while ') S ' not in (self.task / 'stat').read_text():
            os.sched_yield()
        return int((self.task / 'schedstat').read_text().split()[0]) / 1000

    def command(self):
        head, data = self.client.packet()
        before = self.look() if self.proxy.counts is not None else None
        cpu_us = self.cpu_us()
        self.server.send(head, data)
        if data[0] not in (CLOSE, LONG_DATA, QUIT):
            self.answer(self.client.send, data[0])
        if data[0] == PREPARE and self.prepared is not None:
            self.names[self.prepared] = data[1:]
        if before is None:
            return
        cpu_us = self.cpu_us() - cpu_us
        cost = self.look()
        cost.subtract(before)
        cost.subtract(self.own)
        sql = self.names.get(data[1:5], b'') if data[0] in (EXECUTE, BULK) else data[1:]
        self.proxy.add(sql.decode(errors='replace'),
                       (cpu_us, cost['Rows_read'], cost['changed'], cost['handlers'], cost['Innodb_lsn_current']))

    def until_end(self, give):
        """Packets up to the one that ends a list; (packets, status of the last one)."""
        packets = []
        while True:
            head, data = self.server.packet()
            give(head, data)
            if data[:1] == b'\xff' or (data[:1] == b'\xfe' and len(data) < 9):
                return packets, 0 if data[:1] == b'\xff' else struct.unpack_from('<H', data, 3)[0]
            packets.append(data)

    def answer(self, give, command=QUERY):
        """The whole answer, each packet given on; returns the packets that are rows."""
        head, data = self.server.packet()
        give(head, data)
        if command == PREPARE:
            self.prepared = data[1:5] if data[:1] == b'\0' else None
            columns, values = struct.unpack_from('<HH', data, 5) if self.prepared is not None else (0, 0)
            for _ in range((columns > 0) + (values > 0)):
                self.until_end(give)
            return []
        rows, status = [], 0
        if data[:1] == b'\0':
            at = lenenc(data, lenenc(data, 1)[1])[1]
            status = struct.unpack_from('<H', data, at)[0]
        elif data[:1] not in (b'\xff', b'\xfe'):
            self.until_end(give)
            rows, status = self.until_end(give)
        return self.answer(give) if status & MORE_RESULTS else rows


class Proxy:
    """Stands at the socket `at`, before the server at `to`; pid() is the server's."""

    def __init__(self, at, to, pid):
        self.to, self.pid, self.counts = to, pid, None
        self.lock, self.listener = threading.Lock(), socket.socket(socket.AF_UNIX)
        self.listener.bind(at)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=Connection(self, client).run, daemon=True).start()

    def end(self):
        self.listener.close()

    def add(self, sql, costs):
        """Numbers, texts and lists of rows do not make a statement another one."""
        sql = re.sub(r"'[^']*'|\b0x[0-9A-Fa-f]+|\bX'[^']*'|-?\b\d+\b", '?', re.sub(r'\s+', ' ', sql))
        sql = re.sub(rf'({ROW})(?:, ?{ROW})+', r'\1, ..', sql)
        with self.lock:
            if self.counts is not None:
                self.counts[sql].append(costs)

    def measure(self, work):
        """Does the work; {statement: (calls, medians of the costs)}, per operation of the work."""
        self.counts = collections.defaultdict(list)
        done = work()
        with self.lock:
            counts, self.counts = self.counts, None
        return {sql: (len(costs) / done, [statistics.median(column) * len(costs) / done for column in zip(*costs)])
                for sql, costs in counts.items()}


def show(name, costs, width=74):
    print(f'\n{name:{width}}{"calls":>7}' + ''.join(f'{column:>10}' for column in COLUMNS))
    for sql, (calls, figures) in sorted(costs.items(), key=lambda item: -item[1][1][0]):
        print(f'{sql[:width - 1]:{width}}{calls:>7.3f}' + ''.join(f'{figure:>10.2f}' for figure in figures))
    sums = [sum(figures[i] for _, figures in costs.values()) for i in range(len(COLUMNS))]
    print(f'{"together":{width}}{sum(calls for calls, _ in costs.values()):>7.3f}' +
          ''.join(f'{figure:>10.2f}' for figure in sums))
