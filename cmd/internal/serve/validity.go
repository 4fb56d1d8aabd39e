package serve

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"
)

// validity is when the first of some certificates ends, and how long it is
// good in all.
type validity struct {
	name string // of its subject
	end  time.Time
	all  time.Duration
	last time.Time // when the last of them ends
}

// validityOf returns the validity of the certificates in PEM form; the zero
// value where there are none.
func validityOf(data []byte) (first validity) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			continue
		}
		if first.end.IsZero() || c.NotAfter.Before(first.end) {
			first.name, first.end, first.all = c.Subject.String(), c.NotAfter, c.NotAfter.Sub(c.NotBefore)
		}
		if c.NotAfter.After(first.last) {
			first.last = c.NotAfter
		}
	}
	return first
}

// soon is how long before its end a certificate is warned of: short-lived
// ones are renewed when a third of their time is left.
func (v validity) soon() time.Duration { return min(14*24*time.Hour, v.all/4) }

// warning says that a certificate ends soon; "" when it does not.
func (v validity) warning(file string, now time.Time) string {
	at := v.end.UTC().Format(time.RFC3339)
	switch left := v.end.Sub(now); {
	case v.end.IsZero():
		return ""
	case left <= 0:
		return fmt.Sprintf("%s: the certificate of %s ended at %s: clients refuse it; renew it", file, v.name, at)
	case left < v.soon():
		return fmt.Sprintf("%s: the certificate of %s ends at %s: renew it before", file, v.name, at)
	}
	return ""
}
