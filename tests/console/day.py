"""Checks of the console: the tasks of a shop's day, done with real clicks and keys, which are counted. console.py runs
them.

Each click or tap counts one, so does each key, and each text that is typed, pasted or scanned at one time. A choice in
a list counts two: opening it and choosing. A field that does not have the focus costs a click before it is typed into.
Each task begins on the page Now with nothing focused. The counts stand in tests/README.md, which a check compares.
"""
import csv
import pathlib
import re
import time
import traceback

from goods import PASTE, stock_of
from orders import SAVES
from shop import SKUS, done, fail, opened, order, receive
from stage import FIELD, PATIENCE_S, check

DESK, PHONE = 'desk', 'phone'
WIDTHS = {DESK: 1280, PHONE: 390}
KEYS = {'Enter': '\ue007', 'Down': '\ue015', 'Tab': '\ue004'}


class Hand:
    """Does the steps of a task, and counts them. Each step is a line: a verb, and what it is done to."""

    def __init__(self, page, width):
        self.page, self.width, self.count, self.clicked = page, width, 0, None

    def click(self, name):
        self.count += 1
        press = self.page.press_in_dialog if name == self.clicked else self.page.press
        self.clicked = name
        press(name)
        self.inside()

    def inside(self):
        """Nothing is beyond the edge, which a person would have to move the page for."""
        wide = self.page.js('return document.documentElement.scrollWidth')
        assert wide <= WIDTHS[self.width], f'the page is wider than the screen: {wide}'

    def find(self, text):
        """The field at the top: the key / or a tap, the text, Enter."""
        self.page.until("document.getElementById('search')")
        self.count += 3
        if self.width == PHONE:
            self.page.press('the field at the top', "document.getElementById('search')")
        else:
            self.page.keys('/')
        self.page.until("document.activeElement.id === 'search'")
        was = self.page.js('return location.hash')
        self.page.keys(text, KEYS['Enter'])
        self.page.until('location.hash !== arguments[0]', was)

    def scan(self, text):
        """A scanner types Enter itself."""
        self.find(text)
        self.count -= 1

    def type(self, step):
        name, text = step.split(' = ')
        find = self.page.until(FIELD, name)
        if find != self.page.driver.switch_to.active_element:
            self.count += 1
            self.page.press(name, FIELD)
        self.count += 1
        self.page.keys(text)

    def paste(self, text):
        self.count += 1
        self.page.js(PASTE, text.replace('|', '\n'))

    def choose(self, step):
        name, text = step.split(' = ')
        self.count += 2
        self.page.fill(name, text)

    def key(self, name):
        self.count += 1
        self.page.keys(KEYS[name])

    def sees(self, text):
        self.page.says(text)

    def matches(self, text):
        self.page.until('new RegExp(arguments[0]).test(document.body.innerText)', text)

    def do(self, steps):
        for step in filter(None, map(str.strip, steps.strip().splitlines())):
            verb, _, rest = step.partition(' ')
            getattr(self, verb)(rest.strip())
        self.inside()


TASKS = []


def task(name, steps):
    """A task with its steps; the function that follows makes ready what it is done to (a generator: it yields what the
    steps name), and then judges the result by the API."""
    def kept(function):
        TASKS.append((name, steps, function))
        return function
    return kept


# ---- goods

@task('receive a delivery of 12 lines', '''
    click  Stock
    click  Receive goods
    sees   Scan or type a code
    paste  {delivery}
    click  Receive 78 units
    sees   Receive 78 units in 12 lines
    click  Receive 78 units
    sees   Received 78 units in 12 lines.
''')
def delivery(service, width):
    skus = SKUS[100:112]
    before = [stock_of(service, sku)['berlin'] for sku in skus]
    yield {'delivery': 'sku\tqty\tlocation|' + '|'.join(f'{sku}\t{n}\tberlin' for n, sku in enumerate(skus, 1))}
    assert [stock_of(service, sku)['berlin'] for sku in skus] == [had + n for n, had in enumerate(before, 1)]


@task('count a shelf of 5 skus, blind', '''
    find   shelf-{width}
    click  Count blind
    sees   Not counted.
    type   counted, line 1 = 10
    key    Down
    type   counted, line 2 = 9
    key    Down
    type   counted, line 3 = 10
    key    Down
    type   counted, line 4 = 10
    key    Down
    type   counted, line 5 = 12
    click  Set on hand of 5 lines
    click  Set on hand of 5 lines
    sees   Counted 5 lines: 2 differ
''')
def counting(service, width):
    skus = sorted(SKUS[120:125])
    receive(service, f'shelf {width}', *[(sku, f'shelf-{width}', 10) for sku in skus])
    yield {}
    assert [stock_of(service, sku)[f'shelf-{width}'] for sku in skus] == [10, 9, 10, 10, 12]


