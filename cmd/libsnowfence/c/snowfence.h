/*
 * snowfence.h: 64-bit IDs that never repeat within a namespace of a store.
 *
 *	snowfence_t *ids;
 *	int64_t id;
 *
 *	if (snowfence_open("sqlite:/var/lib/shop/ids.db", NULL, NULL, &ids) != SNOWFENCE_OK)
 *		...                                     // snowfence_last_error says why
 *	snowfence_next(ids, &id);
 *	snowfence_close(ids);
 *
 * Link with -lsnowfence (pkg-config --cflags --libs snowfence). All calls may be made
 * from many threads at the same time; one handle serves them all.
 *
 * Fork. The library starts threads at the first call that needs them: the open calls,
 * decode, ranges, format, parse, and all calls of snowdrift.h. A process forked after that
 * cannot use the library: every call returns SNOWFENCE_FORKED, also close, so that a child
 * does not give its parent's node back. The child may exec. A process that made no such
 * call may load the library, fork, and open in each child. libsnowfence.a starts them with
 * the program.
 */
#ifndef SNOWFENCE_H
#define SNOWFENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SNOWFENCE_ABI_VERSION 1

/* A generator and a sequence. A handle is a number in a pointer's clothes: it is never
 * followed, so that a NULL, closed or foreign one is a status and never a crash. */
typedef struct snowfence_ids snowfence_t;
typedef struct snowfence_numbers snowfence_sequence_t;

/* What calls return. */
enum {
	SNOWFENCE_OK = 0,
	SNOWFENCE_FENCED = 1,       /* no grant is held: the lease was lost, or the store is unreachable; try again */
	SNOWFENCE_EXHAUSTED = 2,    /* no ID within max-wait: the sequence is used up, or the clock is behind */
	SNOWFENCE_LIFETIME = 3,     /* a time is outside the time bits of the layout */
	SNOWFENCE_INVALID = 4,      /* an argument is wrong: a handle, a name, an option, a text */
	SNOWFENCE_CLOSED = 5,       /* the handle was closed, or its lease has ended for good: open another one */
	SNOWFENCE_FORKED = 6,       /* this process was forked from one that used the library: open in the child only */
	SNOWFENCE_STORE = 7,        /* the store or the state file cannot be used, or does not answer */
	SNOWFENCE_TAKEN = 8,        /* another process has the number, the file, or all the nodes */
	SNOWFENCE_NOT_LOADED = 9,   /* libsnowfence-go.so, beside libsnowfence.so, cannot be loaded */
	SNOWFENCE_TOO_SMALL = 10,   /* the buffer has no room for the text */
	SNOWFENCE_TOO_MANY = 11,    /* 4095 handles are open */
	SNOWFENCE_ENDED = 12,       /* all numbers of the sequence were given out */
	SNOWFENCE_ROLLED_BACK = 13, /* the store may have lost numbers of the sequence: snowfence sequence confirm */
	SNOWFENCE_INTERNAL = 14     /* a defect of the library: please report the text of snowfence_last_error */
};

/* The ABI that the library has: compare it with SNOWFENCE_ABI_VERSION. It rises when a
 * program that was compiled against an older header would break. */
int snowfence_abi_version(void);

/* What a status means, as static text in English. */
const char *snowfence_strerror(int status);

/* The last error of this thread: what happened, to what, and what to do. Passwords are
 * not in it. Writes at most size bytes with the zero at the end, and returns the length
 * of the whole text, as snprintf does. Calls that succeed leave it as it is. */
size_t snowfence_last_error(char *buf, size_t size);

/* Opens a generator on a store. It leases a node and renews it until it is closed.
 *
 * store is a URL as --store takes it, such as "sqlite:/path/ids.db", or of a server, such
 * as "http://ids:8080" or "unix:/run/snowfence/agent.sock", or NULL for the store of this
 * machine. ns is a namespace; NULL is "default". options is text such as
 * "lead=2000,coarse=1", or NULL:
 *
 *	lead=TICKS         how far IDs may run ahead of the clock (0)
 *	spread=N           begin each tick at a random one of N sequence numbers, so that id % N is
 *	                   even where few IDs are made (docs/choose/shards.md)
 *	coarse=1           read the clock once a millisecond: faster, and up to that late
 *	max-wait=5s        how long a call waits for an ID; 0s: not at all
 *	secret-file=FILE   of an encrypted layout; again for each earlier one, oldest first
 *	label=web-1        who holds the node, for people (host/process ID)
 *	node=N             this node, taken over from its holder; with guard=1 only a free one
 *	within=A-B         any free node from A to B, or of a part of the node: within=datacenter=3
 *	block=N            N nodes together, a power of two, for N times the rate
 *	ttl=15s            how long the node stays taken after a crash (15s; a file: 5s)
 *	wait=30s           wait for a free node when all are taken
 *	layout=NAME        of a new namespace, or a spec; an old one must have it
 */
