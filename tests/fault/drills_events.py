"""The drill of events: whatever dies, what was acknowledged is told once, in its order, to all listeners."""
import contextlib
import http.client
import json
import os
import random
import signal
import subprocess
import threading
import time

import check
import clients
import events
import patience
from patience import PATIENCE_S
from stage import Stage, Trouble, json_post, wait_until

CLIENTS = 24
CALLS = 60              # calls that are answered between two faults
QUIET_S = 18 * PATIENCE_S
HOOKS = {'one-by-one': 1, 'many': 16}
FREEZE_S = 1.5


class Clerk(threading.Thread):
    """Takes tasks by calls, buries an order of each and leaves some to their lease; kicks what is buried by command."""

    def __init__(self, stage):
        super().__init__(daemon=True)
        self.stage, self.ending, self.dice = stage, threading.Event(), random.Random(f'{stage.run.seed}/clerk')
        self.connection = clients.Connection(stage.services)

    def task(self):
        status, _, task = self.connection.call('POST', '/v1/tasks', {'kind': 'settle', 'worker': 'clerk', 'limit': 4,
                                                                     'lease_s': 2})
        if status != 201:
            return
        path = f'/v1/tasks/{task["task_id"]}'
        bad = {'order_id': task['orders'][0]['order_id'], 'error': 'does not fit', 'retry': self.dice.random() < 0.5}
        self.connection.call('POST', f'{path}/fail', {'orders': [bad]})
        if self.dice.random() < 0.8:
            self.connection.call('POST', f'{path}/complete', {})

    def run(self):
        while not self.ending.wait(0.05):
            with contextlib.suppress(clients.NotConnected):
                self.task()
            if self.dice.random() < 0.05:
                with contextlib.suppress(Trouble, subprocess.SubprocessError):
                    self.stage.command('kick', '--all')
        self.connection.close()

    def end(self):
        self.ending.set()
        if self.is_alive():
            self.join(patience.scaled(6 * PATIENCE_S))


class Webhooks:
    """The receiver and its webhooks, if the program has them."""

    def __init__(self, stage):
        self.stage, self.receiver = stage, stage.keep(events.Receiver(stage.run.seed))
        for name, parallel in HOOKS.items():
            status, _, answer = json_post(stage.services[0], '/v1/webhooks', {
                'webhook_id': name, 'url': self.receiver.url(name), 'from': 'oldest', 'parallel': parallel})
            stage.need(status == 201, f'{name}: {status} {answer}')
            self.receiver.hooks[name] = events.Hook(name, answer['secret'])
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.hurry, daemon=True)
        self.thread.start()

    def hurry(self):
        """Enables webhooks that failed, so that they try again soon, not after minutes."""
        while not self.ending.wait(1):
            for name in HOOKS:
                status, answer = self.stage.services[0].get(f'/v1/webhooks/{name}')
                if status == 200 and json.loads(answer)['failures']:
                    with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
                        json_post(self.stage.services[0], f'/v1/webhooks/{name}/enable', {},
                                  PATIENCE_S / 2)

    def verify(self, wanted):
        self.receiver.well = True
        hooks = self.receiver.hooks.values()
        try:
            wait_until(lambda: all(len(hook.heard.events) >= len(wanted) for hook in hooks), QUIET_S,
                       'all is delivered')
        except Trouble as late:
            told = [f'{hook.name} {len(hook.heard.events)} of {len(wanted)}, without '
                    f'{sorted(wanted - set(hook.heard.ids()))[:3]}: '
                    f'{self.stage.services[0].get("/v1/webhooks/" + hook.name)[1]}' for hook in hooks]
            raise Trouble('\n'.join([str(late), *told])) from None
        self.end()
        for hook in hooks:
            self.stage.need(not hook.wrong, hook.wrong)
            yield from events.check_heard(hook.heard, wanted)
            story = events.Story(hook.heard.events, merged=HOOKS[hook.name] == 1)
            yield from (f'{hook.name}: {trouble}' for trouble in story.troubles)
            self.stage.say(f'webhook {hook.name}: {hook.deliveries:,} deliveries of {len(wanted):,} events')
        self.stage.say('the receiver: ' + ', '.join(f'{mood} {n:,}' for mood, n in self.receiver.failures.items()))

    def end(self):
        self.ending.set()
        self.thread.join(patience.scaled(3 * PATIENCE_S))


