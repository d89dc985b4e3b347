"""Checks of the console: sheets of many lines, what is made once, and what becomes of drafts. console.py runs them."""
import time

from goods import LINES, PASTE, stock_of
from orders import saved
from shop import fail, order, receive
from stage import check

FIRST = "document.querySelector('table.sheet .sku input')"
# How often one paste sets an attribute of an element, without what follows from answers.
COUNTED_PASTE = f"""let sets = 0; const real = Element.prototype.setAttribute
    Element.prototype.setAttribute = function (...a) {{ sets++; return real.apply(this, a) }}
    {FIRST}.focus(); {{ {PASTE} }}; Element.prototype.setAttribute = real; return sets"""
SETS_A_LINE = 50


@check()
def a_thousand_lines_are_pasted(page, service):
    receive(service, 'thousand', *[(f'PASTE-{n:03}', 'paste-hall', 5) for n in range(980)])
    page.open(service, 'sheet/receipt?location=paste-hall')
    page.until(FIRST)
    sets = page.js(COUNTED_PASTE, ''.join(f'PASTE-{n:03}\t2\r\n' for n in range(1000)))
    assert 1000 < sets <= 1000 * SETS_A_LINE, f'the table was drawn more than once: {sets}'
    page.says('1,000 lines, 2,000 units. Nothing is changed yet.')
    page.press('Receive 2,000 units')
    page.says('20 new skus, for ever: ')
    page.press('Receive 2,000 units')
    page.says('Received 2,000 units in 1,000 lines.')
    assert (stock_of(service, 'PASTE-499'), stock_of(service, 'PASTE-999')) == ({'paste-hall': 7}, {'paste-hall': 2})
    page.until(FIRST)
    page.js(COUNTED_PASTE, 'PASTE-000\t1\r\n' * 1001)
    page.says('a sheet has up to 1,000 lines, and this would make 1,001.')
    assert page.js('return ' + LINES) == []


@check()
def what_is_made_is_new(page, service):
    receive(service, 'made once', ('MADE', 'made-hall', 5))
    service.call('PUT', 'v1/skus/MADE', {'name': 'as it was', 'barcodes': ['1234']})
    page.open(service, 'stock')
    page.press('New sku')
    page.fill('Code', '..')
    page.says('This is no code.')
    page.fill('Code', 'MADE')
    page.fill('Name', 'another')
    page.press('Make the sku')
    page.says('This code is taken; nothing was done.')
    assert service.call('GET', 'v1/skus/MADE')[1]['name'] == 'as it was'
    page.fill('Code', 'MADE-2')
    page.js("""const real = window.fetch; window.fetch = async (...a) => { const r = await real(...a)
        if (a[1].method === 'PUT') { window.fetch = real; throw new TypeError('lost') } return r }""")
    page.press('Make the sku')
    page.press('Send the same again')                   # its own answer was lost: the code is not taken
    page.says('The sku MADE-2 is made.')
    page.until("location.hash === '#/sku/MADE-2'")
    page.go('locations')
    page.press('New location')
    page.until("document.querySelector('dialog[open]')")
    service.call('PUT', 'v1/locations/made-late', {'kind': 'aside'})        # behind the page's back
    page.fill('Code', 'made-late')
    page.press('Make the location')
    page.says('This code is taken; nothing was done.')
    assert service.call('GET', 'v1/locations/made-late')[1]['kind'] == 'aside'
    page.press('Close')


@check()
def a_sheet_that_is_cleared_stays_so(page, service):
    receive(service, 'cleared', ('CLEAR', 'clear-a', 5), ('CLEAR-B', 'clear-b', 5))
    page.open(service, 'sheet/count')
    page.until(FIRST)
    page.fill('Location', '')
    page.press('Fill with what lies there')
    page.says('At which location?')
    page.fill('Location', 'clear-a')
    page.press('Fill with what lies there')
    page.until(f"JSON.stringify(({LINES}).map(l => l[0])) === '[\"CLEAR\"]'")
    page.js(f"""const cell = {FIRST.replace('.sku', '.amount')}
        cell.value = '7'; cell.dispatchEvent(new Event('input', {{bubbles: true}}))
        const clear = [...document.querySelectorAll('button')].find(b => b.innerText === 'Clear'); clear.click()""")
    page.until(f"({LINES}).length === 0 && {FIRST}")
    time.sleep(.5)                                      # the last key is looked at after 0.2 s
    page.go('now')
    page.says('Units, all places')
    page.go('sheet/count')
    page.until(FIRST)
    assert page.js('return ' + LINES) == []


