package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease"
)

// A record is kept as one text:
//
//	1          format
//	16 digits  Until, as order makes it
//	v or h     vacant or held
//	8 digits   length of the nonce, in hexadecimal
//	8 digits   length of the label, in hexadecimal
//	           nonce, label
//	           the other numbers, decimal, each followed by a space
//	           the other texts, each as length, colon, text
//
// What stands before the other numbers is all that swap.lua knows of it.
const format = '1'

// sortable writes a number as 16 digits that sort as the numbers do. Members sort by their
// bytes, because scores have 53 bits, too few for ticks.
func sortable(n int64) string { return fmt.Sprintf("%016x", uint64(n)^1<<63) }

func parseSortable(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	return int64(n ^ 1<<63), err
}

// labelKey begins a member of the index of labels. The length keeps one label from
// beginning another.
func labelKey(label string) string { return fmt.Sprintf("%08x", len(label)) + label }

func encode(r lease.Record) string {
	b := make([]byte, 0, 192+len(r.Label)+len(r.Veto)+len(r.Data))
	b = append(b, format)
	b = append(b, sortable(r.Until)...)
	vacant := byte('h')
	if r.Holder == "" {
		vacant = 'v'
	}
	b = append(b, vacant)
	b = fmt.Appendf(b, "%08x%08x", len(r.Nonce), len(r.Label))
	b = append(append(b, r.Nonce...), r.Label...)
	for _, n := range []int64{r.Revision, r.Generation, r.From, r.PrevUntil, r.SkipFrom, r.SkipUntil, r.At} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	for _, s := range []string{r.Holder, r.Veto, r.Data} {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	return string(b)
}

var errDamaged = errors.New("the record is damaged: " +
	"stop its programs, restore a backup, and wait the longest ttl and twice the skew before one starts " +
	"(docs/operate/operations.md, Backup)")

// decode is the inverse of encode.
func decode(k lease.Key, s string) (r lease.Record, err error) {
	r.Key = k
	if len(s) < 34 {
		return r, errDamaged
	}
	if s[0] != format {
		return r, fmt.Errorf("the record has the format %q, and this program knows %q: use a newer program",
			s[0], format)
	}
	if r.Until, err = parseSortable(s[1:17]); err != nil {
		return r, errDamaged
	}
	nonce, err1 := strconv.ParseUint(s[18:26], 16, 31)
	label, err2 := strconv.ParseUint(s[26:34], 16, 31)
	s = s[34:]
	if err1 != nil || err2 != nil || uint64(len(s)) < nonce+label {
		return r, errDamaged
	}
	r.Nonce, r.Label, s = s[:nonce], s[nonce:nonce+label], s[nonce+label:]
	for _, n := range []*int64{&r.Revision, &r.Generation, &r.From, &r.PrevUntil, &r.SkipFrom, &r.SkipUntil, &r.At} {
		digits, rest, _ := strings.Cut(s, " ")
		if *n, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return r, errDamaged
		}
		s = rest
	}
	for _, t := range []*string{&r.Holder, &r.Veto, &r.Data} {
		digits, rest, _ := strings.Cut(s, ":")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > len(rest) {
			return r, errDamaged
		}
		*t, s = rest[:n], rest[n:]
	}
	if s != "" {
		return r, errDamaged
	}
	return r, nil
}
