// FF1 over AES-128, SPARX-64/128 and the ID of a secret by docs/reference/specification.md alone.
import { createCipheriv, createHash } from "node:crypto";

export const secretID = (secret: Uint8Array): string =>
  createHash("sha256").update("snowfence key id\0").update(secret).digest("hex").slice(0, 8);

export function aes(key: Uint8Array, block: Uint8Array): Buffer {
  const c = createCipheriv("aes-128-ecb", key, null);
  c.setAutoPadding(false);
  return c.update(block);
}

// SPARX-64/128

const word = (x: number): number => x & 0xffff;
const rotl = (x: number, n: number): number => word(x << n | x >> 16 - n);

function round(l: number, r: number): [number, number] {
  l = word(rotl(l, 9) + r);
  return [l, rotl(r, 2) ^ l];
}

function unround(l: number, r: number): [number, number] {
  r = rotl(r ^ l, 14);
  return [rotl(word(l - r), 7), r];
}

function sparxKeys(key: Uint8Array): number[] {
  let k = Array.from({ length: 8 }, (_, i) => key[2 * i]! << 8 | key[2 * i + 1]!);
  const out: number[] = [];
  for (let i = 1; i <= 16; i++) {
    out.push(...k.slice(0, 6));
    [k[0], k[1]] = round(k[0]!, k[1]!);
    k[2] = word(k[2]! + k[0]!);
    k[3] = word(k[3]! + k[1]!);
    k[7] = word(k[7]! + i);
    k = [...k.slice(6), ...k.slice(0, 6)];
  }
  return [...out, ...k.slice(0, 4)];
}

/** Encrypts or decrypts a block of 8 bytes, given as a number, the first byte highest. */
export function sparx(key: Uint8Array, block: bigint, encrypt: boolean): bigint {
  const k = sparxKeys(key);
  let x = [48n, 32n, 16n, 0n].map((s) => Number(block >> s & 0xffffn)) as [number, number, number, number];
  const whiten = (): void => { for (let i = 0; i < 4; i++) x[i]! ^= k[96 + i]!; };
  if (!encrypt) whiten();
  for (let n = 0; n < 8; n++) {
    const step = encrypt ? n : 7 - n;
    if (!encrypt) {
      const t = rotl(x[2] ^ x[3], 8);
      x = [x[2], x[3], x[0] ^ x[2] ^ t, x[1] ^ x[3] ^ t];
    }
    for (const b of [0, 2]) {
      for (let r = 0; r < 3; r++) {
        const at = 12 * step + 3 * b + 2 * (encrypt ? r : 2 - r);
        if (encrypt) {
          [x[b], x[b + 1]] = round(x[b]! ^ k[at]!, x[b + 1]! ^ k[at + 1]!);
        } else {
          const [l, m] = unround(x[b]!, x[b + 1]!);
          [x[b], x[b + 1]] = [l ^ k[at]!, m ^ k[at + 1]!];
        }
      }
    }
    if (encrypt) {
      const t = rotl(x[0] ^ x[1], 8);
      x = [x[2] ^ x[0] ^ t, x[3] ^ x[1] ^ t, x[0], x[1]];
    }
  }
  if (encrypt) whiten();
  return x.reduce((v, w) => v << 16n | BigInt(w), 0n);
}

// FF1: NIST SP 800-38G, radix 2

const bytes = (v: bigint, n: number): number[] => [...Buffer.from(v.toString(16).padStart(2 * n, "0"), "hex")];

export function ff1(key: Uint8Array, n: number, tweak: string, x: bigint, encrypt: boolean): bigint {
  const u = n >> 1, v = n - u, b = v + 7 >> 3, t = [...Buffer.from(tweak)];
  const head = [1, 2, 1, 0, 0, 2, 10, u, ...bytes(BigInt(n), 4), ...bytes(BigInt(t.length), 4), ...t];
  while ((head.length + 1 + b) % 16 > 0) head.push(0);
  const prf = (i: number, half: bigint): bigint => {
    const text = [...head, i, ...bytes(half, b)];
    let chain = Buffer.from(new Array<number>(16).fill(0));
    for (let at = 0; at < text.length; at += 16) chain = aes(key, chain.map((c, j) => c ^ text[at + j]!));
    return BigInt("0x" + chain.toString("hex").slice(0, 16));
  };
  let left = x >> BigInt(v), right = x & (1n << BigInt(v)) - 1n;
  for (let j = 0; j < 10; j++) {
    const i = encrypt ? j : 9 - j, m = i % 2 === 0 ? u : v;
    if (encrypt) [left, right] = [right, BigInt.asUintN(m, left + prf(i, right))];
    else [left, right] = [BigInt.asUintN(m, right - prf(i, left)), left];
  }
  return left << BigInt(v) | right;
}
