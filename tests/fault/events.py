"""Listeners to changes while everything breaks: readers that follow the feed, and a receiver of webhooks; and the sums
that are made of what they heard."""
import base64
import collections
import hashlib
import hmac
import http.client
import http.server
import json
import random
import socket
import subprocess
import threading
import time

import check
import clients
import patience
from stage import Program

WAIT_S, LIMIT_MAX = 2, 100
SIGNED_S = 300                          # how far a timestamp may be from now


class Heard:
    """The events that came to one listener, in their order."""

    def __init__(self, name):
        self.name, self.events, self.lock = name, [], threading.Lock()

    def hear(self, events):
        with self.lock:
            self.events.extend(events)

    def ids(self):
        return [event['id'] for event in self.events]


class Reader(Heard):
    """Follows the feed over HTTP, from one service to the other; a page without an answer is asked for again."""

    def __init__(self, services, name, cursor=None, seed=''):
        super().__init__(name)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.connection, self.cursor, self.ending = clients.Connection(services), cursor, threading.Event()
        self.dice, self.wrong, self.last_page = random.Random(f'{seed}/{name}'), None, []

    def page(self):
        """False: there was none."""
        after = f'&after={self.cursor}' if self.cursor else ''
        limit = self.dice.randint(1, LIMIT_MAX)
        status, _, answer = self.connection.call('GET', f'/v1/events?limit={limit}&wait_s={WAIT_S}{after}')
        if status == 200:
            with self.lock:
                self.events.extend(answer['items'])
                self.last_page = answer['items']
                self.cursor = answer['next_cursor']
        elif status not in (None, 503):
            self.wrong = f'{self.name}: answered {status} {answer}'
        return status == 200

    def run(self):
        while not self.ending.is_set() and not self.wrong:
            try:
                if not self.page():
                    time.sleep(0.05)
            except clients.NotConnected:
                time.sleep(0.05)
        self.connection.close()

    def start(self):
        self.thread.start()

    def place(self):
        """(cursor, how many events stand before it)."""
        with self.lock:
            return self.cursor, len(self.events)

    def end(self):
        self.ending.set()
        if self.thread.is_alive():
            self.thread.join(patience.scaled(clients.ANSWER_S + WAIT_S))


class Follower(Program):
    """`holdfast events --follow`, which goes on with its own cursor after SIGTERM."""

    wrong = None

    def __init__(self, stage, name, cursor=None):
        super().__init__(stage, name, [])
        self.cursor, self.lines = cursor, f'{stage.run.folder}/{name}.lines'

    def start(self):
        words = [self.stage.program, 'events', '--follow', '--db', self.stage.url]
        with open(self.lines, 'ab') as lines, open(self.log, 'ab') as log:
            self.process = subprocess.Popen([*words, *(['--after', self.cursor] if self.cursor else [])],
                                            stdin=subprocess.DEVNULL, stdout=lines, stderr=log,
                                            preexec_fn=self.prepare)

    def restart(self):
        self.terminate()
        with open(self.log, encoding='utf-8') as log:
            self.cursor = log.read().split()[-1]
        self.start()

    @property
    def events(self):
        with open(self.lines, encoding='utf-8') as lines:
            return [json.loads(line) for line in lines if line.endswith('\n')]

    def ids(self):
        return [event['id'] for event in self.events]


class Hook:
    """A webhook and what came for it."""

    def __init__(self, name, secret):
        self.name, self.key = name, base64.b64decode(secret.removeprefix('whsec_'))
        self.heard, self.bodies, self.deliveries, self.wrong = Heard(name), {}, 0, None

    def deliver(self, headers, body):
        """By the letter of Standard Webhooks 1.0."""
        id_, at = headers.get('webhook-id', ''), headers.get('webhook-timestamp', '0')
        signed = hmac.new(self.key, f'{id_}.{at}.'.encode() + body, hashlib.sha256).digest()
        self.deliveries += 1
        if f'v1,{base64.b64encode(signed).decode()}' not in headers.get('webhook-signature', '').split(' '):
            self.wrong = f'{self.name}: {id_} has a wrong signature'
        elif abs(time.time() - int(at)) > SIGNED_S:
            self.wrong = f'{self.name}: {id_} was signed at {at}'
        elif json.loads(body)['id'] != id_:
            self.wrong = f'{self.name}: {id_} has the body of {json.loads(body)["id"]}'
        elif self.bodies.setdefault(id_, hash(body)) != hash(body):
            self.wrong = f'{self.name}: {id_} came with two bodies'


