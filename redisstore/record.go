package redisstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// A record is kept as one text:
//
//	2          format
//	8 digits   length of the nonce, in hexadecimal
//	           nonce
//	           the numbers, decimal, each followed by a space
//	           the other texts, each as length, colon, text
//
// What stands before the numbers is all that swap.lua knows of it.
const format = '2'

// sortable writes a number as 16 digits that sort as the numbers do. Members sort by their
// bytes, because scores have 53 bits, too few for ticks.
func sortable(n int64) string { return fmt.Sprintf("%016x", uint64(n)^1<<63) }

func parseSortable(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	return int64(n ^ 1<<63), err
}

func encode(r store.Record) string {
	b := make([]byte, 0, 192+len(r.Label)+len(r.Veto)+len(r.Data))
	b = append(b, format)
	b = append(fmt.Appendf(b, "%08x", len(r.Nonce)), r.Nonce...)
	for _, n := range []int64{
		r.Revision, r.Generation, r.From, r.Until, r.PrevUntil, r.SkipFrom, r.SkipUntil, r.At,
	} {
		b = append(strconv.AppendInt(b, n, 10), ' ')
	}
	for _, s := range []string{r.Holder, r.Label, r.Veto, r.Data} {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	return string(b)
}

var errDamaged = errors.New("the record is damaged: " +
	"stop its programs, restore a backup, and wait the longest ttl and twice the largest skew before one starts " +
	"(docs/operate/operations.md, Backup)")

// decode is the inverse of encode.
func decode(k store.Key, s string) (r store.Record, err error) {
	r.Key = k
	if len(s) < 9 {
		return r, errDamaged
	}
	if s[0] != format {
		return r, fmt.Errorf("the record has the format %q, and this program knows %q: use its program, or "+
			"another prefix", s[0], format)
	}
	nonce, err := strconv.ParseUint(s[1:9], 16, 31)
	s = s[9:]
	if err != nil || uint64(len(s)) < nonce {
		return r, errDamaged
	}
	r.Nonce, s = s[:nonce], s[nonce:]
	for _, n := range []*int64{
		&r.Revision, &r.Generation, &r.From, &r.Until, &r.PrevUntil, &r.SkipFrom, &r.SkipUntil, &r.At,
	} {
		digits, rest, _ := strings.Cut(s, " ")
		if *n, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return r, errDamaged
		}
		s = rest
	}
	for _, t := range []*string{&r.Holder, &r.Label, &r.Veto, &r.Data} {
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
