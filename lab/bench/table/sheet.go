package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/perf/benchmath"
)

// figures are the samples of all rounds, by name.
type figures map[string][]float64

// readFigures reads lines of a name and a number.
func readFigures(path string) (figures, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f := figures{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, text, ok := strings.Cut(lines.Text(), " ")
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil {
			return nil, fmt.Errorf("%s: not a figure: %q", path, lines.Text())
		}
		f[name] = append(f[name], x)
	}
	return f, lines.Err()
}

// sheet makes tables of figures. The first that is missing is its error;
// every figure has to be shown, so that nothing measured is left out.
type sheet struct {
	figures
	shown map[string]bool
	err   error
	b     strings.Builder
}

func (s *sheet) median(name string, args ...any) float64 {
	return s.summary(fmt.Sprintf(name, args...)).Center
}

// summary is what benchstat prints: the median and its 95 % confidence
// interval.
func (s *sheet) summary(name string) benchmath.Summary {
	s.shown[name] = true
	if len(s.figures[name]) == 0 {
		if s.err == nil {
			s.err = fmt.Errorf("%s was not measured", name)
		}
		return benchmath.Summary{}
	}
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(s.figures[name], &benchmath.DefaultThresholds), 0.95)
}

// has reports whether an optional figure is there.
func (s *sheet) has(name string) bool { return len(s.figures[name]) > 0 }

// medianBounds gives the bounds of the median with 95 % confidence; nothing
// if there are too few figures to say.
func (s *sheet) medianBounds(name string, args ...any) string {
	x := s.summary(fmt.Sprintf(name, args...))
	if math.IsInf(x.Lo, 0) || math.IsInf(x.Hi, 0) {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", figure(x.Lo), figure(x.Hi))
}

// tableOf returns the output of a function.
func tableOf(f figures, write func(*sheet)) (string, error) {
	s := &sheet{figures: f, shown: map[string]bool{}}
	write(s)
	for name := range f {
		if !s.shown[name] && s.err == nil {
			s.err = fmt.Errorf("%s was measured and has no row", name)
		}
	}
	return s.b.String(), s.err
}

// writeRow writes a row of a table.
func (s *sheet) writeRow(cells ...string) { fmt.Fprintf(&s.b, "| %s |\n", strings.Join(cells, " | ")) }

// against says how a ratio does against its target.
func against(x float64, least bool, limit float64) string {
	sign, met := "≤", x <= limit
	if least {
		sign, met = "≥", x >= limit
	}
	return fmt.Sprintf("%s × (%s %s%s)", figure(x), sign, strconv.FormatFloat(limit, 'f', -1, 64), verdict(met))
}

// verdict is empty for a target that is met.
func verdict(met bool) string {
	if met {
		return ""
	}
	return ", **missed**"
}

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

func share(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" }

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
