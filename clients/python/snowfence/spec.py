"""Reads the spec string of a layout, by docs/reference/specification.md, and writes its canonical form."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Dict, List, NamedTuple, NoReturn, Optional, Tuple

from .errors import Error

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_OTHER = ("epoch", "tick", "first", "last", "cipher", "order")
_BWMARRIN = "time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms"
_RANDFLAKE = "time=30,node=17,seq=17,epoch=2024-10-27T03:33:20Z,tick=1s"
NAMED = {
    "snowfence": "time=41,node=10,seq=12", "default": "time=41,node=10,seq=12",
    "twitter": _BWMARRIN.replace("node=10", "datacenter=5,worker=5"), "bwmarrin": _BWMARRIN, "leaf": _BWMARRIN,
    "sonyflake": "time=39,seq=8,node=16,epoch=2014-09-01,tick=10ms",
    "sonyflake-v1": "time=39,seq=8,node=16,epoch=2014-09-01,tick=10ms",
    "sonyflake-v2": "time=39,seq=8,node=16,tick=10ms",
    "drift": "time=51,node=6,seq=6,epoch=2020-02-19T18:20:02Z,first=5",
    "discord": "time=42,worker=5,process=5,seq=12,epoch=2015-01-01",
    "instagram": "time=41,shard=13,seq=10,epoch=2011-08-24T21:07:01.721Z",
    "baidu": "time=28,node=22,seq=13,epoch=2016-05-19T16:00:00Z,tick=1s",
    "randflake": _RANDFLAKE + ",cipher=sparx", "randflake-raw": _RANDFLAKE,
    "rollback": "time=41,node=8,rollback=2,seq=12,epoch=2020-01-01",
}
UNIX = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Spec(NamedTuple):
    """A layout as its spec says it: fields from the highest bit down, epoch and tick in nanoseconds."""

    fields: List[Tuple[str, int]]
    epoch: int
    tick: int
    first: int
    last: int
    cipher: Optional[str]

    def __str__(self) -> str:
        """Writes the canonical form."""
        out = [f"{name}={bits}" for name, bits in self.fields]
        day = UNIX + timedelta(seconds=self.epoch // 10**9)
        out.append(f"epoch={day.isoformat()[:19]}{_plain(self.epoch % 10**9, 10**9)[1:]}Z")
        out.append("tick=" + _duration(self.tick))
        out += [f"first={self.first}"] if self.first else []
        out += [f"last={self.last}"] if self.last != _top(self.fields) else []
        return ",".join(out + ([f"cipher={self.cipher}"] if self.cipher else []))


def is_part(name: str) -> bool:
    """Whether a field is a part of the node."""
    return name not in ("time", "seq", "rollback", "key", "scatter", "tag")


def _top(fields: List[Tuple[str, int]]) -> int:
    return (1 << dict(fields).get("seq", 0)) - 1


def _above(names: List[str]) -> List[str]:
    """Returns the names above the time."""
    return names[:names.index("time")] if "time" in names else []


def parse(text: str) -> Spec:
    """Reads the name of a known layout, or a spec such as "time=41,node=10,seq=12,epoch=2025-01-01,tick=1ms"."""
    text = NAMED.get(text, text)

    def refuse(why: str) -> NoReturn:
        raise Error(f"{text!r} is no layout: {why}")

    fields: List[Tuple[str, int]] = []
    other: Dict[str, str] = {}
    for pair in text.split(","):
        key, _, value = pair.strip().partition("=")
        key = "seq" if key == "sequence" else key
        if key in other or key in dict(fields):
            refuse(f"{key} stands twice")
        if key in _OTHER:
            other[key] = value
        elif not re.fullmatch("[a-z][a-z0-9-]{0,31}", key) or not re.fullmatch("[0-9]+", value):
            refuse(f"{pair.strip()!r} is no field, such as node=10, and no name of {', '.join(NAMED)}")
        else:
            fields.append((key, int(value)))
    if dict(fields).get("time") == 0:
        refuse("time has 0 bits")
    fields = [f for f in fields if f[1] > 0]
    if "order" in other:
        if other["order"] not in ("node-first", "node-last"):
            refuse("order is node-first or node-last")
        side, names = -1 if other["order"] == "node-first" else 1, [f[0] for f in fields]
        ranks = {"key": -3, "scatter": -2, "time": -2, "tag": -2 if "tag" in _above(names) else 0}
        fields.sort(key=lambda f: ranks.get(f[0], side if is_part(f[0]) else 0))
    try:
        epoch, tick = _instant(other.get("epoch", "2025-01-01")), _nanoseconds(other.get("tick", "1ms"))
        first, last = (_number(other.get(k, d)) for k, d in (("first", "0"), ("last", str(_top(fields)))))
    except ValueError as e:
        refuse(str(e))
    s = Spec(fields, epoch, tick, first, last, other.get("cipher"))
    why = _wrong(s)
    if why or other.get("last") == "0":
        refuse(why or "last is 0")
    return s


def _wrong(s: Spec) -> str:
    """Says which rule a spec breaks, or nothing."""
    names, bits = [f[0] for f in s.fields], dict(s.fields)
    width, key, scatter = sum(bits.values()), bits.get("key", 0), bits.get("scatter", 0)
    for ok, why in (
        (len(bits) == len(names), "a field stands twice"),
        ("key" not in names[1:], "key is the first field"),
        (not {"seq", "rollback"} & set(_above(names)), "seq and rollback stand below the time"),
        (not scatter or "scatter" in _above(names), "scatter stands above the time"),
        (scatter <= 12 and scatter + bits.get("seq", 0) <= 53, "scatter has at most 12 bits, and 53 together with seq"),
        (not scatter or not s.cipher, "a cipher needs no scatter"),
        (1 <= bits.get("time", 0) <= 62, "time has 1 to 62 bits"),
        (bits.get("seq", 0) <= 53 and bits.get("rollback", 0) <= 6 and key <= 16, "a field is too wide"),
        (width <= 64, f"it has {width} bits, more than 64"),
        (s.tick >= 1000, "a tick takes at least 1us"),
        (0 <= s.first <= s.last <= _top(s.fields), "first to last do not fit into seq"),
        (s.cipher in (None, "sparx", "ff1"), "cipher is sparx or ff1"),
        (not key or s.cipher == "ff1", "key needs cipher=ff1"),
        (s.cipher != "ff1" or width - key >= 20, "ff1 needs 20 bits beside key"),
    ):
        if not ok:
            return why
    return ""


def _number(text: str) -> int:
    if not re.fullmatch("[0-9]+", text):
        raise ValueError(f"{text!r} is no number")
    return int(text)


def _instant(text: str) -> int:
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d))?", text, re.ASCII)
    if not m:
        raise ValueError(f"epoch {text!r} is no time such as 2025-01-01T00:00:00Z")
    day, clock, fraction, zone = m.groups()
    t = datetime.fromisoformat(f"{day}T{clock or '00:00:00'}{(zone or 'Z').replace('Z', '+00:00')}")
    since = t.astimezone(timezone.utc) - UNIX
    if not 1900 <= (UNIX + since).year <= 2200:
        raise ValueError(f"epoch {text!r} is not in the years 1900 to 2200")
    return (since.days * 86400 + since.seconds) * 10**9 + int((fraction or "0")[:9].ljust(9, "0"))


def _nanoseconds(text: str) -> int:
    parts = re.findall(r"([0-9]+)(?:\.([0-9]+))?(ns|us|µs|μs|ms|s|m|h)", text)
    if not parts or "".join(a + ("." + b if b else "") + c for a, b, c in parts) != text:
        raise ValueError(f"tick {text!r} is no duration such as 1ms")
    return sum(int(a) * _UNITS[c] + int(b or 0) * _UNITS[c] // 10 ** len(b) for a, b, c in parts)


def _plain(n: int, unit: int) -> str:
    return f"{n // unit}.{n % unit:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".")


def _duration(ns: int) -> str:
    for name in ("us", "ms"):
        if ns < 1000 * _UNITS[name]:
            return _plain(ns, _UNITS[name]) + name
    hours, minutes, rest = ns // _UNITS["h"], ns // _UNITS["m"] % 60, _plain(ns % _UNITS["m"], 10**9)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or hours and rest != "0" else "")
    return text + (rest + "s" if rest != "0" else "")
