"""Checks of the console: one order, its history, and all that may be done with it. console.py runs them."""
import csv
import time

from goods import TABLE, figures
from shop import fail, order, receive
from stage import check, patience

OFFERED = """[...document.querySelectorAll('#page .buttons button')].map(b => b.innerText).join()"""
HISTORY = f"({TABLE}).map(r => r.what).join()"


def offers(page, *texts):
    """The page of an order has these buttons, in this order, and no other."""
    page.until(f'{OFFERED} === arguments[0]', ','.join(texts))


@check()
def an_order_is_shipped_in_parts_and_comes_back(page, service):
    receive(service, 'parts', ('PART-A', 'parts-hall', 10), ('PART-B', 'parts-hall', 10))
    service.call('PUT', 'v1/locations/parts-shelf', {'kind': 'aside'})
    order(service, 'parts', ('PART-A', 'parts-hall', 3), ('PART-B', 'parts-hall', 2), customer='anna')
    page.open(service, 'order/parts')
    offers(page, 'Confirm', 'Extend', 'Change lines', 'Split', 'Put on hold', 'Release')
    page.press('Confirm')
    page.press('Confirm 5 units')
    offers(page, 'Ship', 'Change lines', 'Split', 'Put on hold', 'Release')
    page.press('Ship')
    page.says('5 units leave the stock: 3 × PART-A at parts-hall, 2 × PART-B at parts-hall.')
    page.fill('PART-A at parts-hall, of 3', '4')
    page.says('Only 3 units of PART-A are there.')
    page.fill('PART-A at parts-hall, of 3', '1')
    page.fill('PART-B at parts-hall, of 2', '0')
    page.says('1 unit leaves the stock: 1 × PART-A at parts-hall. 4 units stay in the order.')
    page.press('Ship 1 unit')
    page.says('1 unit shipped, as parts-')
    page.until(f"{HISTORY} === 'split,confirmed,held'", 'History of parts')
    assert service.call('GET', 'v1/skus/PART-A')[1]['on_hand'] == 9
    page.press('Ship')
    page.press('Ship 4 units')
    page.says('Order parts is shipped.')
    page.until('/State\\s+shipped/.test(document.body.innerText)')
    page.until(f"{HISTORY} === 'shipped,split,confirmed,held'", 'History of parts')
    offers(page, 'Return')
    page.press('Return')
    page.says('How many units came back?')
    page.fill('PART-A, of 2', '3')
    page.says('Only 2 units of PART-A are there.')
    page.fill('PART-A, of 2', '1')
    page.fill('PART-B, of 2', '2')
    page.fill('They are put to', 'parts-shelf')
    page.says('3 units come back: 1 × PART-A at parts-shelf, 2 × PART-B at parts-shelf.')
    page.press('Take back 3 units')
    page.says('Taken back of parts: 1 × PART-A, 2 × PART-B.')
    page.until('/Came back\\s+1 × PART-A, 2 × PART-B/.test(document.body.innerText)')
    at = {p['location']: p['on_hand'] for p in service.call('GET', 'v1/skus/PART-B')[1]['locations']}
    assert at == {'parts-hall': 8, 'parts-shelf': 2}, at
    page.press('Return')                        # what has come back cannot come back again
    page.until("document.querySelectorAll('dialog label').length === 3")
    page.fill('PART-A, of 1', '1')
    page.press('Take back 1 unit')
    page.until('/Came back\\s+2 × PART-A, 2 × PART-B/.test(document.body.innerText)')
    offers(page)


