"""A lease: a thread that acquires a node of a server, renews it, and gives it back."""

from __future__ import annotations

import base64
import hashlib
import random
import re
import secrets
import threading
import time
from datetime import datetime, timezone
from functools import partial
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from .errors import ClosedError, Error, FencedError, NoAnswerError, ServerError
from .layout import Layout, secrets_of
from .server import Server
from .stamps import Stamps

TTL = 15.0  # seconds: what servers take where no ttl is asked for
_UNANSWERED = 64  # attempts that a server takes


# Tests freeze the names of module time: these partials stay as they are. The first returns nanoseconds since 1970, the
# second seconds that go on while the machine sleeps, where the system has such a clock.
wall: Callable[[], int] = partial(time.time_ns)
clock: Callable[[], float] = partial(time.monotonic)
if hasattr(time, "CLOCK_REALTIME"):
    wall = partial(time.clock_gettime_ns, time.CLOCK_REALTIME)
if hasattr(time, "CLOCK_BOOTTIME"):
    clock = partial(time.clock_gettime, time.CLOCK_BOOTTIME)


class _Grant(NamedTuple):
    layout: Layout
    node: int
    start: int
    until: int
    ticket: str
    renew_after: float
    now: Optional[float]  # of the server, in seconds since 1970


class Lease:
    """Keeps one node, and stamps its IDs. Threads may share it: each method but run takes the lock by itself.

    The lock guards all fields. The calls to the server are made without it, by the thread of the lease alone, so that
    one is under way at a time.
    """

    def __init__(self, server: Server, namespace: str, label: str, within: Optional[Dict[str, int]],
                 ttl: Optional[float], lead: int) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)  # for callers who wait for a grant
        self._work = threading.Condition(self.lock)  # for the thread
        self.server, self.namespace, self._ttl = server, namespace, ttl
        self._who = {"namespace": namespace, "label": label, "within": {k: str(v) for k, v in (within or {}).items()}}
        self.stamps = Stamps(lead)
        self.ahead: List[int] = []  # IDs that were made ahead, the lowest last
        self.trouble: Optional[Error] = None  # of the last call, until one succeeds
        self.closed = False
        self._taking = False
        self._renewed = 0.0  # when the last call that succeeded was sent, by clock
        self._alive = 0.0  # when this process ran last, as far as it noticed
        self._alive_wall = 0  # the same by wall: this clock goes on while the machine sleeps
        self._slept = 0.0  # when it noticed that it had slept: a renewal must be sent later than that
        self._due = 0.0  # when the next call is made, by clock
        self._third = (ttl or TTL) / 3
        self._ticket = self._lost = ""
        self._node = -1  # the node that was held last
        self._earlier: List[str] = []  # attempts that had no answer
        self._copied = False  # a copy of this process may stamp the same grant, too
        self._failures = 0
        self._thread: Optional[threading.Thread] = None

    def start(self) -> None:
        """Starts the thread, unless it runs already."""
        with self.lock:
            if self._thread is None and not self.closed:
                self._alive, self._alive_wall = clock(), wall()
                thread = threading.Thread(target=self._run, name="snowfence", daemon=True)
                thread.start()
                self._thread = thread  # only now: a start that fails is tried again

    def take(self, n: int) -> List[int]:
        """Makes up to n IDs: as many as are possible without waiting. The caller has the lock."""
        if self.closed:
            raise ClosedError("the generator is closed: open another one")
        if self._taking:
            raise Error("an ID was asked for while one was made, by a handler of a signal: ask outside of handlers")
        self._taking = True
        try:
            self._look()
            s = self.stamps
            if s.layout is None or self._renewed < self._slept:
                return []
            ids = s.take(n, s.layout.tick_at(wall()))
            if not ids and self.missing() and clock() >= self._renewed + self._third / 10:
                self._hurry()  # the grant is used up before the next renewal
            return ids
        finally:
            self._taking = False

    def fresh(self) -> float:
        """Returns for how long the last IDs are good: until their tick ends, in seconds. The caller has the lock."""
        return min(self._until(self.stamps.tick + 1), self._third)

    def until_next(self) -> float:
        """Returns when the clock allows the next ID, in seconds. The caller has the lock."""
        s = self.stamps
        return max(self._until(s.next_tick(-1) - s.lead), 0.0001)

    def _until(self, tick: int) -> float:
        layout = self.stamps.layout
        return (layout.start_of(tick) - wall()) / 1e9 if layout is not None else 0.0

    def _look(self) -> None:
        """Notices a sleep: a third of the ttl passed since this process ran last. The thread runs more often."""
        now, now_wall = clock(), wall()
        gap = max(now - self._alive, (now_wall - self._alive_wall) / 1e9)
        self._alive, self._alive_wall = now, now_wall
        if gap >= self._third:
            self._slept = now
            self.ahead.clear()
            self._hurry()

    def _hurry(self) -> None:
        if self._failures:
            return  # the next try has its time already
        self._due = min(self._due, clock())
        self._work.notify()

    def missing(self) -> Optional[Error]:
        """Says why there is no grant to stamp IDs of, or None if only the clock must go on. The caller has the lock."""
        s = self.stamps
        if s.layout is not None and self._renewed >= self._slept:
            if s.next_tick(s.layout.tick_at(wall())) < s.until:
                return None
        return FencedError(f"no node of namespace {self.namespace!r} is held now: "
                           f"{self.trouble or 'the answer of the server is awaited'}")

    def close(self, wait: float = 5.0) -> None:
        """Makes no ID any more from now on, and gives the node back, for at most so many seconds."""
        with self.lock:
            self.closed = True
            self.ahead.clear()
            self._work.notify()
            self.changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(wait)

    def _run(self) -> None:
        while True:
            with self.lock:
                while not self.closed and clock() < self._due:
                    self._work.wait(min(max(self._due - clock(), 0.001), self._third / 4))
                    self._look()
                if self.closed:
                    break
            self._step()
        self._give_back()

    def _step(self) -> None:
        """Renews what is held, or acquires what is not, once."""
        sent = clock()
        try:
            # A call that hangs must not look like a process that sleeps.
            got = self._ask(self._third * 3 / 4 if self.stamps.until else 5.0)
        except ServerError as e:
            self._refused(e)
        except Exception as e:  # such as a MemoryError: the thread must go on
            self._failed(e if isinstance(e, Error) else Error(repr(e)))
        else:
            self._granted(got, sent)

    def _ask(self, timeout: float) -> _Grant:
        """Asks for a grant, with a new attempt, and notes that until there is an answer."""
        # Copies of a machine have one state of the random generator: the clocks tell them apart.
        mixed = secrets.token_bytes(32) + repr((wall(), clock())).encode()
        attempt = hashlib.sha256(mixed).hexdigest()[:32]
        body: Dict[str, Any] = {"attempt": attempt, "earlier": self._earlier}
        if self._ticket:
            body["ticket"] = self._ticket
        else:
            body.update(self._who)
            if self._ttl is not None:
                body["ttl"] = f"{self._ttl:.9f}s"
            if self._node >= 0:
                body.update(free=True, prefer=str(self._node))
            if self._lost:
                body["lost"] = self._lost
        before, self._earlier = self._earlier, [*self._earlier, attempt][-_UNANSWERED:]
        try:
            answer = self.server.call("LeaseService/Renew" if self._ticket else "LeaseService/Acquire", body, timeout)
        except NoAnswerError as e:
            if not e.sent:
                self._earlier = before
            raise
        g = self._answer(answer)
        self._copied = self._copied if self._ticket else bool(before)
        return g

    def _answer(self, a: Dict[str, Any]) -> _Grant:
        """Reads a grant, and refuses one that was not asked for. The attempt then counts as one without an answer."""
        try:
            secret = secrets_of([base64.b64decode(s) for s in a.get("secrets", [])])
            g = _Grant(Layout(a["layout"], secret), int(a.get("node", 0)), int(a.get("from", 0)),
                       int(a.get("until", 0)), str(a["ticket"]), float(a["renew_after"][:-1]),
                       _instant(a["now"]) if "now" in a else None)
        except (KeyError, ValueError, TypeError, AttributeError) as e:
            raise NoAnswerError(f"{self.server.address}: the answer is damaged ({e!r})") from None
        s = self.stamps
        if not (g.ticket and 0 <= g.node < g.layout.nodes and g.start <= g.until and 0 < g.renew_after < 1e6) or \
                self._ticket and (g.node != self._node or g.start < s.start):
            raise NoAnswerError(f"{self.server.address}: the answer has node {g.node} and the ticks {g.start} to "
                                f"{g.until}, which were not asked for")
        return g

    def _granted(self, g: _Grant, sent: float) -> None:
        new, self._ticket, self._node, self._earlier = not self._ticket, g.ticket, g.node, []
        off = _skew(g.now, clock() - sent)
        if new and off > 3 * g.renew_after:
            with self.lock:
                self.stamps.lost()
            self._give_back(g.start)
            self._ticket = ""
            self._failed(Error(f"the clocks of this machine and of {self.server.address} are {off:.0f} s apart: "
                               "set them right"))
            return
        with self.lock:
            s = self.stamps
            if not new and str(s.layout) != str(g.layout):  # ticks of another layout are other times
                self._seal("the layout of the namespace was changed")
                return
            s.grant(g.layout, g.node, g.start, g.until)
            self.ahead.clear()  # ticks below the new start end here
            self.trouble, self._failures, self._lost = None, 0, ""
            self._renewed, self._third = sent, g.renew_after
            self._alive, self._alive_wall = clock(), wall()  # a slow answer is no sleep: else a busy machine with a short ttl makes no ID
            self._due = sent + g.renew_after * random.uniform(0.9, 1.0) if sent >= self._slept else 0.0
            self.changed.notify_all()

    def _refused(self, e: ServerError) -> None:
        if self._ticket and e.reason and e.status in (404, 409):  # without a reason, it is a proxy's
            with self.lock:
                self._seal(str(e))
        elif self._ticket and e.elsewhere:  # the grant goes on to its end, beside a new lease
            with self.lock:
                self._ticket, self._earlier, self._due = "", [], 0.0
        else:
            if not self._ticket and e.final:
                self._earlier = []  # no node was taken
            self._failed(e)

    def _seal(self, why: str) -> None:
        """Ends a lost lease at once, and begins another. The caller has the lock."""
        self.stamps.lost()
        self.ahead.clear()
        self.trouble = FencedError(f"node {self._node} was lost: {why}")
        self._lost, self._ticket, self._earlier, self._due = self._ticket, "", [], 0.0

    def _failed(self, e: Error) -> None:
        with self.lock:
            self.trouble = e
            wait = min(0.02 * 2 ** min(self._failures, 8), 1.0, self._third / 3)
            self._failures += 1
            self._due = clock() + wait * random.uniform(0.5, 1.0)
            self.changed.notify_all()

    def _give_back(self, used: Optional[int] = None) -> None:
        """Gives the node back. What had no answer is settled first, because the node is ours if it worked."""
        with self.lock:
            if used is None:
                used = self.stamps.used
            self.stamps.lost()
        end = clock() + 5
        while clock() < end and (self._ticket or self._earlier):
            try:
                if self._earlier:
                    g = self._ask(2.0)
                    used = max(used, g.start) if g.node == self._node else g.start
                    self._ticket, self._node, self._earlier = g.ticket, g.node, []
                body = {"ticket": self._ticket} if self._copied else {"ticket": self._ticket, "used": str(used)}
                self.server.call("LeaseService/Release", body, 2.0)
                self._ticket = ""
            except ServerError as e:
                if e.final or e.status == 409 or e.elsewhere:
                    self._ticket, self._earlier = "", []
                time.sleep(0.05)
            except Error:
                time.sleep(0.05)


def _instant(text: str) -> float:
    """Reads a time such as 2026-11-22T03:15:51.771234567Z."""
    m = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?Z", text)
    if not m:
        raise ValueError(f"{text!r} is no time")
    return datetime.fromisoformat(m[1]).replace(tzinfo=timezone.utc).timestamp() + float(m[2] or 0)


def _skew(server: Optional[float], took: float) -> float:
    """Returns how far the clocks are apart at least, in seconds, after a call that took so long."""
    if server is None:
        return 0.0
    now = wall() / 1e9
    return max(server - now, now - took - server, 0.0)
