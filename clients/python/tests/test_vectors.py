"""Runs the vectors of the specification: VECTORS=FOLDER python3 -m unittest tests.test_vectors"""

import json
import os
import pathlib
import unittest

from snowfence import Error, Layout, format, parse, spec
from snowfence.sparx import Sparx
from snowfence.stamps import Stamps

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("VECTORS", HERE.parents[2] / "testdata" / "specification"))
M64 = (1 << 64) - 1


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


class Vectors(unittest.TestCase):
    def refuses(self, text, call):
        with self.assertRaises(Error, msg=text):
            call()

    def test_layouts(self):
        layouts = load("layouts")
        for v in layouts["valid"]:
            for text in (v["spec"], v["canonical"]):
                s = spec.parse(text)
                fields = [["sequence" if n == "seq" else n, b] for n, b in s.fields]
                self.assertEqual(fields, [["sequence" if n == "seq" else n, b] for n, b in v["fields"]], text)
                have = [str(s.epoch), str(s.tick), str(s.first), str(s.last), s.cipher or ""]
                self.assertEqual(have, [v[k] for k in ("epoch_unix_ns", "tick_ns", "first", "last", "cipher")], text)
                self.assertEqual(str(s), v["canonical"])
        for text in layouts["invalid"]:
            self.refuses(text, lambda: spec.parse(text))

    def layout(self, v):
        secrets = v.get("secrets", [])
        return Layout(v["layout"], bytes.fromhex(secrets[0]) if secrets else None)

    def test_ids(self):
        ids = load("ids")
        done = 0
        for v in ids["ids"] + ids["refused"]:
            if "cipher=ff1" in v["layout"]:
                self.refuses(v["layout"], lambda: self.layout(v))
                continue
            layout = self.layout(v)
            if "tick" not in v:
                self.refuses(v["id"], lambda: layout.decode(int(v["id"])))
                continue
            p = layout.decode(int(v["id"]))
            self.assertEqual([str(n) for n in (p.tick, p.node, p.sequence, p.fields.get("rollback", 0))],
                             [v[k] for k in ("tick", "node", "sequence", "rollback")], v)
            self.assertEqual(str(layout.start_of(p.tick)), v["unix_ns"])
            self.assertEqual({k: str(p.fields[k]) for k in v["parts"]}, v["parts"])
            if v["rollback"] == "0":
                made = layout.ids(p.tick, p.node, p.sequence, p.sequence + 1)
                self.assertEqual([str(id) for id in made], [v["id"]])
                self.assertEqual(layout.compose(p.tick, p.node, p.sequence), int(v["raw"]) & M64)
                done += 1
        self.assertGreater(done, 40)

    def test_texts(self):
        texts = load("texts")
        for v in texts["texts"]:
            for name, text in v.items():
                if name != "id":
                    self.assertEqual(format(int(v["id"]), name), text)
                    self.assertEqual(str(parse(text, name)), v["id"])
        for v in texts["read"]:
            self.assertEqual(str(parse(v["text"], v["encoding"])), v["id"], v)
        for v in texts["refused"]:
            self.refuses(str(v), lambda: parse(v["text"], v["encoding"]))
        for v in texts["prefixed"]:
            if "id" in v:
                self.assertEqual(str(parse(v["text"], v["encoding"], v["prefix"])), v["id"])
                self.assertEqual(format(int(v["id"]), v["encoding"], v["prefix"]), v["text"])
            else:
                self.refuses(str(v), lambda: parse(v["text"], v["encoding"], v["prefix"]))
        for prefix in filter(None, texts["bad_prefixes"]):
            self.refuses(prefix, lambda: format(1, "dec", prefix))

    def test_sparx(self):
        swap = lambda text: int.from_bytes(bytes.fromhex(text), "little")
        for v in load("ciphers")["sparx"]:
            s, plain, cipher = Sparx(bytes.fromhex(v["key"])), swap(v["plain"]), swap(v["cipher"])
            self.assertEqual((s.encrypt([plain]), s.decrypt([cipher])), ([cipher], [plain]))
            many = [plain ^ i * 0x9E3779B97F4A7C15 & M64 for i in range(100)]
            self.assertEqual(s.encrypt(many), [s.encrypt([n])[0] for n in many])
            self.assertEqual(s.decrypt(s.encrypt(many)), many)
        for v in load("ciphers")["masks"]:
            public = Sparx(bytes.fromhex(v["secret"])).encrypt([int(v["private"]) & M64])[0]
            self.assertEqual(public, int(v["public"]) & M64)

    def test_grants(self):
        for scene in load("grants"):
            for ahead in (1, 3):  # a batch is the same as one after the other
                layout, s = Layout(scene["layout"]), Stamps(scene["lead"])
                made, now = [], None
                for step in scene["steps"]:
                    if "lost" in step:
                        s.lost()
                    elif "until" in step:
                        s.grant(layout, *(int(step[k]) for k in ("node", "from", "until")))
                    elif ahead == 1:
                        have = s.take(1, int(step["now"]))
                        self.assertEqual([str(id) for id in have], [step["id"]] if "id" in step else [], scene["name"])
                    else:
                        batch = s.take(ahead, int(step["now"]))
                        self.assertEqual(sorted(set(batch)), batch)
                        self.assertFalse(set(batch) & set(made), scene["name"])
                        for p in map(layout.decode, batch):
                            self.assertTrue(p.node == s.node and s.start <= p.tick < s.until, scene["name"])
                        made += batch


if __name__ == "__main__":
    unittest.main()
