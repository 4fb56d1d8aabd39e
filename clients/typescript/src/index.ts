/**
 * 64-bit IDs that never repeat within a namespace of a store, made in your process: it leases a node
 * from a server, `snowfence serve`.
 *
 *     import { Generator } from "snowfence";
 *
 *     const ids = await Generator.open("http://127.0.0.1:8080");
 *     console.log(ids.next());
 *     await ids.close();
 *
 * @module
 */
import { ensure } from "./errors.js";
import { type Parts, type Tag, Layout } from "./layout.js";

export { type Code, SnowfenceError } from "./errors.js";
export { type Options, Generator } from "./generator.js";
export { type Fields, type Parts, type Tag } from "./layout.js";
export { type SequenceOptions, Sequence } from "./sequence.js";
export { type Encoding, type Prefixed, Prefix, format, parse } from "./text.js";

/** Takes a plain ID apart, by the name or the spec of its layout. It asks no server. */
export function decode(id: bigint, layout = "snowfence"): Parts {
  const known = new Layout(layout);
  ensure(!known.cipher, "IDs of this layout are encrypted: use decode of a generator");
  return known.decode(id);
}

/** Puts a number of yours into the field `tag` of a plain ID. */
export function tag(id: bigint, tag: Tag, layout: string): bigint { return new Layout(layout).tag(id, tag); }

/**
 * The half-open ranges of the IDs of a span of time, for queries such as `id >= low AND id < high`: one, or one for
 * each value of the fields above the time. `within` fixes some of these, as in `{ tag: 7 }`.
 */
export function ranges(from: Date, to: Date, layout = "snowfence", within: Record<string, Tag> = {}): Iterable<[bigint, bigint]> {
  const [a, b] = [from, to].map((t) => BigInt(t.getTime()) * 1_000_000n);
  return new Layout(layout).ranges(a!, b!, within);
}
