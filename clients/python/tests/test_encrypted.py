"""Tests over a server with tokens that hands out secrets: SNOWFENCE_SERVER, SNOWFENCE_TOKEN, the namespaces
users and spread."""

import json
import os
import unittest
import urllib.request

import snowfence

WAIT = 60.0  # ends a hang, on any machine


class Encrypted(unittest.TestCase):
    def test_randflake(self):
        with snowfence.open(namespace="users", max_wait=WAIT) as ids:
            made = ids.take(3000) + [next(ids) for _ in range(1000)]
            self.assertEqual(len(set(made)), 4000)
            for id in (made[0], made[-1]):
                r = urllib.request.Request(f"{os.environ['SNOWFENCE_SERVER']}/v1/users/decode/{id}",
                                           headers={"Authorization": "Bearer " + os.environ["SNOWFENCE_TOKEN"]})
                with urllib.request.urlopen(r, timeout=WAIT) as answer:
                    theirs = json.load(answer)
                ours = ids.decode(id)
                self.assertEqual([str(n) for n in (ours.tick, ours.node, ours.sequence)],
                                 [theirs[k] for k in ("tick", "node", "sequence")])
            id, tick, last = ids.next_for(5), 0, None
            self.assertEqual(ids.decode(id).fields["tag"], 5)
            while last is None or last.tick != tick:  # in one tick, no number is used up
                tick, _, _, sequence, _ = ids.decode(next(ids))
                self.assertRaises(ValueError, ids.next_for, 8)
                last = ids.decode(next(ids))
            self.assertEqual(last.sequence, sequence + 1)
            self.assertEqual(ids.decode(ids.layout.tag(id, 0))[:4], ids.decode(id)[:4])

    def test_scatter(self):
        with snowfence.open(namespace="spread", max_wait=WAIT) as ids:
            made = ids.take(3000) + [next(ids) for _ in range(1000)]
            self.assertEqual(len(set(made)), 4000)
            for value in range(8):
                some = [id for id in made if ids.decode(id).fields["scatter"] == value]
                self.assertEqual(some, sorted(some))
                self.assertGreater(len(some), 100)

    def test_a_wrong_token(self):
        with self.assertRaises(snowfence.ServerError) as e:
            snowfence.open(namespace="users", token="wrong", max_wait=WAIT)
        self.assertEqual(e.exception.status, 401)


if __name__ == "__main__":
    unittest.main()
