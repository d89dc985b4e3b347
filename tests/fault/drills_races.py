"""The drill of races: orders are settled by their ids, and at the same instant another call changes the same orders.

Orders go by the hand. Of each order the settlement and what is against it are sent one behind the other, each to one of
two services by chance, and only then the answers of the hand are read. The journal gets the answers of an order in a
sequence that may have been: what was refused as the order stood before, then what was done, then what came too late.
"""
import collections
import contextlib
import random
import time

import check
import clients
import events
import patience
from patience import PATIENCE_S
from stage import START_S, Program, Stage, Trouble, wait_until

HAND = 100              # orders
TASKS = 4               # tasks that have the orders of a hand
CHUNK = 10              # orders of a call with many, at most
QTY = 4, 6              # of a line: enough for two parts
FAR = 30                # a limit that no order comes near
KILL_S, KILL_SLICE_S = 2.0, 0.7     # from one kill to the next, in the mean
REAPS_S = 0.08          # from the start of a reaper until it has been to all tasks
WITHIN_S = 9 * PATIENCE_S # every call has its answer
BUSY_MAX = 0.01         # of the answers
LATE = ('settled', 'released', 'expired')


class Ask:
    """A call, and what it asks of each order: (call, id, sent, other), as the journal has it."""

    def __init__(self, path, body, about=(), repeats=True):
        self.path, self.body, self.about, self.repeats = path, body, list(about), repeats
        self.status, self.headers, self.answer, self.began = None, {}, None, 0

    def results(self):
        """(what was asked, status, answer, headers, was it done before) of each order."""
        many = self.answer['results'] if self.status == 200 and 'results' in self.answer else None
        for i, about in enumerate(self.about):
            if many:
                own = {'Idempotent-Replayed': 'true'} if 'replayed' in many[i] else {}
                yield about, many[i]['status'], many[i], {**self.headers, 'Retry-After': '1', **own}, bool(own)
            else:
                yield about, self.status, self.answer, self.headers, 'Idempotent-Replayed' in self.headers

    def is_answered(self):
        return self.status not in (None, 503) and not any(status == 503 for _, status, *_ in self.results())


def ask_one(call, id_, sent, other=None):
    return Ask(clients.path_of(call, id_, other), sent, [(call, id_, sent, other)])


def ask_many(call, orders):
    """orders: (id, sent)."""
    path, member = clients.MANY[call]
    return Ask(path, {member: [sent if call == 'reserve' else id_ for id_, sent in orders]},
               [(call, id_, sent, None) for id_, sent in orders])


def ask_task(task, what, **body):
    return Ask(f'/v1/tasks/{task}/{what}', body)


def settles(about):
    call, _, sent, _ = about
    return call == 'settle' or call == 'split' and sent.get('then') == 'settle'


def turn_of(result):
    """When the answer may have become true, among those of its order."""
    (call, *_), status, answer, _, again = result
    if status < 300 or status == 409 and again:
        return 1 if call in ('split', 'kick') else 2
    return 3 if answer.get('code') in LATE else 0


