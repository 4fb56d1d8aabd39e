// Runs over a server that hands secrets out: SNOWFENCE_SERVER, SNOWFENCE_TOKEN, the namespaces users (encrypted IDs with a
// tag) and spread, and the sequences bills (5, 7, 9, …) and dated.
import assert from "node:assert/strict";
import { Generator, Sequence } from "../dist/esm/index.js";

const { SNOWFENCE_SERVER: server, SNOWFENCE_TOKEN: token } = process.env;

const ids = await Generator.open(server, { namespace: "users", token });
const made = [...await ids.take(3000), ids.next()];
assert.equal(new Set(made).size, 3001);
for (const id of [made[0], made.at(-1)]) {
  const answer = await fetch(`${server}/v1/users/decode/${id}`, { headers: { Authorization: `Bearer ${token}` } });
  const theirs = await answer.json(), ours = ids.decode(id);
  assert.deepEqual([ours.tick, ours.node, ours.sequence].map(String), [theirs.tick, theirs.node, theirs.sequence]);
}
const { tick, fields } = ids.decode(ids.nextFor(5));
assert(tick >= ids.decode(made[0]).tick && fields.tag === 5n);
await ids.close();
const spread = await Generator.open(server, { namespace: "spread", token });
const values = (await spread.take(3000)).map((id) => [spread.decode(id).fields.scatter, id]);
assert.equal(new Set(values.map(([, id]) => id)).size, 3000);
for (let value = 0n; value < 8n; value++) {
  const some = values.filter(([v]) => v === value).map(([, id]) => id);
  assert(some.length > 100 && some.every((id, i) => i === 0 || id > some[i - 1]));
}
await spread.close();
await assert.rejects(Generator.open(server, { namespace: "users", token: "wrong" }), { code: "REFUSED" });

const one = await Sequence.open(server, "bills", { token });
assert.deepEqual([await one.next(), await one.serial()], [5n, "7"]);
const many = await Sequence.open(server, "bills", { token, ahead: 3 });
assert.deepEqual(await Promise.all([1, 2, 3, 4].map(() => many.next())), [9n, 11n, 13n, 15n]);
const dated = await Sequence.open(server, "dated", { token });
assert.match(await dated.serial(), /^RE-20\d\d-000001$/);
await assert.rejects(Sequence.open(server, "dated", { token, ahead: 2 }), { code: "INVALID" });
await assert.rejects(Sequence.open(server, "missing", { token }), { code: "REFUSED" });
