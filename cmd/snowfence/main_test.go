package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/statefile"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program itself, for the scripts and
// for tests that start processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"snowfence": func() {
			p := command.New(os.Stdin, os.Stdout, os.Stderr, os.Environ())
			p.Places.System = os.Getenv(systemStore) // and not the one that this machine may have
			os.Exit(process(p))
		},
	})
}

// run runs the program without signals and without the store of this
// machine.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	p := command.New(stdin, stdout, stderr, environ)
	p.Places.System = ""
	return execute(ctx, p, args)
}

// systemStore is the variable that tests name the file of a system-wide
// store by.
const systemStore = "TEST_SYSTEM_STORE"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("HOME", env.WorkDir+"/home")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":     exits,
			"waitheld":  waitHeld,
			"ahead":     ahead,
			"statefile": stateFile,
			"holds":     holds,
		},
	})
}

// exits runs the program and checks its exit code: exits 3 plan --change …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARGUMENT...")
	}
	got := 0
	if err := ts.Exec("snowfence", args[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// waitHeld waits until a node of the namespace is held.
func waitHeld(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitheld NAMESPACE")
	}
	for range 2400 { // the namespace may not be there yet
		if ts.Exec("snowfence", "lease", "list", "--namespace", args[0]) == nil && ts.ReadFile("stdout") != "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("no node of %s was held within two minutes", args[0])
}

// ahead leases a node of the namespace in ids.db with a clock that is an
// hour ahead, and gives it back or, with crash, does not.
func ahead(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || args[2] != "close" && args[2] != "crash" {
		ts.Fatalf("usage: ahead NAMESPACE NODE close|crash")
	}
	ctx := context.Background()
	st, node := storeAndNode(ts, args[1])
	ns, err := scope.Namespaces(st.Leases).Show(ctx, args[0])
	ts.Check(err)
	s, err := snowfence.NewScheme(ns.Layout)
	ts.Check(err)
	source := func() (time.Time, time.Duration) { return time.Now().Add(time.Hour), time.Since(began) }
	l, err := lease.Open(ctx, st.Leases, args[0], s, &lease.Options{Node: &node, Time: source})
	ts.Check(err)
	g, err := snowfence.New(snowfence.Config{Fence: l, Time: source})
	ts.Check(err)
	_, err = g.Next(ctx)
	ts.Check(err)
	if args[2] == "crash" {
		l.Orphan()
	} else {
		ts.Check(g.Shutdown(ctx))
		ts.Check(l.Shutdown(ctx))
	}
	ts.Check(st.Close())
}

// storeAndNode opens ids.db, and reads the number of a node.
func storeAndNode(ts *testscript.TestScript, text string) (*open.Store, int64) {
	node, err := strconv.ParseInt(text, 10, 64)
	ts.Check(err)
	st, err := open.Open(context.Background(), "sqlite:"+ts.MkAbs("ids.db"))
	ts.Check(err)
	return st, node
}

// holds leases a node of the namespace in ids.db under a label, as a
// process does that is killed while it holds it.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: holds NAMESPACE NODE LABEL")
	}
	st, node := storeAndNode(ts, args[1])
	defer st.Close()
	s := must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	l, err := lease.Open(context.Background(), st.Leases, args[0], s, &lease.Options{
		Node: &node, Label: args[2], TTL: 5 * time.Minute,
	})
	ts.Check(err)
	l.Orphan()
}

var began = time.Now()

// stateFile uses a state file of Twitter's layout with a clock that is
// ahead.
func stateFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: statefile FILE NODE AHEAD")
	}
	node, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	by, err := time.ParseDuration(args[2])
	ts.Check(err)
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	ts.Check(err)
	fence, err := statefile.File(ts.MkAbs(args[0]), s, node)
	ts.Check(err)
	source := func() (time.Time, time.Duration) { return time.Now().Add(by), time.Since(began) }
	g, err := snowfence.New(snowfence.Config{Fence: fence, Time: source})
	ts.Check(err)
	_, err = g.Next(context.Background())
	ts.Check(err)
	ts.Check(g.Close())
	ts.Check(fence.Close())
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails

// says reports an error without a text, and a call without an error.
var says = tests.Says
