"""What a call raises when it is refused, or has no answer."""
from __future__ import annotations

from typing import Any, Dict, List, Optional

NO_ANSWER = 'no_answer'
BAD_ANSWER = 'bad_answer'
BAD_SIGNATURE = 'bad_signature'


class HoldfastError(Exception):
    """A refusal, or a call without an answer. Act on `code`: docs/reference.md has all of the service.

    The client has three codes of its own. `no_answer`: no try had a whole answer. `bad_answer`: the answer is not
    Holdfast's, but a redirect or a page of a proxy. `bad_signature`: a delivery of a webhook is not to be trusted.
    """

    def __init__(self, code: str, detail: str = '', *, status: int = 0,
                 problem: Optional[Dict[str, Any]] = None) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail                    # for people
        self.status = status                    # 0 without an answer
        self.problem = problem or {}            # the whole body of the refusal
        self.replayed = False                   # 409 of an order that was made before, and is over
        self.retry_after_s: Optional[float] = None
        self.request_id: Optional[str] = None   # stands in the service's log, too
        self.tries = 0
        # A try may have had its effect, and no answer says so: send the same call again. It stays true if a later
        # try was refused: a copy of the first one may still be on its way.
        self.maybe_done = False

    @property
    def lines(self) -> List[Dict[str, Any]]:
        """The lines at fault; empty where the code has none."""
        lines = self.problem.get('lines')
        return lines if isinstance(lines, list) else []

    @property
    def field(self) -> Optional[str]:
        """The member at fault, such as `lines[0].qty`."""
        field = self.problem.get('field')
        return field if isinstance(field, str) else None

    def __str__(self) -> str:
        status = f'{self.status} ' if self.status else ''
        return f'{status}{self.code}: {self.detail}' if self.detail else f'{status}{self.code}'


class Again(Exception):
    """A try that may be followed by another one. Not seen by callers: they get `error` when no try is left."""

    def __init__(self, error: HoldfastError, *, maybe_done: bool, after_s: Optional[float] = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.maybe_done = maybe_done
        self.after_s = after_s                  # as the service asks; None: the client's own pauses
