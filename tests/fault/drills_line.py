"""The drill of the line: units become free at a place with waits_at while paid orders wait, and newcomers ask for them.

A hold gets its unit from an arrival. A paid order waits behind it, and the unit becomes free; or another one does, by a
movement. The paid order has to get it, and no newcomer, whichever of two services and of four slots each of them meets.
"""
import collections
import random
import threading
import time

import clients
import patience
from patience import PATIENCE_S
from stage import Stage, Trouble

TRACKS, NEWCOMERS = 8, 16       # skus, each with its own orders; clients that ask for any of them without pause
SERVED_S = 2 * PATIENCE_S       # an order that waits is served
FREE_S = 1                      # units that no order waits for are for sale
PROMISED = 1_000_000


class Asker(threading.Thread):
    """Calls of one thread, each to a service by chance."""

    def __init__(self, stage, name):
        super().__init__(daemon=True)
        self.stage, self.name_, self.dice, self.wrong = stage, name, random.Random(f'{stage.run.seed}/{name}'), None
        self.lines = [clients.Connection([service]) for service in stage.services]

    def ask(self, method, path, body=None):
        status, _, answer = self.dice.choice(self.lines).call(method, path, body)
        return status, answer

    def do(self, path, body, method='POST'):
        status, answer = self.ask(method, path, body)
        if status is None:  # the service has closed a connection that was idle for long; the id makes a repeat safe
            status, answer = self.ask(method, path, body)
        self.stage.need(status in (200, 201), f'{method} {path} {body}: {status} {answer}')
        return answer

    def run(self):
        try:
            self.work()
        except (Trouble, OSError) as why:
            self.wrong = why
        for line in self.lines:
            line.close()


class Track(Asker):
    """Tries with one sku, one after the other."""

    def __init__(self, stage, number, tries):
        super().__init__(stage, f'track{number}')
        self.sku, self.tries, self.took, self.ways = f'T{number}', tries, [], collections.Counter()

    def move(self, kind, **line):
        self.count = getattr(self, 'count', 0) + 1
        rest = {key: line.pop(key) for key in ('order_id',) if key in line}
        return self.do('/v1/movements', {'movement_id': f'{self.sku}-{self.count}', 'kind': kind,
                                         'lines': [{'sku': self.sku, **line}], **rest})

    def reserve(self, id_, **more):
        self.do('/v1/reservations', {'order_id': id_, 'lines': [{'sku': self.sku, 'qty': 1, 'location': 'po'}], **more})

    def await_served(self, id_, why):
        began = time.monotonic()
        while True:
            order = self.ask('GET', f'/v1/reservations/{id_}')[1]
            if [line['location'] for line in order['lines']] == ['main']:
                return
            self.stage.need(not patience.is_over(began, SERVED_S),
                            f'{id_} was not served in {time.monotonic() - began:.1f} s, {why}: {order}')
            time.sleep(0.01)

    def ended(self, hold):
        self.do(f'/v1/reservations/{hold}/release', {})

    def expired(self, _hold):
        """The jobs of a service sweep it."""

    def returned(self, hold):
        self.move('return', qty=1, order_id=hold)

    def transferred(self, _hold):
        self.move('transfer', qty=1, **{'from': 'qc', 'to': 'main'})

    def adjusted(self, _hold):
        self.move('adjustment', qty=1)

    def received(self, _hold):
        self.move('receipt', qty=1)

    def counted(self, _hold):
        sku = self.ask('GET', f'/v1/skus/{self.sku}')[1]
        there = [place['on_hand'] for place in sku['locations'] if place['location'] == 'main']
        self.move('count', counted=sum(there) + 1)

    WAYS = (ended, ended, ended, expired, expired, returned, transferred, adjusted, received, counted)

    def work(self):
        for i in range(self.tries):
            hold, paid, way = f'{self.sku}-h{i}', f'{self.sku}-c{i}', self.dice.choice(self.WAYS)
            if way is Track.transferred:
                self.move('receipt', qty=1, location='qc')
            self.reserve(hold, ttl_s=1 if way is Track.expired else 3600)
            self.move('arrival', qty=1, **{'from': 'po', 'to': 'main'})
            self.await_served(hold, 'arrived')
            if way is Track.returned:
                self.do(f'/v1/reservations/{hold}/confirm', {})
                self.do(f'/v1/reservations/{hold}/settle', {})
            self.reserve(paid, confirm=True)
            way(self, hold)
            began = time.monotonic()
            self.await_served(paid, way.__name__)
            self.took.append(time.monotonic() - began)
            self.ways[way.__name__] += 1


class Newcomer(Asker):
    """Asks for units that others wait for, until it is told to go."""

    def __init__(self, stage, number):
        super().__init__(stage, f'n{number}')
        self.asked, self.got, self.leaving = 0, [], threading.Event()

    def work(self):
        while not self.leaving.is_set():
            self.asked += 1
            id_ = f'{self.name_}-{self.asked}'
            status, answer = self.ask('POST', '/v1/reservations', {
                'order_id': id_, 'lines': [{'sku': f'T{self.dice.randrange(TRACKS)}', 'qty': 1}]})
            if status == 201:
                self.got.append(id_)
            elif status != 503:
                self.stage.need(status == 409 and answer['code'] == 'short', f'{id_}: {status} {answer}')


def prepare(stage):
    boss = Asker(stage, 'boss')
    boss.do('/v1/locations/po', {'kind': 'incoming'}, 'PUT')
    boss.do('/v1/locations/qc', {'kind': 'aside'}, 'PUT')
    boss.do('/v1/locations/main', {'waits_at': 'po'}, 'PUT')
    boss.do('/v1/movements', {'movement_id': 'promised', 'kind': 'receipt', 'lines': [
        {'sku': f'T{i}', 'qty': PROMISED, 'location': 'po'} for i in range(TRACKS)]})
    return boss


def tried(run, stage):
    """Tries the queue on this stage; its services run."""
    boss = prepare(stage)
    newcomers = [Newcomer(stage, i) for i in range(NEWCOMERS)]
    tracks = [Track(stage, i, run.rounds // TRACKS + (i < run.rounds % TRACKS)) for i in range(TRACKS)]
    for thread in (*newcomers, *tracks):
        thread.start()
    for thread in tracks:
        thread.join()
    too_early = [id_ for newcomer in newcomers for id_ in newcomer.got]
    boss.do('/v1/movements', {'movement_id': 'free', 'kind': 'receipt', 'lines': [{'sku': 'T0', 'qty': 1}]})
    time.sleep(FREE_S)
    for thread in newcomers:
        thread.leaving.set()
        thread.join()
    for thread in (*newcomers, *tracks):
        stage.need(not thread.wrong, str(thread.wrong))
    stage.need(not too_early, f'newcomers got what others waited for: {too_early[:5]}')
    stage.need(sum(len(newcomer.got) for newcomer in newcomers) == 1, 'what nobody waited for was not for sale')
    took, ways = sorted(s for track in tracks for s in track.took), sum((track.ways for track in tracks), collections.Counter())
    stage.say(f'{len(took):,} tries: ' + ', '.join(f'{way} {n}' for way, n in sorted(ways.items())))
    stage.say(f'{sum(newcomer.asked for newcomer in newcomers):,} newcomers; who waited had his unit after '
              f'{took[len(took) // 2]:.2f} s, the last after {took[-1]:.2f} s')
    stage.command('audit')


def line(run):
    with Stage(run) as stage:
        stage.serve('--lanes', '2', '--jobs=expire')
        stage.serve('--lanes', '2', '--slot', '2', '--jobs=expire', name='second')
        tried(run, stage)
        return stage.said
