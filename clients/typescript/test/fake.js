// A server of leases that plays what a test wants, and judges each request and each ID.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Layout } from "../dist/esm/layout.js";

export const spec = "time=41,node=10,seq=12,epoch=2025-01-01T00:00:00Z,tick=1ms";
const layout = new Layout(spec);
export const tick = (ms = Date.now()) => layout.tickOf(ms);

/** Fails after a minute, so that a hang ends. */
export async function eventually(what, run) {
  for (const end = Date.now() + 60_000; Date.now() < end; await new Promise((r) => setTimeout(r, 5))) {
    const value = await run();
    if (value) return value;
  }
  assert.fail(`not within a minute: ${what}`);
}

export class Fake {
  grants = []; // { node, from, until }: the last one of a node has its end
  requests = []; // [procedure, request]
  seen = new Set();
  ttl = 3000;
  nodes = [7, 8, 9];
  /** What to do with a request: nothing, "drop" its answer, "refuse" it, or { status, body }; or a promise of it. */
  play = () => {};
  #serial = 0;
  #ticket = "";
  #server = createServer((q, s) => this.#answer(q, s));

  /** Listens at a port of its own, or at a path. */
  async start(path) {
    await new Promise((ready) => this.#server.listen(path ?? 0, ...path ? [] : ["127.0.0.1"], ready));
    this.url = path ? `unix:${path}` : `http://127.0.0.1:${this.#server.address().port}`;
    return this;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  of(procedure) { return this.requests.filter(([p]) => p === procedure).map(([, request]) => request); }

  /** Judges an ID: its tick was granted for its node, and it is new. */
  judge(id) {
    const { tick, node } = layout.decode(id);
    assert(this.grants.some((g) => g.node === Number(node) && g.from <= tick && tick < g.until), `${id}: tick ${tick} of node ${node}`);
    assert(!this.seen.has(id), `${id} came before`);
    this.seen.add(id);
  }

  /** A grant of a node from its last end, or a renewal. */
  grant(node, renewed) {
    const last = this.grants.findLast((g) => g.node === node), until = tick() + this.ttl;
    if (renewed) last.until = Math.max(until, last.until);
    else this.grants.push({ node, from: Math.max(last?.until ?? 0, tick() - 100), until });
    const g = this.grants.findLast((g) => g.node === node);
    this.#ticket = btoa(`ticket ${++this.#serial} of ${node}`);
    return {
      namespace: "default", node: String(node), nodes: 1, from: String(g.from), until: String(Math.max(g.until, g.from)),
      renew_after: `${this.ttl / 3000}s`, layout: spec, ticket: this.#ticket, now: new Date().toISOString(),
    };
  }

  #lease(procedure, request) {
    switch (procedure) {
      case "Acquire": return this.grant(this.nodes[0]);
      case "Renew": return this.grant(Number(atob(request.ticket).split(" ").at(-1)), true);
      case "Release": return {};
    }
  }

  async #answer(q, s) {
    let text = "";
    for await (const part of q) text += part;
    const procedure = q.url.split("/").at(-1), request = JSON.parse(text), ticket = this.#ticket;
    this.requests.push([procedure, request]);
    const what = await this.play(procedure, request);
    if (what === "refuse") return s.destroy();
    if (procedure === "Renew" && what?.status === undefined) assert.equal(request.ticket, what === "late" ? request.ticket : ticket);
    const body = what?.body ?? this.#lease(procedure, request);
    if (what === "drop") {
      this.#ticket = ticket; // of the client
      return s.destroy();
    }
    s.writeHead(what?.status ?? 200, { "Content-Type": "application/json" });
    s.end(typeof body === "string" ? body : JSON.stringify(body));
  }
}

/** An error of Connect with the reason that a server gives. */
export function refusal(status, reason) {
  const info = String.fromCharCode(10, reason.length) + reason;
  return { status, body: { code: "unavailable", message: reason, details: [{ type: "google.rpc.ErrorInfo", value: btoa(info).replace(/=+$/, "") }] } };
}
