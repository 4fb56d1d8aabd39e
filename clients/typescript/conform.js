// The adapter for lab/conform: reads lines next and close, and prints an ID or an error for each.
import { createInterface } from "node:readline";
import { Generator } from "./dist/esm/index.js";

const { SNOWFENCE_SERVER: server, SNOWFENCE_NAMESPACE: namespace, SNOWFENCE_TTL: ttl } = process.env;
const units = { h: 3600, m: 60, s: 1, ms: 1e-3 };
const seconds = [...(ttl ?? "").matchAll(/([\d.]+)(h|ms|m|s)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
let ids;

/** Makes an ID, or says within half a second why there is none. */
async function next() {
  ids ??= await Generator.open(server, { namespace, label: "conform", ...seconds && { ttl: seconds } });
  for (const end = Date.now() + 500; ;) {
    try {
      return ids.next();
    } catch (e) {
      if (Date.now() > end) throw e;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "close") break;
  console.log(await next().then(String, (e) => `error ${e.message.replace(/\s+/g, " ")}`));
}
await ids?.close().catch((e) => console.error(e.message));
console.log("closed");
process.exit(0);
