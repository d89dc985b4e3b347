"""Checks of the console for people who handle goods: right figures. console.py runs them."""
import collections
import pathlib
import re
import subprocess
import time

from shop import order, receive
from stage import check

KINDS = {1: 'stock', 2: 'aside', 3: 'incoming'}
STATES = {1: 'held', 2: 'confirmed', 3: 'shipped', 4: 'released', 5: 'expired', 6: 'failed'}


# ---- every figure of every page is what the database has

TABLE = """[...document.querySelectorAll('main table')].filter(t => t.checkVisibility() && t.caption?.innerText.match(arguments[0])).map(t => {
    const heads = [...t.tHead.querySelectorAll('th')].map(c => c.querySelector('.hidden') ? '' : c.innerText)
    return [...t.tBodies[0].rows].map(r => Object.fromEntries([...r.cells].map((c, i) => [heads[i], c.innerText]))) })[0]"""
FACTS = """Object.fromEntries([...document.querySelectorAll('main dl > div')].map(d => [d.firstChild.innerText, d.lastChild.innerText]))"""


def figures(row, *heads):
    """The whole numbers of a row of a table; an empty cell is 0."""
    return tuple(int((row.get(head) or '0').replace(',', '')) for head in heads)


class Books:
    """What the database has of each sku at each location, by SQL alone."""

    def __init__(self, service):
        self.at = {}
        for sku, place, kind, sells, available, reserved in service.sql('''
                SELECT s.code, o.code, o.kind, s.for_sale AND o.for_sale, SUM(t.available), SUM(t.reserved)
                  FROM stock_slot t JOIN sku s USING (sku_id) JOIN location o USING (location_id) GROUP BY s.code, o.code'''):
            free, stopped = (int(available), 0) if sells == '1' or KINDS[int(kind)] == 'aside' else (0, int(available))
            self.at[sku, place] = (KINDS[int(kind)], free, int(reserved), stopped)

    def of(self, sku):
        """available, reserved, not for sale, aside, on hand, incoming, incoming and reserved: over all places."""
        sums = collections.Counter()
        for (code, _), (kind, free, reserved, stopped) in self.at.items():
            if code == sku:
                sums.update({(kind, 'free'): free, (kind, 'reserved'): reserved, (kind, 'stopped'): stopped})
        aside = sums['aside', 'free'] + sums['aside', 'reserved']
        stock = [sums['stock', what] for what in ('free', 'reserved', 'stopped')]
        return (*stock, aside, sum(stock) + aside, sums['incoming', 'free'], sums['incoming', 'reserved'])

    def of_place(self, place):
        """The sums of one place, by the heads of the list of locations."""
        there = [figures for (_, at), figures in self.at.items() if at == place]
        free, reserved, stopped = (sum(f[i] for f in there) for i in (1, 2, 3))
        of_kind = {'stock': {'available': free, 'reserved': reserved, 'on hand': free + reserved + stopped}, 'aside': {'on hand': free + reserved},
                   'incoming': {'incoming': free, 'reserved': reserved}}[there[0][0]] if there else {}
        return {'available': 0, 'incoming': 0, 'reserved': 0, 'on hand': 0, 'not for sale': stopped, 'skus': sum(any(f[1:]) for f in there), **of_kind}

    def there(self, sku, place):
        """The figures by their heads, as a place of its kind has them."""
        kind, free, reserved, stopped = self.at[sku, place]
        return {'stock': {'available': free, 'reserved': reserved, 'not for sale': stopped, 'on hand': free + reserved + stopped},
                'aside': {'aside': free + reserved},
                'incoming': {'free': free, 'reserved': reserved, 'not for sale': stopped}}[kind]


ALL_HEADS = ('available', 'reserved', 'not for sale', 'aside', 'on hand', 'incoming', 'incoming, reserved')


def books_of_a_shop(service):
    """Four places of three kinds, of each of which a sku has another number of units; a stopped sku and a stopped place."""
    service.call('PUT', 'v1/locations/books-shelf', {'kind': 'aside'})
    service.call('PUT', 'v1/locations/books-ship', {'kind': 'incoming'})
    receive(service, 'books', *[(f'BOOK-{n}', place, units + n) for n in range(6) for place, units in (
        ('books-berlin', 20), ('books-hamburg', 1310), ('books-shelf', 70), ('books-ship', 400))], ('BOOK-7', 'books-hamburg', 9))
    order(service, 'books held', ('BOOK-1', 'books-berlin', 3), ('BOOK-1', 'books-hamburg', 30))
    order(service, 'books confirmed', ('BOOK-1', 'books-hamburg', 95), ('BOOK-2', 'books-ship', 11), confirm=True)
    order(service, 'books out', ('BOOK-3', 'books-berlin', 23))
    for code in (4, 5):
        service.call('PUT', f'v1/skus/BOOK-{code}', {'name': f'Büch {code}', 'for_sale': code != 4, **({'reason': 'recall'} if code == 4 else {})})
    service.call('PUT', 'v1/skus/BOOK-0/threshold', {'low': 25, 'location': 'books-berlin'})
    receive(service, 'books flooded', ('BOOK-5', 'books-cellar', 6))
    service.call('PUT', 'v1/locations/books-cellar', {'for_sale': False, 'reason': 'flood'})


