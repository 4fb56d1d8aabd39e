package native

// What breaks a rule, and the rule. The files of the npm package are those
// that the compiler wrote.

var typescriptMistakes = map[string]mistake{
	"ignores the end of its grant": {
		"outage", "stamper.js", "tick >= this.#until || ", "",
	},
	"goes on after another program has its node": {
		"taken", "lease.js", " || e.status === 409", "",
	},
	"goes on after its namespace is gone": {
		"gone", "lease.js", "e.status === 404 || ", "",
	},
	"uses a sequence number twice": {
		"sequence", "stamper.js", "this.#low += low;", "this.#low += this.#seq % 2 * low;",
	},
	"uses a number above the last": {
		"sequence", "stamper.js", "this.#seq < last && this.#tick >= now", "this.#seq <= last && this.#tick >= now",
	},
	"begins a node anew after a loss": {
		"again", "stamper.js", "seal() { this.#until = 0; }", "seal() { this.#until = 0; this.#tick = -1; }",
	},
	"stamps below a raised from": {
		"raised", "stamper.js", "Math.max(tick, now, this.#from)", "Math.max(tick, now)",
	},
	"forgets attempts without an answer": {
		"lost-renewal", "lease.js", "ticket: held.ticket, attempt, earlier }", "ticket: held.ticket, attempt }",
	},
	"takes another node after a lost answer": {
		"lost-acquire", "lease.js", "attempt, earlier, ...this.#lost", "attempt, ...this.#lost",
	},
	"has one attempt for all": {
		"renew", "lease.js", "this.#random.getRandomValues(new Uint8Array(16))", "new Uint8Array(16)",
	},
	"renews with its first ticket": {
		"renew", "lease.js", "this.#grant = g;", "this.#grant = { ...g, ticket: this.#grant?.ticket ?? g.ticket };",
	},
	"gives back ticks that it stamped": {
		"renew", "lease.js", "this.holder.last(g.node) + 1, g.from", "0, g.from",
	},
	"hides a loss": {
		"taken", "lease.js", "this.#lost = held.ticket;", "",
	},
	"follows a redirect": {
		"damaged", "servers.js", `redirect: "manual"`, `redirect: "follow"`,
	},
}

var pythonMistakes = map[string]mistake{
	"it stamps beyond until": {
		"outage", "stamps.py", "if tick >= self.until or tick > now", "if self.until == 0 or tick > now",
	},
	"it ignores a loss":     {"taken", "lease.py", "e.status in (404, 409)", "e.status in ()"},
	"it goes on after 404":  {"gone", "lease.py", "e.status in (404, 409)", "e.status in (409,)"},
	"it repeats an attempt": {"renew", "lease.py", "attempt = secrets.token_urlsafe(18)", `attempt = "A" * 24`},
	"it uses a sequence number twice": {
		"sequence", "stamps.py", "self._sequence = tick, end - 1", "self._sequence = tick, end - 2",
	},
	"it uses numbers below first": {
		"sequence", "stamps.py", "tick, sequence = tick + 1, self.layout.first", "tick, sequence = tick + 1, 0",
	},
	"it forgets a Renew without an answer": {
		"lost-renewal", "lease.py", `"earlier": self._earlier`, `"earlier": []`,
	},
	"it forgets an Acquire without an answer": {
		"lost-acquire", "lease.py", `"earlier": self._earlier`, `"earlier": []`,
	},
	"it keeps the old ticket": {
		"renew", "lease.py", "= not self._ticket, g.ticket, g.node", "= not self._ticket, self._ticket or g.ticket, g.node",
	},
	"it gives back what it used": {"renew", "stamps.py", "return max(self.tick + 1, self.start)", "return self.start"},
	"it stamps below a raised from": {
		"raised", "stamps.py", "if max(now, self.start) > tick:\n                tick, sequence = max(now, self.start)",
		"if now > tick:\n                tick, sequence = now",
	},
	"it forgets what it stamped of a node": {
		"again", "stamps.py", "self._last.get((str(layout), node), (-1, layout.last))", "(-1, layout.last)",
	},
	"it does not say what it lost": {"taken", "lease.py", `body["lost"] = self._lost`, "pass"},
	"it needs a node number":       {"zero", "lease.py", `a.get("node", 0)`, `a["node"]`},
}

var javaMistakes = map[string]mistake{
	"it stamps beyond until": {
		"outage", "Stamps.java", "t >= until ||", "until == 0 ||",
	},
	"it ignores a loss": {
		"taken", "Lease.java", "held && why.lost()", "false",
	},
	"it goes on after 404": {
		"gone", "SnowfenceException.java", "status == 404 || status == 409",
		"status == 409",
	},
	"it repeats an attempt": {
		"renew", "Tickets.java", "random.nextBytes(bytes);", "",
	},
	"it uses a sequence number twice": {
		"sequence", "Stamps.java", "return id + place * step;", "return id + place / 2 * step;",
	},
	"it uses numbers below first": {
		"sequence", "Stamps.java", ": layout.first;", ": 0;",
	},
	"it forgets a Renew without an answer": {
		"lost-renewal", "Tickets.java", "earlier.add(attempt);", "earlier.clear();",
	},
	"it forgets an Acquire without an answer": {
		"lost-acquire", "Tickets.java", "earlier.add(attempt);", "earlier.clear();",
	},
	"it keeps the old ticket": {
		"renew", "Tickets.java", "ticket = g.ticket();", "ticket = held() ? ticket : g.ticket();",
	},
	"it gives back what it used": {
		"renew", "Stamps.java", "Math.max(tick + 1, from)", "from",
	},
	"it stamps below a raised from": {
		"raised", "Stamps.java", "Math.max(now, from)", "now",
	},
	"it forgets what it stamped of a node": {
		"again", "Stamps.java", "pairs.getOrDefault(l", "pairs.getOrDefault(null",
	},
	"it does not say what it lost": {
		"taken", "Tickets.java", "lost = ticket;", "",
	},
	"it needs a node number": {
		"zero", "Grant.java", `answer.getOrDefault(key, "0")`, "answer.get(key)",
	},
}
