#!/usr/bin/env python3
"""The sums of `make demo`, made by other code: nothing here is shared with the replay.

Reads the sales file and the journal of what was sent and answered, follows every row to its end, works out what each
sku must show as available, reserved and on_hand, and compares that with what the service says. Also: every row has one
fate; stock is the promised share of the demand; every answer shows the lines of its order, summed and sorted; every
held order was confirmed; an order was called short only if it was; the replay's own counts are right.
Ends 0 if everything agrees, otherwise 1 with the first disagreements.
"""
import argparse
import collections
import csv
import fractions
import http.client
import json
import re
import sys
import time

PAGE = 1000
TIMEOUT_S, TRIES = 60, 10
TOLD_MAX = 20

Row = collections.namedtuple('Row', 'invoice sku qty')


def sales_rows(path):
    """The rows that move units, by number; the header is row 1."""
    rows = {}
    with open(path, encoding='utf-8-sig', newline='') as file:
        records = enumerate(csv.reader(file), 1)
        columns = next(records)[1]
        for number, fields in records:
            record = dict(zip(columns, fields)) if len(fields) == len(columns) else {}
            quantity = record.get('Quantity', '')
            if re.fullmatch(r'-?\d{1,18}', quantity, re.ASCII) and int(quantity):
                rows[number] = Row(record['InvoiceNo'], record['StockCode'], int(quantity))
    return rows


def summed(lines):
    """Lines as an answer must show them."""
    sums = collections.Counter()
    for line in lines:
        sums[line['sku']] += line['qty']
    return [{'sku': sku, 'location': 'main', 'qty': sums[sku]} for sku in sorted(sums)]


class Ledger:
    """The state that must be true now, by the journal and the file together."""

    def __init__(self, rows):
        self.rows = rows
        self.fate = {}                                # of each row
        self.received, self.promised, self.returned = (collections.Counter() for _ in range(3))
        self.no_code = set()                          # skus that the service does not take
        self.not_received = set()                     # skus of which a receipt was refused
        self.held, self.confirmed = set(), set()
        self.short = []                               # (order_id, lines asked for, lines of the refusal)
        self.orders = set()                           # every order_id that was sent
        self.share, self.claims = None, None
        self.troubles = []

    def disagree(self, text):
        self.troubles.append(text)

    def enter(self, entry):
        call = entry['call']
        if call == 'begin':
            self.share = fractions.Fraction(entry['share'])
        elif call == 'end':
            self.claims = entry
        elif call == 'confirm':
            if entry['status'] == 200 and entry['answer'].get('state') == 'confirmed':
                self.confirmed.add(entry['id'])
        else:
            if call == 'order':
                self.orders.add(entry['id'])
            taken = entry['status'] == 201 or entry['status'] == 200 and entry['replayed']
            (self.enter_taken if taken else self.enter_refused)(entry)

    def enter_taken(self, entry):
        call, sent = entry['call'], entry['sent']['lines']
        if entry['answer'].get('lines') != summed(sent):
            self.disagree(f'{call} {entry["id"]}: the answer shows other lines than were sent')
        if call == 'receipt':
            for line in sent:
                self.received[line['sku']] += line['qty']
            return
        if call == 'order':
            self.held.add(entry['id'])
        sums = self.promised if call == 'order' else self.returned
        for number, line in zip(entry['rows'], sent, strict=True):
            row = self.row_of(entry, number, line)
            if row:
                sums[row.sku] += abs(row.qty)
                self.decide(number, 'taken')

    def row_of(self, entry, number, line):
        """The file's row behind a line that was sent; the units are taken from there."""
        row = self.rows.get(number)
        sign = 1 if entry['call'] == 'order' else -1
        same = row and row.sku == line['sku'] and row.qty == sign * line['qty']
        if same and re.fullmatch(re.escape(row.invoice) + r'(\.\d+)?', entry['id']):
            return row
        self.disagree(f'row {number}: was sent in {entry["id"]} as {line}, the file has {row}')
        return None

    def decide(self, number, fate, sku=None):
        if number is None:                            # of a receipt
            self.not_received.add(sku)
            return
        if number in self.fate:
            self.disagree(f'row {number}: {self.fate[number]}, and then {fate}')
        self.fate[number] = fate

    def enter_refused(self, entry):
        answer, sent, rows = entry['answer'], entry['sent']['lines'], entry['rows']
        named = re.match(r'lines\[(\d+)\](\.sku)?', answer.get('field', '')) if entry['status'] == 400 else None
        if named:
            at = int(named[1])
            if named[2]:
                self.no_code.add(sent[at]['sku'])
            self.decide(rows[at], 'left out', sent[at]['sku'])
        elif entry['call'] == 'return' and answer.get('code') == 'unknown_sku':
            unknown = {line['sku'] for line in answer['lines']}
            for number, line in zip(rows, sent, strict=True):
                if line['sku'] in unknown:
                    self.decide(number, 'left out', line['sku'])
        else:
            for number, line in zip(rows, sent, strict=True):
                self.decide(number, 'refused', line['sku'])
            if entry['call'] == 'order' and answer.get('code') == 'short':
                self.short.append((entry['id'], summed(sent), answer['lines']))

    def level(self, sku):
        """The figures that the service must show for a sku; None if it cannot know it."""
        if sku not in self.received:
            return None
        on_hand = self.received[sku] + self.returned[sku]
        return {'available': on_hand - self.promised[sku], 'reserved': self.promised[sku], 'on_hand': on_hand}


