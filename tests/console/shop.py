"""A shop made up for the tasks of a day (day.py): 300 skus, eight places, 450 orders."""
import contextlib
import pathlib
import subprocess
import tempfile

from stage import HIDDEN, Service

COLOURS = ('sage', 'rust', 'navy', 'chalk', 'plum', 'ochre', 'slate', 'moss', 'sand', 'ink')
GOODS = ('mug', 'bowl', 'plate', 'jug', 'vase', 'apron', 'towel', 'board', 'candle', 'basket')
SIZES = ('small', 'medium', 'large')
SKUS = [f'{goods}-{colour}-{size}'.upper() for goods in GOODS for colour in COLOURS for size in SIZES]
PLACES = (('berlin', 'stock'), ('hamburg', 'stock'), ('leipzig', 'stock'), ('shelf-desk', 'stock'),
          ('shelf-phone', 'stock'), ('returns', 'aside'), ('damaged', 'aside'), ('boat', 'incoming'))


def done(answer):
    assert answer[0] in (200, 201), answer
    return answer[1]


def lines(*all_):
    return [dict(zip(('sku', 'location', 'qty'), line)) for line in all_]


def receive(service, movement, *all_, **more):
    made = service.call('POST', 'v1/movements',
                        {'movement_id': movement, 'kind': 'receipt', 'lines': lines(*all_), **more})
    assert made[0] == 201, made


def order(service, id_, *all_, **more):
    made = service.call('POST', 'v1/reservations', {'order_id': id_, 'lines': lines(*all_), **more})
    assert made[0] == 201, made


def fail(service, error, *ids, others='return'):
    """The worker takes what is due and fails these orders; the others go back, or are shipped (complete)."""
    task = done(service.call('POST', 'v1/tasks', {'kind': 'settle', 'worker': 'packer', 'limit': 1000}))['task_id']
    done(service.call('POST', f'v1/tasks/{task}/fail',
                      {'orders': [{'order_id': id_, 'error': error, 'retry': False} for id_ in ids]}))
    done(service.call('POST', f'v1/tasks/{task}/{others}', {}))


def fill(service):
    """A quarter of the orders is held, the others are confirmed; then some are shipped, some released, one fails."""
    for place, kind in PLACES:
        done(service.call('PUT', f'v1/locations/{place}', {'kind': kind}))
    receive(service, 'opening', *[(sku, place, 20 + n % 30) for n, sku in enumerate(SKUS)
                                  for place in ('berlin', 'hamburg', 'leipzig')])
    for n, sku in enumerate(SKUS[:60]):
        done(service.call('PUT', f'v1/skus/{sku}',
                          {'name': sku.replace('-', ' ').lower(), 'barcodes': [f'40063813{n:05}']}))
    made = [{'order_id': f'web-{10000 + n}', 'ttl_s': 86400, 'confirm': n % 4 > 0,
             'customer': f'{COLOURS[n % 10]}.{n % 90}@shop.example',
             'lines': lines((SKUS[n * 7 % 300], PLACES[n % 3][0], 1 + n % 3),
                            (SKUS[n * 11 % 300 - 1], PLACES[n % 3][0], 1))} for n in range(450)]
    answer = done(service.call('POST', 'v1/reservations/batch', {'reservations': made}))
    assert all(r['status'] == 201 for r in answer['results']), answer
    confirmed = [o['order_id'] for o in made if o['confirm']]
    done(service.call('POST', 'v1/settlements', {'order_ids': confirmed[:120]}))
    done(service.call('POST', 'v1/releases', {'order_ids': confirmed[120:150]}))
    fail(service, 'the carrier has no such address', confirmed[160])


@contextlib.contextmanager
def opened(page, of, fill=fill):
    """A shop on a service of its own, by the program of this one. The page polls it no more before it ends."""
    with tempfile.TemporaryDirectory(prefix='day-', dir=pathlib.Path(of.command[3]).parent) as folder:
        service = Service(of.command[0], folder, '--webhooks-allow', '127.0.0.0/8')
        try:
            fill(service)
            yield service
        finally:
            page.js(HIDDEN)
            service.stop()
            subprocess.run(['rm', '-rf', f'{folder}/data'], check=False)
