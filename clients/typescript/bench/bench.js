// Measures a call beside packages of the same registry, in one run: node bench.js SERVER [NAMESPACE]
//
// The namespace has a layout in which no ID waits for the clock, such as time=38,node=2,seq=23. Figures are the
// best of 15 rounds, in processor time.
import { randomUUID } from "node:crypto";
import { Snowflake } from "@sapphire/snowflake";
import { nanoid } from "nanoid";
import { Snowflake as Wasm } from "nodejs-snowflake";
import { monotonicFactory, ulid } from "ulid";
import { v4, v7 } from "uuid";
import { Generator } from "../dist/esm/index.js";

const ids = await Generator.open(process.argv[2], { namespace: process.argv[3] ?? "default", label: "bench" });
const ffi = process.env.SNOWFENCE_FFI && (await import(process.env.SNOWFENCE_FFI)).open("mem:", null, { layout: ids.layout });

const sapphire = new Snowflake(1735689600000n), wasm = new Wasm(), monotonic = monotonicFactory();
const calls = {
  "snowfence next": () => ids.next(),
  ...ffi && { "snowfence over C": () => ffi.next() },
  "@sapphire/snowflake": () => sapphire.generate(),
  "nodejs-snowflake (WebAssembly)": () => wasm.getUniqueID(),
  "uuid v7": () => v7(),
  "uuid v4": () => v4(),
  "crypto.randomUUID": () => randomUUID(),
  "ulid, monotonic": () => monotonic(),
  "ulid": () => ulid(),
  "nanoid": () => nanoid(),
};

const kept = new Array(1024); // so that no call is left out
const best = new Map();

/** Notes the processor time of n calls, because the machine may have other work. */
async function measure(name, n, run) {
  const began = process.cpuUsage();
  await run(n);
  const used = process.cpuUsage(began);
  best.set(name, Math.min((used.user + used.system) * 1000 / n, best.get(name) ?? Infinity));
  await new Promise((next) => setTimeout(next, 20)); // for renewals
}

for (let round = 0; round < 15; round++) {
  for (const [name, call] of Object.entries(calls)) {
    await measure(name, name === "ulid" ? 500 : 20_000, (n) => {
      for (let i = 0; i < n; i++) kept[i & 1023] = call();
    });
  }
  await measure("snowfence take, an ID", 100_000, (n) => ids.take(n));
}
const own = best.get("snowfence next");
for (const [name, ns] of best) console.log(`${name.padEnd(32)} ${ns.toFixed(0).padStart(6)} ns ${(ns / own).toFixed(1).padStart(6)}`);
await ids.close();
process.exit(0);
