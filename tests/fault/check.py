#!/usr/bin/env python3
"""Compares the clients' journal with the tables, by code that shares nothing with the engine.

Reads the tables with the `mariadb` client program alone. Holds that
  - every acknowledged order and movement exists once, with the lines that were acknowledged, less what acknowledged
    splits took, and in a state that its last acknowledged change allows; there are no others;
  - every acknowledged split and replacement is remembered once, as it was acknowledged, and nothing else; an order
    that was replaced is released;
  - what was refused, or answered 503 `busy`, `storage_full` or `unavailable`, has no effect; every call has an answer by now;
  - an order that waits, or has units where others wait, has as many units of each sku as were acknowledged, wherever
    they are by now; the units of every other order are where its answer said; each loss of promised units was told as
    it is;
  - units per sku and location are what the journal says: on_hand, reserved, and so available, which is not negative;
  - units left the stock once for each settled order: each task settled what its movements say, and so did each order
    that was settled by its id;
  - no more came back than was settled of an order, of each sku, over all movements; the order, its row of what came
    back and the acknowledged returns that name it say the same;
  - a customer has of each sku the units of its orders that are held, confirmed, buried or settled, less what came
    back, and never more than the limit;
  - every answer has a status that the contract knows, 503 names Retry-After, a shortage is one, and so is a limit.
Ends 0 if all agrees, otherwise 1 with the first disagreements.
"""
import argparse
import collections
import json
import subprocess
import sys

TOLD_MAX = 20
NOTHING_DONE = ('busy', 'storage_full', 'unavailable')
STATES = {1: 'held', 2: 'confirmed', 3: 'settled', 4: 'released', 5: 'expired', 6: 'buried'}
PROMISED = ('held', 'confirmed', 'buried')
WANDER = {'ordered', 'annex'}     # units of an order there may be elsewhere later
AFTER_CONFIRM = {'confirmed', 'settled', 'buried'}


NEXT = '-- next --'


def rows_of(socket, *queries):
    """The rows of one query, as tuples of text; of several, a list for each, all of one snapshot."""
    snapshot = ['SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ', 'START TRANSACTION WITH CONSISTENT SNAPSHOT']
    text = ';\n'.join([*(snapshot if len(queries) > 1 else []), f";\nSELECT '{NEXT}';\n".join(queries)])
    command = ['mariadb', '--no-defaults', '-uroot', f'--socket={socket}', '--batch', '--skip-column-names', '--quick',
               'holdfast']
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f'{text[:60]}..: {done.stderr.strip()}')
    results = [[]]
    for line in done.stdout.splitlines():
        if line == NEXT:
            results.append([])
        else:
            results[-1].append(tuple(line.split('\t')))
    return results if len(queries) > 1 else results[0]


def summed(lines):
    """By sku and location; of a transfer both ends."""
    sums = collections.Counter()
    for line in lines:
        if 'from' in line:
            sums[line['sku'], line['from']] -= line['qty']
            sums[line['sku'], line['to']] += line['qty']
        else:
            sums[line['sku'], line['location']] += line['qty']
    return {place: qty for place, qty in sums.items() if qty or 'from' not in lines[0]}


def whole(lines):
    """By sku, wherever they are."""
    sums = collections.Counter()
    for (sku, _), qty in lines.items():
        sums[sku, ''] += qty
    return dict(sums)


