/// Checks the module: test STORE VECTORS. Prints "ok".
import core.memory : GC;
import core.thread : Thread;
import std.algorithm : canFind;
import std.array : split;
import std.conv : to;
import std.exception : enforce;
import std.range : take;
import std.stdio : File, writeln;

import snowfence;

// A copied ring would make the same IDs as its original.
static assert(!__traits(compiles, (ref Ring a) { Ring b = a; }));
static assert(!__traits(compiles, (ref Generator a) { Generator b = a; }));

void expect(int status, string text, void delegate() call)
{
	try
		call();
	catch (SnowfenceException e) {
		enforce(e.status == status && e.msg.canFind(text), e.msg);
		return;
	}
	throw new Exception("nothing was thrown about " ~ text);
}

void vectors(string path)
{
	foreach (line; File(path).byLineCopy) {
		auto v = line.split("\t");
		auto p = decode(v[1].to!long, v[0]);
		foreach (i, got; [p.tick, p.node, p.sequence, p.rollback, p.scatter, p.tag])
			enforce(v[i + 2] == "-" || v[i + 2] == got.to!string, line);
	}
	enforce(parse(format(1L << 62, "base58"), "base58") == 1L << 62);
	expect(4, "xyz", { parse("xyz"); });
	expect(4, "zero", { parse("1\0"); });
	expect(4, "leed", { Generator.open("mem:", null, "leed=1"); });
}

// The garbage collector stops threads by signals, also those that are in the library.
void threads(ref Generator ids)
{
	auto lists = new long[][](4);
	Thread[] all;
	foreach (t; 0 .. lists.length)
		all ~= ((size_t t) => new Thread({
			auto ring = ids.ring;
			foreach (i; 0 .. 20_000) {
				lists[t] ~= ring.next;
				if (i % 1000 == 0)
					GC.collect();
			}
		}).start)(t);
	foreach (t; all)
		t.join();
	bool[long] made;
	foreach (list; lists)
		foreach (i, id; list) {
			enforce(id !in made && (i == 0 || id > list[i - 1]), "IDs of threads");
			made[id] = true;
		}
}

void main(string[] args)
{
	vectors(args[2]);
	auto ids = Generator.open(args[1], null, "label=d,lead=2000");
	threads(ids);
	auto ring = ids.ring;
	long last;
	foreach (i; 0 .. 100) {
		enforce(ring.front == ring.front && ring.front > last);
		last = ring.front;
		ring.popFront;
	}
	enforce(ids.decode(ids.next).node == ids.decode(ids.take(3)[2]).node);
	{
		auto number = Generator.openStatic(9);
		expect(8, "9", { Generator.openStatic(9); });
	}
	Generator.openStatic(9).close();
	ids.close();
	ids.close();
	foreach (i; 0 .. 20)
		expect(5, "closed", { ring.next; });
	expect(4, "NULL", { ids.next; });
	writeln("ok");
}
