package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var header = []string{
	"ns an ID, wall time", "default, 1 goroutine", "default, 2", "widest, 1 goroutine", "widest, 2", "allocs",
	"with 1: against (target)", "with 2: against (target)", "repeats after a restart",
}

// idle reports whether the machine had two cores to spare: reading the clock shares
// nothing, so that two goroutines take half as long for it. Where something else was
// running the figures with two goroutines are too high, and vary.
func (r *results) idle() (bool, error) {
	one, err := r.median(key{"since", true, 1})
	if err != nil {
		return false, err
	}
	samples := r.ns[key{"since", true, 2}]
	if len(samples) == 0 {
		return false, fmt.Errorf("time.Since was not measured with two goroutines")
	}
	return summary(samples).Hi < 0.6*one, nil
}

// table writes all results as a Markdown table. A result that has no row is an error:
// nothing measured is left out.
func (r *results) table() (string, error) {
	shown := map[string]bool{}
	lines := [][]string{header}
	for _, row := range rows {
		if row.name == "" {
			line := make([]string, len(header))
			line[0] = row.title
			lines = append(lines, line)
			continue
		}
		shown[row.name] = true
		line, err := r.line(row)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	for k := range r.ns {
		if !shown[k.name] {
			return "", fmt.Errorf("%s was measured and has no row", k.name)
		}
	}
	for name := range r.repeats {
		if !shown[name] {
			return "", fmt.Errorf("%s was tested and has no row", name)
		}
	}
	return markdown(lines), nil
}

func (r *results) line(w row) ([]string, error) {
	line := []string{w.title}
	allocs := 0.0
	for _, wide := range []bool{false, true} {
		for _, goroutines := range []int{1, 2} {
			k := key{w.name, wide, goroutines}
			if len(r.ns[k]) == 0 {
				line = append(line, "–")
				continue
			}
			s := summary(r.ns[k])
			line = append(line, figure(s.Center)+" ± "+s.PctRangeString())
			allocs = max(allocs, summary(r.allocs[k]).Center)
		}
	}
	if line[1] == "–" && line[3] == "–" {
		return nil, fmt.Errorf("%s was not measured", w.name)
	}
	line = append(line, strconv.FormatFloat(allocs, 'f', 0, 64))
	for i, t := range targets[w.name] {
		cell, err := r.compare(w.name, i+1, t)
		if err != nil {
			return nil, err
		}
		line = append(line, cell)
	}
	repeats := ""
	if r.repeats[w.name] {
		repeats = "yes, shown"
	}
	return append(line, repeats), nil
}

// compare says how a row does against its target.
func (r *results) compare(name string, goroutines int, t *target) (string, error) {
	if t == nil {
		return "", nil
	}
	got, err := r.median(key{name, true, goroutines})
	if err != nil {
		return "", err
	}
	what, limit := "ns", strconv.FormatFloat(t.limit, 'f', -1, 64)
	if t.of != "" {
		base, err := r.median(key{t.of, true, t.goroutines})
		if err != nil {
			return "", err
		}
		got /= base
		what = "× " + t.ofTitle
	}
	verdict := "met"
	if got > t.limit {
		verdict = "**missed**"
	}
	return fmt.Sprintf("%s %s (≤ %s, %s)", figure(got), what, limit, verdict), nil
}

// figure writes three digits, or all before the point.
func figure(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case x >= 1:
		return strconv.FormatFloat(x, 'f', 2, 64)
	default:
		return strconv.FormatFloat(x, 'f', 3, 64)
	}
}

// markdown aligns the columns, so that the table reads as well in a terminal.
func markdown(lines [][]string) string {
	width := make([]int, len(header))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	rule := make([]string, len(header))
	for i, w := range width {
		rule[i] = strings.Repeat("-", w)
		if i > 0 && i < 6 { // figures stand flush right
			rule[i] = strings.Repeat("-", w-1) + ":"
		}
	}
	var b strings.Builder
	for _, line := range slices.Insert(lines, 1, rule) {
		b.WriteString("|")
		for i, cell := range line {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i > 0 && i < 6 {
				fmt.Fprintf(&b, " %s%s |", pad, cell)
			} else {
				fmt.Fprintf(&b, " %s%s |", cell, pad)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