class Ledger:
    """The orders, movements and units that must be there, by the journal."""

    def __init__(self, purged):
        self.purged = purged
        self.lines = {}               # of each acknowledged order; of one that wanders by sku
        self.wandering = set()        # orders with units that may be elsewhere by now
        self.losses = {}              # (movement, order, sku) of each that lost units, as acknowledged
        self.states = {}              # in which it may be
        self.movements = {}           # of each acknowledged movement, its lines
        self.parts = {}               # (first, part) of each acknowledged split, its lines
        self.replaced = {}            # by which acknowledged order
        self.returned = {}            # of each acknowledged return, the order that it names
        self.customers = {}           # of each acknowledged order, or None
        self.limits = {}              # of each sku that has one: the same all the time
        self.open_calls = {}
        self.troubles = []

    def disagree(self, text):
        self.troubles.append(text)

    def enter(self, entry):
        call, id_, status = entry['call'], entry['id'], entry['status']
        code = (entry['answer'] or {}).get('code')
        self.open_calls.pop((call, id_), None)
        if status is None or status == 503 and code == 'unknown_outcome':
            self.open_calls[call, id_] = status
        elif status in (200, 201):
            getattr(self, f'enter_{call}')(entry)
        elif status == 409 and entry['replayed']:
            self.enter_ended(entry, code)
        elif status == 409 or code in ('customer_required', 'not_in_order'):
            self.enter_refused(entry, code)
        elif self.purged and code == 'unknown_order':
            pass                      # the order had ended, and was purged before this call
        elif not (status == 503 and code in NOTHING_DONE):
            self.disagree(f'{call} {id_}: answered {status} {code}')
        if status == 503 and not (entry['wait'] or '').isdigit():
            self.disagree(f'{call} {id_}: 503 without Retry-After')

    def enter_ended(self, entry, code):
        """A repeat of what made an order that is over: it was done, and it is refused."""
        order = entry['answer'].get('reservation', {})
        if entry['call'] not in ('reserve', 'split') or code not in ('released', 'expired') or order.get('state') != code:
            self.disagree(f'{entry["call"]} {entry["id"]}: repeated, and refused with {code}')
        elif entry['answer'].get('replaced_by') != order.get('replaced_by'):
            self.disagree(f'{entry["call"]} {entry["id"]}: {order.get("replaced_by")} has replaced it, or not')
        else:
            getattr(self, f'enter_{entry["call"]}')({**entry, 'status': 200, 'answer': order})

    def enter_reserve(self, entry):
        id_, old = entry['id'], entry['other']
        new = id_ not in self.states
        if any(line['location'] in WANDER for line in entry['sent']['lines']):
            self.wandering.add(id_)
        held = {'held', 'expired'} if entry['may_expire'] else {'held'}
        self.enter_made(entry, AFTER_CONFIRM if entry['sent'].get('confirm') else held)
        self.customers[id_] = entry['answer'].get('customer')
        if self.customers[id_] != entry['sent'].get('customer'):
            self.disagree(f'reserve {id_}: is for {self.customers[id_]}')
        if old and new:
            may = {'held', 'confirmed'} if entry['sent'].get('confirm') else {'held'}
            if self.replaced.setdefault(old, id_) != id_ or not may & self.states.get(old, set()):
                self.disagree(f'reserve {id_}: replaces {old}, which was not to be replaced')
            self.states[old] = {'released'}

    def enter_split(self, entry):
        id_, first = entry['id'], entry['other']
        new, then = id_ not in self.states, entry['sent'].get('then')
        states = self.states.get(first, set())
        if first in self.wandering:
            self.wandering.add(id_)
        self.enter_made(entry, {'confirm': AFTER_CONFIRM, 'release': {'released'}, 'settle': {'settled'}}.get(then, set(states)))
        if new:
            self.customers[id_] = self.customers.get(first)
            self.parts[first, id_] = summed(entry['sent']['lines'])
            self.take(entry, first, self.of(first, self.parts[first, id_]))

    def of(self, id_, lines):
        """Lines of an order, as far as they stay as they are."""
        return whole(lines) if id_ in self.wandering else lines

    def take(self, entry, first, lines):
        """Units leave an order; the rest of it stays."""
        left = collections.Counter(self.lines.get(first, {}))
        left.subtract(lines)
        if min(left.values(), default=-1) < 0 or not any(left.values()):
            self.disagree(f'split {entry["id"]}: takes {lines} of {self.lines.get(first)}')
        self.lines[first] = {place: qty for place, qty in left.items() if qty}

    def enter_made(self, entry, states):
        """An answer shows an order that is made, or was made: later it has the lines that splits have left."""
        id_ = entry['id']
        lines, sent = (self.of(id_, summed(entry[of]['lines'])) for of in ('answer', 'sent'))
        if id_ not in self.lines and lines != sent:
            self.disagree(f'{entry["call"]} {id_}: the answer shows other lines than were sent')
        if self.lines.setdefault(id_, lines) != lines:
            self.disagree(f'{entry["call"]} {id_}: two answers show different lines')
        if entry['status'] == 201 and id_ in self.states:
            self.disagree(f'{entry["call"]} {id_}: made twice')
        self.states.setdefault(id_, states)
        self.enter_shown(entry)

    def enter_limit(self, entry):
        self.limits[entry['id']] = entry['sent']['per_customer']

    def enter_confirm(self, entry):
        self.change(entry, AFTER_CONFIRM)

    def enter_kick(self, entry):
        self.change(entry, AFTER_CONFIRM)

    def enter_release(self, entry):
        self.change(entry, {'released'})

    def enter_settle(self, entry):
        self.change(entry, {'settled'})

    def enter_extend(self, entry):
        self.change(entry, {'held', 'expired'} if entry['may_expire'] else {'held'})

    def change(self, entry, states):
        if entry['id'] not in self.states:
            self.disagree(f'{entry["call"]} {entry["id"]}: of an order that was never acknowledged')
        self.states[entry['id']] = states
        self.enter_shown(entry)

    def enter_shown(self, entry):
        if entry['answer']['state'] not in self.states[entry['id']]:
            self.disagree(f'{entry["call"]} {entry["id"]}: answered {entry["answer"]["state"]}')

    def enter_receipt(self, entry):
        id_, lines = entry['id'], summed(entry['sent']['lines'])
        if summed(entry['answer']['lines']) != lines:
            self.disagree(f'{entry["call"]} {id_}: the answer shows other lines than were sent')
        if entry['status'] == 201 and id_ in self.movements:
            self.disagree(f'{entry["call"]} {id_}: made twice')
        self.movements[id_] = lines

    enter_adjust = enter_transfer = enter_arrival = enter_receipt

    def enter_moved(self, entry):
        """Units for which an order waited have come, or some are lost: it has them elsewhere."""
        self.lines[entry['id']] = summed(entry['answer']['lines'])

    def enter_location(self, entry):
        """A location that a receipt does not make, and that no order names."""

    def enter_return(self, entry):
        if entry['other'] and self.returned.setdefault(entry['id'], entry['other']) != entry['answer'].get('order_id'):
            self.disagree(f'return {entry["id"]}: of {entry["other"]}, answered {entry["answer"].get("order_id")}')
        self.enter_receipt(entry)

    def enter_count(self, entry):
        """The answer shows by how much it changed what was there."""
        self.note_losses(entry)
        self.enter_receipt({**entry, 'sent': entry['answer']})

    def note_losses(self, entry):
        """Units that orders have lost, by sku."""
        lost = collections.Counter()
        for row in entry['answer'].get('backordered', ()):
            lost[row['sku']] += row['qty']
            if self.losses.setdefault((entry['id'], row['order_id'], row['sku']), row['qty']) != row['qty']:
                self.disagree(f'{entry["call"]} {entry["id"]}: two answers show different losses')
        return lost

    def enter_lose(self, entry):
        """Units that orders have lost are promised to them from then on, by a line of the movement."""
        id_, answer, lost = entry['id'], entry['answer'], self.note_losses(entry)
        grown = {line['sku']: line['qty'] for line in answer['lines'] if line['location'] == 'ordered'}
        here = {line['sku']: line['qty'] for line in answer['lines'] if line['location'] != 'ordered'}
        if grown != dict(lost) or any(here[line['sku']] != line.get('qty', here[line['sku']]) for line in entry['sent']['lines']):
            self.disagree(f'lose {id_}: the promise grows by {grown}, lost was {dict(lost)}')
        self.enter_receipt({**entry, 'sent': answer})

    def enter_refused(self, entry, code):
        """A refusal tells something about the order, and this must be true."""
        call, id_ = entry['call'], entry['id']
        about = entry['other'] or id_
        if code == 'short' and call in ('reserve', 'adjust', 'transfer', 'arrival', 'lose'):
            if id_ in self.lines or id_ in self.movements:
                self.disagree(f'{call} {id_}: acknowledged, and then short')
            for line in entry['answer']['lines']:
                if call == 'reserve' and not line['available'] < line['requested']:
                    self.disagree(f'{call} {id_}: not short with {line}')
        elif code in ('limit_reached', 'customer_required') and call == 'reserve':
            self.enter_beyond(entry, code)
        elif code == 'over_returned' and entry['other']:
            for line in entry['answer']['lines']:
                settled = sum(qty for (sku, _), qty in self.lines.get(about, {}).items() if sku == line['sku'])
                if line['settled'] != settled or line['requested'] <= settled - line['returned'] or id_ in self.returned:
                    self.disagree(f'return {id_}: not too much with {line}, settled was {settled}')
        elif code == 'waiting' and call in ('settle', 'split') or code == 'not_in_order' and call == 'split':
            if about not in self.wandering or code == 'waiting' and not AFTER_CONFIRM & self.states.get(about, set()):
                self.disagree(f'{call} {id_}: refused with {code}')
        elif code in STATES.values() and code in self.states.get(about, ()):
            back = {'expired': {'held', 'expired'}, 'confirmed': AFTER_CONFIRM, 'buried': AFTER_CONFIRM}
            self.states[about] = back.get(code, {code})   # the worker may take up an order that a reaper has buried
        elif code != 'claimed' or 'confirmed' not in self.states.get(about, ()):
            self.disagree(f'{call} {id_}: refused with {code}')

    def enter_beyond(self, entry, code):
        id_ = entry['id']
        if id_ in self.lines or (code == 'limit_reached') != ('customer' in entry['sent']):
            self.disagree(f'reserve {id_}: was refused with {code}')
        for line in entry['answer']['lines']:
            limit = self.limits.get(line['sku'])
            if not limit or code == 'limit_reached' and not line['has'] + line['requested'] > line['limit'] == limit:
                self.disagree(f'reserve {id_}: {code} with {line}, the limit is {limit}')


