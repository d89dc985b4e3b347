"""Drills on the service's own process: it is told to end, restarted in turn, has no descriptors left."""
import contextlib
import random
import signal
import socket
import time

from house import House, wait_until

EXIT_UNAVAILABLE = 69
DRAIN_S = 10            # under load, the database being well
DRAIN_HUNG_S = 12.5     # whatever the database does
DESCRIPTORS = 48


def all_answered(house):
    house.need(not house.journal.counts['lost'], f'{house.journal.counts["lost"]} calls were sent and not answered')


def terminate(run):
    """SIGTERM under full load: every call that was sent is answered, exit 0 in time."""
    dice, slowest = random.Random(run.seed), 0
    with House(run) as house:
        service = house.serve('--lanes', '2', '--jobs=expire,settle,reap')
        with house.load(clients=32, expire=0.1) as load:
            for _ in range(run.rounds):
                house.need(load.progress(100, 30), 'no progress')
                time.sleep(0.2 + dice.random() * 0.2)
                status, took_s = service.terminate()
                slowest = max(slowest, took_s)
                house.need(status == 0 and took_s < DRAIN_S, f'exit {status} after {took_s:.1f} s')
                service.start()
        house.verify()
        house.say(f'ended with 0 within {slowest:.2f} s, {run.rounds} times')
        all_answered(house)
        return house.said


def terminate_hung(run):
    """SIGTERM while MariaDB is stopped, with calls under way and without any."""
    dice = random.Random(run.seed)
    with House(run) as house:
        service = house.serve('--lanes', '2', '--jobs=expire,settle,reap')
        for i in range(run.rounds):
            with house.load(name=f'L{i}') as load:
                house.need(load.progress(40, 30), 'no progress')
                if i % 2:
                    load.ending.set()
                    time.sleep(0.2)
                house.database.signal(signal.SIGSTOP)
                time.sleep(dice.random())
                status, took_s = service.terminate(120)
                load.ending.set()
            house.database.signal(signal.SIGCONT)
            house.say(f'{"idle" if i % 2 else "under load"}: ended with {status} after {took_s:.1f} s')
            house.need(took_s < DRAIN_HUNG_S, f'the drain took {took_s:.1f} s')
            house.need(status == EXIT_UNAVAILABLE, f'exit {status}')
            service.start()
        house.verify()
        all_answered(house)
        return house.said


def rolling_restart(run):
    """Two processes on one database are restarted in turn; their clients go from one to the other and miss nothing."""
    with House(run) as house:
        for number in range(2):
            house.serve('--lanes', '2', '--slot', str(2 * number), '--jobs=expire,settle', name=f'serve-{number}')
        with house.load(expire=0.1) as load:
            for i, client in enumerate(load.clients):
                client.connection.at = i % 2
            for i in range(run.rounds):
                house.need(load.progress(60, 30), f'round {i}: no progress')
                service = house.services[i % 2]
                status, took_s = service.terminate()
                house.need(status == 0, f'exit {status} after {took_s:.1f} s')
                house.need(load.progress(60, 30), f'round {i}: no progress at one process')
                service.start()
        house.verify()
        all_answered(house)
        house.need(503 not in house.journal.statuses, 'a call was told 503')
        house.say(f'{run.rounds} restarts')
        return house.said


def connections_killed(house):
    """The service's own connections to the database."""
    for (number,) in house.database.sql("SELECT id FROM information_schema.processlist WHERE db = 'holdfast'"
                                        ' AND id <> CONNECTION_ID()'):
        with contextlib.suppress(RuntimeError):     # it may have gone by itself
            house.database.sql(f'KILL {number}')


def descriptors(run):
    """More connections than the process may have descriptors, and the database's connections die meanwhile."""
    with House(run) as house:
        service = house.serve('--lanes', '2', '--jobs=expire,settle', descriptors=DESCRIPTORS)
        with house.load(clients=8) as load:
            for i in range(run.rounds):
                house.need(load.progress(40, 30), f'round {i}: no progress')
                crowd = [socket.create_connection(tuple(service.address.split(':'))) for _ in range(2 * DESCRIPTORS)]
                time.sleep(0.3)
                house.need(load.progress(20, 10), 'no progress on the connections that there were')
                house.need(service.get('/livez')[0] is None, 'there were descriptors left')
                connections_killed(house)
                time.sleep(1)
                house.need(service.alive(), 'the process ended')
                for stranger in crowd:
                    stranger.close()
                back_s = wait_until(lambda: service.get('/livez')[0] == 200, 5, 'new connections are accepted')
                service.wait_ready(15)
                house.need(load.progress(40, 15), 'no progress with descriptors again')
        house.verify()
        house.say(f'accepts {back_s:.2f} s after there were descriptors again')
        return house.said
