"""Layouts: how the bits of an ID are divided."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Dict, List, NamedTuple, Optional, Sequence

from . import spec
from .errors import Error, check_number, check_text
from .sparx import Sparx

_M64 = (1 << 64) - 1


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
        self.nodes = 1 << sum(bits for name, bits in s.fields if spec.is_part(name))

    def __str__(self) -> str:
        return str(self.spec)

    def tick_at(self, ns: int) -> int:
        """Returns the tick of an instant, in nanoseconds since 1970."""
        return (ns - self.epoch) // self.tick

    def start_of(self, tick: int) -> int:
        """Returns when a tick begins, in nanoseconds since 1970."""
        return self.epoch + tick * self.tick

    def ids(self, tick: int, node: int, first: int, end: int) -> Sequence[int]:
        """Returns the IDs of a node in a tick with the sequence numbers from first up to, not including, end."""
        low = self.compose(tick, node, first)
        if self.cipher is None:
            low = _signed(low)
            return range(low, low + (end - first) * self._step, self._step)
        return [_signed(id) for id in self.cipher.encrypt(range(low, low + (end - first) * self._step, self._step))]

    def compose(self, tick: int, node: int, sequence: int) -> int:
        """Returns the plain bits of an ID, as an unsigned number."""
        values = {"time": tick, "seq": sequence}
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
        check_number("id", id, -1 << 63, (1 << 63) - 1, "an ID, an int of at most 64 bits with its sign")
        bits = id & _M64
        if self.cipher is not None:
            bits = self.cipher.decrypt([bits])[0]
        if bits >> self.width:
            raise Error(f"{id} is no ID of the layout {self}: it has a bit above it")
        fields = {name: bits >> shift & mask for name, (shift, mask) in self._fields.items()}
        node = 0
        for name, value in fields.items():
            if spec.is_part(name):
                node = node << self._fields[name][1].bit_length() | value
        return Parts(fields["time"], self._time(fields["time"]), node, fields.get("seq", 0), fields)

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


def secrets_of(texts: List[bytes]) -> Optional[bytes]:
    """Returns the secret among those that a server gave, each 32 hexadecimal digits; None if there is none."""
    return bytes.fromhex(texts[-1].decode("ascii")) if texts else None
