// Requests to servers, as docs/reference/protocols.md has them: POSTs of JSON.
import { SnowfenceError, ensure } from "./errors.js";

/** The JSON of an answer: its fields are checked where they are read. */
export type Answer = Record<string, unknown>;

/** What a server answered in place of what was asked for. */
export class Refusal extends SnowfenceError {
  constructor(readonly status: number, readonly reason: string, message: string) {
    // A redirect, a proxy or a busy server says nothing about the request itself.
    super(status < 400 || status >= 500 || status === 429 ? "UNREACHABLE" : "REFUSED", message);
  }
}

interface Reply { status: number; text: string }

// The minimum of node:http that is used here. The name in a variable keeps bundlers for browsers from
// looking for the module.
interface Message { statusCode: number; setEncoding(name: string): void; on(event: string, run: (data: string) => void): void }
interface Http {
  request(options: object, answered: (message: Message) => void): {
    on(event: "error", run: (e: Error) => void): void;
    end(body: string): void;
  };
}
const nodeHttp = "node:http";

const patience = 5000; // milliseconds for an answer, as long as package remote waits

/** Servers over one store. While one does not answer, the others are asked. */
export class Servers {
  readonly #addresses: string[];
  readonly #headers: Record<string, string> = { "Content-Type": "application/json" };
  #at = 0;

  constructor(addresses: string | readonly string[], token?: string) {
    const all = [addresses].flat();
    ensure(all.length > 0 && all.every((a) => typeof a === "string"), "name at least one server, such as http://127.0.0.1:8080");
    ensure(token === undefined || typeof token === "string" && /^[ -~]*$/.test(token), "token is a text of one line");
    this.#addresses = all.map((a) => a.replace(/\/+$/, ""));
    for (const a of this.#addresses) {
      ensure(/^unix:.|^https?:\/\/[^/@]+$/.test(a),
        "write a server as http://host:port, https://host:port or unix:/path, and give the token as an option");
    }
    if (token) this.#headers["Authorization"] = `Bearer ${token}`;
  }

  /** How many there are. */
  get count(): number { return this.#addresses.length; }

  /** Asks one server. If it does not answer, the next request goes to the next one. */
  async ask(procedure: string, request: object): Promise<Answer> {
    const address = this.#addresses[this.#at]!;
    try {
      return await this.#post(address, procedure, request);
    } catch (e) {
      if (e instanceof SnowfenceError && e.code === "UNREACHABLE") this.#at = (this.#at + 1) % this.count;
      throw e;
    }
  }

  /** Asks the servers in turn, for requests that may be repeated. */
  async askAny(procedure: string, request: object): Promise<Answer> {
    for (let i = 1; ; i++) {
      try {
        return await this.ask(procedure, request);
      } catch (e) {
        if (i >= this.count || !(e instanceof SnowfenceError) || e.code !== "UNREACHABLE") throw e;
      }
    }
  }

  async #post(address: string, procedure: string, request: object): Promise<Answer> {
    const path = `/snowfence.v1.${procedure}`, body = JSON.stringify(request);
    let reply: Reply;
    try {
      reply = await (address.startsWith("unix:") ? this.#overSocket(address.slice(5), path, body) : this.#fetch(address + path, body));
    } catch (e) {
      const why = e instanceof Error ? (e.cause instanceof Error ? e.cause.message : e.message) : String(e);
      throw new SnowfenceError("UNREACHABLE",
        `${address} does not answer (${why}): see that "snowfence serve" runs there, and that this address reaches it${cors(address)}`,
        { cause: e });
    }
    let answer: Answer | undefined;
    try {
      answer = JSON.parse(reply.text) as Answer;
    } catch { /* not of a server of ours */ }
    if (reply.status === 200 && answer && typeof answer === "object") return answer;
    const text = typeof answer?.["message"] === "string" ? answer["message"] : "the answer is not that of a Snowfence server";
    throw new Refusal(reply.status === 200 ? 502 : reply.status, reasonOf(answer), `${address}: ${text} (status ${reply.status})`);
  }

  async #fetch(url: string, body: string): Promise<Reply> {
    const signal = AbortSignal.timeout(patience);
    // The token is for the servers that were named: follow nobody elsewhere. Workers at an edge know no "error".
    const r = await fetch(url, { method: "POST", headers: this.#headers, body, signal, redirect: "manual" });
    return { status: r.status, text: await r.text() };
  }

  async #overSocket(socketPath: string, path: string, body: string): Promise<Reply> {
    const { request } = await import(nodeHttp) as Http;
    return new Promise((resolve, reject) => {
      const headers = { ...this.#headers, "Content-Length": new TextEncoder().encode(body).length };
      const sent = request({ socketPath, path, method: "POST", headers, signal: AbortSignal.timeout(patience) }, (m) => {
        let text = "";
        m.setEncoding("utf8");
        m.on("data", (part) => text += part);
        m.on("error", reject as () => void);
        m.on("end", () => resolve({ status: m.statusCode, text }));
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }
}

/** The reason of the google.rpc.ErrorInfo in an error of Connect, or "". */
function reasonOf(answer: Answer | undefined): string {
  const details = Array.isArray(answer?.["details"]) ? answer["details"] as Answer[] : [];
  const info = details.find((d) => d?.["type"] === "google.rpc.ErrorInfo");
  if (typeof info?.["value"] !== "string") return "";
  try {
    const bytes = atob(info["value"].replace(/-/g, "+").replace(/_/g, "/"));
    return bytes.charCodeAt(0) === 10 ? bytes.slice(2, 2 + bytes.charCodeAt(1)) : ""; // field 1 comes first
  } catch {
    return "";
  }
}

/** What a browser hides from a page: that it asked a server of another origin. */
function cors(address: string): string {
  const { location } = globalThis as { location?: { origin?: string } };
  if (!location?.origin?.startsWith("http") || address === location.origin) return "";
  return `. This page is from ${location.origin}, and servers have no CORS: let a proxy serve both from one origin`;
}
