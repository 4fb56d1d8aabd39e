// SPARX-64/128 (Dinu, Perrin, Udovenko, Velichkov, Großschädl, Biryukov: "Design Strategies for ARX
// with Provable Bounds", 2016), as docs/reference/specification.md has it.
import { ensure } from "./errors.js";

const word = (x: number): number => x & 0xffff;
const rotl = (x: number, n: number): number => word(x << n | x >>> 16 - n);
const swap = (x: number): number => rotl(x, 8);

/** The cipher of one secret, for IDs as two words of 32 bits. */
export class Sparx {
  readonly #keys = new Uint16Array(100);

  /** @param secret 32 hexadecimal digits */
  constructor(secret: string) {
    ensure(/^[0-9a-f]{32}$/i.test(secret), "a secret is 32 hexadecimal digits");
    let k = Array.from({ length: 8 }, (_, i) => parseInt(secret.slice(4 * i, 4 * i + 4), 16));
    for (let i = 0; i < 16; i++) {
      this.#keys.set(k.slice(0, 6), 6 * i);
      k[0] = word(rotl(k[0]!, 9) + k[1]!);
      k[1] = rotl(k[1]!, 2) ^ k[0];
      k[2] = word(k[2]! + k[0]);
      k[3] = word(k[3]! + k[1]);
      k[7] = word(k[7]! + i + 1);
      k = [...k.slice(6), ...k.slice(0, 6)];
    }
    this.#keys.set(k.slice(0, 4), 96);
  }

  /** Encrypts IDs in place. Each is two words of 32 bits, the low one at `low`, 0 or 1. */
  encrypt(ids: Uint32Array, low: number): void {
    const k = this.#keys;
    for (let at = 0; at < ids.length; at += 2) {
      const lower = ids[at + low]!, upper = ids[at + 1 - low]!;
      // The block has the lowest byte first, and its words the highest.
      let a = swap(word(lower)), b = swap(lower >>> 16), c = swap(word(upper)), d = swap(upper >>> 16);
      for (let i = 0; i < 96; i += 12) {
        for (let j = i; j < i + 6; j += 2) {
          a ^= k[j]!;
          a = word(rotl(a, 9) + (b ^ k[j + 1]!));
          b = rotl(b ^ k[j + 1]!, 2) ^ a;
          c ^= k[j + 6]!;
          c = word(rotl(c, 9) + (d ^ k[j + 7]!));
          d = rotl(d ^ k[j + 7]!, 2) ^ c;
        }
        const t = rotl(a ^ b, 8), e = a, f = b;
        a = c ^ a ^ t;
        b = d ^ b ^ t;
        c = e;
        d = f;
      }
      ids[at + low] = swap(a ^ k[96]!) | swap(b ^ k[97]!) << 16;
      ids[at + 1 - low] = swap(c ^ k[98]!) | swap(d ^ k[99]!) << 16;
    }
  }

  /** Decrypts IDs in place. */
  decrypt(ids: Uint32Array, low: number): void {
    const k = this.#keys;
    for (let at = 0; at < ids.length; at += 2) {
      const lower = ids[at + low]!, upper = ids[at + 1 - low]!;
      let a = swap(word(lower)) ^ k[96]!, b = swap(lower >>> 16) ^ k[97]!;
      let c = swap(word(upper)) ^ k[98]!, d = swap(upper >>> 16) ^ k[99]!;
      for (let i = 84; i >= 0; i -= 12) {
        const t = rotl(c ^ d, 8), e = a ^ c ^ t, f = b ^ d ^ t;
        a = c;
        b = d;
        c = e;
        d = f;
        for (let j = i + 4; j >= i; j -= 2) {
          b = rotl(b ^ a, 14);
          a = rotl(word(a - b), 7) ^ k[j]!;
          b ^= k[j + 1]!;
          d = rotl(d ^ c, 14);
          c = rotl(word(c - d), 7) ^ k[j + 6]!;
          d ^= k[j + 7]!;
        }
      }
      ids[at + low] = swap(a) | swap(b) << 16;
      ids[at + 1 - low] = swap(c) | swap(d) << 16;
    }
  }
}
