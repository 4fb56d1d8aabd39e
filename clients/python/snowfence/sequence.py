"""Sequences: numbers 1, 2, 3, ... from a durable counter of a server."""

from __future__ import annotations

from typing import Iterator, List, Optional

from .errors import Error, NoAnswerError, check_number, check_text
from .server import server_of


class Sequence:
    """Numbers of a sequence, which "snowfence sequence create" made: next(numbers), serial(), or take(n) for a range.

    It keeps none, so threads, tasks and forked children may share it. Numbers of an answer that gets lost are a gap.
    """

    def __init__(self, name: str, server: Optional[str] = None, *, token: Optional[str] = None,
                 timeout: float = 5.0) -> None:
        check_text("name", name, "the name of a sequence, such as 'bills'")
        check_number("timeout", timeout, 0.001, 1e9, "seconds from 0.001 up, such as 5", (int, float))
        self.name = name
        self._server = server_of(server, token)
        self._timeout = timeout

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        return self.take(1)[0]

    def take(self, n: int) -> range:
        """Takes 1 to 1,000,000 numbers that follow each other, in one call."""
        return self._take(n, False)[0]

    def serial(self) -> str:
        """Takes a number as people read it, such as "2026-000017" of a dated sequence."""
        return self._take(1, True)[1][0]

    def _take(self, n: int, texts: bool) -> "tuple[range, List[str]]":
        check_number("n", n, 1, 1_000_000, "1 to 1,000,000 numbers at once")
        body = {"name": self.name, "count": n, "without_numbers": not texts}
        a = self._server.call("SequenceService/Next", body, self._timeout)
        try:
            first, last, step = (int(a.get(k, 0)) for k in ("first", "last", "step"))
            numbers, named = range(first, last + step, step), [str(text) for text in a.get("numbers", [])]
        except (ValueError, TypeError) as e:
            raise NoAnswerError(f"{self._server.address}: the answer is damaged ({e})") from None
        if len(numbers) != n or texts and len(named) != n:
            raise Error(f"{self._server.address}: {len(numbers)} numbers came, not {n}, of sequence {self.name!r}")
        return numbers, named