@check()
def every_figure_of_the_stock(page, service):
    books_of_a_shop(service)
    books = Books(service)
    page.open(service, 'stock?q=book-')
    page.says('Figures are of all places.')
    rows = page.until(TABLE, 'Stock by sku')
    assert len(rows) == 7, rows
    for row in rows:
        assert figures(row, *ALL_HEADS) == books.of(row['sku']), row
    assert {r['sku']: r[''] for r in rows if r['']} == {'BOOK-4': 'not for sale'}, rows
    places = {place for _, place in books.at if place.startswith('books-')}
    for place in sorted(places):
        page.open(service, f'stock?location={place}')
        page.says(f'Figures are of {place}:')
        rows = page.until(TABLE, f'Stock at {place}')
        assert {(row['sku'], place) for row in rows} == {at for at in books.at if at[1] == place}, rows
        for row in rows:
            expected = books.there(row['sku'], place)
            assert dict(zip(expected, figures(row, *expected))) == expected, (place, row)
            assert set(row) - {'sku', 'name', ''} == set(expected), (place, row)
    page.open(service, 'stock?location=books-berlin')
    rows = page.until(TABLE, 'Stock at books-berlin')
    assert {r['sku']: r[''] for r in rows if r['']} == {'BOOK-3': 'out', 'BOOK-4': 'not for sale'}, rows
    page.fill('Show', 'true')
    page.until(f'({TABLE})?.length === 2', 'Stock at books-berlin')
    rows = page.until(TABLE, 'Stock at books-berlin')
    assert {r['sku']: r[''] for r in rows} == {'BOOK-0': 'low at books-berlin: 20, low at 25', 'BOOK-3': 'out at books-berlin: 0, low at 0'}, rows
    page.fill('Show', '')
    page.fill('Stocked at', 'books-hamburg')    # the figures follow the choice
    page.until(f'({TABLE})?.length === 7', 'Stock at books-hamburg')
    rows = page.until(TABLE, 'Stock at books-hamburg')
    assert figures(next(r for r in rows if r['sku'] == 'BOOK-1'), 'available', 'reserved', 'on hand') == (1186, 125, 1311), rows
    page.fill('Stocked at', '')
    page.says('Figures are of all places.')
    page.until(TABLE, 'Stock by sku')


@check()
def every_figure_of_a_sku(page, service):
    books = Books(service)
    for sku in sorted({sku for sku, _ in books.at if sku.startswith('BOOK-')}):
        page.open(service, f'sku/{sku}')
        page.says('Figures are of all places.')
        rows = page.until(TABLE, f'{sku} by location')
        assert {row['location'] for row in rows} == {place for code, place in books.at if code == sku}, rows
        for row in rows:
            expected = books.there(sku, row['location'])
            if 'free' in expected:
                expected = {'incoming': expected['free'], 'incoming, reserved': expected['reserved'], 'not for sale': expected['not for sale']}
            if 'aside' in expected:
                expected['on hand'] = expected['aside']
            assert {head: figures(row, head)[0] for head in ALL_HEADS} == {head: expected.get(head, 0) for head in ALL_HEADS}, row
        facts = page.until(FACTS)
        free, reserved, stopped, aside, on_hand, incoming, promised = books.of(sku)
        expected = {'Available': free, 'Reserved': reserved, 'Not for sale': stopped, 'Aside': aside, 'On hand': on_hand}
        assert dict(zip(expected, figures(facts, *expected))) == expected, (sku, facts)
        if incoming + promised:
            assert facts['Incoming'].startswith(f'{incoming:,} free, {promised:,} promised to orders'), (sku, facts)
        live = service.sql(f'''SELECT r.order_id, SUM(l.qty) FROM reservation_line l JOIN reservation r USING (reservation_id)
            JOIN sku s USING (sku_id) WHERE s.code = '{sku}' AND r.state IN (1, 2, 6) GROUP BY r.order_id''')
        if live:
            held = page.until(TABLE, f'Orders that hold units of {sku}')
            assert {row['order']: figures(row, 'units')[0] for row in held} == {id_: int(units) for id_, units in live}, held
        moved = service.sql(f'''SELECT m.movement_id, SUM(l.qty) FROM movement_line l JOIN movement m USING (movement_no)
            JOIN sku s USING (sku_id) WHERE s.code = '{sku}' GROUP BY m.movement_id''')
        rows = page.until(TABLE, f'Movements of {sku}')
        assert {row['movement']: sum(int(u.replace(',', '')) for u in row['units'].split()) for row in rows} == {
            id_: int(units) for id_, units in moved}, rows


@check()
def every_figure_of_the_locations(page, service):
    books = Books(service)
    places = [place for place, in service.sql('SELECT code FROM location')]
    page.open(service, 'locations')
    page.says('books-berlin')
    rows = page.until(TABLE, 'Locations')
    assert sorted(row['location'] for row in rows) == sorted(places), rows
    for row in rows:
        expected = books.of_place(row['location'])
        assert {head: figures(row, head)[0] for head in expected} == expected, row
    assert {row['kind'] for row in rows if row['location'] == 'books-cellar'} == {'stock, not for sale'}, rows
    for place in places:
        page.open(service, f'location/{place}')
        page.until(f"'Skus' in ({FACTS})")
        facts = page.js('return ' + FACTS)
        expected = {head.capitalize(): units for head, units in books.of_place(place).items()}
        assert {head: figures(facts, head)[0] for head in expected} == expected, (place, facts)


