"""Drills that kill -9: the database at random and at COMMIT, the service, workers, reapers."""
import os
import random
import subprocess
import time

import patience
import proxy
from patience import PATIENCE_S
from stage import Stage, Trouble, wait_until

LOAD_CALLS = 40         # calls that are answered between two faults
WORKERS_S = 3600


def kill_database(run):
    """MariaDB dies, every second time right after a COMMIT was sent: before, in or after it, or its answer is lost.
    Every other of these ends a lane's batch."""
    dice = random.Random(run.seed)
    with Stage(run) as stage:
        between = stage.keep(proxy.Proxy(stage.database.socket))
        stage.serve('--lanes', '2', '--jobs=expire,settle,reap', db=between.url)
        at_commit = 0
        with stage.load(expire=0.1) as load:
            for i in range(run.rounds):
                stage.progress(load, LOAD_CALLS, 3 * PATIENCE_S, f'round {i}: no progress')
                if i % 2:
                    time.sleep(dice.random() * 0.05)
                    stage.database.kill()
                else:
                    fault = proxy.AtCommit(stage.database.kill, dice.random() * 0.004, held_back=i % 4 == 0,
                                           lanes=i % 8 < 4)
                    between.fault = fault
                    stage.need(fault.struck.wait(patience.scaled(2 * PATIENCE_S)), f'round {i}: no COMMIT came')
                    between.fault = proxy.Clear()
                    at_commit += 1
                stage.database.start()
                stage.services[0].wait_ready()
        stage.verify()
        stage.say(f'{run.rounds} kills, {at_commit} of them at COMMIT')
        stage.need(stage.unknown_outcomes > 0, 'no outcome was ever unknown: the window was not hit')
        return stage.said


def kill_service(run):
    """The service, a worker or a reaper dies at a random time and is started again."""
    dice = random.Random(run.seed)
    with Stage(run) as stage:
        service = stage.serve('--lanes', '2', '--jobs=expire')
        worker = stage.beside('work', 'work', 'settle', '--batch', '20', '--lease', '1', '--max-attempts', '200')
        reaper = stage.beside('reap', 'reap', '--every', '1', '--max-attempts', '200')
        killed = {'serve': 0, 'work': 0, 'reap': 0}
        with stage.load(expire=0.1) as load:
            for i in range(run.rounds):
                stage.progress(load, LOAD_CALLS, 3 * PATIENCE_S, f'round {i}: no progress')
                time.sleep(dice.random() * 0.05)
                victim = dice.choice((service, service, worker, reaper))
                victim.kill()
                killed[victim.name] += 1
                victim.start()
        service.wait_ready()
        stage.supply()
        wait_until(lambda: not int(stage.database.sql('SELECT COUNT(*) FROM reservation WHERE state = 2')[0][0]), 12 * PATIENCE_S,
                   'every confirmed order is settled')
        wait_until(lambda: not int(stage.database.sql('SELECT COUNT(*) FROM job_task WHERE state = 1')[0][0]), 3 * PATIENCE_S,
                   'every task has ended')
        reaped = int(stage.database.sql('SELECT COUNT(*) FROM job_task WHERE state = 4')[0][0])
        stage.need(run.slice or reaped, 'no task was ever reaped')
        stage.verify()
        stage.say(f'{reaped} tasks reaped; killed: ' + ', '.join(f'{name} {n}' for name, n in killed.items()))
        return stage.said


def workers(run):
    """The drills of tests/jobs/test_worker_process.c, longer: workers freeze and die, each order is settled once or buried."""
    environment = {**os.environ, 'TEST_DRILL_ROUNDS': str(run.rounds), 'TEST_BACKLOG': '1000000',
                   'TEST_TIMEOUT_S': str(WORKERS_S), 'HOLDFAST_BIN': run.holdfast, 'TMPDIR': run.folder}
    done = subprocess.run([run.tests, '--jobs', '1', '--filter', '@(worker_process|claim)/*'], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=WORKERS_S, check=False)
    if done.returncode:
        with open(f'{run.folder}/tests.log', 'w', encoding='utf-8') as log:
            log.write(done.stdout)
        raise Trouble(done.stdout[-3000:])
    return [f'{run.rounds} rounds: {done.stdout.strip().splitlines()[-1]}']
