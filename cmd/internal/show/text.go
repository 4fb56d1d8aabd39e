package show

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/public"
)

// text is an ID as it was read.
type text struct {
	id      snowfence.ID
	form    snowfence.Encoding
	prefix  string // with the _ behind it
	isGuess bool   // the encoding was not named
}

// shortestGuess is how long a text must be to be read in a form that was
// not named: any word is an ID in some form.
const shortestGuess = 8

// guessedForms returns the forms that are tried on a text that is no
// decimal, those first that people use most.
func guessedForms() (list []snowfence.Encoding) {
	often := []snowfence.Encoding{
		snowfence.Hex, snowfence.Base32Hex, snowfence.Base58, snowfence.Base62, snowfence.Base36,
		snowfence.Crockford, snowfence.ZBase32, snowfence.Base58Flickr, snowfence.Base64URL, snowfence.CrockfordCheck,
	}
	list = append(often, snowfence.Decimal.Fixed())
	for _, e := range often {
		list = append(list, e.Fixed())
	}
	return list
}

// texts returns the meanings of a text: in the named form, or else as a
// decimal, or else in each form that it fits. The error is the first one's.
func (d *Decoder) texts(s []byte) ([]text, error) {
	form := snowfence.Decimal
	if d.Form != nil {
		form = *d.Form
	}
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' && (d.Form == nil || form == snowfence.Hex) { // as in programs
		form, s = snowfence.Hex, s[2:]
	}
	first, err := readText(form, s)
	if err == nil {
		return []text{first}, nil
	}
	if d.Form != nil {
		return nil, unreadableError(s, err)
	}
	if d.Views[0].Layout.Cipher != snowfence.Plain { // its IDs are printed so
		if t, otherErr := readText(snowfence.Base32Hex, s); otherErr == nil {
			return []text{t}, nil
		}
	}
	var list []text
	for _, e := range guessedForms() {
		t, otherErr := readText(e, s)
		digits := s[len(t.prefix):]
		if otherErr != nil || len(digits) < shortestGuess || !bytes.Equal(e.Append(nil, t.id), digits) {
			continue // it may be read in this form, and is not written so
		}
		t.isGuess = true
		list = append(list, t)
	}
	if len(list) == 0 {
		return nil, unreadableError(s, err)
	}
	return list, nil
}

// unreadableError adds the possible forms of a text to its error, and how
// to type one of them.
func unreadableError(s []byte, err error) error {
	var forms []string
	for _, f := range append(snowfence.Encodings(), guessedForms()...) {
		if _, readErr := readText(f, s); readErr == nil && !slices.Contains(forms, f.Name()) {
			forms = append(forms, f.Name())
		}
	}
	if _, floatErr := strconv.ParseFloat(string(s), 64); floatErr == nil && bytes.ContainsAny(s, ".eE") {
		return fmt.Errorf("%w; a spreadsheet or a program made a float of it, and lost its last digits: "+
			"keep IDs as text there", err)
	}
	if len(forms) == 0 {
		return fmt.Errorf("%w; no other form of text fits either", err)
	}
	return fmt.Errorf("%w; it can be an ID written as %s: name the form, as in --from %s",
		err, strings.Join(forms, ", "), forms[0])
}

// readText reads an ID in one form, with or without a prefix.
func readText(e snowfence.Encoding, s []byte) (text, error) {
	id, prefix, err := ReadID(e, s)
	return text{id: id, form: e, prefix: prefix}, err
}

// ReadID reads an ID in an encoding, with a prefix before it or without
// one. The prefix is returned with its _; the error is the one of the text
// without a prefix.
func ReadID(e snowfence.Encoding, s []byte) (id snowfence.ID, prefix string, err error) {
	if id, err = e.ParseBytes(s); err == nil {
		return id, "", nil
	}
	// Some encodings have a digit _.
	for at := bytes.LastIndexByte(s, '_'); at > 0; at = bytes.LastIndexByte(s[:at], '_') {
		if _, nameErr := public.NewPrefix(string(s[:at]), e); nameErr != nil {
			continue
		}
		if id, digitsErr := e.ParseBytes(s[at+1:]); digitsErr == nil {
			return id, string(s[:at+1]), nil
		}
	}
	return 0, "", err
}
