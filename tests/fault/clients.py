"""Clients that use Holdfast while something breaks, and the journal of what they sent and were answered.

Each client is a thread with one connection: it reserves, and then splits, replaces, confirms, releases, extends,
settles, repeats or leaves what it got, and brings units back of orders that any client settled. It moves units from
place to place, and aside. Some orders wait for units that are promised at ORDERED, or have some at ANNEX, which passes
units to the queue: goods arrive, and orders lose units. A call without an answer ends its order for now; when all is
well again, `resolve` repeats the call with its id. The journal has one JSON object per line and call:

  call id sent        what was asked: reserve, split, confirm, release, extend, settle, kick, receipt, adjust, return,
                      count, transfer, arrival, lose (a count or an adjustment with short: backorder), limit, location;
                      of a split the new id, of a limit the sku; of a call with many, each stands by itself; moved: no
                      call, a drill was told that units of an order are elsewhere
  other               the order that is split or replaced, or from which units come back; null: none
  status answer       what came back; null: nothing did
  replayed wait ms    Idempotent-Replayed, or `replayed` of a result; Retry-After; how long it took
  began ended         when it was sent and answered, by time.monotonic()
  may_expire          its hold may expire before the end of the run; where clocks jump, each may

Nothing is judged here but what no fault excuses: check.py makes its own sums from the journal.
"""
import http.client
import json
import random
import socket
import threading
import time

import patience
from patience import PATIENCE_S

SKUS = [f'S{i:02}' for i in range(20)]
LOCATIONS = ['main', 'north']
ASIDE = 'quality'                       # no order may name it
ORDERED, ANNEX = 'ordered', 'annex'     # incoming; a house that waits at it
SCARCE = SKUS[-6:]                      # orders wait for them
LIMITS = {'S00': 4, 'S01': 9, 'S02': 30}        # of each customer
AT_A_TIME, ORDERS_EACH = 4, 20          # customers that buy at a time, and for how many orders of each client
ANSWER_S = 2 * PATIENCE_S               # the service promises an answer within 10.5 s
HANGS_MS = 1200 * PATIENCE_S             # a call is answered by then, whatever the network and the database do
LONG_TTL_S = 86400
COUNTED_MIN, COUNTED_MAX = 900_000, 1_100_000  # never fewer than are reserved
MOVEMENTS = ('receipt', 'adjust', 'return', 'count', 'transfer', 'arrival', 'lose')
PUTS = {'limit': '/v1/skus/', 'location': '/v1/locations/'}
MANY = {'reserve': ('/v1/reservations/batch', 'reservations'), 'confirm': ('/v1/confirmations', 'order_ids'),
        'release': ('/v1/releases', 'order_ids'), 'settle': ('/v1/settlements', 'order_ids')}
NOTHING_DONE = {'busy', 'storage_full', 'unavailable'}  # codes of a 503 that is an answer: it had no effect


class Journal:
    def __init__(self, path):
        self.path = path
        self.file = open(path, 'w', encoding='utf-8')
        self.lock = threading.Lock()
        self.open_calls = {}            # (call, id) -> what was sent, while its outcome is not known
        self.counts = {'calls': 0, 'acknowledged': 0, 'refused': 0, 'nothing_done': 0, 'unknown': 0, 'lost': 0}
        self.statuses = {}
        self.slowest_ms = 0
        self.slowest_quiet_ms = 0       # as it would be on a quiet machine

    def write(self, entry):
        status = entry['status']
        code = (entry['answer'] or {}).get('code')
        key = (entry['call'], entry['id'])
        with self.lock:
            self.file.write(json.dumps(entry, separators=(',', ':')) + '\n')
            self.counts['calls'] += 1
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.slowest_ms = max(self.slowest_ms, entry['ms'])
            self.slowest_quiet_ms = max(self.slowest_quiet_ms, entry['ms'] / patience.factor())
            if status is None:
                self.counts['lost'] += 1
            elif status == 503:
                self.counts['nothing_done' if code in NOTHING_DONE else 'unknown'] += 1
            else:
                self.counts['acknowledged' if status < 300 else 'refused'] += 1
            if is_open(entry):
                self.open_calls[key] = entry
            else:
                self.open_calls.pop(key, None)

    def close(self):
        self.file.close()


def is_open(entry):
    """True: it is not known whether the call was done."""
    return entry['status'] is None or \
        entry['status'] == 503 and (entry['answer'] or {}).get('code') not in NOTHING_DONE


class NotConnected(Exception):
    """Nothing was sent."""