class Receiver(http.server.ThreadingHTTPServer):
    """Answers well most of the time; otherwise 500, or much too late, or dies before or after it has taken the event."""

    daemon_threads, allow_reuse_address, request_queue_size = True, True, 128

    def __init__(self, seed, hang_s=20):
        super().__init__(('127.0.0.1', 0), Delivery)
        self.hooks, self.dice, self.lock, self.hang_s = {}, random.Random(f'{seed}/receiver'), threading.Lock(), hang_s
        self.failures, self.well = collections.Counter(), False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self, name):
        return f'http://127.0.0.1:{self.server_address[1]}/{name}'

    def mood(self):
        with self.lock:
            chance = 1.0 if self.well else self.dice.random()
            mood = '500' if chance < 0.01 else 'hangs' if chance < 0.0105 else 'dies' if chance < 0.015 else \
                'dies late' if chance < 0.02 else 'answers'
            self.failures[mood] += 1
        return mood

    def end(self):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        pass


class Delivery(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = 'HTTP/1.1', True

    def do_POST(self):
        hook = self.server.hooks[self.path[1:]]
        body = self.rfile.read(int(self.headers['content-length']))
        mood = self.server.mood()
        if mood == 'hangs':
            time.sleep(self.server.hang_s)
        if mood in ('answers', 'dies late'):
            with self.server.lock:
                if self.headers['webhook-id'] not in hook.bodies:
                    hook.heard.hear([json.loads(body)])
                hook.deliver(self.headers, body)
        if mood.startswith('dies'):
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        self.send_response(500 if mood == '500' else 204)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *_):
        pass


# ---- sums

# each type of event: the states before it, and the state after it; None: there was no order, '=': the same
RULES = {
    'held': ({None}, 'held'),
    'extended': ({'held'}, 'held'),
    'confirmed': ({'held', 'expired'}, 'confirmed'),
    'released': ({'held', 'confirmed', 'buried'}, 'released'),
    'replaced': ({'held', 'confirmed'}, 'released'),
    'expired': ({'held'}, 'expired'),
    'settled': ({'confirmed', 'buried'}, 'settled'),
    'buried': ({'confirmed'}, 'buried'),
    'kicked': ({'buried'}, 'confirmed'),
    'split': ({None, 'held', 'confirmed', 'buried'}, '='),
    'arrived': ({'held', 'confirmed', 'buried'}, '='),
    'backordered': ({'held', 'confirmed', 'buried'}, '='),
    'changed': ({'held', 'confirmed'}, '='),
    'on_hold': ({'held', 'confirmed', 'buried'}, '='),
    'off_hold': ({'held', 'confirmed', 'buried'}, '='),
}
KINDS = {'receipt', 'adjustment', 'return', 'count', 'transfer', 'arrival'}


def stamp_of(event):
    writer, stamp, place = event['id'].split('-')
    return int(stamp, 16), int(writer), int(place)


def lines_of(data):
    return {(line['sku'], line['location']): line['qty'] for line in data['lines']}


def by_sku(lines):
    units = collections.Counter()
    for (sku, _), qty in lines.items():
        units[sku] += qty
    return units


class Order:
    def __init__(self):
        self.state, self.lines, self.before, self.stamp, self.expires_at = None, {}, {}, (0, 0, 0), None
        self.states, self.types = set(), collections.Counter()


class Story:
    """The story that events tell, one after the other. Each event must follow from those before it; merged: of whatever
    order they are."""

    def __init__(self, events, merged=True):
        self.merged = merged
        self.orders, self.movements = collections.defaultdict(Order), {}
        self.settlements, self.troubles, self.seen, self.last = collections.Counter(), [], set(), None
        for event in events:
            if event['id'] in self.seen:
                self.disagree(event, 'comes twice')
            self.seen.add(event['id'])
            noun, what = event['type'].split('.')
            if noun in ('reservation', 'movement'):
                getattr(self, noun)(event, what, event['data'])
            self.last = event

    def disagree(self, event, text):
        data = event['data']
        self.troubles.append(f'{event["id"]} {event["type"]} of {data.get("order_id") or data.get("movement_id")} '
                             f'{data.get("state", "")} {text}')

    def movement(self, event, what, data):
        if what == 'settlement':
            for place, qty in lines_of(data).items():
                self.settlements[(check.settled_by(data['movement_id'], data['reference']), *place)] -= qty
        elif data['movement_id'] in self.movements or what not in KINDS:
            self.disagree(event, 'is not the only one')
        else:
            self.movements[data['movement_id']] = check.summed(data['lines'])

    def reservation(self, event, what, data):
        order, lines = self.orders[data['order_id']], lines_of(data)
        before, after = RULES[what]
        if order.state not in before:
            self.disagree(event, f'comes behind {order.state}')
        if data['state'] != (order.state or data['state'] if after == '=' else after):
            self.disagree(event, f'comes behind {order.state}, too')
        if stamp_of(event) <= order.stamp:
            self.disagree(event, f'comes behind {order.stamp}')
        if order.state == 'held' and what not in ('extended', 'changed') and data['expires_at'] != order.expires_at:
            self.disagree(event, f'expires at {data["expires_at"]}, before it was {order.expires_at}')
        if what == 'split' and order.state is None:
            if self.merged:
                self.parted(event, data, lines)
        elif what in ('arrived', 'backordered') and by_sku(lines) != by_sku(order.lines):
            self.disagree(event, f'has {lines}, before it had {order.lines}')
        elif what == 'changed' and order.state and lines_of({'lines': data['lines_before']}) != order.lines:
            self.disagree(event, f'had {data["lines_before"]}, before it had {order.lines}')
        elif order.state and what not in ('split', 'arrived', 'backordered', 'changed') and lines != order.lines:
            self.disagree(event, f'has {lines}, before it had {order.lines}')
        order.before, order.state, order.lines, order.stamp = order.lines, data['state'], lines, stamp_of(event)
        order.expires_at = data['expires_at']
        order.states.add(order.state)
        order.types[what] += 1

    def parted(self, event, data, lines):
        """The new part comes right behind its first, which has these lines less."""
        first = self.orders[data['cause']]
        left = collections.Counter(first.before)
        left.subtract(lines)
        if not self.last or self.last['data'].get('cause') != data['order_id'] or \
                stamp_of(self.last)[:2] != stamp_of(event)[:2]:
            self.disagree(event, 'does not come behind its first')
        elif {place: qty for place, qty in left.items() if qty} != first.lines:
            self.disagree(event, f'leaves {first.lines} of {first.before}')