@check()
def the_lines_of_an_order_change(page, service):
    receive(service, 'lines', ('LINE-A', 'lines-hall', 10), ('LINE-B', 'lines-hall', 10))
    order(service, 'lines', ('LINE-A', 'lines-hall', 3), confirm=True)
    page.open(service, 'order/lines')
    page.press('Change lines')
    page.says('Nothing is different.')
    page.fill('LINE-A at lines-hall', '0')
    page.says('Some units stay in this order')
    page.fill('LINE-A at lines-hall', '1')
    page.fill('Sku', 'LINE-B')
    page.fill('Units', '4')
    page.fill('Location', 'lines-hall')
    page.says('The order has 5 units then: -2 × LINE-A at lines-hall, +4 × LINE-B at lines-hall.')
    service.call('POST', 'v1/reservations/lines/split', {'order_id': 'lines 2', 'lines': [{'sku': 'LINE-A', 'location': 'lines-hall', 'qty': 1}]})
    page.press('Change to 5 units')
    page.says('The order has changed meanwhile.')
    page.press('Close')
    page.press('Change lines')
    page.until("document.querySelector('dialog input')?.value === '2'")
    page.fill('LINE-A at lines-hall', '1')
    page.fill('Sku', 'LINE-B')
    page.fill('Units', '4')
    page.fill('Location', 'lines-hall')
    page.press('Change to 5 units')
    page.says('Order lines has 5 units.')
    assert [(line['sku'], line['qty']) for line in service.call('GET', 'v1/reservations/lines')[1]['lines']] == [('LINE-A', 1), ('LINE-B', 4)]
    page.until(f"{HISTORY} === 'lines changed,split,confirmed,held'", 'History of lines')
    page.says('-1 × LINE-A at lines-hall, +4 × LINE-B at lines-hall')


@check()
def an_order_waits_and_is_on_hold(page, service):
    soon = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 86400))
    receive(service, 'waits', ('WAIT-A', 'waits-hall', 1))
    service.call('PUT', 'v1/locations/waits-ship', {'kind': 'incoming', 'expected_at': soon})
    receive(service, 'waits ship', ('WAIT-A', 'waits-ship', 9))
    order(service, 'waits', ('WAIT-A', 'waits-hall', 1), ('WAIT-A', 'waits-ship', 2), confirm=True)
    order(service, 'waits all', ('WAIT-A', 'waits-ship', 1), confirm=True)
    page.open(service, 'orders?sku=WAIT-A')
    rows = page.until(f"(({TABLE}) ?? []).length === 2 && {TABLE}", 'Orders')
    assert {row['state'] for row in rows} == {'confirmed, waiting'}, rows
    page.open(service, 'order/waits%20all')     # nothing of it is there: it cannot be shipped
    offers(page, 'Change lines', 'Put on hold', 'Release')
    page.until('/Waits\\s+waiting for 1 of 1 unit(, since \\S+ \\S+ \\S+)?; all are expected by/.test(document.body.innerText)')
    page.open(service, 'order/waits')
    page.until('/Waits\\s+waiting for 2 of 3 units/.test(document.body.innerText)')
    rows = page.until(TABLE, 'Lines of waits')
    assert [figures(row, 'units') for row in rows] == [(1,), (2,)] and rows[1][''].startswith('waiting, expected '), rows
    page.press('Put on hold')
    page.fill('Reason', 'a question')
    page.fill('For how many days', '2')
    page.press('Put on hold')
    page.says('Order waits is on hold.')
    offers(page, 'Change lines', 'Split', 'Take off hold', 'Release')
    page.until('/On hold\\s+until \\S+ \\S+ \\S+ · a question/.test(document.body.innerText)')
    page.until(f"{HISTORY} === 'put on hold,confirmed,held'", 'History of waits')
    page.press('Take off hold')
    page.press_in_dialog('Take off hold')
    page.says('Order waits is not on hold any more.')
    page.press('Ship')                          # the unit that is there
    page.says('1 unit leaves the stock: 1 × WAIT-A at waits-hall. 2 units stay in the order.')
    page.press('Ship 1 unit')
    page.says('1 unit shipped')
    offers(page, 'Change lines', 'Split', 'Put on hold', 'Release')
    assert page.js("return getComputedStyle([...document.querySelectorAll('#page .buttons button')].at(-1)).marginLeft") != '0px', 'it stands apart'


@check()
def a_worker_has_the_order(page, service):
    order(service, 'at work', ('MUG', 'main', 2), confirm=True)
    task = service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': 'packer', 'limit': 1000, 'lease_s': 3600})[1]['task_id']
    page.open(service, 'order/at%20work')
    page.press('Release')
    page.says('2 units go back: 2 × MUG at main. The worker packer loses it, and may have shipped it already.')
    page.press('Cancel')
    page.press('Ship')
    page.press('Ship 2 units')
    page.says('A worker has the order.')
    page.fill('A worker has it', 'yes')
    page.press('Ship 2 units')
    page.says('Order at work is shipped.')
    service.call('POST', f'v1/tasks/{task}/return')


