// Plays what servers can do: node --test test
import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Generator } from "../dist/esm/index.js";
import { Fake, eventually, refusal, tick } from "./fake.js";

const code = (want) => (e) => e.code === want || assert.fail(`${e.code}: ${e.message}`);

async function opened(change = {}) {
  const fake = Object.assign(await new Fake().start(change.path), change);
  after(() => fake.stop());
  const ids = await Generator.open(fake.url, { label: "test", ttl: 10 / 3 });
  after(() => ids.close().catch(() => {}));
  return [fake, ids];
}

/** Blocks the process for a third of the ttl. */
const standStill = (fake) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fake.ttl / 3 + 1);

/** Makes IDs while something has not happened. */
const making = (fake, ids, what, run) => eventually(what, async () => {
  for (const id of await ids.take(10)) fake.judge(id);
  return run();
});

test("renews with the latest ticket and another attempt, and gives back above what it stamped", async () => {
  const [fake, ids] = await opened({ ttl: 900 });
  await making(fake, ids, "renewals", () => fake.of("Renew").length >= 3);
  assert.equal(fake.of("Acquire")[0].ttl, "3.333333333s"); // a server reads nine digits at most
  const attempts = [...fake.of("Acquire"), ...fake.of("Renew")].map((r) => r.attempt);
  assert.equal(new Set(attempts).size, attempts.length);
  for (const a of attempts) assert.match(a, /^[A-Za-z0-9_-]{16,32}$/);
  const last = [...fake.seen].at(-1);
  await Promise.all([ids.close(), ids.close()]);
  assert.throws(() => ids.next(), code("CLOSED"));
  await assert.rejects(ids.take(1), code("CLOSED"));
  assert.equal(fake.of("Release").length, 1);
  assert.equal(BigInt(fake.of("Release")[0].used), ids.decode(last).tick + 1n);
});

test("copies of a machine send different attempts", async (t) => {
  t.mock.method(webcrypto, "getRandomValues", (bytes) => bytes);
  const attempts = (await Promise.all([opened(), opened()])).map(([fake]) => fake.of("Acquire")[0].attempt);
  assert.notEqual(attempts[0], attempts[1]);
  for (const a of attempts) assert.match(a, /^[A-Za-z0-9_-]{16,32}$/);
});

test("makes IDs while a test fakes the clock", async (t) => {
  const [fake, ids] = await opened();
  t.mock.timers.enable({ apis: ["Date", "setTimeout", "setInterval"], now: 0 });
  const made = [...await ids.take(20_000), ids.next()];
  t.mock.timers.reset();
  made.forEach((id) => fake.judge(id));
});

test("take gives as many as are asked for, in their order", async () => {
  const [fake, ids] = await opened();
  const many = [...await ids.take(10_000), ...await ids.take(0), ids.next()];
  many.forEach((id) => fake.judge(id));
  assert(many.every((id, i) => i === 0 || id > many[i - 1]));
  for (const n of [-1, 1.5, "3", undefined]) await assert.rejects(ids.take(n), code("INVALID"));
});

test("names attempts without an answer", async () => {
  const plays = ["drop", "refuse", { status: 200, body: '{"node":"7","until":' }, undefined, "drop"];
  const [fake, ids] = await opened({ ttl: 900, play: (procedure) => procedure === "Release" ? undefined : plays.shift() });
  await making(fake, ids, "renewals", () => fake.of("Renew").length >= 3);
  const [acquired, renewed] = [fake.of("Acquire"), fake.of("Renew")];
  assert.deepEqual(acquired.map((r) => r.earlier), acquired.map((_, i) => acquired.slice(0, i).map((r) => r.attempt)));
  assert.equal(acquired.length, 4);
  assert.deepEqual(renewed.slice(0, 3).map((r) => r.earlier), [[], [renewed[0].attempt], []]);
  await ids.close();
  assert(!("used" in fake.of("Release")[0])); // a copy may have the first answer
});

for (const status of [404, 409]) {
  test(`stops at once after ${status}, and stamps nothing of a node twice`, async () => {
    let lost = false, away = true;
    const [fake, ids] = await opened({
      ttl: 900,
      play(procedure) {
        if (procedure === "Acquire" && lost && away) return "refuse";
        if (procedure !== "Renew" || lost) return undefined;
        lost = true;
        this.nodes = [7]; // the same one again, from before what was stamped
        this.grants.at(-1).until = tick() - 50;
        return refusal(status, "lost");
      },
    });
    fake.judge((await ids.take(1))[0]);
    await eventually("a loss", () => lost);
    const again = await eventually("a request for another grant", () => fake.of("Acquire")[1]);
    assert.throws(() => ids.next(), (e) => code("FENCED")(e) && /^the lease was lost/.test(e.message));
    away = false;
    assert.equal(again.lost, btoa("ticket 1 of 7"));
    assert.equal(again.free, true);
    await making(fake, ids, "a renewal", () => fake.of("Renew").length >= 2);
  });
}

