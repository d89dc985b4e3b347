#!/usr/bin/python3
"""Takes the pictures of the README: pictures.py --holdfast build/holdfast --to docs/pictures [--seconds 600]

A made-up shop goes on for ten minutes on a service of its own, because that is what the page shows; then the pages are
taken, light and dark. The shop is the same each time; times and figures are those of the run.
"""
import argparse
import math
import os
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from stage import Page, Service, in_group, missing      # noqa: E402  (beside this file)

WIDTH, HEIGHT = 1180, 700
SKUS = ('ALARM CLOCK RED', 'APRON', 'BUNTING', 'CAKE STAND', 'CANDLE HOLDER', 'DOORMAT', 'HOT WATER BOTTLE', 'LUNCH BOX',
        'MUG BLUE', 'MUG WHITE', 'NAPKINS', 'TEA TOWEL', 'TEAPOT', 'TRAY', 'UMBRELLA', 'WALL CLOCK')
PAGES = (('now', 'now', 'document.querySelectorAll("figure canvas").length >= 10 && /Skus/.test(document.body.innerText)'),
         ('stock', 'sku/MUG%20BLUE', 'document.querySelectorAll("tbody tr").length > 20 && document.querySelector("figure canvas")'))


def fill(service):
    service.call('PUT', 'v1/locations/returns', {'kind': 'aside'})
    for n, sku in enumerate(SKUS):
        service.call('POST', 'v1/movements', {'movement_id': f'delivery-{n + 4711}', 'kind': 'receipt', 'reference': 'PO 2026-118', 'lines': [
            {'sku': sku, 'qty': 900 + 37 * n}, {'sku': sku, 'qty': 120, 'location': 'annex'}, {'sku': sku, 'qty': 3 + n, 'location': 'returns'}]})


def moment(service, chance, n, share):
    """A quarter of a second of the shop."""
    orders = [{'order_id': f'{10000 + n}-{k}', 'confirm': chance.random() < .6, 'customer': f'c{chance.randrange(500)}', 'lines': [
        {'sku': chance.choice(SKUS), 'qty': chance.choice((1, 1, 1, 2, 2, 3)) if chance.random() < .97 else 50000}]}
        for k in range(int(2 + 6 * share + chance.random() * 3))]
    service.call('POST', 'v1/reservations/batch', {'reservations': orders})
    if n % 2 == 0:
        task = service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': f'packing-{n // 2 % 3 + 1}', 'limit': 25})[1]
        if task:
            if n % 300 == 0:
                service.call('POST', f'v1/tasks/{task["task_id"]}/fail', {'orders': [
                    {'order_id': task['orders'][0]['order_id'], 'error': 'no such address', 'retry': False}]})
            service.call('POST', f'v1/tasks/{task["task_id"]}/complete', {})
    if n % 40 == 0:
        service.call('POST', 'v1/movements', {'movement_id': f'delivery-{9000 + n}', 'kind': 'receipt', 'reason': 'restocked', 'lines': [
            {'sku': sku, 'qty': 20 + chance.randrange(9)} for sku in SKUS]})


def goes_on(service, over):
    chance, began, n = random.Random(7), time.monotonic(), 0
    while not over.is_set():
        gone = time.monotonic() - began
        n += 1
        moment(service, chance, n, .5 + .5 * math.sin(gone / 70))
        time.sleep(max(0, began + n / 4 - time.monotonic()))


def run(args):
    page, over = None, threading.Event()
    with tempfile.TemporaryDirectory(prefix='pictures-') as folder:
        service = Service(args.holdfast, folder)
        try:
            fill(service)
            shop = threading.Thread(target=goes_on, args=(service, over))
            shop.start()
            time.sleep(args.seconds)
            page = Page()
            page.width(WIDTH)
            for name, place, ready in PAGES:
                for dark in (False, True):
                    page.dark(dark)
                    page.open(service, place)
                    page.until(ready)
                    time.sleep(.5)
                    page.picture(pathlib.Path(args.to, f'{name}-{"dark" if dark else "light"}.png'), WIDTH, HEIGHT)
            return 1 if page.complaints() else 0
        finally:
            over.set()
            shop.join()
            if page:
                page.close()
            service.stop()


def main():
    read = argparse.ArgumentParser()
    read.add_argument('--holdfast', default='build/holdfast')
    read.add_argument('--to', default='docs/pictures')
    read.add_argument('--seconds', type=float, default=600)
    args = read.parse_args()
    if missing():
        print(f'pictures: {missing()} is not installed')
        return 69
    args.holdfast = os.path.abspath(args.holdfast)
    pathlib.Path(args.to).mkdir(parents=True, exist_ok=True)
    return in_group(lambda: run(args))


if __name__ == '__main__':
    sys.exit(main())
