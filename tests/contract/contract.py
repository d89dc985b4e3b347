#!/usr/bin/python3
"""Holds the service against its contract, api/openapi.yaml, with requests made from the contract itself.

Starts the program on a scratch folder. In each round every operation is called with valid requests, and then with one
valid request broken in each place and way that the schemas allow to be told: bodies, query, path, headers, method. No
answer may have a status from 500 up; every answer must be documented for its operation, with its headers, its schema
and no member beyond it; a valid request must not be called malformed, and a broken one must be refused as such. The
same seed makes the same requests. At the end the program must stop with 0, and `holdfast audit` must find nothing.

    contract.py --holdfast build/holdfast [--seed N] [--rounds N | --seconds S]

Ends 0 if all agrees, 1 if not, 69 if the service does not start. Needs python3-yaml and python3-jsonschema.
"""
import argparse
import collections
import http.client
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / 'kit'))
import document   # noqa: E402  (beside this file)
import values     # noqa: E402
from child import end_with_us   # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BODY_MAX = 6_000_000
VALID_CALLS = 12                    # of each operation and round
START_S, STOP_S, ANSWER_S, REAP_S = 120, 60, 45, 30     # a reader of the feed may wait 30 s
TROUBLES_MAX, TOLD_BYTES = 20, 400
# Where chance has not met an answer, its call is made again, beside those that make what other calls are about.
BROKEN = {'400', '404', '405', '413', '415', '304'}     # the aim of broken requests, behind that
PASSES, MAKERS = 8, {'postReservation', 'confirmReservation', 'putJob', 'claimTask', 'makeWebhook'}
ROUNDS_FOR_ALL = 5                  # after so many every documented answer must have been seen
# Without keys, with a database that stays, and with little load, no call is told these.
NOT_HERE = {'401', '403', '429', '503'}
# Nor what is told where no events are kept, or no longer.
NO_EVENTS = {'makeWebhook 409', 'enableWebhook 409', 'listEvents 409', 'listEvents 410'}
# Nor of a secret that was sealed for another process.
SEALED = {'pingWebhook 409'}
JSON = ('Content-Type', 'application/json')
NOBODY = 'nobody'                   # an order that is never made


