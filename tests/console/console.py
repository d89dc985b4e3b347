#!/usr/bin/python3
"""The console in a real Chromium, against a real service: console.py --holdfast build/holdfast [--long] [--only NAME]

Each check is a function of its own, here or in a file beside this one, run on one service and one browser. After each, the browser's log is empty, nothing
broke the page's policy, and no request left the origin. --long adds the checks that take longer. Ends 0 if all hold,
1 if not; where no Chromium is installed it says so and ends 0.
"""
import argparse
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
from stage import CHECKS, HIDDEN, PATIENCE_S, Page, Service, check, in_group, missing, patience    # noqa: E402  (beside this file)
import goods, latency, orders, sheets, day, reach    # noqa: E402, F401  (their checks come first)
from shop import fail    # noqa: E402

REFUSED = re.compile('status of 4(01|04|09|22)')       # Chromium notes each; a refusal is an answer
CONTRACT_LINK = '[...document.querySelectorAll("nav a")].find(a => a.textContent === "Contract")'


# ---- the frame, and what goes on

@check()
def now(page, service):
    for n in range(1, 4):
        service.call('POST', 'v1/reservations', {'order_id': f'now-{n}', 'lines': [{'sku': 'MUG', 'qty': 10 ** n}]})
    page.open(service, 'now')
    page.says('This service, the last ten minutes')
    page.until('document.querySelectorAll("figure canvas").length >= 10')
    label = page.until('[...document.querySelectorAll("[role=img]")].map(e => e.ariaLabel).find(t => t.startsWith("Orders: granted "))')
    assert re.fullmatch(r'Orders: granted [\d,]+ /s, refused [\d,]+ /s', label), label
    page.until(f"/Skus\\s+{int(service.sql('SELECT COUNT(*) FROM sku')[0][0]):,}\\b/.test(document.body.innerText)")
    page.says('Refused, by code')
    page.press('The last ten minutes as a table')
    granted = "[...document.querySelectorAll('details tbody tr')].reduce((sum, r) => sum + Number(r.cells[1].innerText.replace(',', '')), 0)"
    page.until("document.querySelector('details tbody tr')")
    before = page.js('return ' + granted)       # the checks before this one made orders, too
    for n in range(4, 6):
        service.call('POST', 'v1/reservations', {'order_id': f'now-{n}', 'lines': [{'sku': 'MUG', 'qty': 1}]})
    page.until(f'{granted} === arguments[0]', before + 2)


@check(long=True)
def narrow_and_dark(page, service):
    page.width(390)
    page.dark(True)
    page.open(service, 'now')
    page.until('document.querySelector("figure canvas")')
    for place, ready in (('now', 'Skus'), ('stock?q=MUG', 'MUG'), ('sku/MUG', 'movement'), ('locations', 'main'), ('location/main', 'What lies there'),
                         ('sheet/transfer', 'Scan'), ('sheet/count', 'Blind'), ('orders', 'held'), ('jobs', 'settle'), ('events', 'live')):
        page.go(place)
        page.says(ready)
        assert page.js('return document.documentElement.scrollWidth') <= 390, place
    assert page.js('return getComputedStyle(document.documentElement).backgroundColor') == 'rgb(20, 23, 26)'
    page.width(1280)
    page.dark(False)


JUDGED = '/Nothing is wrong|Look there/.test(document.body.innerText)'    # orders of other checks may wait for long


@check(long=True, dies=True)
def the_service_dies_and_comes_back(page, service):
    page.open(service, 'now')
    page.until(JUDGED, within_s=3 * PATIENCE_S)
    page.js('window.same = true')
    service.die()
    page.says('The service does not answer')
    page.until('document.querySelector("#link:not([hidden])")')
    service.start()
    page.until('document.querySelector("#link[hidden]")', within_s=3 * PATIENCE_S)
    page.until(JUDGED, within_s=3 * PATIENCE_S)
    assert page.js('return window.same'), 'the page was loaded anew'


@check(long=True, keys=True)
def a_key(page, service):
    page.open(service, 'now')
    page.says('This service asks for a key')
    assert page.js('return document.querySelectorAll("#nav a").length') == 0
    page.fill('Key', 'hf_wrong')
    page.press('Go on')
    page.says('The service does not know this key.')
    page.fill('Key', service.key)
    page.press('Go on')
    page.says('This service, the last ten minutes')
    page.says('boss')
    page.reload()
    page.says('This service, the last ten minutes')
    assert service.key not in page.driver.current_url + page.driver.title
    page.press('Forget the key')
    page.says('This service asks for a key')
    assert page.js('return sessionStorage.length') == 0
    assert page.driver.get_cookies() == []


# ---- from first stock to a settled order, by what the page offers alone