@check()
def every_figure_of_the_orders(page, service):
    held = {id_: (state, int(units), int(lines)) for id_, state, units, lines in service.sql('''
        SELECT r.order_id, r.state, SUM(l.qty), COUNT(*) FROM reservation r JOIN reservation_line l USING (reservation_id)
         WHERE r.order_id LIKE 'books %' GROUP BY r.order_id''')}
    page.open(service, 'orders')
    page.says('books confirmed')
    rows = [row for row in page.until(TABLE, 'Orders') if row['order'] in held]
    assert {row['order']: (row['state'].split(',')[0], *figures(row, 'units', 'lines')) for row in rows} == {
        id_: (STATES[int(state)], units, lines) for id_, (state, units, lines) in held.items()}, rows
    for id_, (_, units, lines) in held.items():
        page.open(service, f'order/{id_.replace(" ", "%20")}')
        rows = page.until(TABLE, 'Lines of')
        assert len(rows) == lines and sum(figures(row, 'units')[0] for row in rows) == units, rows
        assert figures(page.until(FACTS), 'Units') == (units,), id_


@check()
def every_figure_of_now(page, service):
    page.open(service, 'now')
    page.says('Units, all places')
    books = Books(service)
    sums = collections.Counter()
    for kind, free, reserved, stopped in books.at.values():
        sums.update({(kind, 'free'): free + stopped, (kind, 'reserved'): reserved})
    states = collections.Counter({STATES[int(state)].capitalize(): int(count) for state, count in service.sql(
        'SELECT state, COUNT(*) FROM reservation GROUP BY state')})
    expected = {'Skus': len({sku for sku, _ in books.at}), 'Locations': int(service.sql('SELECT COUNT(*) FROM location')[0][0]),
                'Available, for sale or not': sums['stock', 'free'], 'Reserved': sums['stock', 'reserved'], 'Aside': sums['aside', 'free'],
                'On hand': sums['stock', 'free'] + sums['stock', 'reserved'] + sums['aside', 'free'],
                'Incoming': sums['incoming', 'free'], 'Incoming, reserved': sums['incoming', 'reserved'],
                **{state.capitalize(): states[state.capitalize()] for state in STATES.values()}}
    page.until(f"({FACTS})['Available, for sale or not']?.replaceAll(',', '') === String(arguments[0])",
               expected['Available, for sale or not'], within_s=10)
    facts = page.js('return ' + FACTS)
    assert dict(zip(expected, figures(facts, *expected))) == expected, facts


@check()
def every_figure_of_the_jobs(page, service):
    for n in range(3):
        order(service, f'books late {n}', ('BOOK-0', 'books-hamburg', 1), confirm=True)
    order(service, 'books kept', ('BOOK-0', 'books-hamburg', 1), confirm=True)
    task = service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': 'books', 'limit': 1000})[1]
    service.call('POST', f'v1/tasks/{task["task_id"]}/fail', {'orders': [
        {'order_id': f'books late {n}', 'error': f'books error {n % 2}', 'retry': False} for n in range(3)]})
    service.call('POST', f'v1/tasks/{task["task_id"]}/complete', {})
    order(service, 'books ready', ('BOOK-0', 'books-hamburg', 1), confirm=True)
    page.open(service, 'jobs')
    page.says('books error 1')
    rows = page.until(TABLE, 'Failed orders')
    assert {row['last error']: figures(row, 'orders')[0] for row in rows} == {error: int(count) for error, count in service.sql(
        'SELECT last_error, COUNT(*) FROM reservation WHERE state = 6 GROUP BY last_error')}, rows
    rows = page.until(TABLE, 'Tasks')
    assert {(int(row['task']), *figures(row, 'orders', 'completed', 'failed')) for row in rows} == {
        tuple(map(int, row)) for row in service.sql('SELECT task_id, claimed, completed, failed FROM job_task')}, rows
    ready, = service.sql('SELECT COUNT(*) FROM reservation WHERE state = 2 AND due_at <= UTC_TIMESTAMP(3)')[0]
    assert figures(page.until(TABLE, 'Jobs')[0], 'ready') == (int(ready),), (rows, ready)
    for n in range(3):
        service.call('POST', f'v1/reservations/books%20late%20{n}/release')


# ---- one field finds all

def look_for(page, text, *keys):
    """Types into the field at the top, as a person or a scanner does."""
    page.until("document.getElementById('search')")     # it comes after the first page
    page.keys('/')
    page.until("document.activeElement.id === 'search'")
    page.keys(text, *keys)


HITS = "[...document.querySelectorAll('#hits:not([hidden]) li')].map(e => e.innerText.replace(/\\s+/g, ' ').trim())"


