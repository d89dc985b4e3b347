"""A drill of arrivals: orders wait for one sku, their units arrive, and the database and the services that hand them out
die meanwhile, at any point. Each order is served once, in the order of the line, and the rest is for sale.
"""
import random
import threading
import time

import clients
from patience import PATIENCE_S
from stage import START_S, Stage, wait_until

WAITING, WAITING_SLICE = 100_000, 2_000
A_CALL, REST, DONE_S = 1_000, 10, 30 * PATIENCE_S
THE_LINE = ('SELECT order_id FROM waiting_line JOIN reservation USING (reservation_id)'
            ' ORDER BY held, waits_since, first_id, reservation_id')


def ask(services, method, path, body=None):
    """Repeated until it has an answer."""
    connection, status = clients.Connection(services), None
    while status is None or status == 503:
        try:
            status, _, answer = connection.call(method, path, body)
        except clients.NotConnected:
            time.sleep(0.05)
    connection.close()
    return status, answer


def orders_make(services, waiting, dice):
    """Two of three are confirmed."""
    for first in range(0, waiting, A_CALL):
        many = [{'order_id': f'o{first + i}', 'confirm': dice.random() < 0.66, 'ttl_s': 86_400,
                 'lines': [{'sku': 'x', 'location': 'po', 'qty': 1}]} for i in range(A_CALL)]
        status, answer = ask(services, 'POST', '/v1/reservations/batch', {'reservations': many})
        assert status == 200 and all(one['status'] in (200, 201) for one in answer['results']), answer


def served(services):
    """The orders that the feed tells to be served, in its order."""
    orders, after = [], ''
    while True:
        _, page = ask(services, 'GET', f'/v1/events?types=reservation.arrived&limit=1000{after}')
        orders += [event['data']['order_id'] for event in page['items']]
        after = f'&after={page["next_cursor"]}'
        if not page['more']:
            return orders


def arrivals(run):
    """Each order is served once, in order, whatever dies."""
    dice, waiting = random.Random(run.seed), WAITING_SLICE if run.slice else WAITING
    with Stage(run) as stage:
        services = [stage.serve('--lanes', '2'), stage.serve('--lanes', '2', '--slot', '4', name='second')]
        ask(services, 'PUT', '/v1/locations/po', {'kind': 'incoming'})
        ask(services, 'POST', '/v1/movements',
            {'movement_id': 'ordered', 'kind': 'receipt',
             'lines': [{'sku': 'x', 'location': 'po', 'qty': waiting + REST}]})
        orders_make(services, waiting, dice)
        line = [row[0] for row in stage.database.sql(THE_LINE)]
        stage.need(len(line) == waiting, f'{len(line)} orders wait')
        arrival = {'movement_id': 'came', 'kind': 'arrival',
                   'lines': [{'sku': 'x', 'from': 'po', 'to': 'main', 'qty': waiting + REST}]}
        caller = threading.Thread(target=ask, args=(services, 'POST', '/v1/movements', arrival),
                                  daemon=True)
        began, killed, open_at = time.monotonic(), 0, 0
        caller.start()
        for _ in range(run.rounds):
            time.sleep(dice.random() * (0.1 if run.slice else 0.6))
            victim = dice.choice((stage.database, *services))
            victim.kill()
            killed += 1
            victim.start()
            wait_until(stage.database.answers, START_S, 'MariaDB answers')
            for service in services:
                service.wait_ready()
            open_at += int(stage.database.sql('SELECT COUNT(*) FROM arrival_open')[0][0])
        caller.join()
        wait_until(lambda: not int(stage.database.sql('SELECT COUNT(*) FROM arrival_open')[0][0]), DONE_S,
                   'all of it is handed out')
        took = time.monotonic() - began
        told = served(services)
        stage.need(len(set(told)) == len(told), 'an order was served twice')
        stage.need(told == line, 'the orders were not served in the order of the line')
        rest = stage.database.sql('SELECT SUM(available), SUM(reserved) FROM stock_slot WHERE location_id ='
                                  " (SELECT location_id FROM location WHERE code = 'main')")[0]
        stage.need(tuple(rest) == (str(REST), str(waiting)), f'main has {rest}')
        stage.need(run.slice or open_at, 'nothing was open any more when somebody died')
        stage.command('audit')
        stage.say(f'{waiting:,} orders served once, in order, in {took:.0f} s; {killed} killed, {open_at} of them before '
                  'the end')
        return stage.said
