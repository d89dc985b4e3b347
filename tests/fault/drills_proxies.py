"""Drills of docs/proxies: each example runs in the real proxy, before two services of one database that are restarted in
turn under load."""
import http.client
import pathlib
import shutil
import subprocess
import time

import clients
import patience
from patience import PATIENCE_S
from stage import Skipped, Stage, die_with_us, free_port, json_post, wait_until

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / 'docs/proxies'
DRAIN_DELAY = 5             # as the examples say
LONG_POLL_S = 30            # the longest wait_s of a reader of events
SEEN_S = 2.5                # by the clock of the proxy: it asks each second whether a service is ready


class Proxy:
    """A proxy with an example of ours: only its ports are others, and nginx runs in the foreground."""

    COMMANDS = {'nginx.conf': ['nginx', '-g', 'daemon off;', '-c'],
                'haproxy.cfg': ['haproxy', '-db', '-f'],
                'Caddyfile': ['caddy', 'run', '--adapter', 'caddyfile', '--config']}

    def __init__(self, stage, example, services):
        self.name, self.command = example, self.COMMANDS[example]
        self.port, self.folder = free_port(), stage.run.folder
        self.address = f'127.0.0.1:{self.port}'
        self.path = pathlib.Path(self.folder) / example
        text = (EXAMPLES / example).read_text(encoding='utf-8')
        for old, new in (('8081', services[0].address.split(':')[1]), ('8082', services[1].address.split(':')[1]),
                         ('8080', str(self.port))):
            text = text.replace(f':{old}', f':{new}')
        if example == 'nginx.conf':
            text = f'pid {self.folder}/nginx.pid;\nerror_log {self.folder}/nginx.log;\n' + text
        self.path.write_text(text, encoding='utf-8')
        self.process = None

    def start(self):
        with open(f'{self.folder}/{self.name}.log', 'ab') as log:
            self.process = subprocess.Popen([*self.command, str(self.path)], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, preexec_fn=die_with_us)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(patience.scaled(PATIENCE_S))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def ready(self):
        try:
            return json_post(self, '/v1/stock', {'skus': ['none']})[0] < 500
        except OSError:
            return False


def asked(proxy, path, headers, within_s=PATIENCE_S):
    """(status, seconds) of a GET that has these headers besides."""
    connection, began = http.client.HTTPConnection(proxy.address, timeout=patience.scaled(within_s)), time.monotonic()
    try:
        connection.putrequest('GET', path, skip_host=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        return connection.getresponse().status, time.monotonic() - began
    finally:
        connection.close()


def look(stage, proxy, polls):
    """The service sees the outer name, and no other one; a head and a poll as long as they may be get through."""
    page = {'Host': 'shop.example', 'Origin': 'http://shop.example', 'Sec-Fetch-Site': 'same-origin'}
    stage.need(asked(proxy, '/v1/skus', page)[0] == 200, 'a page of the outer name is refused')
    stage.need(asked(proxy, '/v1/skus', {**page, 'X-Long': 'x' * 15_000})[0] == 200, 'a long header is refused')
    status, _ = asked(proxy, '/v1/skus', {**page, 'Origin': 'http://evil.example', 'Sec-Fetch-Site': 'cross-site'})
    stage.need(status == 403, f'a page of another site is told {status}')
    if polls:
        status, took_s = asked(proxy, f'/v1/events?after=now&wait_s={LONG_POLL_S}', page, 6 * PATIENCE_S)
        stage.need(status == 200 and took_s >= LONG_POLL_S - 1, f'a long poll ended with {status} after {took_s:.1f} s')


def through(run, example):
    with Stage(run) as stage:
        for number in range(2):
            stage.serve('--lanes', '2', '--slot', str(2 * number), '--jobs=expire,settle', '--drain-delay',
                        str(DRAIN_DELAY), '--public-host', 'shop.example', name=f'serve-{number}')
        proxy = stage.keep(Proxy(stage, example, stage.services))
        proxy.start()
        wait_until(proxy.ready, 3 * PATIENCE_S, f'{example} passes calls on')
        look(stage, proxy, not run.slice)
        # Losses of two services conflict at times, and are told `busy`, with a proxy and without.
        load = clients.Load([proxy], stage.journal, stage.run.seed, clients=16, expire=0.1, places=False)
        stage.need(clients.stock(load, 1_000_000), 'the stock was not received')
        with load:
            for i in range(run.rounds):
                stage.progress(load, 60, 3 * PATIENCE_S, f'round {i}: no progress')
                service = stage.services[i % 2]
                status, took_s = service.terminate(6 * PATIENCE_S)
                stage.need(status == 0, f'exit {status} after {took_s:.1f} s')
                stage.progress(load, 60, 3 * PATIENCE_S, f'round {i}: no progress at one service')
                service.start()
                time.sleep(SEEN_S)
                stage.progress(load, 60, 3 * PATIENCE_S, f'round {i}: no progress at both')
        stage.verify()
        lost, statuses = stage.journal.counts['lost'], stage.journal.statuses
        bad = {status: n for status, n in statuses.items() if status is None or status >= 500}
        stage.need(not lost and not bad, f'{example}: {bad} of {stage.journal.counts["calls"]} calls')
        return [f'{example}: {run.rounds} restarts', *stage.said]


def drill(example, program):
    def one(run):
        if not shutil.which(program):
            raise Skipped(f'needs {program} (apt-get install {program})')
        return through(run, example)
    return one


nginx, haproxy, caddy = (drill('nginx.conf', 'nginx'), drill('haproxy.cfg', 'haproxy'), drill('Caddyfile', 'caddy'))
