/// 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library.
///
///	auto ids = Generator.open("sqlite:/var/lib/shop/ids.db");
///	long order = ids.next;
///
///	auto ring = ids.ring;                           // for one thread: a few nanoseconds an ID
///	foreach (id; ring.take(3)) { … }                // a range that does not end
module snowfence;

import core.atomic : atomicLoad, atomicStore;
import core.sys.posix.signal;
import std.string : fromStringz, toStringz;

/// What went wrong: what happened, to what, and what to do. status is a number of snowfence.h.
class SnowfenceException : Exception
{
	immutable int status;

	this(int status, string text)
	{
		super(text);
		this.status = status;
	}
}

/// An ID taken apart: seconds and nanoseconds are the Unix time of its tick.
struct Parts
{
	long tick, seconds, nanoseconds, node, sequence, rollback, key, scatter, tag;
}

/// Makes IDs. Threads may share one by reference. Its end gives the node back.
struct Generator
{
	private ulong handle;

	@disable this();
	@disable this(this);

	private this(ulong handle) { this.handle = handle; }

	~this()
	{
		if (handle != 0)
			quiet!snowfence_close(handle); // an error means that the node is free later: close tells
	}

	/// Leases a node from a store; null is the store of this machine. Options are such as "lead=2000".
	static Generator open(string store, string ns = null, string options = null)
	{
		ulong handle;
		check(quiet!snowfence_open(text(store), text(ns), text(options), &handle));
		return Generator(handle);
	}

	/// Makes IDs of one node, whose use a file remembers over restarts.
	static Generator openStateFile(string path, long node, string layout = null, string options = null)
	{
		ulong handle;
		check(quiet!snowfence_open_statefile(text(path), text(layout), node, text(options), &handle));
		return Generator(handle);
	}

	/// Makes IDs of a bare number. It is safe inside this process only.
	static Generator openStatic(long node, string layout = null, string options = null)
	{
		ulong handle;
		check(quiet!snowfence_open_static(text(layout), node, text(options), &handle));
		return Generator(handle);
	}

	/// Makes an ID.
	long next() const
	{
		long id;
		check(quiet!snowfence_next(handle, &id));
		return id;
	}

	/// Makes n IDs. Those with the same bits above the time increase.
	long[] take(size_t n) const
	{
		auto ids = new long[n];
		check(quiet!snowfence_fill(handle, ids.ptr, n, null));
		return ids;
	}

	/// IDs taken ahead, for the thread that calls.
	Ring ring() const { return Ring(handle); }

	/// Takes an ID apart, with the layout and the secrets of this generator.
	Parts decode(long id) const
	{
		Parts parts;
		check(quiet!snowfence_decode_own(handle, id, &parts));
		return parts;
	}

	/// Gives the node back, and throws if the store did not answer. A second call does nothing.
	void close()
	{
		immutable h = handle;
		handle = 0;
		if (h != 0)
			check(quiet!snowfence_close(h));
	}
}

/// IDs taken ahead for one thread, as a range. They increase, with the same bits above the time. They are dropped after 100 ms and when the lease was lost.
struct Ring
{
	private ulong handle;
	private bool has;
	private long current;
	private ulong[1031] memory; // SNOWFENCE_RING_WORDS

	@disable this();
	@disable this(this); // a copy would make the same IDs

	private this(ulong handle) { this.handle = handle; }

	/// Makes an ID.
	long next()
	{
		long id;
		if (snowfence_ring_take(memory.ptr, handle, &id) == 0)
			check(quiet!snowfence_ring_refill(memory.ptr, handle, &id));
		return id;
	}

	enum empty = false;

	long front()
	{
		if (!has) {
			current = next();
			has = true;
		}
		return current;
	}

	void popFront()
	{
		front();
		has = false;
	}
}

/// Takes an ID apart; null is the default layout.
Parts decode(long id, string layout = null)
{
	Parts parts;
	check(quiet!snowfence_decode(text(layout), id, &parts));
	return parts;
}

/// Writes an ID as text, such as "base58"; null is decimal.
string format(long id, string encoding = null)
{
	char[80] buf;
	check(quiet!snowfence_format(id, text(encoding), buf.ptr, buf.length, null));
	return buf.ptr.fromStringz.idup;
}

/// Reads the text of an ID.
long parse(string s, string encoding = null)
{
	long id;
	check(quiet!snowfence_parse(text(s), text(encoding), &id));
	return id;
}

private:

const(char)* text(string s)
{
	foreach (c; s)
		if (c == 0)
			throw new SnowfenceException(4, "a text has a zero byte");
	return s is null ? null : s.toStringz;
}

// Calls the library while no signal comes: the garbage collector stops threads by signals, whose handlers
// look at the stack that they run on, and Go has others. The collector waits for the call.
auto quiet(alias call, Args...)(Args args)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	scope (exit)
		pthread_sigmask(SIG_SETMASK, &old, null);
	if (!atomicLoad(begun))
		begin();
	return call(args);
}

shared bool begun;

// Starts the Go part. It makes handlers run on its signal stacks: those of D, which cannot, are put back.
void begin()
{
	static shared Object lock = new shared Object;
	synchronized (lock)
		if (!atomicLoad(begun))
			beginLocked();
}

void beginLocked()
{
	enum last = 64;
	sigaction_t[last + 1] before;
	long ignored;
	foreach (s; 1 .. last + 1)
		sigaction(s, null, &before[s]);
	snowfence_parse("0", null, &ignored);
	foreach (s; 1 .. last + 1) {
		sigaction_t now;
		if (sigaction(s, null, &now) == 0 && now.sa_handler is before[s].sa_handler && now.sa_flags != before[s].sa_flags)
			sigaction(s, &before[s], null);
	}
	atomicStore(begun, true);
}

void check(int status)
{
	if (status == 0)
		return;
	char[1024] buf;
	snowfence_last_error(buf.ptr, buf.length);
	throw new SnowfenceException(status, buf.ptr.fromStringz.idup);
}

shared static this()
{
	if (snowfence_abi_version() != 1)
		throw new SnowfenceException(9, "libsnowfence has another ABI version than this module, which is for 1");
}

// The calls of snowfence.h. A handle is a number, which nobody follows.
extern (C) nothrow @nogc
{
	int snowfence_abi_version();
	size_t snowfence_last_error(char* buf, size_t size);
	int snowfence_open(const(char)* store, const(char)* ns, const(char)* options, ulong* ids);
	int snowfence_open_statefile(const(char)* path, const(char)* layout, long node, const(char)* options, ulong* ids);
	int snowfence_open_static(const(char)* layout, long node, const(char)* options, ulong* ids);
	int snowfence_next(ulong ids, long* id);
	int snowfence_fill(ulong ids, long* buf, size_t n, size_t* made);
	int snowfence_ring_take(ulong* ring, ulong ids, long* id);
	int snowfence_ring_refill(ulong* ring, ulong ids, long* id);
	int snowfence_close(ulong ids);
	int snowfence_decode(const(char)* layout, long id, Parts* parts);
	int snowfence_decode_own(ulong ids, long id, Parts* parts);
	int snowfence_format(long id, const(char)* encoding, char* buf, size_t size, size_t* length);
	int snowfence_parse(const(char)* text, const(char)* encoding, long* id);
}
