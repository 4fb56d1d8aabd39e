package insql

import (
	"fmt"
	"strings"
	"unicode"
)

// values are the parts of a plan for a text, by name. text/template would
// do this and more, but makes the linker keep every exported method of the
// program.
type values map[string]any

// fillText puts each value where a text has {{NAME}}. It looks through no
// value for further names.
func (v values) fillText(text string) string {
	pairs := make([]string, 0, 2*len(v))
	for name, value := range v {
		pairs = append(pairs, "{{"+name+"}}", fmt.Sprint(value))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// textValues returns the values that all dialects have.
func (n numbers) textValues() values {
	var about strings.Builder
	for _, line := range n.About {
		about.WriteString("-- " + comment(line) + "\n")
	}
	return values{
		"About": about.String(), "Spec": strings.ReplaceAll(n.Spec, "'", "''"), "Node": n.Node, "Lead": n.Lead,
		"Tick": n.Tick, "Epoch": n.Epoch, "MaxTick": n.MaxTick, "End": n.End, "First": n.First, "Count": n.Count,
		"Anew": n.Anew, "TimeShift": n.TimeShift, "SeqShift": n.SeqShift, "NodeBits": n.NodeBits,
	}
}

// nodeParts puts the node of an ID together. format gets the place of each
// part, its mask, and its place in the node.
func (n numbers) nodeParts(format, none string) string {
	if len(n.Parts) == 0 {
		return none
	}
	list := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		list[i] = fmt.Sprintf(format, p.Shift, p.Mask, p.Up)
	}
	return strings.Join(list, " | ")
}

// sequencePart takes the sequence number out of an ID.
func (n numbers) sequencePart(format, none string) string {
	if n.SeqMask == 0 {
		return none
	}
	return fmt.Sprintf(format, n.SeqShift, n.SeqMask)
}

// tag fills a text where IDs have a tag.
func (n numbers) tag(text, schema string) string {
	if n.TagMask == 0 {
		return ""
	}
	return values{"Schema": schema, "Shift": n.TagShift, "Mask": n.TagMask}.fillText(text)
}

// widthCondition leaves out numbers that have more bits than an ID.
func (n numbers) widthCondition() string {
	if n.Width == 64 {
		return ""
	}
	return fmt.Sprintf(" WHERE id >> %d = 0", n.Width)
}

// quoted writes names between quotes, with dots.
func quoted(quote string, names ...string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quote + strings.ReplaceAll(name, quote, quote+quote) + quote
	}
	return strings.Join(list, ".")
}

// comment makes a text safe behind "--".
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
