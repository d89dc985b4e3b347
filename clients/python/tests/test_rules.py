"""The rules of a call by themselves: how it is written, pauses, Retry-After, and what an error keeps."""
import pickle
import unittest

import kit
from holdfast import HoldfastError, exchange, rules
from holdfast.errors import Again
from holdfast.rules import Call, Tries


def again(maybe_done=True, after_s=None):
    return Again(HoldfastError('no_answer'), maybe_done=maybe_done, after_s=after_s)


class Rules(unittest.TestCase):
    def test_pauses_grow_and_are_shortened_by_chance(self):
        tries = Tries(Call('GET', '/'), 'id', 1000.0)
        pauses = [tries.pause(again(), 0) for _ in range(7)]
        for pause, most in zip(pauses, (0, 1, 2, 4, 8, 8, 8)):
            self.assertTrue(most / 2 <= pause <= most, pauses)

    def test_retry_after_is_never_shortened(self):
        tries = Tries(Call('GET', '/'), 'id', 1000.0)
        for after_s in (0, 1, 7):
            pause = tries.pause(again(after_s=after_s), 0)
            self.assertTrue(max(after_s, 0.1) <= pause <= max(after_s, 0.1) * 1.25, pause)

    def test_the_deadline_and_calls_that_are_sent_once(self):
        with self.assertRaises(HoldfastError) as caught:
            Tries(Call('GET', '/'), 'id', 10.0).pause(again(after_s=9), 2)
        error = caught.exception
        self.assertEqual((error.tries, error.maybe_done, error.request_id), (1, True, 'id'))
        once = Tries(Call('POST', '/', once=True), 'id', 10.0)
        once.pause(again(maybe_done=False), 0)
        with self.assertRaises(HoldfastError) as caught:
            once.pause(again(), 0)
        self.assertEqual(caught.exception.tries, 2)

    def test_retry_after(self):
        date = 'Sun, 06 Nov 1994 08:49:37 GMT'
        later = 'Sun, 06 Nov 1994 08:49:42 GMT'
        for text, seconds in (('0', 0), ('120', 120), ('9' * 400, 9999999999), (later, 5), (date, 0), ('', None),
                              ('soon', None), ('-1', None), ('1.5', None), ('²', None), ('Sun, 99 Nov', None)):
            self.assertEqual(rules.retry_after_s({'retry-after': text, 'date': date}), seconds, text)
        self.assertEqual(rules.retry_after_s({'retry-after': date}), 0)
        self.assertGreater(rules.retry_after_s({'retry-after': 'Sun, 06 Nov 2099 08:49:37 GMT'}), 1e9)

    def test_targets(self):
        self.assertEqual(Call('GET', '/v1/skus', {'q': 'a b+c', 'low': True, 'limit': 5, 'cursor': None}).target(),
                         '/v1/skus?q=a%20b%2Bc&low=true&limit=5')
        self.assertEqual(rules.path('/v1/skus/{}/customers/{}', 'A/ü', '..x'), '/v1/skus/A%2F%C3%BC/customers/..x')
        self.assertEqual(rules.path('/v1/tasks/{}', 7), '/v1/tasks/7')

    def test_an_error_travels_between_processes(self):
        error = HoldfastError('short', 'not enough units', status=409, problem={'lines': [{'sku': 'A'}], 'field': 'x'})
        error.maybe_done = True
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((copy.code, copy.status, copy.lines, copy.field, copy.maybe_done, str(copy)),
                         ('short', 409, [{'sku': 'A'}], 'x', True, '409 short: not enough units'))
        self.assertEqual((HoldfastError('no_answer').lines, str(HoldfastError('no_answer'))), ([], 'no_answer'))

    def test_the_version_is_that_of_the_contract(self):
        contract = (kit.PROJECT / 'api' / 'openapi.yaml').read_text(encoding='utf-8')
        self.assertIn(f'\n  version: {exchange.VERSION.replace("rc", "-rc")}\n', contract)

    def test_a_blocking_driver_never_awaits(self):
        async def awaits():
            await kit.asyncio.sleep(1)
        with self.assertRaises(RuntimeError):
            exchange.finished(awaits())


if __name__ == '__main__':
    unittest.main()