class Connection:
    """Keeps a connection to the first of some services that takes one."""

    def __init__(self, services):
        self.services, self.at, self.http = services, 0, None

    def close(self):
        if self.http:
            self.http.close()
        self.http = None

    def open(self):
        for _ in self.services:
            connection = http.client.HTTPConnection(self.services[self.at].address,
                                                    timeout=patience.scaled(ANSWER_S))
            try:
                connection.connect()
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.http = connection
                return
            except OSError:
                self.at = (self.at + 1) % len(self.services)
        raise NotConnected

    def send(self, method, path, body=None):
        """The answer is read by receive."""
        if not self.http:
            self.open()
        try:
            self.http.request(method, path, None if body is None else json.dumps(body),
                              {'Content-Type': 'application/json'})
        except (OSError, http.client.HTTPException):
            self.close()

    def receive(self):
        """(status, headers, answer); status None: it was sent, perhaps, and nothing came back."""
        try:
            if self.http:
                response = self.http.getresponse()
                text = response.read()
                if response.will_close:
                    self.close()
                return response.status, response.headers, json.loads(text) if text else None
        except (OSError, http.client.HTTPException, ValueError):
            self.close()
        return None, {}, None

    def call(self, method, path, body=None):
        self.send(method, path, body)
        return self.receive()


def path_of(call, id_, other):
    if call == 'reserve':
        return '/v1/reservations'
    if call == 'split':
        return f'/v1/reservations/{other}/split'
    if call in PUTS:
        return PUTS[call] + id_
    return '/v1/movements' if call in MOVEMENTS else f'/v1/reservations/{id_}/{call}'