class Racer(clients.Client):
    """The client that settles orders, and sends the calls against it."""

    def __init__(self, stage, load):
        super().__init__(load, 0)
        self.stage, self.lines_to = stage, ([], [])
        self.reaper = stage.keep(Program(stage, 'reap', ['reap', '--db', stage.url]))
        self.orders, self.there, self.tasks = {}, [], {}    # of the hand: id -> lines; what was made; task -> ids
        self.tried, self.settled, self.codes = (collections.Counter() for _ in range(3))
        self.by_id, self.by_task = set(), {}                # orders that were answered as settled; .. with their task
        self.wrong = None

    # ---- calls

    def line_to(self, used):
        """A connection to a service by chance that no call of this instant has."""
        at = self.dice.randrange(2)
        used[at] += 1
        if len(self.lines_to[at]) < used[at]:
            self.lines_to[at].append(clients.Connection([self.stage.services[at]]))
        return self.lines_to[at][used[at] - 1]

    def send_all(self, asks, within_s):
        """The calls that were sent; each has its answer, if there was one."""
        used, sent = [0, 0], []
        for ask in asks:
            line, ask.began = self.line_to(used), time.monotonic()
            with contextlib.suppress(clients.NotConnected):
                line.send('POST', ask.path, ask.body)
                sent.append((ask, line))
            time.sleep(within_s / len(asks))
        for ask, line in sent:
            ask.status, ask.headers, ask.answer = line.receive()
        return [ask for ask, _ in sent]

    def enter_results(self, ask, results):
        for (call, id_, sent, other), status, answer, headers, _ in results:
            self.enter(call, id_, sent, ask.began, status, answer, headers, other=other)

    def exchange(self, asks, within_s=0, codes=None):
        """Sends all, over so many seconds, and again what got no answer. codes: counts what was answered."""
        began, left = time.monotonic(), asks
        while left:
            self.stage.need(not patience.is_over(began, WITHIN_S),
                            f'no answer in {time.monotonic() - began:.1f} s: {left[0].path}')
            for ask in self.send_all(left, within_s):
                results = list(ask.results())
                for _, status, answer, *_ in results if codes is not None else ():
                    codes[status and (answer or {}).get('code', 'done')] += 1
                if not ask.is_answered():
                    self.enter_results(ask, (result for result in results if result[1] in (None, 503)))
            left = [ask for ask in left if ask.repeats and not ask.is_answered()]
            time.sleep(0.02 if left else 0)
        final = [(turn_of(result), ask, result) for ask in asks if ask.is_answered() for result in ask.results()]
        for _, ask, result in sorted(final, key=lambda told: told[0]):
            self.enter_results(ask, [result])
            self.note(*result)

    def note(self, about, status, _answer, _headers, again):
        call, id_, *_ = about
        if status < 300 and call in ('reserve', 'split'):
            self.there.append(id_)
        if status < 300 and call == 'settle' and not again:
            self.by_id.add(id_)

    # ---- before a race

    def lines(self, most, units):
        """No order has more than its one customer may have."""
        few = [line for line in super().lines(most, units) if clients.LIMITS.get(line['sku'], FAR) >= FAR]
        return few or self.lines(most, units)

    def made(self, count, held=0.0):
        self.orders = {f'{self.load.name}-{self.count + i}': [{**line, 'qty': self.dice.randint(*QTY)}
                                                              for line in self.lines(2, 1)] for i in range(count)}
        self.count += count
        orders = [(id_, {'order_id': id_, 'lines': lines, 'ttl_s': clients.LONG_TTL_S,
                         'customer': id_, 'confirm': self.dice.random() >= held}) for id_, lines in self.orders.items()]
        self.exchange([ask_many('reserve', orders)])
        return list(self.orders)

    def either(self, count):
        return self.made(count, held=0.3)

    def claims(self, count, lease_s=60):
        return [Ask('/v1/tasks', {'kind': 'settle', 'worker': self.name, 'limit': -(-count // TASKS),
                                  'lease_s': lease_s}, repeats=False) for _ in range(TASKS)]

    def take(self, claims):
        """The orders that workers have now."""
        self.tasks.update({ask.answer['task_id']: [order['order_id'] for order in ask.answer['orders']
                                                   if order['order_id'] in self.orders]
                           for ask in claims if ask.status == 201})
        return [id_ for ids in self.tasks.values() for id_ in ids]

    def claimed(self, count, **how):
        self.made(count)
        claims = self.claims(count, **how)
        self.exchange(claims)
        return self.take(claims)

    def overdue(self, count):
        ids = self.claimed(count, lease_s=1)
        time.sleep(1)
        return ids

    def buried(self, count):
        self.claimed(count)
        fails = {task: ask_task(task, 'fail', orders=[{'order_id': id_, 'error': 'does not fit', 'retry': False}
                                                      for id_ in ids]) for task, ids in self.tasks.items() if ids}
        self.exchange(list(fails.values()))
        return [id_ for task, ask in fails.items() if ask.status == 200 for id_ in self.tasks[task]]

    # ---- in a race: (place in the hand, what is asked)

    def settlements(self, ids):
        together = []
        for i, id_ in enumerate(ids):
            chance, force = self.dice.random(), {'force': True} if self.dice.random() < 0.5 else {}
            if chance < 0.15:
                together.append((i, id_))
            elif chance < 0.3:
                yield i, self.part(id_, f'{id_}-s', then='settle', **force)
            else:
                yield i, ask_one('settle', id_, force)
        for at in range(0, len(together), CHUNK):
            yield together[at][0], ask_many('settle', [(id_, {}) for _, id_ in together[at:at + CHUNK]])

    def part(self, id_, new, **sent):
        line = {**self.dice.choice(self.orders[id_]), 'qty': 1}
        return ask_one('split', new, {'order_id': new, 'lines': [line], **sent}, id_)

    def split(self, ids):
        for i, id_ in enumerate(ids):
            then = self.dice.choice((None, 'confirm', 'release'))
            yield i, self.part(id_, f'{id_}-p', **({'then': then} if then else {}))

    def replace(self, ids):
        for i, id_ in enumerate(ids):
            new, lines = f'{id_}-r', [self.orders[id_][0], *self.lines(1, 3)]
            lines = list({(line['sku'], line['location']): line for line in lines}.values())
            yield i, ask_one('reserve', new, {'order_id': new, 'lines': lines, 'ttl_s': clients.LONG_TTL_S,
                                              'customer': id_, 'replaces': id_, 'confirm': True}, id_)

    def release(self, ids):
        return ((i, ask_one('release', id_, {})) for i, id_ in enumerate(ids))

    def kick(self, ids):
        return ((i, ask_one('kick', id_, {})) for i, id_ in enumerate(ids))

    def claim(self, ids):
        return ((self.dice.random() * len(ids), ask) for ask in self.claims(len(ids)))

    def complete(self, _ids):
        at = 0
        for task, ids in self.tasks.items():
            while ids:
                some = self.dice.randint(1, CHUNK)
                yield at, ask_task(task, 'complete', order_ids=ids[:some])
                at, ids = at + len(ids[:some]), ids[some:]

    def reap(self, _ids):
        self.reaper.start()
        return ()

    # ---- a hand

    #   pair             before the race  against it
    PAIRS = {
        'claim':        (made,            claim),
        'complete':     (claimed,         complete),
        'release':      (made,            release),
        'split':        (made,            split),
        'replacement':  (either,          replace),
        'reap':         (overdue,         reap),
        'kick':         (buried,          kick),
    }

    def judge(self, pair, asks):
        """Finds answers that cannot both be true."""
        if pair in ('claim', 'complete'):
            had = {id_ for ids in self.tasks.values() for id_ in ids}
            free = {id_ for ask in asks for (call, id_, sent, _), status, _, _, again in ask.results()
                    if call == 'settle' and status < 300 and not again and not sent.get('force')}
            self.stage.need(not had & free, f'settled without force, and a worker had it: {had & free}')
        for ask in asks:
            if ask.path.endswith('/complete') and ask.status == 200:
                task = int(ask.path.split('/')[-2])
                for id_ in set(ask.body['order_ids']) - set(ask.answer['lost_orders']):
                    if self.by_task.setdefault(id_, task) != task:
                        raise Trouble(f'{id_}: acknowledged as completed by the tasks {self.by_task[id_]} and {task}')

    def race(self, pair, count):
        before, against = self.PAIRS[pair]
        self.there, self.tasks = [], {}
        ids = before(self, count)
        placed = [(place + self.dice.random(), ask) for place, ask in [*self.settlements(ids), *against(self, ids)]]
        asks = [ask for _, ask in sorted(placed, key=lambda one: one[0])]
        self.exchange(asks, within_s=REAPS_S if against is Racer.reap else 0, codes=self.codes)
        self.take([ask for ask in asks if ask.path == '/v1/tasks'])
        self.judge(pair, asks)
        if against is Racer.reap:
            self.reaper.process.wait(patience.scaled(WITHIN_S))
        self.tried[pair] += len(ids)
        self.settled[pair] += sum(settles(about) and status < 300
                                  for ask in asks for about, status, *_ in ask.results())
        self.exchange([ask_task(task, 'return') for task in self.tasks])
        self.exchange([ask_many('release', [(id_, {}) for id_ in self.there])])

    def run(self):
        """So many tries of each pair, by chance."""
        count = self.stage.run.rounds
        try:
            while pairs := [pair for pair in self.PAIRS if self.tried[pair] < count]:
                pair = self.dice.choice(pairs)
                self.race(pair, min(HAND, count - self.tried[pair]))
        except Exception as error:      # pylint: disable=broad-except
            self.wrong = error          # for the main thread


def strike(stage, dice):
    """kill -9 of a service or of the database; its name."""
    victim = dice.choice([*stage.services, stage.database])
    victim.kill()
    victim.start()
    wait_until(stage.database.answers, START_S, 'MariaDB answers')
    for service in stage.services:
        service.wait_ready()
    return getattr(victim, 'name', 'database')


def told(stage):
    """All events, in their order; none is kept."""
    reader = events.Reader(stage.services, 'the last reader')
    while reader.page() and reader.last_page:
        yield from reader.last_page
        reader.events.clear()
    stage.need(not reader.wrong, reader.wrong)


def check_who(racer, tables):
    """Each order is settled by the call or the task that was answered so."""
    for id_, task in [*((id_, 0) for id_ in racer.by_id), *racer.by_task.items()]:
        if (tables.states[id_], tables.tasks[id_]) != ('settled', task):
            yield f'{id_}: settled by task {task} (0: by its id), is {tables.states[id_]} by {tables.tasks[id_]}'


def races(run):
    """An order is settled by its id while it is claimed, completed, released, split, replaced, reaped or kicked."""
    dice = random.Random(run.seed)
    with Stage(run) as stage:
        for number in range(2):
            stage.serve('--lanes', '2', '--slot', str(2 * number), name=f'serve-{number}')
        racer, killed = Racer(stage, stage.load(clients=0)), collections.Counter()
        racer.start()
        while racer.is_alive():
            racer.join(dice.random() * 2 * (KILL_SLICE_S if run.slice else KILL_S))
            killed[strike(stage, dice)] += 1
        if racer.wrong:
            raise racer.wrong
        stage.verify()
        tables = check.Tables(stage.database.socket)
        story, count = events.Story(told(stage)), sum(racer.codes.values())
        troubles = [*check_who(racer, tables), *events.check_story(story, stage, tables)]
        if troubles:
            stage.disagree('\n'.join(troubles[:check.TOLD_MAX]))
        stage.say('tries, and settled by id: ' + ', '.join(f'{pair} {n:,} {racer.settled[pair]:,}'
                                                          for pair, n in sorted(racer.tried.items())))
        stage.say(f'{len(story.seen):,} events; killed: ' + ', '.join(f'{name} {n}' for name, n in killed.items()))
        stage.say(f'{count:,} answers: ' + ', '.join(f'{code} {n:,}' for code, n in racer.codes.most_common()))
        stage.need(racer.codes['busy'] <= BUSY_MAX * count, f'{racer.codes["busy"]} of {count} answers were busy')
        return stage.said
