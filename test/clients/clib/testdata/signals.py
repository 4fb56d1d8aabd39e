"""signals.py SECONDS: handlers in Python, installed before and after the library was used, while IDs are made."""
import signal
import sys
import time

import snowfence

seen = [0, 0]


def handler(which):
    def count(number, frame):
        seen[which] += 1

    return count


signal.signal(signal.SIGALRM, handler(0))
with snowfence.open("mem:", lead=100000, max_wait="1m") as ids:
    signal.signal(signal.SIGPROF, handler(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    end = time.monotonic() + float(sys.argv[1])
    last = 0
    while time.monotonic() < end or min(seen) < 100:
        for _ in range(100):
            made = next(ids)
            assert made > last, (made, last)
            last = made
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
print("ok")
