package main

import (
	"bufio"
	_ "embed"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"text/template"

	"golang.org/x/perf/benchmath"
)

//go:embed page.md.tmpl
var pageSource string

// figures are the samples of all rounds, by name.
type figures map[string][]float64

// read adds lines of a name and a number.
func (f figures) read(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return fmt.Errorf("%s: not a figure: %q", path, lines.Text())
		}
		f[name] = append(f[name], x)
	}
	return lines.Err()
}

// page writes the page with the figures. A figure that it has no place for
// is an error, so that nothing measured is left out, and so is one that is
// missing.
func page(f figures, m machine) (string, error) {
	s := &sheet{figures: f, shown: map[string]bool{}}
	t, err := template.New("page").Funcs(template.FuncMap{
		"median": s.median, "spread": s.spread, "bounds": s.bounds, "repeats": s.repeats, "rounds": s.rounds,
		"idle": s.idle, "over": func(b, a float64) float64 { return a / b },
		"times": func(by, x float64) float64 { return by * x }, "whole": whole,
		"figure": figure, "many": many, "atMost": atMost, "atLeast": atLeast,
	}).Parse(pageSource)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, m); err != nil {
		return "", err
	}
	for name := range f {
		if !s.shown[name] {
			return "", fmt.Errorf("%s was measured and has no row", name)
		}
	}
	return b.String(), nil
}

// sheet gives the page its figures, and notes which were shown.
type sheet struct {
	figures
	shown map[string]bool
}

// summary is what benchstat prints: the median and its 95 % confidence
// interval.
func (s *sheet) summary(name string) (benchmath.Summary, error) {
	s.shown[name] = true
	if len(s.figures[name]) == 0 {
		return benchmath.Summary{}, missing(name)
	}
	sample := benchmath.NewSample(s.figures[name], &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, 0.95), nil
}

// missing is the name of a figure that was not measured.
type missing string

func (m missing) Error() string { return string(m) + " was not measured" }

func (s *sheet) median(name string) (float64, error) {
	x, err := s.summary(name)
	return x.Center, err
}

// spread is the median with half the width of its interval.
func (s *sheet) spread(name string) (string, error) {
	x, err := s.summary(name)
	return figure(x.Center) + " ±" + x.PctRangeString(), err
}

// bounds returns the bounds of the median with 95 % confidence; nothing if
// there are too few figures to say.
func (s *sheet) bounds(name string) (string, error) {
	x, err := s.summary(name)
	if math.IsInf(x.Lo, 0) || math.IsInf(x.Hi, 0) {
		return "", err
	}
	return fmt.Sprintf(" [%s, %s]", figure(x.Lo), figure(x.Hi)), err
}

// repeats says whether a library was seen to repeat IDs.
func (s *sheet) repeats(name string) string {
	name = "repeats/" + name
	s.shown[name] = true
	if len(s.figures[name]) == 0 {
		return ""
	}
	return "yes, shown"
}

func (s *sheet) rounds(name string) int { return len(s.figures[name]) }

// idle reports whether the machine had two cores to spare. Reading the
// clock shares nothing, so two goroutines take half as long for it. If
// other programs ran, the figures with two goroutines are too high, and
// vary.
func (s *sheet) idle() (bool, error) {
	one, err := s.summary("id/since/1")
	if err != nil {
		return false, err
	}
	two, err := s.summary("id/since/2")
	return two.Hi < 0.6*one.Center, err
}

// atMost and atLeast say how a figure does against its target. unit follows
// the figure.
func atMost(limit float64, unit string, x float64) string {
	return figure(x) + unit + " (≤ " + verdict(figureOf(limit), x <= limit)
}

func atLeast(limit float64, unit string, x float64) string {
	return figure(x) + unit + " (≥ " + verdict(figureOf(limit), x >= limit)
}

func verdict(limit string, met bool) string {
	if met {
		return limit + ")"
	}
	return limit + ", **missed**)"
}

func figureOf(limit float64) string { return strconv.FormatFloat(limit, 'f', -1, 64) }

// many writes a large number with the word for its size.
func many(x float64) string {
	switch {
	case x >= 1e9:
		return figure(x/1e9) + " G"
	case x >= 1e6:
		return figure(x/1e6) + " M"
	case x >= 1e3:
		return figure(x/1e3) + " k"
	}
	return figure(x)
}

func whole(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

// figure writes three digits, or all before the point.
func figure(x float64) string {
	digits := 3
	for _, more := range []float64{1, 10, 100} {
		if x >= more {
			digits--
		}
	}
	return strconv.FormatFloat(x, 'f', max(digits, 0), 64)
}
