#!/usr/bin/env python3
"""make demo ORDERS=FILE.csv: a shop's real sales against Holdfast, and sums made by other code to see that all agrees.

Takes a file in the shape of UCI `Online Retail` (RFC 4180, UTF-8), or makes one up from a printed seed. Starts the
service on a scratch folder, receives a share of the demand of every code, sends each invoice as one reservation and
confirms it, sends negative rows as returns (replay.py), then asks `holdfast audit` and check.py. check.py reads the
file and the journal for itself. Ends 0 only if all agree: 1 if not, 64 for wrong usage, 69 if the service does not
start, 130 when interrupted. What it started it stops; what it wrote it removes.
"""
import argparse
import contextlib
import fractions
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'kit'))
import made_up   # noqa: E402  (beside this file)
import replay    # noqa: E402
from child import end_with_us   # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
START_S, STOP_S, AUDIT_S, CHECK_S = 120, 60, 600, 600
EXIT_TROUBLE, EXIT_USAGE, EXIT_UNAVAILABLE, EXIT_INTERRUPTED = 1, 64, 69, 130


class Interrupted(Exception):
    pass


class NotStarted(Exception):
    pass


# ---- signals

signals = {'came': False, 'wait': False}


def interrupt(number_of_signal, frame):
    signals['came'] = True
    if not signals['wait']:
        raise Interrupted


@contextlib.contextmanager
def undisturbed():
    """Work that must not be left half done, and is bounded in time: a signal has its effect at the end."""
    signals['wait'] = True
    try:
        yield
    finally:
        signals['wait'] = False
    if signals['came']:
        raise Interrupted


# ---- the service

class Service:
    """The program's `serve` on a scratch folder and a free port, with its log beside it."""

    def __init__(self, program, folder):
        self.program, self.data, self.log = program, f'{folder}/data', f'{folder}/serve.log'
        self.address, self.listening = None, threading.Event()
        self.process, self.reader = None, threading.Thread(target=self._read_log, daemon=True)

    def start(self):
        """Returns when the service listens."""
        command = [self.program, 'serve', '--data', self.data, '--listen', '127.0.0.1:0', '--jobs=expire']
        with undisturbed():
            try:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                stderr=subprocess.PIPE, start_new_session=True,
                                                preexec_fn=end_with_us)
            except OSError as error:
                raise NotStarted(f'{self.program}: {error.strerror}; is it built?') from error
            self.reader.start()
        self.listening.wait(START_S)
        if self.address is None:
            raise NotStarted(f'the service did not begin to listen\n{self.last_words()}')

    def alive(self):
        return self.process.poll() is None

    def _read_log(self):
        """Keeps the pipe empty, and finds the line that says where the service listens."""
        with open(self.log, 'wb') as log:
            for line in self.process.stderr:
                log.write(line)
                log.flush()
                found = re.search(rb'\bevent=listening\b.*\baddress="?([0-9.]+:[0-9]+)', line)
                if found:
                    self.address = found[1].decode()
                    self.listening.set()
        self.listening.set()

    def last_words(self):
        with open(self.log, encoding='utf-8', errors='replace') as log:
            return ''.join(log.readlines()[-10:]).rstrip()

    def audit(self):
        """The program's own audit, while it serves. True if every invariant holds."""
        command = [self.program, 'audit', '--data', self.data]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=AUDIT_S, check=False)
        except subprocess.TimeoutExpired:
            say('audit', f'no end after {AUDIT_S} s')
            return False
        words = done.stdout.decode(errors='replace').rstrip()
        if done.returncode:
            print(words)
        say('audit', f'exit {done.returncode}: ' + ('trouble' if done.returncode else 'every invariant holds'))
        return done.returncode == 0

    def stop(self):
        """SIGTERM and a while to drain; returns whether that was enough and its exit was 0."""
        if self.process is None:
            return False
        alive = self.alive()
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)     # its own session, so nothing but what it started
            self.process.wait()
        self.reader.join(5)
        if alive and self.process.returncode == 0:
            return True
        if self.address:
            say('service', f'ended with {self.process.returncode}\n{self.last_words()}')
        return False


@contextlib.contextmanager
def serving(options, folder):
    """The address of the service of --url, or of one that lives as long as this block, and the service itself."""
    if options.url:
        yield options.url, None
        return
    service = Service(options.holdfast, folder)
    ended_well = False
    try:
        service.start()
        yield service.address, service
    finally:
        with undisturbed():
            ended_well = service.stop()
    if not ended_well:
        raise replay.Trouble('the service did not end as it should')


# ---- what is told

def say(word, text):
    print(f'{word:<9}{text}', flush=True)


def report_rows(sales, run):
    rows = [(row, f'row {row}: nothing to send: {why}') for row, why in sales.unusable]
    rows += [(row, f'row {row} of {document}: left out: `{sku}`: {why}')
             for row, document, sku, why in run.left_out if row]
    for _, text in sorted(rows):
        print(text)
    for document, why in run.refused:
        print(f'{document}: refused: {why}')
    for why in run.failed[:20]:
        print(f'failed: {why}')