class Service:
    """The program on a folder of its own; its log stays beside it until the end."""

    def __init__(self, program, folder):
        self.program, self.data, self.log = program, f'{folder}/data', open(f'{folder}/log', 'w+b')
        self.process = subprocess.Popen(
            [program, 'serve', '--data', self.data, '--listen', '127.0.0.1:0', '--jobs=reap',
             '--max-body', str(BODY_MAX)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=end_with_us)
        self.address, self.listening = None, threading.Event()
        threading.Thread(target=self.read_log, daemon=True).start()
        if not self.listening.wait(START_S) or not self.address:
            self.process.kill()
            print(f'contract: {program} does not start\n{self.last_words()}')
            sys.exit(69)

    def read_log(self):
        for line in self.process.stderr:
            self.log.write(line)
            found = re.search(rb'event=listening address=(\S+)', line)
            if found:
                self.address = found[1].decode()
                self.listening.set()
        self.listening.set()

    def last_words(self):
        self.log.flush()
        self.log.seek(0)
        return self.log.read()[-3000:].decode(errors='replace')

    def stop(self):
        """The fault in the end of the service, or None."""
        self.process.terminate()
        try:
            status = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = 'none in time'
        if status != 0:
            return f'the service ended with {status}\n{self.last_words()}'
        audit = subprocess.run([self.program, 'audit', '--data', self.data], capture_output=True, text=True)
        return None if audit.returncode == 0 else f'audit: {audit.stdout}{audit.stderr}'


Request = collections.namedtuple('Request', 'method target headers body')


class Answer:
    def __init__(self, request, raw):
        self.status, self.headers, self.body = raw.status, raw.headers, raw.read()
        self.head = request.method == 'HEAD'

    def json(self):
        def members(pairs):
            if len(dict(pairs)) != len(pairs):
                raise ValueError('a member stands there twice')
            return dict(pairs)

        def refuse(text):
            raise ValueError(f'{text} is no integer')
        return json.loads(self.body.decode(), object_pairs_hook=members, parse_float=refuse, parse_constant=refuse)


class Client:
    def __init__(self, address):
        self.connection = http.client.HTTPConnection(address, timeout=ANSWER_S)

    def call(self, request):
        c = self.connection
        c.putrequest(request.method, request.target, skip_accept_encoding=True)
        for name, value in request.headers:
            c.putheader(name, value)
        if request.body is not None:
            c.putheader('Content-Length', str(len(request.body)))
        c.endheaders(request.body)
        return Answer(request, c.getresponse())


class NoAnswer(Exception):
    pass


class Contract:
    def __init__(self, doc, client, seed):
        self.document, self.client = doc, client
        self.chance = random.Random(seed)
        self.maker = values.Maker(doc, self.chance, self.known)
        self.orders, self.movements, self.tasks, self.claimed, self.cursors = ['R0'], ['M0'], [], [], []
        self.count, self.makes_new, self.of_tasks, self.splits = 0, False, False, False
        self.named, self.first, self.lines, self.buried, self.settled = None, NOBODY, {}, [], []
        self.calls, self.troubles, self.seen = 0, [], collections.Counter()

    # ---- values that mean something to the service

    def an_id(self, prefix, ids):
        """A new one where a call makes something, most of the time; otherwise one that was made."""
        if self.makes_new and self.chance.random() < .8:
            self.count += 1
            return f'{prefix}{self.count}'
        return self.chance.choice(ids[-20:])

    def an_order(self):
        if self.of_tasks and self.claimed:
            return self.chance.choice(self.claimed)
        if not self.makes_new and self.buried and self.chance.random() < .2:
            return self.chance.choice(self.buried[-5:])
        self.named = self.an_id('R', self.orders)
        return self.named

    def another_order(self):
        """One that is there, and not the one just named: none replaces itself, or is split into itself."""
        return self.chance.choice([order for order in self.orders[-20:] if order != self.named] or [NOBODY])

    def part_of_another(self):
        """Some units of the order to be split; its id goes into the path."""
        if not self.splits:
            return None
        self.first = self.another_order()
        return [{**line, 'qty': 1} for line in self.lines.get(self.first, [])[:1]]

    def a_limited(self):
        """A sku that may have a limit."""
        return f'L{self.chance.randint(1, 3)}'

    def known(self, name):
        choice, few = self.chance.choice, self.chance.randint(1, 5)
        makers = {
            'sku': lambda: choice(('A', 'A', 'A', 'B', 'C D/1', '#1 50%?', self.a_limited())), 'skus': lambda: choice('AB'),
            'location': lambda: choice(('main', 'main', 'annex')), 'locations': lambda: choice(('main', 'annex', 'moon')),
            'qty': lambda: choice((few, few, -few)),
            'counted': lambda: choice((few * 10, 0)), 'expected': lambda: few * 10, 'low': lambda: few * 10,
            'as_of': lambda: time.strftime('%FT%TZ', time.gmtime(time.time() - few)),
            'worker': lambda: 'w',
            'order_id': self.an_order, 'order_ids': lambda: choice(self.of_tasks and self.claimed or self.orders[-20:]),
            'limit': lambda: few, 'replaces': self.another_order, 'lines': self.part_of_another,
            'movement_id': lambda: self.an_id('M', self.movements),
            'job': lambda: choice(('settle', 'expire', 'deliver')), 'paused': lambda: choice((False, False, False, True)),
            'task_id': lambda: choice(self.tasks[:1] + self.tasks[-3:]),
            'webhook_id': lambda: f'W{few}', 'url': lambda: choice(('https://a.example/', 'https://b.example/hook?x=1')),
            'from': lambda: choice(('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123+01:00')),
            'after': lambda: choice(self.cursors[-5:] + ['now', '2026-01-01T00:00:00Z']),
            'wait_s': lambda: choice((0, 0, 1)), 'types': lambda: choice(('reservation.held', 'stock.out,movement.receipt')),
            'file': lambda: choice(('index.html', 'console.css', 'main.js', 'uplot.LICENSE', 'none')),
            'ttl_s': lambda: choice((1, 900)), 'lease_s': lambda: choice((1, 30)),
        }
        return makers[name]() if name in makers else None

    def remember(self, request, answer):
        """The ids of what was made, for later calls."""
        made = answer.json() if answer.status == 201 or answer.status == 200 and b'"results"' in answer.body else {}
        if answer.status == 200 and b'"more"' in answer.body[-20:] and b'"next_cursor"' in answer.body:
            self.cursors.append(answer.json()['next_cursor'])
        for one in made.get('results', [made]):
            if one.get('state') in ('held', 'confirmed'):
                self.orders.append(one['order_id'])
                self.lines[one['order_id']] = one['lines']
            if one.get('state') == 'settled':
                self.settled.append(one['order_id'])
        if 'movement_id' in made:
            self.movements.append(made['movement_id'])
        if 'task_id' in made:
            self.tasks.append(made['task_id'])
            self.claimed = [order['order_id'] for order in made['orders']]
            self.orders += self.claimed

    # ---- requests

    def target(self, operation, path=None, query=None):
        """With some values of the path's parameters and the query's replaced; raw text in a query is values.Raw."""
        target, pairs = operation.path, []
        for p in operation.parameters:
            name = p['name']
            if p['in'] == 'path':
                value = (path or {}).get(name, None)
                if value is None and operation.name == 'splitReservation':
                    value = self.first if self.chance.random() < .9 else NOBODY
                if value is None and operation.name == 'putSku':
                    self.count += 1
                    value = self.a_limited() if self.chance.random() < .7 else f'L{self.count}'
                if value is None and operation.name == 'kickReservation' and self.buried:
                    value = self.chance.choice(self.buried[-5:] + self.orders[-2:])
                value = self.maker.valid(p['schema'], name) if value is None else value
                target = target.replace('{%s}' % name, urllib.parse.quote(str(value), safe=''))
            elif p['in'] == 'query' and query is None and name != 'cursor' and self.chance.random() < .5:
                told = name in ('after', 'types')       # no schema can say what is right here
                pairs.append((name, self.known(name) if told else self.maker.valid(p['schema'], name)))
        pairs = self.together(operation, pairs) if query is None else query
        return target + ('?' if pairs else '') + '&'.join(
            value if isinstance(value, values.Raw) else f'{name}={urllib.parse.quote(str(value), safe="")}'
            for name, value in pairs)

    def together(self, operation, pairs):
        """Where the contract says in words alone which parameters of a query go together."""
        names = dict(pairs)
        if operation.name == 'listReservations' and names.keys() & set(self.FILTERS):
            return self.one_filter(names)
        if 'sku' not in names:
            names.pop('location', None)
        elif names.get('state', 'held') not in ('held', 'confirmed', 'buried'):
            names.pop('state')
        if 'error' in names:
            names['state'] = 'buried'
        if 'q' in names:
            for name in ('prefix', 'barcode'):
                names.pop(name, None)
        if 'on_hold' in names:
            for name in ('sku', 'location', 'error'):
                names.pop(name, None)
            if names.get('state', 'held') not in ('held', 'confirmed', 'buried'):
                names.pop('state')
        return list(names.items())

    FILTERS = ('customer', 'reference', 'customer_prefix', 'reference_prefix', 'prefix',
               'created_after', 'created_before')

    def one_filter(self, names):
        """One of the filters of orders, with a state where it may have one."""
        kept = {name: names[name] for name in ('limit',) if name in names}
        name = next(name for name in self.FILTERS if name in names)
        if name.startswith('created'):
            kept |= {'created_after': '2026-01-01T00:00:00Z', 'created_before': '2100-01-01T00:00:00+01:00'}
        else:
            kept[name] = names[name]
        if name.startswith(('customer', 'reference')) and 'state' in names:
            kept['state'] = names['state']
        return list(kept.items())

    def request(self, operation, body=None, **parts):
        raw = values.dump(body).encode() if body is not None else None
        return Request(operation.method, self.target(operation, **parts), [JSON] if raw else [], raw)

    def body(self, operation):
        """A valid body, or None where there is none to be sent."""
        if not operation.body or (not operation.body.get('required') and self.chance.random() < .2):
            return None
        return self.made(operation)

    def made(self, operation):
        """A value of the body's schema."""
        self.splits, self.of_tasks = operation.name == 'splitReservation', operation.path.startswith('/v1/tasks/')
        self.makes_new = self.splits or '{' not in operation.path
        self.first = NOBODY
        value = self.maker.valid(self.schema(operation))
        if self.splits and value.get('order_id') == self.first:     # whichever was made first did not know the other
            self.count += 1
            value['order_id'] = f'R{self.count}'
        for one in value.get('reservations', [value]):
            if 'replaces' in one and one['replaces'] == one.get('order_id'):
                one['replaces'] = NOBODY
        if value.get('atomic'):                 # no order is named twice
            self.once(value)
        self.makes_new = self.of_tasks = self.splits = False
        if value.get('skip'):
            value.pop('from', None)             # the two do not go together
        if operation.name == 'putThreshold' and 'location' in value and self.chance.random() < .3:
            value['location'] = 'attic'         # of a kind that has no threshold
        if operation.name in ('putSku', 'postSkusForSale', 'putLocation') and value.get('for_sale', True):
            value.pop('reason', None)           # it goes with a stop alone
        if value.get('until'):                  # the time lies ahead
            value['until'] = time.strftime('%FT%TZ', time.gmtime(time.time() + 3600))
        value.pop('cursor', None)               # only one that an answer gave is right
        if value.get('kind') == 'return' and 'order_id' in value and self.chance.random() < .9:
            value['order_id'] = self.chance.choice(self.settled[-10:] or self.orders[-20:])
        losing = [line for line in value.get('lines', []) if 'short' in line or 'to' in line and 'from' not in line]
        for line in losing:                     # `to` goes with `short`, and no location has waits_at
            line['short'] = 'backorder'
            if self.chance.random() < .8:
                line['to'] = 'awaited'
            line.setdefault('to', 'nowhere')
        if losing or value.get('kind') == 'count':      # where the schema cannot say that each stands there once
            once = {(line['sku'], line.get('location', 'main')): line for line in value['lines']}
            value['lines'] = list(once.values())
        return value

    @staticmethod
    def once(value):
        """Leaves the items of an atomic call that name no order of an earlier one."""
        for name in ('reservations', 'order_ids'):
            named, kept = set(), []
            for item in value.get(name, []):
                orders = {item} if isinstance(item, str) else {item['order_id'], item.get('replaces', item['order_id'])}
                if not orders & named:
                    kept.append(item)
                    named |= orders
            if name in value:
                value[name] = kept

    @staticmethod
    def schema(operation):
        return operation.body['content']['application/json']['schema']

    # ---- judging

    def trouble(self, operation, what, request, answer, wrong):
        self.troubles.append(f'{operation.name}, {what}: {wrong}\n    {self.told(request)}\n'
                             f'    {answer.status} {dict(answer.headers)} {answer.body[:TOLD_BYTES]!r}')

    @staticmethod
    def told(request):
        body = (request.body or b'')[:TOLD_BYTES]
        return f'{request.method} {request.target[:TOLD_BYTES]} {request.headers} {body!r}'

    def call(self, operation, what, request, expected):
        """`expected` says what is wrong with the answer beyond its form, or None."""
        try:
            answer = self.client.call(request)
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(f'{operation.name}, {what}: {type(error).__name__} {error}\n'
                           f'    {self.told(request)}') from error
        self.calls += 1
        self.seen[operation.name, str(answer.status)] += 1
        wrong = f'{answer.status}' if answer.status >= 500 else self.document.judge(operation, answer)
        wrong = wrong or expected(answer)
        if wrong:
            self.trouble(operation, what, request, answer, wrong)
        return answer

    @staticmethod
    def is_one_of(*statuses):
        return lambda answer: None if answer.status in statuses else f'{answer.status} is not {statuses}'

    @staticmethod
    def is_taken(answer):
        """A valid request is understood; it may still be refused by the state of things."""
        return f'a valid request is {answer.status}' if answer.status in (400, 405, 413, 415) else None

    # ---- valid requests

    def valid(self, operation):
        for _ in range(VALID_CALLS):
            request = self.request(operation, self.body(operation))
            answer = self.call(operation, 'valid', request, self.is_taken)
            self.remember(request, answer)
            if operation.name == 'claimTask' and answer.status == 201:
                self.work_on(answer.json()['task_id'])
            if operation.method in ('POST', 'PUT') and self.chance.random() < .3:
                self.remember(request, self.call(operation, 'again', request, self.is_taken))
            if operation.method == 'GET':
                self.call(operation, 'HEAD', request._replace(method='HEAD'), self.is_one_of(answer.status))
                self.next_page(operation, request, answer)
            if 'ETag' in answer.headers:
                kept = request._replace(headers=[('If-None-Match', f'W/"0", {answer.headers["ETag"]}')])
                self.call(operation, 'kept', kept, self.is_one_of(304))

    def work_on(self, task):
        """Every call about a task while it is open."""
        operations = [o for o in self.document.operations if '{task_id}' in o.path]
        self.chance.shuffle(operations)
        for operation in operations:
            request = self.request(operation, self.body(operation), path={'task_id': task})
            answer = self.call(operation, 'valid', request, self.is_taken)
            if operation.name == 'failTask' and answer.status == 200 and answer.json()['buried']:
                self.buried += self.claimed

    def next_page(self, operation, request, answer):
        if answer.status == 200 and any(p['name'] == 'cursor' for p in operation.parameters):
            cursor = answer.json()['next_cursor']
            if cursor:
                target = f'{request.target}{"&" if "?" in request.target else "?"}cursor={urllib.parse.quote(cursor)}'
                self.call(operation, 'next page', request._replace(target=target), self.is_one_of(200))

    # ---- broken requests

    def broken(self, operation):
        self.broken_method(operation)
        self.broken_path(operation)
        self.broken_query(operation)
        self.request_ids(operation)
        if operation.body:
            self.broken_body(operation)
            self.broken_frame(operation)

    def broken_body(self, operation):
        schema = self.schema(operation)
        value = self.made(operation)
        for what, bad in self.maker.broken(schema, value):
            if '"' in (text := values.dump(bad)) and self.still_valid(schema, text):
                continue
            self.call(operation, what, self.request(operation, bad), self.is_refused)
        for what, raw in self.maker.broken_bytes(values.dump(value if isinstance(value, dict) and value else {'x': 1})):
            self.call(operation, what, self.request(operation)._replace(headers=[JSON], body=raw), self.is_one_of(400))
        if self.document.errors(schema, {}):
            self.call(operation, 'no body', self.request(operation), self.is_one_of(400))

    def still_valid(self, schema, text):
        """Where a broken value fits another way of a oneOf. Text that is not strict JSON never does."""
        try:
            value = json.loads(text, parse_float=lambda text: None, object_pairs_hook=lambda pairs:
                               dict(pairs) if len(dict(pairs)) == len(pairs) else None)
            return not self.document.errors(schema, value)
        except ValueError:
            return False

    @staticmethod
    def is_refused(answer):
        """By 400; an item of a batch call by a 400 of its own."""
        if answer.status == 200 and answer.json().get('results'):
            statuses = [result['status'] for result in answer.json()['results']]
            return None if 400 in statuses else f'the results are {statuses}'
        return None if answer.status == 400 else f'{answer.status} is not 400'

    def broken_frame(self, operation):
        good = self.request(operation, self.made(operation))
        for kind in ('text/plain', 'application/xml', 'application/json5', 'application/problem+json', 'json', '',
                     None):
            headers = [] if kind is None else [('Content-Type', kind)]
            self.call(operation, f'Content-Type {kind}', good._replace(headers=headers), self.is_one_of(415))
        self.call(operation, 'gzip', good._replace(headers=[JSON, ('Content-Encoding', 'gzip')]), self.is_one_of(415))
        self.call(operation, 'too large', good._replace(body=good.body + b' ' * BODY_MAX), self.is_one_of(413))
        for kind in ('application/json; charset=utf-8', 'Application/JSON'):
            self.call(operation, kind, good._replace(headers=[('Content-Type', kind)]), self.is_taken)

    def broken_method(self, operation):
        allowed = self.document.methods[operation.path]

        def says_so(answer):
            told = set(answer.headers.get('Allow', '').split(', '))
            return self.is_one_of(405)(answer) or (None if told == allowed else f'Allow {told} is not {allowed}')
        for method in sorted({'GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'BREW', 'get'} - allowed):
            self.call(operation, method, Request(method, self.target(operation), [], None), says_so)

    def broken_path(self, operation):
        for p in operation.parameters:
            if p['in'] != 'path':
                continue
            schema = self.maker.flat(p['schema'])
            if schema['type'] == 'integer':
                bad = ['x', '-1', '1.0', '1e3', '+1', '01', ' 1', '1 ', '0x1', '9' * 30]
            else:
                bad = [text for text in self.maker.bad_strings(schema, 'abc')
                       if text and not isinstance(text, values.Raw)]
            for value in bad:
                self.call(operation, f'{p["name"]} {value[:20]!r}', self.needing(operation, path={p['name']: value}),
                          self.is_one_of(400))
            for number in (schema['minimum'] - 1, schema['maximum'] + 1) if schema['type'] == 'integer' else ():
                self.call(operation, f'{p["name"]} {number}', self.needing(operation, path={p['name']: number}),
                          self.is_one_of(404))        # a number, only never that of anything
            good = self.needing(operation, path={p['name']: 'PERCENT'})
            self.call(operation, 'a bad escape', good._replace(target=good.target.replace('PERCENT', '%zz')),
                      self.is_one_of(400))

    def broken_query(self, operation):
        known = {'sku': 'A'}                    # a cursor is judged where there is a list
        for p in operation.parameters:
            if p['in'] == 'query':
                for value in self.bad_parameters(p):
                    self.call(operation, f'{p["name"]}={value}',
                              self.needing(operation, path=known, query=[(p['name'], value)]), self.is_one_of(400))
        for raw in ('surprise=1', 'surprise', 'LIMIT=1', '%zz=1', 'limit=%', 'a=%00', 'x=' + 'y' * 2000,
                    '&'.join(f'p{i}' for i in range(20))):
            self.call(operation, raw[:30], self.needing(operation, query=[('', values.Raw(raw))]),
                      self.is_one_of(400))

    def needing(self, operation, **parts):
        """A request with the body that it cannot do without, so that only these parts can be wrong."""
        needed = operation.body and operation.body.get('required')
        return self.request(operation, self.made(operation) if needed else None, **parts)

    def bad_parameters(self, p):
        schema, name = self.maker.flat(p['schema']), p['name']
        if p.get('allowEmptyValue'):
            return [values.Raw(f'{name}&{name}')]
        good = urllib.parse.quote(str(self.maker.valid(schema, name)), safe='')
        bad = ['', values.Raw(name), values.Raw(f'{name}={good}&{name}={good}'), values.Raw(f'{name}={good}%zz')]
        if schema['type'] == 'integer':
            bad += [schema['minimum'] - 1, schema['maximum'] + 1, 'x', '1.0', '1e1', '+1', '01', ' 1', '1 ', '0x1',
                    '9' * 30]
        elif 'pattern' in schema:
            bad += [text for text in self.maker.bad_strings(schema, 'abc')
                    if not isinstance(text, values.Raw) and self.document.errors(schema, text)]
        elif 'enum' in schema:
            bad += [schema['enum'][0].upper(), 'x', schema['enum'][0] + ' ']
        else:
            bad += ['x', 'é', 'x' * 300, 'm.1.1.0.0.00000000', 'r.0.0.0.0.00000000', 's.41.00000000', 't.', 't.-1']
        return bad

    def request_ids(self, operation):
        good = self.needing(operation)
        for sent, comes_back in (('abc 1', True), ('x' * 128, True), ('x' * 129, False), ('é', False)):
            def is_so(answer):
                same = answer.headers['X-Request-Id'] == sent
                return None if same == comes_back else 'the id is not the one expected'
            self.call(operation, f'X-Request-Id {sent[:10]}',
                      good._replace(headers=[*good.headers, ('X-Request-Id', sent.encode('latin-1'))]), is_so)

    def no_such_path(self):
        problem = {'$ref': '#/components/schemas/Problem'}
        for target in ('/console/a/b', '/v1', '/v2/skus', '/v1/skus/', '/v1/skus//movements', '/V1/skus', '//livez', '/livez/',
                       '/v1/reservations/R1/confirm/', '/v1/tasks/1/burn', '/livez%3Fverbose', '/%6Civez',
                       '/v1/skus/a/b'):
            request = Request('GET', target, [], None)
            answer = self.client.call(request)
            self.calls += 1
            wrong = self.is_one_of(404)(answer) or self.document.errors(problem, answer.json())
            if wrong or answer.json()['code'] != 'not_found':
                self.troubles.append(f'{target}: {answer.status} {answer.body[:200]!r}: {wrong}')

    # ---- all of it

    def surroundings(self):
        """Stock for the first orders, and a task that was reaped: it stays the first of the tasks."""
        lines = [{'sku': sku, 'location': location, 'qty': 500} for sku in 'AB' for location in ('main', 'annex')]
        self.make('postMovement', {'movement_id': 'M0', 'kind': 'receipt', 'lines': lines}, 201)
        self.make('putLocation', {'kind': 'aside'}, 201, {'location': 'attic'})
        self.make('putLocation', {'kind': 'incoming'}, 201, {'location': 'awaited'})
        self.make('postReservation', {'order_id': 'R0', 'lines': [{'sku': 'A', 'qty': 1}]}, 201)
        self.make('confirmReservation', {}, 200, {'order_id': 'R0'})
        task = self.make('claimTask', {'kind': 'settle', 'worker': 'w', 'lease_s': 1}, 201).json()['task_id']
        self.tasks, until = [task], time.monotonic() + REAP_S
        while self.make('getTask', None, 200, {'task_id': task}).json()['state'] != 'reaped':
            if time.monotonic() > until:
                raise NoAnswer('a task whose lease ran out is not reaped')
            time.sleep(.2)
        self.rare()

    def rare(self):
        """Makes what chance alone does not meet with every seed: an order that is split twice by one call, one that is
        buried and kicked, kicks and jobs of nothing."""
        self.make('postReservation', {'order_id': 'R00', 'lines': [{'sku': 'A', 'qty': 3}]}, 201)
        for status in (201, 200):
            self.make('splitReservation', {'order_id': 'S00', 'lines': [{'sku': 'A', 'qty': 1}]}, status, {'order_id': 'R00'})
        self.make('confirmReservation', {}, 200, {'order_id': 'S00'})
        task = self.make('claimTask', {'kind': 'settle', 'worker': 'w', 'lease_s': 30}, 201).json()
        failed = [{'order_id': order['order_id'], 'error': 'e', 'retry': False} for order in task['orders']]
        self.make('failTask', {'orders': failed}, 200, {'task_id': task['task_id']})
        for order, status in (('S00', 200), ('R00', 409)):
            self.make('kickReservation', {}, status, {'order_id': order})
        self.make('splitReservation', {'order_id': 'S01', 'lines': [{'sku': 'A', 'qty': 1}]}, 404, {'order_id': NOBODY})
        for operation in self.document.operations:
            if '{order_id}' in operation.path and '404' in operation.raw['responses'] and operation.name != 'splitReservation':
                self.call(operation, 'of nobody', self.needing(operation, path={'order_id': NOBODY}), self.is_one_of(404))
        holders = next(o for o in self.document.operations if o.name == 'listReservations')
        self.call(holders, 'of no sku', self.request(holders, query=[('sku', 'nothing')]), self.is_one_of(404))
        self.make('putJob', {'paused': False}, 404, {'job': 'nothing'})
        self.bulk()
        self.atomic()

    def atomic(self):
        """Atomic calls: one that is refused, and one that is too large."""
        for size, status in ((2, 409), (101, 422)):
            ids = [NOBODY, *(f'N{i}' for i in range(size - 1))]
            items = [{'order_id': one, 'lines': [{'sku': 'A', 'qty': 10 ** 9}]} for one in ids]
            self.make('postReservationBatch', {'atomic': True, 'reservations': items}, status)
            for name in ('confirmReservations', 'releaseReservations', 'settleReservations'):
                self.make(name, {'atomic': True, 'order_ids': ids}, status)

    def bulk(self):
        """Reads of much at once: 21 times an order of 1,000 lines, and 1,000 times a sku at 21 locations."""
        skus, places = [f'B{i}' for i in range(1000)], [f'P{i}' for i in range(21)]
        self.make('postMovement', {'movement_id': 'M1', 'kind': 'receipt',
                                   'lines': [{'sku': sku, 'qty': 1} for sku in skus]}, 201)
        self.make('postReservation', {'order_id': 'R01', 'lines': [{'sku': sku, 'qty': 1} for sku in skus]}, 201)
        self.make('postMovement', {'movement_id': 'M2', 'kind': 'receipt',
                                   'lines': [{'sku': 'B0', 'location': place, 'qty': 1} for place in places]}, 201)
        for count, status in ((1, 200), (21, 422)):
            self.make('findReservations', {'order_ids': ['R01'] * count}, status)
        for count, status in ((2, 200), (1000, 422)):
            self.make('postStock', {'skus': ['B0'] * count}, status)

    def make(self, name, body, status, path=None):
        operation = next(o for o in self.document.operations if o.name == name)
        return self.call(operation, 'surroundings', self.request(operation, body, path=path), self.is_one_of(status))

    def round(self):
        operations = list(self.document.operations)
        for _ in range(2):
            self.chance.shuffle(operations)
            for operation in operations:
                self.valid(operation)
        for _ in range(PASSES):
            missing = {text.split()[0] for text in self.unseen() if text.split()[1] not in BROKEN}
            if not missing:
                break
            for operation in operations:
                if operation.name in missing | MAKERS:
                    self.valid(operation)
        for operation in operations:
            self.broken(operation)
            if len(self.troubles) >= TROUBLES_MAX:
                return
        self.no_such_path()

    def unseen(self):
        return [f'{o.name} {status}' for o in self.document.operations for status in o.raw['responses']
                if status not in NOT_HERE and not self.seen[o.name, status]
                and f'{o.name} {status}' not in NO_EVENTS | SEALED]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--holdfast', default='build/holdfast')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=1)
    parser.add_argument('--seconds', type=float, default=0, help='as many rounds as begin in this time')
    asked = parser.parse_args()

    folder = tempfile.mkdtemp(prefix='holdfast-contract.')
    pathlib.Path(folder).chmod(0o711)        # the server's own user, where we are root, has to get to its folder
    service = Service(asked.holdfast, folder)
    doc = document.Document(ROOT / 'api/openapi.yaml')
    contract = Contract(doc, Client(service.address), asked.seed)
    began, rounds = time.monotonic(), 0
    try:
        contract.surroundings()
        while not contract.troubles and (rounds < asked.rounds or time.monotonic() - began < asked.seconds):
            contract.round()
            rounds += 1
    except NoAnswer as error:
        contract.troubles.append(str(error))
    except KeyboardInterrupt:
        contract.troubles.append('interrupted')
    wrong = service.stop()
    contract.troubles += [wrong] if wrong else []
    shutil.rmtree(folder, ignore_errors=True)
    documented = sum(len(set(o.raw['responses']) - NOT_HERE) for o in doc.operations)
    unseen = contract.unseen()
    for trouble in contract.troubles:
        print(trouble)
    print(f'contract: seed {asked.seed}, {rounds} rounds, {contract.calls} calls of {len(doc.operations)} operations, '
          f'{documented - len(unseen)} of {documented} documented answers seen, {len(contract.troubles)} disagreements')
    if unseen:
        print('contract: not seen:', ', '.join(unseen))
    sys.exit(1 if contract.troubles or (unseen and rounds >= ROUNDS_FOR_ALL) else 0)


if __name__ == '__main__':
    main()
