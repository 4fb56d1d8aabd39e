/**
 * A generator for tests of programs that make IDs. It needs no server, and waits for nothing.
 *
 *     import { Kit } from "snowfence/testing";
 *
 *     const kit = new Kit(1);
 *     const order = kit.next();
 *
 * @module
 */
import { SnowfenceError, ensure } from "./errors.js";
import { Generator, ensureCount } from "./generator.js";
import { Layout, floorDiv, isNode } from "./layout.js";
import { Servers } from "./servers.js";
import { Stamper } from "./stamper.js";

const ttl = 15_000, patience = 5000; // milliseconds

/**
 * A generator whose clock the test moves. Kits of one seed make the same IDs, those of other seeds other
 * ones. Where a generator would wait for the next tick, the clock moves instead.
 */
export class Kit extends Generator {
  readonly #layout: Layout;
  readonly #stamper: Stamper;
  readonly #node: bigint;
  #clock: number; // milliseconds since 1970
  #from = 0;
  #until = 0;
  #renewed = NaN; // the time of the last grant
  #lost = false;
  #cut = false;
  #still = false;
  #ended = false;

  constructor(seed = 1, layout = "snowfence") {
    super(new Servers("http://kit.invalid"), {});
    ensure(Number.isSafeInteger(seed) && seed >= 0, "seed is a number from 0 up");
    this.#layout = new Layout(layout);
    ensure(!this.known.cipher, "a kit makes plain IDs: give another layout");
    this.#stamper = new Stamper(this.known, 0);
    const nodes = this.known.fields.reduce((n, f) => isNode(f.name) ? n << f.bits : n, 1n);
    this.#node = BigInt(seed) % nodes;
    const day = Number(BigInt(seed) / nodes % 10_000n);
    this.#clock = Math.max(Date.UTC(2026, 0), Number(this.known.epoch / 1_000_000n)) + day * 86_400_000;
  }

  /** The time of the clock, for the code under test. */
  get now(): Date { return new Date(this.#clock); }

  protected override get known(): Layout { return this.#layout; }

  override next(): bigint { return this.#make(1)[0]!; }

  override async take(n: number): Promise<bigint[]> {
    ensureCount(n);
    return Array.from(this.#make(n));
  }

  override async close(): Promise<void> { this.#ended = true; }

  /** Lets milliseconds pass. It ends `sequenceFull`. */
  advance(ms: number): void {
    ensure(typeof ms === "number" && ms >= 0, "ms is from 0 up: step sets the clock back");
    this.#still = false;
    this.#clock += ms;
  }

  /** Sets the clock ahead or back by milliseconds. More than 5 s back, there are no IDs until it catches up. */
  step(ms: number): void {
    ensure(Number.isFinite(ms), "ms is a number of milliseconds");
    this.#clock += ms;
  }

  /** Takes the node away: `FENCED` until `restore`. */
  loseLease(): void {
    this.#lost = true;
    this.#stamper.seal();
  }

  /** Stops renewals: IDs for up to 15 s of the clock, then `FENCED`, until `restore`. */
  storeUnreachable(): void {
    this.#renew();
    this.#cut = true;
  }

  /** Uses up all numbers and stops the clock: `EXHAUSTED`, until `advance` or `restore`. */
  sequenceFull(): void {
    this.#still = true;
    this.#renew();
    for (const some = new Uint32Array(8192), now = this.known.tickOf(this.#clock); this.#stamper.fill(some, 0, 4096, now) > 0;);
  }

  /** Ends all faults. Later IDs have later ticks. */
  restore(): void { this.#lost = this.#cut = this.#still = false; }

  #renew(): void {
    if (this.#lost || this.#cut || this.#stamper.granted && this.#renewed === this.#clock) return;
    this.#renewed = this.#clock;
    const now = this.known.tickOf(this.#clock);
    if (!this.#stamper.granted) this.#from = Math.max(now, this.#stamper.last(this.#node) + 1);
    this.#until = Math.max(this.known.tickOf(this.#clock + ttl) + 1, this.#from + 1, this.#until);
    this.#stamper.grant(this.#node, this.#from, this.#until);
  }

  #make(n: number): BigInt64Array {
    const ids = new BigInt64Array(n), start = this.#clock;
    for (let made = 0, words = new Uint32Array(ids.buffer); ; ) {
      if (this.#ended) throw new SnowfenceError("CLOSED", "the generator was closed");
      this.#renew();
      const now = this.known.tickOf(this.#clock), more = this.#stamper.fill(words, 0, n - made, now);
      made += more;
      words = words.subarray(2 * more);
      if (made === n) return ids;
      if (more > 0) continue;
      const last = this.#stamper.last(this.#node);
      if (!this.#stamper.granted || this.#stamper.over(Math.max(now, last))) {
        throw new SnowfenceError("FENCED", `no node is held now, as the test wants it: ${this.#lost ? "it was lost" : "no server answers"}`);
      }
      const begins = Number(floorDiv(this.known.epoch + BigInt(last) * this.known.tick, 1_000_000n));
      if (this.#still || begins - start > patience) throw new SnowfenceError("EXHAUSTED", "the IDs up to now are used up");
      this.#clock = Math.max(this.#clock + 1, begins);
    }
  }
}
