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

const layouts = load("layouts"), above = load("fields");
for (const v of [...layouts.valid, ...above.valid]) {
  for (const spec of [v.spec, v.canonical]) {
    const l = new Layout(spec);
    equal(spec, l.fields.map((f) => [f.name === "seq" ? "sequence" : f.name, Number(f.bits)]), v.fields);
    equal(spec, [l.epoch, l.tick, String(l.first), String(l.last), l.cipher],
      [v.epoch_unix_ns, v.tick_ns, v.first, v.last, v.cipher]);
  }
}
for (const spec of [...layouts.invalid, ...above.invalid]) refuses(`layout ${spec}`, () => new Layout(spec));

const ids = load("ids");
for (const v of [...ids.ids, ...above.ids]) {
  const l = new Layout(v.layout);
  if (l.cipher === "ff1") continue;
  const { tick: time, sequence: seq, rollback, scatter = 0, tag = 0 } = v, fields = {};
  for (const [name, n] of Object.entries({ time, seq, rollback, scatter, tag })) fields[name] = BigInt(n);
  for (const [name, n] of Object.entries(v.parts)) fields[name] = BigInt(n);
  const raw = l.compose(fields), secret = v.secrets?.at(-1);
  equal(`${v.layout} composed`, [raw, secret ? crypt(secret, raw, "encrypt") : raw], [v.raw ?? raw, v.id]);
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

for (const v of above.tags) {
  const l = new Layout(v.layout), secret = v.secrets?.at(-1);
  if (l.cipher === "ff1") continue;
  const tagged = () => l.tag(secret ? crypt(secret, v.id, "decrypt") : BigInt(v.id), BigInt(v.tag));
  if (v.tagged === undefined) refuses(`${v.layout} tag ${v.tag}`, tagged);
  else equal(`${v.layout} tag ${v.tag}`, secret ? crypt(secret, tagged(), "encrypt") : tagged(), v.tagged);
}
for (const v of above.ranges) {
  const within = Object.fromEntries(Object.entries(v.within ?? {}).map(([name, n]) => [name, BigInt(n)]));
  const have = new Layout(v.layout).ranges(BigInt(v.from_unix_ns), BigInt(v.to_unix_ns), within);
  equal(`${v.layout} ranges`, [...have], v.ranges);
}

for (const scene of [...load("grants"), ...above.grants]) {
  const l = new Layout(scene.layout), s = new Stamper(l, Number(scene.lead));
  for (const [i, step] of scene.steps.entries()) {
    if (step.lost) s.seal();
    else if (step.until) s.grant(BigInt(step.node), Number(step.from), Number(step.until));
    else {
      const id = s.next(Number(step.now));
      equal(`${scene.name}, step ${i}`, id !== undefined && step.tag ? l.tag(id, BigInt(step.tag)) : id, step.id);
    }
  }
}

// A node that was left in a tick and comes back has no ID of that tick twice.
const back = new Stamper(new Layout("scatter=2,time=20,node=4,seq=1"), 0), cells = new Uint32Array(32);
equal("a node left and back", [3n, 4n, 3n].map((node) => (back.grant(node, 0, 9), back.fill(cells, 0, node === 3n ? 16 : 1, 5))), [8, 1, 0]);

// Each ID of a small layout comes once: in order, and ranges find those of a span.
for (const spec of [
  "time=4,node=2,seq=3", "scatter=2,time=4,node=2,seq=3", "scatter=3,time=3,node=2", "scatter=2,time=4",
  "node=1,scatter=2,rack=1,time=3,seq=2", "tag=2,time=3,node=2,seq=2", "time=3,seq=2,node=2,tag=1",
  "scatter=2,tag=1,time=3,seq=2,node=2", "scatter=2,time=3,node=1,seq=3,first=1,last=6", "scatter=1,time=3,seq=3,node=2,first=3,last=5",
]) {
  const l = new Layout(spec), bits = (...names) => l.fields.reduce((n, f) => names.includes(f.name) ? n + f.bits : n, 0n);
  const ticks = 1n << bits("time"), nodes = 1n << l.width - bits("time", "seq", "scatter", "tag"), all = [];
  for (let node = 0n; node < nodes; node++) {
    const s = new Stamper(l, 0), last = {};
    s.grant(node, 0, 1);
    for (let now = 0; now < ticks; now++) {
      if (now % 3 === 1) s.grant(node, now - 1, Number(ticks)); // from changes within a tick
      for (let n = 1, words = new Uint32Array(10), ids = new BigInt64Array(words.buffer); n > 0;) {
        n = s.fill(words, 0, 1 + all.length % 5, now);
        if (now % 3 === 0 && n > 0) s.grant(node, now, Number(ticks));
        for (const id of ids.slice(0, n)) {
          const p = l.decode(id), over = BigInt.asUintN(64, id) >> l.fields.find((f) => f.name === "time").shift + bits("time");
          if (p.tick !== BigInt(now) || p.node !== node || p.fields.tag || id <= last[over]) failed.push(`${spec}: ${id} after ${last[over]}`);
          all.push(last[over] = id);
        }
      }
    }
  }
  const want = ticks * nodes * BigInt(l.last - l.first + 1) << bits("scatter");
  equal(`${spec} once`, [new Set(all).size, all.length], [Number(want), Number(want)]);
  for (let a = 0n; a < ticks; a += 3n) {
    const ranges = [...l.ranges(l.epoch + a * l.tick, l.epoch + (a + 2n) * l.tick, {})];
    const found = all.filter((id) => ranges.some(([low, high]) => low <= id && id < high));
    equal(`${spec} ranges from ${a}`, found, all.filter((id) => l.decode(id).tick >= a && l.decode(id).tick < a + 2n));
  }
}

console.log(`${done} checks, ${failed.length} failed`);
console.log(failed.slice(0, 20).join("\n"));
process.exit(failed.length > 0 || done < 500 ? 1 : 0);