# ---- a sku's page: the orders that hold it or wait for it, and what moved it

SAVES = """const make = URL.createObjectURL; window.saved = null
    URL.createObjectURL = blob => { blob.text().then(t => window.saved = t); return make.call(URL, blob) }"""
ROWS = "document.querySelectorAll('[aria-label=\"Movements of FLOW\"] tbody tr').length"


@check()
def a_sku_by_its_movements(page, service):
    receive(service, 'flow', ('FLOW', 'flow-hall', 20), reason='first')
    service.call('PUT', 'v1/locations/flow-ship', {'kind': 'incoming'})
    receive(service, 'flow ship', ('FLOW', 'flow-ship', 6))
    order(service, 'flow-1', ('FLOW', 'flow-hall', 3), confirm=True)
    order(service, 'flow-2', ('FLOW', 'flow-hall', 2), ('FLOW', 'flow-ship', 4), confirm=True)
    for n in range(3):
        service.call('POST', 'v1/movements', {'movement_id': f'flow-{n}', 'kind': 'adjustment', 'lines': [{'sku': 'FLOW', 'location': 'flow-hall', 'qty': -1}]})
    service.call('PUT', 'v1/reservations/flow-1/hold', {'until': None})
    service.call('DELETE', 'v1/reservations/flow-1/hold')
    service.call('POST', 'v1/reservations/flow-1/settle', {})
    service.sql("UPDATE movement SET created_at = created_at - INTERVAL 3 DAY WHERE movement_id = 'flow'")
    page.open(service, 'sku/FLOW')
    page.until(f'{ROWS} === 6')
    rows = page.until(TABLE, 'Orders that hold units of FLOW')
    assert [(row['order'], row['state'], *figures(row, 'units')) for row in rows] == [('flow-2', 'confirmed', 6)], rows
    rows = page.until(TABLE, 'Orders that wait for units of FLOW')
    assert [(row['order'], *figures(row, 'units'), row['where']) for row in rows] == [('flow-2', 4, 'flow-ship')], rows
    assert page.until("document.querySelector('[role=img]').ariaLabel") == 'On hand: on hand 14 units'
    page.fill('Kind', 'settlement')
    page.until(f'{ROWS} === 1')
    page.says('1 movement of 6')
    page.fill('Kind', 'adjustment')
    page.until(f'{ROWS} === 3')
    page.fill('Kind', 'count')
    page.says('No movement is like that.')
    page.fill('Kind', '')
    page.js("""const l = [...document.querySelectorAll('main label')].find(l => l.innerText === 'Last day'), f = document.getElementById(l.htmlFor)
        const d = new Date(Date.now() - 2 * 86400000), two = n => String(n).padStart(2, '0')
        f.value = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`; f.dispatchEvent(new Event('input', {bubbles: true}))""")
    page.until(f'{ROWS} === 1')
    page.says('first')
    order(service, 'flow-3', ('FLOW', 'flow-hall', 1))      # a change leaves the filter as it is
    page.until("[...document.querySelectorAll('dl > div')].some(d => /Reserved\\s+3/.test(d.innerText))")
    page.until(f'{ROWS} === 1')


SHORT_PAGES = """const real = window.realFetch = window.fetch; window.unread = true; window.lost = window.late = window.asked = false
    window.fetch = async (url, ...more) => {
        if (!url.href.includes('/movements?')) return real(url, ...more)
        const back = url.searchParams.has('cursor')
        url.searchParams.set('limit', 2)
        if (back && window.lost) throw new TypeError('lost')
        window.asked ||= back
        while (back ? window.late : window.unread) await new Promise(done => setTimeout(done, 20))
        return real(url, ...more)
    }"""


