"""Tests over a server with tokens that hands out secrets: SNOWFENCE_SERVER, SNOWFENCE_TOKEN, a namespace users."""

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

    def test_a_wrong_token(self):
        with self.assertRaises(snowfence.ServerError) as e:
            snowfence.open(namespace="users", token="wrong", max_wait=WAIT)
        self.assertEqual(e.exception.status, 401)


if __name__ == "__main__":
    unittest.main()