class Client(threading.Thread):
    """Orders, one after the other, until the load ends."""

    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load, self.number, self.count, self.backs, self.answer = load, number, 0, 0, None
        self.dice = random.Random(f'{load.seed}/{number}')
        self.connection = Connection(load.services)

    def run(self):
        while not self.load.ending.is_set():
            try:
                self.order()
            except NotConnected:
                time.sleep(0.02)
            if self.load.pause_s:
                time.sleep(self.load.pause_s * self.dice.random() * 2)
        self.connection.close()

    def call(self, call, id_, sent, may_expire=False, other=None):
        """The answer's status; it stands in the journal."""
        began = time.monotonic()
        method = 'PUT' if call in PUTS else 'POST'
        status, headers, answer = self.connection.call(method, path_of(call, id_, other), sent)
        self.answer = answer
        self.enter(call, id_, sent, began, status, answer, headers, may_expire, other)
        return status

    def enter(self, call, id_, sent, began, status, answer, headers, may_expire=False, other=None):
        ended = time.monotonic()
        self.load.journal.write({'call': call, 'id': id_, 'other': other, 'sent': sent, 'status': status,
                                 'answer': answer,
                                 'replayed': headers.get('Idempotent-Replayed') == 'true',
                                 'wait': headers.get('Retry-After'), 'ms': int((ended - began) * 1000),
                                 'began': began, 'ended': ended,
                                 'may_expire': may_expire or self.load.jumps})
        self.load.moment(status)

    def call_many(self, call, asked):
        """asked: (id, sent) of each. The ids that were acknowledged."""
        path, member = MANY[call]
        began = time.monotonic()
        status, headers, answer = self.connection.call(
            'POST', path, {member: [sent if call == 'reserve' else id_ for id_, sent in asked]})
        results = answer['results'] if status == 200 else [answer] * len(asked)
        for (id_, sent), result in zip(asked, results):
            if status == 200 and result['status'] == 503:
                headers = {**headers, 'Retry-After': '1'}       # a result has none of its own
            own = {**headers, 'Idempotent-Replayed': 'true'} if result and result.get('replayed') else headers
            self.enter(call, id_, sent, began, result['status'] if status == 200 else status, result, own)
        return [id_ for (id_, _), result in zip(asked, results) if status == 200 and result['status'] < 300]

    def many(self, id_):
        """Makes some orders by one call; confirms, releases and settles some of them by one call each."""
        asked = []
        for i in range(self.dice.randint(2, 12)):
            sent = {'order_id': f'{id_}-m{i}', **self.wanted(self.waiting(self.lines(2, 3))), 'ttl_s': LONG_TTL_S}
            asked.append((sent['order_id'], {**sent, 'confirm': True} if self.dice.random() < 0.2 else sent))
        made, confirmed = self.call_many('reserve', asked), []
        for call in ('confirm', 'release', 'settle'):
            some = [id_ for id_ in made if (call != 'settle' or id_ in confirmed) and self.dice.random() < 0.5]
            if some:        # the state of an order without an answer is not known
                done = self.call_many(call, [(id_, {}) for id_ in some])
                made = [id_ for id_ in made if id_ in done or id_ not in some]
                confirmed = confirmed or done

    def movement(self, id_, kind):
        lines = self.lines(2, 50)
        if kind == 'count':
            lines = [{'sku': line['sku'], 'location': line['location'],
                      'counted': self.dice.randint(COUNTED_MIN, COUNTED_MAX)} for line in lines]
        self.call(kind, id_, {'movement_id': id_, 'kind': kind, 'lines': lines})

    def transfer(self, id_):
        lines = []
        for sku in self.dice.sample(SKUS, self.dice.randint(1, 3)):
            start, end = self.dice.sample([*LOCATIONS, ASIDE], 2)
            if self.load.places and self.dice.random() < 0.1:
                end = ANNEX
            lines.append({'sku': sku, 'from': start, 'to': end, 'qty': self.dice.randint(1, 60)})
        sent = {'movement_id': id_, 'kind': 'transfer', 'lines': lines}
        if self.call('transfer', id_, sent) == 201 and self.repeated():
            self.call('transfer', id_, sent)

    def arrival(self, id_):
        lines = [{'sku': sku, 'from': ORDERED, 'to': self.dice.choice((ANNEX, *LOCATIONS)), 'qty': self.dice.randint(1, 8)}
                 for sku in self.dice.sample(SCARCE, self.dice.randint(1, 3))]
        sent = {'movement_id': id_, 'kind': 'arrival', 'lines': lines}
        if self.call('arrival', id_, sent) == 201 and self.repeated():
            self.call('arrival', id_, sent)

    def promise(self, id_):
        call, kind, sign = self.dice.choice((('receipt', 'receipt', 1), ('adjust', 'adjustment', -1)))
        lines = [{'sku': sku, 'location': ORDERED, 'qty': sign * self.dice.randint(1, 9)}
                 for sku in self.dice.sample(SCARCE, self.dice.randint(1, 3))]
        self.call(call, id_, {'movement_id': id_, 'kind': kind, 'lines': lines})

    def lose(self, id_):
        """Where there are too few, orders lose theirs, and wait for others."""
        kind = self.dice.choice(('count', 'adjustment'))
        lines = [{'sku': sku, 'location': ANNEX, 'short': 'backorder',
                  **({'counted': self.dice.randint(0, 3)} if kind == 'count' else
                     {'qty': -self.dice.randint(1, 4), 'to': ORDERED})}
                 for sku in self.dice.sample(SCARCE, self.dice.randint(1, 3))]
        sent = {'movement_id': id_, 'kind': kind, 'lines': lines}
        if self.call('lose', id_, sent) == 201 and self.repeated():
            self.call('lose', id_, sent)

    def waiting(self, lines):
        """At times some units are not in the house yet, or lie where others wait for them."""
        if not self.load.places or self.dice.random() > 0.25:
            return lines
        return [*lines, {'sku': self.dice.choice(SCARCE), 'location': self.dice.choice((ORDERED, ANNEX)),
                         'qty': self.dice.randint(1, 3)}]

    def lines(self, most, units):
        places = self.dice.sample([(sku, at) for sku in SKUS for at in LOCATIONS], self.dice.randint(1, most))
        return [{'sku': sku, 'location': at, 'qty': self.dice.randint(1, units)} for sku, at in places]

    def wanted(self, lines):
        """The lines of an order, and mostly a customer, which other clients serve, too. Without a customer, as a rule,
        an order has no sku with a limit."""
        if self.dice.random() < 0.6:
            somebody = f'{self.load.name}-{self.count // ORDERS_EACH}-{self.dice.randrange(AT_A_TIME)}'
            return {'lines': lines, 'customer': somebody}
        return {'lines': [line for line in lines if line['sku'] not in LIMITS] or lines}

    def order(self):
        self.count += 1
        id_, chance = f'{self.load.name}-{self.number}-{self.count}', self.dice.random()
        if self.load.wide and chance > 0.85:
            self.many(id_)
        elif self.load.wide and chance > 0.82:
            self.movement(id_, 'count' if chance > 0.845 else 'return')
        elif chance < 0.04:
            self.call('receipt', id_, {'movement_id': id_, 'kind': 'receipt', 'lines': self.lines(6, 50)})
        elif chance < 0.06:
            lines = [dict(line, qty=-line['qty']) for line in self.lines(2, 3)]
            self.call('adjust', id_, {'movement_id': id_, 'kind': 'adjustment', 'lines': lines})
        elif chance < 0.08:
            self.transfer(id_)
        elif self.load.places and chance < 0.14:
            self.dice.choice((self.arrival, self.arrival, self.lose, self.promise))(id_)
        else:
            self.reserve(id_)

    def reserve(self, id_):
        may_expire = self.dice.random() < self.load.expire
        sent = {'order_id': id_, **self.wanted(self.waiting(self.lines(self.load.lines, 3))),
                'ttl_s': self.dice.randint(1, 3) if may_expire else LONG_TTL_S}
        confirmed = self.dice.random() < 0.2
        if confirmed:
            sent, may_expire = {**sent, 'confirm': True}, False
        if self.call('reserve', id_, sent, may_expire) != 201:
            return
        chance, lines = self.dice.random(), sent['lines']
        if chance < 0.1:
            if self.load.repeats:
                self.call('reserve', id_, sent, may_expire)
        elif chance < 0.25:
            self.replace(id_, sent, confirmed)
        elif chance < 0.5:
            self.split(id_, lines, may_expire, confirmed)
        else:
            self.finish(id_)

    def finish(self, id_):
        chance = self.dice.random()
        if chance < 0.3:
            self.call('release', id_, {})
        elif chance < 0.4:
            self.call('extend', id_, {'ttl_s': LONG_TTL_S})
        elif chance < 0.9 and self.call('confirm', id_, {}) == 200:
            chance = self.dice.random()
            if chance < 0.1:
                self.call('release', id_, {})
            elif chance < 0.5:
                self.settle(id_, {'force': True} if chance < 0.2 else {})

    def settle(self, id_, sent):
        if self.call('settle', id_, sent) == 200:
            self.has_left(id_, self.answer['lines'])

    def has_left(self, id_, lines):
        """Brings units back of orders that have left, perhaps of another client's, perhaps more than are left of it."""
        self.load.settled = self.load.settled[-20:] + [(id_, lines)]
        for _ in range(self.dice.randint(0, 3)):
            of, had = self.dice.choice(self.load.settled[-6:])
            lines = [{'sku': line['sku'], 'location': self.dice.choice(LOCATIONS),
                      'qty': self.dice.randint(1, line['qty'] + (self.dice.random() < 0.2))}
                     for line in self.dice.sample(had, self.dice.randint(1, len(had)))]
            self.backs += 1
            new = f'{self.load.name}-{self.number}-b{self.backs}'
            sent = {'movement_id': new, 'kind': 'return', 'order_id': of, 'lines': lines}
            if self.call('return', new, sent, other=of) == 201 and self.repeated():
                self.call('return', new, sent, other=of)

    def replace(self, id_, first, confirmed):
        """Some lines stay, with more or fewer units; others are new, and perhaps the customer. Perhaps the new order is
        replaced again. A confirmed order may be settled meanwhile."""
        old, lines, links = id_, first['lines'], self.dice.randint(1, 2)
        for link in range(links):
            stay = {(line['sku'], line['location']): self.dice.randint(1, 4)
                    for line in lines if self.dice.random() < 0.7}
            stay.update({(line['sku'], line['location']): line['qty'] for line in self.waiting(self.lines(1, 3))})
            lines = [{'sku': sku, 'location': at, 'qty': qty} for (sku, at), qty in stay.items()]
            new = f'{id_}-r{link}'
            sent = {'order_id': new, **self.wanted(lines), 'ttl_s': LONG_TTL_S, 'replaces': old}
            if 'customer' in first and self.dice.random() < 0.8:
                sent = {**sent, 'lines': lines, 'customer': first['customer']}
            lines = sent['lines']
            confirmed = confirmed or self.dice.random() < 0.2
            if confirmed:
                sent['confirm'] = True
            status = self.call('reserve', new, sent, other=old)
            if status != 201:
                return
            if self.repeated() and self.call('reserve', new, sent, other=old) != 200:
                return
            old = new
        self.finish(old)

    def repeated(self):
        return self.load.repeats and self.dice.random() < 0.2

    def now(self, id_):
        """Reads the lines of an order again: its units may be elsewhere by now."""
        status, _, answer = self.connection.call('GET', f'/v1/reservations/{id_}')
        return answer['lines'] if status == 200 else []

    def split(self, id_, lines, may_expire, confirmed):
        """Up to two parts leave the order; then each goes its way, and what is left, too."""
        if any(line['location'] in (ORDERED, ANNEX) for line in lines):
            lines = self.now(id_)
        settles = ('settle',) if confirmed else ()
        left, parts = {(line['sku'], line['location']): line['qty'] for line in lines}, []
        for link in range(self.dice.randint(1, 2)):
            taken = {place: self.dice.randint(1, qty) for place, qty in left.items() if self.dice.random() < 0.6}
            if not taken or taken == left:
                break
            new, then = f'{id_}-p{link}', self.dice.choice((None, None, 'confirm', 'release', *settles))
            sent = {'order_id': new, 'lines': [{'sku': sku, 'location': at, 'qty': qty}
                                               for (sku, at), qty in taken.items()]}
            if then:
                sent['then'] = then
            if then == 'settle':
                sent['force'] = True
            if self.call('split', new, sent, may_expire, other=id_) != 201:
                return
            if self.repeated() and self.call('split', new, sent, may_expire, other=id_) != 200:
                return
            left = {place: qty - taken.get(place, 0) for place, qty in left.items() if qty > taken.get(place, 0)}
            if then == 'settle':
                self.has_left(new, sent['lines'])
            parts.append(new)
        for part in [*parts, id_]:
            self.finish(part)


