// Layouts and IDs, as docs/reference/specification.md has them.
import { ensure } from "./errors.js";

const SECOND = 1_000_000_000n;
const UNITS: Record<string, bigint> = {
  ns: 1n, us: 1000n, "µs": 1000n, "μs": 1000n, ms: 1_000_000n, s: SECOND, m: 60n * SECOND, h: 3600n * SECOND,
};
const OTHERS = ["epoch", "tick", "first", "last", "cipher", "order"];

const bwmarrin = "time=41,node=10,seq=12,epoch=2010-11-04T01:42:54.657Z,tick=1ms";
const randflake = "time=30,node=17,seq=17,epoch=2024-10-27T03:33:20Z,tick=1s";
const named = new Map(Object.entries({
  snowfence: "time=41,node=10,seq=12", default: "time=41,node=10,seq=12",
  twitter: bwmarrin.replace("node=10", "datacenter=5,worker=5"), bwmarrin, leaf: bwmarrin,
  sonyflake: "time=39,seq=8,node=16,epoch=2014-09-01,tick=10ms", "sonyflake-v1": "time=39,seq=8,node=16,epoch=2014-09-01,tick=10ms",
  "sonyflake-v2": "time=39,seq=8,node=16,tick=10ms", drift: "time=51,node=6,seq=6,epoch=2020-02-19T18:20:02Z,first=5",
  discord: "time=42,worker=5,process=5,seq=12,epoch=2015-01-01", instagram: "time=41,shard=13,seq=10,epoch=2011-08-24T21:07:01.721Z",
  baidu: "time=28,node=22,seq=13,epoch=2016-05-19T16:00:00Z,tick=1s", randflake: `${randflake},cipher=sparx`,
  "randflake-raw": randflake, rollback: "time=41,node=8,rollback=2,seq=12,epoch=2020-01-01",
}));

/** Numbers of the fields of an ID, by name: `time`, `seq`, parts of the node, … */
export type Fields = Record<string, bigint>;

/** An ID taken apart. */
export interface Parts {
  /** When it was made: the start of its tick, to the millisecond. */
  time: Date;
  tick: bigint;
  node: bigint;
  sequence: bigint;
  fields: Fields;
}

/** A number of the caller for the field `tag`. */
export type Tag = number | bigint;

/** Divides, rounded down. */
export function floorDiv(a: bigint, b: bigint): bigint { return (a - (a % b + b) % b) / b; }

interface Field { name: string; bits: bigint; shift: bigint }

const GOLDEN = 0x9e3779b97f4a7c15n; // 2^64 by the golden ratio: its multiples are even

/** How the bits of an ID are divided. */
export class Layout {
  /** From the highest bit down, with the number of bits below each. */
  readonly fields: Field[] = [];
  /** When tick 0 starts, in nanoseconds since 1970. */
  readonly epoch: bigint;
  /** How long a tick is, in nanoseconds. */
  readonly tick: bigint;
  /** The sequence numbers that generators use. */
  readonly first: number;
  readonly last: number;
  readonly cipher: string;
  /** How many bits all fields have. */
  readonly width: bigint;
  readonly #tag: Field | undefined;

  readonly spec: string;

