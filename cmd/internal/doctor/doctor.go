// Package doctor looks for common problems: clocks, settings of stores,
// time and nodes that run out, files that others can read. It changes
// nothing.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/lease/scope"
)

// State says how a check ended.
type State string

// The states. A check that could not run is NotChecked, never Good.
const (
	Good       State = "good"
	Found      State = "finding"
	NotChecked State = "not checked"
)

// Result is one line of the answer.
type Result struct {
	Name  string `json:"name"` // one of Names
	State State  `json:"state"`
	About string `json:"about,omitempty"` // the namespace, node, sequence or file
	Text  string `json:"text"`
	Cure  string `json:"cure,omitempty"`
}

// Case is the subject of the checks.
type Case struct {
	Now      func() time.Time
	Store    *open.Store // nil if it could not be opened
	StoreErr error       // why not; nil where servers stand in its place
	Flags    string      // what makes a command use the same store, behind a space
	Config   *serve.Config
	Secrets  []string // files with secrets that settings name
	StateDir string   // a folder of state files; "" for none

	namespaces []scope.Namespace
	listErr    error
}

// A check looks at one thing. Each of its results has one of its names.
type check struct {
	names []string
	run   func(ctx context.Context, c *Case, r *report)
	store bool // it needs an open store
}

var checks = [...]check{
	{names: []string{ClockSync}, run: clockSync},
	{names: []string{MachineCopies}, run: machineCopies},
	{names: []string{StoreMissing, StoreUnusable, StoreRestored}, run: storeOpens},
	{names: []string{ClockOffset}, run: clockOffset, store: true},
	{names: []string{StoreVersion, StoreDurability, StoreRights}, run: storeSettings, store: true},
	{names: []string{StoreFileSystem}, run: fileSystem, store: true},
	{names: []string{StoreMoved}, run: storeMoved, store: true},
	{names: []string{StoreIdentity}, run: eachNamespace(identity), store: true},
	{
		names: []string{NamespaceChanging, NamespaceWaits, NamespaceRolledBack, LayoutEnds, NodesUncovered},
		run:   eachNamespace(namespace), store: true,
	},
	{
		names: []string{NodesLeft, NodeVetoed, NodeAhead, HolderLate, HolderClock, RenewalsFail},
		run:   eachNamespace(nodes), store: true,
	},
	{names: []string{ServerNotReady}, run: servers},
	{names: []string{DiskFull}, run: space},
	{names: []string{SequenceRolledBack, SequenceEnds}, run: sequences, store: true},
	{names: []string{Settings, CertificateEnds, TokenEnds}, run: settings},
	{names: []string{FileReadable}, run: readable},
}

// Names returns the names of all results, in the order in which they are
// looked at.
func Names() (all []string) {
	for _, c := range checks {
		all = append(all, c.names...)
	}
	return all
}

// Look runs all checks but those with the names left out.
func Look(ctx context.Context, c *Case, leftOut []string) []Result {
	if c.Store != nil {
		c.namespaces, c.listErr = scope.Namespaces(c.Store.Leases).List(ctx)
	}
	var all []Result
	for _, check := range checks {
		r := &report{names: check.names}
		if check.store && c.Store == nil {
			r.unchecked(check.names, "", "the store could not be opened")
		} else {
			check.run(ctx, c, r)
		}
		for _, name := range check.names { // silence is not health
			if !slices.ContainsFunc(r.results, func(x Result) bool { return x.Name == name }) {
				r.good(name, "", "nothing found")
			}
		}
		all = append(all, r.results...)
	}
	return slices.DeleteFunc(all, func(r Result) bool { return slices.Contains(leftOut, r.Name) })
}

// report gathers the results of a check.
type report struct {
	names   []string // of the check
	results []Result
}

func (r *report) good(name, about, format string, args ...any) {
	r.results = append(r.results, Result{Name: name, State: Good, About: about, Text: fmt.Sprintf(format, args...)})
}

func (r *report) found(name, about, cure, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	r.results = append(r.results, Result{Name: name, State: Found, About: about, Text: text, Cure: cure})
}

func (r *report) unchecked(names []string, about, format string, args ...any) {
	for _, name := range names {
		text := fmt.Sprintf(format, args...)
		r.results = append(r.results, Result{Name: name, State: NotChecked, About: about, Text: text})
	}
}
