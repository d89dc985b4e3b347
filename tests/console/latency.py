"""Checks of the console: how many round trips follow each other until the first page is there. console.py runs them."""
import contextlib
import http.client
import http.server
import pathlib
import re
import threading
import time

from stage import PATIENCE_S, check, patience

QUIET, SHORT_S = 4, .05     # so many looks in a row, so far apart, find a browser that waits for answers
LONG_S = 2                  # so long it is never held up for


def is_busy(root):
    """Whether a thread of this process or of its descendants runs, or wants to: on a busy machine it may wait long."""
    children, found = {}, [root]
    for entry in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(OSError):
            children.setdefault(int(entry.read_text().rpartition(')')[2].split()[1]), []).append(int(entry.parent.name))
    for one in found:
        found += children.get(one, [])
    for one in found:
        for entry in pathlib.Path(f'/proc/{one}/task').glob('*/stat'):
            with contextlib.suppress(OSError):
                if entry.read_text().rpartition(')')[2].split()[0] == 'R':
                    return True
    return False


class Rounds:
    """A proxy with endless latency: it keeps all requests until the browser has nothing to do but wait, and then
    answers all of them at once. So a round is what one round trip takes, however slow this machine is."""

    def __init__(self, service, browser):
        self.rounds, self.waiting, self.changed, self.over = [], [], threading.Lock(), False
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                proxy.hold(self.path)
                up = http.client.HTTPConnection(service.at)
                headers = {name: value for name, value in self.headers.items() if name != 'Host'}
                up.request('GET', self.path, headers=headers)
                answer = up.getresponse()
                body = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ('content-length', 'transfer-encoding', 'connection', 'date', 'server'):
                        self.send_header(name, value)
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                up.close()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.at = f'127.0.0.1:{self.server.server_port}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        threading.Thread(target=self.answer, args=(browser,), daemon=True).start()

    def hold(self, path):
        let_go = threading.Event()
        with self.changed:
            self.waiting.append((path, let_go))
        let_go.wait()

    def answer(self, browser):
        known, quiet, since = 0, 0, 0
        while not self.over:
            time.sleep(SHORT_S)
            now = len(self.waiting)
            quiet = 0 if not now or now != known or is_busy(browser) else quiet + 1
            since = since if now == known else time.monotonic()
            known = now
            with self.changed:
                if (quiet >= QUIET or now and patience.is_over(since, LONG_S)) and len(self.waiting) == known:
                    self.rounds.append([path for path, _ in self.waiting])
                    for _, let_go in self.waiting:
                        let_go.set()
                    self.waiting, quiet = [], 0

    def close(self):
        self.over = True
        self.server.shutdown()
        for _, let_go in self.waiting:
            let_go.set()


def counted(page, service, place, ready):
    """The rounds until the page says what it should."""
    rounds = Rounds(service, page.driver.service.process.pid)
    try:
        page.open(rounds, place)
        page.until(f'(t => {ready})(document.body.innerText)', within_s=12 * PATIENCE_S)
        return list(rounds.rounds)
    finally:
        rounds.close()
        page.driver.get('about:blank')


@check()
def the_first_page_takes_three_round_trips(page, service):
    """On a busy machine a browser may ask too late, and one round be counted as two: then it is counted again."""
    for place, ready, most in (('now', '/Nothing is wrong|Look there/.test(t) && /Available/.test(t)', 3),
                               ('orders', '/\\border\\b.*\\bstate\\b|There is no order/.test(t)', 5),
                               ('sheet/receipt', '/Scan or type/.test(t)', 4)):
        for _ in range(4):
            rounds = counted(page, service, place, ready)
            if len(rounds) <= most:
                break
        print(f'    {place}: {len(rounds)} round trips')
        assert len(rounds) <= most, (place, rounds)


@check()
def each_page_names_the_modules_that_it_needs(page, service):
    """A module that is not named costs a round trip; a name too many costs a connection."""
    folder = pathlib.Path(__file__).resolve().parents[2] / 'console'
    imports = {file.stem: set(re.findall(r"^(?:import|export|\}) .*from '\./(\w+)\.js'", file.read_text(), re.M))
               for file in folder.glob('*.js')}

    def needed(name, known):
        for one in imports[name] - known:
            known = needed(one, known | {one})
        return known
    first = needed('main', {'main'})
    named = set(re.findall(r'modulepreload" href="(\w+)\.js', (folder / 'index.html').read_text()))
    assert named == first - {'main'} | {'now'}, (named, first)
    assert len(named) + 2 <= 6, 'a browser has six connections: main.js and console.css take two'
    text = (folder / 'main.js').read_text()
    words = dict(re.findall(r"(LIST|ORDER|STOCK) = (.*?),?$", text, re.M))

    def said(terms):
        parts = terms.split(' + ') if terms else []
        return set().union(*[said(words[t]) if t in words else set(t.strip("'").split()) for t in parts])
    rows = re.findall(r"module: './(\w+)\.js'(?:, needs: ([^}]*))?", text)
    assert len(rows) == 9, rows
    for name, terms in rows:
        assert said(terms) == needed(name, {name}) - first - {name}, (name, said(terms), needed(name, {name}) - first)
