#!/usr/bin/python3
"""Takes the pictures of the README: pictures.py --holdfast build/holdfast --to docs/pictures [--seconds 610]

The shop of `holdfast demo` lives on a service of its own until its opening is more than ten minutes ago, because that is
what the page shows. Then the pages are taken, light and dark. The shop is the same each time; times and figures are those of the run.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from stage import Page, Service, in_group, missing      # noqa: E402  (beside this file)

WIDTH, HEIGHT = 1180, 700
PAGES = (('now', 'now', 'document.querySelectorAll("figure canvas").length >= 10 && /Skus/.test(document.body.innerText)'),
         ('stock', 'sku/MUG-SAGE', 'document.querySelectorAll("tbody tr").length > 20 && document.querySelector("figure canvas")'))


def run(args):
    page = shop = None
    with tempfile.TemporaryDirectory(prefix='pictures-') as folder:
        service = Service(args.holdfast, folder)
        try:
            shop = subprocess.Popen([args.holdfast, 'demo', '--url', f'http://{service.at}'])
            time.sleep(args.seconds)
            page = Page(folder)
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
            if shop:
                shop.terminate()
                shop.wait()
            if page:
                page.close()
            service.stop()


def main():
    read = argparse.ArgumentParser()
    read.add_argument('--holdfast', default='build/holdfast')
    read.add_argument('--to', default='docs/pictures')
    read.add_argument('--seconds', type=float, default=610)
    args = read.parse_args()
    if missing():
        print(f'pictures: {missing()} is not installed')
        return 69
    args.holdfast = os.path.abspath(args.holdfast)
    pathlib.Path(args.to).mkdir(parents=True, exist_ok=True)
    return in_group(lambda: run(args))


if __name__ == '__main__':
    sys.exit(main())
