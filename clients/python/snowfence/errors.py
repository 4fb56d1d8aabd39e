"""What can go wrong."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """What happened, to what, and what to do."""


class FencedError(Error):
    """No grant is held: the lease was lost, or no server answers. IDs come again with the next grant."""


class ExhaustedError(Error):
    """All numbers up to the clock were used, and the clock did not move on within max_wait."""


class ClosedError(Error):
    """The generator was closed."""


class ServerError(Error):
    """A server refused a call. status is that of HTTP, reason the server's word for it, such as "no-namespace"."""

    def __init__(self, status: int, reason: str, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason

    @property
    def final(self) -> bool:
        """Whether the same call fails again, and changed nothing: the caller or an operator must act."""
        return self.status in (400, 401, 403, 404, 412, 501)

    @property
    def elsewhere(self) -> bool:
        """Whether no renewal with the same ticket can succeed, and the grant goes on to its end."""
        return self.reason.lower() == "elsewhere" or self.status == 400 and self.reason != ""


class NoAnswerError(Error):
    """No answer came, or none that can be read. If sent is true, the server may have done what was asked, or not."""

    def __init__(self, text: str, sent: bool = True) -> None:
        super().__init__(text)
        self.sent = sent


def check_number(name: str, value: Any, low: float, high: float, want: str, kind: Any = int) -> None:
    """Refuses a parameter that is no number from low to high."""
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(f"{name} is {value!r}: give {want}")
    if not low <= value <= high:
        raise ValueError(f"{name} is {value!r}: give {want}")


def check_text(name: str, value: Any, want: str, empty: bool = False) -> None:
    """Refuses a parameter that is no text of printable characters."""
    secret = name in ("server", "token")  # an address may have a password
    said = f"{name}: give {want}" if secret else f"{name} is {value!r}: give {want}"
    if not isinstance(value, str):
        raise TypeError(said)
    if not value.isprintable() or not value and not empty:
        raise ValueError(said)
