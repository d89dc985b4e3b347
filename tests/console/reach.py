"""Checks of the console: what a screen reader and a keyboard reach. console.py runs them."""
import pathlib
import subprocess

from shop import fail, opened, order, receive
from stage import CONTROL, HIDDEN, PATIENCE_S, check

WHERE = "document.activeElement.tagName + ' ' + (document.activeElement.innerText || document.activeElement.id)"
# [page, what it says when it is there, the buttons that open its dialogs]
PAGES = [
    ('now', 'Ready to ship', ()),
    ('stock', 'reach-hall', ('New sku',)),
    ('stock?location=reach-hall', 'Figures are of reach-hall', ()),
    ('sku/REACH', 'movement', ('Receive', 'Count', 'Transfer', 'Adjust', 'Arrival', 'Name and barcodes', 'Limit',
                               'Threshold', 'Stop the sale')),
    ('sku/REACH-NONE', 'There is no such sku', ()),
    ('locations', 'reach-hall', ('New location',)),
    ('location/reach-hall', 'What lies there', ('Change', 'Stop the sale here')),
    ('sheet/receipt', 'Scan', ()),
    ('sheet/count?location=reach-hall&blind=true', 'Not counted.', ()),
    ('sheet/transfer', 'Scan', ()),
    ('sheet/adjustment', 'Scan', ()),
    ('orders', 'reach-held', ('New order',)),
    ('orders?state=buried', 'no carrier', ()),
    ('order/reach-held', 'History', ('Confirm', 'Extend', 'Change lines', 'Split', 'Put on hold', 'Release')),
    ('order/reach-late', 'on hold', ('Take off hold',)),
    ('order/reach-failed', 'no carrier', ('Ship', 'Kick')),
    ('order/reach-out', 'shipped', ('Return',)),
    ('jobs', 'no carrier', ('Pause', 'Kick', 'Release', 'Kick all', 'Release all')),
    ('events', 'reach-hook', ('New webhook',)),
    ('webhook/reach-hook', 'Last attempts', ('Rotate the secret', 'Remove')),
]


def made(service):
    """A shop in which every page has something of each kind to show."""
    service.call('PUT', 'v1/locations/reach-boat', {'kind': 'incoming', 'expected_at': '2031-01-31T08:00:00Z'})
    service.call('PUT', 'v1/locations/reach-shut', {'kind': 'stock', 'for_sale': False, 'reason': 'flood'})
    receive(service, 'reach', ('REACH', 'reach-hall', 50), ('REACH', 'reach-boat', 50), ('REACH-2', 'reach-hall', 3))
    service.call('PUT', 'v1/skus/REACH', {'name': 'Tasse', 'barcodes': ['4006381333931']})
    service.call('PUT', 'v1/skus/REACH-2/threshold', {'low': 9})
    order(service, 'reach-held', ('REACH', 'reach-hall', 2), customer='reach@shop.example', ttl_s=86400)
    for name in ('failed', 'out'):
        order(service, f'reach-{name}', ('REACH', 'reach-hall', 2), confirm=True)
    fail(service, 'no carrier', 'reach-failed')
    service.call('POST', 'v1/reservations/reach-out/settle', {})
    order(service, 'reach-late', ('REACH', 'reach-boat', 2), confirm=True)
    service.call('PUT', 'v1/reservations/reach-late/hold', {'until': None, 'reason': 'address'})
    service.call('POST', 'v1/webhooks',
                 {'webhook_id': 'reach-hook', 'url': 'http://127.0.0.1:9/', 'types': ['movement.receipt']})


# ---- axe-core

def axe_text():
    """axe-core, for tests alone, from npm's registry; None where that cannot be had."""
    room = pathlib.Path('build/axe-4.14.1')
    if not (room / 'package/axe.min.js').exists():
        room.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run('npm pack --silent axe-core@4.14.1 && tar xzf axe-core-4.14.1.tgz', shell=True, check=True,
                           cwd=room, capture_output=True, timeout=6 * PATIENCE_S)
        except (subprocess.SubprocessError, OSError):
            return None
    return (room / 'package/axe.min.js').read_text()


FOUND = """const [rules, done] = arguments
    axe.run(document, rules ? {runOnly: {type: 'rule', values: rules}} : {}).then(r => done(r.violations.map(v =>
        `${v.impact} ${v.id}: ${v.nodes.length} x ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`)))"""


def judged(page, what, found, themes=2):
    """Both themes, which differ in colours alone; what is found is gathered, by finding."""
    for dark, rules in ((False, None), (True, ['color-contrast', 'link-in-text-block']))[:themes]:
        page.dark(dark)
        for text in page.driver.execute_async_script(FOUND, rules):
            found.setdefault(text, []).append(f'{what}{", dark" if dark else ""}')
    page.dark(False)


