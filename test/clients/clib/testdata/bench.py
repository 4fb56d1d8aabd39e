"""Prints what an ID costs in Python, in ns of processor time: name and figure, the best of some."""

import sys
import time
import uuid

import snowfence

ids = snowfence.open_static(1, sys.argv[1], lead=1000)


def run(call, n):
    start = time.thread_time_ns()
    for _ in range(n):
        call()
    return (time.thread_time_ns() - start) / n


def iterate(n):
    start = time.thread_time_ns()
    for _ in zip(range(n), ids):
        pass
    return (time.thread_time_ns() - start) / n


def batch(n):
    start = time.thread_time_ns()
    for _ in range(n // 4096):
        for _ in ids.take(4096):
            pass
    return (time.thread_time_ns() - start) / (n // 4096 * 4096)


rows = {"py-uuid4": lambda: run(uuid.uuid4, 20000), "py-next": lambda: run(ids.__next__, 200000),
        "py-iterate": lambda: iterate(200000), "py-take": lambda: batch(400000)}
best = {name: min(row() for _ in range(10)) for name, row in rows.items()}
for name, ns in best.items():
    print(name, f"{ns:.3f}")
ids.close()
