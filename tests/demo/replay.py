"""The replay: rows of a shop's sales file become receipts, reservations and returns, sent over many connections.

Rows are numbered as a spreadsheet does: the header is row 1. Nothing is judged here: every row with a quantity is sent,
and what the service refuses is left out and reported. Whatever was sent and answered goes into a journal, one JSON
object per line, from which check.py makes its own sums.
"""
import collections
import csv
import fractions
import http.client
import json
import re
import threading
import time
import urllib.parse

LINES_MAX = 1000                     # of one reservation or movement
QTY_MAX = 1_000_000_000              # of one line
ANSWER_S = 30                        # for one answer
GIVE_UP_S = 60                       # for one call with all its repetitions
COLUMNS = ('InvoiceNo', 'StockCode', 'Quantity')

Line = collections.namedtuple('Line', 'row sku qty')           # row is None in a receipt
Document = collections.namedtuple('Document', 'call id lines')  # call: receipt, order, return


class Trouble(Exception):
    """The run cannot go on; the text says why."""


# ---- from the file to documents

class Sales:
    """The contents of a file: units sold of each code, orders, returns, and the rows that say nothing usable."""

    def __init__(self, path):
        self.rows, self.demand, self.unusable = 0, {}, []
        self.orders, self.returns = {}, {}
        with open(path, encoding='utf-8-sig', newline='') as file:
            reader = csv.reader(file, strict=True)
            try:
                self._read(reader)
            except csv.Error as error:
                raise Trouble(f'{path}: line {reader.line_num}: {error}') from error
            except UnicodeDecodeError as error:
                raise Trouble(f'{path}: after line {reader.line_num}: not UTF-8') from error

    def _read(self, reader):
        header = next(reader, [])
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise csv.Error(f'the header lacks {", ".join(missing)}')
        wanted = [header.index(name) for name in COLUMNS]
        for row, fields in enumerate(reader, 2):
            if not fields:
                continue
            self.rows += 1
            if len(fields) != len(header):
                self.unusable.append((row, f'{len(fields)} fields instead of {len(header)}'))
            else:
                self._take(row, *(fields[i] for i in wanted))

    def _take(self, row, invoice, sku, quantity):
        if not re.fullmatch('-?[0-9]{1,18}', quantity, re.ASCII) or int(quantity) == 0:
            self.unusable.append((row, f'quantity `{quantity}`'))
        elif int(quantity) > 0:
            self.demand[sku] = self.demand.get(sku, 0) + int(quantity)
            self.orders.setdefault(invoice, []).append(Line(row, sku, int(quantity)))
        else:
            self.returns.setdefault(invoice, []).append(Line(row, sku, -int(quantity)))

    def receipts(self, share):
        """Stock for every code: its share of what is sold of it, at least one unit."""
        lines = []
        for sku, demand in self.demand.items():
            units = max(1, int(demand * fractions.Fraction(share)))
            while units > 0:
                lines.append(Line(None, sku, min(units, QTY_MAX)))
                units -= QTY_MAX
        pages = range(0, len(lines), LINES_MAX)
        return [Document('receipt', f'receipt-{n}', lines[i:i + LINES_MAX]) for n, i in enumerate(pages, 1)]


def documents(call, invoices):
    """One document per invoice; a longer one than the service takes goes on in INVOICE.2, INVOICE.3 .."""
    for invoice, lines in invoices.items():
        for i in range(0, len(lines), LINES_MAX):
            part = i // LINES_MAX + 1
            yield Document(call, invoice if part == 1 else f'{invoice}.{part}', lines[i:i + LINES_MAX])


# ---- over HTTP

class Client:
    """One keep-alive connection. Every call has an id of ours, so it is simply repeated until it is answered."""

    def __init__(self, address, stop):
        self.address, self.stop = address, stop
        self.connection = None
        self.requests = 0

    def call(self, path, body):
        """POSTs; returns status, whether it was a replay, and the answer. Repeats what may be repeated."""
        data = json.dumps(body, ensure_ascii=False).encode()
        give_up, pause = time.monotonic() + GIVE_UP_S, 0.05
        while True:
            try:
                status, headers, answer = self._once(path, data)
                if status not in (429, 503) or time.monotonic() > give_up:
                    return status, headers.get('Idempotent-Replayed') == 'true', answer
                wait = headers.get('Retry-After', '')
                wait = int(wait) if wait.isdigit() else 1
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if time.monotonic() > give_up:
                    raise Trouble(f'no answer from {self.address} for {GIVE_UP_S} s: {error!r}') from error
                wait, pause = pause, min(2 * pause, 2)
            if self.stop.wait(min(wait, 5)):
                raise Trouble('stopped')

    def _once(self, path, data):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.address, timeout=ANSWER_S)
        self.requests += 1
        self.connection.request('POST', path, data, {'Content-Type': 'application/json'})
        response = self.connection.getresponse()
        text = response.read()
        try:
            return response.status, response.headers, json.loads(text)
        except ValueError as error:
            raise Trouble(f'POST {path} answered {response.status} with {text[:80]!r}, which is no JSON') from error

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


