"""Runs the vectors: python3 vectors.py FOLDER"""
import json
import sys

from ciphers import aes, ff1, secret_id, sparx
from generator import Generator
from snowfence import Layout, signed
from texts import PREFIX, read, read_prefixed, write

done, failed = 0, []


def equal(what, have, want):
    global done
    done += 1
    if have != want:
        failed.append(f"{what}: {have}, want {want}")


def refuses(what, do):
    try:
        equal(what, do(), "refused")
    except (ValueError, KeyError):
        equal(what, 0, 0)


load = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json", encoding="utf-8"))
number = lambda text: signed(int(text))

layouts, ids, above = load("layouts"), load("ids"), load("fields")
for v in layouts["valid"] + above["valid"]:
    for spec in (v["spec"], v["canonical"]):
        l = Layout(spec)
        fields = [["seq" if n == "sequence" else n, b] for n, b in v["fields"]]
        equal(spec, [[n, mask.bit_length()] for n, (_, mask) in l.fields.items()], fields)
        have = [str(l.epoch), str(l.tick), str(l.first), str(l.last), l.cipher or ""]
        equal(spec, have, [v[k] for k in ("epoch_unix_ns", "tick_ns", "first", "last", "cipher")])
        equal(spec, str(l), v["canonical"])
for spec in layouts["invalid"] + above["invalid"]:
    refuses("layout " + spec, lambda: Layout(spec))

for v in ids["ids"] + above["ids"]:
    l, secrets = Layout(v["layout"]), v.get("secrets", [])
    parts = {"time": int(v["tick"]), "seq": int(v["sequence"]), "rollback": int(v["rollback"])}
    parts |= {k: int(v.get(k, "0")) for k in ("scatter", "tag")} | {k: int(n) for k, n in v["parts"].items()}
    raw, id = (str(n) for n in l.compose(parts, secrets))
    equal(v["layout"] + " composed", [raw, id], [v.get("raw", raw), v["id"]])
    equal(v["layout"], write("base32hex", int(id)), v.get("base32hex", write("base32hex", int(id))))
    have = l.decode(int(v["id"]), secrets)
    for name, n in have.items():
        equal(v["id"] + " " + name, n, v["key"] if name == "key" else parts[name])
    node = 0
    for name in l.nodes:
        node = node << l.fields[name][1].bit_length() | have[name]
    equal(v["id"], [str(l.epoch + have["time"] * l.tick), str(node)], [v["unix_ns"], v["node"]])
for v in ids["refused"]:
    refuses(v["layout"] + " " + v["id"], lambda: Layout(v["layout"]).decode(int(v["id"]), v.get("secrets", [])))
for v in above["tags"]:
    do = lambda: str(Layout(v["layout"]).tagged(int(v["id"]), int(v["tag"]), v.get("secrets", [])))
    equal(f"{v['id']} tagged", do(), v["tagged"]) if "tagged" in v else refuses(f"tag {v['tag']}", do)
for v in above["ranges"]:
    within = {name: int(n) for name, n in v.get("within", {}).items()}
    have = Layout(v["layout"]).ranges(int(v["from_unix_ns"]), int(v["to_unix_ns"]), within)
    equal(v["layout"] + " ranges", [[str(n) for n in r] for r in have], v["ranges"])

texts = load("texts")
for v in texts["texts"]:
    for name, text in v.items():
        if name != "id":
            equal(name + " of " + v["id"], [write(name, int(v["id"])), str(read(name, text))], [text, v["id"]])
for v in texts["read"]:
    equal(v["encoding"] + " " + v["text"], str(read(v["encoding"], v["text"])), v["id"])
for v in texts["refused"]:
    refuses(v["encoding"] + " " + v["text"], lambda: read(v["encoding"], v["text"]))
for v in texts["prefixed"]:
    do = lambda: str(read_prefixed(v["prefix"], v["encoding"], v["text"]))
    equal(v["text"], do(), v["id"]) if "id" in v else refuses(v["text"], do)
for prefix in texts["bad_prefixes"]:
    equal("prefix " + prefix, PREFIX.fullmatch(prefix), None)

ciphers = load("ciphers")
for v in ciphers["aes"]:
    equal("aes", aes(bytes.fromhex(v["key"]), bytes.fromhex(v["plain"])).hex(), v["cipher"])
for v in ciphers["sparx"]:
    plain, cipher, key = int(v["plain"], 16), int(v["cipher"], 16), bytes.fromhex(v["key"])
    equal("sparx", [sparx(key, plain), sparx(key, cipher, False)], [cipher, plain])
for v in ciphers["ff1"]:
    do = lambda x, e: ff1(bytes.fromhex(v["key"]), v["bits"], v["tweak"].encode(), x, e)
    equal("ff1", [do(int(v["plain"]), True), do(int(v["cipher"]), False)], [int(v["cipher"]), int(v["plain"])])
mask = Layout("time=30,node=17,seq=17,cipher=sparx")
for v in ciphers["masks"]:
    have = mask.crypt(int(v["private"]) & (1 << 64) - 1, [v["secret"]], 0, True)
    equal("mask", str(signed(have)), v["public"])
for secret, id in ciphers["secret_ids"]:
    equal("secret", secret_id(bytes.fromhex(secret)), id)

for scene in load("grants") + above["grants"]:
    l = Layout(scene["layout"])
    g = Generator(l, scene["lead"])
    for i, step in enumerate(scene["steps"]):
        if "lost" in step:
            g.lost()
        elif "until" in step:
            g.grant(*(int(step[k]) for k in ("node", "from", "until")))
        else:
            made = g.next(int(step["now"]))
            parts = dict(zip(("time", "node", "scatter", "seq"), made or ()), rollback=0, tag=int(step.get("tag", "0")))
            id = made and str(l.compose(parts, [])[1])
            equal(f"{scene['name']}, step {i}", id, step.get("id"))

print(f"{done} checks, {len(failed)} failed")
print("\n".join(failed[:20]))
sys.exit(1 if failed or done < 500 else 0)
