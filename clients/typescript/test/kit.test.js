// A kit has the faults of a generator, and arguments are checked where they are given.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Generator, Prefix, Sequence, decode, parse, ranges, tag } from "snowfence";
import { Kit } from "snowfence/testing";

const code = (want) => (e) => e.code === want;

test("plays faults, and waits for nothing", async () => {
  const kit = new Kit(1), first = kit.next(), many = await kit.take(10_000);
  assert(many[0] > first && many.every((id, i) => i === 0 || id > many[i - 1]));
  assert.equal(new Kit(1).next(), first);
  assert.notEqual(new Kit(2).next(), first);
  kit.loseLease();
  assert.throws(() => kit.next(), code("FENCED"));
  kit.restore();
  assert(kit.next() > many.at(-1));
  kit.storeUnreachable();
  kit.advance(10_000);
  kit.next();
  kit.advance(10_000);
  await assert.rejects(kit.take(1), code("FENCED"));
  kit.restore();
  const last = kit.next();
  kit.sequenceFull();
  assert.throws(() => kit.next(), code("EXHAUSTED"));
  kit.advance(1);
  kit.step(-1000);
  assert(kit.next() > last);
  kit.step(-3_600_000);
  assert.throws(() => kit.next(), code("EXHAUSTED"));
  kit.advance(3_660_000);
  assert(Math.abs(kit.decode(kit.next()).time - kit.now) < 1000);
  await kit.close();
  assert.throws(() => kit.next(), code("CLOSED"));
});

test("take gives an array, whose map keeps texts", async () => {
  const rows = (await new Kit(1).take(3)).map((id) => ({ id: String(id) }));
  assert.match(JSON.stringify(rows), /^\[{"id":"\d{18}"},{"id":"\d{18}"},{"id":"\d{18}"}]$/);
});

test("puts a tag into IDs, and spreads them over ranges", async () => {
  const spec = "scatter=2,tag=3,time=41,node=8,seq=4", kit = new Kit(1, spec), before = await kit.take(40);
  for (const wrong of [8, -1n, 1.5, "3", undefined]) {
    assert.throws(() => kit.nextFor(wrong), (e) => e.code === "INVALID" && e.message.includes(`tag ${wrong}: its 3 bits hold 0 to 7`));
    assert.throws(() => tag(1n, wrong, spec), code("INVALID"));
  }
  const id = kit.nextFor(7n), rest = await kit.take(23), { fields, time } = decode(id, spec);
  const all = [...before, kit.tag(id, 0), ...rest].map((id) => kit.decode(id));
  assert.equal(fields.tag, 7n);
  assert.deepEqual(all.map((p) => p.tick), all.map(() => all[0].tick)); // no ID was used up
  assert.deepEqual([0, 16, 32, 48].map((i) => all[i].fields.scatter).sort(), [0n, 1n, 2n, 3n]);
  assert(all.every((p, i) => p.sequence === BigInt(i % 16)));
  const of = [...ranges(time, new Date(+time + 1), kit.layout, { tag: 7 })];
  assert.equal(of.filter(([low, high]) => low <= id && id < high).length, 1);
  assert.equal(of.length, 4);
  assert.throws(() => new Kit(1).nextFor(0), (e) => e.code === "INVALID" && e.message.includes("no field tag"));
  for (const [from, to, layout, within] of [
    [new Date(1), new Date(0)], [time, time, "randflake"], [time, time, spec, { node: 1 }], [time, time, spec, { tag: 8 }],
    [new Date(0), new Date(1e13), "time=42,seq=22"],
  ]) assert.throws(() => ranges(from, to, layout, within), code("INVALID"));
});

test("checks options and arguments, and says their names", async () => {
  for (const options of [
    { namespce: "shop" }, { namespace: 5 }, { namespace: "" }, { ttl: "5" }, { ttl: -1 }, { label: 5 }, { token: 5 }, { token: "a\nb" },
  ]) {
    const [name] = Object.keys(options);
    await assert.rejects(Generator.open("http://127.0.0.1:1", options), (e) => e.code === "INVALID" && e.message.includes(name));
  }
  for (const wrong of [null, "shop"]) await assert.rejects(Generator.open("http://127.0.0.1:1", wrong), code("INVALID"));
  for (const server of [undefined, 5, [], [5]]) await assert.rejects(Generator.open(server), code("INVALID"));
  for (const [name, options] of [["bills", { ahed: 5 }], ["bills", { ahead: "5" }], [5, {}], ["", {}]]) {
    await assert.rejects(Sequence.open("http://127.0.0.1:1", name, options), code("INVALID"));
  }
  for (const n of [-1, 1.5, "3", 1e9]) await assert.rejects(new Kit(1).take(n), code("INVALID"));
  for (const wrong of [5, 5n, null]) assert.throws(() => parse(wrong, "hex"), code("INVALID"));
  assert.throws(() => new Prefix(null), code("INVALID"));
  assert.throws(() => new Kit(1).advance(null), code("INVALID"));
  assert.throws(() => decode(5n, "no-such-layout"), code("INVALID"));
  assert.throws(() => decode(5n, "randflake"), code("INVALID"));
  assert.equal(decode(1541815603606036480n, "bwmarrin").node, 378n);
});