@check()
def one_field_finds_all(page, service):
    from selenium.webdriver.common.keys import Keys
    service.call('PUT', 'v1/skus/FIND-TEAPOT', {'name': 'Teekanne weiß', 'barcodes': ['4006381333931']})
    service.call('PUT', 'v1/locations/find-hall', {'kind': 'stock'})
    receive(service, 'find', ('FIND-CUP', 'find-hall', 50), ('find-cup-2', 'find-hall', 50))
    for n in range(7):
        order(service, f'find-1{n}', ('FIND-CUP', 'find-hall', 1), customer='anna@example.org', reference='web 4711' if n == 3 else 'web')
    page.open(service, 'now')
    page.says('Skus')
    look_for(page, '4006381333931', Keys.ENTER)         # a scanner: the code and Enter, with no pause
    page.until("location.hash === '#/sku/FIND-TEAPOT'")
    page.says('Teekanne weiß')
    page.go('now')
    page.says('Skus')
    look_for(page, 'kanne W', Keys.ENTER)               # a part of the name, in either case
    page.until("location.hash === '#/sku/FIND-TEAPOT'")
    look_for(page, 'find-15', Keys.ENTER)
    page.until("location.hash === '#/order/find-15'")
    look_for(page, 'web 4711', Keys.ENTER)              # the one order of a reference
    page.until("location.hash === '#/order/find-13'")
    look_for(page, 'anna@example.org')
    page.until(f"({HITS})[0] === 'customer anna@example.org 5 orders or more'")
    page.keys(Keys.ENTER)
    page.until("document.querySelectorAll('main tbody tr').length === 7")
    page.press('held')
    page.until("location.hash.includes('state=held') && document.querySelectorAll('main tbody tr').length === 7")
    page.press('shipped')
    page.says('No order is like that.')
    look_for(page, 'web 4')                             # the beginning of one reference
    page.until(f"({HITS})[0]?.startsWith('order find-13')")
    page.keys(Keys.ESCAPE, Keys.ESCAPE)
    look_for(page, 'anna@')                             # .. of a customer with more orders than the list has room for
    page.until(f"({HITS}).at(-1) === 'orders all with a customer that begins so'")
    page.keys(Keys.ARROW_UP, Keys.ENTER)
    page.until("document.querySelectorAll('main tbody tr').length === 7")
    page.press('shipped')
    page.says('No order is like that.')
    look_for(page, 'find-')                             # what begins so, of each kind
    page.until(f"({HITS}).length >= 9")
    hits = page.js('return ' + HITS)
    assert [hit.split()[0] for hit in hits] == ['order'] * 5 + ['orders'] + ['sku'] * 3 + ['location'], hits
    page.keys(*[Keys.ARROW_DOWN] * 7)
    chosen = page.until("document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.innerText")
    assert 'FIND-CUP' in chosen, chosen
    page.keys(Keys.ENTER)
    page.until("location.hash === '#/sku/FIND-CUP'")
    look_for(page, 'FIND-HALL', Keys.ENTER)
    page.says('What lies there')
    look_for(page, 'nothing is like this', Keys.ENTER)
    page.says('Nothing is called so.')
    page.keys(Keys.ESCAPE, Keys.ESCAPE)
    look_for(page, '棚' * 200)                           # of which a reference has no room for all
    page.says('Nothing is called so.')
    page.keys(Keys.ESCAPE, Keys.ESCAPE)
    assert page.js('return document.activeElement.id') != 'search'
    page.go('stock')
    page.press('New sku')                               # a slash in a field is a slash
    page.until("document.activeElement.closest('dialog')")
    page.keys('a/b')
    assert page.js('return document.activeElement.value') == 'a/b'
    page.press('Cancel')
    page.go('orders')
    page.says('Find by')
    page.fill('Find by', 'reference')
    page.fill('What it is', 'web 4711')
    page.press('Find')
    page.until("document.querySelectorAll('main tbody tr').length === 1")
    page.says('find-13')
    page.fill('Find by', 'reference_prefix')
    page.fill('What it is', 'web 4')
    page.press('Find')
    page.until("location.hash.includes('reference_prefix') && document.querySelectorAll('main tbody tr').length === 1")
    page.says('find-13')


# ---- locations, and what is said of a sku

