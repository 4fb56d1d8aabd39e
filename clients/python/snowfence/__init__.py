"""64-bit IDs that never repeat within a namespace of a store.

    import snowfence

    with snowfence.open("sqlite:/var/lib/shop/ids.db") as ids:
        order_id = next(ids)

The C library does the work: install it with "make install", or name the file in SNOWFENCE_LIBRARY.
An object may be shared by threads: each takes IDs ahead for itself, and its IDs increase. A process that
was forked after an open cannot use the library: open in the worker, or use multiprocessing with "spawn".
"""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import Any, Iterator, List, NamedTuple, NoReturn, Optional, Type, Union

__all__ = [
    "open", "open_statefile", "open_static", "open_sequence", "decode", "format", "parse",
    "Generator", "Sequence", "Parts", "Error", "FencedError", "ExhaustedError", "ClosedError", "ForkedError",
]

Path = Union[str, "os.PathLike[str]"]
Option = Union[None, Path, int, List[Path]]


class Error(Exception):
    """What went wrong: what happened, to what, and what to do. status is the number in snowfence.h."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class FencedError(Error):
    """No grant is held: the lease was lost, or the store is unreachable. IDs come again with the next grant."""


class ExhaustedError(Error):
    """No ID could be made within max_wait."""


class ClosedError(Error):
    """The generator or sequence was closed."""


class ForkedError(Error):
    """The process was forked after the library was used."""


_FORKED, _TOO_SMALL = 6, 10
_errors = {1: FencedError, 2: ExhaustedError, 5: ClosedError, _FORKED: ForkedError}


class Parts(NamedTuple):
    """An ID taken apart."""

    tick: int
    time: datetime
    node: int
    sequence: int
    rollback: int
    key: int


class _Parts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in
                ("tick", "seconds", "nanoseconds", "node", "sequence", "rollback", "key")]


def _load() -> ctypes.CDLL:
    name = os.environ.get("SNOWFENCE_LIBRARY", "libsnowfence.so.1")
    try:
        lib = ctypes.CDLL(name)
    except OSError as e:
        raise ImportError(f"the C library cannot be loaded ({e}): build and install it in a clone of "
                          "https://github.com/snowfence/snowfence with \"make lib && sudo make install && "
                          "sudo ldconfig\", or name its file in SNOWFENCE_LIBRARY") from None
    if lib.snowfence_abi_version() != 1:
        raise ImportError("libsnowfence has another ABI version than this package, which is for 1")
    text, number, size, handle = ctypes.c_char_p, ctypes.c_int64, ctypes.c_size_t, ctypes.c_uint64
    to = ctypes.POINTER
    for name, args in {
        "open": (text, text, text, to(handle)),
        "open_statefile": (text, text, number, text, to(handle)),
        "open_static": (text, number, text, to(handle)),
        "next": (handle, to(number)),
        "fill": (handle, to(number), size, to(size)),
        "take": (handle, to(number), size, to(size)),
        "beat": (handle, to(to(ctypes.c_uint64))),
        "close": (handle,),
        "sequence_open": (text, text, to(handle)),
        "sequence_next": (handle, to(number)),
        "sequence_serial": (handle, ctypes.c_char_p, size, to(size)),
        "sequence_close": (handle,),
        "decode": (text, number, to(_Parts)),
        "decode_own": (handle, number, to(_Parts)),
        "format": (number, text, ctypes.c_char_p, size, to(size)),
        "parse": (text, text, to(number)),
    }.items():
        call = getattr(lib, "snowfence_" + name)
        call.argtypes, call.restype = args, ctypes.c_int
    lib.snowfence_last_error.argtypes = (ctypes.c_char_p, size)
    lib.snowfence_last_error.restype = size
    return lib


_lib = _load()


def _check(status: int) -> None:
    if status == 0:
        return
    text = ctypes.create_string_buffer(1024)
    _lib.snowfence_last_error(text, len(text))
    message = text.value.decode("utf-8", "replace")
    if status == _FORKED:
        message = ("this process was forked after the library was used: open in the worker, "
                   "or use spawn (multiprocessing.set_start_method)")
    raise _errors.get(status, Error)(status, message)


def _bytes(text: Optional[str]) -> Optional[bytes]:
    if text is not None and "\0" in text:
        raise ValueError("a text has a zero byte")
    return None if text is None else text.encode()


def _options(options: "dict[str, Option]") -> Optional[bytes]:
    pairs = []
    for name, value in options.items():
        if value is None:
            continue
        for one in value if isinstance(value, list) else (value,):
            word = str(int(one)) if isinstance(one, bool) else str(one)
            if "," in word and name != "layout":
                raise ValueError(f"option {name} cannot have a comma")
            pairs.append(f"{name.replace('_', '-')}={word}")
    pairs.sort(key=lambda pair: pair.startswith("layout="))  # a layout has commas: it stands last
    return _bytes(",".join(pairs)) if pairs else None


_LEAST, _MOST = 16, 4096


class _Ring(threading.local):
    """IDs taken ahead for a thread, the lowest last, and the beat before they were made."""

    def __init__(self) -> None:
        self.seen, self.size = -1, _LEAST  # not 0, which a forked child reads
        self.ids: List[int] = []


class _Owner:
    """Owns a handle: it has one owner in one process, and is closed once, when the program ends at the latest."""

    def __init__(self, handle: int, close: Any) -> None:
        self._handle, self._close = handle, close
        self._end = weakref.finalize(self, close, handle)

    def close(self) -> None:
        """Ends it, and gives what it holds back, for at most five seconds. A second close does nothing."""
        if self._end.detach() is not None:
            _check(self._close(self._handle))

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: share it between threads, "
                        "and open one in each process")

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()


class Generator(_Owner):
    """Makes IDs: next(ids), iteration, or take(n) for many. It may be shared by threads."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, _lib.snowfence_close)
        beat = ctypes.POINTER(ctypes.c_uint64)()
        _check(_lib.snowfence_beat(handle, ctypes.byref(beat)))
        self._beat = beat.contents  # in the memory of the library
        self._ring = _Ring()

    def __enter__(self) -> Generator:
        return self

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        ring = self._ring
        if ring.seen == self._beat.value:
            try:
                return ring.ids.pop()
            except IndexError:
                pass
        return self._refill(ring)

    def _refill(self, ring: _Ring) -> int:
        beat, old = self._beat.value, ring.ids  # the beat before the IDs are made
        if not old and ring.seen == beat:
            ring.size = min(2 * ring.size, _MOST)
        elif len(old) > ring.size // 2:
            ring.size = max(ring.size // 2, _LEAST)
        made = self._call(_lib.snowfence_take, ring.size)
        made.reverse()
        first = made.pop()
        ring.ids = made if ring.ids is old else []  # a signal handler may have taken lower ones meanwhile
        ring.seen = beat  # last: never old IDs with a new beat
        return first

    def _call(self, call: Any, n: int) -> List[int]:
        buf = (ctypes.c_int64 * n)()
        made = ctypes.c_size_t()
        _check(call(self._handle, buf, n, ctypes.byref(made)))
        ids: List[int] = buf[:made.value]
        return ids

    def take(self, n: int) -> List[int]:
        """Makes n IDs, in increasing order, the first of them from those that next took ahead."""
        if n < 0:
            raise ValueError("n is negative")
        ring = self._ring
        ids: List[int] = []
        while len(ids) < n and ring.seen == self._beat.value:
            try:
                ids.append(ring.ids.pop())
            except IndexError:
                break
        if len(ids) < n:
            ids += self._call(_lib.snowfence_fill, n - len(ids))
            ring.ids = []  # a signal handler may have taken lower ones
        return ids

    def decode(self, id: int) -> Parts:
        """Takes an ID apart, with the layout and the secrets of this generator."""
        parts = _Parts()
        _check(_lib.snowfence_decode_own(self._handle, _int64(id), ctypes.byref(parts)))
        return _parts(parts)


class Sequence(_Owner):
    """Numbers 1, 2, 3, ... of a store: next(numbers), iteration, or serial() for their text."""

    def __init__(self, handle: int) -> None:
        super().__init__(handle, _lib.snowfence_sequence_close)

    def __enter__(self) -> Sequence:
        return self

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        number = ctypes.c_int64()
        _check(_lib.snowfence_sequence_next(self._handle, ctypes.byref(number)))
        return number.value

    def serial(self) -> str:
        """Takes a number as text, such as "RE-2026-000017" of a dated sequence."""
        text = ctypes.create_string_buffer(128)
        _check(_lib.snowfence_sequence_serial(self._handle, text, len(text), None))
        return text.value.decode()


def open(store: Optional[str] = None, namespace: Optional[str] = None, **options: Option) -> Generator:
    """Leases a node from a store. Options are as for snowfence_open, such as lead=2000, label="web-1",
    max_wait="2s", secret_file=["old.key", "new.key"]."""
    handle = ctypes.c_uint64()
    _check(_lib.snowfence_open(_bytes(store), _bytes(namespace), _options(options), ctypes.byref(handle)))
    return Generator(handle.value)


def open_statefile(path: Path, node: int, layout: Optional[str] = None, **options: Option) -> Generator:
    """Makes IDs of one node, whose use a file remembers over restarts."""
    handle = ctypes.c_uint64()
    _check(_lib.snowfence_open_statefile(_bytes(os.fspath(path)), _bytes(layout), _int64(node), _options(options),
                                         ctypes.byref(handle)))
    return Generator(handle.value)


def open_static(node: int, layout: Optional[str] = None, **options: Option) -> Generator:
    """Makes IDs of a bare number. It is safe inside this process only."""
    handle = ctypes.c_uint64()
    _check(_lib.snowfence_open_static(_bytes(layout), _int64(node), _options(options), ctypes.byref(handle)))
    return Generator(handle.value)


def open_sequence(name: str, store: Optional[str] = None) -> Sequence:
    """Opens a sequence, which "snowfence sequence create" made."""
    handle = ctypes.c_uint64()
    _check(_lib.snowfence_sequence_open(_bytes(store), _bytes(name), ctypes.byref(handle)))
    return Sequence(handle.value)


def decode(id: int, layout: Optional[str] = None) -> Parts:
    """Takes an ID apart."""
    parts = _Parts()
    _check(_lib.snowfence_decode(_bytes(layout), _int64(id), ctypes.byref(parts)))
    return _parts(parts)


def format(id: int, encoding: Optional[str] = None) -> str:
    """Writes an ID as text, such as "base58" or "hex-fixed"."""
    text = ctypes.create_string_buffer(80)
    _check(_lib.snowfence_format(_int64(id), _bytes(encoding), text, len(text), None))
    return text.value.decode()


def parse(text: str, encoding: Optional[str] = None) -> int:
    """Reads the text of an ID."""
    id = ctypes.c_int64()
    _check(_lib.snowfence_parse(_bytes(text), _bytes(encoding), ctypes.byref(id)))
    return id.value


def _int64(number: int) -> int:
    if not -1 << 63 <= number < 1 << 63:  # ctypes would cut it
        raise OverflowError(f"{number} has more than 64 bits")
    return number


def _parts(p: _Parts) -> Parts:
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=p.seconds, microseconds=p.nanoseconds // 1000)
    return Parts(p.tick, time, p.node, p.sequence, p.rollback, p.key)