class Load:
    """Some clients, for as long as the block lasts."""

    def __init__(self, services, journal, seed, name='L', clients=16, lines=4, expire=0.0, pause_s=0.0, jumps=False, repeats=True,
                 wide=False, places=True):
        self.services, self.journal, self.seed, self.name = services, journal, seed, name
        self.lines, self.expire, self.pause_s, self.jumps = lines, expire, pause_s, jumps
        self.repeats = repeats           # false: what is repeated may have been purged, and its id is new again
        self.wide = wide                 # also calls with many orders, returns and counts
        self.places = places             # some orders wait for units that are still to come
        self.ending = threading.Event()
        self.settled = []                # orders that left lately, with their lines
        self.answered = 0                # acknowledged or refused, not 503: the sign of progress
        self.clients = [Client(self, i) for i in range(clients)]

    def moment(self, status):
        if status and status != 503:
            self.answered += 1

    def progress(self, calls, within_s):
        """Waits until that many more calls were answered. False: they were not."""
        goal, began = self.answered + calls, time.monotonic()
        while self.answered < goal and not patience.is_over(began, within_s):
            time.sleep(0.005)
        return self.answered >= goal

    def __enter__(self):
        for client in self.clients:
            client.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        for client in self.clients:
            client.join(patience.scaled(ANSWER_S + PATIENCE_S))


