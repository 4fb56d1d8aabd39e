// The texts of IDs, as docs/reference/specification.md has them.
import { ensure } from "./errors.js";

const DIGITS = "0123456789", LOWER = "abcdefghijklmnopqrstuvwxyz", UPPER = LOWER.toUpperCase();
const CROCKFORD = DIGITS + UPPER.replace(/[ILOU]/g, "");
const UPPER58 = UPPER.replace(/[IO]/g, ""), LOWER58 = LOWER.replace("l", "");
const ALPHABETS = {
  dec: DIGITS, hex: DIGITS + "abcdef", base32hex: DIGITS + LOWER.slice(0, 22), crockford: CROCKFORD, crockfordcheck: CROCKFORD,
  zbase32: "ybndrfg8ejkmcpqxot1uwisza345h769", base36: DIGITS + LOWER, base58: DIGITS.slice(1) + UPPER58 + LOWER58,
  base58flickr: DIGITS.slice(1) + LOWER58 + UPPER58, base62: DIGITS + UPPER + LOWER, base64url: UPPER + LOWER + DIGITS + "-_",
};

/** How an ID is written. Those with `-fixed` have one length, and the order of the IDs. */
export type Encoding = keyof typeof ALPHABETS | `${keyof typeof ALPHABETS}-fixed`;

const MAX = (1n << 63n) - 1n;

/** The name without -fixed, and the digits. */
function read(encoding: Encoding): { base: keyof typeof ALPHABETS; fixed: boolean; abc: string } {
  const base = String(encoding).replace(/-fixed$/, "") as keyof typeof ALPHABETS, abc = ALPHABETS[base];
  ensure(Object.hasOwn(ALPHABETS, base), `there is no encoding ${encoding}: ${Object.keys(ALPHABETS).join(", ")}`);
  const fixed = base !== encoding;
  return { base, fixed, abc: fixed ? [...abc].sort().join("") : abc };
}

function digits(v: bigint, abc: string, width = 1): string {
  let out = "";
  for (; v > 0n || out.length < width; v /= BigInt(abc.length)) out = abc[Number(v % BigInt(abc.length))] + out;
  return out;
}

function check(text: string): string {
  let sum = 0;
  for (const c of text) {
    sum = (sum ^ (c === "-" ? 1 : CROCKFORD.indexOf(c))) << 1;
    if (sum > 31) sum ^= 37;
  }
  return CROCKFORD[sum]!;
}

/** Writes an ID as text, such as `format(id, "base58")`. */
export function format(id: bigint, encoding: Encoding = "dec"): string {
  ensure(typeof id === "bigint" && BigInt.asIntN(64, id) === id, "an ID is a bigint of at most 64 bits");
  const { base, fixed, abc } = read(encoding), u = BigInt.asUintN(64, id);
  const end = (text: string): string => base === "crockfordcheck" ? text + check(text) : text;
  if (fixed) {
    const sign = id < 0n ? "-" : abc[0] === "-" ? "0" : abc[0]!;
    return end(sign + digits(u & MAX, abc, digits(MAX, abc).length));
  }
  if (base === "dec") return String(id);
  return base === "base64url" ? digits(u << 2n, abc, 11) : end(digits(u, abc));
}

/** Reads the text of an ID. Any other text is `INVALID`. */
export function parse(text: string, encoding: Encoding = "dec"): bigint {
  const { base, fixed, abc } = read(encoding), no = `"${text}" is no ID in ${encoding}`;
  ensure(typeof text === "string" && /^[ -~]*$/.test(text), no);
  if (["hex", "base32hex", "zbase32", "base36"].includes(base)) text = text.toLowerCase();
  if (base.startsWith("crockford")) text = text.toUpperCase().replace(/O/g, "0").replace(/[IL]/g, "1");
  const longest = encoding === "dec" ? 20 : format(-1n, encoding).length;
  ensure(fixed || base === "base64url" ? text.length === longest : text.length > 0 && text.length <= longest, no);
  let body = base === "crockfordcheck" ? text.slice(0, -1) : text, negative = false;
  if (fixed || base === "dec" && body[0] === "-") {
    negative = body[0] === "-" && format(0n, encoding)[0] !== "-";
    ensure(negative || body[0] === format(0n, encoding)[0], no);
    body = body.slice(1);
    ensure(fixed || body[0] !== "0", no);
  }
  ensure(body !== "" && [...body].every((c) => abc.includes(c)), no);
  ensure(base !== "crockfordcheck" || check(text.slice(0, -1)) === text.at(-1), `${no}: its check character is wrong`);
  const v = [...body].reduce((sum, c) => sum * BigInt(abc.length) + BigInt(abc.indexOf(c)), 0n);
  if (fixed) {
    ensure(v <= MAX, no);
    return negative ? v - MAX - 1n : v;
  }
  if (base === "dec") {
    const n = negative ? -v : v;
    ensure(BigInt.asIntN(64, n) === n, no);
    return n;
  }
  const u = base === "base64url" ? v >> 2n : v;
  ensure((base !== "base64url" || (v & 3n) === 0n) && BigInt.asUintN(64, u) === u, no);
  return BigInt.asIntN(64, u);
}

/** The text of an ID that says what it names, such as `ord_3vgoe12ccb8gh`. */
export type Prefixed<Name extends string> = `${Name}_${string}`;

/** The form of the IDs of one kind: `new Prefix("ord")` writes `ord_3vgoe12ccb8gh`. */
export class Prefix<Name extends string> {
  constructor(readonly name: Name, readonly encoding: Encoding = "base32hex") {
    ensure(typeof name === "string" && /^[a-z]([a-z0-9_]{0,61}[a-z0-9])?$/.test(name),
      `prefix ${JSON.stringify(name)}: it has 1 to 63 of a-z, 0-9 and _, begins with a letter and does not end with _`);
    read(encoding);
  }

  format(id: bigint): Prefixed<Name> { return `${this.name}_${format(id, this.encoding)}`; }

  /** Reads a text with this prefix. Any other is `INVALID`. */
  parse(text: string): bigint {
    ensure(this.is(text), `"${text}" does not begin with ${this.name}_`);
    return parse(text.slice(this.name.length + 1), this.encoding);
  }

  /** Whether a text has this prefix. */
  is(text: string): text is Prefixed<Name> { return String(text).startsWith(`${this.name}_`); }
}
