#!/usr/bin/env python3
"""make fault, make soak, make cluster: breaks what Holdfast rests on while clients use it, then compares journal and tables.

Every drill starts a MariaDB and the program on a scratch folder, lets clients keep a journal of what they were told
(clients.py), does its worst (drills_*.py), lets all heal, repeats the calls without an answer, and has check.py compare
the journal with the tables; `holdfast audit` comes last. Ends 0 if every drill passed.
"""
import argparse
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
from http.client import HTTPException

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / 'kit'))
sys.dont_write_bytecode = True
import drills_arrivals  # noqa: E402  (beside this file)
import drills_atomic    # noqa: E402
import drills_cells     # noqa: E402
import drills_checker   # noqa: E402
import drills_clocks    # noqa: E402
import drills_cluster   # noqa: E402
import drills_database  # noqa: E402
import drills_door     # noqa: E402
import drills_events    # noqa: E402
import drills_kill      # noqa: E402
import drills_line      # noqa: E402
import drills_network   # noqa: E402
import drills_process   # noqa: E402
import drills_proxies  # noqa: E402
import drills_races     # noqa: E402
import drills_replica   # noqa: E402
import drills_restore   # noqa: E402
import drills_soak      # noqa: E402
import drills_speed     # noqa: E402
from stage import Skipped, Trouble  # noqa: E402

FAILURES = (OSError, RuntimeError, ValueError, LookupError, HTTPException, subprocess.SubprocessError)
COMPLAINTS = 8              # shown of each program

#   drill               what it runs                      rounds  seconds    in a slice: rounds  seconds
DRILLS = {
    'checker':          (drills_checker.checker,               1,       0,                   1,       0),
    'kill-database':    (drills_kill.kill_database,          200,       0,                   4,       0),
    'kill-service':     (drills_kill.kill_service,           200,       0,                   5,       0),
    'events':           (drills_events.journal,              200,       0,                   8,       0),
    'feed-order':       (drills_events.order,                  1,      60,                   1,       4),
    'races':            (drills_races.races,              10_000,       0,                  20,       0),
    'line':             (drills_line.line,                 1_000,       0,                   8,       0),
    'cells':            (drills_cells.cells,                 200,       0,                   9,       0),
    'arrivals':         (drills_arrivals.arrivals,            20,       0,                   2,       0),
    'atomic':           (drills_atomic.atomic,               60,       0,                   3,       0),
    'replica':          (drills_replica.replica,              30,       0,                   1,       0),
    'workers':          (drills_kill.workers,                200,       0,                   1,       0),
    'network':          (drills_network.network,              90,       0,                   6,       0),
    'half-open':        (drills_network.half_open,             3,      40,                   1,       1),
    'stopped-database': (drills_database.stopped,              3,      60,                   1,       5),
    'full-disk':        (drills_database.full_disk,            3,      12,                   1,       2),
    'locks':            (drills_database.locks,                3,      15,                   1,       3),
    'clocks':           (drills_clocks.clocks,                 1,       3,                   1,       1),
    'clocks-service':   (drills_clocks.clocks_service,         1,       2,                   1,       1),
    'terminate':        (drills_process.terminate,            20,       0,                   2,       0),
    'terminate-hung':   (drills_process.terminate_hung,        3,       0,                   1,       0),
    'rolling-restart':  (drills_process.rolling_restart,      20,       0,                   2,       0),
    'door':             (drills_door.door,                   100,       0,                   3,       0),
    'nginx':            (drills_proxies.nginx,                10,       0,                   2,       0),
    'haproxy':          (drills_proxies.haproxy,              10,       0,                   2,       0),
    'caddy':            (drills_proxies.caddy,                10,       0,                   2,       0),
    'descriptors':      (drills_process.descriptors,           5,       0,                   1,       0),
    'restore':          (drills_restore.restore,              20,       0,                   2,       0),
}
CLUSTER = {
    'cluster-mixed':    (drills_cluster.mixed,                 7,       0,                   1,       0),
    'cluster-kills':    (drills_cluster.kills,                 8,       0,                   1,       0),
    'cluster-commits':  (drills_cluster.kills_at_commit,      30,       0,                   1,       0),
    'cluster-slowly':   (drills_cluster.kills_slowly,          4,       0,                   1,       0),
    'cluster-stops':    (drills_cluster.stops,                20,       0,                   1,       0),
    'cluster-cuts':     (drills_cluster.cuts,                 20,       0,                   5,       0),
    'cluster-all':      (drills_cluster.all_killed,            2,       0,                   1,       0),
    'cluster-quorum':   (drills_cluster.quorum,                2,       0,                   1,       0),
    'cluster-join':     (drills_cluster.join,                  3,       0,                   1,       0),
    'cluster-commands': (drills_cluster.commands,              5,       0,                   1,       0),
    'cluster-migrate':  (drills_cluster.migrations,            5,       0,                   1,       0),
    'cluster-adopt':    (drills_cluster.adoption,              1,       0,                   1,       0),
    'cluster-waits':    (drills_cluster.waits,                10,       0,                   2,       0),
    'cluster-events':   (drills_cluster.heard,                10,       0,                   1,       0),
    'cluster-clocks':   (drills_cluster.clocks,                4,       0,                   1,       0),
    'cluster-line':     (drills_cluster.line,                200,       0,                   8,       0),
    'cluster-arrivals': (drills_cluster.arrivals,              6,       0,                   2,       0),
    'cluster-counts':   (drills_cluster.counts,              100,       0,                   9,       0),
    'cluster-moves':    (drills_cluster.moves,                 9,       0,                   1,       0),
    'cluster-written':  (drills_speed.written,                 1,       3,                   1,       1),
    'cluster-speed':    (drills_speed.speed,                   9,       2,                   1,       1),
}
SOAK = {'soak':         (drills_soak.soak,                     1,     600,                   1,       3)}


