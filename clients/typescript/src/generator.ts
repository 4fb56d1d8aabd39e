/// <reference lib="esnext.disposable" preserve="true" />
import { SnowfenceError, ensure, only } from "./errors.js";
import { Layout, type Parts, type Tag } from "./layout.js";
import { type Grant, Lease } from "./lease.js";
import { real } from "./real.js";
import { Servers } from "./servers.js";
import { Sparx } from "./sparx.js";
import { LOW, Stamper } from "./stamper.js";
import { Watch } from "./watch.js";

/** How a generator leases its node. */
export interface Options {
  /** The namespace of the IDs; "default" without it. */
  namespace?: string;
  /** Who will hold the node, for the people who look after it: the host and the process without it. */
  label?: string;
  /** Of the server, with the verb `lease`. */
  token?: string;
  /** How long the node is held without a renewal, in seconds; the server's without it. */
  ttl?: number;
}

const ahead = 1000; // milliseconds that IDs may run ahead of the clock in a burst
const patience = 5000; // milliseconds that take waits
const quota = 64; // IDs to one look at the clock

/**
 * Makes IDs of a leased node in this process. It belongs to one thread: a worker opens its own.
 *
 * While no server answers, it goes on up to the end of its lease. After a loss it stops at once,
 * takes another node, and goes on.
 */
export class Generator {
  readonly #lease: Lease;
  readonly #watch: Watch;
  readonly #stampers = new Map<string, Stamper>(); // by layout: each knows what it stamped
  readonly #cell = new BigInt64Array(1);
  readonly #words = new Uint32Array(this.#cell.buffer);
  #stamper!: Stamper; // from the first grant on
  #cipher: Sparx | undefined;
  #now = 0; // the tick at the last look
  #left = 0; // IDs until the next look
  #skew = 0; // of our clock against the server's, in milliseconds
  #closed: Promise<void> | undefined;
  readonly #turn = (): void => { this.#left = 0; };

