#!/usr/bin/python3
"""The console in a real Chromium, against a real service: console.py --holdfast build/holdfast [--long] [--only NAME]

Each check is a function of its own, run on one service and one browser. After each, the browser's log is empty, nothing
broke the page's policy, and no request left the origin. --long adds the checks that take longer. Ends 0 if all hold,
1 if not; where no Chromium is installed it says so and ends 0.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
from stage import Page, Service, in_group, missing      # noqa: E402  (beside this file)

AXE = 'https://registry.npmjs.org/axe-core/-/axe-core-4.14.1.tgz'
CHECKS = []


def check(long=False, dies=False, keys=False):
    """A check(page, service). dies: it kills the service, so calls fail meanwhile. keys: on the service with keys."""
    def kept(function):
        CHECKS.append((function.__name__, function, long, dies, keys))
        return function
    return kept


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
    page.until('/Skus\\s+1\\b/.test(document.body.innerText)')
    page.says('Refused, by code')
    page.press('The last ten minutes as a table')
    page.until('[...document.querySelectorAll("details td.number")].some(e => e.innerText === "2")')


@check()
def narrow_and_dark(page, service):
    page.width(390)
    page.dark(True)
    page.open(service, 'now')
    page.until('document.querySelector("figure canvas")')
    assert page.js('return document.documentElement.scrollWidth') <= 390
    assert page.js('return getComputedStyle(document.documentElement).backgroundColor') == 'rgb(20, 23, 26)'
    page.width(1280)
    page.dark(False)


@check(dies=True)
def the_service_dies_and_comes_back(page, service):
    page.open(service, 'now')
    page.says('Nothing is wrong.', within_s=30)
    page.js('window.same = true')
    service.die()
    page.says('The service does not answer')
    page.until('document.querySelector("#link:not([hidden])")')
    service.start()
    page.until('document.querySelector("#link[hidden]")', within_s=30)
    page.says('Nothing is wrong.', within_s=30)
    assert page.js('return window.same'), 'the page was loaded anew'


@check(keys=True)
def a_key(page, service):
    page.open(service, 'now')
    page.says('This service asks for a key')
    assert page.js('return document.querySelectorAll("#nav a").length') == 0
    page.fill('Key', 'hf_wrong')
    page.press('Go on')
    page.says('The service does not know this key.')
    page.driver.get_log('browser')      # Chromium notes each 401
    page.fill('Key', service.key)
    page.press('Go on')
    page.says('This service, the last ten minutes')
    page.says('boss')
    page.js('location.reload()')
    page.says('This service, the last ten minutes')
    assert service.key not in page.driver.current_url + page.driver.title
    page.press('Forget the key')
    page.says('This service asks for a key')
    assert page.js('return sessionStorage.length') == 0
    assert page.driver.get_cookies() == []


# ---- running them

def judged(name, function, dies, page, service):
    """The complaints about a check; [] where it holds."""
    try:
        function(page, service)
        wrong = []
    except Exception as error:      # what a check runs into is told, whatever it is
        wrong = [''.join(traceback.format_exception(error))[-2500:]]
    return wrong + [text for text in page.complaints(dies) if 'status of 401' not in text]


def new_key(program, folder):
    made = subprocess.run([program, 'key', 'new', 'boss', 'admin', '--keys', f'{folder}/keys'], check=True, capture_output=True,
                          text=True)
    return re.search(r'hf_\S+|\S{30,}', made.stdout)[0]


def run(args):
    wanted = [c for c in CHECKS if (not args.only or c[0] in args.only) and (args.long or args.only or not c[2])]
    bad, page, folder = 0, None, tempfile.mkdtemp(prefix='console-', dir=args.folder)
    services = {}
    try:
        page = Page()
        for name, function, _, dies, keys in wanted:
            if keys not in services:
                room = pathlib.Path(folder, 'keys' if keys else 'open')
                room.mkdir()
                key = new_key(args.holdfast, room) if keys else None
                services[keys] = Service(args.holdfast, str(room), '--webhooks-allow', '127.0.0.0/8', *(
                    ['--keys', f'{room}/keys'] if keys else []))
                services[keys].key = key
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
        subprocess.run(['rm', '-rf', folder], check=False)
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
    return in_group(lambda: run(args))


if __name__ == '__main__':
    sys.exit(main())