def complaints(folder):
    """The last warnings and errors of the programs."""
    for path in sorted(pathlib.Path(folder).glob('*.log')):
        lines = [line for line in path.read_text(encoding='utf-8', errors='replace').splitlines()
                 if ' level=warn ' in line or ' level=error ' in line]
        yield from (f'{path.stem}: {line[:300]}' for line in lines[-COMPLAINTS:])


def run_one(name, options):
    """True if it passed, None if it cannot be done here."""
    drill, rounds, seconds, few, short = {**DRILLS, **CLUSTER, **SOAK}[name]
    folder = tempfile.mkdtemp(prefix='holdfast-fault-', dir=options.folder)
    run = types.SimpleNamespace(
        holdfast=os.path.abspath(options.holdfast), tests=os.path.abspath(options.tests),
        bench=os.path.abspath(options.bench), folder=folder,
        seed=options.seed,
        template=options.template or f'{options.scratch}/template',
        rounds=options.rounds or (few if options.slice else rounds),
        seconds=options.seconds or (short if options.slice else seconds), slice=options.slice)
    began = time.monotonic()
    passed, lines = True, []
    try:
        lines = drill(run)
    except Skipped as why:
        passed, lines = None, [str(why)]
    except (Trouble, *FAILURES) as error:
        passed, lines = False, [*complaints(folder), f'seed {options.seed}; left in {folder}',
                                f'{type(error).__name__}: {error}']
    word = {True: 'passed', False: 'FAILED', None: 'skipped'}[passed]
    print(f'{name:<17} {word}  {time.monotonic() - began:.0f} s', flush=True)
    for line in lines:
        print('\n'.join('    ' + part for part in line.splitlines()), flush=True)
    if passed is not False:
        shutil.rmtree(folder, ignore_errors=True)
    return passed


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--drill', action='append', default=[], choices=[*DRILLS, *CLUSTER, *SOAK], metavar='NAME',
                        help='only this one, may be repeated; ' + ', '.join([*DRILLS, *CLUSTER, *SOAK]))
    parser.add_argument('--cluster', action='store_true', help='those on three nodes of Galera')
    parser.add_argument('--hours', type=float, default=0, metavar='H', help='goes on with other seeds for so long')
    parser.add_argument('--rounds', type=int, default=0, metavar='N', help='how often it breaks something')
    parser.add_argument('--seconds', type=int, default=0, metavar='S', help='how long a fault lasts, or the soak')
    parser.add_argument('--slice', action='store_true', help='a few seconds of each')
    parser.add_argument('--seed', default='', help='of what the clients do; any word')
    parser.add_argument('--holdfast', default=str(HERE.parents[1] / 'build' / 'holdfast'), help='the program')
    parser.add_argument('--tests', default=str(HERE.parents[1] / 'build' / 'test'), help='the tests, for `workers`')
    parser.add_argument('--bench', default=str(HERE.parents[1] / 'build' / 'bench-holdfast'),
                        help='the clients of `cluster-speed`')
    parser.add_argument('--folder', default=None, metavar='DIR', help='where scratch folders are made')
    parser.add_argument('--template', default='', metavar='DIR', help='an empty data directory, made if there is none')
    options = parser.parse_args()
    options.seed = options.seed or secrets.token_hex(4)
    return options


def interrupted(_number, _frame):
    raise KeyboardInterrupt


def main():
    options = read_options()
    signal.signal(signal.SIGTERM, interrupted)
    options.scratch = tempfile.mkdtemp(prefix='holdfast-fault-', dir=options.folder)
    results = []
    try:
        until = time.monotonic() + options.hours * 3600
        while not results or time.monotonic() < until:
            for name in options.drill or (CLUSTER if options.cluster else DRILLS):
                results.append(run_one(name, options))
            options.seed = secrets.token_hex(4)
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130
    finally:
        shutil.rmtree(options.scratch, ignore_errors=True)
    skipped = results.count(None)
    print(f'{results.count(True)} passed, {results.count(False)} failed' + (f', {skipped} skipped' if skipped else ''))
    return 1 if False in results else 0


if __name__ == '__main__':
    sys.exit(main())
