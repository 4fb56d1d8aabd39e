// Layouts, IDs and their texts by docs/reference/specification.md alone.
import { ff1, sparx } from "./ciphers.js";

export const M64 = (1n << 64n) - 1n;
export const signed = (v: bigint): bigint => BigInt.asIntN(64, v);
const SECOND = 1_000_000_000n;
const UNITS: Record<string, bigint> = {
  ns: 1n, us: 1000n, "µs": 1000n, "μs": 1000n, ms: 1_000_000n, s: SECOND, m: 60n * SECOND, h: 3600n * SECOND,
};

function ensure(ok: unknown, why: string): asserts ok {
  if (!ok) throw new RangeError(why);
}

function epochNs(text: string): bigint {
  const m = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d))?$/.exec(text);
  ensure(m && new Date(m[1] + "T00:00Z").toISOString().startsWith(m[1]!), "epoch"); // Date reads February 30
  const ms = Date.parse(`${m[1]}T${m[2] ?? "00:00:00"}${m[4] ?? "Z"}`);
  ensure(ms >= Date.UTC(1900, 0) && ms < Date.UTC(2201, 0), "epoch");
  return BigInt(ms) * 1_000_000n + BigInt((m[3] ?? "").padEnd(9, "0"));
}

function tickNs(text: string): bigint {
  const parts = [...text.matchAll(/(\d+)(?:\.(\d+))?(ns|us|µs|μs|ms|s|m|h)/g)];
  ensure(parts.length > 0 && parts.map((p) => p[0]).join("") === text, "tick");
  return parts.reduce((sum, [, whole, part = "", unit]) => sum + BigInt(whole!) * UNITS[unit!]! +
    BigInt(part || 0) * UNITS[unit!]! / 10n ** BigInt(part.length), 0n);
}

/** Writes n / unit without zeros at the end. */
const plain = (n: bigint, unit: bigint): string =>
  `${n / unit}.${String(n % unit).padStart(String(unit).length - 1, "0")}`.replace(/\.?0*$/, "");

function tickText(ns: bigint): string {
  for (const name of ["us", "ms"]) if (ns < 1000n * UNITS[name]!) return plain(ns, UNITS[name]!) + name;
  const hours = ns / UNITS["h"]!, minutes = ns / UNITS["m"]! % 60n, rest = plain(ns % UNITS["m"]!, SECOND);
  return (hours ? `${hours}h` : "") + (minutes || hours && rest !== "0" ? `${minutes}m` : "") + (rest === "0" ? "" : `${rest}s`);
}

const isNode = (name: string): boolean => !["time", "seq", "rollback", "key"].includes(name);
export type Parts = Record<string, bigint>;

export class Layout {
  readonly fields: { name: string; bits: bigint; shift: bigint }[] = [];
  readonly width: bigint;
  readonly key: bigint;
  readonly epoch: bigint;
  readonly tick: bigint;
  readonly first: bigint;
  readonly last: bigint;
  readonly cipher: string;
  private readonly top: bigint;

