/*
 * The rules of leases over one store: what lease/*.go does to the record of one node and to the record of its namespace, with N holders, a store that
 * loses replies and carries writes out late, crashes, clocks, an operator, and stores that are set back.
 *
 * One step is one access to the store, with the local work around it. Three ideas make the search finish:
 *
 *   - One tick. T stands for any tick; the search is over all T. Of every other tick only one thing matters, whether it is above T. So ticks are
 *     bits here (0: at or below T, 1: above), and a result holds for any number of ticks. With -DTICKS=n they are numbers instead, and T each of 0 to n-1.
 *   - No clocks. A clock that may be wrong by any amount at any reading is a free choice at each reading.
 *   - One process with a canonical state: holders sorted (they are alike), nonces renamed, those that no comparison can meet again forgotten.
 *
 * Parameters: N holders; LATE writes in flight; TICKS; SETBACK 1: the store is restored and shows it, 2: it is restored without a sign, 3: a
 * record vanishes; STILL: no change of layout; CALM: one holder alone, from any state, has a grant within CALM accesses to the store.
 * The environment variable MUTANT is the number of a rule to break.
 */

#ifndef N
#define N 2
#endif
#ifndef LATE
#define LATE 1
#endif
#ifdef PLAIN
#define TIDY 0
#else
#define TIDY 1
#endif

/* The rules that can be broken: number, the models that must notice, and the rule. The test reads this table.
#mutant 1 base renew writes only over its own nonce
#mutant 2 base a give-back leaves the record, whose until is the floor
#mutant 3 base an operator's release leaves until alone
#mutant 4 base only who sealed its generator lowers until
#mutant 5 base until is written before it is used
#mutant 6 plain a nonce of somebody else is not adopted
#mutant 7 base the namespace is read after the swap and before the use
#mutant 8 plain a grant of another generation does not count
#mutant 9 base a grant starts at the old until, not at now
#mutant 10 base a lost swap seals
#mutant 11 base the generator is sealed before the node is given back
#mutant 12 base what was adopted is used only after a swap on top of it
#mutant 13 base nothing is granted while the floors are read
#mutant 14 base a new layout begins above the floors of the old one
#mutant 15 base a grant in the hands of a generator that is gone is not given out again
#mutant 16 base until is not lowered below what was used
#mutant 17 base a renewal never lowers until
#mutant 18 plain a give-back writes only over its own nonce
#mutant 19 base a lost swap is no success
#mutant 20 plain an acquisition is undone only where its own nonce stands
#mutant 21 base an unanswered give-back ends the grant
#mutant 22 plain an acquisition writes only over the nonce it read
#mutant 23 plain a record of a later generation is not taken by the rules of an earlier one
#mutant 30 restored the identity of the store is compared before a renewal is used
#mutant 32 restored another identity raises the floor for all
#mutant 33 vanished a record that is gone or went back raises the floor
#mutant 34 silent a raised floor lies above everything that can have been granted
#mutant 35 silent a raised floor takes the grants of others from them
#end */

/* A lapsed grant that is taken anew is a renewal that leaves some ticks out. Nothing depends on what was left out: it can do nothing that a renewal
 * cannot, so that the model has neither that step nor the record's from. */

#define DEAD 14 /* a nonce that no comparison can meet again */
#define NEW 15  /* the nonce of the write in this step; renamed at its end */

#define IDLE 0      /* nothing held */
#define DIAGNOSE 1  /* lost a swap; about to look at what it met */
#define RAISE 2     /* suspects the store; about to read the namespace */
#define RAISE_W 3   /* about to write the raised floor */
#define TAKE_R 4    /* read the namespace, about to read the record */
#define TAKE_W 5    /* about to swap it */
#define CONFIRM 6   /* written; about to read the namespace */
#define CONFIRM_I 7 /* about to ask for the store's identity */
#define HELD 8      /* nothing under way */
#define RENEW_W 9   /* resolved lost replies, about to swap */
#define DOUBT 11    /* the swap was lost, perhaps to a late write of its own */
#define PENDING 12  /* it is not known whether the acquisition was written */
#define UNTAKE 13   /* about to look for it */
#define UNTAKE_W 14 /* about to undo it */
#define GIVE 15     /* giving back */
#define GIVE_W 16   /* resolved lost replies, about to swap */

#define OLDER 0      /* generations: before the layout, of the layout, the namespace's own */
#define LAYOUTS 1
#define LATEST_GEN 2

#define ACTIVE 0
#define CHANGING 1

typedef record {
	byte n;     /* nonce, 0: there is no record */
	byte gen;   /* generation of its write */
	byte from;  /* first tick of the run that ends at until */
	byte until;
}

typedef namespace {
	byte state;
	byte gen;
	byte since;
	byte floor;
	byte n;     /* number of its write, in place of a nonce */
	byte id;    /* identity of the store as recorded */
	byte era;   /* ghost: how often the floor was raised */
}

typedef flight { /* a write that may still come in */
	byte old;
	record w;
}

typedef holder {
	byte pc;
	byte kn;    /* nonce of the record as this holder knows it */
	byte u0;    /* nonces of writes that were not answered */
	byte u1;
	byte gen;
	byte from;  /* of the grant */
	byte to;    /* until that was written and is not used yet; used, in a give-back */
	byte floor; /* of the namespace as read */
	byte since;
	bit sealed; /* a give-back that lowers until */
	bit live;   /* the generator may use [gf, gu) */
	byte gf;
	byte gu;
	bit mine;   /* ghost: stamped T in this grant */
	bit told;   /* ghost: the store said that somebody else changed the record */
#ifdef SETBACK
	byte nsn;   /* number of the namespace's write as read */
	byte known; /* highest until that was used */
	bit suspect;
	bit warned; /* ghost: saw that the store went back, and took no grant above all others since */
	byte after; /* generation behind which the store went back */
	bit early;  /* ghost: held since before the store was set back */
	byte era;   /* ghost */
#endif
#ifdef CALM
	bit pick;
#endif
}

