"""Checks of the console: how many round trips follow each other until the first page is there. console.py runs them."""
import http.client
import http.server
import pathlib
import re
import threading
import time

from stage import check, patience

QUIET_S = .4        # a browser that has asked for nothing in so long waits for answers


class Rounds:
    """A proxy with endless latency: it keeps all requests until the browser asks for nothing more, and then answers all
    of them at once. So a round is what one round trip takes, however slow this machine is."""

    def __init__(self, service):
        self.rounds, self.waiting, self.changed, self.over = [], [], threading.Condition(), False
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                proxy.hold(self.path)
                up = http.client.HTTPConnection(service.at)
                up.request('GET', self.path, headers={name: value for name, value in self.headers.items() if name != 'Host'})
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
        threading.Thread(target=self.answer, daemon=True).start()

    def hold(self, path):
        let_go = threading.Event()
        with self.changed:
            self.waiting.append((path, let_go))
            self.last = time.monotonic()
        let_go.wait()

    def answer(self):
        while not self.over:
            time.sleep(.05)
            with self.changed:
                if self.waiting and (self.over or time.monotonic() - self.last > patience.scaled(QUIET_S)):
                    self.rounds.append([path for path, _ in self.waiting])
                    for _, let_go in self.waiting:
                        let_go.set()
                    self.waiting = []

    def close(self):
        self.over = True
        self.server.shutdown()
        for _, let_go in self.waiting:
            let_go.set()


@check()
def the_first_page_takes_three_round_trips(page, service):
    for place, ready, most in (('now', '/Nothing is wrong|Look there/.test(t) && /Available/.test(t)', 3), ('now', '/since|second by second/.test(t)', 5),
                               ('orders', '/\\border\\b.*\\bstate\\b|There is no order/.test(t)', 5), ('sheet/receipt', '/Scan or type/.test(t)', 5)):
        rounds = Rounds(service)
        try:
            page.open(rounds, place)
            page.until(f'(t => {ready})(document.body.innerText)', within_s=60)
            took = len(rounds.rounds)
        finally:
            rounds.close()
        print(f'    {place}: {took} round trips')
        assert took <= most, (place, took, rounds.rounds)
        page.driver.get('about:blank')


@check()
def each_page_names_the_modules_that_it_needs(page, service):
    """A module that is not named costs a round trip; a name too many costs a connection."""
    folder = pathlib.Path(__file__).resolve().parents[2] / 'console'
    imports = {file.stem: set(re.findall(r"^(?:import|export|\}) .*from '\./(\w+)\.js'", file.read_text(), re.M)) for file in folder.glob('*.js')}

    def needed(name, known):
        for one in imports[name] - known:
            known = needed(one, known | {one})
        return known
    first = needed('main', {'main'})
    named = set(re.findall(r'modulepreload" href="(\w+)\.js', (folder / 'index.html').read_text()))
    assert named == first - {'main'} | {'now'}, (named, first)
    assert len(named) + 2 <= 6, 'a browser has six connections: main.js and console.css take two'
    text = (folder / 'main.js').read_text()
    words = dict(re.findall(r"(LIST|ORDER) = (.*?),?$", text, re.M))

    def said(terms):
        return set().union(*[said(words[t]) if t in words else set(t.strip("'").split()) for t in terms.split(' + ')]) if terms else set()
    rows = re.findall(r"module: './(\w+)\.js'(?:, needs: ([^}]*))?", text)
    assert len(rows) == 9, rows
    for name, terms in rows:
        assert said(terms) == needed(name, {name}) - first - {name}, (name, said(terms), needed(name, {name}) - first)
