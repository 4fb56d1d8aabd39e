"""Prints what an ID costs beside other IDs of Python, in ns of processor time, the best of some rounds:
SNOWFENCE_SERVER=http://127.0.0.1:8080 python3 bench.py"""

import itertools
import pathlib
import sys
import threading
import time
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import snowfence  # noqa: E402
from snowfence.sparx import Sparx  # noqa: E402

try:
    import shortuuid
except ImportError:
    shortuuid = None


class Naive:
    """What most Snowflake packages do: a lock, the clock, a number that somebody gave."""

    def __init__(self):
        self.lock, self.last, self.sequence = threading.Lock(), 0, 0

    def next(self):
        with self.lock:
            now = time.time_ns() // 1_000_000 - 1_735_689_600_000
            self.sequence = self.sequence + 1 & 4095 if now == self.last else 0
            self.last = now
            return now << 22 | 1 << 12 | self.sequence


def once(call, n):
    start = time.thread_time_ns()
    for _ in range(n):
        call()
    return (time.thread_time_ns() - start) / n


def main():
    ids, cipher, count = snowfence.open(lead=100_000), Sparx(bytes(range(16))), itertools.count()
    rows = {
        "a bare counter: itertools.count": lambda: once(count.__next__, 100_000),
        "snowfence, take(4096)": lambda: once(lambda: ids.take(4096), 100) / 4096,
        "snowfence, next": lambda: once(ids.__next__, 100_000),
        "snowfence, SPARX, 4096 at once": lambda: once(lambda: cipher.encrypt(range(4096)), 5) / 4096,
        "a Snowflake class of 15 lines": lambda: once(Naive().next, 20_000),
        "uuid.uuid1": lambda: once(uuid.uuid1, 5_000),
        "uuid.uuid4": lambda: once(uuid.uuid4, 5_000),
    }
    if shortuuid:
        rows["shortuuid.uuid"] = lambda: once(shortuuid.uuid, 1_000)
    best = {name: min(row() for _ in range(9)) for name, row in rows.items()}
    for name, ns in best.items():
        print(f"{ns:9.1f}  {ns / best['snowfence, next']:7.2f} x next  {name}")
    ids.close()


main()