record rec;
namespace ns;
holder h[N];
#if LATE > 0
flight late[LATE];
#endif
byte op, opfloor;      /* the operator's change of layout: 1 frozen, 2 floors read */
#ifdef SETBACK
byte opn, changes;     /* the namespace's write it stands on; how many were begun */
#endif
byte T;                /* with TICKS: the tick that is watched */
bit stamped;           /* ghost: T was stamped */
byte mutant;

#ifdef SETBACK
record brec;           /* the backup */
namespace bns;
bit backed, setback, silent;
byte storeid;
byte stampera;         /* ghost: in which era T was stamped */
#ifdef TICKS
byte clk;              /* the true time */
#else
bit ripe;              /* the true time is near enough that a lease may reach above T */
#endif
#endif
#ifdef CALM
bit calm, done;
byte left;
#endif

#ifdef SETBACK
byte nsn;              /* number of the namespace's next write */
#endif

/* scratch, zero between steps */
byte k, i, res, from, until, f, now, x, y;
int a, b;
record w;
holder hh;
#if LATE > 1
flight ff;
#endif

#define M(n) (mutant == n)
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define UNANSWERED(k, n) ((n) != 0 && (h[k].u0 == (n) || h[k].u1 == (n)))
#define DOUBTS(k) (h[k].u0 != 0)

#ifdef TICKS
#define ABOVE(v) ((v) > T)
#define HIGHEST TICKS
#define TTL 1
#ifdef SETBACK
#ifndef CLOCK
#define CLOCK 2       /* the true time runs from 0 to this */
#endif
#ifndef SKEW
#define SKEW 1        /* Options.MaxSkew: no two clocks differ by more */
#endif
#ifndef BEHIND
#define BEHIND 0      /* how far a clock may be behind the true time */
#endif
#ifndef MARGIN
#define MARGIN SKEW
#endif
#define LATEST (clk + SKEW - BEHIND)
#define AHEAD(v) (!setback && v + 1 > LATEST + TTL) /* floors far ahead, by many take-overs in a moment, are left out here */
#else
#define LATEST (TICKS - 1)
#define AHEAD(v) 0
#endif
#else
#define ABOVE(v) ((v) != 0)
#define HIGHEST 1
#ifdef SETBACK
#define WRITABLE (ripe || setback)
#else
#define WRITABLE 1
#endif
#endif

/* What holder k, which has read the namespace, may be granted of the record: from, until. res is 0 when there is no tick left. */
#ifdef SETBACK
#define FLOOR(k) h[k].floor
#define SINCE(k) h[k].since
#else
/* What was read is what is there while the generation is the same; of an earlier one, it may have been anything that was possible then. Such a grant never
 * counts: what matters is only what it leaves in the record. */
#define FLOOR(k) (h[k].gen == ns.gen -> ns.floor : 0)
#define SINCE(k) (h[k].gen >= ns.since -> ns.since : 0)
#endif
#ifdef SETBACK
#define NOTE_NAMESPACE(k) h[k].floor = ns.floor; h[k].since = ns.since
#else
#define NOTE_NAMESPACE(k) skip
#endif
inline floor_of(k) {
	f = FLOOR(k);
	if
	:: rec.n != 0 && rec.gen >= SINCE(k) && !M(9) -> f = MAX(f, rec.until)
	:: rec.n == 0 || rec.gen < SINCE(k) || M(9)
#ifndef SETBACK
	:: h[k].gen < ns.since
	:: h[k].gen != ns.gen && f < HIGHEST -> f = HIGHEST
#endif
	fi
}

inline clock_reading() {
#ifdef TICKS
	now = 0;
	do
	:: now < LATEST -> now++
	:: break
	od
#else
	skip
#endif
}

inline window(k) {
	floor_of(k);
	clock_reading();
#ifdef TICKS
	from = MAX(f, (now > TTL -> now - TTL : 0));
	if
	:: from >= TICKS || AHEAD(from) -> res = 0; from = 0; until = 0
	:: else ->
		res = 1;
		until = MIN(MAX(from + 1, now + TTL), TICKS)
	fi
#else
	res = 1;
	if
	:: from = f
	:: !f && WRITABLE -> from = 1
	fi;
	if
	:: from -> until = 1
	:: !from -> until = 0
	:: !from && WRITABLE -> until = 1
	fi
#endif
}

/* w becomes the record as it is written when [from, until) is granted out of it */
inline granted(k) {
	w.from = 0;
	w.until = until;
	w.gen = h[k].gen;
	w.n = NEW
}

inline kept() { /* w becomes the record as it is, under a new nonce */
	w.from = rec.from;
	w.until = rec.until; w.gen = rec.gen; w.n = NEW
}

#define COPY_RECORD(a, b) a.n = b.n; a.gen = b.gen; a.from = b.from; a.until = b.until

#define DONE 1
#define LOST 2
#define UNKNOWN 3 /* and it never comes */
#define WRITTEN 4 /* but the reply is lost */
#define FLYING 5  /* and it may come in later */

