"""Drills on the way between the service and its database."""
import random
import time

import clients
import patience
import proxy
from patience import PATIENCE_S
from stage import Stage

BACK_S = 1.8 * PATIENCE_S # after that a connection that nothing comes from is given up, and another is made


def reset(between, stage, dice):
    time.sleep(dice.random() * 0.2)
    between.cut()


def delay(between, stage, dice):
    between.fault = proxy.Slow(0.03)
    time.sleep(1)


def split(between, stage, dice):
    between.fault = proxy.Bytes()
    time.sleep(1)


def stall(between, stage, dice):
    between.fault = stalled = proxy.Stalled()
    time.sleep(0.2 + dice.random() * 2)
    between.fault = proxy.Clear()
    stalled.go.set()


def silence(between, stage, dice):
    """Half open: what was sent is lost and no end is seen, until the network resets what is left of it."""
    between.fault = proxy.Silent()
    time.sleep(0.5 + dice.random() * 2)
    between.cut()


def lost_commit(between, stage, dice):
    between.fault = lost = proxy.CommitLost()
    enough = 1 if stage.run.slice else 3    # no service finds out what was done meanwhile; more come when one gives up
    began = time.monotonic()
    while lost.hits < enough and not patience.is_over(began, PATIENCE_S):
        time.sleep(0.01)
    stage.need(lost.hits, 'no answer to a COMMIT was lost')


FAULTS = (lost_commit, reset, delay, split, stall, silence)


def network(run):
    """Resets, stalls, delays, single bytes, silence, and answers to COMMIT that are lost."""
    dice = random.Random(run.seed)
    count = {fault.__name__: 0 for fault in FAULTS}
    with Stage(run) as stage:
        between = stage.keep(proxy.Proxy(stage.database.socket))
        stage.serve('--lanes', '2', '--jobs=expire,settle', db=between.url)
        with stage.load(expire=0.1) as load:
            for i in range(run.rounds):
                fault = FAULTS[i % len(FAULTS)]
                fault(between, stage, dice)
                between.fault = proxy.Clear()
                stage.progress(load, 40, 3 * PATIENCE_S, f'round {i}: no progress after {fault.__name__}')
                count[fault.__name__] += 1
        stage.verify()
        stage.say(', '.join(f'{name} {n}' for name, n in count.items()))
        stage.need(stage.unknown_outcomes > 0, 'no outcome was ever unknown: the window was not hit')
        stage.need(stage.journal.slowest_quiet_ms < clients.HANGS_MS, 'a call hung')
        return stage.said


def half_open(run):
    """The network swallows everything for longer than any time-out, and says nothing."""
    with Stage(run) as stage:
        between = stage.keep(proxy.Proxy(stage.database.socket))
        stage.serve('--lanes', '2', db=between.url)
        with stage.load() as load:
            for i in range(run.rounds):
                stage.progress(load, 40, 3 * PATIENCE_S, 'no progress')
                between.fault = proxy.Silent()
                time.sleep(1 + (run.seconds - 1) * i / max(1, run.rounds - 1))
                between.fault = proxy.Clear()
                stage.progress(load, 40, BACK_S, 'no progress after the network was well again')
        stage.verify()
        stage.need(stage.journal.slowest_quiet_ms < clients.HANGS_MS, 'a call hung')
        return stage.said
