#!/usr/bin/env python3
"""Runs the commands of a document as a reader would: block by block in one terminal, in a clean folder, on real services.

Every fenced `sh` block is run; a `json` or `text` block right behind it is the output, compared whole. Any time matches any
other, and so does any version, which is one in microseconds; `...` matches any text within a line, and a line `...` any lines. JSON is compared as values. A command that fails, a
refusal that the document does not show, another output: each is named by its line, and the exit status is 1. A comment
before a block says what its text cannot:

    <!-- test: skip REASON -->        not run here; listed
    <!-- test: needs PROGRAM -->      skipped where the program is not installed; listed
    <!-- test: exits N -->            the block ends with this status, not with 0
    <!-- test: numbers vary -->       in what it prints, any number stands for any other
    <!-- test: stays until TEXT -->   runs on in a terminal of its own; the next block waits for TEXT in its output
    <!-- test: stays -->              the same without waiting
    <!-- test: ends -->               stands alone: Ctrl-C in all those terminals
    <!-- test: file NAME -->          the block is saved as this file
    <!-- test: locks -->              the table behind it names every step of a lane's transaction, in the lane's order
    <!-- test: tour FOLDER .. -->     the table behind it names every source of these folders, and nothing that is not there

In the text, `holdfast COMMAND --flag` must be in the command's help, `make TARGET` in the Makefile, and a link must lead
somewhere. The folder holds links to the project's own and the program under test as build/. Where the document says port
8080 or 8081, a free one is used; where it says /run/mysqld/mysqld.sock, the one of --socket.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ('fault', 'kit')]
import patience                 # noqa: E402
from child import end_with_us   # noqa: E402
from patience import PATIENCE_S # noqa: E402
from stage import free_port     # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
LANE = PROJECT / 'engine' / 'lane' / 'lane.c'
BLOCK_S, STAY_S, END_S = 9 * PATIENCE_S, 6 * PATIENCE_S, 4 * PATIENCE_S
ENDED = (0, 2, 130, -signal.SIGINT)     # by itself; make, a shell and a program after Ctrl-C
SOCKET = '/run/mysqld/mysqld.sock'
STAMP_MIN = 10 ** 15
TIME = re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?')
SOURCE = r'\w+\.(?:c|sql|def|awk|yaml|service|js|css|html)'
REFUSED = re.compile(r'"status":[45]\d\d,.*"code":')


class Wrong(Exception):
    """The document and the program differ."""


class Block:
    """A fenced block, or the comment `ends` (kind None)."""

    def __init__(self, line, kind, said):
        self.line, self.kind, self.rows, self.shown = line, kind, [], None
        self.word, _, self.rest = said.partition(' ')
        self.rest = self.rest.removeprefix('until ')

    @property
    def text(self):
        return '\n'.join(self.rows) + '\n'


def read(document):
    """(the blocks that do something, the lines of prose as (number, text))."""
    blocks, prose, fence, said, behind = [], [], None, '', None
    for number, row in enumerate(document.read_text(encoding='utf-8').splitlines(), 1):
        comment = re.fullmatch(r'<!-- test: (.+?) -->', row)
        if fence:
            if row != '```':
                fence.rows.append(row)
                continue
            if fence.kind == 'sh' or fence.word == 'file':
                blocks.append(fence)
            elif fence.kind in ('json', 'text') and behind:
                behind.shown = fence
            behind, fence = fence if fence.kind == 'sh' else None, None
        elif row.startswith('```'):
            fence, said = Block(number, row[3:].strip(), said), ''
        elif comment and comment[1] == 'ends':
            blocks.append(Block(number, None, 'ends'))
        elif comment and (comment[1].startswith('tour ') or comment[1] == 'locks'):
            prose.append((number, row))
        elif comment:
            said, behind = comment[1], None
        elif row:
            prose.append((number, row))
            behind = None
    return blocks, prose


# The prose.

def flags_of(program, command, known={}):
    """The flags in the help of a command, or None where there is no such command."""
    if command not in known:
        done = subprocess.run([program, 'help', command], capture_output=True, text=True, check=False)
        known[command] = set(re.findall(r'--[a-z-]+', done.stdout)) | {'--help'} if done.returncode == 0 else None
    return known[command]


def check_words(program, said):
    """A text that begins with holdfast or make: its command and flags, or its target."""
    words = re.findall(r'[^\s|\[\]=]+', said)
    if words[0] == 'make':
        known = set(re.findall(r'^\.PHONY:(.*)$', (PROJECT / 'Makefile').read_text(), re.M)[0].split())
        if len(words) > 1 and '=' not in said.split()[1] and words[1].strip('.,') not in known and '/' not in words[1]:
            raise Wrong(f'the Makefile has no target {words[1]}')
    elif len(words) > 1 and words[1].startswith('--'):
        if words[1] not in ('--help', '--version'):
            raise Wrong(f'holdfast has no {words[1]}')
    elif len(words) > 1 and re.fullmatch('[a-z]+', words[1]):
        flags = flags_of(program, words[1])
        if flags is None:
            raise Wrong(f'holdfast has no command {words[1]}')
        for flag in re.findall(r'(?<!\S)\[?(--[a-z-]+)', said):
            if flag not in flags:
                raise Wrong(f'holdfast {words[1]} has no {flag}')


def headings(document):
    """As GitHub names them in links."""
    rows = re.findall(r'^#+ (.+)$', document.read_text(encoding='utf-8'), re.M)
    return {re.sub(r'[^\w -]', '', row.lower()).replace(' ', '-') for row in rows}


def check_tours(prose):
    """(line, what is wrong) of the tables of files."""
    wrong, tours, table = [], [], None
    for number, row in prose:
        start = re.fullmatch(r'<!-- test: tour (.+) -->', row)
        if start:
            table = set()
            tours.append((number, start[1].split(), table))
        elif not row.startswith('|'):
            table = None
        elif table is not None:
            table.update(re.findall(rf'`({SOURCE})`', row.split('|')[1]))
    for number, folders, named in tours:
        there = {path.name for folder in folders for path in (PROJECT / folder).iterdir()
                 if re.fullmatch(SOURCE, path.name)}
        wrong += [(number, f'{name} is not in {" ".join(folders)}') for name in sorted(named - there)]
        wrong += [(number, f'{name} of {" ".join(folders)} is missing') for name in sorted(there - named)]
    return wrong


def table_behind(prose, mark):
    """(line, rows) of the table behind this comment; (0, []): there is none."""
    start = next((i for i, (_, row) in enumerate(prose) if row == f'<!-- test: {mark} -->'), None)
    rows = [row for _, row in prose[start + 1:]] if start is not None else []
    rows = list(itertools.dropwhile(lambda row: not row.startswith('|'), rows))
    return (prose[start][0] if rows else 0), list(itertools.takewhile(lambda row: row.startswith('|'), rows))


def check_locks(prose):
    """(line, what is wrong) of the order of locks: lane.c has its steps in an order of its own."""
    number, rows = table_behind(prose, 'locks')
    steps = re.search(r'\bsteps\[\] = \{\n(.*?)^\};', LANE.read_text(encoding='utf-8'), re.M | re.S)[1]
    wanted = re.findall(r', (\w+)\},$', steps, re.M)
    named = [name for row in rows for name in re.findall(r'`(\w+)`', row.split('|')[2])]
    told = [name for name in named if name in wanted]
    if not rows or (wanted and told == wanted):
        return []
    return [(number, f'the steps of lane.c lock in another order: {" ".join(wanted)}')]


def check_prose(document, program, prose, blocks):
    """(line, what is wrong) of the text, and of the commands that are not run."""
    wrong, code = check_tours(prose) + check_locks(prose), r'`((?:build/)?holdfast [^`]+|make [a-z][^`]*)`'
    idle = [(block.line + i, f'`{row.removeprefix("sudo ")}`') for block in blocks if block.word == 'skip'
            for i, row in enumerate(block.rows, 1)]
    for number, row in prose + idle:
        try:
            for said in re.findall(code, row):
                check_words(program, said)
            for link, heading in re.findall(r'\]\(([^)#:\s]*)(?:#([^)]+))?\)', row):
                target = document.parent / link if link else document
                if not target.exists() or heading and heading not in headings(target):
                    raise Wrong(f'the link {link}{heading and "#"}{heading} leads nowhere')
        except Wrong as why:
            wrong.append((number, str(why)))
    return wrong


# The output of blocks.

def any_numbers(text):
    return re.sub(r'[ \t]+', ' ', re.sub(r'\d[\d.]*', '0', text))


def pattern(shown):
    """A regular expression of the whole output."""
    parts = []
    for row in shown.rstrip('\n').split('\n'):
        if row.strip() == '...':
            parts.append(r'(?:.*\n)*?')
            continue
        pieces = ['.*?'.join(map(re.escape, piece.split('...'))) for piece in TIME.split(row.rstrip())]
        parts.append(TIME.pattern.join(pieces) + r'[ \t]*\n')
    return re.compile(''.join(parts))


def values(text):
    """The JSON values of a text, one behind the other."""
    decoder, at, found = json.JSONDecoder(), 0, []
    text = text.strip()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        found.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def alike(shown, got):
    if isinstance(shown, dict):
        return isinstance(got, dict) and list(shown) == list(got) and all(alike(shown[k], got[k]) for k in shown)
    if isinstance(shown, list):
        return isinstance(got, list) and len(shown) == len(got) and all(map(alike, shown, got))
    if isinstance(shown, str):
        return isinstance(got, str) and bool(pattern(shown).fullmatch(got + '\n'))
    if type(shown) is type(got) is int and min(shown, got) > STAMP_MIN:
        return True
    return type(shown) is type(got) and shown == got


def compare(block, got):
    if not block.shown:
        if REFUSED.search(got):
            raise Wrong(f'a refusal that the document does not show:\n{got}')
        return
    shown = block.shown.text
    if block.word == 'numbers':
        shown, got = any_numbers(shown), any_numbers(got)
    try:
        same = alike(values(shown), values(got)) if block.shown.kind == 'json' \
            else bool(pattern(shown).fullmatch(got.rstrip('\n') + '\n'))
    except ValueError:
        same = False
    if not same:
        raise Wrong(f'it prints\n{got.rstrip()}\nand the document shows (line {block.shown.line})\n{block.shown.text}')


# The terminals.

class Desktop:
    """A folder, the terminal in which the blocks run, and those in which something stays."""

    def __init__(self, options, folder):
        self.home = folder
        self.work = folder / 'holdfast'
        self.ports = {'8080': free_port(), '8081': free_port()}
        self.socket = options.socket
        self.staying = []
        self.work.mkdir(parents=True)
        for entry in PROJECT.iterdir():
            if entry.name not in ('build', 'var', '.git'):
                (self.work / entry.name).symlink_to(entry)
        (self.work / 'build').symlink_to(pathlib.Path(options.holdfast).resolve().parent)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(('BXF', 'HOLDFAST_', 'TEST_', 'MAKE', 'MFLAGS'))}
        self.environment |= {'HOME': str(folder), 'PATH': f'{folder}/.local/bin:{os.environ["PATH"]}',
                             'HOLDFAST_LISTEN': self.here('127.0.0.1:8080'), 'HOLDFAST_BUFFER_POOL': '128',
                             'LC_ALL': 'C.UTF-8'}
        if 'ASAN_OPTIONS' in self.environment:
            self.environment['ASAN_OPTIONS'] = re.sub('log_path=(?!/)', f'log_path={PROJECT}/',
                                                      self.environment['ASAN_OPTIONS'])
        self.shell = subprocess.Popen(['bash', '--noprofile', '--norc'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, **self.surroundings())
        self.type("set -E -o pipefail; trap 'bad=${bad:-$?}' ERR")

    def surroundings(self):
        return {'cwd': self.work, 'env': self.environment, 'start_new_session': True, 'preexec_fn': end_with_us}

    def here(self, text):
        """The document's ports and socket as they are here."""
        text = re.sub(r'(?<=:)808[01]\b', lambda port: str(self.ports[port[0]]), text)
        return text.replace(SOCKET, self.socket) if self.socket else text

    def there(self, text):
        for name, port in self.ports.items():
            text = re.sub(rf'(?<=:){port}\b', name, text)
        return text.replace(self.socket, SOCKET) if self.socket else text

    def type(self, row):
        self.shell.stdin.write(row.encode() + b'\n')
        self.shell.stdin.flush()

    def run(self, block):
        """Runs a block and returns its output; its exit status has to be the one that the document tells."""
        script, mark = self.home / 'block.sh', f'--- end of line {block.line} ---'
        script.write_text(self.here(block.text))
        self.type(f'bad=; . {script} </dev/null; bad=${{bad:-$?}}; printf "\\n%s %s\\n" "{mark}" "$bad"')
        got, began = b'', time.monotonic()
        while not (end := re.search(rf'\n{mark} (\d+)\n'.encode(), got)):
            ready, _, _ = select.select([self.shell.stdout], [], [], 1)
            more = os.read(self.shell.stdout.fileno(), 65536) if ready else b''
            got += more
            if (ready and not more) or patience.is_over(began, BLOCK_S):
                raise Wrong(f'it does not end within {time.monotonic() - began:.0f} s:\n{got.decode(errors="replace")}')
        said = self.there(got[:end.start()].decode(errors='replace').replace('\r', ''))
        wanted = int(block.rest) if block.word == 'exits' else 0
        if int(end[1]) != wanted:
            raise Wrong(f'it ends with {int(end[1])}, not with {wanted}:\n{said}')
        return said

    def stay(self, block):
        log = self.home / f'line-{block.line}.log'
        with open(log, 'wb') as out:
            process = subprocess.Popen(['bash', '--noprofile', '--norc', '-c', self.here(block.text)], stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL, **self.surroundings())
        self.staying.append((process, log))
        began = time.monotonic()
        while block.rest not in (said := self.there(log.read_text(errors='replace'))):
            if process.poll() is not None or patience.is_over(began, STAY_S):
                raise Wrong(f'in {time.monotonic() - began:.0f} s it did not say {block.rest}:\n{said}')
            time.sleep(0.02)

    def stop_all(self):
        """The last one first: it may be a client of those before it."""
        while self.staying:
            process, log = self.staying[-1]
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            if process.wait(patience.scaled(END_S)) not in ENDED:
                raise Wrong(f'what stayed in a terminal ended with {process.returncode}:\n'
                            f'{log.read_text(errors="replace")[-2000:]}')
            self.staying.pop()

    def close(self):
        try:
            self.stop_all()
        finally:
            for process in [self.shell, *(process for process, _ in self.staying)]:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def run_block(desk, block):
    """Why it was skipped; None where it was run."""
    if block.word == 'ends':
        desk.stop_all()
    elif block.word == 'skip':
        return block.rest
    elif block.word == 'needs' and not shutil.which(block.rest):
        return f'{block.rest} is not installed'
    elif block.word == 'file':
        (desk.work / block.rest).write_text(desk.here(block.text))
        (desk.work / block.rest).chmod(0o755)
    elif block.word == 'stays':
        desk.stay(block)
    elif block.word in ('', 'exits', 'needs', 'numbers'):
        compare(block, desk.run(block))
    else:
        raise Wrong(f'no such comment: {block.word}')
    return None


