"""The generator: IDs from the memory of this process, of a node that a server leases."""

from __future__ import annotations

import os
import socket
import time
import weakref
from types import BuiltinFunctionType, TracebackType
from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Type

from .errors import ExhaustedError, NoAnswerError, ServerError, check_number, check_text
from .layout import Layout, Parts
from .lease import Lease, clock
from .server import server_of

_LEAST, _MOST = 16, 4096  # IDs made ahead at once
_M63 = (1 << 63) - 1
_MANY = "1,000,000 IDs at most at once, and 0 at least"


class Generator:
    """Makes IDs: next(ids), iteration, or take(n) for many. open makes one.

    Threads may share it, and the IDs that one thread takes increase, with the same bits above the time. So may tasks
    of asyncio: next_async, take_async, "async for". A forked child leases a node of its own, at its first ID.
    """

    def __init__(self, server: Optional[str] = None, namespace: str = "default", *, token: Optional[str] = None,
                 label: Optional[str] = None, within: Optional[Dict[str, int]] = None, ttl: Optional[float] = None,
                 lead: int = 0, max_wait: float = 5.0) -> None:
        """Leases a node at the first ID. For the parameters see open, which leases it at once."""
        check_text("namespace", namespace, "the name of a namespace, such as 'shop'")
        if label is not None:
            check_text("label", label, "a text for people, such as 'web-1'", empty=True)
        if within is not None and not isinstance(within, dict):
            raise TypeError(f"within is {within!r}: give numbers of parts, as in {{'datacenter': 3}}")
        for part, value in (within or {}).items():
            check_text("a part of within", part, "the name of a part of the layout, such as 'datacenter'")
            check_number(f"within[{part!r}]", value, 0, _M63, "a number from 0 up, such as 3")
        if ttl is not None:
            check_number("ttl", ttl, 0.001, 1e9, "seconds from 0.001 up, such as 15", (int, float))
        check_number("lead", lead, 0, 1 << 53, "ticks from 0 up, such as 2000")
        check_number("max_wait", max_wait, 0, 1e9, "seconds from 0 up, such as 5", (int, float))
        self._server = server_of(server, token)
        self._settings = namespace, label, within, ttl, lead
        self._max_wait = max_wait
        self._size = _LEAST
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        namespace, label, within, ttl, lead = self._settings
        label = label or f"{socket.gethostname()[:100]}/{os.getpid()}"
        self._fresh = 0.0  # until when the IDs made ahead are good, by clock
        self._lease = Lease(self._server, namespace, label, within, ttl, lead)
        self._ahead = self._lease.ahead
        self._end = weakref.finalize(self, self._lease.close)

    def _forked(self) -> None:
        """Leaves the lease to the parent: the child has the memory of it, but must make none of its IDs."""
        self._end.detach()
        self._lease.ahead.clear()
        self._begin()

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if clock() < self._fresh:
            try:
                return self._ahead.pop()
            except IndexError:
                pass
        return self._wait(1)[0]

    def take(self, n: int) -> List[int]:
        """Makes n IDs. Those with the same bits above the time increase. It waits for max_wait at most until there are
        more."""
        check_number("n", n, 0, 1_000_000, _MANY)
        ids: List[int] = []
        while len(ids) < n:
            ids += self._wait(n - len(ids))
        return ids

    def next_for(self, tag: int) -> int:
        """Makes an ID with a number of the caller in the field tag. One that does not fit uses up no ID."""
        return self._wait(0, tag)[0]

    def _wait(self, n: int, tag: int = 0) -> List[int]:
        """Makes 1 to n IDs, or for n = 0 one with the tag, and waits for the first one."""
        end = clock() + self._max_wait
        while True:
            lease = self._lease
            lease.start()
            with lease.lock:
                ids = self._try(n) if n else self._try_for(tag)
                if not ids:
                    lease.changed.wait(self._pause(end))
            if ids and lease is self._lease:  # a handler of a signal may have forked
                return ids

    def _try(self, n: int) -> List[int]:
        """Makes up to n IDs without waiting, and for n = 1 some ahead. It needs the lock of the lease."""
        ahead, ids = self._ahead, []  # type: List[int], List[int]
        used_up = clock() < self._fresh
        while used_up and len(ids) < n:
            try:
                ids.append(ahead.pop())  # other threads pop without the lock
            except IndexError:
                break
        if ids:
            return ids
        if used_up:
            self._size = min(2 * self._size, _MOST)
        elif len(ahead) > self._size // 2:
            self._size = max(self._size // 2, _LEAST)
        ids = self._lease.take(n if n > 1 else self._size)
        ahead[:] = ids[:n - 1:-1]  # also if none are left over: a handler of a signal may have put lower ones there
        if ids:
            self._fresh = clock() + self._lease.fresh()
        return ids[:n]

    def _try_for(self, tag: int) -> List[int]:
        """Makes an ID with a tag, if there is one. It needs the lock, so that its layout stays until then."""
        layout = self._lease.stamps.layout
        if layout is None:
            return self._try(1)
        layout.check_tag(tag)
        return [layout.tag(id, tag) for id in self._try(1)]

    def _pause(self, end: float) -> float:
        """Returns for how long to wait for an ID, in seconds. It raises what is wrong when max_wait is over."""
        missing, now = self._lease.missing(), clock()
        if now >= end:
            raise missing or ExhaustedError("all numbers up to the clock are used, or it stepped back: take fewer IDs "
                                            "at a time, or open with a lead or a longer max_wait")
        return end - now if missing else min(end - now, self._lease.until_next())

    async def next_async(self) -> int:
        """Makes an ID, as next does, and lets other tasks run while it waits."""
        return (await self._wait_async(1))[0]

    async def next_for_async(self, tag: int) -> int:
        """Makes an ID with a tag, as next_for does."""
        return (await self._wait_async(0, tag))[0]

    async def take_async(self, n: int) -> List[int]:
        """Makes n IDs, as take does."""
        check_number("n", n, 0, 1_000_000, _MANY)
        ids: List[int] = []
        while len(ids) < n:
            ids += await self._wait_async(n - len(ids))
        return ids

    async def _wait_async(self, n: int, tag: int = 0) -> List[int]:
        end = clock() + self._max_wait
        while True:
            lease = self._lease
            lease.start()
            with lease.lock:
                ids = self._try(n) if n else self._try_for(tag)
                pause = 0.0 if ids else self._pause(end)
            if ids and lease is self._lease:
                return ids
            await _sleep(min(pause, 0.01))

    def __aiter__(self) -> Generator:
        return self

    async def __anext__(self) -> int:
        return await self.next_async()

    def wait_ready(self) -> None:
        """Waits until a node is leased, for max_wait at most. It raises what is wrong."""
        end = clock() + self._max_wait
        lease = self._lease
        lease.start()
        with lease.lock:
            while lease.stamps.layout is None:
                if isinstance(lease.trouble, ServerError) and lease.trouble.final or clock() >= end:
                    raise lease.trouble or NoAnswerError(f"no answer from {self._server.address} yet")
                lease.changed.wait(end - clock())

    @property
    def layout(self) -> Layout:
        """The layout of the namespace, known as soon as a node is leased."""
        layout = self._lease.stamps.layout
        if layout is None:
            self.wait_ready()
            return self.layout
        return layout

    def decode(self, id: int) -> Parts:
        """Takes an ID of the namespace apart."""
        return self.layout.decode(id)

    def close(self) -> None:
        """Makes no more IDs, and gives the node back, for at most five seconds. A second close does nothing."""
        self._end()

    def __enter__(self) -> Generator:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    async def __aenter__(self) -> Generator:
        return self

    async def __aexit__(self, *error: Any) -> None:
        await _in_thread(self.close)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Generator cannot be copied or pickled: share it between threads, and open one in each "
                        "process")