@check()
def locations(page, service):
    page.open(service, 'locations')
    page.press('New location')
    page.fill('Code', 'loc-ship')
    page.fill('Kind', 'incoming')
    page.js("""const e = [...document.querySelectorAll('dialog label')].find(l => l.innerText === 'Expected')
        const f = document.getElementById(e.htmlFor); f.value = '2027-01-31T08:30'; f.dispatchEvent(new Event('input', {bubbles: true}))""")
    page.says('loc-ship is of kind incoming; its units are expected at 2027-01-31 08:30.')
    page.press('Make the location')
    page.says('The location loc-ship is made.')
    assert service.call('GET', 'v1/locations/loc-ship')[1]['expected_at'].startswith('2027-01-31T'), 'it is expected'
    page.press('New location')
    page.fill('Code', 'loc-ship')
    page.says('There is such a location already.')
    page.fill('Code', 'loc-house')
    page.fill('Freed units go to the queue of', 'loc-ship')
    page.press('Make the location')
    page.says('The location loc-house is made.')
    assert service.call('GET', 'v1/locations/loc-house')[1] == {'location': 'loc-house', 'kind': 'stock', 'waits_at': 'loc-ship'}
    receive(service, 'loc', ('LOC-1', 'loc-house', 5), ('LOC-2', 'loc-house', 8), ('LOC-2', 'loc-ship', 80))
    service.call('PUT', 'v1/skus/LOC-2/threshold', {'low': 3, 'location': 'loc-house'})
    page.until("[...document.querySelectorAll('main td:first-child')].some(e => e.innerText === 'loc-house')")
    rows = page.until(TABLE, 'Locations')
    assert next(row for row in rows if row['location'] == 'loc-house')['freed units go to'] == 'loc-ship', rows
    page.press('loc-house')
    page.says('What lies there')
    rows = page.until(f"(({TABLE}) ?? []).length === 2 && {TABLE}", 'Stock at loc-house')
    assert [(row['sku'], *figures(row, 'available', 'on hand', 'low at')) for row in rows] == [('LOC-1', 5, 5, 0), ('LOC-2', 8, 8, 3)], rows
    page.until("document.querySelector('[aria-label=\"Threshold of LOC-1\"]')").click()
    page.fill('Low at', '6')
    page.says('It is low when 6 units or fewer are available, at loc-house.')
    page.press('Low at 6 units')
    page.says('LOC-1 is low at 6 units.')
    page.until(f"{TABLE}[0]['low at'] === '6'", 'Stock at loc-house')
    page.until("/\\blow\\s+6\\b/.test([...document.querySelectorAll('main tr')].find(r => r.innerText.includes('LOC-1')).innerText)")
    page.press('Stop the sale here')
    page.fill('Reason', 'flooded')
    page.press('Stop the sale')
    page.says('The sale at loc-house is stopped.')
    page.says('flooded')
    assert service.call('GET', 'v1/skus/LOC-1')[1]['available'] == 0
    page.press('Sell here again')
    page.says('Orders get units at loc-house again.')
    page.press('Sell again')
    page.says('Sales at loc-house go on.')
    assert service.call('GET', 'v1/skus/LOC-1')[1]['available'] == 5
    page.press('Change')
    page.fill('Kind', 'aside')
    page.press('Change it')
    page.says('Units or promises lie there.')
    page.press('Close')


@check()
def what_is_said_of_a_sku(page, service):
    page.open(service, 'stock')
    page.press('New sku')
    page.fill('Code', 'SAID-1')
    page.fill('Name', 'Tasse weiß')
    page.fill('Barcodes', '4006381333948\nTW-1\n')
    page.says('SAID-1, which is called Tasse weiß, and has 2 barcodes, has no units yet.')
    page.press('Make the sku')
    page.says('Orders that hold units')
    page.until('/Name\\s+Tasse weiß\\s+Barcodes\\s+4006381333948, TW-1/.test(document.body.innerText)')
    page.press('Name and barcodes')
    page.fill('Name', 'Tasse grün')
    page.fill('Barcodes', 'TW-2')
    page.press('Change them')
    page.until('/Name\\s+Tasse grün\\s+Barcodes\\s+TW-2/.test(document.body.innerText)')
    page.press('Limit')
    page.fill('Units for each customer', '3')
    page.press('At most 3 units')
    page.says('SAID-1: at most 3 units for each customer.')
    page.press('Limit')
    page.fill('Units for each customer', '')
    page.press('No limit')
    page.says('SAID-1 has no limit any more.')
    page.press('Threshold')
    page.fill('Low at', '4')
    page.press('Low at 4 units')
    page.says('SAID-1 is low at 4 units.')
    page.until('/Low at\\s+4 all together/.test(document.body.innerText)')
    page.press('Threshold')
    page.until("document.querySelector('dialog input')?.value === '4'")
    page.fill('Threshold', '')
    page.press('Remove the threshold')
    page.says('SAID-1 has no threshold there any more.')
    page.press('Stop the sale')
    page.fill('Reason', 'recall')
    page.press('Stop the sale')
    page.says('The sale of SAID-1 is stopped.')
    page.until('/For sale\\s+not for sale: recall/.test(document.body.innerText)')
    page.press('Sell again')
    page.says('Orders get units of SAID-1 again.')
    page.press('Sell again')
    page.says('Sales of SAID-1 go on.')
    assert service.call('GET', 'v1/skus/SAID-1')[1] == {'sku': 'SAID-1', 'available': 0, 'reserved': 0, 'on_hand': 0, 'locations': [],
                                                        'name': 'Tasse grün', 'barcodes': ['TW-2']}


# ---- the console reads a file as `holdfast import` does

