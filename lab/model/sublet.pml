/*
 * The second level: lessors divide a grant of the store's among holders, from memory. The rules are those of lease/sublet/division.go. That the grants of lessors
 * do not overlap is what lease.pml shows, and this model builds on it: the record of the unit is its until and the lessor that wrote it.
 *
 * As in lease.pml, T is any tick, and ticks are bits: 0 at or below T, 1 above. Clocks are free choices: a sublease may be taken for expired at any time.
 * Two lessors compete for one unit of NODES nodes. N holders take, renew and release them. Replies get lost, a give-back comes late, and everybody can
 * crash and start anew, as often as it likes. A holder that did not stamp T may lie about what it used.
 * Numbers of lives and of subleases are compared for equality only, so a bit says whether a ticket is of the present ones.
 * The environment variable MUTANT is the number of a rule to break.
 */

#ifndef N
#define N 2
#endif
#ifndef NODES
#define NODES 1
#endif

/* The rules that can be broken: number, the model that must notice, and the rule. The test reads this table.
#mutant 50 sublet a sublease ends where the grant ends that the store acknowledged, or before
#mutant 51 sublet a sublease begins at the end of the one before
#mutant 52 sublet a sublease begins at the start of the grant, or later
#mutant 53 sublet what a holder says that it used is not below its own sublease
#mutant 54 sublet only the ticket of the present sublease releases it
#mutant 55 sublet only the ticket of the present sublease renews it
#mutant 56 sublet a lessor that sent its give-back hands out nothing
#mutant 57 sublets a lessor gives back from the highest end of any node
#mutant 58 sublet a sublease that is renewed after a lapse begins at the new start of the grant
#mutant 59 sublet a renewal never lowers the end of a sublease
#mutant 60 sublet a ticket of another life of the lessor is of no use
#mutant 61 sublet subleases of one life are numbered on, whatever grant they are of
#mutant 62 sublet the next lessor starts at the end of the record
#mutant 63 sublet a give-back writes only over what its own lessor wrote
#end */

#define NOBODY 0 /* owner of the record: 1 and 2 are the lessors in their present lives */
#define FORMER 3 /* a life that ended while its give-back was under way */

#define AWAY 0     /* holder: has nothing */
#define ASKED 1    /* its answer was lost */
#define HOLDS 2
#define RELEASES 3 /* stamps no more; its release is under way */

typedef slot {
	bit from;
	bit until;
	bit busy;
}

typedef lessor {
	bit up;
	bit gf;   /* its grant, as acknowledged */
	bit gu;
	bit sent; /* its give-back is under way, or has arrived */
	slot s[NODES];
}

typedef holder {
	byte pc;
	bit l;       /* its ticket: lessor and node */
	bit n;
	bit former;  /* of another life of the lessor */
	bit older;   /* of another grant of this life */
	bit present; /* of the present sublease */
	bit from;
	bit until;
	bit mine;    /* ghost: stamped T */
}

lessor l[2];
holder h[N];
bit until;           /* the record */
byte owner;
byte backof;         /* a give-back under way */
bit backto;
bit stamped[NODES];  /* ghost: T was stamped there */
byte mutant;

/* scratch, zero between steps */
byte j, k, m, n;
bit x;

#define M(n) (mutant == n)
#define MAX(a, b) ((a) | (b))
#define MIN(a, b) ((a) & (b))
#define S l[j].s[n]
#define KEEPS(j) (l[j].up && !l[j].sent && owner == j + 1)
#define HANDS_OUT(j) (l[j].up && (!l[j].sent || M(56)))

/* x: the tick a or any later one */
#define FROM_ON(a) x = a; if :: x = 1 :: true fi

/* What lessor j handed out is forgotten; former: with its life. */
inline no_slots(j, ends) {
	for (n : 0 .. NODES - 1) {
		S.from = 0; S.until = 0; S.busy = 0
	}
	n = 0;
	for (m : 0 .. N - 1) {
		if
		:: h[m].pc != AWAY && h[m].l == j -> h[m].present = 0; h[m].older = 1; h[m].former = h[m].former | ends
		:: else
		fi
	}
	m = 0
}

