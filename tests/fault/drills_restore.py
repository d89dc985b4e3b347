"""Drills of `backup` and `restore`, of a private database. Clients call over HTTP without pause while back-ups are made.
Each back-up is restored, and its tables are compared with the journal.

A back-up is the database of one instant. So it has every call that was answered before `backup` began, and none that was
sent after it had ended. Of the calls between, it has those up to one instant: a call that is in it was not sent after
one was answered that is not.
"""
import json
import shutil
import subprocess
import time
import types

import check
import clients
import patience
from patience import PATIENCE_S
from stage import Service, Skipped, Trouble

CALLS_BETWEEN = 200         # answers before and after each back-up
BACKUP_S = 30 * PATIENCE_S
MADE = {**dict.fromkeys(('reserve', 'split'), 'states'), **dict.fromkeys(clients.MOVEMENTS, 'movements')}
ENDS = {'release': {'released'}, 'settle': {'settled'}, 'confirm': {'confirmed', 'settled', 'buried', 'released'}}


class PrivateService(Service):
    """`serve` on a private database in `folder`."""

    def __init__(self, run, name, folder, jobs):
        super().__init__(types.SimpleNamespace(run=run, program=run.holdfast), name, (), None)
        self.socket = f'{folder}/mariadbd.sock'
        self.words = ['serve', '--data', folder, '--listen', self.address, '--lanes', '2', f'--jobs={jobs}']


    def end(self):
        """SIGTERM, so that the server of the database ends, too."""
        if self.process and self.alive():
            self.terminate()


def command(run, *words):
    done = subprocess.run([run.holdfast, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=patience.scaled(BACKUP_S), check=False)
    if done.returncode:
        raise Trouble(f'holdfast {" ".join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}')
    return done.stdout


def is_there(entry, tables):
    """Whether the effect of an acknowledged call is in the tables. None: they do not tell."""
    call, id_ = entry['call'], entry['id']
    if entry['status'] not in (200, 201) or entry['replayed']:
        return None
    if call in MADE:
        return id_ in getattr(tables, MADE[call])
    return tables.states.get(id_) in ENDS[call] if call in ENDS else None


class Cut:
    """The instant of a back-up, between the last call that is in it and the first that is not."""

    def __init__(self):
        self.last, self.first = None, None

    def enter(self, entry, there):
        if there and (not self.last or entry['began'] > self.last['began']):
            self.last = entry
        if there is False and (not self.first or entry['ended'] < self.first['ended']):
            self.first = entry

    def check(self, ledger):
        if self.last and self.first and self.last['began'] > self.first['ended']:
            names = [f'{entry["call"]} {entry["id"]}' for entry in (self.last, self.first)]
            ledger.disagree(f'{names[0]} is there, and was sent after {names[1]} was answered, which is not')


def compare(entries, tables, began, ended):
    """(the ledger with what disagrees, how many calls came meanwhile, and how many of these are there)."""
    ledger, cut, meanwhile, kept = check.Ledger(False), Cut(), 0, 0
    for entry in entries:
        there = is_there(entry, tables)
        cut.enter(entry, there)
        if clients.is_open(entry):
            raise Trouble(f'{entry["call"]} {entry["id"]}: {entry["status"]}, although nothing was broken')
        if entry['ended'] < began:
            ledger.enter(entry)
        elif entry['began'] < ended:
            meanwhile += 1
            if there:
                kept += 1
                ledger.enter(entry)
    cut.check(ledger)
    if not ledger.troubles:
        check.compare(ledger, tables)
    return ledger, meanwhile, kept


def verify(run, entries, number, began, ended):
    """Restores a back-up, and compares it."""
    home = f'{run.folder}/new'
    command(run, 'restore', f'{run.folder}/copies-{number}', '--data', home)
    service = PrivateService(run, f'restored-{number}', home, 'none')
    try:
        service.start()
        ledger, meanwhile, kept = compare(entries, check.Tables(service.socket), began, ended)
        if ledger.troubles:
            raise Trouble('\n'.join(ledger.troubles[:check.TOLD_MAX]))
        command(run, 'audit', '--data', home)
        service.terminate()
    finally:
        service.end()
    shutil.rmtree(home)
    return len(ledger.lines), len(ledger.movements), meanwhile, kept


def restore(run):
    """Back-ups under load, each in a folder of its own."""
    if not shutil.which('mariadb-backup'):
        raise Skipped('needs mariadb-backup (apt-get install mariadb-backup)')
    journal, times = clients.Journal(f'{run.folder}/journal.jsonl'), []
    service = PrivateService(run, 'serve', f'{run.folder}/var', 'settle')
    try:
        service.start()
        load = clients.Load([service], journal, run.seed, wide=True, places=False)
        if not clients.stock(load, 1_000_000):
            raise Trouble('the stock was not received')
        with load:
            for number in range(run.rounds):
                if not load.progress(CALLS_BETWEEN, 3 * PATIENCE_S):
                    raise Trouble(f'round {number}: no progress')
                began = time.monotonic()
                command(run, 'backup', f'{run.folder}/copies-{number}', '--data', f'{run.folder}/var')
                times.append((began, time.monotonic()))
            if not load.progress(CALLS_BETWEEN, 3 * PATIENCE_S):
                raise Trouble('no progress at the end')
        status, _ = service.terminate(3 * PATIENCE_S)
        if status:
            raise Trouble(f'exit {status}')
    finally:
        service.end()
        journal.close()
    with open(journal.path, encoding='utf-8') as lines:
        entries = [json.loads(line) for line in lines]
    results = [verify(run, entries, number, *time) for number, time in enumerate(times)]
    orders, movements, meanwhile, kept = (sum(column) for column in zip(*results))
    return [f'{len(results)} back-ups restored: {orders:,} orders and {movements:,} movements compared, 0 disagreements',
            f'{len(entries):,} calls; {meanwhile:,} of them while a back-up was made, of which {kept:,} are in it']
