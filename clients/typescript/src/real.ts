/** The clocks and timers of the runtime, as they were before a test put others in their place. */
export const real = {
  /** Milliseconds since 1970. */
  wall: Date.now,
  /** Milliseconds that no operator sets. */
  steady: performance.now.bind(performance),
  after: setTimeout.bind(globalThis) as (run: () => void, ms: number) => unknown,
  every: setInterval.bind(globalThis) as (run: () => void, ms: number) => unknown,
  cancel: clearTimeout.bind(globalThis) as (timer: unknown) => void, // of both kinds
  soon: queueMicrotask.bind(globalThis),
};
