package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// What a record names as its holder is the hash of a secret, and the first tick that it was granted: "HASH.TICK". Whoever lowers the end of a grant, when a node is given
// back, shows the secret in the nonce of that write. So [Holders] can tell the holder from somebody else who may write there, and what was the holder's own to
// give back from what others had before in the same unbroken run. The secret is shown once: then the lease is another holder.

// identify gives the lease a new identity. It needs ops, or a lease that nobody knows yet.
func (l *Lease) identify() {
	l.past, l.secret = l.boot, l.world.Text()
	l.boot = hashOf(l.secret)
}

// holder is what a record names that the lease acquires, with ticks from the given one on.
func (l *Lease) holder(from int64) string { return l.boot + "." + strconv.FormatInt(from, 10) }

// mine reports whether a record names this lease as its holder. A write of the identity before may come in late.
func (l *Lease) mine(r Record) bool {
	hash, _, _ := strings.Cut(r.Holder, ".")
	return hash != "" && (hash == l.boot || hash == l.past)
}

// proof returns a nonce for a write that lowers the end of a grant.
func (l *Lease) proof() string {
	if l.secret == "" { // of a ticket, which proves it by its signature
		return l.world.Text()
	}
	return l.secret + "." + l.world.Text()
}

// hashOf returns the identity that belongs to a secret: 128 bits of its SHA-256, so that nobody finds another secret for it.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// proves reports whether a nonce shows the secret of a holder.
func proves(nonce, holder string) bool {
	secret, _, ok := strings.Cut(nonce, ".")
	hash, _, _ := strings.Cut(holder, ".")
	return ok && hashOf(secret) == hash
}

// startOf returns the first tick that a holder was granted, and false if it does not say.
func startOf(holder string) (tick int64, ok bool) {
	_, text, ok := strings.Cut(holder, ".")
	tick, err := strconv.ParseInt(text, 10, 64)
	return tick, ok && err == nil
}