@check()
def ticks_are_as_the_list_is(page, service):
    receive(service, 'many ticks', ('TICKS', 'ticks-hall', 500))
    for n in range(105):
        order(service, f'ticks-{n:03}', ('TICKS', 'ticks-hall', 1), customer='ticks')
    boxes = "[...document.querySelectorAll('main td.tick input')]"
    page.open(service, 'orders?customer=ticks')
    page.until(f'{boxes}.length === 100')
    page.press('Show more')
    page.until(f'{boxes}.length === 105')
    page.js(f'scrollTo(0, 0); {boxes}[0].click(); {boxes}[1].click()')
    page.press('Confirm 2')
    page.press('Confirm 2 orders')
    page.says('2 orders are confirmed.')
    page.until("/ticks-104\\s+confirmed/.test(document.querySelector('main tbody tr').innerText)")
    page.says('2 orders ticked')
    page.until("[...document.querySelectorAll('.ticked button')].map(b => b.innerText).join() === 'Ship 2,Release 2'")
    assert page.js(f'return {boxes}.filter(b => b.checked).length') == 2


@check()
def a_hold_that_ends_says_what_may_be_done(page, service):
    receive(service, 'holds', ('HOLDS', 'holds-hall', 9))
    for id_, more, words in (('holds-1', {}, '2 units may be shipped once the order is confirmed.'),
                             ('holds-2', {'confirm': True}, '2 units may be shipped again.')):
        order(service, id_, ('HOLDS', 'holds-hall', 2), **more)
        service.call('PUT', f'v1/reservations/{id_}/hold', {'until': None})
        page.open(service, f'order/{id_}')
        page.press('Take off hold')
        page.says(words)
        page.press('Cancel')


@check()
def jobs_failures_and_events_as_csv(page, service):
    receive(service, 'saved', ('SAVED', 'saved-hall', 500))
    for n in range(2):
        order(service, f'saved-{n}', ('SAVED', 'saved-hall', 1), confirm=True)
    fail(service, 'to be saved', 'saved-0', 'saved-1')
    page.open(service, 'jobs')
    page.says('to be saved')
    rows = saved(page, "[...document.querySelectorAll('main section')].find(s => s.querySelector('[aria-label=Jobs]'))")
    assert [row['job'] for row in rows] == ['settle', 'expire', 'deliver'], rows
    rows = saved(page, "[...document.querySelectorAll('main section')].find(s => s.innerText.startsWith('Failed orders'))")
    row, = [row for row in rows if row['last error'] == 'to be saved']
    oldest = service.call('GET', 'v1/buried')[1]['items']
    assert (row['orders'], row['oldest']) == ('2', next(g['oldest'] for g in oldest if g['error'] == 'to be saved')), row
    service.call('POST', 'v1/releases', {'order_ids': ['saved-0', 'saved-1']})
    for n in range(210):        # more than the page shows
        order(service, f'saved held {n}', ('SAVED', 'saved-hall', 1))
    page.open(service, 'events')
    page.says('Goes on live.')
    page.fill('Types', 'reservation.held')
    page.says('the last 200 are shown')
    rows = saved(page, "[...document.querySelectorAll('main section')].find(s => s.innerText.startsWith('The feed'))")
    of = [row['of'] for row in rows]
    assert {row['type'] for row in rows} == {'reservation.held'} and of[:210] == [f'saved held {n}' for n in range(209, -1, -1)], of[:3]


@check()
def a_count_is_filled_once(page, service):
    receive(service, 'filled', ('FILL-1', 'fill-hall', 1), ('FILL-2', 'fill-hall', 2))
    page.open(service, 'now')
    page.says('Units, all places')
    page.js("""const real = window.fetch, {promise, resolve} = Promise.withResolvers(); window.answer = resolve
        window.fetch = (...a) => a[0].search?.includes('location=fill-hall') ? promise.then(() => real(...a)) : real(...a)""")
    page.go('sheet/count?location=fill-hall')
    page.until(FIRST)
    for _ in range(2):
        page.press('Fill with what lies there')         # while it is filled
    page.js('window.answer()')
    page.until(f"({LINES}).length >= 2")
    time.sleep(.5)
    assert [line[0] for line in page.js('return ' + LINES)] == ['FILL-1', 'FILL-2']
    page.press('Clear')
