"""Layouts: how the bits of an ID are divided."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from . import spec
from .errors import Error, check_number, check_text
from .sparx import Sparx

_M64 = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 by the golden ratio: its multiples are even
_Fields = List[Tuple[str, Tuple[int, int]]]


class Parts(NamedTuple):
    """An ID taken apart. fields has each part by its name in the layout."""

    tick: int
    time: datetime
    node: int
    sequence: int
    fields: Dict[str, int]


class Layout:
    """A layout by its name or its spec, and the secret of an encrypted one (16 bytes). It never changes, so threads may
    share it."""

    def __init__(self, text: str = "snowfence", secret: Optional[bytes] = None) -> None:
        check_text("layout", text, 'a name such as "bwmarrin", or a spec such as "time=41,node=10,seq=12"')
        self.spec = s = spec.parse(text)
        if s.cipher == "ff1":
            raise Error(f"this package cannot encrypt with cipher=ff1, as in {text!r}: get such IDs from a server")
        if s.cipher and secret is None:
            raise Error(f"the layout {text!r} is encrypted: name its secret, 16 bytes")
        self.cipher = Sparx(secret) if s.cipher and secret is not None else None
        self.epoch, self.tick, self.first, self.last = s.epoch, s.tick, s.first, s.last
        self.width = shift = sum(bits for _, bits in s.fields)
        self._fields: Dict[str, "tuple[int, int]"] = {}
        for name, bits in s.fields:
            shift -= bits
            self._fields[name] = (shift, (1 << bits) - 1)
        self._step = 1 << self._fields.get("seq", (0, 0))[0]
        self.turn = self.last - self.first + 1  # numbers of one scatter value in a tick
        self.slots = self.turn * (self._fields.get("scatter", (0, 0))[1] + 1)  # IDs of a node in a tick
        self.nodes = 1 << sum(bits for name, bits in s.fields if spec.is_part(name))

    def __str__(self) -> str:
        return str(self.spec)

    def tick_at(self, ns: int) -> int:
        """Returns the tick of an instant, in nanoseconds since 1970."""
        return (ns - self.epoch) // self.tick

    def start_of(self, tick: int) -> int:
        """Returns when a tick begins, in nanoseconds since 1970."""
        return self.epoch + tick * self.tick

    def ids(self, tick: int, node: int, slot: int, end: int) -> Sequence[int]:
        """Returns the IDs of a node in a tick with the slots from slot up to, not including, end: all of one turn."""
        turn, at = divmod(slot, self.turn)
        low = self.compose(tick, node, self.first + at, self._value(tick, node, turn))
        if self.cipher is None:
            low = _signed(low)
            return range(low, low + (end - slot) * self._step, self._step)
        return [_signed(id) for id in self.cipher.encrypt(range(low, low + (end - slot) * self._step, self._step))]

    def _value(self, tick: int, node: int, turn: int) -> int:
        """Returns the scatter value of a turn.

        The invariant: two turns of a tick never have one value. So where a tick begins depends on nothing but the node
        and the tick.
        """
        mask = self._fields.get("scatter", (0, 0))[1]
        begin = ((node * _GOLDEN + tick) * _GOLDEN & _M64) >> 64 - mask.bit_length()
        return begin + turn & mask

    def compose(self, tick: int, node: int, sequence: int, scatter: int = 0) -> int:
        """Returns the plain bits of an ID, as an unsigned number."""
        values = {"time": tick, "seq": sequence, "scatter": scatter}
        for name, (_, mask) in reversed(list(self._fields.items())):
            if spec.is_part(name):
                values[name] = node & mask
                node >>= mask.bit_length()
        if node:
            raise Error(f"the node does not fit into the layout {self}")
        id = 0
        for name, value in values.items():
            shift, mask = self._fields.get(name, (0, 0))
            if not 0 <= value <= mask:
                raise Error(f"{name} {value} does not fit into the layout {self}")
            id |= value << shift
        return id

    def decode(self, id: int) -> Parts:
        """Takes an ID apart. It refuses one with a bit above the layout."""
        bits = self._bits(id)
        fields = {name: bits >> shift & mask for name, (shift, mask) in self._fields.items()}
        node = 0
        for name, value in fields.items():
            if spec.is_part(name):
                node = node << self._fields[name][1].bit_length() | value
        return Parts(fields["time"], self._time(fields["time"]), node, fields.get("seq", 0), fields)

    def check_tag(self, tag: int) -> None:
        """Refuses a tag that does not fit."""
        mask = self._fields.get("tag", (0, 0))[1]
        if not mask:
            raise Error(f"the layout {self} has no field tag: take one that has")
        check_number("tag", tag, 0, mask, f"0 to {mask}, which its {mask.bit_length()} bits hold")

    def tag(self, id: int, tag: int) -> int:
        """Puts a number of the caller into the field tag of an ID. It stays different from all others."""
        self.check_tag(tag)
        shift, mask = self._fields["tag"]
        bits = self._bits(id) & ~(mask << shift) | tag << shift
        return _signed(self.cipher.encrypt([bits])[0] if self.cipher is not None else bits)

    def ranges(self, start: datetime, end: datetime,
               within: Optional[Dict[str, int]] = None) -> Iterator[Tuple[int, int]]:
        """Yields the half-open ranges of the IDs of a span of time, for queries such as id >= low AND id < high: one, or
        one for each value of the fields above the time. within fixes some of these, as in {"tag": 7}."""
        ns = [(t - spec.UNIX) // timedelta(microseconds=1) * 1000 for t in (start, end)]
        return self._ranges(ns[0], ns[1], within or {})

    def _ranges(self, start: int, end: int, within: Dict[str, int]) -> Iterator[Tuple[int, int]]:
        names = list(self._fields)
        above = [(name, self._fields[name]) for name in names[:names.index("time")]]
        for name, value in within.items():
            if name not in dict(above):
                raise Error(f"the layout {self} has no field {name} above the time")
            mask = self._fields[name][1]
            check_number(name, value, 0, mask, f"0 to {mask}, which its {mask.bit_length()} bits hold")
        if self.cipher is not None:
            raise Error("encrypted IDs are in no order: no range of them is a span of time")
        if end < start:
            raise ValueError("the span ends before it starts")
        shift, mask = self._fields["time"]
        first, last = (min(max(-((self.epoch - ns) // self.tick), 0), mask + 1) << shift for ns in (start, end))
        if not above and self.width == 64 and first < 1 << 63 < last:
            raise Error("IDs turn negative in this span: ask for the times before and after")
        return ((_signed(base + first), _end(base + last)) for base in _bases(above, within) if first < last)

    def _bits(self, id: int) -> int:
        """Returns the plain bits of an ID, as an unsigned number."""
        check_number("id", id, -1 << 63, (1 << 63) - 1, "an ID, an int of at most 64 bits with its sign")
        bits = id & _M64
        if self.cipher is not None:
            bits = self.cipher.decrypt([bits])[0]
        if bits >> self.width:
            raise Error(f"{id} is no ID of the layout {self}: it has a bit above it")
        return bits

    def _time(self, tick: int) -> datetime:
        try:
            return spec.UNIX + timedelta(microseconds=self.start_of(tick) // 1000)
        except OverflowError:  # Python has no years beyond 9999
            return datetime.max.replace(tzinfo=timezone.utc)


def decode(id: int, layout: str = "snowfence", secret: Optional[bytes] = None) -> Parts:
    """Takes an ID apart, by a known layout such as "bwmarrin" or by a spec. It asks no server."""
    return Layout(layout, secret).decode(id)


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


def _end(bits: int) -> int:
    """Returns the end of a range. The highest number is no end, but the next one is negative."""
    return _signed(bits - (bits == 1 << 63)) if bits < 1 << 64 else 0


def _bases(fields: _Fields, within: Dict[str, int]) -> Iterator[int]:
    """Yields the bits of all values of some fields, but one of each that is fixed."""
    if not fields:
        yield 0
        return
    name, (shift, mask) = fields[0]
    for value in [within[name]] if name in within else range(mask + 1):
        for base in _bases(fields[1:], within):
            yield value << shift | base


def secrets_of(texts: List[bytes]) -> Optional[bytes]:
    """Returns the secret among those that a server gave, each 32 hexadecimal digits; None if there is none."""
    return bytes.fromhex(texts[-1].decode("ascii")) if texts else None
