"""SPARX-64/128, the cipher of layouts with cipher=sparx, by docs/reference/specification.md.

Python computes with long numbers as fast as with short ones, so all blocks of a batch are encrypted at once: each
of the four words of 16 bits stands in a lane of 32, one lane a block.
"""

from __future__ import annotations

import struct
from typing import List, Sequence

_BATCH = 256  # more at once are slower: their numbers leave the first cache


class Sparx:
    """Encrypts and decrypts numbers of 64 bits with a secret of 16 bytes."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) != 16:
            raise ValueError(f"a secret has 16 bytes, not {len(secret)}")
        k, self._keys = list(struct.unpack(">8H", secret)), []  # type: List[int], List[int]
        for i in range(1, 17):
            self._keys += k[:6]
            k[0], k[1] = _a(k[0], k[1], 0xFFFF)
            k[2], k[3], k[7] = k[2] + k[0] & 0xFFFF, k[3] + k[1] & 0xFFFF, k[7] + i & 0xFFFF
            k = k[6:] + k[:6]
        self._keys += k[:4]
        self._lanes = 1, self._keys  # the keys in as many lanes as the last batch had

    def encrypt(self, numbers: Sequence[int]) -> List[int]:
        """Encrypts numbers, which are unsigned."""
        return [id for at in range(0, len(numbers), _BATCH) for id in self._encrypt(numbers[at:at + _BATCH])]

    def _encrypt(self, numbers: Sequence[int]) -> List[int]:
        x, keys, mask = _lanes(numbers), self._spread(len(numbers)), _ones(len(numbers)) * 0xFFFF
        for step in range(8):
            for half in (0, 2):
                for at in range(12 * step + 3 * half, 12 * step + 3 * half + 6, 2):
                    x[half], x[half + 1] = _a(x[half] ^ keys[at], x[half + 1] ^ keys[at + 1], mask)
            t = _rotl(x[0] ^ x[1], 8, mask)
            x = [x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]]
        return _numbers([x[i] ^ keys[96 + i] for i in range(4)], len(numbers))

    def decrypt(self, numbers: Sequence[int]) -> List[int]:
        """Decrypts numbers, which are unsigned."""
        x, keys, mask = _lanes(numbers), self._spread(len(numbers)), _ones(len(numbers)) * 0xFFFF
        x = [x[i] ^ keys[96 + i] for i in range(4)]
        for step in range(7, -1, -1):
            t = _rotl(x[2] ^ x[3], 8, mask)
            x = [x[2], x[3], x[0] ^ x[2] ^ t, x[1] ^ x[3] ^ t]
            for half in (0, 2):
                for at in range(12 * step + 3 * half + 4, 12 * step + 3 * half - 2, -2):
                    l, r = _back(x[half], x[half + 1], mask)
                    x[half], x[half + 1] = l ^ keys[at], r ^ keys[at + 1]
        return _numbers(x, len(numbers))

    def _spread(self, n: int) -> List[int]:
        """Returns each key word in n lanes."""
        lanes, keys = self._lanes
        if lanes != n:
            ones = _ones(n)
            keys = [key * ones for key in self._keys]
            self._lanes = n, keys
        return keys


def _ones(n: int) -> int:
    """Returns a 1 in each lane."""
    return int.from_bytes(b"\1\0\0\0" * n, "little")


def _rotl(x: int, n: int, mask: int) -> int:
    return (x << n | x >> 16 - n) & mask


def _a(l: int, r: int, mask: int) -> "tuple[int, int]":
    l = _rotl(l, 9, mask) + r & mask
    return l, _rotl(r, 2, mask) ^ l


def _back(l: int, r: int, mask: int) -> "tuple[int, int]":
    r = _rotl(r ^ l, 14, mask)
    borrow = mask + mask // 0xFFFF  # 2^16 in each lane, so that no lane borrows from the next
    return _rotl((l | borrow) - r & mask, 7, mask), r


def _lanes(numbers: Sequence[int]) -> List[int]:
    """Puts numbers into lanes: a block has the lowest byte first, and its words the highest byte first."""
    words = struct.unpack(f">{4 * len(numbers)}H", struct.pack(f"<{len(numbers)}Q", *numbers))
    return [int.from_bytes(struct.pack(f"<{len(numbers)}I", *words[i::4]), "little") for i in range(4)]


def _numbers(x: List[int], n: int) -> List[int]:
    words = [0] * (4 * n)
    for i in range(4):
        words[i::4] = struct.unpack(f"<{n}I", x[i].to_bytes(4 * n, "little"))
    return list(struct.unpack(f"<{n}Q", struct.pack(f">{4 * n}H", *words)))
