"""Drills on the service's own process: it is told to end, restarted in turn, has no descriptors left."""
import contextlib
import random
import signal
import socket
import time

import patience
from patience import PATIENCE_S
from stage import Stage, wait_until

EXIT_UNAVAILABLE = 69
DRAIN_S = PATIENCE_S    # under load, the database being well
DRAIN_HUNG_S = 2 * PATIENCE_S # whatever the database does: 12 by the service's clock, and what the machine holds it up; to wait
                        # for a connection that is silent would take 12 more
DESCRIPTORS = 48
DEAF_S = 0.3            # by the clock, without an answer: no service has taken the connection


def all_answered(stage):
    stage.need(not stage.journal.counts['lost'], f'{stage.journal.counts["lost"]} calls were sent and not answered')


def terminate(run):
    """SIGTERM under full load: every call that was sent is answered, exit 0 in time."""
    dice, slowest = random.Random(run.seed), 0
    with Stage(run) as stage:
        service = stage.serve('--lanes', '2', '--jobs=expire,settle,reap')
        with stage.load(clients=32, expire=0.1) as load:
            for _ in range(run.rounds):
                stage.progress(load, 100, 3 * PATIENCE_S, 'no progress')
                time.sleep(0.2 + dice.random() * 0.2)
                status, took_s = service.terminate()
                slowest = max(slowest, took_s)
                stage.need(status == 0 and took_s < patience.scaled(DRAIN_S), f'exit {status} after {took_s:.1f} s')
                service.start()
        stage.verify()
        stage.say(f'ended with 0 within {slowest:.2f} s, {run.rounds} times')
        all_answered(stage)
        return stage.said


def terminate_hung(run):
    """SIGTERM while MariaDB is stopped, with calls under way and without any."""
    dice = random.Random(run.seed)
    with Stage(run) as stage:
        service = stage.serve('--lanes', '2', '--jobs=expire,settle,reap')
        for i in range(run.rounds):
            with stage.load(name=f'L{i}') as load:
                stage.progress(load, 40, 3 * PATIENCE_S, 'no progress')
                if i % 2:
                    load.ending.set()
                    time.sleep(0.2)
                stage.database.signal(signal.SIGSTOP)
                time.sleep(dice.random())
                status, took_s = service.terminate(12 * PATIENCE_S)
                load.ending.set()
            stage.database.signal(signal.SIGCONT)
            stage.say(f'{"idle" if i % 2 else "under load"}: ended with {status} after {took_s:.1f} s')
            stage.need(took_s < patience.scaled(DRAIN_HUNG_S), f'the drain took {took_s:.1f} s')
            stage.need(status == EXIT_UNAVAILABLE, f'exit {status}')
            service.start()
        stage.verify()
        all_answered(stage)
        return stage.said


def rolling_restart(run):
    """Two processes on one database are restarted in turn; their clients go from one to the other and miss nothing."""
    with Stage(run) as stage:
        for number in range(2):
            stage.serve('--lanes', '2', '--slot', str(2 * number), '--jobs=expire,settle', name=f'serve-{number}')
        with stage.load(expire=0.1) as load:
            for i, client in enumerate(load.clients):
                client.connection.at = i % 2
            for i in range(run.rounds):
                stage.progress(load, 60, 3 * PATIENCE_S, f'round {i}: no progress')
                service = stage.services[i % 2]
                status, took_s = service.terminate()
                stage.need(status == 0, f'exit {status} after {took_s:.1f} s')
                stage.progress(load, 60, 3 * PATIENCE_S, f'round {i}: no progress at one process')
                service.start()
        stage.verify()
        all_answered(stage)
        stage.need(503 not in stage.journal.statuses, 'a call was told 503')
        stage.say(f'{run.rounds} restarts')
        return stage.said


def connections_killed(stage):
    """The service's own connections to the database."""
    for (number,) in stage.database.sql("SELECT id FROM information_schema.processlist WHERE db = 'holdfast'"
                                        ' AND id <> CONNECTION_ID()'):
        with contextlib.suppress(RuntimeError):     # the connection may have ended by itself
            stage.database.sql(f'KILL {number}')


def descriptors(run):
    """More connections than the process may have descriptors, and the database's connections die meanwhile."""
    with Stage(run) as stage:
        service = stage.serve('--lanes', '2', '--jobs=expire,settle', descriptors=DESCRIPTORS)
        with stage.load(clients=8) as load:
            for i in range(run.rounds):
                stage.progress(load, 40, 3 * PATIENCE_S, f'round {i}: no progress')
                crowd = [socket.create_connection(tuple(service.address.split(':'))) for _ in range(2 * DESCRIPTORS)]
                for _ in range(3):      # at once: later, places are taken from those that do nothing with them
                    wait_until(lambda: service.get('/livez', DEAF_S / patience.factor())[0] is None, PATIENCE_S,
                               'no descriptors are left')
                stage.progress(load, 20, PATIENCE_S, 'no progress on the connections that there were')
                connections_killed(stage)
                time.sleep(1)
                stage.need(service.alive(), 'the process ended')
                for stranger in crowd:
                    stranger.close()
                back_s = wait_until(lambda: service.get('/livez')[0] == 200, PATIENCE_S / 2, 'new connections are accepted')
                service.wait_ready(1.5 * PATIENCE_S)
                stage.progress(load, 40, 1.5 * PATIENCE_S, 'no progress with descriptors again')
        stage.verify()
        stage.say(f'accepts {back_s:.2f} s after there were descriptors again')
        return stage.said
