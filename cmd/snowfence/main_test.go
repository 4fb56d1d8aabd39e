package main

import (
	"errors"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program itself, for the scripts and for tests that start processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"snowfence": main,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("HOME", env.WorkDir+"/home")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"waitheld": waitHeld,
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
	for range 200 {
		ts.Check(ts.Exec("snowfence", "lease", "list", "--namespace", args[0]))
		if ts.ReadFile("stdout") != "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("no node of %s was held within 10 s", args[0])
}
