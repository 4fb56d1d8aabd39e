"""The texts of IDs, by docs/reference/specification.md."""

from __future__ import annotations

import re
from typing import Callable, Dict, List

from .errors import Error, check_number, check_text

_M64 = (1 << 64) - 1
_DIGITS, _LOWER, _UPPER = "0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BASE58 = "ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz"
_ALPHABETS: Dict[str, str] = {
    "dec": _DIGITS, "hex": _DIGITS + "abcdef", "base32hex": _DIGITS + _LOWER[:22], "crockford": _CROCKFORD,
    "crockfordcheck": _CROCKFORD, "zbase32": "ybndrfg8ejkmcpqxot1uwisza345h769", "base36": _DIGITS + _LOWER,
    "base58": _DIGITS[1:] + "".join(_BASE58), "base58flickr": _DIGITS[1:] + "".join(_BASE58[::-1]),
    "base62": _DIGITS + _UPPER + _LOWER, "base64url": _UPPER + _LOWER + _DIGITS + "-_"}
_TO_LOWER = {ord(c): ord(c) + 32 for c in _UPPER}
_TO_CROCKFORD = str.maketrans(_LOWER + "OIL", _UPPER[:8] + "1" + _UPPER[9:11] + "1MN0" + _UPPER[15:] + "011")
_PREFIX = re.compile("[a-z]([a-z0-9_]{0,61}[a-z0-9])?")


def format(id: int, encoding: str = "base32hex", prefix: str = "") -> str:
    """Writes an ID as text in an encoding such as "dec", "base58" or "hex-fixed", after a prefix and a "_"."""
    check_number("id", id, -1 << 63, (1 << 63) - 1, "an ID, an int of at most 64 bits with its sign")
    text = _write(encoding, id)
    return f"{_checked(prefix)}_{text}" if prefix else text


def parse(text: str, encoding: str = "base32hex", prefix: str = "") -> int:
    """Reads the text of an ID. It refuses every other prefix, and an unexpected one."""
    if not isinstance(text, str):
        raise TypeError(f"text is {text!r}: give the text of an ID")
    rest = text
    if prefix:
        if not text.startswith(_checked(prefix) + "_"):
            raise Error(f"{text!r} does not begin with {prefix}_")
        rest = text[len(prefix) + 1:]
    try:
        return _read(encoding, rest)
    except ValueError as e:
        raise Error(f"{text!r} is no ID in {encoding}: {e}") from None


def _checked(prefix: str) -> str:
    check_text("prefix", prefix, "a text such as 'ord'")
    if not _PREFIX.fullmatch(prefix):
        raise Error(f"{prefix!r} is no prefix: take up to 63 of a-z, 0-9 and _, a letter first, and no _ at the end")
    return prefix


def _alphabet(encoding: str) -> str:
    check_text("encoding", encoding, "a name such as 'base32hex'")
    base = encoding[:-6] if encoding.endswith("-fixed") else encoding
    if base not in _ALPHABETS:
        raise Error(f"there is no encoding {encoding!r}, but {', '.join(_ALPHABETS)}, each also with -fixed")
    return _ALPHABETS[base] if base == encoding else "".join(sorted(_ALPHABETS[base]))


def _digits(number: int, alphabet: str, width: int = 1) -> str:
    out: List[str] = []
    while number or len(out) < width:
        number, digit = divmod(number, len(alphabet))
        out.append(alphabet[digit])
    return "".join(reversed(out))


def _check(text: str) -> str:
    total = 0
    for c in text:
        total = (total ^ (1 if c == "-" else _CROCKFORD.index(c))) << 1
        total ^= 37 if total > 31 else 0
    return _CROCKFORD[total]


def _write(encoding: str, id: int) -> str:
    alphabet = _alphabet(encoding)
    end: Callable[[str], str] = (lambda t: t + _check(t)) if encoding.startswith("crockfordcheck") else (lambda t: t)
    if encoding.endswith("-fixed"):
        sign = "-" if id < 0 else _zero(alphabet)
        return end(sign + _digits(id & _M64 >> 1, alphabet, len(_digits(_M64 >> 1, alphabet))))
    if encoding == "dec":
        return str(id)
    if encoding == "base64url":
        return _digits((id & _M64) << 2, alphabet, 11)
    return end(_digits(id & _M64, alphabet))


def _zero(alphabet: str) -> str:
    return "0" if alphabet[0] == "-" else alphabet[0]


def _ensure(ok: object, why: str) -> None:
    if not ok:
        raise ValueError(why)


def _read(encoding: str, text: str) -> int:
    alphabet, fixed = _alphabet(encoding), encoding.endswith("-fixed")
    base = encoding[:-6] if fixed else encoding
    if base in ("hex", "base32hex", "zbase32", "base36"):
        text = text.translate(_TO_LOWER)
    elif base.startswith("crockford"):
        text = text.translate(_TO_CROCKFORD)
    longest = 20 if encoding == "dec" else len(_write(encoding, -1))
    exact = fixed or base == "base64url"
    _ensure(len(text) == longest if exact else 0 < len(text) <= longest, f"it has {len(text)} characters")
    body, negative = text, False
    if base == "crockfordcheck":
        _ensure(all(c in _CROCKFORD + "-" for c in text), "it has a character that is no digit")
        body = text[:-1]
        _ensure(_check(body) == text[-1], "its check character does not fit: a character is wrong")
    if fixed:
        _ensure(body[0] in ("-", _zero(alphabet)), "its first character is no sign")
        negative, body = body[0] == "-", body[1:]
    elif encoding == "dec" and body[0] == "-":
        negative, body = True, body[1:]
        _ensure(body[:1] != "0", "a zero stands after the sign")
    _ensure(body and all(c in alphabet for c in body), "it has a character that is no digit")
    number = 0
    for c in body:
        number = number * len(alphabet) + alphabet.index(c)
    if fixed:
        _ensure(number < 1 << 63, "it has more than 64 bits")
        return number - (1 << 63) if negative else number
    if encoding == "dec":
        number = -number if negative else number
        _ensure(-1 << 63 <= number < 1 << 63, "it has more than 64 bits")
        return number
    if encoding == "base64url":
        _ensure(number & 3 == 0, "it has bits beyond the 64")
        number >>= 2
    _ensure(number <= _M64, "it has more than 64 bits")
    return number - (1 << 64) if number >> 63 else number