/* The swap of w over old: every outcome. any: without looking at the nonce. */
#ifdef CALM
#define FAULTS (!calm)
#else
#define FAULTS 1
#endif
inline swap(token, any) {
	if
	:: rec.n == token || any -> COPY_RECORD(rec, w); res = DONE
	:: FAULTS && (rec.n == token || any) -> COPY_RECORD(rec, w); res = WRITTEN
#if LATE > 0
	:: FAULTS && rec.n == token && late[0].w.n == 0 -> late[0].old = token; COPY_RECORD(late[0].w, w); res = FLYING
#if LATE > 1
	:: FAULTS && rec.n == token && late[0].w.n != 0 && late[1].w.n == 0 -> late[1].old = token; COPY_RECORD(late[1].w, w); res = FLYING
#endif
#endif
	:: FAULTS -> res = UNKNOWN
	:: rec.n != token && !any -> res = LOST
	fi
}

#define ANSWERED (res == DONE || res == LOST)

inline unanswered(k) { /* remembers the nonce of the write whose reply was lost; two at most, later ones are taken for somebody else's */
	x = (res == UNKNOWN -> DEAD : NEW);
	if
	:: h[k].u0 == 0 -> h[k].u0 = x
	:: h[k].u0 != 0 && h[k].u1 == 0 -> h[k].u1 = x
	:: h[k].u0 != 0 && h[k].u1 != 0
	fi
}

inline forget(k) { /* the hold is gone */
	h[k].pc = IDLE; h[k].kn = 0; h[k].u0 = 0; h[k].u1 = 0; h[k].gen = 0; h[k].from = 0; h[k].to = 0; h[k].floor = 0; h[k].since = 0;
	h[k].sealed = 0;
	if
	:: M(10) && h[k].told
	:: else -> h[k].live = 0; h[k].gf = 0; h[k].gu = 0; h[k].mine = 0; h[k].told = 0
	fi;
#ifdef SETBACK
	h[k].nsn = 0; h[k].early = 0; h[k].era = 0
#else
	skip
#endif
}

inline lose(k) { h[k].told = h[k].live; forget(k) }

#ifdef SETBACK
inline distrust(k) { h[k].suspect = 1; h[k].after = h[k].gen }

inline judge(k) { /* of what is stored: it vanished; or its revision is behind, which it stays only until others have written often enough */
	if
	:: rec.n == 0 || h[k].early -> h[k].warned = 1;
		if
		:: M(33)
		:: else -> distrust(k)
		fi
	:: rec.n != 0
	fi
}
#else
#define judge(k) skip
#endif

inline resolve(k) { /* res: 1 go on, 0 lost */
	if
	:: rec.n == h[k].kn || UNANSWERED(k, rec.n) || M(6) ->
		h[k].kn = rec.n;
		h[k].from = MAX(h[k].from, rec.from);
		res = 1
	:: else -> judge(k); lose(k); res = 0
	fi
}

#ifdef SETBACK
/* What nobody can see at once: a store that went back without a sign. Until somebody notices, holders from before and from after meet. Whoever noticed, and
 * whoever has a grant confirmed after the floor was raised, meets nobody. */
#define UNSEEN(k) (silent && stampera == h[k].era && !h[k].warned)
#else
#define UNSEEN(k) 0
#endif

inline publish(k) {
	if
	:: h[k].live && h[k].gf == h[k].from -> h[k].gu = MAX(h[k].gu, h[k].to) /* a bound is never lowered */
	:: else -> h[k].gu = h[k].to; h[k].told = 0;
		if
		:: !h[k].live || ABOVE(h[k].from) -> h[k].mine = 0 /* another grant */
		:: else
		fi
	fi;
	h[k].gf = h[k].from;
	h[k].live = 1; h[k].to = 0; h[k].pc = HELD;
#ifdef SETBACK
	h[k].known = MAX(h[k].known, h[k].gu);
#endif
#ifdef CALM
	if
	:: h[k].pick -> done = 1
	:: else
	fi
#endif
}

inline confirmed(k) { /* the hold's write was acknowledged */
	h[k].kn = NEW; h[k].u0 = 0; h[k].u1 = 0; h[k].floor = 0; h[k].since = 0;
	h[k].to = until;
	h[k].pc = CONFIRM;
	if
	:: M(7) -> publish(k)
	:: else
	fi
}

inline begin(k) { /* usable: reads the namespace, and the store's identity */
	if
#ifdef SETBACK
	:: ns.state == ACTIVE && ns.id != storeid -> h[k].pc = RAISE
	:: ns.state == ACTIVE && ns.id == storeid ->
		h[k].gen = ns.gen; h[k].floor = ns.floor; h[k].since = ns.since; h[k].pc = TAKE_R
#else
	:: ns.state == ACTIVE -> h[k].gen = ns.gen; h[k].pc = TAKE_R
#endif
	:: ns.state != ACTIVE
	fi
}

inline renewal(k) { /* the swap of a renewal in place */
	kept();
	w.gen = h[k].gen;
	clock_reading();
#ifdef TICKS
	until = MIN(MAX((M(17) -> 0 : rec.until), now + TTL), TICKS);
#else
	if
	:: until = (M(17) -> 0 : rec.until)
	:: rec.until == 0 && WRITABLE -> until = 1
	fi;
#endif
	w.until = until;
	if
	:: M(5) -> h[k].gu = MAX(h[k].gu, until)
	:: else
	fi;
	h[k].floor = 0; h[k].since = 0;
	x = DOUBTS(k);
	swap(h[k].kn, M(1));
	if
	:: M(19) && res == LOST -> res = DONE
	:: else
	fi;
	if
	:: res == DONE -> confirmed(k)
	:: res == LOST && x -> h[k].pc = DOUBT
	:: res == LOST && !x ->
#ifdef SETBACK
		h[k].pc = DIAGNOSE; h[k].told = h[k].live;
		if
		:: M(10)
		:: else -> h[k].live = 0; h[k].gf = 0; h[k].gu = 0; h[k].mine = 0; h[k].told = 0
		fi;
		h[k].kn = 0; h[k].from = 0
#else
		lose(k)
#endif
	:: !ANSWERED -> unanswered(k); h[k].pc = HELD
	fi
}

