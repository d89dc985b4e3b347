"""A drill over two cells, each a service on a database of its own: an order takes units from both under one order_id,
its client is killed at any point, and the client that finds the order ends it.

The first cell decides. A client holds in the first, then in the second, and confirms in that order. A client that finds
an order that goes no further looks at the first cell: confirmed there, it is confirmed in the second; otherwise it is
released, in the first cell first. What the killed client has sent may still arrive meanwhile.
"""
import os
import random
import threading
import types

import clients
from patience import PATIENCE_S
from stage import Stage, Trouble, wait_until

UNITS, TTL_S, END_S = 250, 600, PATIENCE_S
POINTS = 9              # four calls, each without its answer or with it, and the end
CONFIRMED, RELEASED = '2', '4'


def ask(cell, method, path, body=None):
    """The state, or the code, of a call that is repeated until it has an answer."""
    connection, status = clients.Connection([cell]), None
    while status is None or status == 503:
        status, _, answer = connection.call(method, path, body)
    connection.close()
    if status in (400, 422):
        raise Trouble(f'{method} {path} {body}: {status} {answer}')
    return answer.get('code') or answer.get('state')


def client(cells, id_, lines, point):
    """A process that ends at this point of its order, or where a hold is refused."""
    calls = [(cell, '/v1/reservations', {'order_id': id_, 'lines': some, 'ttl_s': TTL_S})
             for cell, some in zip(cells, lines)]
    calls += [(cell, f'/v1/reservations/{id_}/confirm', {}) for cell in cells]
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    for i, (cell, path, body) in enumerate(calls):
        connection = clients.Connection([cell])
        connection.send('POST', path, body)
        if point == 2 * i or connection.receive()[0] not in (200, 201) or point == 2 * i + 1:
            os._exit(0)
    os._exit(0)


def end(cells, id_):
    """Ends an order, whatever else goes on with it. Any client may call this, at any time, as often as it likes."""
    first, second = cells
    order = f'/v1/reservations/{id_}'
    if ask(first, 'GET', order) == 'confirmed':
        ask(second, 'POST', f'{order}/confirm', {'if_expired': 'reacquire'})
    else:
        for cell in cells:
            ask(cell, 'POST', f'{order}/release', {})


def together(action, *args):
    threads = [threading.Thread(target=action, args=args) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cells(run):
    """No order is confirmed in one cell and not in the other, and no unit stays reserved without an order."""
    dice, ends = random.Random(run.seed), {True: 0, False: 0}
    runs = [types.SimpleNamespace(**{**vars(run), 'folder': f'{run.folder}/{name}'}) for name in 'ab']
    for one in runs:
        os.mkdir(one.folder)
    with Stage(runs[0]) as first, Stage(runs[1]) as second:
        stages = first, second
        both = [stage.serve('--lanes', '2', '--jobs=expire') for stage in stages]
        for cell in both:
            ask(cell, 'POST', '/v1/movements', {'movement_id': 'stock', 'kind': 'receipt',
                                                'lines': [{'sku': sku, 'qty': UNITS} for sku in 'xyz']})

        def states(id_):
            """In both cells; what a late call has made is ended once more."""
            query = f"SELECT state FROM reservation WHERE order_id = '{id_}'"
            rows = [stage.database.sql(query) for stage in stages]
            return [row[0][0] if row else RELEASED for row in rows]

        def ended(id_):
            end(both, id_)
            return set(states(id_)) <= {CONFIRMED, RELEASED}

        for i in range(run.rounds):
            id_ = f'o{i}'
            lines = [[{'sku': sku, 'qty': dice.randint(1, 3)} for sku in dice.sample('xyz', dice.randint(1, 2))]
                     for _ in both]
            client(both, id_, lines, i % POINTS)
            together(end, both, id_)
            wait_until(lambda: ended(id_), END_S, f'{id_} has ended in both cells')
            pair = states(id_)
            first.need(pair[0] == pair[1], f'{id_}: its states are {pair}')
            ends[pair[0] == CONFIRMED] += 1
        for stage in stages:
            reserved = stage.database.sql(
                'SELECT (SELECT SUM(reserved) FROM stock_slot), (SELECT COALESCE(SUM(qty), 0) FROM reservation_line'
                ' JOIN reservation USING (reservation_id) WHERE state = 2)')[0]
            stage.need(reserved[0] == reserved[1], f'reserved and promised are {reserved}')
            stage.command('audit')
        first.say(f'{run.rounds} orders over two cells, killed at {POINTS} points: {ends[True]} are confirmed in both, '
                  f'{ends[False]} in none')
        return first.said
