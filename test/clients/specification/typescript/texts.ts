// The texts of IDs by docs/reference/specification.md alone.
import { M64, signed } from "./snowfence.js";

function ensure(ok: unknown, why: string): asserts ok {
  if (!ok) throw new RangeError(why);
}

const DIGITS = "0123456789", LOWER = "abcdefghijklmnopqrstuvwxyz", UPPER = LOWER.toUpperCase();
const CROCKFORD = DIGITS + UPPER.replace(/[ILOU]/g, "");
const UPPER58 = UPPER.replace(/[IO]/g, ""), LOWER58 = LOWER.replace("l", "");
const ALPHABETS: Record<string, string> = {
  dec: DIGITS, hex: DIGITS + "abcdef", base32hex: DIGITS + LOWER.slice(0, 22), crockford: CROCKFORD, crockfordcheck: CROCKFORD,
  zbase32: "ybndrfg8ejkmcpqxot1uwisza345h769", base36: DIGITS + LOWER, base58: DIGITS.slice(1) + UPPER58 + LOWER58,
  base58flickr: DIGITS.slice(1) + LOWER58 + UPPER58, base62: DIGITS + UPPER + LOWER, base64url: UPPER + LOWER + DIGITS + "-_",
};
const baseOf = (name: string): string => name.replace(/-fixed$/, "");
const alphabet = (name: string): string => {
  const abc = ALPHABETS[baseOf(name)]!;
  return name === baseOf(name) ? abc : [...abc].sort().join("");
};

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

export function write(name: string, id: bigint): string {
  const abc = alphabet(name), base = baseOf(name);
  const end = (text: string): string => base === "crockfordcheck" ? text + check(text) : text;
  if (base !== name) {
    const sign = id < 0n ? "-" : abc[0] === "-" ? "0" : abc[0]!;
    return end(sign + digits(id & M64 >> 1n, abc, digits(M64 >> 1n, abc).length));
  }
  if (name === "dec") return String(id);
  return name === "base64url" ? digits((id & M64) << 2n, abc, 11) : end(digits(id & M64, abc));
}

export function read(name: string, text: string): bigint {
  const abc = alphabet(name), base = baseOf(name), fixed = base !== name;
  ensure(/^[ -~]*$/.test(text), "not ASCII");
  if (["hex", "base32hex", "zbase32", "base36"].includes(base)) text = text.toLowerCase();
  if (base.startsWith("crockford")) text = text.toUpperCase().replace(/O/g, "0").replace(/[IL]/g, "1");
  const longest = name === "dec" ? 20 : write(name, -1n).length;
  ensure(fixed || name === "base64url" ? text.length === longest : text.length > 0 && text.length <= longest, "length");
  let body = base === "crockfordcheck" ? text.slice(0, -1) : text, sign = "";
  if (fixed || name === "dec" && body[0] === "-") {
    sign = body[0]!;
    body = body.slice(1);
    ensure(sign === "-" || sign === write(name, 0n)[0], "sign");
    ensure(fixed || body[0] !== "0", "a zero after the sign");
  }
  ensure(body !== "" && [...body].every((c) => abc.includes(c)), "digits");
  ensure(base !== "crockfordcheck" || check(text.slice(0, -1)) === text.at(-1), "check character");
  const v = [...body].reduce((sum, c) => sum * BigInt(abc.length) + BigInt(abc.indexOf(c)), 0n);
  if (fixed) {
    ensure(v >> 63n === 0n, "range");
    return v - (sign === "-" ? 1n << 63n : 0n);
  }
  if (name === "dec") {
    const n = sign ? -v : v;
    ensure(BigInt.asIntN(64, n) === n, "range");
    return n;
  }
  ensure(name !== "base64url" || (v & 3n) === 0n, "bits beyond the 64");
  const u = name === "base64url" ? v >> 2n : v;
  ensure(u <= M64, "range");
  return signed(u);
}

export const isPrefix = (name: string): boolean => /^[a-z]([a-z0-9_]{0,61}[a-z0-9])?$/.test(name);

export function readPrefixed(prefix: string, name: string, text: string): bigint {
  ensure(isPrefix(prefix) && text.startsWith(prefix + "_"), "prefix");
  return read(name, text.slice(prefix.length + 1));
}