FORMS = [       # [what the file holds, the kind of list]
    ('sku;qty;location\nA;5;paris\nB;7;\n', 'receipt'),
    ('sku\tqty\tnote\nA\t5\tx, y; z\n', 'receipt'),
    ('sku;amount\nA;5\n', 'receipt'),
    ('"a note, with; more; semicolons",sku,qty\nx,A,5\n', 'receipt'),
    ('sep=;\r\nsku;qty\r\nA;5\r\nB;x\r\n', 'receipt'),
    ('\n\nsku;qty\n\nA;5\n   \nB;6', 'receipt'),
    ('sku,qty\nA,5.0000\nB,6.0\nC,7.\nD,6.8800\nE,.0\nF,-1\nG,+1\nH,007\nI,1000000000001\nJ,1e3\nK, 5 \n', 'receipt'),
    ('sku,qty\nA,5.0000\nB,2.000\n', 'receipt'),
    ('sku;qty\nA;5,0000\nB;6,0\nC;7.0000\n', 'receipt'),
    ('sku;qty\nA;1.000\nB;2,000\nC;3.00\nD;0.000\nE;1234.000\n', 'receipt'),
    ('sku,qty,location\nA,5,x\n,,\nB,7,x\n,,\n', 'receipt'),
    ('sku,qty,to\nA,5,x\n', 'receipt'),
    ('sku,qty,sku\nA,5,x\n', 'receipt'),
    ('sku,qty,state,customer\nA,5,x,y\n', 'receipt'),
    ('', 'receipt'),
    ('\n\n', 'receipt'),
    ('SKU,  Qty ,"LOCATION"\nA,5,x\nB,5\nC,5,x,y\n', 'receipt'),
    ('sku,qty\n"A ""big"" one",5\n"two\nlines",6\n" B ",7\n C ,8\n.,9\n..,9\n,9\n', 'receipt'),
    ('sku,qty\nA,"5"  \n"B"  ,6\n', 'receipt'),
    ('sku,qty\nA"x,5\n', 'receipt'),
    ('sku,qty\n"A"x,5\n', 'receipt'),
    ('sku,qty\n"A,5\n', 'receipt'),
    ('sku,qty\rA,5\rB,six\r\rC,7\r', 'receipt'),
    ('sku,qty\r\n"A\r\nB",5\r\nC,x\r\n', 'receipt'),
    ('wrong,sku,qty\nwhy,A,5\n', 'receipt'),
    ('sku,qty\nTasse weiß,5\n🍺,2\nK\u200bX,3\nnb\u00a0sp,4\n\u00a0A,5\n' + 'x' * 128 + ',1\n' + 'x' * 129 + ',1\n', 'receipt'),
    ('sku,qty,location\nA,5,' + 'l' * 65 + '\n', 'receipt'),
    (b'\xef\xbb\xbfsku,qty\nA,5\n', 'receipt'),
    ('sku\tqty\r\nTasse weiß\t5\r\n🍺\t2\r\n'.encode('utf-16'), 'receipt'),
    ('sku\tqty\r\nTasse weiß\t5\r\n'.encode('utf-16-le'), 'receipt'),
    ('sku\tqty\r\nTasse weiß\t5\r\n'.encode('utf-16-be'), 'receipt'),
    ('sku,qty\nTasse weiß,5\nB,6\n'.encode('latin-1'), 'receipt'),
    ('sku,counted\nA,0\nB,5\nA,6\n', 'count'),
    ('sku,counted,location,expected,as_of\nA,1,x,2,2026-11-01T10:00:00Z\nB,1,x,,2026-02-30T10:00:00Z\nC,1,x,-1,\nD,1,,,2026-11-01 10:00\n', 'count'),
    ('sku,counted,short,to\nA,1,backorder,ship\nB,1,,ship\nC,1,maybe,\n', 'count'),
    ('sku,qty\nA,1\n', 'count'),
    ('sku,qty,expected\nA,-5,7\nB,0,\nC,3,\nD,x,\n', 'adjustment'),
    ('sku,from,to,qty\nA,x,y,3\nB,x,x,3\nC,,y,3\nD,x,y,0\n', 'transfer'),
    ('sku,from,qty\nA,x,3\n', 'transfer'),
]
READ = """const [bytes, kind, done] = arguments
    import('/console/csv.js').then(m => done(m.readList(new Uint8Array(bytes), kind)))"""


@check()
def a_file_is_read_as_import_reads_it(page, service):
    file = pathlib.Path(service.command[3]).parent / 'list.csv'
    page.open(service, 'now')
    page.says('Skus')
    for n, (form, kind) in enumerate(FORMS):
        form = form if isinstance(form, bytes) else form.encode()
        file.write_bytes(form)
        read = page.driver.execute_async_script(READ, list(form), kind)
        ran = subprocess.run([service.command[0], 'import', file, '--kind', kind, '--dry-run', '--skip-bad', '--data', service.command[3]],
                             capture_output=True, text=True, errors='replace')
        bad = {int(line): why for line, why in re.findall(r'list\.csv, line (\d+): (?!would be)(.*)', ran.stderr)}
        refused = re.search(r'list\.csv.*(the first line (must|names)|: the column|: not CSV|: a row of more)', ran.stderr)
        if refused and 'wrong' not in read or ('wrong' in read and not refused):
            raise AssertionError((form, read, ran.stderr))
        if refused:
            continue
        assert {row['line']: row['wrong'] for row in read['rows'] if 'wrong' in row} == bad, (form, read, ran.stderr)
        good = [row for row in read['rows'] if 'wrong' not in row]
        told = re.search(r'^(\d+) rows, (-?\d+) units', ran.stdout, re.M)
        assert told and (int(told[1]), int(told[2])) == (len(good), sum(row.get('qty', row.get('counted')) for row in good)), (form, read, ran.stdout)
        if kind != 'receipt' or not good:
            continue
        loaded = subprocess.run([service.command[0], 'import', file, '--skip-bad', '--id', f'form {n}', '--data', service.command[3]],
                                capture_output=True, text=True, errors='replace')
        assert loaded.returncode == 0, (form, loaded.stderr)
        rows = service.sql(f"""SELECT HEX(s.code), HEX(o.code), SUM(l.qty) FROM movement m JOIN movement_line l USING (movement_no)
            JOIN sku s USING (sku_id) JOIN location o USING (location_id) WHERE m.movement_id LIKE 'import-form {n}-%' GROUP BY 1, 2""")
        units = collections.Counter()
        for row in good:
            units[row['sku'], row.get('location', 'main')] += row['qty']
        assert units == {(bytes.fromhex(sku).decode(), bytes.fromhex(place).decode()): int(qty) for sku, place, qty in rows}, (form, units, rows)