@check()
def first_stock_to_settled(page, service):
    page.open(service, 'stock')
    page.press('Receive goods')
    page.fill('Scan or type a code', '1000*CUP\n')
    page.says('A new sku.')
    page.press('Receive 1,000 units')
    page.says('1 new sku, for ever: CUP.')
    page.says('Receive 1,000 units in 1 line at main.')
    page.press('Receive 1,000 units')
    page.says('Received 1,000 units in 1 line.')
    page.go('orders')
    page.press('New order')
    page.fill('Order id', 'O 1/#')
    page.fill('Sku', 'CUP')
    page.fill('Units', '3')
    page.press('Another line')
    page.js("""const all = document.querySelectorAll('dialog .row input'); const set = (i, v) => { all[i].value = v
        all[i].dispatchEvent(new Event('input', {bubbles: true})) }; set(3, 'MUG'); set(4, '2')""")
    page.press('Hold 5 units')
    page.says('Order O 1/# is held with 5 units.')
    page.press('Confirm')
    page.press('Confirm 5 units')
    page.says('Order O 1/# is confirmed.')
    page.until('[...document.querySelectorAll("#page .buttons button")].some(b => b.innerText === "Ship")')
    assert page.js('return document.activeElement.closest("#page .buttons")'), 'the focus went with the button'
    page.press('Split')
    page.until('document.activeElement.selectionEnd === 1')     # a typed text replaces the offered one
    page.fill('CUP at main, of 3', '20')
    page.says('Only 3 units of CUP are there.')
    page.fill('CUP at main, of 3', '1')
    page.fill('Id of the new order', 'O 2')
    page.press('Split off 1 unit')
    page.says('1 unit: in O 2 now, which is confirmed')
    page.says('Lines of O 1/#')
    service.call('POST', 'v1/reservations/O%201%2F%23/split',   # behind the page's back
                 {'order_id': 'O 3', 'lines': [{'sku': 'MUG', 'location': 'main', 'qty': 1}]})
    page.press('Ship')
    page.press('Ship 3 units')
    page.says('Order O 1/# is shipped.')
    assert service.call('GET', 'v1/skus/CUP')[1]['on_hand'] == 998
    page.go('order/O%202')
    page.says('Order O 2')
    page.press('Release')
    page.press('Release 1 unit')
    page.says('Order O 2 is released.')
    assert service.call('GET', 'v1/skus/CUP')[1]['available'] == 998


@check()
def slips_of_the_pen(page, service):
    page.open(service, 'sku/MUG')
    page.press('Transfer')
    page.fill('Units', '1')
    page.fill('To', 'mian')
    page.says('to mian, a new location for sale.')
    page.press('Cancel')
    page.press('Threshold')
    page.until('document.querySelector("dialog button.primary")?.disabled')
    page.fill('Low at', '4')
    page.press('Low at 4 units')
    page.says('MUG is low at 4 units.')
    time.sleep(1.1)     # told just now: it would come along
    page.go('stock')
    page.until('document.querySelector("#status").innerText === ""')
    page.fill('Code, name or barcode', 'NOPE')
    page.says('No sku is like that.')


@check()
def what_an_order_has_to_do_with(page, service):
    for order, more in (('kin 1', {}), ('kin 2', {'replaces': 'kin 1', 'confirm': True})):
        service.call('POST', 'v1/reservations', {'order_id': order, 'lines': [{'sku': 'MUG', 'qty': 4}], **more})
    service.call('POST', 'v1/reservations/kin%202/split', {'order_id': 'kin 3', 'lines': [{'sku': 'MUG', 'qty': 1}]})
    task = service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': 'packer', 'limit': 1000, 'lease_s': 3600})[1]['task_id']
    page.open(service, 'order/kin%203')
    page.until('/Task\\s+task \\d+ of packer, open, lease until/.test(document.body.innerText)')
    page.until('/Split from\\s+kin 2/.test(document.body.innerText)')
    page.press('kin 2')
    page.until('/Replaces\\s+kin 1\\s+Split into\\s+kin 3/.test(document.body.innerText)')
    page.press('kin 1')
    page.until('/Replaced by\\s+kin 2/.test(document.body.innerText)')
    service.call('POST', f'v1/tasks/{task}/return')
    tomorrow = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 86000))
    service.call('POST', 'v1/reservations', {'order_id': 'kin 4', 'confirm': True, 'ship_after': tomorrow, 'lines': [{'sku': 'MUG', 'qty': 1}]})
    page.go('order/kin%204')
    page.until('/Next attempt\\s+\\S+ \\S+ \\S+, in 23 h/.test(document.body.innerText)')
    service.call('POST', 'v1/reservations/kin%204/release')


def released(error):
    """The button that releases the buried orders of this error."""
    return f"""[...[...document.querySelectorAll('tr')].find(r => r.innerText.includes({json.dumps(error)}))?.querySelectorAll('button') ?? []]
        .find(b => b.innerText === 'Release')"""


@check()
def one_unit_is_two_are(page, service):
    service.call('PUT', 'v1/locations/boat', {'kind': 'incoming'})
    service.call('POST', 'v1/movements', {'movement_id': 'boat', 'kind': 'receipt', 'lines': [{'sku': 'PEN', 'qty': 9}, {'sku': 'PEN', 'qty': 9, 'location': 'boat'}]})
    for qty, release, confirm, settle in ((1, '1 unit goes back: 1 × PEN', '1 unit is kept for it: 1 × PEN', '1 unit leaves the stock: 1 × PEN'),
                                          (2, '2 units go back: 2 × PEN', '2 units are kept for it: 2 × PEN', '2 units leave the stock: 2 × PEN')):
        service.call('POST', 'v1/reservations', {'order_id': f'pen-{qty}', 'lines': [{'sku': 'PEN', 'qty': qty}]})
        page.open(service, f'order/pen-{qty}')
        for button, words in (('Release', release), ('Confirm', confirm)):
            page.press(button)
            page.says(words)
            page.press('Cancel')
        page.press('Extend')
        page.says(f'{qty} unit is held until' if qty == 1 else f'{qty} units are held until')
        page.press('Cancel')
        service.call('POST', f'v1/reservations/pen-{qty}/confirm')
        page.press('Ship')
        page.says(settle)
        page.press('Cancel')
    page.press('Split')
    page.fill('Id of the new order', 'pen-3')
    page.fill('PEN at main, of 2', '1')
    page.says('1 unit goes to pen-3; 1 unit stays.')
    page.press('Cancel')
    page.open(service, 'sku/PEN')
    for units, said, done in (('1', '1 unit of PEN has come to', '1 unit of PEN came: 0 units went to orders, 1 unit is for sale.'),
                              ('2', '2 units of PEN have come to', '2 units of PEN came: 0 units went to orders, 2 units are for sale.')):
        page.press('Arrival')
        page.fill('Units', units)
        page.says(said)
        page.press(f'Bring in {units} unit{"s" * (units == "2")}')
        page.says(done)
    service.call('POST', 'v1/reservations/pen-2/release')
    bury(service, 'lost', 1, 'PEN', qty=1)
    bury(service, 'broken', 1, 'PEN', qty=2)
    page.open(service, 'jobs')
    for error, said in (('lost', '1 unit of it goes back.'), ('broken', '2 units of it go back.')):
        page.until(released(error)).click()
        page.says(f'1 order with the error “{error}”: {said}')
        page.press(f'Release {said[:7].strip()} of 1 order')
        page.says('1 order is released.')
        page.until(f'!({released(error)})')     # the rows below have moved: a click finds the right one


