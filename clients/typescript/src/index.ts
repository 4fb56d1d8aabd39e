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
import { type Parts, Layout } from "./layout.js";

export { type Code, SnowfenceError } from "./errors.js";
export { type Options, Generator } from "./generator.js";
export { type Fields, type Parts } from "./layout.js";
export { type SequenceOptions, Sequence } from "./sequence.js";
export { type Encoding, type Prefixed, Prefix, format, parse } from "./text.js";

/** Takes a plain ID apart, by the spec of its layout. For encrypted ones use `Generator.decode`. */
export function decode(id: bigint, layout: string): Parts { return new Layout(layout).decode(id); }
