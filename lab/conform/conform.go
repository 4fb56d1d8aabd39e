// Conform is a referee between a client and a server. For each of its rules
// it starts the client's adapter, plays answers that a server or a network
// can give, and compares each ID with the grants that it gave.
//
// The rules come from docs/reference/specification.md. No verdict depends
// on how fast the machine is: a step that a client did not reach counts as
// not seen, not as an offence.
package main

import (
	"context"
	"sync"
	"time"
)

// Row is the verdict about one rule.
type Row struct {
	Name    string
	Rule    string
	Section string // of the specification
	Verdict Verdict
	IDs     int64
	Grants  int64 // answers with a grant that reached the client
	Found   []string
	Missed  string // what did not happen
}

// Verdict says how a client did.
type Verdict string

// The verdicts. NotSeen means that the client broke no rule, but the rule
// was not put to the test.
const (
	Green   Verdict = "green"
	Red     Verdict = "red"
	NotSeen Verdict = "not seen"
)

// atOnce is how many clients run beside each other. They mostly wait.
const atOnce = 8

// Patience is how long a step may take before it counts as not seen. It
// only ends a hang.
const Patience = 90 * time.Second

// rounds is how often a rule is played until it is seen. A client that is
// slow on a busy machine comes to the point later.
const rounds = 3

// Run plays all rules against an adapter, which is started by a command
// once or more for each, with servers of a program. If only has names of
// rules, it plays these. A rule that was not seen is played again after the
// others, alone. Errors are of the referee itself.
func Run(ctx context.Context, program string, command, only []string) ([]Row, error) {
	return playAll(ctx, chosen(only), program, command)
}

func playAll(ctx context.Context, list []rule, program string, command []string) ([]Row, error) {
	rows := make([]Row, len(list))
	errs := make([]error, len(list))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, r := range list {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			rows[i], errs[i] = play(ctx, r, program, command)
		})
	}
	all.Wait()
	for i, r := range list {
		for n := 1; n < rounds && errs[i] == nil && rows[i].Verdict == NotSeen && ctx.Err() == nil; n++ {
			rows[i], errs[i] = play(ctx, r, program, command)
		}
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return rows, ctx.Err()
}