inline give_back(k) { /* the swap of a give-back */
	kept();
	if
	:: h[k].sealed || M(4) ->
#ifdef TICKS
		w.until = MIN(rec.until, MAX((M(16) -> 0 : h[k].to), h[k].from))
#else
		w.until = (rec.until && ((h[k].to && !M(16)) || h[k].from))
#endif
	:: else
	fi;
	if
	:: M(2) -> w.n = 0; w.until = 0; w.from = 0; w.gen = 0
	:: else
	fi;
	swap(h[k].kn, M(18));
	if
	:: res == DONE -> forget(k)
	:: res == LOST && DOUBTS(k) -> h[k].pc = GIVE
	:: res == LOST && !DOUBTS(k) -> forget(k)
	:: !ANSWERED ->
		unanswered(k);
		h[k].sealed = 0; h[k].to = 0; h[k].pc = GIVE;
		if
		:: M(21) -> h[k].pc = HELD; h[k].live = 1; h[k].gf = h[k].from; h[k].gu = rec.until
		:: else
		fi
	fi
}

inline step(k) {
	if
	:: h[k].pc == IDLE ->
#ifdef SETBACK
		if
		:: h[k].suspect -> h[k].pc = RAISE
		:: else -> begin(k)
		fi
#else
		begin(k)
#endif

#ifdef SETBACK
	:: h[k].pc == DIAGNOSE -> judge(k); forget(k)
	:: h[k].pc == RAISE && ns.state == ACTIVE -> /* reads the namespace, the identity, the clock */
		if
		:: h[k].suspect && ns.gen > h[k].after && ns.floor >= h[k].known && ns.id == storeid -> h[k].suspect = 0; h[k].warned = 0; h[k].after = 0; h[k].pc = IDLE
		:: !h[k].suspect && ns.id == storeid -> h[k].pc = IDLE
		:: else ->
			h[k].nsn = ns.n;
			h[k].pc = RAISE_W;
#ifdef TICKS
			now = MAX(clk, BEHIND) - BEHIND;
			do
			:: now < LATEST -> now++
			:: break
			od;
			h[k].floor = MAX(MAX(ns.floor, (M(34) -> now : now + TTL + MARGIN + 1)), h[k].known)
#else
			if
			:: h[k].floor = (ns.floor || h[k].known || (ripe && !M(34)))
			:: h[k].floor = 1
			fi
#endif
		fi
	:: h[k].pc == RAISE_W ->
		if
		:: ns.n == h[k].nsn && ns.state == ACTIVE ->
			if
			:: M(32) && !h[k].suspect
			:: else -> ns.floor = h[k].floor
			fi;
			ns.id = storeid; ns.era++; ns.n = nsn; nsn++;
			if
			:: M(35)
			:: else -> ns.gen++
			fi;
			h[k].suspect = 0; h[k].warned = 0; h[k].after = 0; h[k].pc = IDLE
		:: else -> h[k].pc = RAISE
		fi;
		h[k].floor = 0; h[k].nsn = 0
#endif

	:: h[k].pc == TAKE_R ->
		if
		:: rec.n != 0 && rec.gen > h[k].gen && !M(23) -> forget(k) /* the namespace was changed since it was read: again */
		:: rec.n == 0 || rec.gen <= h[k].gen || M(23) -> h[k].kn = rec.n; h[k].pc = TAKE_W
		fi
	:: h[k].pc == TAKE_W ->
		if
		:: rec.n != h[k].kn && !M(22) ->
			if
			:: forget(k) /* somebody else was faster */
			:: FAULTS -> forget(k) /* or the reply was lost, which ends the same way: it is not found, and nothing was used */
			fi
		:: else ->
			window(k);
			granted(k);
			if
			:: res == 0 -> forget(k)
			:: else ->
				swap(h[k].kn, M(22));
				h[k].from = from; h[k].floor = 0; h[k].since = 0;
#ifndef SETBACK
				/* Order: a grant that was taken after T was stamped starts above T, if it may still count. */
				assert(!(res == DONE || res == WRITTEN) || !stamped || ABOVE(from) || h[k].gen != ns.gen);
#endif
				if
				:: res == DONE -> confirmed(k)
				:: !ANSWERED -> h[k].kn = 0; h[k].u0 = (res == UNKNOWN -> DEAD : NEW); h[k].pc = PENDING
				fi
			fi
		fi

	:: h[k].pc == CONFIRM ->
		if
		:: ns.state == ACTIVE && (ns.gen == h[k].gen || M(8)) ->
#ifdef SETBACK
			h[k].floor = ns.id; h[k].era = ns.era; h[k].pc = CONFIRM_I
#else
			publish(k)
#endif
		:: ns.state != ACTIVE || (ns.gen != h[k].gen && !M(8)) ->
#ifdef SETBACK
			if
			:: ns.gen < h[k].gen -> distrust(k)
			:: else
			fi;
#endif
			lose(k)
		:: FAULTS -> h[k].to = 0; h[k].pc = HELD /* it cannot be read now */
		fi
#ifdef SETBACK
	:: h[k].pc == CONFIRM_I ->
		if
		:: h[k].floor == storeid || M(30) -> h[k].floor = 0; publish(k)
		:: h[k].floor != storeid && !M(30) -> distrust(k); lose(k)
		:: FAULTS -> h[k].floor = 0; h[k].to = 0; h[k].pc = HELD
		fi
#endif

	:: h[k].pc == HELD ->
		if
		:: !DOUBTS(k) -> renewal(k)
		:: DOUBTS(k) ->
			resolve(k);
			if
			:: res == 1 && M(12) && rec.until >= h[k].gu -> h[k].to = rec.until; publish(k)
			:: res == 1 && !M(12) -> h[k].pc = RENEW_W
			:: else
			fi
		:: FAULTS && !h[k].live -> h[k].sealed = 1; h[k].to = h[k].from; h[k].pc = GIVE /* nothing of it was ever used */
		:: FAULTS && h[k].live -> /* seals the generator, which says up to where it used the grant, and gives the node back */
#ifdef TICKS
			h[k].to = h[k].gf;
			do
			:: h[k].to < h[k].gu -> h[k].to++
			:: !h[k].mine || h[k].to > T -> break
			od;
#else
			if
			:: h[k].to = h[k].mine
			:: h[k].to = 1
			fi;
#endif
			h[k].sealed = 1; h[k].pc = GIVE;
			if
			:: !M(11) -> h[k].live = 0; h[k].gf = 0; h[k].gu = 0; h[k].mine = 0
			:: else
			fi
		:: FAULTS && h[k].live -> /* its generator is gone and did not say */
			h[k].mine = 0;
			if
			:: !M(15) -> h[k].live = 0; h[k].gf = 0; h[k].gu = 0; h[k].pc = GIVE
			:: else
			fi
		fi
	:: h[k].pc == RENEW_W -> renewal(k)
	:: h[k].pc == DOUBT ->
		if
		:: resolve(k);
			if
			:: res == 1 -> h[k].pc = HELD
			:: else
			fi
		:: FAULTS -> lose(k) /* it cannot be read */
		fi

	:: h[k].pc == PENDING ->
		if
		:: UNANSWERED(k, rec.n) -> h[k].kn = rec.n; h[k].pc = HELD
		:: !UNANSWERED(k, rec.n) -> h[k].pc = UNTAKE
		:: FAULTS -> h[k].pc = UNTAKE
		fi
	:: h[k].pc == UNTAKE ->
		if
		:: UNANSWERED(k, rec.n) || (M(20) && rec.n != 0) -> h[k].kn = rec.n; h[k].pc = UNTAKE_W
		:: else -> forget(k)
		fi
	:: h[k].pc == UNTAKE_W ->
		kept();
		w.until = MIN(rec.until, h[k].from);
		swap(h[k].kn, 0);
		forget(k)

	:: h[k].pc == GIVE && DOUBTS(k) ->
		resolve(k);
		if
		:: res == 1 -> h[k].pc = GIVE_W
		:: else
		fi
	:: h[k].pc == GIVE && !DOUBTS(k) -> give_back(k)
	:: h[k].pc == GIVE_W -> give_back(k)
	:: else /* it waits */
	fi
}