@check()
def last_week_as_csv_is_whole(page, service):
    """It is offered once movements are known. It saves nothing if a page is not answered, and goes on if others come."""
    for n in range(5):
        receive(service, f'week-{n}', ('WEEK', 'main', 1))
    page.open(service, 'stock')
    page.js(f'{SHORT_PAGES}\n{SAVES}')
    page.go('sku/WEEK')
    page.until("[...document.querySelectorAll('dl > div')].some(d => /On hand\\s+5/.test(d.innerText))")
    assert 'Last 7 days' not in page.js('return document.body.innerText')
    page.js('window.unread = false; window.lost = true')
    page.press('Last 7 days as CSV')
    page.until("document.querySelector('main .problem')")
    page.js('window.lost = false; window.late = true')
    assert page.js('return window.saved') is None
    page.press('Last 7 days as CSV')
    page.until('window.asked')
    receive(service, 'week-5', ('WEEK', 'main', 1))
    page.until("document.querySelectorAll('[aria-label=\"Movements of WEEK\"] tbody tr').length === 3")
    page.js('window.late = false')
    rows = list(csv.DictReader(page.until('window.saved').lstrip('\ufeff').splitlines()))
    page.js('window.fetch = window.realFetch')
    assert [row['movement'] for row in rows] == [f'week-{n}' for n in range(5, -1, -1)], rows


@check(keys=True)
def movements_by_key(page, service):
    receive(service, 'by boss', ('FLOW', 'main', 5))
    order(service, 'by boss', ('FLOW', 'main', 1), confirm=True)
    service.key = service.keys['worker']
    try:
        shipped = service.call('POST', 'v1/reservations/by%20boss/settle', {})
    finally:
        service.key = service.keys['admin']
    assert shipped[0] == 200, shipped
    page.open(service, 'sku/FLOW')
    page.js('sessionStorage.setItem("holdfast-key", arguments[0])', service.keys['admin'])
    page.reload()
    page.until(f'{ROWS} === 2')
    for key, kind in (('boss', 'receipt'), ('packer', 'shipment')):
        page.fill('By', key)
        page.until(f'{ROWS} === 1')
        row, = page.js('return ' + TABLE, 'Movements of FLOW')
        assert (row['kind'], row['by']) == (kind, key), row
    page.js('sessionStorage.clear()')


# ---- on a phone

OVER = """[...document.querySelectorAll('button, a, input, select')].filter(e => e.checkVisibility() && !e.closest('.skip') &&
    (e.getBoundingClientRect().right > innerWidth || e.getBoundingClientRect().left < 0)).map(e => e.innerText || e.id).join()"""
BROKEN = "[...document.querySelectorAll('main .code:not(.long)')].filter(e => e.getClientRects().length > 1).map(e => e.innerText).join()"
SIDEWAYS = """[...document.querySelectorAll('main .cards')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth).map(e => e.ariaLabel).join()"""


@check()
def on_a_phone(page, service):
    receive(service, 'phone', ('PHONE-APRON-CANVAS-SAGE-XXL', 'phone-hall-at-the-station', 50), ('P' * 128, 'phone-hall-at-the-station', 9))
    service.call('PUT', 'v1/skus/PHONE-APRON-CANVAS-SAGE-XXL/threshold', {'low': 60, 'location': 'phone-hall-at-the-station'})
    order(service, 'phone', ('PHONE-APRON-CANVAS-SAGE-XXL', 'phone-hall-at-the-station', 3), ('P' * 128, 'phone-hall-at-the-station', 1),
          confirm=True, customer='a.customer-of-the-phone@example.org')
    order(service, 'phone failed', ('PHONE-APRON-CANVAS-SAGE-XXL', 'phone-hall-at-the-station', 1), confirm=True)
    fail(service, 'no carrier came', 'phone failed')
    service.call('POST', 'v1/webhooks', {'webhook_id': 'phone', 'url': 'http://127.0.0.1:9/a/receiver/of/the/phone'})
    page.width(390)
    try:
        for place, ready in (('now', 'Skus'), ('stock?q=phone', 'PHONE'), ('sku/PHONE-APRON-CANVAS-SAGE-XXL', 'movement'), ('orders', 'phone'),
                             ('order/phone', 'confirmed'), ('jobs', 'no carrier came'), ('events', 'phone'), ('locations', 'phone-hall'),
                             ('location/phone-hall-at-the-station', 'What lies there')):
            page.open(service, place)
            page.says(ready)
            time.sleep(.3)
            assert page.js('return document.documentElement.scrollWidth') <= 390, place
            for what in (OVER, BROKEN, SIDEWAYS):
                assert page.js('return ' + what) == '', (place, what, page.js('return ' + what))
        page.open(service, 'orders')
        page.until("document.querySelector('main td:nth-child(3)')")
        assert page.js("return getComputedStyle(document.querySelector('main td:nth-child(3)'), '::before').content") == '"state"'
        assert page.js("return getComputedStyle(document.querySelector('main tr:last-child')).display") == 'block', 'a card'
    finally:
        page.width(1280)
        service.call('DELETE', 'v1/webhooks/phone')
        service.call('POST', 'v1/releases', {'order_ids': ['phone', 'phone failed']})


