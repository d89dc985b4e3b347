"""The receiver's half of a webhook: is this delivery Holdfast's, and of now? Standard Webhooks 1.0."""
from __future__ import annotations

import base64
import binascii
import hmac
import json
import re
import time
from typing import Any, Iterable, List, Protocol, Sequence, Tuple, Union, cast

from .errors import BAD_SIGNATURE, HoldfastError
from .models import Event


class Fields(Protocol):
    """A dict, or the headers of http.server and of most frameworks."""

    def items(self) -> Iterable[Tuple[str, str]]: ...


Headers = Union[Fields, Iterable[Tuple[Union[str, bytes], Union[str, bytes]]]]

SECRET_BYTES = range(24, 65)
_SECONDS = re.compile(r'[0-9]{1,12}', re.ASCII)


class Receiver:
    """Verifies deliveries. It takes the secret that `make_webhook` told, or several: after a rotation, any of them."""

    def __init__(self, secrets: Union[str, Sequence[str]], *, tolerance_s: float = 300) -> None:
        self._keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
        self._tolerance_s = tolerance_s
        if not self._keys:
            raise ValueError('a receiver needs a secret')

    def verify(self, headers: Headers, body: bytes) -> Event:
        """The event of a delivery. `body` is what came, byte by byte.

        Raises HoldfastError `bad_signature`: answer it with 401. An event may come twice: store its `id` in the
        transaction of what it told, and answer 2xx when that is committed.
        """
        if not isinstance(body, (bytes, bytearray, memoryview)):
            raise TypeError('the body has to be the bytes as they came')
        name, sent, signatures = (_header(headers, f'webhook-{part}') for part in ('id', 'timestamp', 'signature'))
        if not _SECONDS.fullmatch(sent) or not name:
            raise HoldfastError(BAD_SIGNATURE, 'a header of the delivery is missing or malformed')
        if not abs(time.time() - int(sent)) <= self._tolerance_s:
            raise HoldfastError(BAD_SIGNATURE, 'the delivery is too old, or the clocks differ')
        signed = b'.'.join((name.encode('utf-8', 'replace'), sent.encode(), bytes(body)))
        given = [one.encode('utf-8', 'replace') for one in signatures.split(' ') if one.startswith('v1,')]
        good = False
        for key in self._keys:
            made = b'v1,' + base64.b64encode(hmac.digest(key, signed, 'sha256'))
            for one in given:
                good |= hmac.compare_digest(made, one)
        if not good:
            raise HoldfastError(BAD_SIGNATURE, 'no signature of the delivery is right')
        try:
            return cast(Event, json.loads(bytes(body)))
        except (ValueError, RecursionError):
            raise HoldfastError(BAD_SIGNATURE, 'the body is no JSON') from None


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[len('whsec_'):], validate=True) if secret.startswith('whsec_') else b''
    except binascii.Error:
        key = b''
    if len(key) not in SECRET_BYTES:
        raise ValueError('a secret is whsec_ and the base64 of 24 to 64 bytes')
    return key


def _header(headers: Headers, name: str) -> str:
    """Its value; '' where it is missing or comes several times."""
    pairs: Any = headers.items() if hasattr(headers, 'items') else headers
    found: List[str] = [_str(value) for key, value in pairs if _str(key).lower() == name]
    return found[0] if len(found) == 1 else ''


def _str(text: Union[str, bytes]) -> str:
    return text.decode('latin-1') if isinstance(text, bytes) else text