class Replay:
    """Sends documents on many connections at once, keeps the journal and its own counts."""

    def __init__(self, address, connections, journal, alive):
        self.stop = threading.Event()
        self.journal, self.alive = journal, alive
        self.lock = threading.Lock()
        self.clients = [Client(address, self.stop) for _ in range(connections)]
        self.counts = collections.Counter()
        self.left_out = []           # (row, id, sku, why)
        self.refused = []            # (id, why)
        self.failed = []             # why, of what should not happen

    def note(self, **entry):
        text = json.dumps(entry, ensure_ascii=False)
        with self.lock:
            self.journal.write(text + '\n')

    def run(self, docs):
        """Sends all of them and returns the seconds it took."""
        waiting = collections.deque(docs)
        threads = [threading.Thread(target=self._work, args=(client, waiting), daemon=True) for client in self.clients]
        begin = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)
                if not self.alive():
                    raise Trouble('the service has ended')
        if self.stop.is_set():
            raise Trouble(self.failed[0] if self.failed else 'stopped')
        return time.monotonic() - begin

    def _work(self, client, waiting):
        try:
            while waiting and not self.stop.is_set():
                self._send(client, waiting.popleft())
        except IndexError:           # another thread took the last one
            pass
        except Exception as error:   # whatever it is, the run is over and says so
            self.failed.append(str(error) if isinstance(error, Trouble) else repr(error))
            self.stop.set()

    def _send(self, client, doc):
        """One document, again without the lines the service refuses, until it is taken or refused as a whole."""
        path = '/v1/reservations' if doc.call == 'order' else '/v1/movements'
        answer = None
        while doc.lines:
            body = {'lines': [{'sku': line.sku, 'qty': line.qty} for line in doc.lines]}
            body.update({'order_id': doc.id} if doc.call == 'order' else {'movement_id': doc.id, 'kind': doc.call})
            status, replayed, answer = client.call(path, body)
            self.note(call=doc.call, id=doc.id, rows=[line.row for line in doc.lines], sent=body, status=status,
                      replayed=replayed, answer=answer)
            if status in (200, 201):
                return self._taken(client, doc)
            bad = at_fault(doc, status, answer)
            if not bad:
                return self._refused(doc, status, answer)
            self._leave_out(doc, bad, f'{status} {answer.get("code")}, ' + answer.get('detail', ''))
            doc = doc._replace(lines=[line for i, line in enumerate(doc.lines) if i not in bad])
        return self._count(doc.call + '_empty', (doc.id, 'none of its rows was accepted'))

    def _taken(self, client, doc):
        units = sum(line.qty for line in doc.lines)
        with self.lock:
            self.counts[doc.call] += 1
            self.counts[doc.call + '_units'] += units
            self.counts[doc.call + '_lines'] += len(doc.lines)
        if doc.call != 'order':
            return
        status, replayed, answer = client.call(f'/v1/reservations/{urllib.parse.quote(doc.id, "")}/confirm', {})
        self.note(call='confirm', id=doc.id, status=status, replayed=replayed, answer=answer)
        if status == 200:
            self._count('confirmed')
        else:
            self._fail(f'confirm {doc.id}: {status} {answer.get("code")}')

    def _refused(self, doc, status, answer):
        code = answer.get('code')
        if doc.call == 'order' and status == 409 and code == 'short':
            self._count('short')
        elif status in (400, 409, 422):
            self._count(doc.call + '_refused', (doc.id, f'{status} {code}: {answer.get("detail", "")}'))
        else:
            self._fail(f'{doc.call} {doc.id}: {status} {code}')

    def _count(self, what, refusal=None):
        with self.lock:
            self.counts[what] += 1
            if refusal:
                self.refused.append(refusal)

    def _fail(self, why):
        with self.lock:
            self.failed.append(why)

    def _leave_out(self, doc, bad, why):
        with self.lock:
            self.left_out += [(doc.lines[i].row, doc.id, doc.lines[i].sku, why) for i in bad]


def at_fault(doc, status, answer):
    """The lines without which the document may be sent again: those that a refusal names by itself."""
    named = re.match(r'lines\[([0-9]+)\]', answer.get('field', '')) if status == 400 else None
    if named and int(named[1]) < len(doc.lines):
        return {int(named[1])}
    if status == 422 and answer.get('code') == 'unknown_sku' and doc.call == 'return':
        unknown = {line['sku'] for line in answer.get('lines', [])}
        return {i for i, line in enumerate(doc.lines) if line.sku in unknown}
    return set()