# A text on a canvas is seen only by a listener, when it is drawn. The page may draw its own plots meanwhile.
DRAWN = """const [from, to] = arguments, drawn = [], fill = CanvasRenderingContext2D.prototype.fillText
    const done = arguments[arguments.length - 1]
    import('/console/plots.js').then(async ({Plot}) => {
        const plot = new Plot('Times', [{label: 'n'}]), times = []
        CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            if (plot.element.contains(this.canvas)) drawn.push(text)
            return fill.call(this, text, ...rest)
        }
        for (let t = from; t <= to; t += (to - from) / 20) times.push(t)
        document.body.append(plot.element)
        plot.show([times, times.map(() => 1)])
        await new Promise(r => setTimeout(r, 300))
        drawn.length = 0    // it was drawn once or twice; now once
        plot.plot.redraw(false, true)
        await new Promise(r => setTimeout(r, 100))
        CanvasRenderingContext2D.prototype.fillText = fill
        plot.element.remove()
        done(drawn)
    })"""


@check()
def no_second_stands_twice_at_an_axis(page, service):
    page.open(service, 'now')
    page.says('This service, the last ten minutes')
    noon = 1795780800       # seconds, at a whole minute
    for span_s in (2, 4, 9, 60, 600, 43200):
        drawn = page.driver.execute_async_script(DRAWN, noon, noon + span_s)
        times = [text for text in drawn if re.fullmatch(r'\d\d:\d\d(:\d\d)?', text)]
        assert len(times) >= 2 and len(times) == len(set(times)), (span_s, drawn)


@check()
def a_dialog_names_what_is_now(page, service):
    """A dialog shows changes since the page's last poll."""
    service.call('POST', 'v1/movements', {'movement_id': 'bowls', 'kind': 'receipt', 'lines': [{'sku': 'BOWL', 'qty': 10}]})
    page.open(service, 'sku/BOWL')
    page.says('1 movement')
    page.js(HIDDEN)
    service.call('POST', 'v1/movements', {'movement_id': 'broken', 'kind': 'adjustment', 'lines': [{'sku': 'BOWL', 'qty': -3}]})
    page.press('Count')
    page.says('On hand are 7 units at main.')
    page.press('Cancel')
    bury(service, 'as of now', 3)
    page.open(service, 'jobs')
    page.says('as of now')
    page.js(HIDDEN)
    kick = """[...[...document.querySelectorAll('tr')].find(r => r.innerText.includes('as of now')).querySelectorAll('button')]
        .find(b => b.innerText === 'Kick')"""
    for left, said in ((2, '2 orders with the error “as of now” go back'), (1, '1 order with the error “as of now” goes back')):
        service.call('POST', f'v1/reservations/as%20of%20now%20{left}/kick')
        page.until(kick).click()
        page.says(said)
        page.press('Cancel')
    service.call('POST', 'v1/reservations/as%20of%20now%200/kick')
    page.until(kick).click()
    page.says('No failed order is left with the error “as of now”.')
    service.call('PUT', 'v1/jobs/settle', {'paused': True})
    page.press('Pause')
    page.says('The job settle is paused by now.')
    service.call('PUT', 'v1/jobs/settle', {'paused': False})


@check(long=True)
def units_that_orders_lose(page, service):
    service.call('PUT', 'v1/locations/supplier', {'kind': 'incoming'})
    service.call('POST', 'v1/movements', {'movement_id': 'tubs', 'kind': 'receipt', 'lines': [{'sku': 'TUB', 'qty': 5}]})
    for order, qty in (('T1', 2), ('T2', 2)):
        service.call('POST', 'v1/reservations', {'order_id': order, 'confirm': True, 'lines': [{'sku': 'TUB', 'qty': qty}]})
    page.open(service, 'sku/TUB')
    page.press('Adjust')
    page.fill('Change', '-2')
    page.press('Take out 2 units')
    page.says('short')
    page.fill('If orders have such units', 'supplier')
    page.says('Orders that lose units wait at supplier.')
    page.press('Take out 2 units')
    page.says('Adjusted TUB by -2. 1 order waits for others: T2.')
    page.until('/supplier\\s+incoming/.test(document.body.innerText)')
    page.press('Count')
    page.fill('Location', 'main')
    page.fill('Counted', '1')
    page.fill('If orders have such units', 'supplier')
    page.press('Set on hand to 1 unit')
    page.says('Counted TUB: -2 on hand. 2 orders wait for others: T')
    page.go('order/T1')
    page.says('waiting')


@check(long=True)
def movements_of_a_sku(page, service):
    service.call('PUT', 'v1/locations/shelf', {'kind': 'aside'})
    service.call('POST', 'v1/movements', {'movement_id': 'pot', 'kind': 'receipt', 'lines': [{'sku': 'POT', 'qty': 50}]})
    page.open(service, 'sku/POT')
    page.press('Transfer')
    page.fill('To', 'shelf')
    page.fill('Units', '8')
    page.press('Move 8 units')
    page.says('Moved 8 units of POT from main to shelf.')
    page.until('/shelf\\s+aside\\s+8\\s+8/.test(document.body.innerText)')
    page.press('Count')
    page.fill('Location', 'main')
    page.fill('Counted', '40')
    page.says('2 units fewer than the 42 that were known')
    service.call('POST', 'v1/movements', {'movement_id': 'between', 'kind': 'adjustment', 'lines': [{'sku': 'POT', 'qty': -1}]})
    page.press('Set on hand to 40 units')
    page.says('On hand is not what was expected any more.')
    page.says('count_mismatch')
    page.press('Close')
    page.press('Adjust')
    page.fill('Change', '-6')
    page.press('Take out 6 units')
    page.says('Adjusted POT by -6.')
    page.says('4 movements')
    page.until('document.querySelector("[role=img]")?.ariaLabel === "On hand: on hand 43 units"')


