// Package library knows the layouts of other libraries' settings.
package library

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowfence/snowfence"
)

// Layout is what the settings of a library mean.
type Layout struct {
	Layout   snowfence.Layout
	Reserved bool          // it makes IDs with numbers below the layout's first
	Lead     time.Duration // how far its IDs run ahead of its clock, if the clock never steps
	Notes    []string      // what people must know before they move
}

// libraries are the functions from settings to layouts, by the name of the library.
func libraries() map[string]func(*settings) Layout {
	return map[string]func(*settings) Layout{
		"bwmarrin":      bwmarrin,
		"leaf":          leaf,
		"randflake":     randflake,
		"sonyflake":     sonyflake,
		"sonyflake-v1":  sonyflake,
		"sonyflake-v2":  sonyflakeV2,
		"uid-generator": uidGenerator,
		"yitter":        yitter,
		"yitter-csharp": yitterCSharp,
	}
}

// Names returns the libraries that Of knows.
func Names() []string { return slices.Sorted(maps.Keys(libraries())) }

// Of returns the layout of a library with settings under the names that the library gives them,
// without regard to case. Settings that are left out have the library's default.
func Of(name string, set map[string]string) (Layout, error) {
	f := libraries()[name]
	if f == nil {
		return Layout{}, fmt.Errorf("unknown library %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	s := &settings{given: map[string]string{}}
	for k, v := range set {
		s.given[strings.ToLower(k)] = v
	}
	l := f(s)
	if s.err == nil && len(s.given) > 0 {
		left := slices.Sorted(maps.Keys(s.given))
		s.fail("%s has no setting %s; it has %s", name, left[0], strings.Join(s.known, ", "))
	}
	if s.err == nil {
		s.err = l.Layout.Validate()
	}
	return l, s.err
}

// settings are read by name. The first fault is kept.
type settings struct {
	given map[string]string
	known []string
	err   error
}

func (s *settings) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *settings) text(name string) (string, bool) {
	s.known = append(s.known, name)
	text, ok := s.given[strings.ToLower(name)]
	delete(s.given, strings.ToLower(name))
	return text, ok
}

// number reads a whole number from least to most.
func (s *settings) number(name string, otherwise, least, most int64) int64 {
	text, ok := s.text(name)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		s.fail("%s is %q; the library takes %d to %d", name, text, least, most)
	}
	return n
}

// bits is number, where 0 stands for the default.
func (s *settings) bits(name string, otherwise, least, most int64) int {
	n := s.number(name, otherwise, 0, most)
	if n == 0 {
		n = otherwise
	}
	if n < least {
		s.fail("%s is %d; the library takes %d to %d", name, n, least, most)
	}
	return int(n)
}

// time reads an RFC 3339 time, a date, or milliseconds since 1970.
func (s *settings) time(name string, otherwise time.Time, zone *time.Location) time.Time {
	text, ok := s.text(name)
	if !ok {
		return otherwise
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms).UTC()
	}
	for _, form := range []string{time.RFC3339Nano, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(form, text, zone); err == nil {
			return t.UTC()
		}
	}
	s.fail("%s is %q, not a time such as 2025-01-01T00:00:00Z, nor milliseconds since 1970", name, text)
	return otherwise
}

// fields returns those that have bits.
func fields(list ...snowfence.Field) []snowfence.Field {
	return slices.DeleteFunc(list, func(f snowfence.Field) bool { return f.Bits == 0 })
}
