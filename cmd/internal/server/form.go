package server

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/show"
	"github.com/snowfence/snowfence/public"
)

// Form is how a caller writes IDs: an encoding, and a prefix or none. The
// zero value writes decimals.
type Form struct {
	encoding snowfence.Encoding
	prefix   string // with the _ behind it
}

// ParseForm returns the form of a format such as base58, decimal where that
// is missing, and the name of a prefix.
func ParseForm(format, prefix string) (f Form, err error) {
	if format != "" {
		if f.encoding, err = snowfence.ParseEncoding(format); err != nil {
			return f, Errorf(Invalid, "format: %w", err)
		}
	}
	if prefix != "" {
		if _, err := public.NewPrefix(prefix, f.encoding); err != nil {
			return f, kindError{Invalid, err}
		}
		f.prefix = prefix + "_"
	}
	return f, nil
}

// Append appends the text of an ID. It needs no quoting in JSON.
func (f Form) Append(b []byte, id snowfence.ID) []byte {
	return f.encoding.Append(append(b, f.prefix...), id)
}

// Parse returns the ID of a text. A form with a prefix takes texts with
// that prefix only, one without takes any.
func (f Form) Parse(text string) (snowfence.ID, error) {
	id, prefix, err := show.ReadID(f.encoding, []byte(text))
	if err == nil && f.prefix != "" && prefix != f.prefix {
		err = fmt.Errorf("%w: %q does not begin with %s", snowfence.ErrInvalidID, Clip(text), f.prefix)
	}
	return id, err
}

// ReadWithin reads numbers of fields, as in tag=7,node=3.
func ReadWithin(text string) (map[string]int64, error) {
	within := map[string]int64{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if _, twice := within[name]; err != nil || twice {
			return nil, Errorf(Invalid, "within %s: write fields and their numbers, as in tag=7,node=3", Clip(text))
		}
		within[name] = n
	}
	return within, nil
}

// ParseTime reads a time of a request: as [show.ReadTime], or as
// milliseconds since 1970. A number of fewer than 12 digits is refused,
// because it looks like a date or seconds; 0 is allowed.
func ParseTime(s string) (time.Time, error) {
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil && (len(s) >= 12 || ms == 0) {
		return time.UnixMilli(ms).UTC(), nil
	}
	t, err := show.ReadTime(s)
	if i := strings.LastIndexByte(s, ' '); err != nil && i > len(time.DateOnly) {
		t, err = show.ReadTime(s[:i] + "+" + s[i+1:]) // a + in a query is a space
	}
	if err != nil {
		return t, Errorf(Invalid, "time %q: write it as 2026-01-02T15:04:05Z, or as milliseconds since 1970", Clip(s))
	}
	return t, nil
}