def report_counts(run, seconds):
    count = run.counts
    refused = count['order_refused'] + count['order_empty']
    took = sum(seconds.values())
    say('stock', f'{count["receipt_units"]:,} units received in {count["receipt_lines"]:,} lines, '
                 f'{seconds["receipt"]:.2f} s')
    say('orders', f'{count["order"]:,} held, {count["short"]:,} short, {refused:,} refused; '
                  f'{count["order_units"]:,} units in {count["order_lines"]:,} lines')
    sent = count['order'] + count['short'] + refused
    say('', f'{count["confirmed"]:,} confirmed; {seconds["order"]:.2f} s, '
            f'{sent / max(seconds["order"], 0.001):,.0f} orders/s over {len(run.clients)} connections')
    say('returns', f'{count["return"]:,} movements, {count["return_units"]:,} units, {seconds["return"]:.2f} s')
    requests = sum(client.requests for client in run.clients)
    say('total', f'{requests:,} requests, {took:.2f} s, {requests / max(took, 0.001):,.0f} requests/s')
    return {'held': count['order'], 'short': count['short'], 'refused': refused, 'units': count['order_units']}


# ---- the whole

def send_all(options, address, service, path, journal_path):
    """Replays the file. True if every call was answered as the interface has it."""
    sales = replay.Sales(path)
    say('file', f'{options.orders or "made up"}: {sales.rows:,} rows, {len(sales.orders):,} orders, '
                f'{len(sales.returns):,} with returns, {len(sales.demand):,} codes; share {options.share}')
    with open(journal_path, 'w', encoding='utf-8') as journal:
        run = replay.Replay(address, options.connections, journal, service.alive if service else lambda: True)
        run.note(call='begin', share=options.share)
        try:
            seconds = {'receipt': run.run(sales.receipts(options.share)),
                       'order': run.run(replay.documents('order', sales.orders)),
                       'return': run.run(replay.documents('return', sales.returns))}
        finally:
            run.stop.set()
        report_rows(sales, run)
        run.note(call='end', **report_counts(run, seconds))
    return not run.failed


def check(address, path, journal_path):
    command = [sys.executable, str(HERE / 'check.py'), '--orders', path, '--journal', journal_path, '--url', address]
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, timeout=CHECK_S, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        say('check', f'no end after {CHECK_S} s')
        return False


def demo(options, folder):
    path, journal_path = options.orders, f'{folder}/journal.jsonl'
    if not path:
        path = f'{folder}/made-up.csv'
        say('seed', options.seed)
        made_up.write(path, options.seed, options.made_up)
    with serving(options, folder) as (address, service):
        agreed = [send_all(options, address, service, path, journal_path)]
        if service:
            agreed.append(service.audit())
        else:
            say('audit', 'not run: it needs the folder or the database behind --url')
        agreed.append(check(address, path, journal_path))
    if options.journal:
        shutil.copy(journal_path, options.journal)
    say('verdict', 'all agrees' if all(agreed) else 'NOT all agrees')
    return 0 if all(agreed) else EXIT_TROUBLE


def share(text):
    try:
        value = fractions.Fraction(text or '0.9')
    except (ValueError, ZeroDivisionError):
        value = -1
    if not 0 <= value <= 1000:
        raise argparse.ArgumentTypeError('must be a number from 0 to 1000, such as 0.9')
    return text or '0.9'


def number(text):
    if not text.isdigit() or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError('must be a number from 1 to 100000')
    return int(text)


def address_of(url):
    found = re.fullmatch(r'(?:http://)?([^/@\s]+:[0-9]+)/?', url)
    if url and not found:
        raise argparse.ArgumentTypeError('must look like http://127.0.0.1:8080')
    return found[1] if url else ''


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.error = lambda text: parser.exit(EXIT_USAGE, f'demo: {text}\n')
    parser.add_argument('--orders', default='', metavar='FILE.csv', help='the sales; made up if empty')
    parser.add_argument('--share', default='0.9', type=share, help='stock received, as a share of the demand (0.9)')
    parser.add_argument('--seed', default='', help='of made-up sales; any word')
    parser.add_argument('--made-up', default=1000, type=number, metavar='N', help='how many orders to make up (1000)')
    parser.add_argument('--connections', default=32, type=number, metavar='N', help='keep-alive connections (32)')
    parser.add_argument('--holdfast', default=str(HERE.parents[1] / 'build' / 'holdfast'), help='the program to start')
    parser.add_argument('--url', default='', type=address_of, help='an empty service that runs already; no key, no TLS')
    parser.add_argument('--journal', default='', metavar='FILE', help='keep the journal here')
    options = parser.parse_args()
    options.seed = options.seed or secrets.token_hex(4)
    if options.orders and not os.access(options.orders, os.R_OK):
        parser.error(f'cannot read {options.orders}')
    return options


def main():
    options = read_options()
    for number_of_signal in SIGNALS:
        signal.signal(number_of_signal, interrupt)
    folder = tempfile.mkdtemp(prefix='holdfast-demo-')
    try:
        return demo(options, folder)
    except Interrupted:
        print('demo: interrupted', file=sys.stderr)
        return EXIT_INTERRUPTED
    except NotStarted as error:
        print(f'demo: {error}', file=sys.stderr)
        return EXIT_UNAVAILABLE
    except replay.Trouble as error:
        print(f'demo: {error}', file=sys.stderr)
        return EXIT_TROUBLE
    except BrokenPipeError:          # the reader of our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_TROUBLE
    finally:
        for number_of_signal in SIGNALS:
            signal.signal(number_of_signal, signal.SIG_IGN)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
