"""Layouts and IDs, by docs/reference/specification.md alone."""
import datetime
import re

from ciphers import ff1, sparx

M64 = (1 << 64) - 1
UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
signed = lambda v: v - (1 << 64) if v >> 63 else v


def ensure(ok, why):
    if not ok:
        raise ValueError(why)


def epoch_ns(text):
    m = re.fullmatch(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?", text, re.ASCII)
    ensure(m, "epoch")
    day, clock, fraction, zone = m.groups()
    t = datetime.datetime.fromisoformat(day + "T" + (clock or "00:00:00") + (zone or "Z").replace("Z", "+00:00"))
    t = t.astimezone(datetime.timezone.utc)
    ensure(1900 <= t.year <= 2200, "epoch")
    d = t - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return (d.days * 86400 + d.seconds) * 10**9 + int((fraction or ".0")[1:].ljust(9, "0"))


def tick_ns(text):
    parts = re.findall(r"(\d+)(?:\.(\d+))?(ns|us|µs|μs|ms|s|m|h)", text)
    ensure(parts and "".join(a + ("." + b if b else "") + c for a, b, c in parts) == text, "tick")
    return sum(int(a) * UNITS[c] + int(b or 0) * UNITS[c] // 10 ** len(b) for a, b, c in parts)


def plain(n, unit):
    """Writes n / unit without zeros at the end."""
    return f"{n // unit}.{n % unit:0{len(str(unit)) - 1}d}".rstrip("0").rstrip(".")


def tick_text(ns):
    for name in ("us", "ms"):
        if ns < 1000 * UNITS[name]:
            return plain(ns, UNITS[name]) + name
    hours, minutes, rest = ns // UNITS["h"], ns // UNITS["m"] % 60, plain(ns % UNITS["m"], 10**9)
    text = (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or hours and rest != "0" else "")
    return text + (rest + "s" if rest != "0" else "")


class Layout:
    def __init__(self, spec):
        seen, fields, order = {}, [], None
        for pair in spec.split(","):
            key, _, value = pair.strip().partition("=")
            key = "seq" if key == "sequence" else key
            ensure(key not in seen, "twice")
            seen[key] = value
            if key in ("epoch", "tick", "first", "last", "cipher", "order"):
                continue
            ensure(re.fullmatch("[a-z][a-z0-9-]{0,31}", key) and re.fullmatch("[0-9]+", value), "field")
            if int(value) > 0 or key == "time":
                fields.append((key, int(value)))
        node = lambda name: name not in ("time", "seq", "rollback", "key", "scatter", "tag")
        if "order" in seen:
            side = {"node-first": -1, "node-last": 1}[seen["order"]]
            above = [f[0] for f in fields]
            above = ("scatter", "time", *(n for n in above[:above.index("time")] if n == "tag"))
            fields.sort(key=lambda f: -3 if f[0] == "key" else -2 if f[0] in above else side if node(f[0]) else 0)
        names, bits = [f[0] for f in fields], dict(fields)
        ensure("time" in names, "time")
        above, scatter = names[:names.index("time")], bits.get("scatter", 0)
        self.key, self.width = bits.get("key", 0), sum(bits.values())
        top = (1 << bits.get("seq", 0)) - 1
        self.first, self.last = (int(s) if re.fullmatch("[0-9]+", s) else -1
                                 for s in (seen.get("first", "0"), seen.get("last", str(top))))
        self.epoch, self.tick = epoch_ns(seen.get("epoch", "2025-01-01")), tick_ns(seen.get("tick", "1ms"))
        self.cipher, self.nodes = seen.get("cipher"), [n for n in names if node(n)]
        ensure("key" not in names[1:] and not {"seq", "rollback"} & {*above}, "key comes first, seq and rollback below the time")
        ensure(scatter == 0 or "scatter" in above and not self.cipher, "scatter stands above the time, without a cipher")
        ensure(scatter <= 12 and scatter + bits.get("seq", 0) <= 53, "scatter is too wide")
        ensure(1 <= bits["time"] <= 62 and bits.get("seq", 0) <= 53 and bits.get("rollback", 0) <= 6, "too wide")
        ensure(self.width <= 64 and self.tick >= 1000 and 0 <= self.first <= self.last <= top, "range")
        ensure(self.last > 0 or "last" not in seen, "last=0")
        ensure(self.cipher in (None, "sparx", "ff1") and (not self.key or self.cipher == "ff1" and self.key <= 16), "cipher")
        ensure(self.cipher != "ff1" or self.width - self.key >= 20, "ff1 needs 20 bits")
        self.fields, self.above, shift = {}, above, self.width
        for name, n in fields:
            shift -= n
            self.fields[name] = (shift, (1 << n) - 1)

    def __str__(self):
        out = [f"{name}={mask.bit_length()}" for name, (_, mask) in self.fields.items()]
        t = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=self.epoch // 10**9)
        out.append("epoch=" + t.isoformat() + plain(self.epoch % 10**9, 10**9)[1:] + "Z")
        out.append("tick=" + tick_text(self.tick))
        out += [f"first={self.first}"] if self.first else []
        out += [f"last={self.last}"] if self.last != self.fields.get("seq", (0, 0))[1] else []
        return ",".join(out + ([f"cipher={self.cipher}"] if self.cipher else []))

    def compose(self, parts, secrets):
        v = 0
        for name, (shift, mask) in self.fields.items():
            n = len(secrets) - 1 if name == "key" else parts[name]
            ensure(0 <= n <= mask, name)
            v |= n << shift
        return signed(v), signed(self.crypt(v, secrets, len(secrets) - 1, encrypt=True))

    def decode(self, id, secrets):
        v = id & M64
        ensure(self.cipher == "sparx" or v >> self.width == 0, "bits above the layout")
        key = v >> (self.width - self.key) if self.key else 0
        v = self.crypt(v, secrets, key, encrypt=False)
        ensure(v >> self.width == 0, "bits above the layout")
        return {name: v >> shift & mask for name, (shift, mask) in self.fields.items()}

    def crypt(self, v, secrets, key, encrypt):
        if not self.cipher:
            return v
        ensure(key < len(secrets) and secrets[key], "no secret of this number")
        secret = bytes.fromhex(secrets[key])
        if self.cipher == "sparx":
            swap = lambda x: int.from_bytes(x.to_bytes(8, "little"), "big")
            return swap(sparx(secret, swap(v), encrypt))
        n = self.width - self.key
        return v >> n << n | ff1(secret, n, b"snowfence id %d" % key, v & (1 << n) - 1, encrypt)

    @property
    def slots(self):
        """How many IDs a node has in a tick."""
        return self.last - self.first + 1 << self.fields.get("scatter", (0, 0))[1].bit_length()

    def place(self, tick, node, slot):
        """Returns the value of scatter and the sequence number of a slot of a tick."""
        turn, rest = divmod(slot, self.last - self.first + 1)
        bits, golden = self.fields.get("scatter", (0, 0))[1].bit_length(), 0x9E3779B97F4A7C15
        begin = (node * golden + tick) * golden & M64
        return ((begin >> 64 - bits) + turn) % (1 << bits), self.first + rest

    def tagged(self, id, tag, secrets):
        """Returns the ID with another tag: an encrypted one keeps its secret."""
        parts = self.decode(id, secrets)
        ensure(0 <= tag <= self.fields["tag"][1], "tag")
        parts["tag"] = tag
        return self.compose(parts, secrets[:parts.get("key", len(secrets)) + 1])[1]

    def ranges(self, begin, end, within):
        """Returns the half-open ranges of IDs of a span of nanoseconds, one for each value above the time."""
        shift, mask = self.fields["time"]
        a, b = (min(max(-((self.epoch - t) // self.tick), 0), mask + 1) << shift for t in (begin, end))
        starts = [0]
        for name in self.above:
            low, most = self.fields[name]
            values = [within[name]] if name in within else range(most + 1)
            starts = [s + (n << low) for s in starts for n in values]
        top = lambda v: signed(v & M64) if v != 1 << 63 else (1 << 63) - 1
        return [[signed(s + a), top(s + b)] for s in starts if a < b]