def stock(load, units):
    """The places, a receipt for every sku and place, and the limits, before the clients begin. ANNEX has little."""
    lines = [{'sku': sku, 'location': at, 'qty': min(units, 5) if at == ANNEX else units}
             for sku in SKUS for at in (*LOCATIONS, ASIDE, ORDERED, ANNEX)]
    id_ = f'{load.name}-stock'
    client = Client(load, 'stock')
    done = all([client.call('location', at, what) in (200, 201) for at, what in (
        (ASIDE, {'kind': 'aside'}), (ORDERED, {'kind': 'incoming'}), (ANNEX, {'waits_at': ORDERED}))])
    done = client.call('receipt', id_, {'movement_id': id_, 'kind': 'receipt', 'lines': lines}) == 201 and done
    for sku, limit in LIMITS.items():
        done = client.call('limit', sku, {'per_customer': limit}) == 200 and done
    client.connection.close()
    return done


def supply(services, journal, units):
    """Receives as many units as orders may wait for. True: they were received, and go to the queue."""
    client = Client(Load(services, journal, '', name=f'S{time.monotonic_ns()}', clients=0), 'supply')
    sent = {'movement_id': client.load.name, 'kind': 'receipt',
            'lines': [{'sku': sku, 'location': ANNEX, 'qty': units} for sku in SKUS]}
    status = client.call('receipt', client.load.name, sent)
    client.connection.close()
    return status == 201


def resolve(services, journal, seed, within_s=6 * PATIENCE_S):
    """Repeats every call without an answer until it has one. How many there were."""
    load = Load(services, journal, seed, name='R', clients=0)
    client = Client(load, 'resolve')
    calls = list(journal.open_calls.values())
    began = time.monotonic()
    for entry in calls:
        while (entry['call'], entry['id']) in journal.open_calls and not patience.is_over(began, within_s):
            try:
                client.call(entry['call'], entry['id'], entry['sent'], entry['may_expire'], entry['other'])
            except NotConnected:
                time.sleep(0.05)
    client.connection.close()
    return len(calls)