# ---- the checks, each on the whole ledger

def check_rows(ledger):
    for number in sorted(ledger.rows.keys() - ledger.fate.keys()):
        ledger.disagree(f'row {number}: nobody knows what became of it')


def check_share(ledger):
    demand = collections.Counter()
    for row in ledger.rows.values():
        demand[row.sku] += max(0, row.qty)
    for sku, units in demand.items():
        wanted = max(1, units * ledger.share.numerator // ledger.share.denominator)
        if units and sku not in ledger.not_received and ledger.received[sku] != wanted:
            ledger.disagree(f'{sku}: {ledger.received[sku]} units received, the share is {wanted}')


def check_confirmed(ledger):
    for order_id in sorted(ledger.held ^ ledger.confirmed):
        ledger.disagree(f'{order_id}: held and not confirmed, or the other way round')


def check_short(ledger):
    """While orders came in stock only fell, so what was short then is short at the end, before the returns."""
    for order_id, asked, lines in ledger.short:
        asked = {line['sku']: line['qty'] for line in asked}
        if not lines:
            ledger.disagree(f'{order_id}: short of nothing')
        for line in lines:
            left = ledger.received[line['sku']] - ledger.promised[line['sku']]
            if not (line['requested'] == asked.get(line['sku']) and left <= line['available'] < line['requested']):
                ledger.disagree(f'{order_id}: short with {line}, asked {asked.get(line["sku"])}, {left} were left')


def check_counts(ledger):
    own = {'held': len(ledger.held), 'short': len(ledger.short), 'units': sum(ledger.promised.values()),
           'refused': len(ledger.orders) - len(ledger.held) - len(ledger.short)}
    claims = {name: (ledger.claims or {}).get(name) for name in own}
    if claims != own:
        ledger.disagree(f'the replay counted {claims}, the journal gives {own}')


def check_levels(ledger, address):
    """Asks for every sku that was ever sent. Returns how many agree."""
    skus = sorted({row.sku for row in ledger.rows.values()} - ledger.no_code)
    agreed = 0
    for i in range(0, len(skus), PAGE):
        page = skus[i:i + PAGE]
        items = ask(address, page)
        if [item.get('sku') for item in items] != page:
            ledger.disagree('availability: other skus in the answer than were asked for, or another order')
            continue
        for item in items:
            level = ledger.level(item['sku'])
            wanted = {'sku': item['sku'], **(level or {'code': 'unknown_sku'})}
            if level and level['available'] < 0:
                ledger.disagree(f'{item["sku"]}: oversold by {-level["available"]}')
            if item == wanted:
                agreed += 1
            else:
                ledger.disagree(f'{item["sku"]}: the service says {item}, it should be {wanted}')
    return agreed


def ask(address, skus):
    """The levels of up to 1,000 skus; again after a pause if the service was busy or hung up."""
    body = json.dumps({'skus': skus}).encode()
    for _ in range(TRIES):
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        try:
            connection.request('POST', '/v1/availability', body, {'Content-Type': 'application/json'})
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            status, text = None, repr(error)
        finally:
            connection.close()
        if status == 200:
            return json.loads(text)['items']
        if status not in (None, 429, 503):
            break
        time.sleep(1)
    raise RuntimeError(f'availability answered {status}: {text[:200]!r}')


def check_all(options):
    ledger = Ledger(sales_rows(options.orders))
    with open(options.journal, encoding='utf-8') as journal:
        for text in journal:
            ledger.enter(json.loads(text))
    for check in (check_rows, check_share, check_confirmed, check_short, check_counts):
        check(ledger)
    return ledger, check_levels(ledger, options.url.removeprefix('http://').rstrip('/'))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--orders', required=True, metavar='FILE.csv')
    parser.add_argument('--journal', required=True, metavar='FILE')
    parser.add_argument('--url', required=True, help='of the service, such as http://127.0.0.1:8080')
    try:
        ledger, agreed = check_all(parser.parse_args())
    except (OSError, RuntimeError, ValueError, LookupError, TypeError) as error:
        print(f'check    cannot be made: {error!r}')
        return 1
    for text in ledger.troubles[:TOLD_MAX]:
        print(f'check    {text}')
    received, returned, promised = (sum(c.values()) for c in (ledger.received, ledger.returned, ledger.promised))
    print(f'check    {agreed:,} skus agree, {len(ledger.troubles):,} disagreements; by the file: {received:,} units '
          f'received + {returned:,} returned = {promised:,} reserved + {received + returned - promised:,} available')
    return 1 if ledger.troubles else 0


if __name__ == '__main__':
    sys.exit(main())