LINE = 'k.code, o.code'
NAMES = 'JOIN sku k USING (sku_id) JOIN location o USING (location_id)'
QUERIES = (
    'SELECT order_id, state, IFNULL(task_id, 0) FROM reservation',
    f'SELECT r.order_id, {LINE}, l.qty FROM reservation r JOIN reservation_line l USING (reservation_id) {NAMES}',
    f'SELECT m.movement_id, {LINE}, SUM(l.qty) FROM movement m JOIN movement_line l USING (movement_no) {NAMES}'
    f' WHERE m.kind <> 5 GROUP BY m.movement_id, {LINE}',
    f'SELECT m.movement_id, m.reference, {LINE}, -SUM(l.qty) FROM movement m JOIN movement_line l USING (movement_no) {NAMES}'
    f' WHERE m.kind = 5 GROUP BY m.movement_no, {LINE}',
    f'SELECT {LINE}, SUM(s.available), SUM(s.reserved) FROM stock_slot s {NAMES} GROUP BY {LINE}',
    f'SELECT f.order_id, p.order_id, {LINE}, s.qty FROM reservation_part s {NAMES}'
    ' JOIN reservation f ON f.reservation_id = s.first_id JOIN reservation p ON p.reservation_id = s.part_id',
    'SELECT r.order_id, e.replaced_by FROM reservation_note e JOIN reservation r USING (reservation_id)'
    ' WHERE e.replaced_by IS NOT NULL',
    'SELECT e.replaces, r.order_id FROM reservation_note e JOIN reservation r USING (reservation_id)'
    ' WHERE e.replaces IS NOT NULL AND r.noted & 1',
    'SELECT r.order_id, k.code, b.units, r.noted FROM reservation_returned b LEFT JOIN reservation r USING (reservation_id)'
    ' JOIN sku k USING (sku_id)',
    'SELECT movement_id, order_id FROM movement WHERE order_id IS NOT NULL',
    'SELECT r.order_id, e.customer FROM reservation_note e JOIN reservation r USING (reservation_id)'
    ' WHERE e.customer IS NOT NULL',
    'SELECT u.customer, k.code, u.units FROM customer_units u JOIN sku k USING (sku_id) WHERE u.units <> 0',
    'SELECT m.movement_id, b.order_id, k.code, SUM(b.qty) FROM movement_backorder b JOIN movement m USING (movement_no)'
    ' JOIN sku k USING (sku_id) GROUP BY m.movement_id, b.order_id, k.code')


