"""What each client makes of answers, good and bad ones, of a server that says what the test wants."""
import decimal
import email.utils
import json
import signal
import socket
import ssl
import threading
import time
import unittest

import kit
from kit import Scripted, answer, reset, with_each

from holdfast import HoldfastError, aio, rules
from holdfast.exchange import server_of

ORDER = {'order_id': 'R1', 'lines': [{'sku': 'MUG', 'qty': 1}]}
HELD = answer(201, b'{"order_id":"R1","state":"held"}')
CLAIM = {'kind': 'settle', 'worker': 'w'}


def problem(status, code, *headers, **members):
    body = json.dumps({'status': status, 'code': code, 'detail': 'so it is', **members}).encode()
    return answer(status, body, *headers, kind='application/problem+json')


def slowly(*pieces, pause_s=0.1):
    def send(client, _):
        for piece in pieces:
            client.sendall(piece)
            time.sleep(pause_s)
    return send


def then_close(data):
    def send(client, _):
        client.sendall(data)
        client.shutdown(socket.SHUT_RDWR)
    return send


class Answers(unittest.TestCase):
    def setUp(self):
        """The pauses are a fifth of what they are; test_rules.py has the true ones."""
        true = rules.PAUSES_S
        rules.PAUSES_S = tuple(pause / 5 for pause in true)
        self.addCleanup(setattr, rules, 'PAUSES_S', true)

    def each(self, steps, check, **options):
        with_each(self, lambda: Scripted(*steps), check, **{'deadline_s': 8, 'try_s': 4, **options})

    def refused(self, client, name, *arguments, **options):
        with self.assertRaises(HoldfastError) as caught:
            client.call(name, *arguments, **options)
        return caught.exception

    # ---- what is said

    def test_a_call_and_its_answer(self):
        def check(client, server):
            self.assertEqual(client.call('reserve', ORDER), {'order_id': 'R1', 'state': 'held'})
            head, _, body = server.requests[0].decode().partition('\r\n\r\n')
            self.assertEqual(json.loads(body), ORDER)
            self.assertEqual(head.splitlines()[0], 'POST /base/v1/reservations HTTP/1.1')
            self.assertIn('\r\nAuthorization: Bearer secret\r\n', head + '\r\n')
            self.assertIn('\r\nContent-Type: application/json', head)

        def make():
            server = Scripted(HELD)
            server.url += '/base/'
            return server

        with_each(self, make, check, key='secret')

    def test_paths_and_queries(self):
        def check(client, server):
            client.call('sku', 'SHIRT RED/L ü?#%', {'max_age_ms': 5})
            client.call('confirm', '#1001')
            self.assertIn(b'GET /v1/skus/SHIRT%20RED%2FL%20%C3%BC%3F%23%25?max_age_ms=5 ', server.requests[0])
            self.assertTrue(server.requests[1].startswith(b'POST /v1/reservations/%231001/confirm '))
            self.assertTrue(server.requests[1].endswith(b'\r\nContent-Length: 0\r\n\r\n'))
            for bad in ('', '.', '..'):
                with self.assertRaises(ValueError):
                    client.call('delete_webhook', bad)
            with self.assertRaises(ValueError):
                client.call('reserve', {'order_id': float('nan')})
            with self.assertRaises(TypeError):
                client.call('reserve', {'order_id': decimal.Decimal(1)})
            self.assertEqual(len(server.requests), 2)

        self.each([answer(200)], check)

    def test_a_refusal(self):
        def check(client, server):
            error = self.refused(client, 'reserve', ORDER)
            self.assertEqual((error.code, error.status, error.lines, error.field, error.tries, error.maybe_done),
                             ('short', 409, [{'sku': 'MUG'}], None, 1, False))
            self.assertIn(error.request_id.encode(), server.requests[0])
            self.assertEqual(str(error), '409 short: so it is')
            error = self.refused(client, 'reserve', ORDER)
            self.assertEqual((error.code, error.field, error.replayed), ('released', 'replaces', True))

        self.each([problem(409, 'short', lines=[{'sku': 'MUG'}]),
                   problem(409, 'released', 'Idempotent-Replayed: true', field='replaces')], check)

    def test_replayed_and_nothing(self):
        def check(client, _):
            self.assertEqual(client.call('confirm', 'R1'), {'replayed': True})
            self.assertIsNone(client.call('claim', CLAIM))
            self.assertIsNone(client.call('delete_webhook', 'w'))

        self.each([answer(200, b'{}', 'Idempotent-Replayed: true'), b'HTTP/1.1 204 Nothing\r\n\r\n'], check)

    # ---- what is sent again

    def test_503_and_429_wait_as_long_as_they_ask(self):
        def check(client, server):
            began = time.monotonic()
            self.assertEqual(client.call('reserve', ORDER)['state'], 'held')
            self.assertGreaterEqual(time.monotonic() - began, 2)
            self.assertEqual(len(server.requests), 3)
            self.assertEqual(len({request.split(b'X-Request-Id: ')[1][:32] for request in server.requests}), 1)

        self.each([problem(503, 'busy', 'Retry-After: 1'), problem(429, 'rate_limited', 'Retry-After: 1'), HELD], check)

    def test_retry_after_as_a_date_of_the_servers_own_clock(self):
        sent = time.time() - 86400
        headers = f'Date: {email.utils.formatdate(sent, usegmt=True)}', \
            f'Retry-After: {email.utils.formatdate(sent + 1, usegmt=True)}'

        def check(client, server):
            began = time.monotonic()
            client.call('reserve', ORDER)
            self.assertTrue(0.9 <= time.monotonic() - began <= 3)

        self.each([problem(503, 'busy', *headers), HELD], check)

    def test_a_pause_beyond_the_deadline_is_told_at_once(self):
        def check(client, server):
            began = time.monotonic()
            error = self.refused(client, 'reserve', ORDER)
            self.assertEqual((error.code, error.retry_after_s, error.tries), ('busy', 3600.0, 1))
            self.assertLess(time.monotonic() - began, 2)

        self.each([problem(503, 'busy', 'Retry-After: 3600')], check)

    def test_503_without_retry_after_has_the_clients_own_pauses(self):
        self.each([problem(503, 'unavailable'), answer(503, b'<p>', kind='text/html'), HELD],
                  lambda client, server: self.assertEqual(client.call('reserve', ORDER)['state'], 'held'))

    def test_a_gateway_that_lost_the_answer(self):
        """Or says 408 to a connection that was idle, at the moment at which a call comes."""
        self.each([answer(502, b'<p>', kind='text/html'), answer(504, b'{"code":"TIMEOUT"}'),
                   answer(408, b'<p>late', 'Connection: close', kind='text/html'), HELD],
                  lambda client, server: self.assertEqual(client.call('reserve', ORDER)['state'], 'held'))

    def test_a_gateway_whose_json_has_a_code(self):
        """502, 504, and 503 with a code that Holdfast does not have, leave a doubt. 429 and 404 leave none."""
        def check(client, _):
            for status, maybe_done, tries in ((502, True, 2), (504, True, 2), (408, True, 2), (503, True, 2),
                                              (429, False, 2), (404, False, 1)):
                error = self.refused(client, 'reserve', ORDER)
                self.assertEqual((error.maybe_done, error.tries), (maybe_done, tries), status)
                self.assertEqual(error.code, 'short' if tries == 2 else 'no_route')

        short = problem(409, 'short')
        self.each([problem(502, 'short'), short, problem(504, 'busy'), short, problem(408, 'late'), short,
                   problem(503, 'no_upstream'), short, problem(429, 'too_many'), short, problem(404, 'no_route')],
                  check)

        def check_once(client, _):
            for status, code in ((502, 'no_answer'), (504, 'no_answer'), (503, 'no_upstream')):
                error = self.refused(client, 'claim', CLAIM)
                self.assertEqual((error.code, error.status, error.maybe_done, error.tries), (code, status, True, 1))

        self.each([problem(502, 'short'), problem(504, 'busy'), problem(503, 'no_upstream')], check_once)

    def test_a_gateway_that_lets_nothing_through(self):
        """429 of its own, without JSON: the code is that of Holdfast's 429, as with the client in TypeScript."""
        def check(client, _):
            error = self.refused(client, 'claim', CLAIM, deadline_s=1)
            self.assertEqual((error.code, error.status, error.maybe_done), ('rate_limited', 429, False))

        self.each([answer(429, b'<p>', 'Retry-After: 5', kind='text/html')], check)

    def test_nothing_else_is_sent_again(self):
        def check(client, server):
            for code, status in (('bad_answer', 500), ('bad_answer', 404), ('unknown_sku', 422), ('bad_answer', 200),
                                 ('bad_answer', 500)):
                error = self.refused(client, 'reserve', ORDER)
                self.assertEqual((error.code, error.status, error.tries), (code, status, 1))
            self.assertEqual(len(server.requests), 5)

        self.each([answer(500, b'oops', kind='text/plain'), answer(404, b'{"no":"code"}'), problem(422, 'unknown_sku'),
                   answer(200, b'<p>Sign in', kind='text/html'), problem(500, 'short')], check)

    def test_a_redirect_is_not_followed(self):
        def check(client, server):
            error = self.refused(client, 'reserve', ORDER)
            self.assertEqual((error.code, error.status), ('bad_answer', 307))
            self.assertIn('http://127.0.0.1:1/elsewhere', error.detail)
            self.assertEqual(len(server.requests), 1)

        self.each([answer(307, b'', 'Location: http://127.0.0.1:1/elsewhere')], check)

    def test_lost_answers(self):
        """Reset, closed, cut off in the head, in the body, in a chunk, or where the end was not announced."""
        for lost in (reset, lambda client, _: client.close(), then_close(b'HTTP/1.1 20'), then_close(HELD[:-3]),
                     then_close(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a"'),
                     then_close(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{"a":')):
            def check(client, server):
                self.assertEqual(client.call('reserve', ORDER)['state'], 'held')
                self.assertEqual((len(server.requests), len(server.connections)), (2, 2))

            self.each([lost, HELD], check)

    def test_maybe_done_stays_when_a_later_try_is_refused(self):
        def check(client, _):
            error = self.refused(client, 'reserve', ORDER)
            self.assertEqual((error.code, error.tries, error.maybe_done), ('short', 2, True))

        self.each([reset, problem(409, 'short')], check)

    def test_no_answer_at_all(self):
        def check(client, server):
            error = self.refused(client, 'reserve', ORDER, deadline_s=1)
            self.assertEqual((error.code, error.status, error.maybe_done), ('no_answer', 0, True))
            self.assertGreaterEqual(error.tries, 2)

        self.each([reset], check)

    def test_calls_that_are_not_sent_twice(self):
        calls = (('claim', CLAIM), ('kick_many',), ('rotate_webhook', 'w'), ('ping_webhook', 'w'),
                 ('enable_webhook', 'w'))
        for name, *arguments in calls:
            def check(client, server):
                error = self.refused(client, name, *arguments)
                self.assertEqual((error.code, error.tries, error.maybe_done), ('no_answer', 1, True))
                error = self.refused(client, name, *arguments)
                self.assertEqual((error.code, error.tries, error.maybe_done), ('unknown_outcome', 1, True))
                self.assertEqual(client.call(name, *arguments), {})         # behind a 503 that says: nothing was done
                self.assertEqual((len(server.requests), len(server.connections)), (4, 4))

            self.each([reset, problem(503, 'unknown_outcome', 'Retry-After: 0'), problem(503, 'busy', 'Retry-After: 0'),
                       answer(200)], check)

    # ---- bodies

    def test_json_that_is_none(self):
        deep = b'[' * 100000 + b']' * 100000
        for body in (b'{"a":', b'{"a":\xff}', b'[]', b'', b'{"a":' + deep + b'}'):
            def check(client, server):
                error = self.refused(client, 'reserve', ORDER)
                self.assertEqual((error.code, error.tries, error.maybe_done), ('bad_answer', 1, True), body[:20])

            self.each([answer(200, body)], check)
        self.each([answer(200, b'{}', 'Content-Encoding: gzip')],
                  lambda client, _: self.assertEqual(self.refused(client, 'reserve', ORDER).code, 'bad_answer'))

    def test_chunks(self):
        self.each([slowly(b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1',
                          b'\r\n{\r\n', b'6\r\n"a":1}\r\n0\r\n\r\n')],
                  lambda client, _: self.assertEqual(client.call('reserve', ORDER), {'a': 1}))

    def test_a_huge_answer(self):
        body = b'{"a":"' + b'x' * (20 << 20) + b'"}'
        self.each([answer(200, body)],
                  lambda client, _: self.assertEqual(len(client.call('reserve', ORDER)['a']), 20 << 20),
                  deadline_s=60, try_s=60)

        def endless(client, _):
            client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n')

        self.each([endless],
                  lambda client, _: self.assertEqual(self.refused(client, 'reserve', ORDER).code, 'bad_answer'))

    def test_a_slow_body_ends_with_the_deadline(self):
        """A byte every 50 ms would take minutes; each try, and all of them, end in time."""
        def drip(client, _):
            client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n')
            while True:
                client.sendall(b' ')
                time.sleep(0.05)

        def check(client, server):
            began = time.monotonic()
            error = self.refused(client, 'reserve', ORDER, deadline_s=1.5)
            self.assertEqual((error.code, error.maybe_done), ('no_answer', True))
            self.assertTrue(1 <= time.monotonic() - began <= 4)
            self.assertGreaterEqual(len(server.requests), 2)

        self.each([drip], check, try_s=0.7)

    def test_a_silent_server(self):
        def check(client, server):
            began = time.monotonic()
            self.assertEqual(self.refused(client, 'reserve', ORDER, deadline_s=1).code, 'no_answer')
            self.assertLess(time.monotonic() - began, 3)

        self.each([lambda client, _: time.sleep(30)], check)

    def test_a_refusal_before_the_body_was_read(self):
        """The server answers when it has the head, and closes: what it said counts, not that sending failed."""
        class Early(Scripted):
            def serve(self, client, number):
                client.recv(100)
                self.requests.append(b'')
                client.sendall(problem(401, 'unauthorized', 'Connection: close'))
                client.shutdown(socket.SHUT_WR)
                time.sleep(0.2)

        big = {'order_id': 'R1', 'lines': [{'sku': 'MUG' * 40, 'qty': 1}] * 50000}
        with_each(self, Early, lambda client, server: self.assertEqual(
            (self.refused(client, 'reserve', big).code, len(server.requests)), ('unauthorized', 1)))

    # ---- connections

    def test_a_connection_is_used_again(self):
        def check(client, server):
            for _ in range(5):
                client.call('stats')
            self.assertEqual((len(server.requests), len(server.connections)), (5, 1))

        self.each([answer(200)], check)

    def test_a_connection_that_was_closed_while_idle(self):
        """Also for calls that are not sent again: they have a connection of their own."""
        def check(client, server):
            client.call('stats')
            time.sleep(0.1)
            self.assertEqual(client.call('claim', CLAIM), {})
            client.call('stats')
            self.assertEqual(sum(b' /v1/tasks ' in request for request in server.requests), 1)

        self.each([then_close(answer(200))], check)

    def test_a_connection_that_is_closed_when_the_request_comes(self):
        """No poll can see that. The call is sent again at once, on a new connection."""
        def check(client, server):
            client.call('stats')
            began = time.monotonic()
            client.call('reserve', ORDER)
            self.assertLess(time.monotonic() - began, 1.5)
            self.assertEqual((len(server.requests), len(server.connections)), (3, 2))

        self.each([answer(200), lambda client, _: client.close(), HELD], check)

    def test_calls_on_fresh_connections_leave_no_more_than_one(self):
        """A worker claims for days."""
        def check(client, server):
            for _ in range(30):
                client.call('claim', CLAIM)
                client.call('stats')
            self.assertEqual(len(server.requests), 60)
            time.sleep(0.1)
            self.assertLessEqual(server.open, 2)

        class Counting(Scripted):
            open = 0

            def serve_quietly(self, client, number):
                with self.lock:
                    self.open += 1
                super().serve_quietly(client, number)
                with self.lock:
                    self.open -= 1

        with_each(self, lambda: Counting(answer(200)), check)

    def test_a_second_try_takes_no_kept_connection(self):
        """Where one of them was dead, all may be."""
        class Stale(Scripted):
            """Answers the first request of a connection, and closes it at the second one."""
            def serve(self, client, number):
                kit.read_request(client)
                both.wait()
                client.sendall(HELD)
                request = kit.read_request(client)
                self.requests += [request] if request else []

        both = threading.Barrier(2, timeout=20)
        with Stale() as server, kit.Holdfast(server.url) as client:
            calls = [threading.Thread(target=client.stats) for _ in range(2)]
            for call in calls:
                call.start()
            for call in calls:
                call.join()
            both.reset()
            threading.Thread(target=both.wait).start()
            self.assertEqual(client.reserve(ORDER)['state'], 'held')
            self.assertEqual(len(server.requests), 1)

    def test_what_came_while_idle_is_no_answer(self):
        """A proxy says 408 before it closes an idle connection."""
        def check(client, server):
            client.call('stats')
            if hasattr(client, 'loop'):         # asyncio reads while it runs, and not between two runs of a loop
                client.loop.run_until_complete(kit.asyncio.sleep(0.1))
            time.sleep(0.1)
            self.assertEqual(client.call('reserve', ORDER)['state'], 'held')

        self.each([slowly(answer(200), answer(408, b'late', kind='text/plain'), pause_s=0.02), HELD], check)

    def test_the_answer_to_another_request(self):
        """Told by the id of the request. A proxy that gives each request an id of its own does no harm."""
        def echo(client, request):
            client.sendall(answer(200, b'{}', f'X-Request-Id: {request.split(b"X-Request-Id: ")[1][:32].decode()}'))

        def check(client, server):
            client.call('stats')
            self.assertEqual(client.call('reserve', ORDER)['state'], 'held')
            self.assertEqual(len(server.connections), 2)

        other = answer(200, b'{"order_id":"OTHER"}', 'X-Request-Id: another')
        self.each([echo, other, HELD], check)

        def check_proxy(client, server):
            for _ in range(3):
                self.assertEqual(client.call('reserve', ORDER)['order_id'], 'OTHER')
            self.assertEqual((len(server.requests), len(server.connections)), (3, 1))

        self.each([other], check_proxy)

    def test_addresses(self):
        if socket.has_ipv6:
            with_each(self, lambda: Scripted(HELD, family=socket.AF_INET6),
                      lambda client, _: self.assertEqual(client.call('reserve', ORDER)['state'], 'held'))

        class ByName(Scripted):
            """localhost is ::1 first, where nothing listens."""
            def __init__(self):
                super().__init__(HELD)
                self.url = f'http://localhost:{self.port}'

        with_each(self, ByName, lambda client, _: self.assertEqual(client.call('reserve', ORDER)['state'], 'held'))
        for url in ('ftp://a', 'a:80', 'http://', 'http://u:p@a/', 'http://a/?x=1', 'http://a/#x'):
            for kind in (kit.Holdfast, kit.AsyncHoldfast):
                with self.assertRaises(ValueError, msg=url):
                    kind(url)
        with self.assertRaises(ValueError):
            kit.Holdfast('http://a', key='a\r\nb: c')

    def test_a_name_that_nobody_knows(self):
        class Nowhere(Scripted):
            def __init__(self):
                super().__init__(HELD)
                self.url = 'http://nowhere.invalid:8080'

        def check(client, _):
            began = time.monotonic()
            error = self.refused(client, 'reserve', ORDER, deadline_s=5)
            self.assertEqual((error.code, error.maybe_done), ('no_answer', False))
            self.assertLess(time.monotonic() - began, 8)

        with_each(self, Nowhere, check)

    def test_a_port_where_nothing_listens_is_tried_until_the_deadline(self):
        class Closed(Scripted):
            def __init__(self):
                super().__init__(HELD)
                self.close()

        def check(client, _):
            error = self.refused(client, 'claim', CLAIM, deadline_s=1.5)
            self.assertEqual((error.code, error.maybe_done), ('no_answer', False))
            self.assertGreaterEqual(error.tries, 2)

        with_each(self, Closed, check)

    def test_a_resolver_that_hangs(self):
        """getaddrinfo has no limit of its own."""
        true = kit.socket.getaddrinfo

        def hang(host, *rest):
            if host == 'slow.invalid' and rest[-1] != socket.AI_NUMERICHOST:
                time.sleep(3)
            return true(host, *rest)

        kit.socket.getaddrinfo = hang
        self.addCleanup(setattr, kit.socket, 'getaddrinfo', true)
        client = kit.Holdfast('http://slow.invalid')
        began = time.monotonic()
        with self.assertRaises(HoldfastError):
            client.stats(deadline_s=0.5)
        self.assertLess(time.monotonic() - began, 2)

    def test_tls(self):
        folder = kit.tempfile.mkdtemp()
        self.addCleanup(kit.shutil.rmtree, folder)
        trust = kit.certificate(folder, 'DNS:localhost')
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(f'{folder}/cert', f'{folder}/key')

        class Secure(Scripted):
            def __init__(self):
                super().__init__(then_close(HELD), answer(200, b'{"a":"' + b'x' * 3000000 + b'"}'))
                self.url = f'https://localhost:{self.port}'

            def serve(self, client, number):
                with own.wrap_socket(client, server_side=True) as secure:
                    super().serve(secure, number)

        def trusted(client, server):
            self.assertEqual(client.call('reserve', ORDER)['state'], 'held')
            for _ in range(3):
                self.assertEqual(len(client.call('reserve', ORDER)['a']), 3000000)
            self.assertLessEqual(len(server.connections), 3)

        def not_trusted(client, server):
            error = self.refused(client, 'reserve', ORDER)
            self.assertEqual((error.code, error.tries, error.maybe_done), ('no_answer', 1, False))
            self.assertIn('certificate', error.detail)

        with_each(self, Secure, trusted, tls=trust)
        with_each(self, Secure, not_trusted)

    def test_a_port_that_never_says_a_word_of_tls(self):
        class Silent(Scripted):
            def __init__(self):
                super().__init__(HELD)
                self.url = f'https://127.0.0.1:{self.port}'

            def serve(self, client, number):
                time.sleep(30)

        def check(client, server):
            began = time.monotonic()
            error = self.refused(client, 'claim', CLAIM, deadline_s=1)
            self.assertEqual((error.code, error.maybe_done), ('no_answer', False))
            self.assertLess(time.monotonic() - began, 3)

        with_each(self, Silent, check, try_s=0.6)

    def test_a_call_that_a_signal_has_ended_leaves_no_connection_behind(self):
        """As Ctrl-C does, or the limit of time of a worker: its answer would be taken for that of the next call."""
        class Enough(Exception):
            pass

        def enough(*_):
            raise Enough

        before = signal.signal(signal.SIGALRM, enough)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        first = slowly(b'', answer(200, b'{"call":"the first"}'), pause_s=0.5)
        with Scripted(first, answer(200, b'{"call":"the second"}')) as server, kit.Holdfast(server.url) as client:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with self.assertRaises(Enough):
                client.stats()
            self.assertEqual(client.stats(), {'call': 'the second'})

    def test_not_more_connections_than_allowed(self):
        with Scripted(slowly(answer(200), pause_s=0.05)) as server, kit.Holdfast(server.url, connections=3) as client:
            threads = [threading.Thread(target=client.stats) for _ in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(server.requests), 12)
            self.assertLessEqual(len(server.connections), 3)
            self.assertNotIn('secret', repr(kit.Holdfast(server.url, key='secret')._server))
            with self.assertRaises(RuntimeError):
                client.close()
                client.stats()

    def test_a_child_process_has_connections_of_its_own(self):
        with Scripted(answer(200)) as server, kit.Holdfast(server.url) as client:
            client.stats()
            child = kit.os.fork()
            if child == 0:
                status = 1
                try:
                    client.stats()
                    status = 0
                finally:
                    kit.os._exit(status)
            self.assertEqual(kit.os.waitpid(child, 0)[1], 0)
            client.stats()
            self.assertEqual((len(server.requests), len(server.connections)), (3, 2))


class Asyncio(unittest.IsolatedAsyncioTestCase):
    async def test_a_cancelled_call_leaves_no_connection_behind(self):
        """Its answer would be taken for that of the next call."""
        asyncio = kit.asyncio

        def late(client, _):
            time.sleep(0.3)
            client.sendall(answer(200, b'{"call":"the first"}'))

        with Scripted(late, answer(200, b'{"call":"the second"}')) as server:
            async with kit.AsyncHoldfast(server.url, connections=1) as client:
                task = asyncio.ensure_future(client.stats())
                while not server.requests:
                    await asyncio.sleep(0.01)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual(await client.stats(), {'call': 'the second'})
                self.assertEqual(len(server.connections), 2)

    async def test_cancelled_while_it_waits_for_a_connection(self):
        asyncio = kit.asyncio
        with Scripted(slowly(answer(200), pause_s=0.1)) as server:
            async with kit.AsyncHoldfast(server.url, connections=1) as client:
                tasks = [asyncio.ensure_future(client.stats()) for _ in range(6)]
                await asyncio.sleep(0.02)
                for task in tasks[1:4]:
                    task.cancel()
                done = await asyncio.gather(*tasks, return_exceptions=True)
                self.assertEqual([type(one).__name__ for one in done], ['dict'] + ['CancelledError'] * 3 + ['dict'] * 2)
                for _ in range(3):              # the connection is not lost
                    await client.stats(deadline_s=5)

    async def test_cancelled_when_its_turn_has_come(self):
        asyncio = kit.asyncio
        driver = aio._Driver(server_of('http://a', None, 1, 1, None), 1, asyncio.get_running_loop())
        by = time.monotonic() + 60
        await driver.enter(by)
        task = asyncio.ensure_future(driver.enter(by))
        await asyncio.sleep(0)
        driver.leave()              # its turn
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(driver.enter(by), 5)

    async def test_cancelled_at_any_moment(self):
        """A few hundred calls, each cancelled at another time; then the client works as ever."""
        asyncio = kit.asyncio
        with Scripted(lambda client, request: client.sendall(
                answer(200, json.dumps({'path': request.split()[1].decode()}).encode()))) as server:
            async with kit.AsyncHoldfast(server.url, connections=4) as client:
                async def one(i):
                    if i % 3:
                        task = asyncio.ensure_future(client.sku(f'S{i}'))
                        await asyncio.sleep(i % 50 / 20000)
                        task.cancel()
                        await asyncio.gather(task, return_exceptions=True)
                    else:
                        self.assertEqual(await client.sku(f'S{i}'), {'path': f'/v1/skus/S{i}'})

                for start in range(0, 300, 20):
                    await asyncio.gather(*(one(i) for i in range(start, start + 20)))
                await asyncio.gather(*(client.sku(f'T{i}') for i in range(20)))

    async def test_a_limit_of_time_by_asyncio(self):
        with Scripted(lambda client, _: time.sleep(5)) as server:
            async with kit.AsyncHoldfast(server.url) as client:
                with self.assertRaises(kit.asyncio.TimeoutError):
                    await kit.asyncio.wait_for(client.stats(), 0.2)


if __name__ == '__main__':
    unittest.main()