@check(long=True)
def skus_are_filtered(page, service):
    lines = [{'sku': f'Y{n:03}', 'qty': n or 1} for n in range(130)]     # no sku of another check begins so
    service.call('POST', 'v1/movements', {'movement_id': 'filtered', 'kind': 'receipt', 'lines': lines})
    service.call('POST', 'v1/movements', {'movement_id': 'out', 'kind': 'adjustment', 'lines': [{'sku': 'Y000', 'qty': -1}]})
    service.call('PUT', 'v1/skus/Y007/threshold', {'low': 7})
    page.open(service, 'stock')


    def lists(table, *skus):
        """The page has a table of this name, and it has these skus."""
        page.until('''(t => t && [...t.tBodies[0].rows].map(r => r.cells[0].innerText).join() === arguments[1])(
            [...document.querySelectorAll('main table')].find(t => t.checkVisibility() && t.caption.innerText === arguments[0]))''', table, ','.join(skus))
    every, there = 'Stock by sku, all places', 'Stock at {}, by sku'
    page.fill('Code, name or barcode', 'Y')
    lists(every, *[f'Y{n:03}' for n in range(100)])
    page.press('Show more')
    lists(every, *[f'Y{n:03}' for n in range(130)])
    page.says('130 skus')
    page.fill('Code, name or barcode', 'y00')
    ten = [f'Y{n:03}' for n in range(10)]
    lists(every, *ten)
    page.fill('Show', 'true')
    lists(every, 'Y000', 'Y007')
    page.says('low all together: 7, low at 7')
    page.reload()
    lists(every, 'Y000', 'Y007')
    page.fill('Show', '')
    page.fill('Stocked at', 'main')
    lists(there.format('main'), *ten)
    service.call('POST', 'v1/movements', {'movement_id': 'there', 'kind': 'receipt', 'lines': [{'sku': 'Y009', 'location': 'there', 'qty': 2}]})
    page.reload()
    lists(there.format('main'), *ten)
    page.fill('Stocked at', 'there')
    lists(there.format('there'), 'Y009')
    page.until("document.querySelector('tbody tr').innerText.split(/\\s+/).slice(0, 4).join() === 'Y009,2,0,2'")
    page.fill('Stocked at', 'main')
    lists(there.format('main'), *ten)
    page.press('Y007')
    page.says('All stock')


# ---- calls that fail

@check(dies=True)
def a_call_without_an_answer_is_sent_again_as_it_was(page, service):
    page.open(service, 'sku/MUG')
    page.says('All stock')
    before = service.call('GET', 'v1/skus/MUG')[1]['on_hand']
    page.press('Receive')
    page.fill('Units', '7')
    page.says('Receive 7 units of MUG at main.')
    service.die()
    page.press('Receive 7 units')
    page.says('The service did not answer.')
    assert page.js('return [...document.querySelectorAll("dialog input")].every(e => e.disabled)'), 'it could be changed'
    service.start()
    page.press('Send the same again')
    page.says('Received 7 units of MUG at main.')
    assert service.call('GET', 'v1/skus/MUG')[1]['on_hand'] == before + 7


@check()
def an_answer_that_was_lost_is_not_done_twice(page, service):
    before = service.call('GET', 'v1/skus/MUG')[1]['on_hand']
    page.open(service, 'sku/MUG')
    page.press('Receive')
    page.fill('Units', '7')
    page.js("""const real = window.fetch; window.fetch = async (...a) => { const r = await real(...a)
        if (a[1].method === 'POST') { window.fetch = real; throw new TypeError('lost') } return r }""")
    page.press('Receive 7 units')
    page.press('Send the same again')
    page.says('It had been done before.')
    assert service.call('GET', 'v1/skus/MUG')[1]['on_hand'] == before + 7


@check(long=True)
def a_refusal_says_why(page, service):
    page.open(service, 'orders')
    page.press('New order')
    page.fill('Sku', 'MUG')
    page.fill('Units', '1000000')
    page.press('Hold 1,000,000 units')
    page.says('There are not enough units.')
    page.until('/MUG\\s+main\\s+1,000,000\\s+[\\d,]+/.test(document.querySelector("dialog").innerText)')
    page.fill('Units', '1')
    page.press('Hold 1 unit')
    page.says('is held with 1 unit.')


# ---- jobs

def bury(service, error, count, sku='MUG', qty=2):
    ids = [f'{error} {n}'[-60:] for n in range(count)]
    service.call('POST', 'v1/reservations/batch', {'reservations': [
        {'order_id': i, 'confirm': True, 'lines': [{'sku': sku, 'qty': qty}]} for i in ids]})
    fail(service, error, *ids, others='complete')


