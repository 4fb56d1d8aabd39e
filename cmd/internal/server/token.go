package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/lease/store"
)

// Verb is a group of requests that a token may be allowed to make.
type Verb string

// The verbs.
const (
	VerbIDs  Verb = "ids"  // new IDs and numbers
	VerbRead Verb = "read" // decode, ranges, and looking at namespaces and leases
	// Leases of the caller's own, by tickets; it can use up the nodes, but
	// not take one that another label holds.
	VerbLease  Verb = "lease"
	VerbManage Verb = "manage" // namespaces, sequences, vetoes, releases
)

// verbs are all of them.
var verbs = [...]Verb{VerbIDs, VerbRead, VerbLease, VerbManage}

// Token has the rights of a client with a secret, or with a certificate of
// a name. No file has the secret itself.
type Token struct {
	Name        string   `yaml:"name" json:"name"`                                   // for logs, metrics and labels
	SHA256      string   `yaml:"sha256,omitempty" json:"-"`                          // of the secret, hexadecimal
	Certificate string   `yaml:"certificate,omitempty" json:"certificate,omitempty"` // or a name in a certificate
	Namespaces  []string `yaml:"namespaces,omitempty" json:"namespaces,omitempty"`   // or beginnings and *; none is all
	Verbs       []Verb   `yaml:"verbs,omitempty" json:"verbs"`                       // none means ids and read
	Rate        float64  `yaml:"rate,omitempty" json:"rate,omitempty"`               // IDs and other requests a second; 0 is no limit
	Burst       int      `yaml:"burst,omitempty" json:"burst,omitempty"`             // at once; 0 is as many as Rate
	Nodes       int      `yaml:"nodes,omitempty" json:"nodes,omitempty"`             // held in a namespace; 0 is any
	Until       End      `yaml:"until,omitempty" json:"until,omitzero"`              // when it ends; zero means never
}

// End is when a token ends. The zero value is never.
type End struct{ time.Time }

// UnmarshalText implements [encoding.TextUnmarshaler]. Its error does not
// show the text: it may be a token.
func (e *End) UnmarshalText(text []byte) (err error) {
	if e.Time, err = show.ReadTime(string(text)); err != nil || e.IsZero() {
		return errors.New("until: write a time as 2027-01-31T12:00:00Z, or a date, which means its first moment in UTC")
	}
	return nil
}

// SoonEnds is how long before the end of a token the warnings begin.
const SoonEnds = 14 * 24 * time.Hour

// Warning says that a token ends soon, or has ended; "" when it does not.
func (t *Token) Warning(now time.Time) string {
	at := t.Until.UTC().Format(time.RFC3339)
	switch left := t.Until.Sub(now); {
	case t.Until.IsZero():
		return ""
	case left <= 0:
		return fmt.Sprintf("token %q ended at %s: the server refuses it; give its clients another one, and take it out",
			t.Name, at)
	case left < SoonEnds:
		return fmt.Sprintf("token %q ends at %s: give its clients another one before then", t.Name, at)
	}
	return ""
}

// May reports whether the token has a verb.
func (t *Token) May(v Verb) bool { return slices.Contains(t.Verbs, v) }

// check returns the mistake of a token, and gives it its defaults. sum is
// of the secret.
func (t *Token) check() (sum []byte, err error) {
	refuse := func(format string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("token %.100q: "+format, append([]any{t.Name}, args...)...)
	}
	if !store.Plain(t.Name) || len(t.Name) > 64 || strings.Contains(t.Name, "/") {
		// labels begin with it and a slash
		return refuse("a name has at most 64 bytes, in UTF-8, without slashes and control characters")
	}
	sum, err = hex.DecodeString(t.SHA256)
	switch {
	case t.Name == anybody:
		return refuse("the log uses this name for callers without a token: take another name")
	case t.SHA256 != "" && t.Certificate != "":
		return refuse("it has both sha256 and certificate: leave one out, or make two tokens")
	case t.Certificate == "" && (err != nil || len(sum) != sha256.Size):
		return refuse("sha256 must be 64 hexadecimal digits, as \"snowfence token new\" prints them")
	case !store.Plain(t.Certificate):
		return refuse("the name of a certificate is UTF-8 without control characters")
	case !(t.Rate >= 0) || t.Rate > 1e15 || t.Burst < 0:
		return refuse("rate and burst must be numbers from 0 up")
	case t.Nodes < 0:
		return refuse("nodes must be a number from 0 up")
	}
	for _, v := range t.Verbs {
		if !slices.Contains(verbs[:], v) {
			return refuse("there is no verb %q: use ids, read, lease, manage", v)
		}
	}
	for _, n := range t.Namespaces {
		if i := strings.IndexByte(n, '*'); n == "" || i >= 0 && i < len(n)-1 {
			return refuse("namespace %q: write a name, or the beginning of names with a * behind it", n)
		}
	}
	switch {
	case t.Nodes > 0 && t.May(VerbManage):
		return refuse("the verb manage can free and take any node, so a limit of nodes means nothing: " +
			"leave one of them out")
	case t.Nodes > 0 && !t.May(VerbLease):
		return refuse("it holds no nodes: give it the verb lease, or leave nodes out")
	}
	if len(t.Verbs) == 0 {
		t.Verbs = []Verb{VerbIDs, VerbRead}
	}
	if t.Rate > 0 {
		t.Burst = cmp.Or(t.Burst, max(1, int(t.Rate)))
	}
	return sum, nil
}