  /** For {@link open} and for tests. */
  protected constructor(servers: Servers, o: Options) {
    const request = { namespace: o.namespace ?? "default", label: o.label ?? "", ...o.ttl && { ttl: `${o.ttl.toFixed(9)}s` } };
    this.#lease = new Lease(servers, request, {
      granted: (g) => this.#granted(g),
      lost: () => this.#stamper.seal(),
      last: (node) => this.#stamper?.last(node) ?? -1,
    });
    this.#watch = new Watch(() => this.#lease.doubt());
  }

  /**
   * Leases a node from a server, or from several over one store: `http://127.0.0.1:8080`,
   * `unix:/run/snowfence/agent.sock`. It waits for the lease.
   */
  static async open(servers: string | readonly string[], options: Options = {}): Promise<Generator> {
    only("option", options, ["namespace", "label", "token", "ttl"]);
    const { namespace = "default", label = "", ttl = 15 } = options;
    ensure(typeof namespace === "string" && namespace, "namespace must be a name, such as \"shop\"");
    ensure(typeof label === "string", "label is a text for people, such as \"web-1\"");
    ensure(typeof ttl === "number" && ttl > 0 && ttl < 1e9, "ttl is in seconds, such as 15");
    const g = new Generator(new Servers(servers, options.token), { ...options, label: label || await host() });
    try {
      await g.#lease.open();
    } catch (e) {
      g.#watch.end();
      await g.#lease.close().catch(() => {}); // of a layout that is not for this package
      throw e;
    }
    return g;
  }

  /** The spec of the layout. */
  get layout(): string { return this.known.spec; }

  protected get known(): Layout { return this.#stamper.layout; }

  /**
   * Makes an ID. It never waits: when there is none at the moment, it throws `EXHAUSTED` or `FENCED`,
   * where {@link take} waits.
   *
   * It looks at the clock once in a turn of the event loop, and every 64 IDs.
   */
  next(): bigint {
    if (this.#left <= 0) {
      this.#look();
      this.#left = quota;
      real.soon(this.#turn);
    }
    this.#left--;
    if (this.#lease.doubted || this.#stamper.fill(this.#words, 0, 1, this.#now) === 0) {
      this.#left = 0;
      throw this.#none();
    }
    this.#cipher?.encrypt(this.#words, LOW);
    return this.#cell[0]!;
  }

  /** Makes an ID as {@link next} does, with a number of yours in the field `tag`. One that does not fit uses up no ID. */
  nextFor(tag: Tag): bigint {
    this.known.tagField(tag);
    return this.tag(this.next(), tag);
  }

  /**
   * Makes up to 1,000,000 IDs. Those with the same bits above the time increase. It waits up to 5 s for the clock
   * and for the lease.
   */
  async take(n: number): Promise<bigint[]> {
    ensureCount(n);
    const ids = new BigInt64Array(n), end = real.steady() + patience;
    let words = new Uint32Array(ids.buffer), made = 0;
    for (;;) {
      this.#look();
      const more = this.#lease.doubted ? 0 : this.#stamper.fill(words, 0, words.length / 2, this.#now);
      this.#cipher?.encrypt(words.subarray(0, 2 * more), LOW);
      words = words.subarray(2 * more);
      made += more;
      if (made === n) return Array.from(ids);
      const none = this.#none();
      if (this.#closed || real.steady() >= end) throw none;
      await new Promise((resolve) => real.after(() => resolve(undefined), 2));
    }
  }

  /** Takes an ID of this namespace apart. */
  decode(id: bigint): Parts { return this.known.decode(this.#crypt(id, "decrypt")); }

  /** Puts a number of yours into the field `tag` of an ID. It stays different from all others. */
  tag(id: bigint, tag: Tag): bigint { return this.#crypt(this.known.tag(this.#crypt(id, "decrypt"), tag), "encrypt"); }

  #crypt(id: bigint, direction: "encrypt" | "decrypt"): bigint {
    if (!this.#cipher) return id;
    const cell = new BigInt64Array([id]);
    this.#cipher[direction](new Uint32Array(cell.buffer), LOW);
    return cell[0]!;
  }

  /** Ends the generator and gives its node back. A second call does nothing more. */
  close(): Promise<void> {
    this.#stamper.seal();
    this.#watch.end();
    return this.#closed ??= this.#lease.close();
  }

  [Symbol.asyncDispose](): Promise<void> { return this.close(); }

  #look(): void { this.#now = this.#stamper.layout.tickOf(this.#watch.look()); }

  #granted(g: Grant): void {
    let stamper = this.#stampers.get(g.layout);
    if (!stamper) {
      const layout = new Layout(g.layout);
      if (layout.cipher === "ff1" || layout.cipher && g.secrets.length === 0) {
        throw new SnowfenceError("REFUSED", "this package makes encrypted IDs only with cipher=sparx, and only if the server " +
          "hands its secrets out: ask the server for the IDs of this namespace");
      }
      stamper = new Stamper(layout, Math.max(1, Math.floor(ahead * 1e6 / Number(layout.tick))));
      this.#stampers.set(g.layout, stamper);
    }
    if (stamper !== this.#stamper) this.#stamper?.seal();
    this.#stamper = stamper;
    this.#cipher = stamper.layout.cipher ? new Sparx(g.secrets.at(-1)!) : undefined;
    this.#watch.begin(g.renewAfter);
    this.#look();
    this.#skew = isNaN(g.now) ? 0 : real.wall() - g.now;
    stamper.grant(g.node, g.from, g.until);
  }

  /** Why there is no ID. */
  #none(): SnowfenceError {
    if (this.#closed) return new SnowfenceError("CLOSED", "the generator was closed");
    const { trouble, doubted } = this.#lease, over = this.#stamper.over(this.#now);
    if (!doubted && !over && this.#stamper.granted) {
      const off = Math.abs(this.#skew) < ahead ? "" :
        `; this machine's clock is ${Math.round(this.#skew / 1000)} s ahead of the server's: set it right`;
      return new SnowfenceError("EXHAUSTED", `the IDs up to now are used up: more come with the time, and take waits${off}`);
    }
    this.#lease.hurry();
    const why = !this.#stamper.granted ? "the lease was lost, and another one is asked for" :
      doubted ? "the process stood still, and its lease is renewed first" : "the lease ended";
    return new SnowfenceError("FENCED", trouble ? `${why}: ${trouble.message}` : why, { cause: trouble });
  }
}

const nodeOs = "node:os"; // a variable, so that bundlers for browsers do not look for it

/** Names the host and the process, as far as the runtime lets us know. */
async function host(): Promise<string> {
  const { process, location } = globalThis as { process?: { pid?: number }; location?: { host?: string } };
  let name = location?.host;
  try {
    if (!("Deno" in globalThis)) name ??= (await import(nodeOs) as { hostname(): string }).hostname();
  } catch { /* a browser or a worker; Deno would ask its user */ }
  return `${name?.slice(0, 100) ?? "javascript"}/${process?.pid ?? "browser"}`;
}

/** Refuses what is no count of IDs. */
export function ensureCount(n: number): void {
  ensure(Number.isSafeInteger(n) && n >= 0 && n <= 1e6, "n must be 0 to 1,000,000");
}
