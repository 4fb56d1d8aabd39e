package show

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/kinds"
)

// appendKind takes an ID of another kind apart. Text that is none gets the error that it has as a
// 64-bit ID.
func (d *Decoder) appendKind(b, s []byte, err error) ([]byte, error) {
	a, err := d.kind(s, err)
	switch {
	case err != nil:
		return b, err
	case d.JSON:
		return appendKindJSON(b, a), nil
	}
	b = fmt.Appendf(b, "%s  %s\n", a.Text, a.Name)
	return AppendRows(b, kindRows(a, d.Now)), nil
}

func (d *Decoder) kind(s []byte, err error) (kinds.About, error) {
	a, ok := kinds.Recognize(string(s))
	switch {
	case !ok:
		return a, err
	case d.Form != nil || d.Source != ByDefault || d.Check != nil:
		return a, fmt.Errorf("%w: %q is of kind %s, which has more than 64 bits: leave --from, --layout, --check, "+
			"--store and --namespace out", snowfence.ErrInvalidID, s, a.Name)
	}
	return a, nil
}

func kindRows(a kinds.About, now time.Time) (rows [][2]string) {
	if a.Time != nil {
		text := fmt.Sprintf("%s  (%s)", a.Time.Format(time.RFC3339Nano), Ago(*a.Time, now))
		rows = append(rows, [2]string{"time", text})
	}
	for _, f := range a.Facts {
		text := f.Format()
		if f.Note != "" {
			text += "  (" + f.Note + ")"
		}
		rows = append(rows, [2]string{f.Name, text})
	}
	return rows
}

// appendKindJSON appends one object. No text in it comes from outside but the ID, which was read.
func appendKindJSON(b []byte, a kinds.About) []byte {
	b = fmt.Appendf(b, `{"id":"%s","kind":"%s"`, a.Text, a.Kind)
	if a.Time != nil {
		b = appendNumber(b, "unix_ms", a.Time.UnixMilli())
		b = append(a.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano), '"')
	}
	for _, f := range a.Facts {
		value, err := json.Marshal(f.Value)
		if err != nil {
			continue // texts and numbers always have one
		}
		b = fmt.Appendf(b, `,"%s":%s`, strings.ReplaceAll(f.Name, " ", "_"), value)
	}
	return append(b, "}\n"...)
}