def settled_by(movement_id, reference):
    """The task, or the order that was settled by its id."""
    return int(reference) if movement_id.count('/') == 2 else reference


class Tables:
    """The contents of the tables, in one snapshot."""

    def __init__(self, socket):
        (reservations, lines, movements, settlements, levels, splits, self.replaced, self.replaces, back, origins,
         customers, has, losses) = rows_of(socket, *QUERIES)
        counts = collections.Counter(id_ for id_, _, _ in reservations)
        self.twins = [id_ for id_, count in counts.items() if count > 1]
        self.states = {id_: STATES[int(state)] for id_, state, _ in reservations}
        self.tasks = {id_: int(task) for id_, _, task in reservations}
        self.orders, self.movements, self.parts = (collections.defaultdict(dict) for _ in range(3))
        for id_, sku, at, qty in lines:
            self.orders[id_][sku, at] = int(qty)
        for id_, sku, at, qty in movements:
            self.movements[id_][sku, at] = int(qty)
        for first, part, sku, at, qty in splits:
            self.parts[first, part][sku, at] = int(qty)
        self.settlements = collections.Counter()
        for id_, reference, sku, at, qty in settlements:
            self.settlements[settled_by(id_, reference), sku, at] += int(qty)
        self.back = {(id_, sku): int(units) for id_, sku, units, noted in back if int(noted) & 4}
        self.origins, self.backs = dict(origins), len(back)
        self.customers = dict(customers)
        self.has = {(customer, sku): int(units) for customer, sku, units in has}
        self.losses = {(id_, order, sku): int(qty) for id_, order, sku, qty in losses}
        self.levels = {(sku, at): (int(available), int(reserved)) for sku, at, available, reserved in levels}