  /** Reads a name, such as `bwmarrin`, or a spec, such as `time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms`. */
  constructor(text: string) {
    ensure(typeof text === "string", "a layout is a text: a name such as bwmarrin, or a spec");
    const spec = this.spec = named.get(text) ?? text;
    const refuse = (why: string): string => `layout ${JSON.stringify(spec)}: ${why}`;
    const values = new Map<string, string>();
    for (const pair of spec.split(",")) {
      const [, key = "", value] = /^([^=]*)(?:=(.*))?$/s.exec(pair.trim()) ?? [];
      const name = key === "sequence" ? "seq" : key;
      ensure(value !== undefined && !values.has(name), refuse("it is no name, and a key has one value"));
      values.set(name, value);
      if (OTHERS.includes(name)) continue;
      ensure(/^[a-z][a-z0-9-]{0,31}$/.test(name) && /^\d+$/.test(value), refuse(`there is no field ${pair}, and no name but ${[...named.keys()].join(", ")}`));
      if (Number(value) > 0 || name === "time") this.fields.push({ name, bits: BigInt(value), shift: 0n });
    }
    this.#order(values.get("order"), refuse);
    this.width = this.fields.reduce((n, f) => n + f.bits, 0n);
    let shift = this.width;
    for (const f of this.fields) f.shift = shift -= f.bits;
    this.#tag = this.fields.find((f) => f.name === "tag");
    const bits = (name: string): bigint => this.fields.find((f) => f.name === name)?.bits ?? 0n;
    ensure(bits("time") >= 1n && bits("time") <= 62n && bits("seq") <= 53n && bits("rollback") <= 6n &&
      this.width <= 64n, refuse("a field is missing or too wide"));
    const names = this.fields.map((f) => f.name);
    const time = names.indexOf("time");
    ensure(names.indexOf("key") < 1, refuse("key is the first field"));
    ensure(["seq", "rollback"].every((name) => !names.includes(name) || names.indexOf(name) > time), refuse("seq and rollback stand below the time"));
    ensure(names.indexOf("scatter") < time && bits("scatter") <= 12n && bits("scatter") + bits("seq") <= 53n,
      refuse("scatter stands above the time, with at most 12 bits, and 53 together with seq"));
    const top = 2 ** Number(bits("seq")) - 1;
    const number = (name: string, usual: number): number => {
      const text = values.get(name) ?? String(usual);
      return /^\d+$/.test(text) && Number(text) <= top ? Number(text) : -1;
    };
    this.first = number("first", 0);
    this.last = number("last", top);
    ensure(this.first >= 0 && this.first <= this.last && (this.last > 0 || !values.has("last")),
      refuse("first and last are no range of sequence numbers"));
    this.epoch = readEpoch(values.get("epoch") ?? "2025-01-01", refuse);
    this.tick = readTick(values.get("tick") ?? "1ms", refuse);
    this.cipher = values.get("cipher") ?? "";
    ensure(["sparx", "ff1"].includes(this.cipher) || !values.has("cipher"), refuse("there is no such cipher"));
    ensure(!this.cipher || !bits("scatter"), refuse("a cipher needs no scatter"));
    ensure(!bits("key") || this.cipher === "ff1" && bits("key") <= 16n, refuse("key is for ff1"));
    ensure(this.cipher !== "ff1" || this.width - bits("key") >= 20n, refuse("ff1 needs 20 bits"));
  }

