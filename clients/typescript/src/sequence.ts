import { SnowfenceError, ensure, only } from "./errors.js";
import { type Answer, Servers } from "./servers.js";

/** How a sequence is opened. */
export interface SequenceOptions {
  /** Of the server, with the verbs `ids` and `read`. */
  token?: string;
  /**
   * How many numbers are asked for at once, 1 to 1,000,000; 1 without it. Those that are left when the
   * program ends are a gap, so it is for fast sequences.
   */
  ahead?: number;
}

/**
 * Gives out the numbers 1, 2, 3, … of a sequence, which `snowfence sequence create` made. A late or lost
 * answer leaves a gap, whatever the mode.
 */
export class Sequence {
  #next = 0n; // of those asked for
  #step = 1n;
  #left = 0;
  #asking: Promise<void> = Promise.resolve();

  private constructor(
    private readonly servers: Servers, private readonly name: string, private readonly ahead: number,
  ) {}

  /** Opens a sequence of a server, or of several over one store. */
  static async open(servers: string | readonly string[], name: string, options: SequenceOptions = {}): Promise<Sequence> {
    only("option", options, ["token", "ahead"]);
    const { token, ahead = 1 } = options;
    ensure(typeof name === "string" && name, "name must be the name of a sequence, such as \"bills\"");
    ensure(Number.isInteger(ahead) && ahead >= 1 && ahead <= 1e6, "ahead is 1 to 1,000,000 numbers");
    const all = new Servers(servers, token);
    const { mode, pattern, state } = await all.askAny("SequenceService/Show", { name });
    ensure(state !== "deleted", `sequence ${name} was deleted: create it again, and it goes on`);
    ensure(ahead === 1 || mode === "fast" && !pattern, `sequence ${name} is ${pattern ? "dated" : mode}: ahead is for fast ones`);
    return new Sequence(all, name, ahead);
  }

  /** Takes a number. */
  async next(): Promise<bigint> {
    while (this.#left === 0) {
      this.#asking = this.#asking.catch(() => {}).then(() => this.#ask()); // one at a time
      await this.#asking;
    }
    this.#left--;
    const number = this.#next;
    this.#next += this.#step;
    return number;
  }

  /** Takes a number as text, such as RE-2026-000017 of a dated sequence. */
  async serial(): Promise<string> {
    const text = (await this.#range(1, false))["numbers"] as string[] | undefined;
    if (text?.length !== 1) throw new SnowfenceError("UNREACHABLE", "the answer of the server is damaged");
    return String(text[0]);
  }

  async #ask(): Promise<void> {
    if (this.#left > 0) return;
    const a = await this.#range(this.ahead, true);
    const [first, last, step] = [a["first"], a["last"], a["step"]].map((n) => BigInt(String(n ?? 0)));
    if (!step || (last! - first!) / step + 1n !== BigInt(this.ahead)) {
      throw new SnowfenceError("UNREACHABLE", "the server gave too many or too few numbers");
    }
    [this.#next, this.#step, this.#left] = [first!, step, this.ahead];
  }

  /** Without an answer, the numbers are lost, as a gap. */
  #range(count: number, without: boolean): Promise<Answer> {
    return this.servers.askAny("SequenceService/Next", { name: this.name, count, without_numbers: without });
  }
}
