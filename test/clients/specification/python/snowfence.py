"""Layouts, IDs and their texts, and a generator, by docs/reference/specification.md alone."""
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
            fields.sort(key=lambda f: -3 if f[0] == "key" else -2 if f[0] == "time" else side if node(f[0]) else 0)
        names, bits = [f[0] for f in fields], dict(fields)
        self.key, self.width = bits.get("key", 0), sum(bits.values())
        top = (1 << bits.get("seq", 0)) - 1
        self.first, self.last = (int(s) if re.fullmatch("[0-9]+", s) else -1
                                 for s in (seen.get("first", "0"), seen.get("last", str(top))))
        self.epoch, self.tick = epoch_ns(seen.get("epoch", "2025-01-01")), tick_ns(seen.get("tick", "1ms"))
        self.cipher, self.nodes = seen.get("cipher"), [n for n in names if node(n)]
        ensure(names and names.index("time") == names.count("key") and "key" not in names[1:], "time and key come first")
        ensure(1 <= bits["time"] <= 62 and bits.get("seq", 0) <= 53 and bits.get("rollback", 0) <= 6, "too wide")
        ensure(self.width <= 64 and self.tick >= 1000 and 0 <= self.first <= self.last <= top, "range")
        ensure(self.last > 0 or "last" not in seen, "last=0")
        ensure(self.cipher in (None, "sparx", "ff1") and (not self.key or self.cipher == "ff1" and self.key <= 16), "cipher")
        ensure(self.cipher != "ff1" or self.width - self.key >= 20, "ff1 needs 20 bits")
        self.fields, shift = {}, self.width
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


DIGITS, LOWER, UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
drop = lambda s, letters: "".join(c for c in s if c not in letters)
CROCKFORD = DIGITS + drop(UPPER, "ILOU")
ALPHABETS = {
    "dec": DIGITS, "hex": DIGITS + "abcdef", "base32hex": DIGITS + LOWER[:22], "crockford": CROCKFORD, "crockfordcheck": CROCKFORD,
    "zbase32": "ybndrfg8ejkmcpqxot1uwisza345h769", "base36": DIGITS + LOWER,
    "base58": DIGITS[1:] + drop(UPPER, "IO") + drop(LOWER, "l"), "base58flickr": DIGITS[1:] + drop(LOWER, "l") + drop(UPPER, "IO"),
    "base62": DIGITS + UPPER + LOWER, "base64url": UPPER + LOWER + DIGITS + "-_"}


alphabet = lambda name: "".join(sorted(ALPHABETS[name[:-6]])) if name.endswith("-fixed") else ALPHABETS[name]


def digits(v, abc, width=1):
    out = ""
    while v or len(out) < width:
        v, d = divmod(v, len(abc))
        out = abc[d] + out
    return out


def check(text):
    total = 0
    for c in text:
        total = (total ^ (1 if c == "-" else CROCKFORD.index(c))) << 1
        total ^= 37 if total > 31 else 0
    return CROCKFORD[total]


def write(name, id):
    abc, base = alphabet(name), name.removesuffix("-fixed")
    end = lambda text: text + check(text) if base == "crockfordcheck" else text
    if base != name:
        sign = "-" if id < 0 else "0" if abc[0] == "-" else abc[0]
        return end(sign + digits(id & (M64 >> 1), abc, len(digits(M64 >> 1, abc))))
    if name == "dec":
        return str(id)
    return digits((id & M64) << 2, abc, 11) if name == "base64url" else end(digits(id & M64, abc))


def read(name, text):
    abc, base = alphabet(name), name.removesuffix("-fixed")
    if base in ("hex", "base32hex", "zbase32", "base36"):
        text = text.translate({ord(c): ord(c) + 32 for c in UPPER})
    elif base.startswith("crockford"):
        text = text.translate({ord(c): ord(c) - 32 for c in LOWER}).translate(str.maketrans("OIL", "011"))
    longest = len(write(name, -1)) if name != "dec" else 20
    ensure(len(text) == longest if base != name or name == "base64url" else 0 < len(text) <= longest, "length")
    body, sign = text[:-1] if base == "crockfordcheck" else text, ""
    if base != name:
        sign, body = body[0], body[1:]
        ensure(sign in ("-", write(name, 0)[0]), "sign")
    elif name == "dec" and body[0] == "-":
        sign, body = "-", body[1:]
        ensure(body[:1] != "0", "a zero after the sign")
    ensure(body and all(c in abc for c in body), "digits")
    ensure(base != "crockfordcheck" or check(text[:-1]) == text[-1], "check character")
    v = 0
    for c in body:
        v = v * len(abc) + abc.index(c)
    if base != name:
        ensure(v < 1 << 63, "range")
        return v - (1 << 63 if sign == "-" else 0)
    if name == "dec":
        v = -v if sign else v
        ensure(-1 << 63 <= v < 1 << 63, "range")
        return v
    if name == "base64url":
        ensure(v & 3 == 0, "bits beyond the 64")
        v >>= 2
    ensure(v <= M64, "range")
    return signed(v)


PREFIX = re.compile("[a-z]([a-z0-9_]{0,61}[a-z0-9])?")


def read_prefixed(prefix, name, text):
    ensure(PREFIX.fullmatch(prefix) and text.startswith(prefix + "_"), "prefix")
    return read(name, text[len(prefix) + 1:])
