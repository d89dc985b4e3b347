#!/usr/bin/env python3
"""Counts the files and calls that a plain order passes, from POST to SQL and back, and holds docs/developer.md against it.

    make walk
    tests/walk.py BUILD [--short]   BUILD/holdfast of gcc -O0 -g1 -finstrument-functions, BUILD/bench-walk.so

A plain order has one line, no customer and no note, and nothing waits. It comes alone, on a connection that is open, to
a service with one lane and without jobs that knows its sku. A call counts where a function of one file calls one of
another; a header counts as its .c. The files of engine/base are left out, and so are the ticks of timers: of many
orders the one with the fewest calls is counted. --short leaves out the list of the calls.

Ends 0 if the order passes no more than MOST, and the section `The walk of one order` says how many files and calls it
passes, names each of the files in its table, and names no other one there.
"""
import argparse
import json
import mmap
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / 'tests' / 'kit'))
from child import end_with_us   # noqa: E402

DOCUMENT = ROOT / 'docs' / 'developer.md'
MOST = {'files': 33, 'calls': 185}
CALLS, HEAD, CALL = 1 << 18, struct.Struct('<Q'), struct.Struct('<IIQQ')    # as tests/bench/preload/walk.c has them
ORDERS, APART_S, END_S, START_S, ANSWER_S = 15, 0.1, 0.05, 120, 30


class Service:
    """The program on a folder of its own, and one connection to it."""

    def __init__(self, build, folder):
        self.program = os.path.realpath(build / 'holdfast')
        record = pathlib.Path(folder) / 'record'
        with open(record, 'wb') as file:
            file.truncate(HEAD.size + CALLS * CALL.size)
        with open(record, 'r+b') as file:
            self.record = mmap.mmap(file.fileno(), 0)
        self.log = open(f'{folder}/log', 'wb')
        self.process = subprocess.Popen(
            [self.program, 'serve', '--data', f'{folder}/data', '--listen', f'unix:{folder}/socket', '--lanes', '1'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log, preexec_fn=end_with_us,
            env=dict(os.environ, LD_PRELOAD=str((build / 'bench-walk.so').resolve()), WALK_FILE=str(record)))
        self.connection, until = socket.socket(socket.AF_UNIX), time.monotonic() + START_S
        self.connection.settimeout(ANSWER_S)
        while self.connection.connect_ex(f'{folder}/socket') != 0:
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit(f'walk: {self.program} does not start: {pathlib.Path(folder, "log").read_text()[-2000:]}')
            time.sleep(0.05)

    def post(self, path, body):
        """The whole request in one piece, so that it is read in one."""
        text = json.dumps(body).encode()
        self.connection.sendall(f'POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'
                                f'Content-Length: {len(text)}\r\n\r\n'.encode() + text)
        answer = self.connection.recv(65536)
        if not answer.startswith(b'HTTP/1.1 201 '):
            sys.exit(f'walk: {path} is answered {answer.decode()}')

    def count(self):
        return HEAD.unpack_from(self.record)[0]

    def calls(self, begin, end):
        assert end - begin < CALLS
        return [CALL.unpack_from(self.record, HEAD.size + at % CALLS * CALL.size) for at in range(begin, end)]

    def functions(self, addresses):
        """{address: (function, file)}"""
        maps = pathlib.Path(f'/proc/{self.process.pid}/maps').read_text()
        base = int(re.search(r'^([0-9a-f]+)-.* ' + re.escape(self.program) + '$', maps, flags=re.M)[1], 16)
        asked = sorted(addresses)
        told = subprocess.run(['addr2line', '-f', '-e', self.program], check=True, text=True, capture_output=True,
                              input='\n'.join(hex(address - base) for address in asked)).stdout.split('\n')
        return {address: (told[2 * k], file_of(told[2 * k + 1].rsplit(':', 1)[0])) for k, address in enumerate(asked)}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def file_of(path):
    return re.sub(r'\.h$', '.c', os.path.relpath(path, ROOT))


def is_counted(caller, callee):
    return caller[1] != callee[1] and not any(file.startswith('engine/base/') for _, file in (caller, callee))


def orders(build):
    """The calls between files, (depth, caller, callee) each, of each order."""
    with tempfile.TemporaryDirectory() as folder:
        service, spans = Service(build, folder), []
        service.post('/v1/movements', {'movement_id': 'M1', 'kind': 'receipt', 'lines': [{'sku': 'MUG', 'qty': 1000}]})
        for number in range(ORDERS):
            time.sleep(APART_S)
            begin = service.count()
            service.post('/v1/reservations', {'order_id': f'R{number}', 'lines': [{'sku': 'MUG', 'qty': 2}]})
            time.sleep(END_S)
            spans.append(service.calls(begin, service.count()))
        names = service.functions({address for span in spans for call in span for address in call[2:] if address})
        service.stop()
    for span in spans:
        yield ([(depth, names[caller], names[callee]) for depth, _, caller, callee in span
                if caller and is_counted(names[caller], names[callee])],
               {names[callee][1] for *_, callee in span if not names[callee][1].startswith('engine/base/')})


def told(text):
    """(files, calls, the files of the table) as the document tells them."""
    section = re.search(r'^## The walk of one order\n(.*?)^## ', text, flags=re.M | re.S)[1]
    counts = re.search(r'passes (\d+)\s+files.*?by\s+(\d+)\s+calls', section, flags=re.S)
    table = ''.join(line for line in section.splitlines(keepends=True) if line.startswith('|'))
    files = {re.sub(r'\.h$', '.c', path) for path in re.findall(r'\]\(\.\./([\w/]+\.[ch])\)', table)}
    return int(counts[1]), int(counts[2]), {path for path in files if not path.startswith('engine/base/')}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('build', type=pathlib.Path)
    parser.add_argument('--short', action='store_true')
    asked = parser.parse_args()
    calls, files = min(orders(asked.build), key=lambda order: len(order[0]))
    for depth, caller, callee in [] if asked.short else calls:
        print(f'{"  " * depth}{caller[1]} {caller[0]} -> {callee[1]} {callee[0]}')
    print(f'walk: {len(files)} files, {len(calls)} calls: ' + ' '.join(sorted(files)))
    files_told, calls_told, table = told(DOCUMENT.read_text())
    wrong = [f'{count} {what}, {MOST[what]} are allowed'
             for what, count in (('files', len(files)), ('calls', len(calls))) if count > MOST[what]]
    if (files_told, calls_told) != (len(files), len(calls)):
        wrong.append(f'docs/developer.md says {files_told} files and {calls_told} calls')
    wrong += [f'the table of docs/developer.md lacks {path}' for path in sorted(files - table)]
    wrong += [f'the table of docs/developer.md names {path}' for path in sorted(table - files)]
    for line in wrong:
        print('walk: ' + line)
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
