/// Prints IDs: gdc -O2 example.d snowfence.d -lsnowfence -o example && ./example STORE N
import std.conv : to;
import std.stdio : stdout;

import snowfence;

void main(string[] args)
{
	auto ids = Generator.open(args[1], null, "label=d-example");
	auto ring = ids.ring;
	auto output = stdout.lockingTextWriter;
	foreach (i; 0 .. args[2].to!long)
		output.put(ring.next.to!string ~ "\n");
	ids.close();
}
