"""One call from its first try to its answer, once for both clients.

It is written as coroutines over a Driver. That of asyncio awaits. That of threads blocks and never awaits, so
`finished` runs the coroutine to its end in one step.
"""
from __future__ import annotations

import math
import os
import socket
import ssl
import time
import urllib.parse
import uuid
from dataclasses import dataclass, field
from typing import Any, Coroutine, List, Optional, Protocol, Tuple, TypeVar

from .errors import BAD_ANSWER, NO_ANSWER, Again, HoldfastError
from .http1 import Answer, AnswerReader, CutOff, NotHttp, request_bytes
from .rules import Call, Tries, read

T = TypeVar('T')

VERSION = '1.0.0rc1'
IDLE_S = 60.0                   # the service closes an idle connection after 75 s
ANSWER_MAX = 256 << 20


class Wire(Protocol):
    """A connection. `by` is a time of time.monotonic(); a call that takes longer raises OSError."""

    echoes: bool                    # it has answered with the request's own X-Request-Id: no proxy gives others

    async def send(self, data: bytes, by: float) -> None: ...

    async def receive(self, by: float) -> bytes:
        """b'' at the end."""

    def is_quiet(self) -> bool:
        """Open, and nothing has come that was not asked for."""

    def close(self) -> None: ...


class Driver(Protocol):
    """What threads and asyncio do in ways of their own."""

    async def connect(self, by: float) -> Wire: ...

    async def sleep(self, seconds: float) -> None: ...

    async def enter(self, by: float) -> None:
        """Waits until a connection may be used; raises OSError if there is none in time."""

    def leave(self) -> None: ...


@dataclass(frozen=True)
class Server:
    """Where the service is, and how it is called."""

    host: str
    port: int
    tls: Optional[ssl.SSLContext]
    prefix: str                             # of the path, behind a proxy
    headers: List[Tuple[str, str]] = field(repr=False)      # of each request; the key is one of them
    deadline_s: float
    try_s: float


def server_of(url: str, key: Optional[str], deadline_s: float, try_s: float, tls: Optional[ssl.SSLContext]) -> Server:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ('http', 'https') or not parts.hostname:
        raise ValueError(f'{url!r} is no address like http://127.0.0.1:8080')
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError('the address may have a host, a port and a path, and nothing else')
    secure = parts.scheme == 'https'
    headers = [('Host', parts.netloc), ('User-Agent', f'holdfast-python/{VERSION}'), ('Accept', 'application/json')]
    if key is not None:
        headers.append(('Authorization', f'Bearer {key}'))
    request_bytes('GET', '/', headers, None)            # refuses what no header may have
    return Server(parts.hostname, parts.port or (443 if secure else 80),
                  (tls or ssl.create_default_context()) if secure else None,
                  parts.path.rstrip('/'), headers, deadline_s, try_s)


class Pool:
    """The connections that wait for a call, the last one used on top. A list's append and pop are atomic."""

    def __init__(self) -> None:
        self._idle: List[Tuple[Wire, float]] = []
        self.process = os.getpid()              # a child has the same sockets, and may not use them
        self.met = False                        # the service was reached once
        self.closed = False

    def take(self) -> Optional[Wire]:
        while self._idle:
            try:
                wire, since = self._idle.pop()
            except IndexError:                  # another thread was faster
                return None
            if time.monotonic() - since < IDLE_S and wire.is_quiet():
                return wire
            wire.close()
        return None

    def keep(self, wire: Wire) -> None:
        self._idle.append((wire, time.monotonic()))
        if self.closed:
            self.close()

    def close(self) -> None:
        self.closed = True
        while self._idle:
            try:
                self._idle.pop()[0].close()
            except IndexError:
                return


