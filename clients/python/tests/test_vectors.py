"""Runs the vectors of the specification: VECTORS=FOLDER python3 -m unittest tests.test_vectors"""

import json
import os
import pathlib
import unittest
from datetime import datetime, timezone

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
        for v in layouts["valid"] + load("fields")["valid"]:
            for text in (v["spec"], v["canonical"]):
                s = spec.parse(text)
                fields = [["sequence" if n == "seq" else n, b] for n, b in s.fields]
                self.assertEqual(fields, [["sequence" if n == "seq" else n, b] for n, b in v["fields"]], text)
                have = [str(s.epoch), str(s.tick), str(s.first), str(s.last), s.cipher or ""]
                self.assertEqual(have, [v[k] for k in ("epoch_unix_ns", "tick_ns", "first", "last", "cipher")], text)
                self.assertEqual(str(s), v["canonical"])
        for text in layouts["invalid"] + load("fields")["invalid"]:
            self.refuses(text, lambda: spec.parse(text))

    def layout(self, v):
        secrets = v.get("secrets", [])
        return Layout(v["layout"], bytes.fromhex(secrets[0]) if secrets else None)

    def test_ids(self):
        ids = load("ids")
        done = 0
        for v in ids["ids"] + ids["refused"] + load("fields")["ids"]:
            if "cipher=ff1" in v["layout"]:
                self.refuses(v["layout"], lambda: self.layout(v))
                continue
            layout = self.layout(v)
            if "tick" not in v:
                self.refuses(v["id"], lambda: layout.decode(int(v["id"])))
                continue
            p = layout.decode(int(v["id"]))
            fields = [p.fields.get(k, 0) for k in ("rollback", "scatter", "tag")]
            self.assertEqual([str(n) for n in (p.tick, p.node, p.sequence, *fields)],
                             [v.get(k, "0") for k in ("tick", "node", "sequence", "rollback", "scatter", "tag")], v)
            self.assertEqual(str(layout.start_of(p.tick)), v["unix_ns"])
            self.assertEqual({k: str(p.fields[k]) for k in v["parts"]}, v["parts"])
            if v["rollback"] == "0" and fields[2] == 0:
                bits = layout.compose(p.tick, p.node, p.sequence, fields[1])
                self.assertEqual(layout.cipher.encrypt([bits])[0] if layout.cipher else bits, int(v["id"]) & M64)
                self.assertEqual(bits, int(v.get("raw", bits)) & M64)
                done += 1
        self.assertGreater(done, 50)

    def test_tags(self):
        for v in load("fields")["tags"]:
            if "cipher=ff1" in v["layout"]:
                continue
            layout = self.layout(v)
            if "tagged" in v:
                self.assertEqual(str(layout.tag(int(v["id"]), int(v["tag"]))), v["tagged"], v)
            else:
                with self.assertRaisesRegex(ValueError, f"tag is {v['tag']}: give 0 to "):
                    layout.tag(int(v["id"]), int(v["tag"]))
        self.refuses("no tag", lambda: Layout("bwmarrin").tag(5, 0))

    def test_ranges(self):
        for v in load("fields")["ranges"]:
            within = {k: int(n) for k, n in v.get("within", {}).items()}
            have = Layout(v["layout"])._ranges(int(v["from_unix_ns"]), int(v["to_unix_ns"]), within)
            self.assertEqual([[str(n) for n in ends] for ends in have], v["ranges"], v)
        spec, now, later = "tag=2,time=10,seq=3", *(datetime(y, 1, 1, tzinfo=timezone.utc) for y in (2025, 2100))
        for layout, start, end, within in ((spec, later, now, {}), (spec, now, later, {"tag": 4}), (spec, now, later, {"seq": 1}),
                                           ("time=42,seq=22", now, later, {}), ("randflake", now, later, {})):
            with self.assertRaises((Error, ValueError)):
                Layout(layout, bytes(16)).ranges(start, end, within)

    def test_each_id_of_a_small_layout_comes_once(self):
        for text in ("time=4,node=2,seq=3", "scatter=2,time=4,node=2,seq=3", "scatter=3,time=3,node=2", "scatter=2,time=4",
                     "node=1,scatter=2,rack=1,time=3,seq=2", "tag=2,time=3,node=2,seq=2", "time=3,seq=2,node=2,tag=1",
                     "scatter=2,tag=1,time=3,seq=2,node=2", "scatter=2,time=3,node=1,seq=3,first=1,last=6",
                     "scatter=1,time=3,seq=3,node=2,first=3,last=5"):
            layout, all_ids = Layout(text), []
            shift, mask = layout._fields["time"]
            for node in range(layout.nodes):
                s, last = Stamps(0), {}
                s.grant(layout, node, 0, 1)
                for now in range(mask + 1):
                    s.grant(layout, node, now - now % 3, mask + 1)
                    for _ in range(layout.slots + 1):
                        ids = s.take(1 + len(all_ids) % 5, now)
                        s.grant(layout, node, now, mask + 1)  # start changes within a tick
                        for p, id in zip(map(layout.decode, ids), ids):
                            above = (id & M64) >> shift + mask.bit_length()
                            self.assertEqual((p.tick, p.node, p.fields.get("tag", 0)), (now, node, 0), text)
                            self.assertGreater(id, last.get(above, -1), text)
                            last[above] = id
                        all_ids += ids
            count = (mask + 1) * layout.nodes * layout.slots
            self.assertEqual((len(set(all_ids)), len(all_ids)), (count, count), text)
            for first in range(0, mask, 3):
                ns = [layout.start_of(first + n) for n in (0, 2)]
                found = {id for low, high in layout._ranges(*ns, {}) for id in all_ids if low <= id < high}
                self.assertEqual(found, {id for id in all_ids if first <= layout.decode(id).tick < first + 2}, text)

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
        for scene in load("grants") + load("fields")["grants"]:
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
                        have = [layout.tag(id, int(step["tag"])) for id in have] if "tag" in step else have
                        self.assertEqual([str(id) for id in have], [step["id"]] if "id" in step else [], scene["name"])
                    else:
                        batch = s.take(ahead, int(step["now"]))
                        if "scatter" not in layout._fields:
                            self.assertEqual(sorted(set(batch)), batch)
                        self.assertFalse(set(batch) & set(made), scene["name"])
                        for p in map(layout.decode, batch):
                            self.assertTrue(p.node == s.node and s.start <= p.tick < s.until, scene["name"])
                        made += batch


if __name__ == "__main__":
    unittest.main()
