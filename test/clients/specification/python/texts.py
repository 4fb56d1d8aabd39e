"""Texts of IDs, by docs/reference/specification.md alone."""
import re

from snowfence import M64, ensure, signed

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