# ---- the checks, each on the whole ledger

def check_answered(ledger, _tables, _purged):
    for (call, id_), status in ledger.open_calls.items():
        ledger.disagree(f'{call} {id_}: nobody knows what came of it ({status})')


def check_orders(ledger, tables, purged):
    for id_ in tables.states.keys() - ledger.lines.keys():
        ledger.disagree(f'{id_}: is {tables.states[id_]}, but was never acknowledged')
    for id_, lines in ledger.lines.items():
        state = tables.states.get(id_)
        if state is None and purged:
            resolve_purged(ledger, tables, id_)
        elif state not in ledger.states[id_]:
            ledger.disagree(f'{id_}: is {state}, the journal allows {sorted(ledger.states[id_])}')
        elif ledger.of(id_, tables.orders[id_]) != lines:
            ledger.disagree(f'{id_}: has {tables.orders[id_]}, acknowledged was {lines}')
    for id_ in tables.twins:
        ledger.disagree(f'{id_}: exists twice')


def resolve_purged(ledger, tables, id_):
    """A row that is gone had ended, in the one way that its last acknowledged change leaves."""
    ends = ledger.states[id_] & {'settled', 'released', 'expired'}
    if len(ends) != 1:
        ledger.disagree(f'{id_}: is gone, the journal allows {sorted(ledger.states[id_])}')
    else:
        tables.states[id_], tables.orders[id_] = ends.pop(), ledger.lines[id_]


def check_movements(ledger, tables, _purged):
    for id_ in tables.movements.keys() - ledger.movements.keys():
        ledger.disagree(f'movement {id_}: is there, but was never acknowledged')
    for id_, lines in ledger.movements.items():
        if tables.movements.get(id_) != lines:
            ledger.disagree(f'movement {id_}: has {tables.movements.get(id_)}, acknowledged was {lines}')


def check_losses(ledger, tables, _purged):
    for key in ledger.losses.keys() | tables.losses.keys():
        if ledger.losses.get(key) != tables.losses.get(key):
            ledger.disagree(f'{key}: lost {tables.losses.get(key)}, acknowledged was {ledger.losses.get(key)}')


def check_taken_over(ledger, tables, purged):
    """Splits and replacements, each as long as its orders are there."""
    there = tables.states.keys()
    parts = {pair: lines for pair, lines in ledger.parts.items() if not purged or there >= set(pair)}
    if parts != tables.parts:
        wrong = [pair for pair in parts.keys() | tables.parts.keys() if parts.get(pair) != tables.parts.get(pair)]
        ledger.disagree(f'splits differ, so of {wrong[:3]}')
    replaced = sorted(pair for pair in ledger.replaced.items() if not purged or pair[0] in there)
    if replaced != sorted(tables.replaced):
        ledger.disagree(f'replacements differ: {sorted(set(replaced) ^ set(tables.replaced))[:3]}')
    replaces = sorted(pair for pair in ledger.replaced.items() if not purged or pair[1] in there)
    if replaces != sorted(tables.replaces):
        ledger.disagree(f'orders forget what they replace: {sorted(set(replaces) ^ set(tables.replaces))[:3]}')
    for old, new in tables.replaced:
        if tables.states[old] != 'released':
            ledger.disagree(f'{old}: was replaced by {new}, and is {tables.states[old]}')


def check_returned(ledger, tables, _purged):
    """Units that came back of orders that are there. A row without an order, or of an order that lacks the mark, is too
    many."""
    back = collections.Counter()
    for id_, of in ledger.returned.items():
        for (sku, _), qty in ledger.movements[id_].items():
            if of in tables.tasks:
                back[of, sku] += qty
    if dict(back) != tables.back or len(tables.back) != tables.backs:
        wrong = [key for key in back.keys() | tables.back.keys() if back[key] != tables.back.get(key)]
        ledger.disagree(f'what came back differs, so for order, sku {wrong[:3]}, {tables.backs} rows')
    if ledger.returned != tables.origins:
        ledger.disagree(f'returns name others: {sorted(set(ledger.returned.items()) ^ set(tables.origins.items()))[:3]}')
    for (id_, sku), units in back.items():
        settled = sum(qty for (of, _), qty in tables.orders[id_].items() if of == sku)
        if units > settled or tables.states[id_] != 'settled':
            ledger.disagree(f'{id_}: {units} of {sku} came back of {settled}, it is {tables.states[id_]}')


