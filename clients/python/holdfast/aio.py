"""The client for asyncio."""
from __future__ import annotations

import asyncio
import collections
import math
import os
import ssl
import sys
from typing import Any, AsyncIterator, Awaitable, Callable, Deque, Generic, Optional, TypeVar, cast

from .calls import AsyncCalls
from .exchange import Pool, Server, Wire, exchange, seconds_left, server_of
from .models import Events, EventsQuery
from .rules import Call, follow_query

P = TypeVar('P')
T = TypeVar('T')

HELD_MAX = 1 << 20          # bytes that wait to be read; the service then has to wait, too


class AsyncHoldfast(AsyncCalls):
    """As `Holdfast`, for asyncio: each method is awaited. A task that is cancelled closes its connection."""

    def __init__(self, url: str, *, key: Optional[str] = None, deadline_s: float = 30, try_s: float = 15,
                 connections: int = 16, tls: Optional[ssl.SSLContext] = None) -> None:
        self._server = server_of(url, key, deadline_s, try_s, tls)
        self._connections = connections
        self._pool = Pool()
        self._driver: Optional[_Driver] = None

    async def _call(self, call: Call[T], deadline_s: Optional[float] = None) -> T:
        if self._pool.closed:
            raise RuntimeError('the client is closed')
        loop = asyncio.get_running_loop()
        if not self._driver or self._driver.loop is not loop or self._pool.process != os.getpid():
            self._driver, self._pool = _Driver(self._server, self._connections, loop), Pool()
        return await exchange(self._driver, self._pool, self._server, call, deadline_s)

    def _list(self, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]
              ) -> AsyncListing[Any, Any]:
        return AsyncListing(self, call, dict(query or {}), deadline_s)

    async def follow(self, query: Optional[EventsQuery] = None, *, deadline_s: float = math.inf
                     ) -> AsyncIterator[Events]:
        """The pages of the feed, without end: store `next_cursor` together with what the events told you.

        A page also comes when nothing has happened for `wait_s`, 25 s by default. A service that is away is waited
        for, as long as `deadline_s` allows for one page.
        """
        asks = follow_query(query)
        while True:
            page = await self.events(asks, deadline_s=deadline_s)
            yield page
            asks['after'] = page['next_cursor']

    async def close(self) -> None:
        """Calls that run end as they would have."""
        self._pool.close()
        await asyncio.sleep(0)              # the loop closes the sockets

    async def __aenter__(self) -> AsyncHoldfast:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncListing(Generic[P, T]):
    """A list of the service: iterate over its items, its `pages`, or await one `page`."""

    def __init__(self, client: AsyncHoldfast, call: Callable[[Any], Call[Any]], query: Any,
                 deadline_s: Optional[float]) -> None:
        self._client, self._make, self._query, self._deadline_s = client, call, query, deadline_s

    async def page(self) -> P:
        page: P = await self._client._call(self._make(self._query), self._deadline_s)
        return page

    async def pages(self) -> AsyncIterator[P]:
        query = dict(self._query)
        while True:
            page: Any = await self._client._call(self._make(query), self._deadline_s)
            yield page
            query['cursor'] = page['next_cursor']
            if query['cursor'] is None:
                return

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            items: Any = page
            for item in items['items']:
                yield item


class _Wire(asyncio.Protocol):
    """A transport of asyncio. A StreamReader would not do: it hides what came before a reset (an early refusal), and
    does not say whether something came that was not asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.echoes = False
        self._loop = loop
        self._transport: Optional[asyncio.Transport] = None
        self._came = bytearray()
        self._ended = False
        self._failure: Optional[Exception] = None
        self._waiter: Optional[asyncio.Future[None]] = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._came += data
        if len(self._came) > HELD_MAX and self._transport:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:         # asyncio then closes the transport
        self._ended = True
        self._wake()

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._ended, self._failure = True, error
        self._wake()

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def send(self, data: bytes, by: float) -> None:
        """Gives it to the transport. What cannot be sent shows when the answer is awaited."""
        if self._transport and not self._ended:
            self._transport.write(data)

    async def receive(self, by: float) -> bytes:
        if not self._came and not self._ended:
            self._waiter = self._loop.create_future()
            timer = self._loop.call_later(seconds_left(by), _fail, self._waiter,
                                          TimeoutError('the time for the call is over'))
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        seconds_left(by)
        if not self._came and self._failure:
            raise self._failure if isinstance(self._failure, OSError) else OSError(str(self._failure))
        data = bytes(self._came)
        self._came.clear()
        if self._transport and not self._ended:
            self._transport.resume_reading()
        return data

    def is_quiet(self) -> bool:
        return not self._came and not self._ended

    def close(self) -> None:
        if self._transport and not self._loop.is_closed():
            self._transport.abort()


class _Driver:
    def __init__(self, server: Server, connections: int, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._server = server
        self._free = connections
        self._queue: Deque[asyncio.Future[None]] = collections.deque()

    async def enter(self, by: float) -> None:
        """The first that waits is the first that gets a connection. asyncio.Semaphore with wait_for may lose one."""
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = self.loop.create_future()
        self._queue.append(turn)
        timer = self.loop.call_later(seconds_left(by), _fail, turn, TimeoutError('no connection was free'))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and not turn.exception():
                self.leave()                            # it has its turn, and its task was cancelled
            raise
        finally:
            timer.cancel()

    def leave(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def connect(self, by: float) -> Wire:
        server, left = self._server, seconds_left(by)
        made = self.loop.create_connection(
            lambda: _Wire(self.loop), server.host, server.port, ssl=server.tls, happy_eyeballs_delay=0.25,
            server_hostname=server.host if server.tls else None,
            ssl_handshake_timeout=left if server.tls else None)
        _, wire = await _limited(made, left)
        return wire


def _fail(waiter: asyncio.Future[None], error: Exception) -> None:
    if not waiter.done():
        waiter.set_exception(error)


async def _limited(work: Awaitable[T], seconds: float) -> T:
    try:
        if sys.version_info >= (3, 11):
            async with asyncio.timeout(seconds):
                return await work
        else:
            return await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        raise TimeoutError('no connection in time') from None