#define STAMPS(k) (h[k].live && !h[k].mine && !ABOVE(h[k].gf) && ABOVE(h[k].gu))

inline stamp(k) {
	assert(!h[k].told);               /* who was told of a loss stamps no more */
	assert(!stamped || UNSEEN(k));  /* no tick of a node is stamped in two grants */
	stamped = 1;
#ifdef SETBACK
	stampera = h[k].era;
#endif
	h[k].mine = 1
}

/* The state's canonical form. */

#ifdef SETBACK
#define BACK(v) (backed && !setback && (v) == brec.n)
#else
#define BACK(v) 0
#endif

inline rename(v) {
	if
	:: v == 0 || v == DEAD
	:: v != 0 && v != DEAD && v == rec.n -> v = 1
#ifdef SETBACK
	:: v != 0 && v != DEAD && v != rec.n && BACK(v) -> v = 2
#endif
#if LATE > 0
	:: v != 0 && v != DEAD && v != rec.n && !BACK(v) && v == late[0].w.n -> v = 3
#endif
#if LATE > 1
	:: v != 0 && v != DEAD && v != rec.n && !BACK(v) && v != late[0].w.n && v == late[1].w.n -> v = 4
#endif
	:: else -> v = DEAD
	fi
}

#define ALIVE(v) ((v) == rec.n || BACK(v))

inline drop(q) {
	late[q].old = 0; late[q].w.n = 0; late[q].w.gen = 0; late[q].w.from = 0; late[q].w.until = 0
}

#ifdef SETBACK
#define COPY_MORE(a, b) ; a.nsn = b.nsn; a.known = b.known; a.suspect = b.suspect; a.warned = b.warned; a.after = b.after; a.early = b.early; a.era = b.era
#else
#define COPY_MORE(a, b)
#endif
#ifdef CALM
#define COPY_PICK(a, b) ; a.pick = b.pick
#else
#define COPY_PICK(a, b)
#endif
#define COPY_HOLDER(a, b) a.pc = b.pc; a.kn = b.kn; a.u0 = b.u0; a.u1 = b.u1; a.gen = b.gen; a.from = b.from; a.to = b.to; a.floor = b.floor; a.since = b.since; a.sealed = b.sealed; a.live = b.live; a.gf = b.gf; a.gu = b.gu; a.mine = b.mine; a.told = b.told COPY_MORE(a, b) COPY_PICK(a, b)

