package mutants

// workerMutants break the rules of worker numbers over Redis, one term each.
var workerMutants = []mutant{
	{
		rule: "worker: an expiry is never lowered",
		file: "redisstore/workerid/worker.go", pkg: "./redisstore/workerid",
		old:  `max(w.expiry, w.r.expiry(w.seen, time.Now()))`,
		now:  `w.r.expiry(w.seen, time.Now())`,
		test: "TestTheClockOfRedisGoesBack",
	},
	{
		rule: "worker: a renewal without an answer may be ours",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old: `	} else {
		ours = append(ours, w.doubt)
	}
	return w.doubt`,
		now: `	}
	return w.doubt`,
		test: "TestARenewalWithoutAnAnswer",
	},
	{
		rule: "worker: a renewal without an answer is repeated as it was",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old:  `	if w.doubt == 0 {`,
		now:  `	if true {`, more: []edit{{`	} else {
		ours = append(ours, w.doubt)
	}
	return w.doubt`, `	}
	return w.doubt`}}, test: "TestARenewalWithoutAnAnswer",
	},
	{
		rule: "worker: an acknowledgement after the deadline does not count",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old:  `	if !time.Now().Before(w.deadline) {`,
		now:  `	if false {`,
		test: "TestALateAcknowledgementComesTooLate",
	},
	{
		rule: "worker: the deadline counts from before the request",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old:  `s.sent.Add(min(`,
		now:  `time.Now().Add(min(`,
		test: "TestNoAcknowledgedRenewal",
	},
	{
		rule: "worker: the deadline is within the TTL",
		file: "redisstore/workerid/worker.go", pkg: "./redisstore/workerid",
		old:  `min(w.r.o.TTL, time.Duration(expiry-s.now)*time.Millisecond)`,
		now:  `time.Duration(expiry-s.now)*time.Millisecond`,
		test: "TestNoAcknowledgedRenewal",
	},
	{
		rule: "worker: the deadline is within the life of the key",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old:  `min(w.r.o.TTL, time.Duration(expiry-s.now)*time.Millisecond)`,
		now:  `w.r.o.TTL`,
		test: "TestTheClockOfRedisGoesAhead",
	},
	{
		rule: "worker: the deadline follows a renewal",
		file: "redisstore/workerid/worker.go", pkg: "./redisstore/workerid",
		old: `	w.timer.Reset(time.Until(w.deadline))
`,
		now:  ``,
		test: "TestACallThatHangsDelaysNothing",
	},
	{
		rule: "worker: a number settles for two seconds",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old:  `2 * time.Second // from`,
		now:  `1 * time.Second // from`,
		test: "TestNoNumberIsUsedBeforeItSettled",
	},
	{
		rule: "worker: it is checked twice",
		file: "redisstore/workerid/worker.go", pkg: "./redisstore/workerid",
		old:  `= 2               // within`,
		now:  `= 1               // within`,
		test: "TestNoNumberIsUsedBeforeItSettled",
	},
	{
		rule: "worker: what settles is not granted",
		file: "redisstore/workerid/fence.go", pkg: "./redisstore/workerid",
		old:  `w.err != nil || w.checks < settleChecks`,
		now:  `w.err != nil`,
		test: "TestNoNumberIsUsedBeforeItSettled",
	},
	{
		rule: "worker: what is over is not granted",
		file: "redisstore/workerid/fence.go", pkg: "./redisstore/workerid",
		old: `	if f.w == nil {
		return snowfence.Grant{}, false
	}
	g, ok := f.w.grant(f)
	if !ok || g.Until <= after {`,
		now: `	if f.w == nil {
		return snowfence.Grant{}, false
	}
	g, ok := f.w.grant(f)
	if !ok {`,
		test: "TestClocksThatDiffer",
	},
	{
		rule: "worker: a grant begins at the second check",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old:  `w.from = s.now`,
		now:  `w.from = s.now - 3000`,
		test: "TestFleet|TestAGiveBackKeepsTheTicks",
	},
	{
		rule: "worker: a grant ends where Redis said",
		file: "redisstore/workerid/fence.go", pkg: "./redisstore/workerid",
		old:  `TickOf(time.UnixMilli(w.expiry))`,
		now:  `TickOf(time.UnixMilli(max(w.expiry, w.doubt)))`,
		test: "TestGrantsEndWhereRedisSaid",
	},
	{
		rule: "worker: a grant ends with the layout",
		file: "redisstore/workerid/fence.go", pkg: "./redisstore/workerid",
		old:  `min(f.layout.TickOf(time.UnixMilli(w.expiry)), f.scheme.MaxTick()+1)`,
		now:  `f.layout.TickOf(time.UnixMilli(w.expiry))`,
		test: "TestTheLayoutEnds",
	},
	{
		rule: "worker: what is lost is sealed",
		file: "redisstore/workerid/fence.go", pkg: "./redisstore/workerid",
		old:  `	case handed && seal != nil:`,
		now:  `	case handed && seal != nil && false:`,
		test: "TestWhatTheOriginalDoesIsNoticed",
	},
	{
		rule: "worker: sealed before it is given back",
		file: "redisstore/workerid/worker.go", pkg: "./redisstore/workerid",
		old: `	if f != nil {
		unused = f.lose(w, why)
	}
`,
		now: `	if f != nil {
		time.AfterFunc(time.Second, func() { f.lose(w, why) })
	}
`,
		test: "TestClosingTheNumberSealsFirst",
	},
	{
		rule: "worker: what is given back expires when its last tick is over",
		file: "redisstore/workerid/fence.go",
		pkg:  "./redisstore/workerid",
		old:  `			f.unused = f.start(used)`,
		now:  `			f.unused = 0`,
		test: "TestAGiveBackKeepsTheTicksThatWereUsed",
	},
	{
		rule: "worker: of the last tick, not its start",
		file: "redisstore/workerid/fence.go", pkg: "./redisstore/workerid",
		old:  `.Add(time.Millisecond - 1)`,
		now:  ``,
		test: "TestTicksShorterThanAMillisecond",
	},
	{
		rule: "worker: what another grant used is not known",
		file: "redisstore/workerid/fence.go",
		pkg:  "./redisstore/workerid",
		old:  `cur.Node == g.Node && cur.From == g.From`,
		now:  `cur.Node == g.Node`,
		test: "TestReleaseOfAnotherGrantKeepsTheTicks",
	},
	{
		rule: "worker: a grant without a generator may be used up",
		file: "redisstore/workerid/fence.go",
		pkg:  "./redisstore/workerid",
		old:  `		unused = math.MaxInt64 // whoever`,
		now:  `		unused = 0 // whoever`,
		test: "TestAGiveBackKeepsTheTicksThatWereUsed",
	},
	{
		rule: "worker: a give-back raises no expiry",
		file: "redisstore/workerid/worker.go", pkg: "./redisstore/workerid",
		old:  `min(max(unused, 1), w.expiry)`,
		now:  `max(unused, 1)`,
		test: "TestReleaseOfAnotherGrantKeepsTheTicks",
	},
	{
		rule: "worker: a give-back knows renewals without an answer",
		file: "redisstore/workerid/worker.go",
		pkg:  "./redisstore/workerid",
		old: `	if w.doubt != 0 {
		ours`,
		now: `	if false {
		ours`,
		test: "TestARenewalWithoutAnAnswer",
	},
	{
		rule: "worker: a grant that was handed out is for nobody else",
		file: "redisstore/workerid/fence.go",
		pkg:  "./redisstore/workerid",
		old:  `	if w == nil || !f.handed {`,
		now:  `	if true {`,
		test: "TestAGrantThatWasHandedOutIsForNobodyElse",
	},
	{
		rule: "worker: without an answer to SET nothing is ours",
		file: "redisstore/workerid/take.go",
		pkg:  "./redisstore/workerid",
		old:  `number, expiry); !ok {`,
		now:  `number, expiry); !ok && err == nil {`,
		test: "TestAnAnswerThatIsLostTakesNoNumber",
	},
	{
		rule: "worker: the millisecond is our own",
		file: "redisstore/workerid/take.go", pkg: "./redisstore/workerid",
		old:  `rand.Int64N(1000)`,
		now:  `rand.Int64N(1)`,
		test: "TestTheMillisecondIsOurOwn",
	},
	{
		rule: "worker: what was lost is left to others",
		file: "redisstore/workerid/take.go", pkg: "./redisstore/workerid",
		old:  ` || r.shunned(numbers[i])`,
		now:  ``,
		test: "TestWhatTheOriginalDoesIsNoticed/deletes",
	},
	{
		rule: "worker: the original counts below the range",
		file: "redisstore/workerid/take.go",
		pkg:  "./redisstore/workerid",
		old:  `r.o.Shared || n < r.o.Min ||`,
		now:  `r.o.Shared || n <= r.o.Min ||`,
		test: "TestARangeInWhichTheOriginalCountsIsRefused",
	},
	{
		rule: "worker: the original counts above the range",
		file: "redisstore/workerid/take.go",
		pkg:  "./redisstore/workerid",
		old:  `n > r.o.Max:`,
		now:  `n >= r.o.Max:`,
		test: "TestARangeInWhichTheOriginalCountsIsRefused",
	},
	{
		rule: "worker: numbers that the original tries last come first",
		file: "redisstore/workerid/take.go",
		pkg:  "./redisstore/workerid",
		old:  `n := index - 1 - back`,
		now:  `n := index - back`,
		test: "TestNumbersThatTheOriginalTriesLastComeFirst",
	},
	{
		rule: "worker: a short TTL is refused",
		file: "redisstore/workerid/registrar.go", pkg: "./redisstore/workerid",
		old:  `o.TTL < minTTL`,
		now:  `o.TTL < minTTL-1`,
		test: "TestOptionsThatCannotBe",
	},
	{
		rule: "worker: exhaustion is an error",
		file: "redisstore/workerid/take.go", pkg: "./redisstore/workerid",
		old:  `settled == 0 && time.Now().After(patience)`,
		now:  `settled == 0 && time.Now().After(patience.Add(time.Minute))`,
		test: "TestExhaustionIsAnErrorAfterABoundedWait",
	},
	{
		rule: "worker: a script renews what expires when we said, not later",
		file: "redisstore/workerid/move.lua",
		pkg:  "./test/workerid",
		old:  `low <= ours and ours <= high`,
		now:  `ours <= high`,
		test: "TestCommandsOfStrangers",
	},
	{
		rule: "worker: and not earlier",
		file: "redisstore/workerid/move.lua", pkg: "./test/workerid",
		old:  `low <= ours and ours <= high`,
		now:  `low <= ours`,
		test: "TestCommandsOfStrangers",
	},
	{
		rule: "worker: before Redis 7 the time is read before and after",
		file: "redisstore/workerid/expiry.lua",
		pkg:  "./test/workerid",
		old:  `low, high = now + left, milliseconds() + left`,
		now:  `low, high = 0, milliseconds() + left`,
		test: "TestBeforeRedis7",
	},
	{
		rule: "worker: another program's number is not set",
		file: "redisstore/workerid/redis.go", pkg: "./test/workerid",
		old:  `.Value(held).Nx().`,
		now:  `.Value(held).`,
		test: "TestASetThatComesTooLate",
	},
	{
		rule: "worker: the original reads the value as taken",
		file: "redisstore/workerid/redis.go", pkg: "./test/workerid",
		old:  `= "Y"`,
		now:  `= "y"`,
		test: "TestBesideTheOriginal$",
	},
}