# ---- sheets: many lines at once

LINES = """[...document.querySelectorAll('table.sheet tbody tr')].map(r =>
    [...r.querySelectorAll('input')].map(i => i.value).concat(r.querySelector('.name').innerText, r.querySelector('.note').innerText)).filter(l => l[0])"""
PASTE = """const [text] = arguments, data = new DataTransfer()
    data.setData('text/plain', text)
    document.activeElement.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}))"""
DROP = """const [name, bytes] = arguments, dataTransfer = new DataTransfer()
    dataTransfer.items.add(new File([new Uint8Array(bytes)], name))
    document.body.dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true, cancelable: true}))"""


def drop(page, text, name='list.csv'):
    page.js(DROP, name, list(text.encode()))


def stock_of(service, sku):
    return {p['location']: p['on_hand'] for p in service.call('GET', f'v1/skus/{sku}')[1]['locations']}


@check()
def a_delivery_is_received(page, service):
    from selenium.webdriver.common.keys import Keys
    service.call('PUT', 'v1/locations/sheet-hall', {'kind': 'stock'})
    for n in range(1, 7):
        service.call('PUT', f'v1/skus/SHEET-{n}', {'name': f'Sheet {n}', 'barcodes': [f'400638133{n:04}']})
    page.open(service, 'sheet/receipt')
    page.fill('Location', 'sheet-hall')
    page.until("document.querySelector('.acts form input')").click()
    page.keys('4006381330001', Keys.ENTER, '4006381330002', Keys.ENTER, '4006381330001', Keys.ENTER)   # a scanner
    page.until(f"JSON.stringify(({LINES}).map(l => l.slice(0, 2))) === JSON.stringify([['SHEET-1', '2'], ['SHEET-2', '1']])")
    assert [line[3] for line in page.js('return ' + LINES)] == ['Sheet 1', 'Sheet 2']
    page.until("[...document.querySelectorAll('table.sheet td.sku input')].at(-1)").click()
    for text in ('SHEET-3', Keys.TAB, '30', Keys.ENTER, 'SHEET-4', Keys.TAB, '40', Keys.ENTER):     # the keyboard
        page.keys(text)
    page.js(PASTE, 'SHEET-5\t50\tsheet-hall\r\nSHEET-6\t1,060\r\n')     # cells of a spreadsheet
    page.until(f"({LINES}).length === 6 && ({LINES})[5][1] === '1,060'")
    drop(page, 'sku;qty;location;colour\nSHEET-7;70;;red\nSHEET-1;x;;red\nsheet-2;20;sheet-attic;red\n')
    page.says('list.csv: 3 lines, separated by semicolons. These columns are passed over: colour. Nothing is changed yet.')
    page.says('Line 3: qty must be an integer from 1 to 1000000000000, in plain digits')
    page.says('A new sku; there is SHEET-2. sheet-attic is a new location.')
    page.says('1 line is not right yet.')
    assert page.js("return [...document.querySelectorAll('#page .buttons button')].at(-1).disabled")
    page.go('now')              # what was typed is there again
    page.says('Units, all places')
    page.go('sheet/receipt')
    page.until(f"({LINES}).length === 9")
    page.says('Line 3: ')
    bad = "[...document.querySelectorAll('table.sheet tr')].find(r => r.querySelector('.bad'))"
    page.until(f"{bad}.querySelector('.amount input')").clear()
    page.until(f"{bad}.querySelector('.amount input')").send_keys('10')
    page.says('9 lines, 1,283 units. Nothing is changed yet.')
    page.press('Receive 1,283 units')
    page.says('2 new skus, for ever: SHEET-7, sheet-2.')
    page.says('1 new location for sale, for ever: sheet-attic.')
    page.says('Receive 1,283 units in 9 lines at sheet-hall, sheet-attic.')
    assert service.call('GET', 'v1/skus/SHEET-1')[1]['on_hand'] == 0
    page.js("""const real = window.fetch; window.fetch = async (...a) => { const r = await real(...a)
        if (a[1].method === 'POST' && a[0].href.endsWith('/movements')) { window.fetch = real; throw new TypeError('lost') } return r }""")
    page.press('Receive 1,283 units')
    page.press('Send the same again')
    page.says('Received 1,283 units in 9 lines. It had been done before.')
    assert [stock_of(service, f'SHEET-{n}') for n in range(1, 8)] == [{'sheet-hall': n} for n in (12, 1, 30, 40, 50, 1060, 70)]
    assert stock_of(service, 'sheet-2') == {'sheet-attic': 20}
    page.until(f"({LINES}).length === 0")


