/**
 * What went wrong.
 *
 * - `EXHAUSTED`: the IDs up to now are used up. More come with the time.
 * - `FENCED`: there is no lease at the moment. The message says why, and the generator tries on.
 * - `CLOSED`: the generator was closed.
 * - `REFUSED`: a server answered that it will not. Its message says what helps.
 * - `UNREACHABLE`: no server answered.
 * - `INVALID`: an argument, a text or an ID is not what it should be.
 */
export type Code = "EXHAUSTED" | "FENCED" | "CLOSED" | "REFUSED" | "UNREACHABLE" | "INVALID";

/** An error of this package. Programs compare its `code`, people read its message. */
export class SnowfenceError extends Error {
  override readonly name = "SnowfenceError";

  constructor(readonly code: Code, message: string, options?: ErrorOptions) { super(message, options); }
}

/** Throws `INVALID` unless a condition holds. */
export function ensure(ok: unknown, message: string): asserts ok {
  if (!ok) throw new SnowfenceError("INVALID", message);
}

/** Throws `INVALID` if options have another name than these, as after a typing error. */
export function only(what: string, options: object, names: readonly string[]): void {
  ensure(typeof options === "object" && options !== null, `the last argument has the ${what}s: ${names.join(", ")}`);
  for (const name of Object.keys(options)) ensure(names.includes(name), `there is no ${what} ${name}, but ${names.join(", ")}`);
}