  #order(order: string | undefined, refuse: (why: string) => string): void {
    if (order === undefined) return;
    ensure(order === "node-first" || order === "node-last", refuse("order is node-first or node-last"));
    const names = this.fields.map((f) => f.name), tagged = names.indexOf("tag") < names.indexOf("time");
    const rank = (name: string): number => {
      if (name === "key") return -3;
      if (name === "time" || name === "scatter" || name === "tag" && tagged) return -2;
      if (!isNode(name)) return 0;
      return order === "node-last" ? 1 : -1;
    };
    this.fields.sort((a, b) => rank(a.name) - rank(b.name));
  }

  /** The tick of a time in milliseconds since 1970. */
  tickOf(ms: number): number { return Number(floorDiv(BigInt(Math.floor(ms)) * 1_000_000n - this.epoch, this.tick)); }

  /**
   * The scatter value of a turn. A turn is the sequence numbers of one value in a tick.
   *
   * Invariant: two turns of a tick never have one value. So where a tick begins depends on nothing but the node
   * and the tick.
   */
  scatterOf(node: bigint, tick: number, turn: number): bigint {
    const bits = this.fields.find((f) => f.name === "scatter")?.bits ?? 0n;
    const begin = BigInt.asUintN(64, (node * GOLDEN + BigInt(tick)) * GOLDEN) >> 64n - bits;
    return BigInt.asUintN(Number(bits), begin + BigInt(turn));
  }

  /** The field of tags. It refuses a tag that does not fit. */
  tagField(tag: Tag): Field {
    ensure(this.#tag, `the layout ${this.spec} has no field tag: take one that has`);
    ensureFits("tag", tag, this.#tag.bits);
    return this.#tag;
  }

  /** Puts a tag into a plain ID. */
  tag(id: bigint, tag: Tag): bigint {
    const { bits, shift } = this.tagField(tag), raw = this.#raw(id);
    return BigInt.asIntN(64, raw ^ (BigInt.asUintN(Number(bits), raw >> shift) ^ BigInt(tag)) << shift);
  }

  /**
   * The half-open ranges of the plain IDs of a span of time, in nanoseconds since 1970: one for each value above
   * the time.
   */
  ranges(from: bigint, to: bigint, within: Record<string, Tag>): Iterable<[bigint, bigint]> {
    ensure(!this.cipher, "encrypted IDs are in no order: no range of them is a span of time");
    ensure(from <= to, "a span of time does not end before it begins");
    const at = this.fields.findIndex((f) => f.name === "time"), { bits, shift } = this.fields[at]!;
    const above = this.fields.slice(0, at);
    for (const [name, value] of Object.entries(within)) {
      const room = above.find((f) => f.name === name)?.bits;
      ensure(room, `the layout ${this.spec} has no field ${name} above the time`);
      ensureFits(name, value, room);
    }
    const [a, b] = [from, to].map((ns) => { // the first tick that starts then or later
      const tick = -floorDiv(this.epoch - ns, this.tick);
      return (tick < 0n ? 0n : tick >> bits ? 1n << bits : tick) << shift;
    });
    ensure(at > 0 || this.width < 64n || a! >> 63n || b! <= 1n << 63n, "IDs turn negative in this span: ask for the times before and after");
    return a === b ? [] : this.#ranges(above, within, a!, b!);
  }

  *#ranges([field, ...rest]: Field[], within: Record<string, Tag>, low: bigint, high: bigint): Iterable<[bigint, bigint]> {
    if (!field) return yield [BigInt.asIntN(64, low), high === 1n << 63n ? high - 1n : BigInt.asIntN(64, high)];
    const fixed = within[field.name], first = BigInt(fixed ?? 0), last = fixed === undefined ? (1n << field.bits) - 1n : first;
    for (let n = first; n <= last; n++) yield* this.#ranges(rest, within, low + (n << field.shift), high + (n << field.shift));
  }

  /** Puts the numbers of the fields together. Fields that are not named are 0. */
  compose(fields: Fields): bigint {
    let id = 0n;
    for (const f of this.fields) {
      const n = fields[f.name] ?? 0n;
      ensure(n >= 0n && n >> f.bits === 0n, `field ${f.name} has no room for ${n}`);
      id |= n << f.shift;
    }
    return BigInt.asIntN(64, id);
  }

  /** The fields of a node with this number. */
  nodeFields(node: bigint): Fields {
    const out: Fields = {};
    for (const f of [...this.fields].reverse().filter((f) => isNode(f.name))) {
      out[f.name] = BigInt.asUintN(Number(f.bits), node);
      node >>= f.bits;
    }
    ensure(node === 0n, "the layout has no node of that number");
    return out;
  }

  /** Takes a plain ID apart. Those of another layout are `INVALID`. */
  decode(id: bigint): Parts {
    const raw = this.#raw(id);
    const fields: Fields = {};
    let node = 0n;
    for (const f of this.fields) {
      const n = BigInt.asUintN(Number(f.bits), raw >> f.shift);
      fields[f.name] = n;
      if (isNode(f.name)) node = node << f.bits | n;
    }
    const tick = fields["time"]!;
    const ms = floorDiv(this.epoch + tick * this.tick, 1_000_000n);
    const end = BigInt(Date.UTC(9999, 11, 31, 23, 59, 59, 999));
    return { time: new Date(Number(ms < end ? ms : end)), tick, node, sequence: fields["seq"] ?? 0n, fields };
  }

  /** The bits of an ID of this layout. */
  #raw(id: bigint): bigint {
    ensure(typeof id === "bigint" && BigInt.asIntN(64, id) === id, "an ID is a bigint of at most 64 bits");
    const raw = BigInt.asUintN(64, id);
    ensure(raw >> this.width === 0n, `ID ${id} has bits above the layout: it is none of this namespace`);
    return raw;
  }
}

export function isNode(name: string): boolean { return !["time", "seq", "rollback", "key", "scatter", "tag"].includes(name); }

function ensureFits(name: string, n: Tag, bits: bigint): void {
  const fits = (typeof n === "bigint" || Number.isSafeInteger(n)) && n >= 0 && BigInt(n) >> bits === 0n;
  if (!fits) ensure(false, `${name} ${n}: its ${bits} bits hold 0 to ${(1n << bits) - 1n}`);
}

function readEpoch(text: string, refuse: (why: string) => string): bigint {
  const m = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d))?$/.exec(text);
  const day = new Date(m?.[1] + "T00:00Z"); // reads February 30
  ensure(m && !isNaN(+day) && day.toISOString().startsWith(m[1]!), refuse("epoch is no time"));
  const ms = Date.parse(`${m[1]}T${m[2] ?? "00:00:00"}${m[4] ?? "Z"}`);
  ensure(ms >= Date.UTC(1900, 0) && ms < Date.UTC(2201, 0), refuse("epoch lies in the years 1900 to 2200"));
  return BigInt(ms) * 1_000_000n + BigInt((m[3] ?? "").slice(0, 9).padEnd(9, "0"));
}

function readTick(text: string, refuse: (why: string) => string): bigint {
  const parts = [...text.matchAll(/(\d+)(?:\.(\d+))?(ns|us|µs|μs|ms|s|m|h)/g)];
  const ns = parts.reduce((sum, [, whole, part = "", unit]) => sum + BigInt(whole!) * UNITS[unit!]! +
    BigInt(part || 0) * UNITS[unit!]! / 10n ** BigInt(part.length), 0n);
  ensure(ns >= 1000n && parts.map((p) => p[0]).join("") === text, refuse("tick is no duration of 1us or more"));
  return ns;
}
