"""HTTP/1.1 as bytes: those of a request, and an answer that is read piece by piece. It knows no socket."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Generator, List, Optional, Tuple

HEAD_MAX = 1 << 16
INTERIM_MAX = 8         # answers 1xx before the one that counts

_STATUS = re.compile(rb'HTTP/1\.([01]) ([1-5][0-9][0-9])(?: [^\x00-\x08\x0a-\x1f]*)?')
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(rb'[0-9]{1,18}')
_CHUNK = re.compile(rb'([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?')
_SENDABLE = re.compile(r'[!-~](?:[ -~]*[!-~])?')


class CutOff(Exception):
    """The connection has ended before the answer."""


class NotHttp(Exception):
    """Bytes that are no answer by RFC 9112, or an answer beyond the limits."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Dict[str, str]     # names in small letters; one that comes several times is joined by commas
    body: bytes
    keeps: bool                 # the connection may carry another request
    framed: bool                # the head said where the body ends; otherwise the end of the connection did


def request_bytes(method: str, target: str, headers: List[Tuple[str, str]], body: Optional[bytes]) -> bytes:
    """A request. A body is JSON."""
    if body is not None:
        headers = [*headers, ('Content-Type', 'application/json')]
    if body is not None or method in ('POST', 'PUT'):
        headers = [*headers, ('Content-Length', str(len(body or b'')))]
    for name, value in headers:
        if not _SENDABLE.fullmatch(value):
            raise ValueError(f'{name} has characters that no header may have')
    head = ''.join([f'{method} {target} HTTP/1.1\r\n', *(f'{name}: {value}\r\n' for name, value in headers), '\r\n'])
    return head.encode('ascii') + (body or b'')


_More = Generator[None, None, bytes]


class AnswerReader:
    """Takes the bytes of a connection as they come, and returns the answer when it is whole."""

    def __init__(self, body_max: int) -> None:
        self._body_max = body_max
        self._buffer = bytearray()
        self._ended = False
        self._steps = self._read()
        next(self._steps)

    def feed(self, data: bytes) -> Optional[Answer]:
        """b'': the connection has ended. Raises CutOff and NotHttp."""
        self._buffer += data
        self._ended = not data
        try:
            next(self._steps)
        except StopIteration as done:
            answer: Answer = done.value
            return answer
        return None

    def _more(self) -> Generator[None, None, None]:
        if self._ended:
            raise CutOff('the connection was closed before the end of the answer')
        yield

    def _line(self) -> _More:
        searched = 0
        while (end := self._buffer.find(b'\n', searched)) < 0:
            searched = len(self._buffer)
            if searched > HEAD_MAX:
                raise NotHttp('a line of the answer is too long')
            yield from self._more()
        line = bytes(self._buffer[:end])
        del self._buffer[:end + 1]
        return line[:-1] if line.endswith(b'\r') else line

    def _bytes(self, count: int) -> _More:
        while len(self._buffer) < count:
            yield from self._more()
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken

    def _fields(self) -> Generator[None, None, Dict[str, str]]:
        """The lines of a head, or of the trailer behind chunks, to the empty one."""
        fields: Dict[str, str] = {}
        size = 0
        while line := (yield from self._line()):
            size += len(line)
            name, colon, value = line.partition(b':')
            if size > HEAD_MAX or not colon or not _NAME.fullmatch(name):
                raise NotHttp('the head of the answer is malformed or too long')
            key, text = name.decode('ascii').lower(), value.strip(b' \t').decode('latin-1')
            fields[key] = f'{fields[key]}, {text}' if key in fields else text
        return fields

    def _head(self) -> Generator[None, None, Tuple[int, int, Dict[str, str]]]:
        """The minor version, the status and the fields of the answer, behind interim ones."""
        for _ in range(INTERIM_MAX + 1):
            status = _STATUS.fullmatch((yield from self._line()))
            if not status:
                raise NotHttp('the answer is not HTTP/1.1')
            fields = yield from self._fields()
            if int(status[2]) >= 200:
                return int(status[1]), int(status[2]), fields
            if int(status[2]) == 101:
                break
        raise NotHttp('an interim answer, and no other')

    def _chunks(self) -> _More:
        body = bytearray()
        while True:
            size = _CHUNK.fullmatch((yield from self._line()))
            if not size:
                raise NotHttp('a chunk of the answer is malformed')
            count = int(size[1], 16)
            self._check(len(body) + count)
            if count == 0:
                yield from self._fields()
                return bytes(body)
            body += yield from self._bytes(count)
            if (yield from self._line()):
                raise NotHttp('a chunk of the answer is longer than it says')

    def _to_the_end(self) -> _More:
        while not self._ended:
            self._check(len(self._buffer))
            yield
        return (yield from self._bytes(len(self._buffer)))

    def _check(self, count: int) -> None:
        if count > self._body_max:
            raise NotHttp(f'the answer is longer than {self._body_max} bytes')

    def _read(self) -> Generator[None, None, Answer]:
        yield
        minor, status, headers = yield from self._head()
        length, coding = headers.get('content-length'), headers.get('transfer-encoding')
        framed = True
        if status in (204, 304):
            body = b''
        elif coding is not None:
            if coding.lower() != 'chunked' or length is not None or minor == 0:
                raise NotHttp('it is not clear where the answer ends')
            body = yield from self._chunks()
        elif length is not None:
            if not _LENGTH.fullmatch(length.encode('latin-1')):
                raise NotHttp('the length of the answer is malformed')
            self._check(int(length))
            body = yield from self._bytes(int(length))
        else:
            framed = False
            body = yield from self._to_the_end()
        closes = 'close' in [word.strip().lower() for word in headers.get('connection', '').split(',')]
        keeps = framed and minor == 1 and not closes and not self._ended and not self._buffer
        return Answer(status, headers, body, keeps, framed)