#ifdef CALM
#define PICKED(k) (h[k].pick << 30)
#else
#define PICKED(k) 0
#endif

/* Two numbers that tell holders apart, but for their nonces of writes in flight. */
#define KEY1(k) (h[k].pc | (h[k].kn << 5) | (h[k].u0 << 9) | (h[k].u1 << 13) | (h[k].sealed << 17) | (h[k].live << 19) | (h[k].mine << 20) | (h[k].told << 21) | (h[k].gen << 22) | PICKED(k))
#define KEY2(k) (h[k].from | (h[k].to << 4) | (h[k].floor << 8) | (h[k].since << 12) | (h[k].gf << 16) | (h[k].gu << 20))

inline order(k, l) {
	a = KEY1(k); b = KEY1(l);
	if
	:: a == b -> a = KEY2(k); b = KEY2(l)
	:: else
	fi;
	if
	:: a > b -> COPY_HOLDER(hh, h[k]); COPY_HOLDER(h[k], h[l]); COPY_HOLDER(h[l], hh)
	:: else
	fi
}

#ifndef SETBACK
/* Of generations only two things count: whether they are the namespace's own, and whether they are of its layout. Not when the store may go back: then
 * a number may come twice. */
#define CLASS(v) v = (v < ns.since -> OLDER : (v == ns.gen -> LATEST_GEN : LAYOUTS))
#endif

inline classes() {
#ifndef SETBACK
	CLASS(rec.gen);
	for (i : 0 .. N - 1) { CLASS(h[i].gen) }
#if LATE > 0
	for (i : 0 .. LATE - 1) { CLASS(late[i].w.gen) }
#endif
	ns.since = (ns.since == ns.gen -> LATEST_GEN : LAYOUTS);
	ns.gen = LATEST_GEN
#else
	skip
#endif
}

/*
 * What can make no difference any more is forgotten. Not with a broken rule, which might make one of it.
 *
 *   - An unanswered write that never comes is as good as none.
 *   - A holder whose next access to the store can only tell it that it lost has been told. While its generator can still stamp T, it stays for that.
 *   - A holder of an earlier layout never uses what it writes, and what it writes replaces only records of earlier layouts, whose ticks nobody looks at. It
 *     can disturb others by the new nonce alone, and so can the operator at any time.
 *   - Once no grant starts at or below T any more, there is nothing to do but to stamp T.
 */
#ifdef CALM
#define ENDED 0
#else
#define ENDED ABOVE(ns.floor)
#endif
#define HOPELESS(k) (h[k].kn == DEAD && h[k].u0 == 0)
#define WAITS(k) (h[k].pc == HELD || h[k].pc == RENEW_W || h[k].pc == DOUBT || (h[k].pc == CONFIRM && h[k].gen != LATEST_GEN))

inline remain(k) { /* for its generator, if it may still stamp T */
	if
	:: STAMPS(k) -> h[k].pc = HELD; h[k].kn = DEAD; h[k].u0 = 0; h[k].u1 = 0; h[k].from = 0; h[k].to = 0; h[k].gen = 0
	:: else -> forget(k)
	fi
}

inline tidy() {
	for (i : 0 .. N - 1) {
		if
		:: h[i].u0 == DEAD -> h[i].u0 = 0; h[i].u1 = 0
		:: else
		fi;
		if
		:: h[i].pc == RENEW_W && h[i].u0 == 0 -> h[i].pc = HELD
		:: h[i].pc == GIVE_W && h[i].u0 == 0 -> h[i].pc = GIVE
		:: else
		fi;
#ifdef SETBACK
		if
		:: (h[i].pc == PENDING || h[i].pc == UNTAKE) && h[i].u0 == 0 -> forget(i)
		:: (h[i].pc == TAKE_W || h[i].pc == UNTAKE_W || h[i].pc == GIVE || h[i].pc == GIVE_W) && HOPELESS(i) -> forget(i)
		:: (h[i].pc == HELD || h[i].pc == RENEW_W || h[i].pc == DOUBT) && HOPELESS(i) -> /* it still has to see why */
			h[i].pc = HELD; h[i].from = 0; h[i].floor = 0; h[i].since = 0
		:: else
		fi;
#else
		if
		:: h[i].pc == IDLE
		:: h[i].pc != IDLE && (ENDED || h[i].gen == OLDER) -> remain(i)
		:: else ->
			if
			:: (h[i].pc == PENDING || h[i].pc == UNTAKE) && h[i].u0 == 0 -> forget(i)
			:: (h[i].pc == TAKE_W || h[i].pc == UNTAKE_W || h[i].pc == GIVE || h[i].pc == GIVE_W) && HOPELESS(i) -> forget(i)
			:: WAITS(i) && HOPELESS(i) -> remain(i)
			:: h[i].pc == CONFIRM && HOPELESS(i) && !STAMPS(i) && (ABOVE(h[i].from) || !ABOVE(h[i].to)) -> forget(i)
			:: else
			fi
		fi;
#endif
#ifndef TICKS
		if
		:: h[i].live && h[i].gf -> h[i].gu = 1 /* it never stamps T */
		:: else
		fi;
		if
		:: h[i].pc >= GIVE && h[i].from -> h[i].to = 0
		:: else
		fi
#endif
	}
#ifndef SETBACK
	if
	:: rec.gen == OLDER -> rec.until = 0; rec.from = 0
	:: else
	fi;
#if LATE > 0
	if
	:: late[0].w.n != 0 && late[0].w.gen == OLDER -> drop(0)
	:: else
	fi;
#endif
#if LATE > 1
	if
	:: late[1].w.n != 0 && late[1].w.gen == OLDER -> drop(1)
	:: else
	fi;
#endif
	if
	:: op == 0 && ns.state == CHANGING -> op = 1 /* to be called again */
	:: else
	fi;
	if
	:: ENDED -> rec.n = 0; rec.gen = 0; rec.until = 0; rec.from = 0; op = 0; opfloor = 0; ns.state = ACTIVE;
#if LATE > 0
		drop(0);
#endif
#if LATE > 1
		drop(1)
#endif
	:: else
	fi
#endif
}
inline report() { /* for the replay of an error trail */
	printf("rec n%d gen%d [%d,%d) | ns state%d gen%d since%d floor%d | T stamped %d |", rec.n, rec.gen, rec.from, rec.until, ns.state, ns.gen, ns.since, ns.floor, stamped);
	for (i : 0 .. N - 1) {
		printf(" h%d: pc%d kn%d u%d,%d gen%d from%d to%d", i, h[i].pc, h[i].kn, h[i].u0, h[i].u1, h[i].gen, h[i].from, h[i].to);
		printf(" live%d [%d,%d) mine%d |", h[i].live, h[i].gf, h[i].gu, h[i].mine);
	}
#ifdef SETBACK
	printf(" ns id%d n%d era%d; store %d backed%d setback%d n%d;", ns.id, ns.n, ns.era, storeid, backed, setback, brec.n);
#endif
#ifdef TICKS
	printf(" T %d", T);
#endif
	printf("\n")
}