@check(long=True)
def buried_orders(page, service):
    bury(service, 'no carrier', 4)
    bury(service, 'no address', 3)
    page.open(service, 'jobs')
    page.says('no carrier')
    row = """[...document.querySelectorAll('tr')].find(r => r.innerText.includes(arguments[0]))"""
    page.until(f"{row} && [...{row}.querySelectorAll('button')].find(b => b.innerText === 'Release')", 'no address').click()
    page.says('3 orders with the error “no address”: 6 units of them go back.')
    page.press('Release 6 units of 3 orders')
    page.says('3 orders are released.')
    page.until(f"!({row})", 'no address')
    page.until(f"[...{row}.querySelectorAll('button')].find(b => b.innerText === 'Kick')", 'no carrier').click()
    page.press('Kick 4 orders')
    page.says('4 orders went back to the workers.')
    page.says('No order has failed.')
    bury(service, 'to be lost', 1)
    service.sql("UPDATE reservation SET last_error = NULL WHERE order_id = 'to be lost 0'")    # by hand: workers name one
    page.press('Now')
    page.press('Jobs')
    page.until(f"{row} && [...{row}.querySelectorAll('button')].find(b => b.innerText === 'Kick')", 'none').click()
    page.says('1 order without an error goes back to the workers.')
    page.press('Kick 1 order')
    page.says('1 order went back to the workers.')
    page.says('No order has failed.')
    page.says('packer')


@check(long=True)
def a_job_is_paused(page, service):
    page.open(service, 'jobs')
    page.press('Pause')
    page.fill('Reason', 'the carrier is down')
    page.press('Pause settle')
    page.says('The job settle is paused.')
    page.says('the carrier is down')
    assert service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': 'w'})[0] == 204
    page.go('now')
    page.says('The job settle is paused: the carrier is down')
    page.go('jobs')
    page.press('Resume')
    page.press('Resume settle')
    page.says('The job settle goes on.')


# ---- events, webhooks, the contract

class Receiver(http.server.BaseHTTPRequestHandler):
    status, got, body = 204, 0, b''

    def do_POST(self):
        Receiver.got += 1
        self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(Receiver.status)
        self.send_header('Content-Length', str(len(Receiver.body)))
        self.end_headers()
        self.wfile.write(Receiver.body)

    def log_message(self, *_):
        pass


@check(long=True)
def the_feed_is_live(page, service):
    page.open(service, 'events')
    page.says('Goes on live.')
    service.call('POST', 'v1/reservations', {'order_id': 'feed-1', 'lines': [{'sku': 'MUG', 'qty': 1}]})
    page.says('feed-1')
    page.fill('Types', 'movement')
    page.says('movement.receipt')
    page.until('!document.body.innerText.includes("feed-1")')
    page.fill('Types', 'reservation.released')
    service.call('POST', 'v1/reservations/feed-1/release')
    page.says('feed-1')
    page.press('Stop')
    page.says('Stopped.')


@check(long=True)
def a_webhook(page, service):
    receiver = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    Receiver.status = 204
    page.open(service, 'events')
    page.press('New webhook')
    page.fill('Id', 'door')
    page.fill('Address', f'http://127.0.0.1:{receiver.server_port}/')
    page.fill('Types', 'reservation')
    page.press('Make the webhook')
    page.says('whsec_')
    page.press('I have it')
    page.press('door')
    page.press('Ping')
    page.says('Its receiver answered 204')
    Receiver.status = 500
    page.press('Ping')
    page.says('Its receiver answered 500')
    service.call('POST', 'v1/reservations', {'order_id': 'hooked', 'lines': [{'sku': 'MUG', 'qty': 1}]})
    page.says('failing')
    page.until('/reservation.held\\s+\\S+\\s+500/.test(document.body.innerText)')
    page.go('now')
    page.says('The webhook door fails')
    page.go('webhook/door')
    Receiver.status = 204
    page.press('Enable')
    page.press_in_dialog('Enable')
    page.says('The webhook door is active.')
    page.until('/reservation.held\\s+\\S+\\s+204/.test(document.body.innerText)')
    page.press('Rotate the secret')
    page.press('Make a new secret')
    page.says('whsec_')
    page.press('I have it')
    page.press('Remove')
    page.press('Remove the webhook')
    page.says('The webhook door is removed.')
    page.says('There is no webhook.')
    receiver.shutdown()


@check(long=True)
def the_contract(page, service):
    page.open(service, 'now')
    page.says('Skus')
    link = page.js(f'return {CONTRACT_LINK}.href')
    read = page.driver.execute_async_script('fetch(arguments[0]).then(a => a.text()).then(arguments[1])', link)
    assert read == pathlib.Path('api/openapi.yaml').read_text()


@check(long=True, keys=True)
def the_contract_is_saved_with_a_key(page, service):
    page.open(service, 'now')
    page.js('sessionStorage.setItem("holdfast-key", arguments[0])', service.key)
    page.reload()
    page.says('boss')
    page.js('''URL.createObjectURL = file => { window.saved = file; return '#/now' }
        URL.revokeObjectURL = () => 0''')
    page.press('Contract')
    page.until('window.saved')
    read = page.driver.execute_async_script('window.saved.text().then(arguments[0])')
    assert read == pathlib.Path('api/openapi.yaml').read_text()
    page.press('Forget the key')


@check(long=True)
def what_is_wrong_is_said(page, service):
    """Faults that a test does not wait for are told from answers that are made up."""
    page.open(service, 'now')
    page.says('Skus')
    told = page.driver.execute_async_script("""const [done] = arguments, at = s => new Date(Date.now() + s * 1000).toISOString()
        const task = {state: 'open', worker: 'packer', claimed: 5, completed: 1, failed: 1}
        import('./now.js').then(m => done([
            ...m.ofTasks([{...task, task_id: 7, lease_until: at(-90)}, {...task, task_id: 8, lease_until: at(9)},
                          {...task, task_id: 9, state: 'done', lease_until: at(-90)}]),
            ...m.ofJobs([{job: 'settle', paused: false, ready: 3, open: 0, workers: []}, {job: 'expire', paused: false, ready: 3, open: 3, workers: []},
                         {job: 'deliver', paused: false, ready: 1, open: 0, workers: []}], {oldest_confirmed_ms: 120000, oldest_expired_ms: 120000}),
            ...m.ofJobs([{job: 'deliver', paused: false, ready: 0, open: 0, workers: []}], null,
                        [{state: 'active', cursor_age_s: 90}, {state: 'active', cursor_age_s: 9}, {state: 'off', cursor_age_s: 90}])]
                .filter(Boolean).map(w => { const p = document.createElement('p'); p.append(...[w.what].flat()); return p.textContent })))""")
    assert told == ['The lease of task 7 ran out 1 min ago: packer has 3 orders of it.',
                    'No process runs the job settle: 3 orders wait, the oldest for 2 min.',
                    'No process delivers events: 1 webhook waits.',
                    'No process delivers events: 1 webhook waits.'], told