# ---- plots, and a service that hangs

@check()
def a_plot_after_a_burst(page, service):
    page.open(service, 'now')
    page.says('Skus')
    tops = page.driver.execute_async_script("""const [done] = arguments, quiet = Array.from({length: 600}, (_, i) => 4 + i % 3)
        import('./plots.js').then(({topOf}) => done([
            topOf([quiet]), topOf([quiet.with(300, 5000).with(301, 4000)]), topOf([quiet.map(n => n * 3), [null, 60, null]]), topOf([[null, 0]]),
            topOf([[0, 0, 7, 0]])]))""")
    assert tops == [6, 9, 60, 0, 7], tops      # the usual fills the plot, and the burst is cut off; without one, all is shown
    for n in range(2):
        service.call('POST', 'v1/reservations', {'order_id': f'burst {n}', 'lines': [{'sku': 'MUG', 'qty': 1}]})
    page.fill('Show', 'hour')
    page.says('This service, the last hour')
    page.says('second by second, since ')
    points = "document.querySelectorAll('figure canvas').length"
    page.until(f'{points} >= 9')
    page.press('Orders')                        # what was gathered stays
    page.press('Now')
    page.until(f'{points} >= 9')
    page.says('This service, the last ten minutes')


@check(dies=True)
def a_service_that_hangs(page, service):
    import signal
    page.open(service, 'stock')
    page.says('MUG')
    service.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    try:
        page.says('No answer from the service since', within_s=30)
        took = time.monotonic() - began
    finally:
        service.process.send_signal(signal.SIGCONT)
    print(f'    told after {took:.1f} s')
    assert 2.5 < took < patience.scaled(3 + 5 + 4), took    # a call may begin before the signal; the list asks every 5 s
    page.until("document.getElementById('link').hidden")


# ---- words

@check()
def words_and_zones(page, service):
    from selenium.webdriver.common.keys import Keys
    order(service, 'words', ('MUG', 'main', 1), confirm=True)
    service.call('POST', 'v1/reservations/words/settle', {})
    page.command('Emulation.setTimezoneOverride', timezoneId='Asia/Kolkata')
    try:
        page.open(service, 'order/words')
        page.until(r"/Shipped\s+\S+ \S+ GMT\+5:30/.test(document.body.innerText)")
    finally:
        page.command('Emulation.setTimezoneOverride', timezoneId='')
    order(service, 'words ready', ('MUG', 'main', 1), confirm=True)
    page.go('jobs')                             # a job that waits is no backorder
    page.until("[...document.querySelectorAll('main .state')].some(e => e.innerText === 'waiting' && !e.title)")
    page.go('order/words')
    title = page.until("document.querySelector('main .state')?.title")
    assert title == 'its units have left the house. Holdfast: settled', title
    page.keys('?')
    page.until("document.querySelector('dialog[open]')?.innerText.includes('Holdfast: settle')")
    assert page.js('return document.activeElement.innerText') == 'Close'
    page.keys(Keys.ESCAPE)
    page.until("!document.querySelector('dialog')")
    page.press('?')
    page.says('States of an order')
    page.press('Close')
    page.keys('/', '?')        # in a field it is a question mark
    page.until("document.activeElement.value === '?' && !document.querySelector('dialog')")


