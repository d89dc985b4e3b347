"""The rules of a call, without a socket: how it is written, what its answer means, and whether and when it is sent
again. Both clients obey them."""
from __future__ import annotations

import email.utils
import json
import random
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any, Generic, Mapping, Optional, TypeVar, Union

from .errors import BAD_ANSWER, NO_ANSWER, Again, HoldfastError
from .http1 import Answer

T = TypeVar('T')

RATE_LIMITED = 'rate_limited'
NOTHING_DONE = frozenset(('busy', 'storage_full', 'unavailable'))       # codes of a 503; a gateway may have others
PAUSES_S = (0.0, 1.0, 2.0, 4.0, 8.0)    # after the first, second .. try without an answer; the last one stays
PAUSE_LEAST_S = 0.1                     # where the service asks for less


@dataclass(frozen=True)
class Call(Generic[T]):
    """One call of the contract. T is the type of its answer."""

    method: str
    path: str                                           # encoded
    query: Optional[Mapping[str, Any]] = None
    body: Optional[Mapping[str, Any]] = None
    once: bool = False              # after a lost answer it is not sent again: a second one would have a second effect

    @property
    def wait_s(self) -> float:
        """How long the service may take beyond the usual."""
        return float((self.query or {}).get('wait_s') or 0)

    def target(self) -> str:
        pairs = [f'{name}={urllib.parse.quote(_text(value), safe="")}'
                 for name, value in (self.query or {}).items() if value is not None]
        return self.path + ('?' + '&'.join(pairs) if pairs else '')

    def content(self) -> Optional[bytes]:
        if self.body is None:
            return None
        return json.dumps(self.body, ensure_ascii=False, allow_nan=False, separators=(',', ':')).encode()


def _text(value: Union[str, int, bool]) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def path(template: str, *parts: Union[str, int]) -> str:
    """Fills the parts into the template. Proxies fold the segments `.`, `..` and empty ones: that is another call."""
    encoded = []
    for part in parts:
        if part in ('', '.', '..'):
            raise ValueError(f'{part!r} cannot be a part of a path')
        encoded.append(urllib.parse.quote(str(part), safe=''))
    return template.format(*encoded)


class Tries:
    """The tries of one call: when there is another one, and the error where there is none."""

    def __init__(self, call: Call[Any], request_id: str, ends: float) -> None:
        self._call = call
        self._request_id = request_id
        self._ends = ends
        self._made = 0
        self._maybe_done = False

    @property
    def repeats(self) -> bool:
        return self._made > 0

    def pause(self, again: Again, now: float) -> float:
        """The seconds until the next try; raises the error if there is none."""
        self._made += 1
        self._maybe_done = self._maybe_done or again.maybe_done
        if again.after_s is None:
            wait = PAUSES_S[min(self._made, len(PAUSES_S)) - 1] * random.uniform(0.5, 1)
        else:
            wait = max(again.after_s, PAUSE_LEAST_S) * random.uniform(1, 1.25)
        if now + wait >= self._ends or (self._call.once and again.maybe_done):
            raise self._marked(again.error) from again.__cause__
        return wait

    def refused(self, error: HoldfastError) -> HoldfastError:
        """The error of a try that is the last one."""
        self._made += 1
        return self._marked(error)

    def _marked(self, error: HoldfastError) -> HoldfastError:
        error.tries = self._made
        error.request_id = error.request_id or self._request_id
        error.maybe_done = error.maybe_done or self._maybe_done
        return error


def read(answer: Answer) -> Any:
    """What the call returns; raises Again and HoldfastError."""
    body = _json_of(answer)
    if 200 <= answer.status < 300:
        if answer.status == 204:
            return None
        if isinstance(body, dict):
            if answer.headers.get('idempotent-replayed') == 'true':
                body['replayed'] = True
            return body
        error = HoldfastError(BAD_ANSWER, f'{_kind(answer)} is no JSON object', status=answer.status)
        error.maybe_done = True
        if answer.framed:
            raise error
        raise Again(error, maybe_done=True)         # it may have been cut off
    code = body.get('code') if isinstance(body, dict) else None
    refusal = answer.status == 503 or 400 <= answer.status < 500 and answer.status != 408      # Holdfast has no other
    if not isinstance(code, str) or not isinstance(body, dict) or not refusal:
        raise _by_a_stranger(answer)
    error = HoldfastError(code, str(body.get('detail', '')), status=answer.status, problem=body)
    error.request_id = answer.headers.get('x-request-id')
    error.replayed = answer.headers.get('idempotent-replayed') == 'true'
    error.retry_after_s = retry_after_s(answer.headers)
    if answer.status in (429, 503):
        maybe_done = answer.status == 503 and code not in NOTHING_DONE
        raise Again(error, maybe_done=maybe_done, after_s=error.retry_after_s)
    raise error


def _by_a_stranger(answer: Answer) -> Exception:
    """A refusal that is not Holdfast's, which has a code in all of them: a proxy's, as a rule."""
    after_s = retry_after_s(answer.headers)
    where = f', to {answer.headers["location"]}' if 'location' in answer.headers else ''
    lost = answer.status in (408, 502, 503, 504)        # 408: to a connection that was idle until this call came
    code = NO_ANSWER if lost else RATE_LIMITED if answer.status == 429 else BAD_ANSWER
    error = HoldfastError(code, f'{_kind(answer)}{where}', status=answer.status)
    error.retry_after_s = after_s
    if code != BAD_ANSWER:                  # a gateway has lost the answer, or lets nothing through for now
        return Again(error, maybe_done=lost, after_s=after_s)
    error.maybe_done = not 400 <= answer.status < 500
    return error


def _kind(answer: Answer) -> str:
    return f'an answer {answer.status} of type {answer.headers.get("content-type", "unknown")}'


def _json_of(answer: Answer) -> Any:
    """None where there is none that can be read."""
    kind = answer.headers.get('content-type', '').split(';')[0].strip().lower()
    if kind not in ('application/json', 'application/problem+json') or 'content-encoding' in answer.headers:
        return None
    try:
        return json.loads(answer.body.decode())
    except (ValueError, RecursionError):
        return None


def retry_after_s(headers: Mapping[str, str]) -> Optional[float]:
    """The seconds that Retry-After asks for: a number, or a date, which is compared with the sender's own clock."""
    text = headers.get('retry-after', '')
    if text.isascii() and text.isdigit():
        return float(text[:10])
    until, sent = _date(text), _date(headers.get('date', ''))
    if until is None:
        return None
    return max(0.0, until - (time.time() if sent is None else sent))


def _date(text: str) -> Optional[float]:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def follow_query(query: Optional[Mapping[str, Any]]) -> Any:
    """What a reader of the feed asks for first."""
    return {'wait_s': 25, 'limit': 1000, **(query or {})}
