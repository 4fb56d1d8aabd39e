import { ensure } from "./errors.js";
import { type Layout } from "./layout.js";

/** Where the low word of a 64-bit number stands in memory: 0, or 1 where the high one is first. */
export const LOW = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;

/**
 * Stamps the ticks of grants: the function `next` of docs/reference/specification.md. It knows no
 * clock, no server and no cipher.
 *
 * Invariant: a tick and sequence number of a node become an ID at most once with each scatter value, in
 * this life of the stamper, and only with `from` ≤ tick < `until` of the grant. So tick, turn and sequence
 * number only rise, and the last tick of each node is kept for ever, over losses and other nodes.
 */
export class Stamper {
  readonly #ticks = new Map<bigint, number>(); // the last tick of each former node
  readonly #cell = new BigInt64Array(1);
  readonly #words = new Uint32Array(this.#cell.buffer);
  readonly #last: number; // turn of a tick
  readonly #step: readonly [number, number]; // from one sequence number to the next: low word, high word
  #node = -1n;
  #from = 0;
  #until = 0;
  #tick = -1;
  #turn = 0; // of the tick: one for each scatter value
  #seq: number;
  #low = 0; // of the last ID
  #high = 0;

  /** @param lead how many ticks IDs may run ahead of the clock */
  constructor(readonly layout: Layout, readonly lead: number) {
    this.#seq = layout.last;
    this.#last = 2 ** Number(layout.fields.find((f) => f.name === "scatter")?.bits ?? 0) - 1;
    const shift = layout.fields.find((f) => f.name === "seq")?.shift ?? 0n;
    this.#step = [Number(BigInt.asUintN(32, 1n << shift)), Number(1n << shift >> 32n)];
  }

  /** Takes a grant in place of the one before. A renewal is a grant of the same node. */
  grant(node: bigint, from: number, until: number): void {
    ensure(Number.isSafeInteger(from) && Number.isSafeInteger(until) && from >= 0, "ticks beyond 2^53 are not supported");
    this.layout.compose({ ...this.layout.nodeFields(node), time: BigInt(Math.max(until - 1, 0)) }); // an error if it does not fit
    if (node !== this.#node) {
      this.#ticks.set(this.#node, this.#tick);
      this.#tick = this.#ticks.get(node) ?? -1;
    }
    if (node !== this.#node || from > this.#tick) [this.#turn, this.#seq] = [this.#last, this.layout.last]; // begin with a later tick
    this.#node = node;
    this.#from = from;
    this.#until = until;
  }

  /** Ends the grant: not one ID more, until there is another. */
  seal(): void { this.#until = 0; }

  /** Whether there is a grant. */
  get granted(): boolean { return this.#until > 0; }

  /** The last tick that was stamped with a node; -1 if none was. */
  last(node: bigint): number { return node === this.#node ? this.#tick : this.#ticks.get(node) ?? -1; }

  /** Whether the clock has come to the end of the grant. */
  over(now: number): boolean { return Math.max(now, this.#from) >= this.#until; }

  /** Makes one ID. It is undefined if there is none yet. */
  next(now: number): bigint | undefined { return this.fill(this.#words, 0, 1, now) ? this.#cell[0] : undefined; }

  /**
   * Makes up to n IDs at the tick `now` of the clock, as pairs of words from index `at` on. It returns
   * how many.
   */
  fill(words: Uint32Array, at: number, n: number, now: number): number {
    const { last } = this.layout, [low, high] = this.#step;
    let made = 0;
    while (made < n) {
      if (!(this.#seq < last && this.#tick >= now && this.#tick < this.#until && this.#tick <= now + this.lead)) {
        if (!this.#advance(now)) break;
      } else {
        this.#seq++;
        this.#low += low;
        this.#high += high;
        if (this.#low >= 2 ** 32) {
          this.#low -= 2 ** 32;
          this.#high++;
        }
      }
      words[at + 2 * made + LOW] = this.#low;
      words[at + 2 * made + 1 - LOW] = this.#high;
      made++;
    }
    return made;
  }

  /** Goes to the first number of the next turn or of a later tick, if it may be stamped. */
  #advance(now: number): boolean {
    const { first, last } = this.layout;
    let tick = this.#seq < last || this.#turn < this.#last ? this.#tick : this.#tick + 1;
    tick = Math.max(tick, now, this.#from);
    if (tick >= this.#until || tick > now + this.lead) return false;
    this.#turn = tick === this.#tick ? this.#turn + 1 : 0;
    this.#tick = tick;
    this.#seq = first;
    const id = this.layout.compose({
      ...this.layout.nodeFields(this.#node), time: BigInt(tick), seq: BigInt(first),
      scatter: this.layout.scatterOf(this.#node, tick, this.#turn),
    });
    this.#low = Number(BigInt.asUintN(32, id));
    this.#high = Number(BigInt.asUintN(32, id >> 32n));
    return true;
  }
}
