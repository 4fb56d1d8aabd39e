package show

import (
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/kinds"
)

// kind takes an ID of another kind apart. Text that is none gets the error that
// it has as a 64-bit ID.
func (d *Decoder) kind(s []byte, err error) (kinds.About, error) {
	a, ok := kinds.Recognize(string(s))
	switch {
	case !ok:
		return a, err
	case d.Form != nil || d.Source != Guessed || d.Check != nil:
		return a, fmt.Errorf("%w: %q is of kind %s, which has more than 64 bits: leave --from, --layout, --check, "+
			"--store and --namespace out", snowfence.ErrInvalidID, s, a.Name)
	}
	return a, nil
}

func kindRows(a kinds.About, now time.Time) (rows Rows) {
	if a.Time != nil {
		rows.Add("time", "%s  (%s)", a.Time.Format(time.RFC3339Nano), Ago(*a.Time, now))
	}
	for _, f := range a.Facts {
		note := ""
		if f.Note != "" {
			note = "  (" + f.Note + ")"
		}
		rows.Add(f.Name, "%v%s", f.Value, note)
	}
	return rows
}
