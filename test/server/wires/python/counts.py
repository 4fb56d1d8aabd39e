"""Talks to a server as programs with redis-py do: counts.py HOST PORT TOKEN. Any surprise ends it with an error."""

import datetime
import sys

import redis

host, port, password = sys.argv[1:]
r = redis.Redis(host=host, port=int(port), password=password, decode_responses=True)

assert r.get("orders") is None
assert r.incr("orders") == 1
assert r.get("orders") == "1"
assert r.incr("orders", 10) == 11
assert r.incrby("shop:orders", 5) == 1004
assert r.ttl("orders") == -1 and r.pttl("orders") == -1


def fails(what, call):
    try:
        call()
    except redis.ResponseError as e:
        assert what in str(e), e
    else:
        raise AssertionError(what)


fails("never begin again", lambda: r.expire("orders", 60))
fails("sequence create nothing", lambda: r.incr("nothing"))
fails("never goes back", lambda: r.incr("orders", 0))
fails("--step -1", lambda: r.decr("orders"))
fails("--start N", lambda: r.set("orders", 1))
fails("no scripts", lambda: r.eval("return 1", 0))
fails("no other client's", lambda: r.pipeline().watch("orders"))

# A dated sequence: the period in the key is the number's, and ends by itself.
year = datetime.datetime.now(datetime.timezone.utc).year
key = f"bills:{year}"
p = r.pipeline()
p.incr(key).expire(key, 86400).get(key)
assert p.execute() == [1, True, "1"]
fails(key, lambda: r.incr("bills"))
fails(str(year), lambda: r.incr(f"bills:{year + 5}"))

for transaction in True, False:
    p = r.pipeline(transaction=transaction)
    for _ in range(500):
        p.incr("strict")
    p.get("strict")
    replies = p.execute()
    last = replies.pop()
    assert replies == list(range(replies[0], replies[0] + 500)), replies
    assert last == str(replies[-1]), last

# Each command of a transaction has its own reply; an error of one stops no other.
p = r.pipeline()
p.incr("few", 3).incr("few").incr("orders")
replies = p.execute(raise_on_error=False)
assert replies[0] == 3 and "ENDED" in str(replies[1]) and replies[2] == 12, replies

p = r.pipeline()
for _ in range(1001):
    p.incr("orders")
fails("1000 commands", p.execute)
assert r.incr("orders") == 13
