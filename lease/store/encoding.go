package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Tabs, newlines and backslashes in texts are escaped, so no field has a
// tab.
var (
	textEncoder = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`)
	textDecoder = strings.NewReplacer(`\\`, "\\", `\t`, "\t", `\n`, "\n")
)

// Front returns the beginning of all encoded records with a nonce, and of
// no others: the nonce and a tab.
func Front(nonce string) string { return textEncoder.Replace(nonce) + "\t" }

// Encode returns a record without its key as one text, for stores that keep
// texts: a line of fields, separated by tabs. It begins with [Front], so a
// store can compare the nonce and need not know the rest. The mark is a
// text of the store's own, for example to tell its calls apart. The
// encoding must never change, because stored texts are compared with it.
func Encode(r Record, mark string) string {
	b := []byte(Front(r.Nonce) + textEncoder.Replace(mark))
	for _, n := range []int64{r.Revision, r.Generation, r.From, r.Until, r.PrevUntil, r.At} {
		b = strconv.AppendInt(append(b, '\t'), n, 10)
	}
	for _, text := range []string{r.Holder, r.Label, r.Veto, r.Data} {
		b = append(append(b, '\t'), textEncoder.Replace(text)...)
	}
	return string(b)
}

const fields = 12

// Decode is the inverse of [Encode], for the record of a key.
func Decode(k Key, text string) (r Record, mark string, err error) {
	r.Key = k
	part := strings.Split(text, "\t")
	if len(part) != fields {
		return r, "", Damaged(k, fmt.Errorf("it has %d fields, not %d", len(part), fields))
	}
	texts := [fields]*string{0: &r.Nonce, 1: &mark, 8: &r.Holder, 9: &r.Label, 10: &r.Veto, 11: &r.Data}
	ints := [...]*int64{2: &r.Revision, 3: &r.Generation, 4: &r.From, 5: &r.Until, 6: &r.PrevUntil, 7: &r.At}
	for i, text := range part {
		if texts[i] != nil {
			*texts[i] = textDecoder.Replace(text)
		} else if *ints[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return r, "", Damaged(k, err)
		}
	}
	if r.Nonce == "" {
		return r, "", Damaged(k, errors.New("it has no nonce"))
	}
	return r, mark, nil
}

// Damaged returns an error about the content of a record, and what to do. A
// backup alone is not safe: it is older than the last renewals.
func Damaged(k Key, err error) error {
	return fmt.Errorf("the record of node %d of namespace %q is damaged: stop the programs of this store, restore a "+
		"backup, and run snowfence store restored before one starts ("+
		"https://snowfence.github.io/snowfence/operate/operations#backup): %w",
		k.Node, k.Namespace, err)
}

// NodeText writes a node as 16 digits that sort as the nodes do.
func NodeText(node int64) string { return fmt.Sprintf("%016x", uint64(node)^1<<63) }

// ParseNodeText is the inverse of [NodeText].
func ParseNodeText(text string) (int64, error) {
	if n, err := strconv.ParseUint(text, 16, 64); err == nil && NodeText(int64(n^1<<63)) == text {
		return int64(n ^ 1<<63), nil
	}
	return 0, fmt.Errorf("%q is no node of this program: give leases a prefix of their own", text)
}