@task('print a count sheet of a place', '''
    find   shelf-{width}
    click  Count
    sees   Not counted.
    click  Print
''')
def printing(service, width):
    sku = SKUS[130]
    receive(service, f'printed {width}', (sku, f'shelf-{width}', 3))
    yield {'sku': sku, 'js': 'window.printed = 0; window.print = () => window.printed++'}
    yield f"""window.printed === 1 &&
        [...document.querySelectorAll('table.sheet .sku input')].some(e => e.value === '{sku}')"""


@task('move stock between two places', '''
    find   {sku}
    click  Transfer
    type   Units = 7
    type   To = hamburg
    key    Enter
    sees   Moved 7 units
''')
def moving(service, width):
    sku = SKUS[140 + len(width)]
    before = stock_of(service, sku)
    yield {'sku': sku}
    moved = {'berlin': before['berlin'] - 7, 'hamburg': before['hamburg'] + 7}
    assert stock_of(service, sku) == {**before, **moved}


@task('write off broken units', '''
    find   {sku}
    click  Adjust
    type   Change = -3
    type   Reason = dropped
    key    Enter
    sees   by -3.
''')
def broken(service, width):
    sku = SKUS[150 + len(width)]
    before = stock(service, sku)['on_hand']
    yield {'sku': sku}
    assert stock(service, sku)['on_hand'] == before - 3
    assert done(service.call('GET', f'v1/skus/{sku}/movements'))['items'][0]['reason'] == 'dropped'


@task('recall a sku: stop its sale, see the orders that hold it', '''
    find   {sku}
    click  Stop the sale
    type   Reason = sharp edges
    key    Enter
    sees   is stopped.
    sees   {holder}
''')
def recall(service, width):
    sku, holder = SKUS[160 + len(width)], f'holds-{width}'
    order(service, holder, (sku, 'berlin', 1), confirm=True)
    yield {'sku': sku, 'holder': holder}
    told = stock(service, sku)
    assert (told['for_sale'], told['reason'], told['available']) == (False, 'sharp edges', 0), told
    held = {o['order_id'] for o in done(service.call('GET', f'v1/reservations?sku={sku}&limit=100'))['items']}
    yield f"""[...document.querySelectorAll('[aria-label="Orders that hold units of {sku}"] td:first-child')]
        .map(e => e.innerText).sort().join() === '{",".join(sorted(held))}'"""


@task('set a threshold', '''
    find   {sku}
    click  Threshold
    type   Low at = 5
    key    Enter
    sees   is low at 5 units.
''')
def low(service, width):
    sku = SKUS[170 + len(width)]
    yield {'sku': sku}
    assert stock(service, sku)['thresholds'] == [{'low': 5}], stock(service, sku)


@task('create a location, and stop the sale there', '''
    click  Locations
    click  New location
    type   Code = kiosk-{width}
    key    Enter
    sees   is made.
    click  kiosk-{width}
    click  Stop the sale here
    sees   No order gets units at kiosk-{width} any more
    key    Enter
    sees   is stopped.
''')
def kiosk(service, width):
    yield {}
    made = done(service.call('GET', f'v1/locations/kiosk-{width}'))
    assert (made['kind'], made['for_sale']) == ('stock', False), made


@task('find a sku by its barcode', '''
    scan   4006381300033
    matches {sku}
    sees   Orders that hold units
''')
def barcode(service, width):
    told = stock(service, SKUS[33])
    assert told['barcodes'] == ['4006381300033'], told
    yield {'sku': SKUS[33]}
    yield f"location.hash === '#/sku/{SKUS[33]}'"


@task('add a barcode to a sku', '''
    find   {sku}
    click  Name and barcodes
    type   Barcodes = 590{code}
    click  Change them
    sees   are changed.
''')
def add_barcode(service, width):
    sku, code = SKUS[40 + len(width)], f'12345678{len(width):02}'
    had = stock(service, sku)
    yield {'sku': sku, 'code': code}
    told = stock(service, sku)
    assert told['barcodes'] == had['barcodes'] + ['590' + code] and told['name'] == had['name'], told