inline canonical() {
	d_step {
#if LATE > 0
		/* A write whose turn is over is gone. */
#if LATE > 1
		for (i : 0 .. 1) {
			if
			:: late[i].w.n != 0 && !ALIVE(late[i].old) && !(late[1 - i].w.n != 0 && late[i].old == late[1 - i].w.n) -> drop(i)
			:: else
			fi
		}
		for (i : 0 .. 1) {
			if
			:: late[i].w.n != 0 && !ALIVE(late[i].old) && !(late[1 - i].w.n != 0 && late[i].old == late[1 - i].w.n) -> drop(i)
			:: else
			fi
		}
		if
		:: late[0].w.n == 0 && late[1].w.n != 0 -> late[0].old = late[1].old; COPY_RECORD(late[0].w, late[1].w); drop(1)
		:: else
		fi;
#else
		if
		:: late[0].w.n != 0 && !ALIVE(late[0].old) -> drop(0)
		:: else
		fi;
#endif
#endif
		for (i : 0 .. N - 1) {
			rename(h[i].kn); rename(h[i].u0); rename(h[i].u1);
			if
			:: h[i].u1 == h[i].u0 || h[i].u1 == DEAD -> h[i].u1 = 0
			:: h[i].u0 == DEAD && h[i].u1 != 0 && h[i].u1 != DEAD -> h[i].u0 = h[i].u1; h[i].u1 = 0
			:: h[i].u0 != DEAD && h[i].u1 != 0 && h[i].u1 < h[i].u0 -> x = h[i].u0; h[i].u0 = h[i].u1; h[i].u1 = x
			:: else
			fi
		}
#if LATE > 1
		rename(late[0].old); rename(late[1].old);
		if
		:: late[1].w.n != 0 -> late[1].w.n = 4
		:: else
		fi;
#elif LATE > 0
		rename(late[0].old);
#endif
#if LATE > 0
		if
		:: late[0].w.n != 0 -> late[0].w.n = 3
		:: else
		fi;
#endif
#ifdef SETBACK
		if
		:: backed && !setback && brec.n != 0 -> brec.n = (brec.n == rec.n -> 1 : 2)
		:: else
		fi;
#endif
		if
		:: rec.n != 0 -> rec.n = 1
		:: else
		fi;
		classes();
		if
		:: TIDY -> tidy()
		:: else
		fi;
#if N > 1
		order(0, 1);
#endif
#if N > 2
		order(1, 2); order(0, 1);
#endif
#if N > 3
		order(2, 3); order(1, 2); order(0, 1);
#endif
		report();
		k = 0; i = 0; res = 0; from = 0; until = 0; f = 0; now = 0; x = 0; y = 0; a = 0; b = 0;
		w.n = 0; w.gen = 0; w.from = 0; w.until = 0;
		hh.pc = 0; hh.kn = 0; hh.u0 = 0; hh.u1 = 0; hh.gen = 0; hh.from = 0; hh.to = 0; hh.floor = 0; hh.since = 0;
		hh.sealed = 0; hh.live = 0; hh.gf = 0; hh.gu = 0; hh.mine = 0; hh.told = 0;
#ifdef SETBACK
		hh.nsn = 0; hh.known = 0; hh.suspect = 0; hh.warned = 0; hh.after = 0; hh.early = 0; hh.era = 0;
#endif
#ifdef CALM
		hh.pick = 0;
#endif
	}
}

inline crash(k) {
	h[k].live = 0; h[k].gf = 0; h[k].gu = 0; h[k].mine = 0; h[k].told = 0;
#ifdef SETBACK
	h[k].known = 0; h[k].suspect = 0; h[k].warned = 0; h[k].after = 0;
#endif
	forget(k)
}

/* The operator. */

inline freeze() {
	if
	:: M(13)
	:: else -> ns.state = CHANGING; ns.gen++
	fi;
#ifdef SETBACK
	changes++; ns.n = nsn; opn = nsn; nsn++;
#endif
	op = 1
}

