"""A generator for tests of programs that make IDs. The test controls its clock and its faults, and needs no server.

    from snowfence.testing import Kit

    kit = Kit(seed=1)
    order = next(kit)

Nothing waits: where a generator would wait for the next tick, the clock of the kit moves instead.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from threading import RLock
from typing import List, Optional

from .errors import ClosedError, ExhaustedError, FencedError, check_number
from .generator import Generator
from .layout import Layout
from .spec import UNIX
from .stamps import Stamps

_SECOND, _TTL, _WAIT = 10**9, 15 * 10**9, 5 * 10**9  # in nanoseconds


class Kit(Generator):
    """A generator whose clock begins in 2026. Kits of one seed make the same IDs, those of other seeds other ones."""

    def __init__(self, seed: int = 1, layout: str = "snowfence", secret: Optional[bytes] = None) -> None:
        check_number("seed", seed, 0, 1 << 63, "a number from 0 up")
        self._known = known = Layout(layout, secret)
        start = max((datetime(2026, 1, 1, tzinfo=timezone.utc) - UNIX) // timedelta(microseconds=1) * 1000, known.epoch)
        self._clock = start + seed // known.nodes % 10_000 * 86_400 * _SECOND
        self._node = seed % known.nodes
        self._stamps, self._fresh, self._ended, self._lock = Stamps(0), 0.0, False, RLock()
        self.restore()

    @property
    def now(self) -> datetime:
        """The time of the clock, for the code under test."""
        return UNIX + timedelta(microseconds=self._clock // 1000)

    @property
    def layout(self) -> Layout:
        """The layout of the IDs."""
        return self._known

    def advance(self, seconds: float) -> None:
        """Lets time pass. It ends sequence_full."""
        check_number("seconds", seconds, 0, 1e10, "seconds from 0 up; step sets the clock back", (int, float))
        with self._lock:
            self._still = False
            self._clock += int(seconds * _SECOND)

    def step(self, seconds: float) -> None:
        """Sets the clock ahead or back, as an operator does. Five seconds back or more, IDs end until it catches up."""
        check_number("seconds", seconds, -1e10, 1e10, "seconds", (int, float))
        with self._lock:
            self._clock += int(seconds * _SECOND)

    def lose_lease(self) -> None:
        """Takes the node away: FencedError at once, until restore."""
        with self._lock:
            self._lost = True
            self._stamps.lost()

    def store_unreachable(self) -> None:
        """Stops renewals: IDs for up to 15 seconds of the clock, then FencedError, until restore."""
        self._cut = True

    def sequence_full(self) -> None:
        """Uses up all numbers and stops the clock: ExhaustedError, until advance or restore."""
        with self._lock:
            self._still = True
            self._renew()
            tick = self._known.tick_at(self._clock)
            while self._stamps.take(4096, tick):
                pass

    def restore(self) -> None:
        """Ends all faults. Later IDs have later ticks."""
        self._lost = self._cut = self._still = False

    def _renew(self) -> None:
        if not self._lost and not self._cut:
            s, now = self._stamps, self._known.tick_at(self._clock)
            until = max(self._known.tick_at(self._clock + _TTL) + 1, s.until)
            s.grant(self._known, self._node, now if s.until == 0 else s.start, until)

    def _wait(self, n: int, tag: int = 0) -> List[int]:
        if not n:
            self._known.check_tag(tag)
        with self._lock:
            while True:
                if self._ended:
                    raise ClosedError("the generator is closed: open another one")
                self._renew()
                s, now = self._stamps, self._known.tick_at(self._clock)
                ids = s.take(n or 1, now)
                if ids:
                    return ids if n else [self._known.tag(id, tag) for id in ids]
                if s.next_tick(now) >= s.until:
                    raise FencedError("no node is held now, as the test wants it: "
                                      f"{'it was lost' if self._lost else 'no server answers'}")
                end = self._known.start_of(s.next_tick(now))
                if self._still or end - self._clock > _WAIT:
                    raise ExhaustedError("all numbers up to the clock are used, or it stepped back")
                self._clock = end

    async def _wait_async(self, n: int, tag: int = 0) -> List[int]:
        return self._wait(n, tag)

    def wait_ready(self) -> None:
        """Does nothing: a kit has its node."""

    def close(self) -> None:
        """Makes no more IDs."""
        self._ended = True
