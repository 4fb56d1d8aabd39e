// A kit has the faults of a generator, and arguments are checked where they are given.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Generator, Sequence, decode } from "snowfence";
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

test("checks options and arguments, and says their names", async () => {
  for (const options of [{ namespce: "shop" }, { namespace: 5 }, { namespace: "" }, { ttl: "5" }, { ttl: -1 }, { label: 5 }, { token: 5 }]) {
    const [name] = Object.keys(options);
    await assert.rejects(Generator.open("http://127.0.0.1:1", options), (e) => e.code === "INVALID" && e.message.includes(name));
  }
  for (const wrong of [null, "shop"]) await assert.rejects(Generator.open("http://127.0.0.1:1", wrong), code("INVALID"));
  for (const server of [undefined, 5, [], [5]]) await assert.rejects(Generator.open(server), code("INVALID"));
  for (const [name, options] of [["bills", { ahed: 5 }], ["bills", { ahead: "5" }], [5, {}], ["", {}]]) {
    await assert.rejects(Sequence.open("http://127.0.0.1:1", name, options), code("INVALID"));
  }
  for (const n of [-1, 1.5, "3", 1e9]) await assert.rejects(new Kit(1).take(n), code("INVALID"));
  assert.throws(() => decode(5n, "no-such-layout"), code("INVALID"));
  assert.throws(() => decode(5n, "randflake"), code("INVALID"));
  assert.equal(decode(1541815603606036480n, "bwmarrin").node, 378n);
});
