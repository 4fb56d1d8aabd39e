package etcdstore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/lease/store"
)

// A record's value is a line of fields, separated by tabs. First comes the nonce, which a swap
// compares. etcd compares values as bytes, also with less and greater. The values that begin
// with a text lie between it and the next greater text of its length, so a swap needs no
// other field and no revision.
//
// Tabs, newlines and backslashes in texts are escaped. The encoding must never change,
// because stored values are compared with it.

var (
	textEncoder = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`)
	textDecoder = strings.NewReplacer(`\\`, "\\", `\t`, "\t", `\n`, "\n")
)

// prefix returns how the values of records with a nonce begin; no value ends there.
func prefix(nonce string) string { return textEncoder.Replace(nonce) + "\t" }

// beyond returns the least text greater than all that begin with prefix.
func beyond(prefix string) string { return prefix[:len(prefix)-1] + "\n" } // a tab is 9, a newline 10

// encode returns the value of a record; mark names the call of Swap that writes it.
func encode(r store.Record, mark string) string {
	b := []byte(prefix(r.Nonce) + mark)
	for _, n := range []int64{
		r.Revision, r.Generation, r.From, r.Until, r.PrevUntil, r.SkipFrom, r.SkipUntil, r.At,
	} {
		b = strconv.AppendInt(append(b, '\t'), n, 10)
	}
	for _, text := range []string{r.Holder, r.Label, r.Veto, r.Data} {
		b = append(append(b, '\t'), textEncoder.Replace(text)...)
	}
	return string(b)
}

const fields = 14

// remedy is what to do about a damaged record. A backup alone is not safe: it is older than
// the last renewal.
const remedy = "stop its programs, restore a backup, and wait the longest ttl and twice the largest skew before one " +
	"starts (docs/operate/operations.md, Backup)"

// decode returns the record of a value, and the mark of the call that wrote it.
func decode(k store.Key, value []byte) (r store.Record, mark string, err error) {
	r.Key = k
	part := strings.Split(string(value), "\t")
	if len(part) != fields {
		return r, "", fmt.Errorf("the record of node %d of namespace %q is damaged: it has %d fields, not %d: %s",
			k.Node, k.Namespace, len(part), fields, remedy)
	}
	texts := [fields]*string{0: &r.Nonce, 1: &mark, 10: &r.Holder, 11: &r.Label, 12: &r.Veto, 13: &r.Data}
	ints := [...]*int64{
		2: &r.Revision, 3: &r.Generation, 4: &r.From, 5: &r.Until, 6: &r.PrevUntil, 7: &r.SkipFrom,
		8: &r.SkipUntil, 9: &r.At,
	}
	for i, text := range part {
		if texts[i] != nil {
			*texts[i] = textDecoder.Replace(text)
			continue
		}
		var bad error
		if *ints[i], bad = strconv.ParseInt(text, 10, 64); bad != nil {
			err = bad
		}
	}
	if err == nil && r.Nonce == "" {
		err = errors.New("it has no nonce")
	}
	if err != nil {
		err = fmt.Errorf("the record of node %d of namespace %q is damaged: %s: %w", k.Node, k.Namespace, remedy, err)
	}
	return r, mark, err
}