# ---- many at once

def saved(page, of='document'):
    """The rows of the file that the button CSV in this part of the page saves."""
    page.js(SAVES)
    page.press('CSV', f"[...({of})?.querySelectorAll('button') ?? []].find(b => b.innerText === 'CSV')")
    return list(csv.DictReader(page.until('window.saved').lstrip('\ufeff').splitlines()))


@check()
def lists_as_csv(page, service):
    receive(service, 'csv', *[(f'CSV-{n:03}', 'csv-hall', 1000 + n) for n in range(130)])
    service.call('PUT', 'v1/skus/CSV-000', {'name': '=1+1, "so"'})
    order(service, 'csv-1', ('CSV-001', 'csv-hall', 2), customer='csv')
    page.open(service, 'stock?q=csv-')
    page.until("document.querySelectorAll('main tbody tr').length === 100")
    rows = saved(page)
    page.says('130 skus saved.')                # all of it, and not what is shown alone
    assert [(r['sku'], r['available'], r['on hand']) for r in rows] == [
        (f'CSV-{n:03}', str(1000 + n - 2 * (n == 1)), str(1000 + n)) for n in range(130)], rows[:3]
    assert rows[0]['name'] == '\'=1+1, "so"', rows[0]     # no formula
    page.open(service, 'orders?customer=csv')
    page.until("document.querySelectorAll('main tbody tr').length === 1")
    row, = saved(page)
    made = service.call('GET', 'v1/reservations/csv-1')[1]
    assert (row['order'], row['state'], row['made'], row['customer']) == ('csv-1', 'held', made['created_at'], 'csv'), row
    page.open(service, 'sku/CSV-001')
    page.says('1 movement')
    row, = saved(page)
    assert (row['kind'], row['units'], row['where']) == ('receipt', '+1001', 'csv-hall'), row


def tick(page, *orders):
    for id_ in orders:
        page.press(f'Tick {id_}')


@check()
def ticked_orders_together(page, service):
    receive(service, 'tick', ('TICK', 'tick-hall', 50))
    for n in range(4):
        order(service, f'tick-{n}', ('TICK', 'tick-hall', n + 1), customer='tick')
    state = {}

    def states():
        for n in range(4):
            state[n] = service.call('GET', f'v1/reservations/tick-{n}')[1]['state']
        return [state[n] for n in range(4)]
    page.open(service, 'orders?customer=tick')
    tick(page, 'tick-0', 'tick-2')
    page.says('2 orders ticked')
    page.press('Confirm 2')
    page.says('2 orders: 4 units are kept: tick-2, tick-0.')
    page.press('Confirm 2 orders')
    page.says('2 orders are confirmed.')
    assert states() == ['confirmed', 'held', 'confirmed', 'held'], state
    page.press('Tick all')
    page.says('4 orders ticked')
    page.press('Ship 2')
    service.call('PUT', 'v1/reservations/tick-2/hold', {'until': None})     # behind the page's back
    page.press('Ship 2 orders')
    page.says('1 order is shipped. 1 was refused: tick-2 (on_hold).')
    assert states() == ['settled', 'held', 'confirmed', 'held'], state
    page.until("[...document.querySelectorAll('.ticked button')].map(b => b.innerText).join() === 'Confirm 2,Release 3'")
    page.press('Release 3')
    page.press('Release 3 orders')
    page.says('3 orders are released.')
    assert states() == ['settled', 'released', 'released', 'released'], state
    for n in (4, 5):
        order(service, f'tick-{n}', ('TICK', 'tick-hall', 1), confirm=True)
    fail(service, 'ticked', 'tick-4', 'tick-5')
    page.open(service, 'orders?state=buried&error=ticked')
    tick(page, 'tick-4', 'tick-5')
    page.press('Kick 2')
    page.press('Kick 2 orders')
    page.says('2 orders are given to the workers again.')
    assert [service.call('GET', f'v1/reservations/tick-{n}')[1]['state'] for n in (4, 5)] == ['confirmed'] * 2
    service.call('POST', 'v1/releases', {'order_ids': ['tick-4', 'tick-5']})