int snowfence_open(const char *store, const char *ns, const char *options, snowfence_t **out);

/* Opens a generator for one node whose use a file remembers over restarts. Use the
 * number with no other file and on no other machine. layout is a name or a spec; NULL is
 * "default". Options: lead, spread, coarse, max-wait, secret-file, and slice=A-B for a
 * part of the sequence. The same file open twice is SNOWFENCE_TAKEN. */
int snowfence_open_statefile(const char *path, const char *layout, int64_t node, const char *options,
                             snowfence_t **out);

/* Opens a generator for a bare number. It is safe inside this process only: one that
 * starts again too soon, or after the clock stepped back, repeats IDs. The same number
 * open twice is SNOWFENCE_TAKEN. So is a number that makes IDs of another layout's number, even
 * if that one is closed, where both layouts have the same epoch and tick. Where one is encrypted,
 * that is any number of another layout or secret. Layouts of another epoch or tick can make one
 * ID. It does not know the numbers of snowdrift.h. Options: lead, spread, coarse, max-wait,
 * secret-file. */
int snowfence_open_static(const char *layout, int64_t node, const char *options, snowfence_t **out);

/* Makes an ID. */
int snowfence_next(snowfence_t *ids, int64_t *id);

/* Makes an ID with a number of yours in the field tag of the layout. One that does not fit is
 * SNOWFENCE_INVALID, and uses up no ID. */
int snowfence_next_for(snowfence_t *ids, int64_t tag, int64_t *id);

/* Puts a tag into an ID of this handle, such as one of a ring. It stays different from all others. */
int snowfence_tag(snowfence_t *ids, int64_t id, int64_t tag, int64_t *tagged);

/* Makes n IDs. One that ends early sets *made: so many IDs at the front of the buffer
 * are good, with an error too. */
int snowfence_fill(snowfence_t *ids, int64_t *buf, size_t n, size_t *made);

/* Closes a generator and gives its node back, for at most five seconds. With an error
 * it is closed too, and the text says until when the node stays taken. */
int snowfence_close(snowfence_t *ids);

/* Opens a sequence, whose numbers are 1, 2, 3, ...; make it with "snowfence sequence
 * create". */
int snowfence_sequence_open(const char *store, const char *name, snowfence_sequence_t **out);
int snowfence_sequence_next(snowfence_sequence_t *sequence, int64_t *number);

/* Room for the text of a number of any sequence. */
#define SNOWFENCE_SERIAL_SIZE 128

/* Takes a number and writes its text with a zero at its end, such as "RE-2026-000017" of a
 * dated sequence, or "17". *length, which may be NULL, is the length of the text. A buffer of
 * fewer than SNOWFENCE_SERIAL_SIZE bytes is SNOWFENCE_TOO_SMALL, and no number is taken. */
int snowfence_sequence_serial(snowfence_sequence_t *sequence, char *buf, size_t size, size_t *length);
int snowfence_sequence_close(snowfence_sequence_t *sequence);

/* An ID taken apart. */
typedef struct {
	int64_t tick;        /* since the epoch of the layout */
	int64_t seconds;     /* Unix time of the start of that tick, ... */
	int64_t nanoseconds; /* ... and the rest of a second */
	int64_t node;        /* all its parts as one number */
	int64_t sequence;
	int64_t rollback;    /* 0 where the layout has no such bits */
	int64_t key;         /* number of the secret, oldest 0 */
	int64_t scatter;     /* chosen by the generator; 0 where the layout has no such bits */
	int64_t tag;         /* of the caller; 0 where the layout has no such bits */
} snowfence_parts_t;

/* Takes an ID apart, with a layout (NULL is "default") or with a handle's, which
 * has the secrets of an encrypted one. */
