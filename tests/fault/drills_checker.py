"""A drill for the checker: what it must find is put into the tables by hand."""
import re

import clients
from check import check_all
from patience import PATIENCE_S
from stage import Stage, wait_until

ORDER = "(SELECT MIN(reservation_id) FROM reservation WHERE state = {})"
WRONGS = {
    'a lost order': 'DELETE FROM reservation WHERE reservation_id = ' + ORDER.format(1),
    'an order of nobody': 'INSERT INTO reservation (reservation_id, order_id, lines_hash, state, due_at, expires_at,'
                          " attempts, created_at) SELECT 1, 'stranger', lines_hash, 1, due_at, expires_at, 0, created_at"
                          ' FROM reservation LIMIT 1',
    'another quantity': 'UPDATE reservation_line SET qty = qty + 1 WHERE reservation_id = ' + ORDER.format(1) +
                        ' LIMIT 1',
    'a release undone': 'UPDATE reservation SET state = 1 WHERE reservation_id = ' + ORDER.format(4),
    'a lost confirmation': 'UPDATE reservation SET state = 1 WHERE reservation_id = ' + ORDER.format(3),
    'a second settlement': 'INSERT INTO movement (movement_no, movement_id, kind, lines_hash, created_at, reference)'
                           " SELECT 1, 'again', kind, lines_hash, created_at, reference"
                           ' FROM movement WHERE kind = 5 LIMIT 1;'
                           ' INSERT INTO movement_line SELECT 1, sku_id, location_id, 9, qty FROM movement_line'
                           ' JOIN movement USING (movement_no) WHERE kind = 5 LIMIT 1',
    'a lost movement': 'DELETE FROM movement WHERE kind = 1 AND movement_no > 1 LIMIT 1',
    'a lost split': 'DELETE FROM reservation_part LIMIT 1',
    'a split that took too few': 'UPDATE reservation_part SET qty = qty - 1 LIMIT 1',
    'a part that came back': 'UPDATE reservation_line SET qty = qty + 1 WHERE reservation_id ='
                             ' (SELECT MIN(first_id) FROM reservation_part) LIMIT 1',
    'a lost replacement': 'UPDATE reservation_note SET replaced_by = NULL WHERE replaced_by IS NOT NULL LIMIT 1',
    'an order that forgets what it replaces': 'UPDATE reservation_note SET replaces = NULL WHERE replaces IS NOT NULL LIMIT 1',
    'a replaced order that holds': 'UPDATE reservation SET state = 1, released_at = NULL WHERE reservation_id = (SELECT'
                                   ' MIN(reservation_id) FROM reservation_note WHERE replaced_by IS NOT NULL)',
    'a unit that came back once more': 'UPDATE reservation_returned SET units = units + 1 LIMIT 1',
    'a lost return': 'DELETE FROM reservation_returned LIMIT 1',
    'an order that forgets what came back': 'UPDATE reservation SET noted = noted & ~4 WHERE noted & 4 LIMIT 1',
    'a return of no order': 'UPDATE movement SET order_id = NULL WHERE order_id IS NOT NULL LIMIT 1',
    'a unit that a customer does not have': 'UPDATE customer_units SET units = units + 1 LIMIT 1',
    'a customer who has nothing': 'DELETE FROM customer_units WHERE units > 0 LIMIT 1',
    'an order of somebody else': "UPDATE reservation_note SET customer = 'x' WHERE customer IS NOT NULL LIMIT 1",
    'a transfer that took too few': 'UPDATE movement_line SET qty = qty + 1 WHERE qty < 0 AND movement_no IN'
                                    ' (SELECT movement_no FROM movement WHERE kind = 6) LIMIT 1',
    'an arrival that took too few': 'UPDATE movement_line SET qty = qty + 1 WHERE qty < 0 AND movement_no IN'
                                    ' (SELECT movement_no FROM movement WHERE kind = 7) LIMIT 1',
    'a unit that wandered off': "UPDATE reservation_line SET location_id = (SELECT location_id FROM location WHERE code ="
                                " 'main') WHERE (reservation_id, sku_id, location_id) IN"
                                ' (SELECT w.reservation_id, w.sku_id, w.location_id FROM waiting_line w LEFT JOIN ('
                                "SELECT reservation_id, sku_id FROM reservation_line JOIN location USING (location_id)"
                                " WHERE code = 'main') m USING (reservation_id, sku_id) WHERE m.sku_id IS NULL)"
                                ' LIMIT 1',
    'a loss of somebody else': "UPDATE movement_backorder SET order_id = 'x' LIMIT 1",
    'a loss of more than was told': 'UPDATE movement_backorder SET qty = qty + 1 LIMIT 1',
    'a unit too many': 'UPDATE stock_slot SET available = available + 1 LIMIT 1',
    'a unit reserved for nobody': 'UPDATE stock_slot SET available = available - 1, reserved = reserved + 1'
                                  ' WHERE available > 0 LIMIT 1',
}
WRITTEN = re.compile(r'\b(?:DELETE FROM|INSERT INTO|UPDATE) (\w+)')      # the tables of a wrong


def some_of_each(stage, client):
    """Makes what chance may have left out. An order waits for more units than all others give back: it gets some, and
    loses them again."""
    client.transfer('moved')
    client.arrival('came')
    line = {'sku': clients.SKUS[-1], 'location': clients.ORDERED, 'qty': 500}
    some = {'sku': line['sku'], 'location': clients.ANNEX}
    client.call('reserve', 'waits', {'order_id': 'waits', 'lines': [line], 'confirm': True})
    client.call('receipt', 'some', {'movement_id': 'some', 'kind': 'receipt', 'lines': [{**some, 'qty': 400}]})
    wait_until(lambda: len(client.now('waits')) == 2, PATIENCE_S, 'some of it is served')
    client.call('lose', 'lost', {'movement_id': 'lost', 'kind': 'count',
                                 'lines': [{**some, 'counted': 0, 'short': 'backorder'}]})
    stage.need(client.answer['backordered'], 'nothing was lost')
    client.connection.close()


def checker(run):
    """Nothing is found where nothing is wrong, and each wrong is."""
    with Stage(run) as stage:
        stage.serve('--lanes', '2', '--jobs=settle')
        with stage.load() as load:
            stage.progress(load, 400, 6 * PATIENCE_S, 'no progress')
        some_of_each(stage, clients.Client(load, 'checker'))
        stage.command('work', 'settle', '--once')
        stage.verify()
        stage.services[0].terminate()
        stage.database.sql('CREATE DATABASE kept')
        tables = [name for (name,) in stage.database.sql('SHOW TABLES')]
        stage.database.sql(';'.join(f'CREATE TABLE kept.{name} SELECT * FROM {name}' for name in tables))
        for what, sql in WRONGS.items():
            stage.database.sql(sql)
            troubles = check_all(stage.journal.path, stage.database.socket)[0]
            stage.need(troubles, f'{what} was not found')
            stage.database.sql(';'.join(f'DELETE FROM {name}; INSERT INTO {name} SELECT * FROM kept.{name}'
                                        for name in sorted(set(WRITTEN.findall(sql)))))
        troubles = check_all(stage.journal.path, stage.database.socket)[0]
        stage.need(not troubles, f'found, but all is well again: {troubles[:3]}')
        stage.say(f'{len(WRONGS)} wrongs were found')
        return stage.said
