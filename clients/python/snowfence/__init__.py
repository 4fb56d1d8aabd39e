"""64-bit IDs that never repeat within a namespace of a store, made in this process.

    import snowfence

    with snowfence.open("http://127.0.0.1:8080") as ids:
        order = next(ids)

A server ("snowfence serve") leases a node number to this process. The IDs come from its memory: while the server is
away, for another 10 to 15 seconds. A process that forks, and one that slept, gets no ID of another one.
"""

from __future__ import annotations

import asyncio
from typing import Dict, Optional

from .errors import ClosedError, Error, ExhaustedError, FencedError, NoAnswerError, ServerError
from .generator import Generator
from .layout import Layout, Parts
from .sequence import Sequence
from .text import format, parse

__all__ = [
    "open", "open_async", "Generator", "Sequence", "Layout", "Parts", "decode", "format", "parse",
    "Error", "FencedError", "ExhaustedError", "ClosedError", "ServerError", "NoAnswerError",
]


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
    return await asyncio.get_running_loop().run_in_executor(None, lambda: open(
        server, namespace, token=token, label=label, within=within, ttl=ttl, lead=lead, max_wait=max_wait))


def decode(id: int, layout: str = str(Layout())) -> Parts:
    """Takes a plain ID apart, by the default layout or by another spec."""
    return Layout(layout).decode(id)
