package ids

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowfence/snowfence"
)

// formatter writes IDs as lines.
type formatter struct {
	encodings []snowfence.Encoding
	json      bool
}

// newFormatter reads a list of forms such as dec,hex.
func newFormatter(list string, asJSON bool) (*formatter, error) {
	f := &formatter{json: asJSON}
	for name := range strings.SplitSeq(list, ",") {
		e, err := snowfence.ParseEncoding(strings.TrimSpace(name))
		if err != nil {
			return nil, fmt.Errorf("--format: %w", err)
		}
		if slices.Contains(f.encodings, e) {
			return nil, fmt.Errorf("--format: %s is given twice", e.Name())
		}
		f.encodings = append(f.encodings, e)
	}
	return f, nil
}

// append appends a line for each ID.
func (f *formatter) append(b []byte, ids []snowfence.ID) []byte {
	for _, id := range ids {
		if f.json {
			b = f.appendJSON(b, id)
			continue
		}
		for _, e := range f.encodings {
			b = append(e.Append(b, id), '\t')
		}
		b[len(b)-1] = '\n'
	}
	return b
}

// appendJSON appends {"id":"…"} with the other forms under their names. All
// alphabets are safe inside JSON strings.
func (f *formatter) appendJSON(b []byte, id snowfence.ID) []byte {
	b = append(b, `{"id":"`...)
	b = append(snowfence.Decimal.Append(b, id), '"')
	for _, e := range f.encodings {
		if e == snowfence.Decimal {
			continue
		}
		b = append(b, `,"`...)
		b = append(b, e.Name()...)
		b = append(b, `":"`...)
		b = append(e.Append(b, id), '"')
	}
	return append(b, "}\n"...)
}