test("goes on with the old grant after a proxy's refusal, and while another one is asked for elsewhere", async () => {
  const refusals = [[404, ""], [503, "elsewhere"], [400, "invalid"]];
  const [fake, ids] = await opened({
    ttl: 900,
    nodes: [7, 7, 7, 8],
    play(procedure) {
      if (procedure === "Renew" && this.nodes[0] === 7) {
        this.nodes.shift();
        return refusal(...refusals.shift());
      }
      return undefined;
    },
  });
  await making(fake, ids, "another node", async () => ids.decode((await ids.take(1))[0]).node === 8n);
  assert(fake.of("Acquire").every((r) => r.lost === undefined));
});

test("goes on without a server up to the end of the grant, and no further", async () => {
  const [fake, ids] = await opened({ ttl: 900 });
  let away = true;
  fake.play = () => away ? "refuse" : undefined;
  const error = await eventually("the end", () => {
    try {
      fake.judge(ids.next());
      return undefined;
    } catch (e) {
      return e;
    }
  });
  code("FENCED")(error);
  assert.match(error.message, /the lease ended: http.* does not answer .*snowfence serve/);
  assert(tick() >= fake.grants[0].until - 1000);
  away = false;
  fake.judge((await ids.take(1))[0]);
});

test("renews first after the process stood still", async () => {
  const [fake, ids] = await opened();
  fake.judge(ids.next());
  standStill(fake);
  await Promise.resolve(); // in this turn it does not look at the clock again
  assert.throws(() => ids.next(), code("FENCED"));
  const before = fake.of("Renew").length;
  fake.judge((await ids.take(1))[0]);
  assert(fake.of("Renew").length > before);
});

test("a renewal that was under way while the process stood still is not enough", async () => {
  const answers = [];
  const [fake, ids] = await opened({
    play(procedure) { return procedure === "Renew" && answers.length < 2 ? new Promise((resolve) => answers.push(resolve)) : undefined; },
  });
  await eventually("a renewal", () => answers.length === 1);
  standStill(fake);
  answers[0]();
  await eventually("another renewal", () => answers.length === 2);
  assert.throws(() => ids.next(), code("FENCED"));
  answers[1]();
  fake.judge((await ids.take(1))[0]);
});

test("a slow start is no standing still", async () => {
  const [fake, ids] = await opened({
    play(procedure) { return procedure === "Acquire" ? new Promise((resolve) => setTimeout(resolve, this.ttl / 3 + 50)) : undefined; },
  });
  fake.judge(ids.next());
});

test("takes no answer for a renewal that is not one", async () => {
  const bad = [{ node: "8" }, { from: "0" }, { until: "0" }, { ticket: "" }, { layout: "time=41,node=11,seq=11" }, { renew_after: "0s" },
    { until: "99999999999999999" }];
  const [fake, ids] = await opened({
    ttl: 900,
    play(procedure) { return procedure === "Renew" && bad.length > 0 ? { status: 200, body: { ...this.first, ...bad.shift() } } : undefined; },
  });
  fake.first = { node: "7", from: String(fake.grants[0].from), until: String(fake.grants[0].until + 1), ticket: "eA==",
    layout: ids.layout, renew_after: "0.3s" };
  await eventually("an answer that is one", () => fake.of("Renew").length >= 8);
  assert.deepEqual(fake.of("Renew")[7].earlier.length, 7);
  fake.judge((await ids.take(1))[0]);
});

test("speaks over a Unix socket", async () => {
  const [fake, ids] = await opened({ path: join(mkdtempSync(join(tmpdir(), "snowfence-")), "s.sock") });
  fake.judge(ids.next());
  await ids.close();
  assert.equal(fake.of("Release").length, 1);
});

test("asks the next server when one does not answer, and says what is wrong", async () => {
  const fake = await new Fake().start();
  after(() => fake.stop());
  const gone = await new Fake().start();
  gone.stop();
  const ids = await Generator.open([gone.url, fake.url]);
  fake.judge(ids.next());
  await ids.close();
  await assert.rejects(Generator.open(gone.url), code("UNREACHABLE"));
  for (const bad of ["ftp://x", "http://user:pass@host", "127.0.0.1:8080", "unix:", []]) {
    await assert.rejects(Generator.open(bad), code("INVALID"));
  }
  fake.play = () => ({ status: 404, body: { message: "no such namespace" } });
  await assert.rejects(Generator.open(fake.url), code("REFUSED"));
});
