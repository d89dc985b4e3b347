"""The client for threads."""
from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import ssl
import threading
import time
from typing import Any, Callable, Generic, Iterator, List, Optional, Tuple, TypeVar

from .calls import Calls
from .exchange import Pool, Server, Wire, exchange, finished, seconds_left, server_of
from .models import Events, EventsQuery
from .rules import Call, follow_query

T = TypeVar('T')
Address = Tuple[socket.AddressFamily, Any]


class Holdfast(Calls):
    """Calls Holdfast. One object serves all threads, and keeps its connections open.

    `deadline_s` is for one call with all of its tries, pauses and its whole body; each method takes one of its own.
    `try_s` is for one try. At most `connections` are open at a time; a call waits for one that is free.
    """

    def __init__(self, url: str, *, key: Optional[str] = None, deadline_s: float = 30, try_s: float = 15,
                 connections: int = 16, tls: Optional[ssl.SSLContext] = None) -> None:
        self._server = server_of(url, key, deadline_s, try_s, tls)
        self._connections = connections
        self._renew()

    def _renew(self) -> None:
        self._driver = _Driver(self._server, self._connections)
        self._pool = Pool()

    def _call(self, call: Call[T], deadline_s: Optional[float] = None) -> T:
        if self._pool.closed:
            raise RuntimeError('the client is closed')
        if self._pool.process != os.getpid():
            parents = self._pool
            self._renew()
            parents.close()
        return finished(exchange(self._driver, self._pool, self._server, call, deadline_s))

    def _list(self, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]) -> Listing[Any, Any]:
        return Listing(self, call, dict(query or {}), deadline_s)

    def follow(self, query: Optional[EventsQuery] = None, *, deadline_s: float = math.inf) -> Iterator[Events]:
        """The pages of the feed, without end: store `next_cursor` together with what the events told you.

        A page also comes when nothing has happened for `wait_s`, 25 s by default. A service that is away is waited
        for, as long as `deadline_s` allows for one page.
        """
        asks = follow_query(query)
        while True:
            page = self.events(asks, deadline_s=deadline_s)
            yield page
            asks['after'] = page['next_cursor']

    def close(self) -> None:
        """Calls of other threads end as they would have."""
        self._pool.close()

    def __enter__(self) -> Holdfast:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


P = TypeVar('P')


class Listing(Generic[P, T]):
    """A list of the service: iterate over its items, its `pages`, or take one `page`."""

    def __init__(self, client: Holdfast, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]):
        self._client, self._make, self._query, self._deadline_s = client, call, query, deadline_s

    def page(self) -> P:
        page: P = self._client._call(self._make(self._query), self._deadline_s)
        return page

    def pages(self) -> Iterator[P]:
        query = dict(self._query)
        while True:
            page: Any = self._client._call(self._make(query), self._deadline_s)
            yield page
            query['cursor'] = page['next_cursor']
            if query['cursor'] is None:
                return

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            items: Any = page
            yield from items['items']


class _Wire:
    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.echoes = False

    async def send(self, data: bytes, by: float) -> None:
        rest = memoryview(data)
        while rest:
            self._socket.settimeout(seconds_left(by))
            rest = rest[self._socket.send(rest[:1 << 16]):]

    async def receive(self, by: float) -> bytes:
        self._socket.settimeout(seconds_left(by))
        return self._socket.recv(1 << 18)

    def is_quiet(self) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return False
        if hasattr(select, 'poll'):
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            return not poll.poll(0)
        return not select.select([self._socket], [], [], 0)[0]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


class _Driver:
    def __init__(self, server: Server, connections: int) -> None:
        self._server = server
        self._free = threading.Semaphore(connections)

    async def enter(self, by: float) -> None:
        if not self._free.acquire(timeout=seconds_left(by)):
            raise TimeoutError('no connection was free')

    def leave(self) -> None:
        self._free.release()

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def connect(self, by: float) -> Wire:
        addresses = _resolved(self._server.host, self._server.port, by)
        for left in range(len(addresses), 0, -1):       # each gets its share of the time: the first may be a black hole
            family, address = addresses[-left]
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(seconds_left(by) / left)
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                sock.settimeout(seconds_left(by))
                if self._server.tls:
                    sock = self._server.tls.wrap_socket(sock, server_hostname=self._server.host)
                return _Wire(sock)
            except BaseException as error:
                sock.close()
                if left == 1 or not isinstance(error, OSError) or isinstance(error, ssl.SSLError):
                    raise
        raise OSError('the name has no address')


def _resolved(host: str, port: int, by: float) -> List[Address]:
    """The addresses of a name. getaddrinfo has no limit of time, so it runs in a thread, which may be left behind."""
    with contextlib.suppress(socket.gaierror):
        return _lookup(host, port, socket.AI_NUMERICHOST)
    found: List[Any] = []

    def look() -> None:
        try:
            found.append(_lookup(host, port, 0))
        except (OSError, UnicodeError) as error:
            found.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(seconds_left(by))
    result = found[0] if found else TimeoutError('the name was not resolved in time')
    if isinstance(result, OSError):
        raise result
    if isinstance(result, UnicodeError):
        raise socket.gaierror(socket.EAI_NONAME, str(result))
    addresses: List[Address] = result
    return addresses


def _lookup(host: str, port: int, flags: int) -> List[Address]:
    return [(family, address) for family, _, _, _, address
            in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, flags)]