def open(server: Optional[str] = None, namespace: str = "default", *, token: Optional[str] = None,
         label: Optional[str] = None, within: Optional[Dict[str, int]] = None, ttl: Optional[float] = None,
         lead: int = 0, max_wait: float = 5.0) -> Generator:
    """Leases a node of a namespace, and returns its generator.

    server is http://HOST:PORT, https://HOST or unix:/PATH; without it SNOWFENCE_SERVER, or http://127.0.0.1:8080.
    token is what the server asks for; without it SNOWFENCE_TOKEN. label tells people which program holds the node; it
    is the host and the process ID without one. within says which nodes, as in {"datacenter": 3}. ttl is in seconds, 15
    without one: while no server answers, IDs go on for two thirds of it at least. lead is how many ticks IDs may run
    ahead of the clock. max_wait is in seconds: so long does a call wait for a lease or for the clock before it raises
    an error.
    """
    ids = Generator(server, namespace, token=token, label=label, within=within, ttl=ttl, lead=lead, max_wait=max_wait)
    try:
        ids.wait_ready()
    except BaseException:
        ids.close()
        raise
    return ids


async def open_async(server: Optional[str] = None, namespace: str = "default", *, token: Optional[str] = None,
                     label: Optional[str] = None, within: Optional[Dict[str, int]] = None,
                     ttl: Optional[float] = None, lead: int = 0, max_wait: float = 5.0) -> Generator:
    """Does what open does, and lets other tasks of asyncio run meanwhile."""
    made: Generator = await _in_thread(lambda: open(
        server, namespace, token=token, label=label, within=within, ttl=ttl, lead=lead, max_wait=max_wait))
    return made


async def _in_thread(work: Callable[[], Any]) -> Any:
    import asyncio  # takes half of the time to import this package

    return await asyncio.get_running_loop().run_in_executor(None, work)


async def _sleep(seconds: float) -> None:
    if isinstance(time.monotonic, BuiltinFunctionType):
        import asyncio

        await asyncio.sleep(seconds)
    else:  # a test froze the clock, and asyncio would sleep for ever
        await _in_thread(lambda: time.sleep(seconds))


_all: "weakref.WeakSet[Generator]" = weakref.WeakSet()  # for children that are forked


def _forked() -> None:
    for g in list(_all):
        g._forked()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)
