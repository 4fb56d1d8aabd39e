// A lease of a node from a server, kept in the background: "From a server: tickets" of
// docs/reference/specification.md.
import { SnowfenceError } from "./errors.js";
import { real } from "./real.js";
import { type Answer, Refusal, type Servers } from "./servers.js";
import { unref } from "./watch.js";

/** What a server grants. Ticks are numbers below 2^53. */
export interface Grant {
  layout: string;
  secrets: string[];
  node: bigint;
  from: number;
  until: number;
  ticket: string;
  renewAfter: number; // milliseconds
  now: number; // by the server's clock, in milliseconds; NaN if it does not say
}

/** What a lease tells the generator that stamps its ticks. */
export interface Holder {
  /** Takes a grant in place of the one before. */
  granted(g: Grant): void;
  /** Ends the grant: not one more ID. */
  lost(): void;
  /** The last tick that was stamped with a node; -1 if none was. */
  last(node: bigint): number;
}

const most = 64; // attempts that a request can name

/** Keeps a node for a holder. */
export class Lease {
  #grant: Grant | undefined; // what is renewed next
  #earlier: string[] = []; // attempts without an answer
  #copied = false; // a copy of this process may stamp the same grant, too
  #lost: string | undefined; // the last ticket, after a loss
  #last: bigint | undefined; // the last node
  #failures = 0;
  #due = 0; // when to act next, by performance.now
  #began = 0; // when the last request that worked began
  #renewAfter = 0;
  #doubts = 0; // how often the process stood still
  #closing = false;
  #running: Promise<void> | undefined;
  #wake = (): void => {};
  #random: Crypto | undefined;
  /** Why the last attempt failed. */
  trouble: Error | undefined;
  /** Whether the process stood still, and no renewal has worked since. */
  doubted = false;

  constructor(
    private readonly servers: Servers,
    private readonly request: { namespace: string; label: string; ttl?: string },
    private readonly holder: Holder,
  ) {}

  /** Waits for the first grant, and keeps it from then on. */
  async open(): Promise<void> {
    // A lost answer may have taken a node: only this lease can ask for it again.
    for (let asks = 1; !this.#grant; asks++) {
      try {
        await this.#acquire();
      } catch (e) {
        if (asks >= Math.max(4, this.servers.count) || !(e instanceof SnowfenceError) || e.code !== "UNREACHABLE") throw e;
        await this.#sleep(100 * asks, true);
      }
    }
    this.#running = this.#keep();
  }

  /** Renews before anything is stamped: the process stood still, and may be a copy of itself. */
  doubt(): void {
    this.#doubts++;
    this.doubted = true;
    this.hurry();
  }

