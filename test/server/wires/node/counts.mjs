// Talks to a server as programs with ioredis do: node counts.mjs HOST PORT TOKEN. Any surprise ends it with an error.
import assert from "node:assert";
import Redis from "ioredis";

const [host, port, password] = process.argv.slice(2);
const redis = new Redis({ host, port: Number(port), password, lazyConnect: true, maxRetriesPerRequest: 1 });
redis.on("error", () => {}); // commands have their own
await redis.connect();

assert.equal(await redis.get("orders"), null);
assert.equal(await redis.incr("orders"), 1);
assert.equal(await redis.incrby("orders", 10), 11);
assert.equal(await redis.get("orders"), "11");
assert.equal(await redis.incr("shop:orders"), 1000);
assert.equal(await redis.ttl("orders"), -1);
await assert.rejects(redis.incr("nothing"), /NOSEQUENCE.*sequence create nothing/);
await assert.rejects(redis.expire("orders", 60), /REFUSED/);
await assert.rejects(redis.decr("orders"), /--step -1/);
await assert.rejects(redis.set("orders", 1), /--start N/);

const rising = (replies, from) => assert.deepEqual(replies, replies.map((_, i) => [null, from + i]));
let pipeline = redis.pipeline();
for (let i = 0; i < 5000; i++) pipeline.incr("strict");
rising(await pipeline.exec(), 1);
let multi = redis.multi();
for (let i = 0; i < 1000; i++) multi.incr("strict");
rising(await multi.exec(), 5001);
assert.deepEqual(await redis.multi().incrby("few", 3).get("few").exec(), [[null, 3], [null, "3"]]);
await assert.rejects(redis.multi().incr("few").set("few", 1).exec(), /EXECABORT/);
const [[, one], [error]] = await redis.multi().incr("orders").incr("few").exec();
assert.equal(one, 12);
assert.match(error.message, /ENDED/);
assert.equal(await redis.quit(), "OK");