@check(long=True)
def an_unknown_sku_is_said_once(page, service):
    page.open(service, 'sku/NOPE')
    page.until("[...document.querySelectorAll('main .problem')].filter(p => p.offsetParent).length === 1 && !/Orders that hold units|by location|Movements of|On hand/.test(document.body.innerText)")
    page.open(service, 'sku/MUG')
    page.says('Orders that hold units')


@check(long=True)
def an_arrival(page, service):
    service.call('PUT', 'v1/locations/ship', {'kind': 'incoming'})
    service.call('POST', 'v1/movements', {'movement_id': 'promise', 'kind': 'receipt', 'lines': [{'sku': 'VASE', 'qty': 20, 'location': 'ship'}]})
    service.call('POST', 'v1/reservations', {'order_id': 'vase', 'confirm': True, 'lines': [{'sku': 'VASE', 'qty': 4, 'location': 'ship'}]})
    page.open(service, 'sku/VASE')
    page.until('/vase\\s+confirmed\\s+4\\s+ship/.test(document.body.innerText)')
    page.press('Arrival')
    page.fill('Units', '10')
    page.press('Bring in 10 units')
    page.says('10 units of VASE came: 4 units went to orders, 6 units are for sale.')


@check(long=True)
def by_keyboard_alone(page, service):
    from selenium.webdriver.common.keys import Keys
    page.open(service, 'stock')
    page.says('Receive goods')

    def tab_to(text):
        for _ in range(300):
            page.keys(Keys.TAB)
            if page.js('return document.activeElement.innerText') == text:
                return
        raise AssertionError(f'no way to {text} by Tab')
    tab_to('Receive goods')
    page.keys(Keys.ENTER)
    page.until("document.activeElement.closest('form')?.innerText.includes('Scan')")
    page.keys('5*0KEY', Keys.ENTER)
    page.says('A new sku.')
    tab_to('Receive 5 units')
    page.keys(Keys.ENTER)
    page.until('document.activeElement.closest("dialog")')
    tab_to('Receive 5 units')
    page.keys(Keys.ENTER)
    page.says('Received 5 units in 1 line.')
    page.go('stock')
    page.says('0KEY')
    tab_to('0KEY')
    page.keys(Keys.ENTER)
    page.says('Orders that hold units')
    assert page.js('return document.activeElement.tagName') == 'H1'
    tab_to('Count')
    page.keys(Keys.ENTER)
    page.until('document.querySelector("dialog")')
    page.keys(Keys.ESCAPE)
    page.until('!document.querySelector("dialog")')
    assert page.js('return document.activeElement.innerText') == 'Count'
    time.sleep(6)
    assert page.js('return document.activeElement.innerText') == 'Count', 'a poll took the focus'


class Prefix(http.server.BaseHTTPRequestHandler):
    """A proxy that serves the service under /hf."""

    def do_GET(self):
        asked = http.client.HTTPConnection(*self.server.to)
        asked.request(self.command, self.path.removeprefix('/hf') or '/', headers=dict(self.headers))
        answer = asked.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() != 'content-length':
                self.send_header(name, value)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@check(long=True)
def behind_a_prefix(page, service):
    proxy = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Prefix)
    host, _, port = service.at.partition(':')
    proxy.to = host, int(port)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    page.driver.get(f'http://127.0.0.1:{proxy.server_port}/hf/')
    page.says('Skus')
    assert page.driver.current_url.startswith(f'http://127.0.0.1:{proxy.server_port}/hf/console/'), page.driver.current_url
    link = page.js(f'return {CONTRACT_LINK}.href')
    assert link == f'http://127.0.0.1:{proxy.server_port}/hf/openapi.yaml', link
    assert not page.complaints()
    page.driver.get('about:blank')
    proxy.shutdown()


# ---- roles, names, and how it is read

@check(long=True, keys=True)
def a_role_sees_what_it_may(page, service):
    bury(service, 'of a role', 2)
    every = ['Receive goods', 'New location', 'New order', 'Pause', 'Kick all', 'Release all', 'New webhook']
    for role, offers in (('read', []), ('order', ['New order', 'Kick all', 'Release all']), ('worker', ['Kick all']), ('admin', every)):
        page.driver.get('about:blank')
        page.open(service, 'stock')
        page.js('sessionStorage.setItem("holdfast-key", arguments[0])', service.keys[role])
        page.reload()
        page.says('barcode')
        seen = ''
        for place, ready in (('stock', 'sku'), ('locations', 'kind'), ('orders', 'Find by'), ('jobs', 'of a role'), ('events', 'Goes on live')):
            page.go(place)
            page.says(ready)
            seen += page.js('return [...document.querySelectorAll("button, a.button")].map(b => b.innerText).join("|") + "|"')
        assert [text for text in every if text in seen] == offers, (role, seen)
    page.js('sessionStorage.clear()')


@check(keys=True)
def a_late_refusal_forgets_no_key(page, service):
    """A call that was made before the key was entered is refused after it."""
    page.open(service, 'stock')
    page.says('This service asks for a key')
    kept = page.driver.execute_async_script('''const [key, done] = arguments
        import('/console/api.js').then(async ({call, session}) => {
            const before = call('GET', 'stats')
            session.keep(key)
            const {status} = await before
            done([status, session.key()])
        })''', service.keys['admin'])
    assert kept == [401, service.keys['admin']], kept
    page.js('sessionStorage.clear()')


