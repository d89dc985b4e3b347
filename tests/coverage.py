#!/usr/bin/env python3
"""Says which tests cover which file: runs each suite by itself on a program that counts what it runs, and writes the table at
the end of tests/README.md.

    make coverage                     17 minutes on two cores, clang 14
    tests/coverage.py --build DIR     the programs of clang with -fprofile-instr-generate -fcoverage-mapping

A file's suites are those that count most for it: each piece of its code that runs gives one point, shared by the suites that
run it. So a suite that alone reaches a piece comes before the many that pass through the file on their way. The number is
the share of the pieces that any suite runs. A process that is killed writes no counts.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / 'tests' / 'README.md'
BEGIN, END = '<!-- coverage: begin -->\n', '<!-- coverage: end -->\n'
SHOWN, LEAST = 4, 0.05     # suites a file; the least share of its points
SUITES_AT_ONCE = 3


def suites_of(test):
    listed = subprocess.run([test, '--list'], env=dict(os.environ, LLVM_PROFILE_FILE=os.devnull), text=True, check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return re.findall(r'^(\w+): \d+ tests?', listed, flags=re.M)


def pieces_of(build, suite, jobs):
    """({pieces that ran}, {all pieces}), each as (file, place)."""
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, HOLDFAST_BIN=str(build / 'holdfast'), LLVM_PROFILE_FILE=f'{folder}/%p-%m.profraw')
        subprocess.run([build / 'test', '--jobs', str(jobs), '--filter', f'{suite}/*'], env=env, cwd=ROOT,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        raw = [str(path) for path in pathlib.Path(folder).glob('*.profraw') if path.stat().st_size > 0]
        if not raw:
            return set(), set()
        (pathlib.Path(folder) / 'list').write_text('\n'.join(raw))
        subprocess.run(['llvm-profdata', 'merge', '--failure-mode=all', '-sparse', '-f', f'{folder}/list', '-o',
                        f'{folder}/all'], check=True, stderr=subprocess.DEVNULL)
        told = subprocess.run(['llvm-cov', 'export', build / 'test', '-object', build / 'holdfast',
                               f'-instr-profile={folder}/all'], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL).stdout
    ran, known = set(), set()
    for function in json.loads(told)['data'][0]['functions']:
        for line, column, to, end, count, file, _, kind in function['regions']:
            name = os.path.relpath(function['filenames'][file], ROOT)
            if kind != 0 or not name.endswith('.c') or name.startswith(('tests/', '..')):
                continue
            known.add((name, line, column, to, end))
            if count:
                ran.add((name, line, column, to, end))
    return ran, known


def table_of(ran, known):
    shared = collections.Counter(piece for pieces in ran.values() for piece in pieces)
    points = collections.defaultdict(collections.Counter)
    for suite, pieces in ran.items():
        for piece in pieces:
            points[piece[0]][suite] += 1 / shared[piece]
    rows = ['| file | runs | suites |', '|---|---|---|']
    for file in sorted({piece[0] for piece in known}):
        of_file = [piece for piece in known if piece[0] == file]
        share = sum(piece in shared for piece in of_file) / len(of_file)
        best = [suite for suite, n in points[file].most_common(SHOWN) if n >= LEAST * sum(points[file].values())]
        rows.append(f'| `{file}` | {share:.0%} | {", ".join(best) or "nearly all"} |')
    return '\n'.join(rows) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build' / 'coverage', help='where holdfast and test are')
    parser.add_argument('--jobs', type=int, default=6, help='tests at a time')
    given = parser.parse_args()
    build = given.build.resolve()
    ran, known = {}, set()
    suites = [suite for suite in suites_of(build / 'test') if suite != 'documents']     # documents makes the program again, without counters
    with concurrent.futures.ThreadPoolExecutor(SUITES_AT_ONCE) as runner:
        for suite, (pieces, more) in zip(suites, runner.map(lambda suite: pieces_of(build, suite, given.jobs), suites)):
            ran[suite] = pieces
            known |= more
            print(f'{suite}: {len(pieces)} of {len(more)} pieces', flush=True)
    text = README.read_text()
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + table_of(ran, known) + END + rest.split(END)[1])


if __name__ == '__main__':
    main()