  /** Acts soon, at most ten times as often as usual. */
  hurry(): void {
    if (this.#failures > 0) return;
    this.#due = Math.min(this.#due, this.#began + this.#renewAfter / 10);
    this.#wake();
  }

  /** Gives the node back. Nothing is stamped any more. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#wake();
    await this.#running;
    if (this.#earlier.length > 0 && this.#grant) await this.#renew(); // what had no answer is settled first
    const g = this.#grant;
    this.#grant = undefined;
    if (!g) return;
    const used = String(Math.max(this.holder.last(g.node) + 1, g.from));
    await this.servers.askAny("LeaseService/Release", { ticket: g.ticket, ...!this.#copied && { used } });
  }

  async #keep(): Promise<void> {
    while (!this.#closing) {
      const wait = this.#due - real.steady();
      if (wait > 0) {
        await this.#sleep(wait, false);
        continue;
      }
      try {
        await (this.#grant ? this.#renew() : this.#acquire());
        this.#failures = 0;
        this.trouble = undefined;
      } catch (e) {
        this.trouble = e as Error;
        this.#due = real.steady() + Math.min(50 * 2 ** this.#failures++, 2000) * (0.5 + Math.random() / 2);
      }
    }
  }

  async #acquire(): Promise<void> {
    const doubts = this.#doubts, began = real.steady(), earlier = this.#earlier;
    const attempt = await this.#attempt();
    const g = readGrant(await this.servers.ask("LeaseService/Acquire", {
      ...this.request, attempt, earlier, ...this.#lost && { lost: this.#lost },
      ...this.#last !== undefined && { free: true, prefer: String(this.#last) },
    }));
    this.#lost = undefined;
    this.#copied = earlier.length > 0;
    this.#take(g, began, doubts);
  }

  async #renew(): Promise<void> {
    const held = this.#grant!, doubts = this.#doubts, began = real.steady(), earlier = this.#earlier;
    const attempt = await this.#attempt();
    let g: Grant;
    try {
      g = readGrant(await this.servers.ask("LeaseService/Renew", { ticket: held.ticket, attempt, earlier }));
    } catch (e) {
      if (!(e instanceof Refusal)) throw e;
      const lost = e.status === 404 || e.status === 409;
      // Without a reason, it is a proxy's.
      if (e.reason === "" || !lost && e.status !== 400 && e.reason !== "elsewhere") throw e;
      // Elsewhere, and with a ticket that no server knows, the grant goes on to its end, beside another one.
      if (lost) {
        this.holder.lost();
        this.#lost = held.ticket;
      }
      this.#grant = undefined;
      this.#earlier = [];
      this.#due = 0;
      if (!this.#closing) await this.#acquire();
      return;
    }
    if (g.node !== held.node || g.from < held.from || g.layout !== held.layout) throw damaged();
    this.#take(g, began, doubts);
  }

  #take(g: Grant, began: number, doubts: number): void {
    this.#grant = g;
    this.#last = g.node;
    this.#earlier = [];
    this.#began = began;
    this.#renewAfter = g.renewAfter;
    this.#due = began + g.renewAfter;
    if (this.#closing) return;
    this.holder.granted(g); // looks at the clock first, and so notices that the process stood still
    if (doubts === this.#doubts) this.doubted = false;
    else this.#due = 0;
  }

  /** A new attempt, which counts as one without an answer until there is one. */
  async #attempt(): Promise<string> {
    // Node.js 18 has it in a module only.
    this.#random ??= globalThis.crypto ?? (await import(nodeCrypto) as { webcrypto: Crypto }).webcrypto;
    const hex = Array.from(this.#random.getRandomValues(new Uint8Array(11)), (b) => b.toString(16).padStart(2, "0"));
    // Copies of a machine have one state of the random generator: the clocks tell them apart.
    const ns = Math.round((real.wall() % 1e9 + real.steady()) * 1e6);
    const attempt = hex.join("") + ns.toString(36).slice(-10).padStart(10, "0");
    this.#earlier = [...this.#earlier, attempt].slice(-most);
    return attempt;
  }

  /** Sleeps until it is woken, or the time is over. A process may end meanwhile, unless it waits for us. */
  #sleep(ms: number, waitedFor: boolean): Promise<void> {
    return new Promise((resolve) => {
      const timer = real.after(resolve, ms);
      if (!waitedFor) unref(timer);
      this.#wake = () => {
        real.cancel(timer);
        resolve();
      };
    });
  }
}

const nodeCrypto = "node:crypto";

function damaged(): SnowfenceError { return new SnowfenceError("UNREACHABLE", "the answer of the server is damaged"); }

/** Reads the answer to a request for a lease. All of it is as it should be, or it counts as none. */
function readGrant(a: Answer): Grant {
  const number = (name: string): number => {
    const text = String(a[name] ?? "0");
    if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(Number(text))) throw damaged();
    return Number(text);
  };
  const text = (name: string): string => {
    if (typeof a[name] !== "string" || a[name] === "") throw damaged();
    return a[name];
  };
  const node = String(a["node"] ?? "0");
  const g: Grant = {
    layout: text("layout"), ticket: text("ticket"), from: number("from"), until: number("until"),
    node: /^\d{1,19}$/.test(node) ? BigInt(node) : -1n,
    secrets: Array.isArray(a["secrets"]) ? a["secrets"].map((s) => atob(String(s)).trim()) : [],
    renewAfter: 1000 * Number(/^(\d+(?:\.\d+)?)s$/.exec(text("renew_after"))?.[1]),
    now: typeof a["now"] === "string" ? Date.parse(a["now"]) : NaN,
  };
  if (g.node < 0n || g.until < g.from || !(g.renewAfter > 0)) throw damaged();
  return g;
}