int snowfence_decode(const char *layout, int64_t id, snowfence_parts_t *parts);
int snowfence_decode_own(snowfence_t *ids, int64_t id, snowfence_parts_t *parts);

/* The IDs from low up to, not including, high. */
typedef struct {
	int64_t low, high;
} snowfence_range_t;

/* Writes the ranges of the IDs of a span of time, in nanoseconds since 1970: one, or one for each
 * value of the fields above the time. A tag from 0 up fixes that field; -1 means all. *written is how
 * many ranges are in the buffer. If there are more, the status is SNOWFENCE_TOO_SMALL. */
int snowfence_ranges(const char *layout, int64_t from, int64_t to, int64_t tag, snowfence_range_t *ranges,
                     size_t n, size_t *written);

/* Room for the text of an ID in every encoding. */
#define SNOWFENCE_TEXT_SIZE 80

/* Writes the text of an ID with a zero at its end. encoding is a name such as "base58"
 * or "hex-fixed"; NULL is "dec". *length, which may be NULL, is the length of the text,
 * with SNOWFENCE_TOO_SMALL too. */
int snowfence_format(int64_t id, const char *encoding, char *buf, size_t size, size_t *length);
int snowfence_parse(const char *text, const char *encoding, int64_t *id);

/*
 * A ring: IDs taken ahead for one thread, so that an ID costs about a nanosecond.
 *
 *	static _Thread_local snowfence_ring_t ring; // zeroed memory, nothing to free
 *
 *	snowfence_ring_next(&ring, ids, &id);
 *
 * A ring belongs to one thread. Never copy a ring: both copies would give out the same IDs.
 * NEVER USE A RING, OR ANY CALL, IN A SIGNAL HANDLER: A HANDLER THAT INTERRUPTED THE RING
 * GETS THE SAME ID AS THE THREAD.
 * Its IDs increase, with the same bits above the time; IDs of two rings are unique only.
 * IDs in it are at most 100 ms old, unless the machine slept or the process was stopped; after a loss,
 * a close or a resumption from a snapshot was seen, none is given out.
 * What a ring holds when its thread ends is lost.
 */
#define SNOWFENCE_RING_LEAST 16
#define SNOWFENCE_RING_MOST 1024

typedef struct {
	snowfence_t *ids; /* whose IDs they are; set it to NULL to drop them */
	const uint64_t *beat, *machine;
	uint64_t seen, made_on; /* the words at beat and machine before the refill */
	uint32_t at, end;
	uint32_t size; /* of the last refill */
	int64_t buf[SNOWFENCE_RING_MOST];
} snowfence_ring_t;

/* A ring in words of 64 bits, for languages that do not read this header. */
#define SNOWFENCE_RING_WORDS (7 + SNOWFENCE_RING_MOST)

/* The rule of rings: an ID is given out if, after it was taken, the ring is of this handle, and both
 * words are as before the refill. The beat rises every 100 ms while IDs are taken, when the lease is
 * lost, at a change of grant and at close; a forked child reads 0. The other word changes when the
 * machine is resumed from a snapshot: then a copy of it may have this ring, too. Returns 1 or 0. */
static inline int snowfence_ring_pop(snowfence_ring_t *ring, snowfence_t *ids, int64_t *id)
{
	int64_t taken;

	if (ring->at == ring->end || ring->ids != ids)
		return 0;
	taken = ring->buf[ring->at++];
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* first it is taken, and then comes the look */
	if (__atomic_load_n(ring->beat, __ATOMIC_ACQUIRE) != ring->seen ||
	    __atomic_load_n(ring->machine, __ATOMIC_ACQUIRE) != ring->made_on)
		return 0;
	*id = taken;
	return 1;
}

/* Drops what a ring holds, takes IDs ahead, and gives out the first. */
int snowfence_ring_refill(snowfence_ring_t *ring, snowfence_t *ids, int64_t *id);

/* Makes an ID from the ring of the calling thread. */
static inline int snowfence_ring_next(snowfence_ring_t *ring, snowfence_t *ids, int64_t *id)
{
	return snowfence_ring_pop(ring, ids, id) ? SNOWFENCE_OK : snowfence_ring_refill(ring, ids, id);
}

/* snowfence_ring_pop as a call, for other languages. It never waits, and runs nothing but C. */
int snowfence_ring_take(snowfence_ring_t *ring, snowfence_t *ids, int64_t *id);

#ifdef __cplusplus
}
#endif

#endif