def run_document(document, options, folder):
    blocks, prose = read(document)
    wrong = check_prose(document, options.holdfast, prose, blocks)
    desk = Desktop(options, folder)
    skipped, last = [], 0
    try:
        for block in blocks:
            last = block.line
            why = run_block(desk, block)
            if why:
                skipped.append((block.line, why))
        last = 0
        desk.close()
    except (Wrong, subprocess.SubprocessError, OSError) as why:
        wrong.append((last, str(why)))
        desk.close()
    name = document.name
    for number, why in skipped:
        print(f'{name}:{number}: not run: {why}')
    for number, why in wrong:
        print(f'{name}:{number}: {why}')
    print(f'{name}: {len(blocks)} blocks, {len(skipped)} not run, {len(wrong)} wrong', flush=True)
    return not wrong


def ended(_signal, _frame):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--holdfast', default='build/holdfast', help='the program under test, where make put it')
    parser.add_argument('--socket', default='', help='a MariaDB that the document may use; its user root has no password')
    parser.add_argument('--folder', help='where the clean folder is made')
    parser.add_argument('document', type=pathlib.Path)
    options = parser.parse_args()
    options.holdfast = os.path.abspath(options.holdfast)
    end_with_us()
    signal.signal(signal.SIGTERM, ended)
    folder = pathlib.Path(tempfile.mkdtemp(prefix='holdfast-documents-', dir=options.folder))
    folder.chmod(0o755)
    try:
        return 0 if run_document(options.document.resolve(), options, folder) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
