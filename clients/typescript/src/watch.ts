import { real } from "./real.js";

/**
 * Notices that the process stood still: the machine was suspended or paused, or restored from a
 * snapshot. A copy of the process may then be at work with the same lease.
 */
export class Watch {
  #wall = 0;
  #steady = 0;
  #timer: unknown;
  #limit = Infinity; // milliseconds

  /** @param stood is called at the first look after the process stood still */
  constructor(private readonly stood: () => void) {}

  /** Looks from now on, also while nobody makes IDs. */
  begin(limit: number): void {
    if (limit === this.#limit) return;
    if (this.#limit === Infinity) { // nothing was held until now
      this.#wall = real.wall();
      this.#steady = real.steady();
    }
    this.#limit = limit;
    real.cancel(this.#timer);
    this.#timer = real.every(() => this.#beat(), limit / 4);
    unref(this.#timer);
  }

  end(): void { real.cancel(this.#timer); }

  /**
   * Looks at the clock, and returns its time in milliseconds. The wall clock goes on while a machine
   * sleeps, where most steady clocks do not.
   */
  look(): number {
    const wall = real.wall(), before = this.#wall;
    this.#wall = wall;
    if (wall - before >= this.#limit) {
      this.#steady = real.steady(); // once is enough
      this.stood();
    }
    return wall;
  }

  /** Looks at both clocks: the wall clock may have been set back meanwhile. */
  #beat(): void {
    this.look();
    const steady = real.steady(), before = this.#steady;
    this.#steady = steady;
    if (steady - before >= this.#limit) this.stood();
  }
}

/** Lets a process of Node.js end before a timer. */
export function unref(timer: unknown): void { (timer as { unref?(): void }).unref?.(); }