def check_customers(ledger, tables, _purged):
    """Of orders that are there."""
    has = collections.Counter()
    for id_ in tables.tasks.keys() & ledger.lines.keys():
        customer = ledger.customers.get(id_)
        if tables.customers.get(id_) != customer:
            ledger.disagree(f'{id_}: is for {tables.customers.get(id_)}, acknowledged was {customer}')
        if customer and tables.states[id_] in (*PROMISED, 'settled'):
            for (sku, _), qty in ledger.lines[id_].items():
                has[customer, sku] += qty
    for (id_, sku), units in tables.back.items():
        if ledger.customers.get(id_):
            has[ledger.customers[id_], sku] -= units
    for key in has.keys() | tables.has.keys():
        if has[key] != tables.has.get(key, 0) or has[key] > ledger.limits.get(key[1], has[key]):
            ledger.disagree(f'customer, sku {key}: has {has[key]}, the row says {tables.has.get(key, 0)}')


def check_settled_once(ledger, tables, purged):
    by_task = collections.Counter()
    for id_, state in tables.states.items():
        if state == 'settled' and id_ in tables.tasks:
            for (sku, at), qty in tables.orders[id_].items():
                by_task[tables.tasks[id_] or id_, sku, at] += qty
    if not purged and dict(by_task) != tables.settlements:
        wrong = [key for key in by_task.keys() | tables.settlements.keys()
                 if by_task[key] != tables.settlements.get(key)]
        ledger.disagree(f'settled orders and their movements differ, so for task or order, sku, location {wrong[:3]}')


def check_units(ledger, tables, purged):
    """Where the units of an order that wanders are by now its row says, and of one that is gone the settlements."""
    on_hand, reserved, settled, told = (collections.Counter() for _ in range(4))
    for lines in ledger.movements.values():
        on_hand.update(lines)
    for id_, state in tables.states.items():
        wanders = id_ in ledger.wandering and id_ in tables.tasks
        lines = tables.orders[id_] if wanders else ledger.lines.get(id_, {})
        if state == 'settled':
            settled.update(lines)
        elif state in PROMISED:
            reserved.update(lines)
    if purged:
        for (_, sku, at), qty in tables.settlements.items():
            told[sku, at] += qty
        if whole(settled) != whole(told):
            ledger.disagree(f'settled were {whole(settled)}, the movements say {whole(told)}')
        settled = told
    for place in on_hand.keys() | tables.levels.keys():
        wanted = (on_hand[place] - settled[place] - reserved[place], reserved[place])
        if tables.levels.get(place, (0, 0)) != wanted:
            ledger.disagree(f'{place}: available and reserved are {tables.levels.get(place)}, should be {wanted}')
        if wanted[0] < 0:
            ledger.disagree(f'{place}: oversold by {-wanted[0]}')


def compare(ledger, tables):
    """All checks; the ledger has what disagrees."""
    for check in (check_answered, check_taken_over, check_orders, check_movements, check_settled_once, check_returned,
                  check_losses, check_units, check_customers):
        check(ledger, tables, ledger.purged)


def check_all(journal_path, socket, purged=False):
    """(disagreements, how many orders, how many movements were compared)."""
    ledger = Ledger(purged)
    with open(journal_path, encoding='utf-8') as journal:
        for text in journal:
            ledger.enter(json.loads(text))
    compare(ledger, Tables(socket))
    return ledger.troubles, len(ledger.lines), len(ledger.movements)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--journal', required=True, metavar='FILE')
    parser.add_argument('--socket', required=True, help='of the database')
    parser.add_argument('--purged', action='store_true', help='orders that ended may be gone')
    options = parser.parse_args()
    troubles, orders, movements = check_all(options.journal, options.socket, options.purged)
    for text in troubles[:TOLD_MAX]:
        print(f'check    {text}')
    print(f'check    {orders:,} orders and {movements:,} movements, {len(troubles):,} disagreements')
    return 1 if troubles else 0


if __name__ == '__main__':
    sys.exit(main())
