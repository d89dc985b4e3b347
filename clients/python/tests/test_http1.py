"""How bytes become an answer: whole, byte by byte, cut off anywhere, and what is no answer at all."""
import unittest

import kit      # noqa: F401
from holdfast.http1 import AnswerReader, CutOff, NotHttp, request_bytes

PLAIN = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
CHUNKED = b'HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n' \
    b'1\r\n{\r\n0a;x=1\r\n"a":123456\r\n1\r\n}\r\n0\r\nx-t: 1\r\n\r\n'
INTERIM = b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n'


def read(data, piece=1 << 20, most=1 << 20):
    """The answer; None if it is not whole yet."""
    reader = AnswerReader(most)
    for i in range(0, len(data), piece):
        answer = reader.feed(data[i:i + piece])
        if answer:
            return answer
    return None


class Reading(unittest.TestCase):
    def test_whole_and_byte_by_byte(self):
        for data, status, body in ((PLAIN, 200, b'{}'), (CHUNKED, 201, b'{"a":123456}'),
                                   (INTERIM + PLAIN, 200, b'{}'),
                                   (b'HTTP/1.1 204 No Content\r\nX: a\r\nx:  b\t\r\n\r\n', 204, b'')):
            for piece in (1, 2, 7, 1 << 20):
                answer = read(data, piece)
                self.assertEqual((answer.status, answer.body, answer.keeps), (status, body, True), (data, piece))
        self.assertEqual(answer.headers, {'x': 'a, b'})

    def test_cut_off_anywhere(self):
        for data in (PLAIN, CHUNKED):
            for end in range(len(data)):
                reader = AnswerReader(1000)
                self.assertIsNone(reader.feed(data[:end]) if end else None)
                with self.assertRaises(CutOff, msg=data[:end]):
                    reader.feed(b'')

    def test_the_end_of_the_connection_ends_an_answer_without_length(self):
        reader = AnswerReader(1000)
        self.assertIsNone(reader.feed(b'HTTP/1.0 200 OK\r\n\r\n{"a"'))
        self.assertIsNone(reader.feed(b':1}'))
        answer = reader.feed(b'')
        self.assertEqual((answer.body, answer.keeps, answer.framed), (b'{"a":1}', False, False))

    def test_connections_that_are_not_kept(self):
        for data in (PLAIN.replace(b'1.1', b'1.0'), PLAIN + b'HTTP/1.1 200',
                     PLAIN.replace(b'OK\r\n', b'OK\r\nConnection: Close\r\n')):
            self.assertFalse(read(data).keeps, data)

    def test_what_is_no_answer(self):
        head = b'HTTP/1.1 200 OK\r\n'
        chunked = head + b'Transfer-Encoding: chunked\r\n\r\n'
        for data in (b'SSH-2.0-OpenSSH\r\n', b'HTTP/2 200\r\n\r\n', b'HTTP/1.1 99 X\r\n\r\n',
                     b'HTTP/1.1 101 Up\r\n\r\n', b'HTTP/1.1 100 C\r\n\r\n' * 9,
                     head + b' folded: 1\r\n\r\n', head + b'no colon\r\n\r\n',
                     head + b'Content-Length: -1\r\n\r\n', head + b'Content-Length: 1\r\nContent-Length: 2\r\n\r\n',
                     head + b'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
                     head + b'Transfer-Encoding: gzip, chunked\r\n\r\n', head + b'Content-Length: 9999\r\n\r\n',
                     chunked + b'-1\r\n', chunked + b'1\r\nab\r\n', chunked + b'fff\r\n', head + b'X: ' + b'y' * 70000,
                     head + b'X: y\r\n' * 20000, b'\x15\x03\x01\x00\x02\x02P'):
            with self.assertRaises((NotHttp, CutOff), msg=data[:60]):
                reader = AnswerReader(1000)
                reader.feed(data)
                reader.feed(b'')

    def test_an_endless_body_ends(self):
        reader = AnswerReader(1000)
        with self.assertRaises(NotHttp):
            for _ in range(9):
                reader.feed(b'HTTP/1.1 200 OK\r\n\r\n' + b' ' * 200)

    def test_requests(self):
        self.assertEqual(request_bytes('GET', '/', [('Host', 'a')], None), b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        self.assertTrue(request_bytes('POST', '/', [], None).endswith(b'Content-Length: 0\r\n\r\n'))
        for value in ('a\r\nb: c', 'a\n', '', ' a', 'ü'):
            with self.assertRaises(ValueError, msg=value):
                request_bytes('GET', '/', [('Host', value)], None)


if __name__ == '__main__':
    unittest.main()
