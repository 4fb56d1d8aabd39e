// Talks to a server as programs with ioredis do: node ids.mjs HOST PORT TOKEN. Prints what it got, as JSON; any surprise ends it with an error.
import assert from "node:assert";
import Redis from "ioredis";

const [host, port, password] = process.argv.slice(2);
const redis = new Redis({ host, port: Number(port), password, lazyConnect: true, maxRetriesPerRequest: 1, connectionName: "wires" });
redis.on("error", () => {}); // commands have their own
await redis.connect();

// IDs are texts, exact to the last digit: as numbers they would be rounded.
const one = await redis.call("SNOWFENCE.NEXT", "default");
assert.match(one, /^\d{17,19}$/);
const many = await redis.call("SNOWFENCE.NEXT", "default", "COUNT", "10000");
assert.equal(many.length, 10000);
const all = [one, ...many];
for (let i = 1; i < all.length; i++) assert.ok(BigInt(all[i]) > BigInt(all[i - 1]));

const pipeline = redis.pipeline();
for (let i = 0; i < 100; i++) pipeline.call("SNOWFENCE.NEXT", "default");
const replies = await pipeline.exec();
assert.equal(new Set(replies.map(([err, id]) => { assert.equal(err, null); return id; })).size, 100);

const decoded = await redis.call("SNOWFENCE.DECODE", "default", one);
assert.equal(decoded[decoded.indexOf("id") + 1], one);
await assert.rejects(redis.call("SNOWFENCE.NEXT", "nowhere"), /NONAMESPACE/);
const [[none, last]] = await redis.multi().call("SNOWFENCE.NEXT", "default").exec();
assert.equal(none, null);
assert.ok(BigInt(last) > BigInt(all.at(-1)));
await assert.rejects(redis.get("x"), /NOSEQUENCE/);
assert.equal(await redis.ping(), "PONG");
assert.match(await redis.info(), /loading:0/);
assert.equal(await redis.quit(), "OK");
console.log(JSON.stringify({ one, decoded }));
