// Compiled, never run: the types that the package promises.
import { type Options, type Parts, type Prefixed, Generator, Prefix, Sequence, SnowfenceError, decode, format, parse, ranges, tag } from "snowfence";

const options: Options = { namespace: "shop", label: "web-1", ttl: 15 };
await using ids: Generator = await Generator.open(["http://a:8080", "unix:/run/s.sock"], options);
const id: bigint = ids.next();
const many: bigint[] = await ids.take(3);
const tagged: bigint[] = [ids.nextFor(7), tag(id, 7n, ids.layout)];
for (const [low, high] of ranges(new Date(0), new Date(), ids.layout, { tag: 7 })) console.log(low < high);
const parts: Parts = ids.decode(many[0]!);
const orders = new Prefix("ord");
const text: Prefixed<"ord"> = orders.format(decode(parse(format(id, "base58-fixed"), "base58-fixed"), ids.layout).node);
const numbers = await Sequence.open("http://a:8080", "bills", { ahead: 100 });
const number: bigint = await numbers.next();
const serial: string = await numbers.serial();
try {
  orders.parse("usr_5");
} catch (e) {
  if (e instanceof SnowfenceError && e.code === "INVALID") console.log(parts.time, tagged, text, number, serial);
}
// @ts-expect-error: an ID is no number
const wrong: number = ids.next();
// @ts-expect-error: a number has too few bits
decode(5, ids.layout);
// @ts-expect-error: there is no such encoding
format(id, "base59");
// @ts-expect-error: there is no such option
await Generator.open("http://a:8080", { leed: 1 });
// @ts-expect-error: another prefix
const other: Prefixed<"usr"> = text;
// @ts-expect-error: open makes generators
new Generator();
console.log(wrong, other);

type OrderID = string & { readonly of: 'order' }
const newer = (a: OrderID, b: OrderID): boolean => BigInt(a) > BigInt(b)