class Outsider:
    """A transaction of another program that holds rows for a while."""

    ROWS = ('SELECT COUNT(*) FROM (SELECT 1 FROM stock_slot WHERE slot = {} LIMIT 3 FOR UPDATE) x',
            'SELECT COUNT(*) FROM (SELECT 1 FROM reservation WHERE state = 1 ORDER BY reservation_id DESC LIMIT 5'
            ' FOR UPDATE) x')

    def __init__(self, stage, dice):
        sql = f'BEGIN; {dice.choice(self.ROWS).format(dice.randrange(4))}; SELECT SLEEP({dice.random() * 2}); COMMIT'
        self.process = subprocess.Popen(['mariadb', '--no-defaults', '-uroot', f'--socket={stage.database.socket}',
                                         'holdfast', '-e', sql], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Victims:
    """The programs of which one dies at each strike."""

    def __init__(self, stage, dice, delivers):
        self.stage, self.dice, self.killed, self.outsiders = stage, dice, {}, []
        lease = ('--lease', '1', '--max-attempts', '200')
        self.programs = [*stage.services, *stage.services,
                         stage.beside('work', 'work', 'settle', '--batch', '20', *lease),
                         stage.beside('expire', 'work', 'expire', '--lease', '1'),
                         stage.beside('reap', 'reap', '--every', '1', '--max-attempts', '200')]
        if delivers:
            self.programs += [stage.beside(f'deliver-{i}', 'work', 'deliver', '--webhooks-allow', '127.0.0.0/8',
                                           '--lease', '2') for i in range(2)]

    def strike(self):
        time.sleep(self.dice.random() * 0.05)
        victim = self.dice.choice([*self.programs, 'database', 'database'])
        self.count(victim if victim == 'database' else victim.name)
        if victim == 'database':
            self.stage.database.restart()
        elif self.dice.random() < 0.15:
            self.count('frozen')
            victim.process.send_signal(signal.SIGSTOP)
            time.sleep(self.dice.random() * FREEZE_S)
            victim.process.send_signal(signal.SIGCONT)
        else:
            victim.kill()
            victim.start(*([False] if victim in self.stage.services else []))
        if self.dice.random() < 0.2:
            self.outsiders.append(Outsider(self.stage, self.dice))
            self.count('held open by an outsider')
        for program in self.programs:
            self.stage.need(program.alive(), f'{program.name} ended by itself\n{program.last_words()}')

    def count(self, name):
        self.killed[name] = self.killed.get(name, 0) + 1

    def end(self):
        for outsider in self.outsiders:
            outsider.process.wait()


def settled(stage):
    """No order waits, and nothing is left to be done. Again behind `verify`: calls that it repeats may take units from
    orders."""
    def none(where):
        return lambda: not int(stage.database.sql(f'SELECT COUNT(*) FROM {where}')[0][0])

    stage.supply()
    stage.command('kick', '--all')
    stage.database.sql('UPDATE job_task SET lease_until = UTC_TIMESTAMP(3) + INTERVAL 1 SECOND WHERE state = 1'
                       ' AND lease_until > UTC_TIMESTAMP(3) + INTERVAL 1 SECOND')    # of a service that died: 30 s
    wait_until(none('job_task WHERE state = 1'), 6 * PATIENCE_S, 'every task has ended')
    stage.command('kick', '--all')
    wait_until(none('reservation WHERE state = 2'), QUIET_S, 'every confirmed order is settled')
    wait_until(none('job_task WHERE state = 1'), 3 * PATIENCE_S, 'every task has ended')
    wait_until(none('reservation WHERE state = 1 AND expires_at < UTC_TIMESTAMP(3) + INTERVAL 1 HOUR'), 6 * PATIENCE_S,
               'what is due has expired')


def spoil(told):
    """Changed stories: the fault in each must be found."""
    at = next(i for i, event in enumerate(told) if event['type'] == 'reservation.confirmed' and i > 9)
    part = next(i for i, event in enumerate(told) if event['type'] == 'reservation.split')
    moved = next(i for i, event in enumerate(told) if event['type'] == 'movement.receipt')
    held = next(i for i, event in enumerate(told) if event['data'].get('order_id') == told[at]['data']['order_id'])
    last = max(i for i, event in enumerate(told) if event['type'].split('.')[0] in ('reservation', 'movement'))
    yield 'a lost confirmation', [*told[:at], *told[at + 1:]]
    yield 'a lost split', [*told[:part], *told[part + 2:]]
    yield 'a lost movement', [*told[:moved], *told[moved + 1:]]
    yield 'an event that comes twice', [*told, told[at]]
    yield 'a lost end', told[:last]
    yield 'two events in the wrong order', [*told[:held], told[at], *told[held + 1:at], told[held], *told[at + 1:]]
    yield 'another state', [*told[:at], {**told[at], 'data': {**told[at]['data'], 'state': 'held'}}, *told[at + 1:]]


def check_story(stage, listeners):
    """The feed from the start, read at the end, against journal and tables; then each listener against it."""
    fresh = events.Reader(stage.services, 'the last reader')
    while fresh.page() or not stage.need(not fresh.wrong, fresh.wrong):
        if not fresh.last_page:
            break
    tables = check.Tables(stage.database.socket)
    wanted, found = set(fresh.ids()), events.check_story(events.Story(fresh.events), stage, tables)
    yield from found
    for what, spoiled in spoil(fresh.events) if not found else ():
        stage.need(events.check_story(events.Story(spoiled), stage, tables), f'{what} was not found')
    for listener, passed in listeners:
        rest = wanted - passed
        with contextlib.suppress(Trouble):
            wait_until(lambda heard=listener, need=len(rest): len(heard.events) >= need or heard.wrong,
                       3 * PATIENCE_S,
                       'all is heard')
        if listener.wrong:
            yield listener.wrong
        yield from events.check_heard(listener, rest)
        if not passed:
            yield from (f'{listener.name}: {trouble}' for trouble in events.Story(listener.events).troubles)
    stage.say(f'{len(wanted):,} events in {len({tuple(i.split("-")[:2]) for i in wanted}):,} rows of '
              f'{len({i.split("-")[0] for i in wanted})} writers; {len(listeners)} listeners')
    stage.wanted = wanted


def has(stage, word):
    done = subprocess.run([stage.program, 'help'], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    return word in done.stdout + done.stderr


def journal(run):
    """24 clients, two services, workers, deliverers and MariaDB, one of which dies at a time."""
    dice = random.Random(run.seed)
    with Stage(run) as stage:
        delivers, follows = has(stage, 'deliver'), has(stage, 'holdfast events')
        allow = ['--webhooks-allow', '127.0.0.0/8'] if delivers else []
        for number in range(2):
            stage.serve('--lanes', '2', '--slot', str(2 * number), '--jobs=expire', *allow, name=f'serve-{number}')
        listeners = [(stage.keep(events.Reader(stage.services, f'reader-{i}', seed=run.seed)), set()) for i in range(2)]
        if follows:
            listeners.append((stage.keep(events.Follower(stage, 'follower')), set()))
        for listener, _ in listeners:
            listener.start()
        victims = stage.keep(Victims(stage, dice, delivers))
        webhooks = stage.keep(Webhooks(stage)) if delivers else None
        clerk = stage.keep(Clerk(stage))
        clerk.start()
        with stage.load(clients=CLIENTS, expire=0.1, wide=True) as load:
            for i, client in enumerate(load.clients):
                client.connection.at = i % 2
            for i in range(run.rounds):
                stage.progress(load, CALLS, 6 * PATIENCE_S, f'round {i}: no progress')
                victims.strike()
                if i == run.rounds // 2:
                    listeners += middle(stage, listeners[0][0], follows)
                if follows and dice.random() < 0.1:
                    listeners[2][0].restart()
            stage.progress(load, CALLS, 6 * PATIENCE_S, 'no progress at the end')
        clerk.end()
        for service in stage.services:
            service.wait_ready()
        settled(stage)
        stage.verify()
        settled(stage)
        troubles = list(check_story(stage, listeners))
        if webhooks and not troubles:
            troubles = list(webhooks.verify(stage.wanted))
        for listener, _ in listeners:
            if isinstance(listener, events.Reader):
                listener.ending.set()       # of all at once: each is in a page that waits
        stage.say(f'{run.rounds} faults: ' + ', '.join(f'{name} {n}' for name, n in sorted(victims.killed.items())))
        if troubles:
            stage.disagree(f'{len(troubles)} disagreements\n' + '\n'.join(troubles[:check.TOLD_MAX]))
        return stage.said


def order(run):
    """The trials of tests/engine/log/test_feed_order.c, longer: six readers, and all writers that may change one
    order."""
    environment = {**os.environ, 'TEST_TRIAL_S': str(run.seconds), 'HOLDFAST_BIN': run.holdfast,
                   'TMPDIR': run.folder, 'TEST_TIMEOUT_S': str(run.seconds + 300)}
    done = subprocess.run([run.tests, '--jobs', '1', '--filter', 'feed_order/*'], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=2 * run.seconds + 600, check=False)
    if done.returncode:
        raise Trouble(done.stdout[-3000:])
    return [line for line in done.stdout.splitlines() if line.startswith('feed_order')]


def middle(stage, first, follows):
    """Readers that begin where another one has come to."""
    cursor, count = first.place()
    passed = set(first.ids()[:count])
    late = [events.Reader(stage.services, 'late reader', cursor, stage.run.seed)]
    if follows:
        late.append(events.Follower(stage, 'late-follower', cursor))
    for listener in late:
        listener.start()
        stage.keep(listener)
    return [(listener, passed) for listener in late]
