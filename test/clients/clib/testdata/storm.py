"""Makes IDs under a storm of signals: python3 storm.py SECONDS. Prints "ok"."""

import signal
import sys
import threading
import time

import snowfence

ids = snowfence.open("mem:", lead=2000)
caught = {signal.SIGALRM: 0, signal.SIGPROF: 0, signal.SIGVTALRM: 0}
in_handlers = []


def handle(number, frame):
    caught[number] += 1
    if caught[number] % 16 == 0:
        in_handlers.append(next(ids))  # inside another call of the library, too


for number, timer in ((signal.SIGALRM, signal.ITIMER_REAL), (signal.SIGPROF, signal.ITIMER_PROF),
                      (signal.SIGVTALRM, signal.ITIMER_VIRTUAL)):
    signal.signal(number, handle)
    signal.setitimer(timer, 0.001, 0.001)
end = time.monotonic() + float(sys.argv[1])
lists = [[] for _ in range(3)]


def make(to):
    while len(to) < 1000 or time.monotonic() < end and len(to) < 1_000_000:
        to.append(next(ids))
        if len(to) % 1000 == 0:
            to.extend(ids.take(10))


threads = [threading.Thread(target=make, args=(to,)) for to in lists[1:]]
for t in threads:
    t.start()
make(lists[0])
while not all(caught.values()):
    in_handlers.append(next(ids))
for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF, signal.ITIMER_VIRTUAL):
    signal.setitimer(timer, 0)
for t in threads:
    t.join()
for to in lists:
    assert all(a < b for a, b in zip(to, to[1:]))
made = in_handlers + [i for to in lists for i in to]
assert len(made) == len(set(made))
ids.close()
print("ok")