inline read_floors() {
	opfloor = ns.floor;
	if
	:: rec.n != 0 && rec.gen >= ns.since && !M(14) ->
		opfloor = MAX(opfloor, rec.until)
	:: else
	fi;
	op = 2
}

inline change() {
	if
#ifdef SETBACK
	:: ns.n != opn /* it was changed since, or the store was set back */
	:: ns.n == opn ->
		ns.n = nsn; nsn++;
#else
	:: true ->
#endif
		if
		:: ns.floor = opfloor; ns.since = ns.gen + 1 /* another layout */
		:: ns.floor = opfloor                        /* deleted and made again */
		:: skip                                      /* refused */
		fi;
		ns.gen++;
		ns.state = ACTIVE
	fi;
	op = 0; opfloor = 0
#ifdef SETBACK
	; opn = 0
#endif
}

inline release() { /* also a veto: the holder is evicted, the floor stays */
	kept();
	if
	:: rec.n == 0 -> w.gen = ns.gen; w.until = ns.floor; w.from = ns.floor
	:: else
	fi;
	if
	:: M(3) -> w.until = rec.from
	:: else
	fi;
	COPY_RECORD(rec, w)
}


#ifdef SETBACK
#ifndef CHANGES
#define CHANGES 1
#endif
inline back_up() {
	backed = 1;
	COPY_RECORD(brec, rec);
	bns.state = ns.state; bns.gen = ns.gen; bns.since = ns.since; bns.floor = ns.floor; bns.n = ns.n; bns.id = ns.id; bns.era = ns.era
}

inline set_back() {
	setback = 1;
	for (i : 0 .. N - 1) {
		h[i].early = h[i].pc != IDLE
	}
}

inline restore() {
	set_back();
	COPY_RECORD(rec, brec);
	ns.state = bns.state; ns.gen = bns.gen; ns.since = bns.since; ns.floor = bns.floor; ns.n = bns.n; ns.id = bns.id; ns.era = bns.era;
	brec.n = 0; brec.gen = 0; brec.from = 0; brec.until = 0;
	bns.state = 0; bns.gen = 0; bns.since = 0; bns.floor = 0; bns.n = 0; bns.id = 0; bns.era = 0;
#if SETBACK == 1
	storeid = 1
#else
	silent = 1
#endif
}

inline vanish() {
	set_back();
	silent = 1;
	rec.n = 0; rec.gen = 0; rec.from = 0; rec.until = 0
}
#endif

#ifdef CALM
#define STEPS(k) (!done && (!calm || (h[k].pick && op == 0 && ns.state == ACTIVE)))
#define WORLD (!calm && !done)
#define CHANGE (!done && (!calm || ns.state != ACTIVE))
#define FINISH (!done)
#else
#define STEPS(k) 1
#define WORLD 1
#define CHANGE 1
#define FINISH 1
#endif

active proctype world() {
	atomic {
		c_code { char *m = getenv("MUTANT"); now.mutant = m ? atoi(m) : 0; };
		ns.gen = 2; ns.since = 2;
#ifdef SETBACK
		nsn = 1;
#endif
#ifdef TICKS
		do
		:: T < TICKS - 1 -> T++
		:: break
		od
#endif
	};
end:
	do
	:: atomic {
		if
		:: STEPS(0)
#if N > 1
		:: STEPS(1) -> k = 1
#endif
#if N > 2
		:: STEPS(2) -> k = 2
#endif
#if N > 3
		:: STEPS(3) -> k = 3
#endif
		fi;
		if
#ifdef CALM
		:: calm -> assert(left > 0); left--; step(k)
		:: !calm -> step(k)
		:: !calm -> crash(k)
#else
		:: step(k)
		:: crash(k)
#endif
		:: STAMPS(k) -> stamp(k)
		fi;
		canonical()
	   }
#if LATE > 0
	:: atomic { FINISH && late[0].w.n != 0 && late[0].old == rec.n -> COPY_RECORD(rec, late[0].w); drop(0); canonical() }
#if LATE > 1
	:: atomic { FINISH && late[1].w.n != 0 && late[1].old == rec.n -> COPY_RECORD(rec, late[1].w); drop(1); canonical() }
#endif
#endif
	:: atomic { WORLD -> release(); canonical() }
#ifdef SETBACK
	:: atomic { CHANGE && op == 0 && (changes < CHANGES || ns.state != ACTIVE) -> freeze(); canonical() }
#else
	#ifndef STILL
	:: atomic { CHANGE && op == 0 -> freeze(); canonical() }
#endif
#endif
	:: atomic { FINISH && op == 1 -> read_floors(); canonical() }
	:: atomic { FINISH && op == 2 -> change(); canonical() }
	:: atomic { WORLD && op != 0 -> op = 0; opfloor = 0; canonical() } /* the operator's program dies */
#ifdef SETBACK
#if SETBACK < 3
	:: atomic { WORLD && !backed && !setback -> back_up(); canonical() }
	:: atomic { WORLD && backed && !setback -> restore(); canonical() }
#endif
#if SETBACK == 3
	:: atomic { WORLD && !setback && rec.n != 0 -> vanish(); canonical() }
#endif
#ifdef TICKS
	:: atomic { WORLD && clk < CLOCK -> clk++ }
#else
	:: atomic { WORLD && !ripe -> ripe = 1 }
#endif
#endif
#ifdef CALM
	:: atomic { !calm && !done -> calm = 1; left = CALM;
		if
		:: h[0].pick = 1
#if N > 1
		:: h[1].pick = 1
#endif
#if N > 2
		:: h[2].pick = 1
#endif
		fi;
		canonical()
	   }
#endif
	od
}