HOSTILE = ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '"\'&quot;--', '{{7*7}}${7*7}']
HOSTILE_TEXT = HOSTILE + ['倉庫 カップ 컵', '\u202eright to left\u2067', '</td></table><h1>', 'javascript:alert(1)']


@check(long=True)
def hostile_names(page, service):
    for n, name in enumerate(HOSTILE):
        text = ' '.join(HOSTILE_TEXT)
        sku = name[:64]
        made = service.call('POST', 'v1/movements', {'movement_id': f'{name}-{n}'[:60], 'kind': 'receipt', 'reason': text, 'reference': text,
                                                     'lines': [{'sku': sku, 'qty': 9, 'location': name[:32]}]})
        assert made[0] == 201, made
        made = service.call('POST', 'v1/reservations', {'order_id': name, 'customer': name, 'reference': text, 'confirm': True,
                                                        'lines': [{'sku': sku, 'qty': 2, 'location': name[:32]}]})
        assert made[0] == 201, made
    task = service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': HOSTILE[1], 'limit': 1000})[1]
    service.call('POST', f'v1/tasks/{task["task_id"]}/fail', {'orders': [
        {'order_id': o['order_id'], 'error': HOSTILE_TEXT[n % len(HOSTILE_TEXT)], 'retry': False} for n, o in enumerate(task['orders'])]})
    service.call('PUT', 'v1/jobs/expire', {'paused': True, 'reason': ' '.join(HOSTILE_TEXT)})
    from urllib.parse import quote
    for name in HOSTILE:
        for place in ('now', 'stock', f'sku/{quote(name, safe="")}', 'orders', f'order/{quote(name, safe="")}', 'jobs', 'events'):
            page.open(service, place)
            page.says({'now': 'paused', 'jobs': HOSTILE[1]}.get(place, name), within_s=2 * PATIENCE_S)
            if place.startswith('order/'):
                page.says('倉庫 カップ 컵')
            assert not page.js('return document.querySelector("main script, main img, main td h1")'), place
    service.call('PUT', 'v1/jobs/expire', {'paused': False})


@check(long=True)
def a_hostile_receiver(page, service):
    receiver = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    Receiver.status, Receiver.body = 500, ' '.join(HOSTILE_TEXT).encode()
    at = f'http://127.0.0.1:{receiver.server_port}/{"".join(HOSTILE).replace(" ", "")}'
    made = service.call('POST', 'v1/webhooks', {'webhook_id': 'mallory', 'url': at, 'types': ['movement.receipt']})
    assert made[0] == 201, made
    page.open(service, 'webhook/mallory')
    page.says(at)
    page.press('Ping')
    page.says('Its receiver answered 500')
    service.call('POST', 'v1/movements', {'movement_id': 'at mallory', 'kind': 'receipt', 'lines': [{'sku': 'MUG', 'qty': 1}]})
    page.until('/movement.receipt\\s+\\S+\\s+500/.test(document.body.innerText)')
    assert not page.js('return document.querySelector("main script, main img, main h1 ~ table h1, main a[href^=javascript]")')
    page.open(service, 'events')
    page.says('mallory')
    service.call('DELETE', 'v1/webhooks/mallory')
    receiver.shutdown()
    Receiver.status, Receiver.body = 204, b''


# ---- how much it asks, and how much it keeps

COUNTED = """window.asked = 0; const real = window.fetch
    window.fetch = (...a) => { window.asked++; return real(...a) }"""


@check(long=True)
def a_hidden_tab_asks_nothing(page, service):
    page.open(service, 'now')
    page.says('Skus')
    page.js(COUNTED)
    page.until('window.asked > 1')
    page.js(HIDDEN + """
        document.dispatchEvent(new Event('visibilitychange'))""")
    time.sleep(1)
    before = page.js('return window.asked')
    time.sleep(6)
    assert page.js('return window.asked') == before
    page.js("""Object.defineProperty(document, 'hidden', {value: false, configurable: true})
        document.dispatchEvent(new Event('visibilitychange'))""")
    page.until('window.asked > arguments[0]', before, within_s=PATIENCE_S / 5)


@check(long=True)
def a_page_asks_within_bounds(page, service):
    for place, most in (('now', 9 + 15), ('stock', 4), ('locations', 4), ('location/main', 7), ('sheet/receipt', 0), ('orders', 4), ('jobs', 10), ('events', 10)):
        page.open(service, place)
        page.until('document.querySelector("main table, main .none, main figure")')
        time.sleep(1)
        page.js(COUNTED)
        time.sleep(10)
        asked = page.js('return window.asked')
        assert asked <= most, (place, asked)


def heap(page):
    page.command('HeapProfiler.collectGarbage')
    time.sleep(.3)
    page.command('HeapProfiler.collectGarbage')
    return {m['name']: m['value'] for m in page.command('Performance.getMetrics')['metrics']}['JSHeapUsedSize']


@check(long=True)
def a_thousand_polls_keep_nothing(page, service):
    page.command('Performance.enable')
    fast = page.command('Page.addScriptToEvaluateOnNewDocument', source="""{ const real = window.setTimeout
        window.setTimeout = (f, ms, ...a) => real(f, Math.min(ms, 20), ...a) } """ + COUNTED)['identifier']
    try:
        for place, ready in (('now', 'Skus'), ('orders', 'held'), ('events', 'live')):
            page.open(service, place)
            page.says(ready)
            page.until('window.asked > 100', within_s=6 * PATIENCE_S)
            before, asked = heap(page), page.js('return window.asked')
            page.until('window.asked > arguments[0]', asked + 1000, within_s=12 * PATIENCE_S)
            after = heap(page)
            print(f'    {place}: {before / 1e6:.1f} MB, after 1,000 polls {(after - before) / 1e6:+.2f} MB')
            assert after < 20e6 and after - before < 2e6, (place, before, after)
    finally:
        page.command('Page.removeScriptToEvaluateOnNewDocument', identifier=fast)