/* A lessor takes the unit: at its start, or anew after it lost the unit or gave it back. */
inline take(j) {
	no_slots(j, 0);
	FROM_ON((M(62) -> 0 : until));
	l[j].gf = x;
	FROM_ON(x);
	l[j].gu = x;
	l[j].up = 1;
	l[j].sent = 0;
	until = MAX(until, x);
	if
	:: backof == j + 1 -> backof = FORMER
	:: else
	fi;
	owner = j + 1
}

inline renew_grant(j) {
	FROM_ON(l[j].gu);
	if
	:: until = MAX(until, x); l[j].gu = until /* acknowledged */
	:: until = MAX(until, x); l[j].gu = (M(50) -> x : l[j].gu) /* its reply is lost */
	:: l[j].gu = (M(50) -> x : l[j].gu) /* it never arrives */
	fi
}

/* A grant that ended is taken anew, and leaves ticks out: somebody else may have stamped them. */
inline lapse(j) {
	FROM_ON(until);
	if
	:: !l[j].gu && x ->
		for (n : 0 .. NODES - 1) {
			stamped[n] = 1
		}
		n = 0
	:: true
	fi;
	l[j].gf = x;
	FROM_ON(x);
	l[j].gu = x;
	until = x
}

inline give_back(j) {
	l[j].sent = 1;
	backof = j + 1;
	backto = MAX(l[j].gf, l[j].s[0].until);
#if NODES > 1
	backto = MAX(backto, (M(57) -> 0 : l[j].s[1].until))
#endif
}

inline crash_lessor(j) {
	no_slots(j, 1);
	l[j].up = 0; l[j].gf = 0; l[j].gu = 0; l[j].sent = 0;
	if
	:: owner == j + 1 -> owner = (backof == j + 1 -> FORMER : NOBODY)
	:: else
	fi;
	if
	:: backof == j + 1 -> backof = FORMER
	:: else
	fi
}

/* The sublease ends at some tick of the grant, and never earlier than before. */
inline prolong() {
	FROM_ON(0);
	S.until = MAX((M(59) -> S.from : S.until), MIN(x, l[j].gu))
}

inline hears(k) { /* the answer arrives, or is lost */
	if
	:: h[k].pc = HOLDS; h[k].from = S.from; h[k].until = S.until
	:: true
	fi
}

inline acquire(k) {
	FROM_ON((M(51) -> l[j].gf : MAX(S.until, (M(52) -> 0 : l[j].gf))));
	S.from = x; S.until = x;
	S.busy = 1;
	prolong();
	for (m : 0 .. N - 1) {
		if
		:: h[m].pc != AWAY && h[m].l == j && h[m].n == n -> h[m].present = 0
		:: else
		fi
	}
	m = 0;
	h[k].pc = ASKED; h[k].l = j; h[k].n = n; h[k].present = 1;
	hears(k)
}

#define REACHES(k) (HANDS_OUT(h[k].l) && (!h[k].former || M(60)))

/* Numbers that begin anew can be those of an earlier ticket. */
#define PRESENT(k) (h[k].present || (S.busy && ((M(60) && h[k].former) || (M(61) && h[k].older && !h[k].former))))

inline renew(k) {
	j = h[k].l; n = h[k].n;
	if
	:: PRESENT(k) || (M(55) && S.busy) ->
		S.from = MAX(S.from, (M(58) -> 0 : l[j].gf));
		S.until = MAX(S.until, S.from);
		prolong();
		hears(k)
	:: else -> away(k) /* its sublease has ended */
	fi
}