@check(long=True)
def axe_core_finds_nothing(page, service):
    axe = axe_text()
    if not axe:
        print('console: not run: axe-core: npm is not installed, or its registry does not answer')
        return
    with opened(page, service, made) as own:
        found = axe_found(page, own, axe)
    assert not found, '\n'.join(f'{text} [{len(where)}: {", ".join(where[:6])}]' for text, where in found.items())


def axe_found(page, service, axe):
    """What it finds at any severity, in both themes: on every page, every dialog, the glossary, the hits of the search
    and a refusal; on a phone, on every page."""
    found = {}
    for place, ready, dialogs in PAGES:
        page.width(1280)
        page.open(service, place)
        page.says(ready, within_s=4 * PATIENCE_S)
        page.until("document.getElementById('search')")
        page.js(axe)
        judged(page, place, found)
        for name in dialogs:
            page.press(name)
            page.until("document.querySelector('dialog[open]')")
            judged(page, f'{place}, {name}', found)
            page.keys('\ue00c')
            page.until("!document.querySelector('dialog')")
        page.width(390)
        judged(page, f'{place}, phone', found, themes=1)
    page.width(1280)
    page.keys('?')
    page.until("document.querySelector('dialog[open]')")
    judged(page, 'glossary', found)
    page.keys('\ue00c', '/', 'reach')
    page.until("document.querySelector('#hits:not([hidden]) li')")
    judged(page, 'hits', found)
    page.go('sku/REACH-2')
    page.press('Adjust')
    page.fill('Change', '-9')
    page.press('Take out 9 units')
    page.says('There are not enough units.')
    judged(page, 'a refusal', found)
    return found


# ---- the key Tab alone

WATCH = """window.reached = []
    document.addEventListener('focusin', event => requestAnimationFrame(() => {
        const el = event.target, style = getComputedStyle(el), r = el.getBoundingClientRect()
        const gone = el !== document.activeElement      // the next key was faster than the frame
        const at = document.elementFromPoint(Math.min(r.left + r.width / 2, innerWidth - 2),
            Math.min(Math.max(r.top + Math.min(r.height / 2, 20), 1), innerHeight - 2))
        reached.push({el, seen: gone || (parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== 'none'),
            there: gone || !at || el.contains(at) || at.contains(el) || el.closest('label')?.contains(at)}) }))"""
MISSED = """const dialog = document.querySelector('dialog[open]'), room = dialog ?? document
    const can = 'a[href], button, input, select, textarea, summary, [tabindex="0"]'
    const all = [...room.querySelectorAll(can)].filter(e =>
        !e.disabled && e.checkVisibility() && e.tabIndex >= 0 && e.type !== 'file')
    const name = e => e.tagName + ' ' + (e.innerText || e.ariaLabel || e.id).slice(0, 60)
    const been = new Set(reached.map(r => r.el)), some = which => reached.filter(which).map(r => name(r.el))
    return {missed: all.filter(e => !been.has(e)).map(name), unseen: some(r => !r.seen), covered: some(r => !r.there),
            outside: some(r => dialog && !dialog.contains(r.el))}"""


def walked(page, what, most=400):
    """Tabs through all that can have the focus -> what is wrong with it."""
    from selenium.webdriver.common.action_chains import ActionChains
    page.js(WATCH)
    for _ in range(most // 20):
        chain = ActionChains(page.driver)
        for _ in range(20):
            chain.send_keys('\ue004').pause(.03)
        chain.perform()
        told = page.js(MISSED)
        if not told['missed']:
            break
    return [f'{what}: {told}'] if any(told.values()) else []


def by_key(page, name):
    """Goes to the button of this text, as Tab would, and presses Enter."""
    page.until(CONTROL, name)
    page.js(f'{CONTROL}.focus()', name)
    page.keys('\ue007')
    page.until("document.querySelector('dialog[open]')")


@check(long=True)
def all_by_the_key_tab(page, service):
    with opened(page, service, made) as own:
        wrong = [text for one in PAGES for text in tabbed(page, own, *one)]
    assert not wrong, '\n'.join(wrong)


def tabbed(page, service, place, ready, dialogs):
    """What the key Tab does not do on a page and in its dialogs."""
    page.width(1280)
    page.open(service, place)
    page.says(ready, within_s=4 * PATIENCE_S)
    page.until("document.getElementById('search')")
    page.js(HIDDEN)
    page.js("scrollTo(0, 0); document.querySelector('.skip').focus()")
    wrong = walked(page, place)
    for name in dialogs:
        by_key(page, name)
        wrong += walked(page, f'{place}, {name}', 60)
        page.keys('\ue00c')
        page.until("!document.querySelector('dialog')")
        if not page.js(f'return document.activeElement === {CONTROL}', name):
            wrong.append(f'{place}, {name}: the focus goes to {page.js("return " + WHERE)}')
    return wrong