@task('see what a sku did last week, and save it as CSV', '''
    find   {sku}
    sees   week {width}
    click  Last 7 days as CSV
    matches 2 movements of [0-9]
''')
def last_week(service, width):
    sku, names = SKUS[180 + len(width)], [f'{when} {width}' for when in ('week before', 'week', 'today of the week')]
    for name, days in zip(names, (7, 6, 0)):
        receive(service, name, (sku, 'berlin', 4))
        service.sql(f"UPDATE movement SET created_at = created_at - INTERVAL {days} DAY WHERE movement_id = '{name}'")
    service.sql(f"""UPDATE movement JOIN movement_line USING (movement_no) JOIN sku USING (sku_id)
        SET movement.created_at = movement.created_at - INTERVAL 30 DAY
        WHERE code = '{sku}' AND movement_id NOT IN ('{"', '".join(names)}')""")
    yield {'sku': sku, 'js': SAVES}
    rows = list(csv.DictReader((yield 'window.saved').lstrip('\ufeff').splitlines()))
    assert [r['movement'] for r in rows] == names[:0:-1], rows


# ---- orders

@task("find a customer's order, and ship half of it", '''
    find   {customer}
    click  Ship
    type   {sku} at berlin, of 4 = 2
    key    Enter
    sees   2 units shipped, as
''')
def half(service, width):
    order(service, f'half-{width}', (SKUS[200], 'berlin', 4), confirm=True, customer=f'ada-{width}@shop.example')
    yield {'customer': f'ada-{width}@shop.example', 'sku': SKUS[200]}
    left = done(service.call('GET', f'v1/reservations/half-{width}'))
    assert (left['state'], left['lines'][0]['qty']) == ('confirmed', 2), left
    part = done(service.call('GET', f'v1/reservations/{left["split_into"][0]}'))
    assert (part['state'], part['lines'][0]['qty']) == ('settled', 2), part


@task('take back two of three', '''
    find   back-{width}
    click  Return
    type   {sku}, of 3 = 2
    key    Enter
    sees   Taken back of back-{width}: 2 ×
''')
def back(service, width):
    order(service, f'back-{width}', (SKUS[201], 'berlin', 3), confirm=True)
    done(service.call('POST', f'v1/reservations/back-{width}/settle', {}))
    before = stock(service, SKUS[201])['on_hand']
    yield {'sku': SKUS[201]}
    assert done(service.call('GET', f'v1/reservations/back-{width}'))['returned'] == [{'sku': SKUS[201], 'qty': 2}]
    assert stock(service, SKUS[201])['on_hand'] == before + 2


@task('see why an order is not shipped', '''
    find   late-{width}
    matches On hold\\s+until it is taken off hold · the address is asked for
    matches Waits\\s+waiting for 2 of 2 units
''')
def why(service, width):
    receive(service, f'promised {width}', (SKUS[202], 'boat', 50))
    order(service, f'late-{width}', (SKUS[202], 'boat', 2), confirm=True)
    done(service.call('PUT', f'v1/reservations/late-{width}/hold',
                      {'until': None, 'reason': 'the address is asked for'}))
    yield {}
    told = done(service.call('GET', f'v1/reservations/late-{width}'))
    assert told['on_hold']['reason'] == 'the address is asked for' and told['lines'][0]['waiting'], told


@task("change an order's lines", '''
    find   more-{width}
    click  Change lines
    type   {sku} at berlin = 5
    key    Enter
    sees   Order more-{width} has 5 units.
''')
def change(service, width):
    order(service, f'more-{width}', (SKUS[203], 'berlin', 2), confirm=True)
    yield {'sku': SKUS[203]}
    assert done(service.call('GET', f'v1/reservations/more-{width}'))['lines'][0]['qty'] == 5


@task('put an order on hold, and lift it', '''
    find   hold-{width}
    click  Put on hold
    type   Reason = fraud check
    key    Enter
    sees   is on hold.
    click  Take off hold
    click  Take off hold
    sees   is not on hold any more.
''')
def hold(service, width):
    order(service, f'hold-{width}', (SKUS[204], 'berlin', 2), confirm=True)
    yield {}
    told = [e['type'] for e in done(service.call('GET', f'v1/reservations/hold-{width}/events'))['items']]
    assert sorted(t for t in told if 'hold' in t) == ['reservation.off_hold', 'reservation.on_hold'], told
    assert 'on_hold' not in done(service.call('GET', f'v1/reservations/hold-{width}'))


@task('release an order', '''
    find   free-{width}
    click  Release
    click  Release 2 units
    sees   Order free-{width} is released.
''')
def release(service, width):
    order(service, f'free-{width}', (SKUS[205], 'berlin', 2), confirm=True)
    yield {}
    assert done(service.call('GET', f'v1/reservations/free-{width}'))['state'] == 'released'