inline release(k) { /* x: what it says that it used */
	j = h[k].l; n = h[k].n;
	FROM_ON(h[k].mine);
	if
	:: PRESENT(k) || M(54) ->
		S.until = MIN(MAX(x, (M(53) -> 0 : S.from)), S.until);
		S.busy = 0
	:: else
	fi;
	away(k)
}

inline away(k) {
	h[k].pc = AWAY; h[k].l = 0; h[k].n = 0; h[k].former = 0; h[k].older = 0; h[k].present = 0;
	h[k].from = 0; h[k].until = 0; h[k].mine = 0
}

#define STAMPS(k) (h[k].pc == HOLDS && !h[k].mine && !h[k].from && h[k].until)

#define CODE(k) (h[k].pc + 4 * h[k].l + 8 * h[k].n + 16 * h[k].former + 32 * h[k].older + 64 * h[k].present + 128 * h[k].until + 256 * h[k].mine)
#define SWAP(f) x = h[m].f; h[m].f = h[m + 1].f; h[m + 1].f = x

/* Equal states become one: what no step reads is forgotten, and holders are sorted, because they are alike. */
inline canonical() {
	for (m : 0 .. N - 1) {
		if
		:: h[m].pc != AWAY ->
			if
			:: !STAMPS(m) -> h[m].from = 0; h[m].until = 0
			:: else
			fi;
			if
			:: mutant == 0 -> h[m].former = 0; h[m].older = 0
			:: else
			fi;
			if
			:: mutant == 0 && !h[m].present && !STAMPS(m) -> away(m)
			:: else
			fi
		:: else
		fi
	}
	for (n : 0 .. NODES - 1) {
		l[0].s[n].from = l[0].s[n].from & l[0].s[n].busy;
		l[1].s[n].from = l[1].s[n].from & l[1].s[n].busy
	}
	for (k : 2 .. N) {
		for (m : 0 .. N - 2) {
			if
			:: CODE(m) > CODE(m + 1) ->
				n = h[m].pc; h[m].pc = h[m + 1].pc; h[m + 1].pc = n;
				SWAP(l); SWAP(n); SWAP(former); SWAP(older); SWAP(present); SWAP(from); SWAP(until); SWAP(mine)
			:: else
			fi
		}
	}
	j = 0; k = 0; m = 0; n = 0; x = 0
}

active proctype world() {
	atomic {
		c_code { char *m = getenv("MUTANT"); now.mutant = m ? atoi(m) : 0; }
	};
end:
	do
	:: atomic {
		if
		:: true
		:: j = 1
		fi;
		if
		:: !KEEPS(j) -> take(j)
		:: KEEPS(j) -> renew_grant(j)
		:: KEEPS(j) -> lapse(j)
		:: KEEPS(j) && backof == NOBODY -> give_back(j)
		:: l[j].up -> crash_lessor(j)
		fi;
		canonical()
	   }
	:: atomic { backof != NOBODY ->
		if
		:: owner == backof || M(63) -> until = backto; owner = NOBODY
		:: owner == FORMER -> owner = NOBODY; /* it never arrives */
		:: owner != FORMER
		fi;
		backof = NOBODY; backto = 0;
		canonical()
	   }
	:: atomic {
		if
		:: true
		:: k = 1
#if N > 2
		:: k = 2
#endif
		fi;
		if
		:: h[k].pc == AWAY ->
			if
			:: true
			:: j = 1
			fi;
#if NODES > 1
			if
			:: true
			:: n = 1
			fi;
#endif
			if
			:: HANDS_OUT(j) -> acquire(k)
			:: else
			fi
		:: (h[k].pc == HOLDS || h[k].pc == ASKED) && REACHES(k) -> renew(k)
		:: STAMPS(k) -> assert(!stamped[h[k].n]); stamped[h[k].n] = 1; h[k].mine = 1
		:: h[k].pc == HOLDS -> h[k].pc = RELEASES
		:: h[k].pc == RELEASES && REACHES(k) -> release(k)
		:: h[k].pc != AWAY -> away(k)
		fi;
		canonical()
	   }
	od
}
