/** What went wrong: code is a name of snowfence.h, such as "SNOWFENCE_FENCED". */
export class SnowfenceError extends Error {
  readonly status: number
  readonly code: string
}

/** The options of snowfence_open, such as { lead: 2000, maxWait: '2s' }. */
export interface Options {
  lead?: number
  spread?: number
  coarse?: boolean
  maxWait?: string
  secretFile?: string | string[]
  label?: string
  node?: number
  guard?: boolean
  within?: string
  block?: number
  stickyFile?: string
  ttl?: string
  wait?: string
  layout?: string
  slice?: string
}

/** An ID taken apart. */
export interface Parts {
  tick: bigint
  time: Date
  node: bigint
  sequence: bigint
  rollback: bigint
  key: number
}

/** Makes IDs. A worker thread opens one of its own. */
export class Generator implements Iterable<bigint> {
  private constructor()
  /** Makes an ID. */
  next(): bigint
  /** Makes n IDs, in increasing order. */
  take(n: number): BigInt64Array
  /** Takes an ID apart, with the layout and the secrets of this generator. */
  decode(id: bigint): Parts
  /** Ends the generator and gives its node back. A second call does nothing. */
  close(): void
  [Symbol.iterator](): Iterator<bigint>
}

/** Numbers 1, 2, 3, … of a store. */
export class Sequence {
  private constructor()
  /** Takes a number. */
  next(): bigint
  /** Takes a number as text, such as RE-2026-000017 of a dated sequence. */
  serial(): string
  close(): void
}

/** Leases a node from a store. */
export function open(store?: string | null, namespace?: string | null, options?: Options): Generator
/** Makes IDs of one node, whose use a file remembers over restarts. */
export function openStateFile(path: string, node: number | bigint, layout?: string | null, options?: Options): Generator
/** Makes IDs of a bare number. It is safe inside this process only. */
export function openStatic(node: number | bigint, layout?: string | null, options?: Options): Generator
/** Opens a sequence, which "snowfence sequence create" made. */
export function openSequence(name: string, store?: string | null): Sequence
/** Takes an ID apart. */
export function decode(id: bigint, layout?: string | null): Parts
/** Writes an ID as text, such as 'base58' or 'hex-fixed'. */
export function format(id: bigint, encoding?: string | null): string
/** Reads the text of an ID. */
export function parse(text: string, encoding?: string | null): bigint