@task('kick a failed order', '''
    find   kick-{width}
    click  Kick
    sees   no label was printed
    click  Kick 2 units
    sees   Order kick-{width} is confirmed.
''')
def kick(service, width):
    order(service, f'kick-{width}', (SKUS[206], 'berlin', 2), confirm=True)
    fail(service, 'no label was printed', f'kick-{width}')
    yield {}
    assert done(service.call('GET', f'v1/reservations/kick-{width}'))['state'] == 'confirmed'


@task('split an order', '''
    find   part-{width}
    click  Split
    type   {sku} at berlin, of 3 = 1
    key    Enter
    sees   1 unit: in part-{width}-
''')
def split(service, width):
    order(service, f'part-{width}', (SKUS[207], 'berlin', 3), confirm=True)
    yield {'sku': SKUS[207]}
    left = done(service.call('GET', f'v1/reservations/part-{width}'))
    part = done(service.call('GET', f'v1/reservations/{left["split_into"][0]}'))
    assert (left['lines'][0]['qty'], part['lines'][0]['qty'], part['state']) == (2, 1, 'confirmed'), (left, part)


@task('ship ten ticked orders together', '''
    click  Orders
    click  confirmed
    {ticks}
    click  Ship 10
    click  Ship 10 orders
    sees   10 orders are shipped.
''')
def together(service, width):
    ids = [o['order_id'] for o in done(service.call('GET', 'v1/reservations?state=confirmed&limit=10'))['items']]
    yield {'ticks': '\n'.join(f'click  Tick {id_}' for id_ in ids)}
    assert {done(service.call('GET', f'v1/reservations/{id_}'))['state'] for id_ in ids} == {'settled'}


@task('see whether a webhook fails', '''
    matches The webhook carrier-{width} fails
''')
def webhook(service, width):
    hook = {'webhook_id': f'carrier-{width}', 'url': 'http://127.0.0.1:9/', 'types': ['movement.receipt']}
    done(service.call('POST', 'v1/webhooks', hook))
    receive(service, f'for the carrier, {width}', (SKUS[209], 'berlin', 1))
    began = time.monotonic()
    while not done(service.call('GET', f'v1/webhooks/carrier-{width}'))['failures']:
        assert time.monotonic() - began < 12 * PATIENCE_S, 'nothing is delivered'
        time.sleep(.2)
    yield {}
    assert done(service.call('GET', f'v1/webhooks/carrier-{width}'))['failures'] > 0


# ---- running them

def stock(service, sku):
    return done(service.call('GET', f'v1/skus/{sku}'))


def run(page, service, width, name, steps, function):
    """Does a task and judges it -> its count. The function yields what the steps name, then what the page must show."""
    made = function(service, width)
    named = next(made)
    page.open(service, 'now')
    page.says('Ready to ship')
    page.js(named.get('js', ''))
    hand = Hand(page, width)
    hand.do(steps.format(width=width, **named))
    try:
        shown = next(made)
        while True:
            shown = made.send(page.until(shown))
    except StopIteration:
        return hand.count


def documented():
    """The counts of tests/README.md, by task."""
    text = (pathlib.Path(__file__).resolve().parents[1] / 'README.md').read_text()
    table = text[text.index('<!-- tasks: begin -->'):text.index('<!-- tasks: end -->')]
    return {name: int(count) for name, count in re.findall(r'^\| ([^|]+) \| (\d+) \|', table, re.M)}


def tasks(page, of, width, wanted):
    counts, wrong = {}, []
    with opened(page, of) as service:
        page.width(WIDTHS[width])
        try:
            for name, steps, function in wanted:
                try:
                    counts[name] = run(page, service, width, name, steps, function)
                except Exception as error:      # the others are done all the same
                    wrong.append(f'{name}: {traceback.format_exception(error)[-2][:200]}{str(error)[:900]}')
                    continue
                print(f'    {width}: {counts[name]:3} {name}')
        finally:
            page.width(WIDTHS[DESK])
    assert not wrong, '\n'.join(wrong)
    known = documented()
    assert counts == {name: known.get(name) for name in counts}, 'tests/README.md has other counts'


@check()
def five_tasks_of_a_day(page, service):
    some = ('receive a delivery of 12 lines', "find a customer's order, and ship half of it", 'write off broken units',
            'take back two of three', 'add a barcode to a sku')
    tasks(page, service, DESK, [t for t in TASKS if t[0] in some])


@check(long=True)
def the_tasks_of_a_day_at_a_desk(page, service):
    tasks(page, service, DESK, TASKS)
    assert set(documented()) == {name for name, *_ in TASKS}, 'tests/README.md has other tasks'


@check(long=True)
def the_tasks_of_a_day_on_a_phone(page, service):
    tasks(page, service, PHONE, TASKS)
