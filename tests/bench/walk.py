#!/usr/bin/python3
"""Counts the walk of a plain order, from POST to SQL and back: the files that it passes, and the calls between them.

The program is built with -finstrument-functions (make walk). The order has one line of a sku that the lane knows, its
connection is open, and nothing else goes on. A call counts that leads from one file into another; a header counts as
its .c. engine/base and what time alone calls are left out, and so is every thread but the loop and the lane.

    walk.py --holdfast build/walk/holdfast --library build/walk/bench-walk.so [--document docs/developer.md] [--list]

Ends 0, or 1 if the document says other numbers. --list prints the calls.
"""
import argparse
import collections
import mmap
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import count   # noqa: E402  (beside this file)

CALL, HEAD, CALLS_MAX = struct.Struct('<QQQQ'), struct.Struct('<II'), 1 << 16     # as in preload/walk.c
ROOTS, BY_TIME = ('main', 'lane_main'), ('ticked', 'db_check')
TRIES, QUIET_S = 7, 0.1


class Names:
    """Functions of a running program by their addresses."""

    def __init__(self, program, pid):
        self.program, self.known = program, {}
        with open(f'/proc/{pid}/maps', encoding='utf-8') as maps:
            self.base = next(int(line.split('-')[0], 16) for line in maps if os.path.realpath(program) in line)

    def learn(self, addresses):
        new = [address for address in addresses if address not in self.known]
        said = subprocess.run(['addr2line', '-f', '-e', self.program, *(hex(a - self.base) for a in new)], check=True,
                              capture_output=True, text=True).stdout.splitlines() if new else []
        for address, name, place in zip(new, said[::2], said[1::2]):
            file = re.sub(r'\.[ch]:.*', '', os.path.relpath(place))
            self.known[address] = (name, file)


def order(play, file, names):
    """The calls of one order, as (caller's file, file, function)."""
    time.sleep(QUIET_S)
    file[:HEAD.size] = HEAD.pack(1, 0)
    count.expect(play.call('POST', '/v1/reservations', play.order()), 201)
    time.sleep(QUIET_S)
    _, made = HEAD.unpack(file[:HEAD.size])
    file[:HEAD.size] = HEAD.pack(0, 0)
    calls = [CALL.unpack_from(file, HEAD.size + i * CALL.size) for i in range(min(made, CALLS_MAX))]
    names.learn({address for call in calls for address in call[:3]})
    passed, left_out = [], {}
    for root, parent, function, depth in calls:
        name, to = names.known[function]
        if depth <= left_out.get(root, depth):
            left_out.pop(root, None)
        if name in BY_TIME:
            left_out[root] = depth
        if names.known[root][0] in ROOTS and root not in left_out and names.known[parent][1] != to:
            passed.append((names.known[parent][1], to, name))
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('--holdfast', required=True)
    parser.add_argument('--library', required=True)
    parser.add_argument('--document')
    parser.add_argument('--list', action='store_true')
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='holdfast-walk.') as folder:
        path = f'{folder}/walk'
        with open(path, 'wb') as new:
            new.truncate(HEAD.size + CALLS_MAX * CALL.size)
        environment = {'LD_PRELOAD': os.path.abspath(asked.library), 'WALK_FILE': path}
        with count.Play(folder, asked.holdfast, environment, measure=None) as play, open(path, 'r+b') as mapped:
            file = mmap.mmap(mapped.fileno(), 0)
            names = Names(asked.holdfast, play.service.process.pid)
            play.one_at_a_time()
            walk = min((order(play, file, names) for _ in range(TRIES)), key=len)
    files = {to for _, to, _ in walk} | {caller for caller, _, _ in walk}
    said = f'{len(files)} files, {len(walk)} calls'
    print(said)
    for (caller, to, name), calls in collections.Counter(walk).items() if asked.list else ():
        print(f'{calls:4}  {caller:32}{to:32}{name}')
    if asked.document:
        with open(asked.document, encoding='utf-8') as document:
            text = document.read()
        if said not in text:
            print(f'walk: {asked.document} does not say "{said}"')
            sys.exit(1)


if __name__ == '__main__':
    main()
