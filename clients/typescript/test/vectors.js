// Runs the vectors of docs/reference/specification.md: node test/vectors.js FOLDER. FF1 is not for this package.
import { readFileSync } from "node:fs";
import { SnowfenceError, Prefix, format, parse } from "../dist/esm/index.js";
import { Layout } from "../dist/esm/layout.js";
import { Sparx } from "../dist/esm/sparx.js";
import { LOW, Stamper } from "../dist/esm/stamper.js";

let done = 0;
const failed = [];

function equal(what, have, want) {
  done++;
  const [a, b] = [have, want].map((v) => JSON.stringify(v, (_, n) => typeof n === "bigint" ? String(n) : n) ?? "none");
  if (a !== b) failed.push(`${what}: ${a}, want ${b}`);
}

function refuses(what, run) {
  try {
    equal(what, run(), "refused");
  } catch (e) {
    equal(what, e instanceof SnowfenceError && e.code, "INVALID");
  }
}

const load = (name) => JSON.parse(readFileSync(`${process.argv[2]}/${name}.json`, "utf8"));

function crypt(secret, id, direction) {
  const cell = new BigInt64Array([BigInt(id)]);
  new Sparx(secret)[direction](new Uint32Array(cell.buffer), LOW);
  return cell[0];
}

const layouts = load("layouts");
for (const v of layouts.valid) {
  for (const spec of [v.spec, v.canonical]) {
    const l = new Layout(spec);
    equal(spec, l.fields.map((f) => [f.name === "seq" ? "sequence" : f.name, Number(f.bits)]), v.fields);
    equal(spec, [l.epoch, l.tick, String(l.first), String(l.last), l.cipher],
      [v.epoch_unix_ns, v.tick_ns, v.first, v.last, v.cipher]);
  }
}
for (const spec of layouts.invalid) refuses(`layout ${spec}`, () => new Layout(spec));

const ids = load("ids");
for (const v of ids.ids) {
  const l = new Layout(v.layout);
  if (l.cipher === "ff1") continue;
  const fields = { time: BigInt(v.tick), seq: BigInt(v.sequence), rollback: BigInt(v.rollback), tag: 0n };
  for (const [name, n] of Object.entries(v.parts)) fields[name] = BigInt(n);
  const raw = l.compose(fields), secret = v.secrets?.at(-1);
  equal(`${v.layout} composed`, [raw, secret ? crypt(secret, raw, "encrypt") : raw], [v.raw, v.id]);
  const have = l.decode(secret ? crypt(secret, v.id, "decrypt") : BigInt(v.id));
  for (const f of l.fields) equal(`${v.id} ${f.name}`, have.fields[f.name], fields[f.name]);
  equal(v.id, [l.epoch + have.tick * l.tick, have.node, have.sequence], [v.unix_ns, v.node, v.sequence]);
  for (const name of Object.keys(v.parts)) equal(`${v.id} node`, l.nodeFields(have.node)[name], v.parts[name]);
}
for (const v of ids.refused) {
  const l = new Layout(v.layout), secret = v.secrets?.at(-1);
  if (l.cipher !== "ff1") refuses(`${v.layout} ${v.id}`, () => l.decode(secret ? crypt(secret, v.id, "decrypt") : BigInt(v.id)));
}

const texts = load("texts");
for (const v of texts.texts) {
  for (const [name, text] of Object.entries(v)) {
    if (name !== "id") equal(`${name} of ${v.id}`, [format(BigInt(v.id), name), parse(text, name)], [text, v.id]);
  }
}
for (const v of texts.read) equal(`${v.encoding} ${v.text}`, parse(v.text, v.encoding), v.id);
for (const v of texts.refused) refuses(`${v.encoding} ${v.text}`, () => parse(v.text, v.encoding));
for (const v of texts.prefixed) {
  if (v.id === undefined) refuses(v.text, () => new Prefix(v.prefix, v.encoding).parse(v.text));
  else equal(v.text, new Prefix(v.prefix, v.encoding).parse(v.text), v.id);
}
for (const prefix of texts.bad_prefixes) refuses(`prefix ${prefix}`, () => new Prefix(prefix));

const ciphers = load("ciphers");
for (const v of ciphers.masks) {
  equal("mask", [crypt(v.secret, v.private, "encrypt"), crypt(v.secret, v.public, "decrypt")], [v.public, v.private]);
}

for (const scene of load("grants")) {
  const s = new Stamper(new Layout(scene.layout), Number(scene.lead));
  for (const [i, step] of scene.steps.entries()) {
    if (step.lost) s.seal();
    else if (step.until) s.grant(BigInt(step.node), Number(step.from), Number(step.until));
    else equal(`${scene.name}, step ${i}`, s.next(Number(step.now)), step.id);
  }
}

console.log(`${done} checks, ${failed.length} failed`);
console.log(failed.slice(0, 20).join("\n"));
process.exit(failed.length > 0 || done < 500 ? 1 : 0);
