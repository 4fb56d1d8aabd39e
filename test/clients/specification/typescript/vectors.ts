// Runs the vectors: node vectors.js FOLDER
import { readFileSync } from "node:fs";
import { aes, ff1, secretID, sparx } from "./ciphers.js";
import { Generator } from "./generator.js";
import { Layout, M64, signed, type Parts } from "./snowfence.js";
import { isPrefix, read, readPrefixed, write } from "./texts.js";

let done = 0;
const failed: string[] = [];

function equal(what: string, have: unknown, want: unknown): void {
  done++;
  const [a, b] = [have, want].map((v) => JSON.stringify(v, (_, n: unknown) => typeof n === "bigint" ? String(n) : n) ?? "none");
  if (a !== b) failed.push(`${what}: ${a}, want ${b}`);
}

function refuses(what: string, run: () => unknown): void {
  try {
    equal(what, run(), "refused");
  } catch (e) {
    equal(what, e instanceof RangeError, true);
  }
}

// The vectors have the shapes that the page describes; a wrong one fails a comparison.
const load = (name: string): any => JSON.parse(readFileSync(`${process.argv[2]}/${name}.json`, "utf8"));
const big = (text: string): bigint => BigInt(text);
const hex = (text: string): Buffer => Buffer.from(text, "hex");

const layouts = load("layouts");
for (const v of layouts.valid) {
  for (const spec of [v.spec, v.canonical]) {
    const l = new Layout(spec);
    equal(spec, l.fields.map((f) => [f.name === "seq" ? "sequence" : f.name, Number(f.bits)]), v.fields);
    equal(spec, [l.epoch, l.tick, l.first, l.last, l.cipher], [v.epoch_unix_ns, v.tick_ns, v.first, v.last, v.cipher]);
    equal(spec, String(l), v.canonical);
  }
}
for (const spec of layouts.invalid) refuses(`layout ${spec}`, () => new Layout(spec));

const ids = load("ids");
for (const v of ids.ids) {
  const l = new Layout(v.layout), secrets: string[] = v.secrets ?? [];
  const parts: Parts = { time: big(v.tick), seq: big(v.sequence), rollback: big(v.rollback), key: BigInt(v.key) };
  for (const [name, n] of Object.entries<string>(v.parts)) parts[name] = big(n);
  equal(`${v.layout} composed`, l.compose(parts, secrets), { raw: v.raw, id: v.id });
  const have = l.decode(big(v.id), secrets);
  for (const f of l.fields) equal(`${v.id} ${f.name}`, have[f.name], String(parts[f.name]));
  const node = l.fields.filter((f) => f.name in v.parts).reduce((n, f) => n << f.bits | have[f.name]!, 0n);
  equal(v.id, [l.epoch + have["time"]! * l.tick, node], [v.unix_ns, v.node]);
}
for (const v of ids.refused) refuses(`${v.layout} ${v.id}`, () => new Layout(v.layout).decode(big(v.id), v.secrets));

const texts = load("texts");
for (const v of texts.texts) {
  for (const [name, text] of Object.entries<string>(v)) {
    if (name !== "id") equal(`${name} of ${v.id}`, [write(name, big(v.id)), read(name, text)], [text, v.id]);
  }
}
for (const v of texts.read) equal(`${v.encoding} ${v.text}`, read(v.encoding, v.text), v.id);
for (const v of texts.refused) refuses(`${v.encoding} ${v.text}`, () => read(v.encoding, v.text));
for (const v of texts.prefixed) {
  const run = (): bigint => readPrefixed(v.prefix, v.encoding, v.text);
  if (v.id === undefined) refuses(v.text, run);
  else equal(v.text, run(), v.id);
}
for (const prefix of texts.bad_prefixes) equal(`prefix ${prefix}`, isPrefix(prefix), false);

const ciphers = load("ciphers");
for (const v of ciphers.aes) equal("aes", aes(hex(v.key), hex(v.plain)).toString("hex"), v.cipher);
for (const v of ciphers.sparx) {
  const plain = BigInt("0x" + v.plain), cipher = BigInt("0x" + v.cipher);
  equal("sparx", [sparx(hex(v.key), plain, true), sparx(hex(v.key), cipher, false)], [String(cipher), String(plain)]);
}
for (const v of ciphers.ff1) {
  const run = (x: string, encrypt: boolean): bigint => ff1(hex(v.key), v.bits, v.tweak, big(x), encrypt);
  equal("ff1", [run(v.plain, true), run(v.cipher, false)], [v.cipher, v.plain]);
}
const mask = new Layout("time=30,node=17,seq=17,cipher=sparx");
for (const v of ciphers.masks) equal("mask", signed(mask.crypt(big(v.private) & M64, [v.secret], 0, true)), v.public);
for (const [secret, id] of ciphers.secret_ids) equal("secret", secretID(hex(secret)), id);

for (const scene of load("grants")) {
  const l = new Layout(scene.layout), g = new Generator(l, BigInt(scene.lead));
  for (const [i, step] of scene.steps.entries()) {
    if (step.lost) g.lost();
    else if (step.until) g.grant(big(step.node), big(step.from), big(step.until));
    else {
      const made = g.next(big(step.now));
      equal(`${scene.name}, step ${i}`, made && l.compose(made).id, step.id);
    }
  }
}

console.log(`${done} checks, ${failed.length} failed`);
console.log(failed.slice(0, 20).join("\n"));
process.exit(failed.length > 0 || done < 500 ? 1 : 0);
