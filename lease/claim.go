package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// What a record names as its holder is the hash of a secret, and the first tick that it was
// granted: "HASH.TICK". Over a server that keeps the store ([Holders]) each write shows the secret
// in Record.Data, from where it goes no further: no store keeps it. So the server knows who writes.
// Nobody can write in the name of another holder, and the holder alone lowers the end of its grant,
// when it gives the node back.

// identify gives the lease an identity that nobody else can show.
func (l *Lease) identify() {
	l.secret = l.world.Text()
	l.boot = hashOf(l.secret)
}

// holder is what a record names that the lease acquires, with ticks from the given one on.
func (l *Lease) holder(from int64) string { return l.boot + "." + strconv.FormatInt(from, 10) }

// mine reports whether a record names this lease as its holder. No lease is without an identity, so
// a record without a holder is not mine.
func (l *Lease) mine(r Record) bool {
	hash, _, _ := strings.Cut(r.Holder, ".")
	return hash == l.boot
}

// nonce returns a new nonce. Over a server it begins with the identity, so that nobody else can
// write the same one again.
func (l *Lease) nonce() string {
	if l.watched {
		return l.boot + "." + l.world.Text()
	}
	return l.world.Text()
}

// proof is what a write shows: the secret over a server, and nothing where the store itself would
// keep it.
func (l *Lease) proof() string {
	if l.watched {
		return l.secret
	}
	return ""
}

// hashOf returns the identity that belongs to a secret: 128 bits of its SHA-256, so that nobody
// finds another secret for it.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:16])
}

// startOf returns who a holder is and the first tick that it was granted, and false if the text
// does not say so.
func startOf(holder string) (hash string, tick int64, ok bool) {
	hash, text, _ := strings.Cut(holder, ".")
	tick, err := strconv.ParseInt(text, 10, 64) // no dot leaves no text, which is no number
	return hash, tick, err == nil
}