  constructor(spec: string) {
    const seen = new Map<string, string>();
    for (const pair of spec.split(",")) {
      const [, name, value] = /^([^=]*)(?:=(.*))?$/s.exec(pair.trim())!;
      const key = name === "sequence" ? "seq" : name!;
      ensure(value !== undefined && !seen.has(key), "not one value");
      seen.set(key, value);
      if (["epoch", "tick", "first", "last", "cipher", "order"].includes(key)) continue;
      ensure(/^[a-z][a-z0-9-]{0,31}$/.test(key) && /^\d+$/.test(value), "field");
      if (Number(value) > 0 || key === "time") this.fields.push({ name: key, bits: BigInt(value), shift: 0n });
    }
    const order = seen.get("order");
    if (order !== undefined) {
      ensure(order === "node-first" || order === "node-last", "order");
      const rank = (name: string) => name === "key" ? -3 : name === "time" ? -2 : !isNode(name) ? 0 : order === "node-last" ? 1 : -1;
      this.fields.sort((a, b) => rank(a.name) - rank(b.name));
    }
    this.width = this.fields.reduce((n, f) => n + f.bits, 0n);
    let shift = this.width;
    for (const f of this.fields) f.shift = shift -= f.bits;
    this.key = this.bits("key");
    this.top = (1n << this.bits("seq")) - 1n;
    const number = (text: string): bigint => /^\d+$/.test(text) ? BigInt(text) : -1n;
    this.first = number(seen.get("first") ?? "0");
    this.last = number(seen.get("last") ?? String(this.top));
    this.epoch = epochNs(seen.get("epoch") ?? "2025-01-01");
    this.tick = tickNs(seen.get("tick") ?? "1ms");
    this.cipher = seen.get("cipher") ?? "";
    const names = this.fields.map((f) => f.name);
    ensure(names.indexOf("time") === (this.key ? 1 : 0) && names.indexOf("key") < 1, "time and key come first");
    ensure(this.bits("time") >= 1n && this.bits("time") <= 62n && this.bits("seq") <= 53n && this.bits("rollback") <= 6n, "too wide");
    ensure(this.width <= 64n && this.tick >= 1000n, "range");
    ensure(this.first >= 0n && this.first <= this.last && this.last <= this.top && (this.last > 0n || !seen.has("last")), "first, last");
    ensure(["sparx", "ff1"].includes(this.cipher) || !seen.has("cipher"), "cipher");
    ensure(!this.key || this.cipher === "ff1" && this.key <= 16n, "key");
    ensure(this.cipher !== "ff1" || this.width - this.key >= 20n, "ff1 needs 20 bits");
  }

  bits(name: string): bigint { return this.fields.find((f) => f.name === name)?.bits ?? 0n; }

  toString(): string {
    const out = this.fields.map((f) => `${f.name}=${f.bits}`);
    const ns = (this.epoch % SECOND + SECOND) % SECOND;
    const date = new Date(Number((this.epoch - ns) / 1_000_000n)).toISOString().slice(0, 19);
    out.push(`epoch=${date}${plain(ns, SECOND).slice(1)}Z`, `tick=${tickText(this.tick)}`);
    if (this.first) out.push(`first=${this.first}`);
    if (this.last !== this.top) out.push(`last=${this.last}`);
    if (this.cipher) out.push(`cipher=${this.cipher}`);
    return out.join(",");
  }

  compose(parts: Parts, secrets: string[] = []): { raw: bigint; id: bigint } {
    let v = 0n;
    for (const f of this.fields) {
      const n = f.name === "key" ? BigInt(secrets.length - 1) : parts[f.name] ?? 0n;
      ensure(n >= 0n && n >> f.bits === 0n, f.name);
      v |= n << f.shift;
    }
    return { raw: signed(v), id: signed(this.crypt(v, secrets, secrets.length - 1, true)) };
  }

  decode(id: bigint, secrets: string[] = []): Parts {
    let v = id & M64;
    ensure(this.cipher === "sparx" || v >> this.width === 0n, "bits above the layout");
    v = this.crypt(v, secrets, this.key ? Number(v >> this.width - this.key) : 0, false);
    ensure(v >> this.width === 0n, "bits above the layout");
    return Object.fromEntries(this.fields.map((f) => [f.name, v >> f.shift & (1n << f.bits) - 1n]));
  }

  crypt(v: bigint, secrets: string[], key: number, encrypt: boolean): bigint {
    if (!this.cipher) return v;
    ensure(secrets[key], "no secret of this number");
    const secret = Buffer.from(secrets[key], "hex");
    const swap = (x: bigint): bigint => BigInt("0x" + Buffer.from(x.toString(16).padStart(16, "0"), "hex").reverse().toString("hex"));
    if (this.cipher === "sparx") return swap(sparx(secret, swap(v), encrypt));
    const n = this.width - this.key;
    return v >> n << n | ff1(secret, Number(n), `snowfence id ${key}`, v & (1n << n) - 1n, encrypt);
  }
}