@check()
def a_shelf_is_counted_blind(page, service):
    from selenium.webdriver.common.keys import Keys
    receive(service, 'shelf', ('SHELF-1', 'shelf-1', 12), ('SHELF-2', 'shelf-1', 7), ('SHELF-3', 'shelf-1', 3), ('SHELF-3', 'shelf-2', 4),
            ('SHELF-4', 'shelf-1', 9))
    order(service, 'shelf', ('SHELF-1', 'shelf-1', 5), confirm=True)
    time.sleep(1.1)     # a count knows its time to a second
    page.open(service, 'location/shelf-1')
    page.press('Count')
    page.press('Fill with what lies there')
    page.until(f"({LINES}).length === 4")
    lines = page.js('return ' + LINES)
    assert [line[0] for line in lines] == ['SHELF-1', 'SHELF-2', 'SHELF-3', 'SHELF-4'], lines
    page.says('Not counted.')
    page.until("document.querySelector('#blind')").click()
    assert not page.js("return document.querySelector('table.sheet tbody .there').checkVisibility()")
    page.until("document.querySelector('table.sheet .amount input')").click()
    page.keys('12', Keys.ARROW_DOWN, '6', Keys.ARROW_DOWN, '5')
    page.says('3 lines, 23 units.')
    assert not re.search(r'[-+]\d', page.js("return document.querySelector('main').innerText")), 'a blind count tells what is known'
    settled = service.call('POST', 'v1/reservations/shelf/settle', {})      # after the shelf was counted, before it is sent
    assert settled[0] == 200, settled
    page.press('Set on hand of 3 lines')
    page.says('Set on hand of 3 lines at shelf-1.')
    page.press('Set on hand of 3 lines')
    page.says('Counted 3 lines: 2 differ: SHELF-2 -1, SHELF-3 +2.')
    assert [stock_of(service, f'SHELF-{n}') for n in (1, 2, 3)] == [{'shelf-1': 7}, {'shelf-1': 6}, {'shelf-1': 5, 'shelf-2': 4}]
    assert stock_of(service, 'SHELF-4') == {'shelf-1': 9}, 'what was not counted stays'
    page.until("document.querySelector('#blind')").click()
    drop(page, 'sku,counted\nSHELF-1,9\nSHELF-9,1\nSHELF-1,9\n')
    page.says('Line 3: There is no such sku.')
    page.says('Line 4: it counts a sku and location again (--sum adds them up)')
    for line in (3, 2):
        page.until(f"document.querySelector('[aria-label=\"Remove line {line}\"]')").click()
    page.says('+2')
    page.press('Set on hand of 1 line')
    page.says(': 1 differs, by +2 in all.')
    page.press('Cancel')
    page.press('Clear')


@check()
def goods_are_moved_and_written_off(page, service):
    receive(service, 'moves', ('MOVE-1', 'move-a', 10), ('MOVE-2', 'move-a', 10), ('MOVE-2', 'move-b', 1))
    service.call('PUT', 'v1/locations/move-ship', {'kind': 'incoming'})
    order(service, 'move', ('MOVE-2', 'move-a', 9), confirm=True)
    page.open(service, 'sheet/transfer?location=move-a')
    page.fill('To', 'move-b')
    page.fill('Scan or type a code', '4*MOVE-1\n')
    page.fill('Scan or type a code', '3*MOVE-2\n')
    page.says('Only 1 free there.')
    page.press('Move 7 units')
    page.says('Move 7 units in 2 lines from move-a to move-b.')
    page.press('Move 7 units')
    page.says('There are not enough units.')
    page.press('Close')
    page.until("document.querySelectorAll('table.sheet .amount input')[1]").clear()
    page.until("document.querySelectorAll('table.sheet .amount input')[1]").send_keys('1')
    page.press('Move 5 units')
    page.says('Move 5 units in 2 lines from move-a to move-b.')
    page.press('Move 5 units')
    page.says('Moved 5 units in 2 lines.')
    assert (stock_of(service, 'MOVE-1'), stock_of(service, 'MOVE-2')) == ({'move-a': 6, 'move-b': 4}, {'move-a': 9, 'move-b': 2})
    page.go('sheet/adjustment?location=move-a')
    page.fill('Reason', 'damaged')
    drop(page, 'sku,qty\nMOVE-1,-2\nMOVE-2,-3\nMOVE-1,4\n')
    page.says('Line 4: its units come in; this sheet takes units out, by a qty below 0')
    page.until("document.querySelector('[aria-label=\"Remove line 3\"]')").click()
    page.fill('If orders have such units', 'move-ship')
    page.press('Write off 5 units')
    page.says('Write off 5 units in 2 lines at move-a. Orders that lose units wait at move-ship.')
    page.press('Write off 5 units')
    page.says('Wrote off 5 units in 2 lines. 1 order waits for others: move.')
    assert (stock_of(service, 'MOVE-1')['move-a'], stock_of(service, 'MOVE-2')['move-a']) == (4, 6)
    moved = service.sql("SELECT kind, reason FROM movement WHERE reason = 'damaged'")
    assert moved == [['2', 'damaged']], moved
