package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// An operator saw from the store who holds nodes, but not which servers
// there are.
func TestServersOfAStoreAreListed(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
	st := must(open.Open(t.Context(), url))
	defer st.Close()
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"servers", "--store", url}, nil, &out, &said, nil)
	if code != 0 || out.Len() > 0 || !bytes.Contains(said.Bytes(), []byte("no server uses sqlite:")) {
		t.Errorf("without servers: %d %s%s", code, &out, &said)
	}
	// A label from before they were checked.
	s := server.New(st.Leases, server.Options{Label: "web\x1b[2J-1", Version: "v1.2.3"})
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); s.Servers.Announce(ctx) }()
	defer func() { stop(); <-gone }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l, err := server.ListServers(t.Context(), st.Leases)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%v, %v", l, err)
		}
		if len(l) > 0 {
			break
		}
	}
	code = run(t.Context(), []string{"servers", "--store", url}, nil, &out, &said, nil)
	if code != 0 || !regexp.MustCompile(`(?m)^web\\x1b\[2J-1 +v1\.2\.3 +\d{4}-\S+ +.*(now|ago) +yes +$`).Match(out.Bytes()) {
		t.Errorf("%d %q %s", code, &out, &said)
	}
	out.Reset()
	var v pb.ServerInfo
	code = run(t.Context(), []string{"servers", "--json", "--store", url}, nil, &out, &said, nil)
	if err := view.Read(out.Bytes(), &v); code != 0 || err != nil || v.Version != "v1.2.3" {
		t.Errorf("%d %s %s, %v", code, &out, &said, err)
	}
}

// A misspelled variable, a namespace that does not exist, and lines that
// are no JSON: the server said "ready, try curl" in plain text.
func TestServeSaysWhatIsMissingInJSON(t *testing.T) {
	s := serveProcess(t, "", "--log-json", "--ready-for", "orders")
	s.cmd.Env = append(s.cmd.Env, "SNOWFENCE_MAXWAIT=3s", "SNOWFENCE_PORT_8080_TCP=x", "SNOWFENCE_LAYOUT=twitter")
	var all strings.Builder
	s.heard = func(line string) {
		all.WriteString(line + "\n")
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	s.start()
	s.waitFor("of ready-for does not exist")
	s.signal(syscall.SIGTERM)
	noError(t, s.wait())
	text := all.String()
	if strings.Count(text, "means nothing") != 1 || !strings.Contains(text, "SNOWFENCE_MAXWAIT means nothing") {
		t.Error(text)
	}
	if !strings.Contains(text, "snowfence namespace create orders") {
		t.Error(text)
	}
}

// Ctrl-C ends a long run with 130. What it took is printed, so the next run
// goes on there.
func TestSequenceNextIsInterrupted(t *testing.T) {
	store := filepath.Join(t.TempDir(), "ids.db")
	output(t, "sequence", "create", "orders", "--store", "sqlite:"+store)
	cmd, stdout, stderr := start(t, store, "sequence", "next", "orders", "-n", "1000000000000")
	r := bufio.NewReader(stdout)
	first, err := readIDs(r, 10)
	if err != nil || len(first) != 10 || first[0] != 1 || first[9] != 10 {
		t.Fatal(first, err)
	}
	noError(t, cmd.Process.Signal(os.Interrupt))
	rest := must(readIDs(r, math.MaxInt))
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != command.ExitInterrupted || stderr.String() != "snowfence: interrupted\n" {
		t.Errorf("%v: %s", cmd.ProcessState, stderr)
	}
	last := rest[len(rest)-1]
	if last != int64(10+len(rest)) {
		t.Errorf("%d numbers end with %d", 10+len(rest), last)
	}
	got := output(t, "sequence", "next", "orders", "--store", "sqlite:"+store)
	if got != strconv.FormatInt(last+1, 10)+"\n" {
		t.Errorf("%s follows %d", got, last)
	}
}
