package store

import "strings"

// Failure is an error of a driver, whose words may name hosts, users and
// databases.
type Failure struct {
	Err    error  // the driver's
	Text   string // for the log and for operators, with the driver's words
	Public string // for callers of an application
}

// Error returns the text for operators.
func (f *Failure) Error() string { return f.Text }

// Unwrap returns the driver's error.
func (f *Failure) Unwrap() error { return f.Err }

// Discreet returns an error for callers of an application: each [Failure]
// in it says what they may read. It matches what err matches.
func Discreet(err error) error {
	text := err.Error()
	for _, f := range failures(err) {
		if f.Public != f.Text {
			text = strings.ReplaceAll(text, f.Text, f.Public+" (the log says more)")
		}
	}
	return &discreetError{err, text}
}

func failures(err error) (all []*Failure) {
	switch e := err.(type) {
	case *Failure:
		return []*Failure{e}
	case interface{ Unwrap() error }:
		return failures(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, failures(one)...)
		}
	}
	return all
}

type discreetError struct {
	error
	text string
}

func (e *discreetError) Error() string { return e.text }
func (e *discreetError) Unwrap() error { return e.error }
