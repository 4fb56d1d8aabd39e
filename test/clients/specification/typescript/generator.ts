// A generator by docs/reference/specification.md alone: one grant at a time, from a server or a file.
import { Layout } from "./snowfence.js";

export class Generator {
  private node = -1n;
  private from = 0n;
  private until = 0n;
  private tick = -1n;
  private sequence: bigint;

  constructor(private readonly layout: Layout, private readonly lead: bigint) { this.sequence = layout.last; }

  grant(node: bigint, from: bigint, until: bigint): void {
    if (node !== this.node || this.until === 0n) [this.tick, this.sequence] = [-1n, this.layout.last];
    [this.node, this.from, this.until] = [node, from, until];
  }

  lost(): void { this.until = 0n; }

  /** Returns nothing while there is no ID. */
  next(now: bigint): { time: bigint; node: bigint; seq: bigint } | undefined {
    if (this.until === 0n) return undefined;
    let tick = this.tick, sequence = this.sequence + 1n;
    if (sequence > this.layout.last) [tick, sequence] = [tick + 1n, this.layout.first];
    const floor = now > this.from ? now : this.from;
    if (floor > tick) [tick, sequence] = [floor, this.layout.first];
    if (tick >= this.until || tick > now + this.lead) return undefined;
    [this.tick, this.sequence] = [tick, sequence];
    return { time: tick, node: this.node, seq: sequence };
  }
}
