"""Makes IDs by docs/reference/specification.md with leases of a server: leases.py HOST:PORT TOKEN READER.

READER is the folder of the page's reader. Any surprise ends it with an error.
"""

import json
import secrets
import sys
import time
import urllib.error
import urllib.request

address, token, reader = sys.argv[1:]
sys.path.insert(0, reader)
from generator import Generator  # noqa: E402
from snowfence import Layout  # noqa: E402

made = []


def call(name, body):
    r = urllib.request.Request(f"http://{address}/snowfence.v1.LeaseService/{name}", json.dumps(body).encode(),
                               {"Content-Type": "application/json", "Authorization": "Bearer " + token})
    try:
        with urllib.request.urlopen(r) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


class Holder:
    def __init__(self, label, **more):
        status, a = call("Acquire", {"namespace": "default", "label": label, "ttl": "3s", **more})
        assert status == 200, a
        self.layout = Layout(a["layout"])
        self.generator = Generator(self.layout, 0)
        self.take(a)

    def take(self, a):
        self.ticket, self.node = a["ticket"], int(a.get("node", 0))
        self.start, self.until = int(a["from"]), int(a["until"])
        self.generator.grant(self.node, self.start, self.until)

    def now(self):
        return (time.time_ns() - self.layout.epoch) // self.layout.tick

    def make(self, n, patience=30):
        """Makes n IDs, or fewer if its grant ends."""
        end, count = time.monotonic() + patience, 0
        while count < n and time.monotonic() < end and self.now() < self.generator.until:
            parts = self.generator.next(self.now())
            if parts is None:
                time.sleep(0.0005)
                continue
            tick, node, sequence = parts
            made.append((self.layout.compose({"time": tick, "node": node, "seq": sequence}, [])[1], tick, node))
            count += 1
        return count

    def renew(self, attempt=None, earlier=()):
        attempt = attempt or secrets.token_urlsafe(16)
        status, a = call("Renew", {"ticket": self.ticket, "attempt": attempt, "earlier": list(earlier)})
        if status in (404, 409):
            self.generator.lost()
            return False
        assert status == 200, a
        self.take(a)
        return True

    def release(self, used):
        self.generator.lost()
        assert call("Release", {"ticket": self.ticket, "used": str(used)}) == (200, {})


a, b = Holder("a"), Holder("b")
assert a.node != b.node
a.make(5000)
b.make(5000)
until = a.until
attempt = secrets.token_urlsafe(16)
old = a.ticket
assert a.renew(attempt) and a.until >= until
a.ticket = old  # the answer was lost: another attempt, which names it
assert a.renew(earlier=[attempt]) and a.renew()
a.make(5000)
assert call("Renew", {"ticket": old, "attempt": secrets.token_urlsafe(16)})[0] == 409  # a copy with the old ticket

c = Holder("c", node=str(a.node))  # an operator gives the node to another program
assert c.node == a.node and c.start >= a.until
assert not a.renew() and a.make(1) == 0
a = Holder("a", lost=a.ticket)
assert a.node != c.node
a.make(1000)
c.renew()
c.make(1000)
used = max(tick for _, tick, node in made if node == c.node) + 1
c.release(used)
d = Holder("d", node=str(c.node))
assert d.start >= used
d.make(1000)

ids = [id for id, _, _ in made]
assert len(ids) > 1000 and len(set(ids)) == len(ids), len(ids)
print(len(ids))