CONFIRMS = {'confirm': lambda sent: True, 'reserve': lambda sent: sent.get('confirm'),
            'split': lambda sent: sent.get('then') == 'confirm'}


def check_acknowledged(story, journal_path):
    """Every acknowledged call is in the story. What it has become is in the tables, and they are compared."""
    tries, acknowledged = collections.Counter(), collections.Counter()
    with open(journal_path, encoding='utf-8') as journal:
        for text in journal:
            entry = json.loads(text)
            call, id_, status = entry['call'], entry['id'], entry['status']
            done = status in (200, 201) or status == 409 and entry['replayed']  # the order has ended since
            order = story.orders.get(id_)
            if call in ('reserve', 'split', 'confirm', 'release', 'extend', 'settle') and done and order is None:
                yield f'{call} {id_} was acknowledged, and no event tells'
            elif done and call in CONFIRMS and CONFIRMS[call](entry['sent']) and 'confirmed' not in order.states:
                yield f'{call} {id_} was acknowledged, and no event tells that it was confirmed'
            elif call == 'extend':
                tries[id_] += 1
                acknowledged[id_] += done
    for id_, count in tries.items():
        told = story.orders[id_].types['extended'] if id_ in story.orders else 0
        if not acknowledged[id_] <= told <= count:
            yield f'{id_}: {count} extensions, {acknowledged[id_]} acknowledged, {told} events'


def check_tables(story, tables):
    """The story ends with what the tables have."""
    for id_ in story.orders.keys() | tables.states.keys():
        order = story.orders.get(id_, Order())
        if order.state != tables.states.get(id_) or order.lines != tables.orders.get(id_):
            yield f'{id_}: by the events {order.state} {order.lines}, ' \
                  f'is {tables.states.get(id_)} {tables.orders.get(id_)}'
    if story.movements != tables.movements:
        yield f'movements differ: {sorted(story.movements.keys() ^ tables.movements.keys())[:3]}'
    if dict(story.settlements) != tables.settlements:
        yield 'settlements differ'


NOT_TOLD = '0127'       # begins a row that says what an arrival has left over: only the watch of levels reads it


def check_rows(story, rows):
    """Each row of the log was read, from its first place on, and nothing else."""
    places = collections.defaultdict(set)
    for id_ in story.seen:
        writer, stamp, place = id_.split('-')
        places[writer, int(stamp, 16)].add(int(place))
    wanted = {(writer, int(stamp)) for writer, stamp in rows}
    for row in wanted ^ places.keys():
        yield f'row {row}: ' + ('was not read' if row in wanted else 'is not there')
    for row, there in places.items():
        if there != set(range(len(there))):
            yield f'row {row}: has {sorted(there)}'


def check_story(story, stage, tables):
    """The story follows from itself, and agrees with the journal, the tables and the rows of the log."""
    rows = stage.database.sql(f"SELECT writer_id, stamp FROM event WHERE LEFT(changes, 2) <> X'{NOT_TOLD}'")
    return [*story.troubles, *check_acknowledged(story, stage.journal.path), *check_tables(story, tables),
            *check_rows(story, rows)]


def check_heard(heard, wanted):
    """A listener has heard all that was wanted, once, and in a right order."""
    ids = heard.ids()
    if len(ids) != len(set(ids)):
        yield f'{heard.name} has heard {len(ids) - len(set(ids))} events twice'
    for what, some in (('that never were', set(ids) - wanted), ('too few', wanted - set(ids))):
        if some:
            yield f'{heard.name} has heard {len(some)} events {what}: {sorted(some)[:3]}'