async def exchange(driver: Driver, pool: Pool, server: Server, call: Call[T], deadline_s: Optional[float]) -> T:
    """Raises HoldfastError; ValueError for what cannot be sent at all."""
    request_id = uuid.uuid4().hex
    request = request_bytes(call.method, server.prefix + call.target(),
                            [*server.headers, ('X-Request-Id', request_id)], call.content())
    ends = time.monotonic() + (server.deadline_s if deadline_s is None else deadline_s)
    tries = Tries(call, request_id, ends)
    while True:
        try:
            await _enter(driver, ends)
            by = min(ends, time.monotonic() + server.try_s + call.wait_s)
            answer = await _try(driver, pool, request, request_id, by, fresh=call.once or tries.repeats)
            result: T = read(answer)
            return result
        except HoldfastError as error:
            raise tries.refused(error) from error.__cause__
        except Again as again:
            pause = tries.pause(again, time.monotonic())
        await driver.sleep(pause)


async def _try(driver: Driver, pool: Pool, request: bytes, request_id: str, by: float, fresh: bool) -> Answer:
    """One try: on a kept connection, or on a fresh one, for which a kept one is closed: there are never more than the
    driver allows."""
    try:
        wire = pool.take()
        if wire is not None and fresh:
            wire.close()
        if wire is None or fresh:
            wire = await _connect(driver, pool, by)
        try:
            answer = await _ask(wire, request, by)
            echoed = answer.headers.get('x-request-id', request_id) == request_id
            if wire.echoes and not echoed:
                raise Again(HoldfastError(NO_ANSWER, 'the answer to another request came'), maybe_done=True)
            wire.echoes = echoed
        except BaseException:                   # also of a task that was cancelled: what comes now is not read
            wire.close()
            raise
        if answer.keeps:
            pool.keep(wire)
        else:
            wire.close()
        return answer
    finally:
        driver.leave()


async def _enter(driver: Driver, ends: float) -> None:
    try:
        await driver.enter(ends)
    except OSError as error:
        raise Again(HoldfastError(NO_ANSWER, str(error)), maybe_done=False) from error


async def _connect(driver: Driver, pool: Pool, by: float) -> Wire:
    try:
        wire = await driver.connect(by)
    except OSError as error:
        failed = HoldfastError(NO_ANSWER, f'no connection: {str(error) or type(error).__name__}')
        if _is_final(error, pool.met):
            raise failed from error
        raise Again(failed, maybe_done=False) from error
    pool.met = True
    return wire


def _is_final(error: OSError, met: bool) -> bool:
    """A certificate is not trusted, the port has no TLS, or the name is unknown and never was known before."""
    if isinstance(error, ssl.SSLError):
        return not isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError))
    return isinstance(error, socket.gaierror) and error.errno != socket.EAI_AGAIN and not met


async def _ask(wire: Wire, request: bytes, by: float) -> Answer:
    reader = AnswerReader(ANSWER_MAX)
    unsent: Optional[OSError] = None
    try:
        await wire.send(request, by)
    except OSError as error:                    # a refusal may come before the service has read the whole body
        unsent = error
    try:
        while True:
            answer = reader.feed(await wire.receive(by))
            if answer is not None:
                break
    except (OSError, CutOff) as error:
        why = unsent or error
        raise Again(HoldfastError(NO_ANSWER, str(why) or type(why).__name__), maybe_done=True) from why
    except NotHttp as error:
        failed = HoldfastError(BAD_ANSWER, str(error))
        failed.maybe_done = True
        raise failed from error
    if unsent is not None:
        return Answer(answer.status, answer.headers, answer.body, False, answer.framed)
    return answer


def finished(steps: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never awaits."""
    try:
        steps.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    steps.close()
    raise RuntimeError('a blocking driver has awaited')


def seconds_left(by: float) -> float:
    """Raises TimeoutError when none is left."""
    left = by - time.monotonic()
    if left <= 0:
        raise TimeoutError('the time for the call is over')
    return min(left, 86400.0) if math.isfinite(left) else 86400.0
