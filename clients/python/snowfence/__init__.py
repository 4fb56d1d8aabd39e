"""64-bit IDs that never repeat within a namespace of a store, made in this process.

    import snowfence

    with snowfence.open("http://127.0.0.1:8080") as ids:
        order = next(ids)

A server ("snowfence serve") leases a node number to this process. The IDs come from its memory: while the server is
away, for another 10 to 15 seconds. A process that forks, and one that slept, gets no ID of another one.
"""

from .errors import ClosedError, Error, ExhaustedError, FencedError, NoAnswerError, ServerError
from .generator import Generator, open, open_async
from .layout import Layout, Parts, decode
from .sequence import Sequence
from .text import format, parse

__all__ = [
    "open", "open_async", "Generator", "Sequence", "Layout", "Parts", "decode", "format", "parse",
    "Error", "FencedError", "ExhaustedError", "ClosedError", "ServerError", "NoAnswerError",
]