ORDERS, SKUS, SHOWN_S = 1_000_000, 100_000, 1.0


def fill(service):
    """100,000 skus and 1,000,000 orders, held, confirmed, released and buried ones."""
    for first in range(0, SKUS, 1000):
        service.call('POST', 'v1/movements', {'movement_id': f'many-{first}', 'kind': 'receipt', 'lines': [
            {'sku': f'S{n:06}', 'qty': 1000} for n in range(first, first + 1000)]})

    def some(part):
        for first in range(part * 1000, ORDERS, 4000):
            answer = service.call('POST', 'v1/reservations/batch', {'reservations': [
                {'order_id': f'many {n}', 'ttl_s': 86400, 'confirm': n % 3 == 0, 'lines': [{'sku': f'S{n % SKUS:06}', 'qty': 1}]}
                for n in range(first, first + 1000)]})
            assert answer[0] == 200, answer
    threads = [threading.Thread(target=some, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bury(service, 'many have failed', 500, 'S000001')


@check(long=True)
def a_million_orders(page, service):
    fill(service)
    rows = 'document.querySelectorAll("main tbody tr").length'
    elsewhere = 'document.querySelector("h1")?.innerText.includes("S000002")'
    page.open(service, 'sku/S000002')
    page.until(elsewhere)
    slow = []
    for place, ready in (('now', 'document.querySelectorAll("main figure canvas").length > 4'), ('stock', f'{rows} >= 100'), ('sku/S000001', f'{rows} >= 1'),
                         ('stock?q=s0999', f'{rows} >= 100'), ('orders', f'{rows} >= 100'), ('orders?state=confirmed', f'{rows} >= 100'),
                         ('orders?state=held', f'{rows} >= 100'), ('order/many%20999', f'{rows} >= 1'), ('jobs', f'{rows} >= 3'), ('events', f'{rows} >= 1')):
        page.go('sku/S000002')
        page.until(elsewhere)
        began = time.monotonic()
        page.go(place)
        page.until(ready)
        took = time.monotonic() - began
        print(f'    {place}: {took:.2f} s')
        slow += [(place, took)] if took > patience.scaled(SHOWN_S) else []
    assert not slow, slow


def children(parent):
    found = []
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):      # it has ended meanwhile
            found += [int(stat.parent.name)] if stat.read_text().rsplit(')', 1)[1].split()[1] == str(parent) else []
    return found


@check()
def a_killed_driver_leaves_nothing(page, service):
    folder = pathlib.Path(service.command[3]).parent
    other = Page(folder)
    driver = other.driver.service.process.pid
    browsers = children(driver)
    assert browsers and list(pathlib.Path(other.room).iterdir()), 'its files lie elsewhere'
    for pid in (driver, *browsers):
        os.kill(pid, signal.SIGKILL)
    other.close()
    assert not list(folder.glob('t*')), list(folder.iterdir())


# ---- running them

def judged(name, function, dies, page, service):
    """The complaints about a check; [] where it holds."""
    try:
        function(page, service)
        wrong = []
    except Exception as error:      # any failure of a check is told, and the next one has the page as ever
        wrong = [''.join(traceback.format_exception(error))[-2500:]]
        page.width(1280)
        page.dark(False)
    return wrong + [text for text in page.complaints(dies) if not REFUSED.search(text)]


def new_key(program, folder, name, role):
    made = subprocess.run([program, 'key', 'new', name, role, '--keys', f'{folder}/keys'], check=True, capture_output=True,
                          text=True)
    return re.search(r'\S{30,}', made.stdout)[0]


def run(args, folder):
    wanted = [c for c in CHECKS if (not args.only or c[0] in args.only) and (args.long or args.only or not c[2])]
    bad, page = 0, None
    services = {}
    try:
        page = Page(folder)
        for name, function, _, dies, keys in wanted:
            if keys not in services:
                room = pathlib.Path(folder, 'keys' if keys else 'open')
                room.mkdir()
                names = {'read': 'eyes', 'order': 'shop', 'worker': 'packer', 'admin': 'boss'} if keys else {}
                made = {role: new_key(args.holdfast, room, name, role) for role, name in names.items()}
                services[keys] = Service(args.holdfast, str(room), '--webhooks-allow', '127.0.0.0/8', *(
                    ['--keys', f'{room}/keys'] if keys else []))
                services[keys].keys, services[keys].key = made, made.get('admin')
                services[keys].call('POST', 'v1/movements',
                                    {'movement_id': 'first', 'kind': 'receipt', 'lines': [{'sku': 'MUG', 'qty': 300}]})
            began, wrong = time.monotonic(), judged(name, function, dies, page, services[keys])
            bad += bool(wrong)
            print(f'{"FAILED" if wrong else "ok"}  {name}  {time.monotonic() - began:.1f} s', *wrong, sep='\n    ', flush=True)
    finally:
        if page:
            page.close()
        for service in services.values():
            service.stop()
    print(f'console: {len(wanted)} checks, {bad} failed')
    return 1 if bad else 0


def main():
    read = argparse.ArgumentParser()
    read.add_argument('--holdfast', default='build/holdfast')
    read.add_argument('--folder', default=None)
    read.add_argument('--long', action='store_true')
    read.add_argument('--only', action='append')
    args = read.parse_args()
    lacking = missing()
    if lacking:
        wanted = [c for c in CHECKS if args.long or not c[2]]
        print(f'console: not run: {len(wanted)} checks: {lacking} is not installed')
        return 0
    args.holdfast = os.path.abspath(args.holdfast)
    with tempfile.TemporaryDirectory(prefix='console-', dir=args.folder, ignore_cleanup_errors=True) as folder:
        return in_group(lambda: run(args, folder))      # a test that kills this process leaves nothing there either


if __name__ == '__main__':
    sys.exit(main())
