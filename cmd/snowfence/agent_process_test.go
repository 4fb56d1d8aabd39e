//go:build unix

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"
	"github.com/snowfence/snowfence/remote"
)

// fleet is a server, an agent, and programs of a host, all of which die in
// turn.
type fleet struct {
	*testing.T
	dir string
	s   *snowfence.Scheme

	mu   sync.Mutex // of what follows
	seen map[snowfence.ID]bool
	got  map[string]int // since the last death, by who asks
}

// newFleet makes a namespace with a longest ttl of 3 s. The sockets are in
// a folder of their own, because their paths have to be short.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	noError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	f := &fleet{T: t, dir: dir, seen: map[snowfence.ID]bool{}, got: map[string]int{}}
	f.s = must(snowfence.NewScheme(snowfence.Default()))
	var out bytes.Buffer
	code := run(t.Context(), []string{
		"namespace", "create", "jobs", "--unit", "32", "--max-ttl", "3s", "--store", f.store(),
	}, nil, &out, &out, os.Environ())
	if code != command.ExitOK {
		t.Fatalf("%s", out.String())
	}
	return f
}

func (f *fleet) store() string { return "sqlite:" + filepath.Join(f.dir, "ids.db") }

func (f *fleet) startServer() *exec.Cmd {
	f.Helper()
	cmd := f.start("serve", "--store", f.store(), "--http", "unix:"+f.dir+"/server", "--resp", "", "--ttl", "3s")
	f.listens(f.dir + "/server")
	return cmd
}

func (f *fleet) startAgent() *exec.Cmd {
	f.Helper()
	return f.start("agent", "--store", "unix:"+f.dir+"/server", "--ready-for", "jobs", "--http", "unix:"+f.dir+"/agent")
}

func (f *fleet) dial() *remote.Client {
	f.Helper()
	c := must(remote.Dial([]string{"unix:" + f.dir + "/agent"}, nil))
	f.Cleanup(func() { _ = c.Close() })
	return c
}

// stop ends a program as systemd does.
func (f *fleet) stop(cmd *exec.Cmd) {
	f.Helper()
	noError(f, cmd.Process.Signal(syscall.SIGTERM))
	wantErr(f, cmd.Wait(), nil, "the program ended")
}

// note is told of an ID, and by whom it was got.
func (f *fleet) note(who string, id snowfence.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[id] {
		f.Errorf("%s: ID %d for the second time", who, id)
	}
	f.seen[id] = true
	f.got[who]++
}

// wait waits until each of some has so many more IDs.
func (f *fleet) wait(n int, who ...string) {
	f.Helper()
	f.mu.Lock()
	f.got = map[string]int{}
	f.mu.Unlock()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		least := n
		f.mu.Lock()
		for _, name := range who {
			least = min(least, f.got[name])
		}
		got := f.got
		f.mu.Unlock()
		switch {
		case least >= n:
			return
		case time.Now().After(end):
			f.Fatalf("IDs stay away: %v", got)
		}
	}
}

// start starts the program.
func (f *fleet) start(args ...string) *exec.Cmd {
	f.Helper()
	cmd := exec.Command("snowfence", args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	cmd.Env = os.Environ()
	noError(f, cmd.Start())
	f.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if f.Failed() {
			f.Logf("%v:\n%s", args, log.String())
		}
	})
	return cmd
}

func (f *fleet) kill(cmd *exec.Cmd) {
	f.Helper()
	noError(f, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
}

// hold leases a node at the socket again and again, makes IDs, and gives
// the node back or, as a program that dies, does not.
func (f *fleet) hold(ctx context.Context, c *remote.Client) {
	for round := 0; ctx.Err() == nil; round++ {
		l, err := c.Lease(ctx, "jobs", f.s, nil)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		g, err := snowfence.New(snowfence.Config{Fence: l, MaxWait: 3 * time.Second})
		for range 100 {
			if err != nil {
				break
			}
			var id snowfence.ID
			if id, err = g.Next(ctx); err == nil {
				f.note("holders", id)
			}
			if round%3 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if round%4 == 0 || err != nil {
			l.Orphan()
			continue
		}
		_ = l.Close() // while the agent is unreachable, the node is free when its grant ends
	}
}

// ask asks the agent for IDs.
func (f *fleet) ask(ctx context.Context, c *remote.Client) {
	src, err := c.Source("jobs", nil)
	if err != nil {
		f.Error(err)
		return
	}
	defer src.Close()
	for ctx.Err() == nil {
		id, err := src.Next(ctx)
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		f.note("asker", id)
	}
}

// Agent, server and programs are killed in turn under load; no ID comes
// twice, and all go on.
func TestAgentIsKilled(t *testing.T) {
	f := newFleet(t)
	s := f.startServer()
	a := f.startAgent()
	c := f.dial()
	load, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { f.hold(load, c) })
	}
	all.Go(func() { f.ask(load, c) })
	defer all.Wait()
	defer stop()
	f.wait(500, "holders", "asker")
	f.kill(a)
	a = f.startAgent()
	f.wait(500, "holders", "asker")
	f.kill(s)
	s = f.startServer()
	f.wait(500, "holders", "asker")
	f.kill(a)
	f.kill(s)
	f.startServer()
	a = f.startAgent()
	f.wait(500, "holders", "asker")
	stop()
	all.Wait()
	f.stop(a)
	fails(t, errOf(os.Stat(f.dir+"/agent")), "the file of the socket is still there")
	t.Logf("%d IDs, none twice", len(f.seen))
}

// listens waits until a program listens on a socket.
func (f *fleet) listens(path string) {
	f.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("unix", path)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			f.Fatal(err)
		}
	}
}

// The code of the page for gunicorn gets IDs from an agent, and so does
// what the agent says to try.
func TestAgentPage(t *testing.T) {
	f := newFleet(t)
	dir := f.dir
	f.startServer()
	a := &served{T: t, cmd: exec.Command("snowfence", "agent", "--store", "unix:"+dir+"/server", "--ready-for", "jobs",
		"--http", "unix:"+dir+"/agent.sock", "--resp", "unix:"+dir+"/redis.sock")}
	var try []string
	a.heard = func(line string) {
		if _, text, ok := strings.Cut(line, "try: redis-cli"); ok {
			try = strings.Fields(text)
		}
	}
	a.start()
	a.waitFor("IDs are unique within")
	if id, err := exec.Command("redis-cli", try...).Output(); err != nil || len(id) < 10 {
		t.Errorf("redis-cli %q: %q, %v", try, id, err)
	}
	defer func() {
		a.signal(syscall.SIGTERM)
		noError(t, a.wait())
	}()
	page := strings.ReplaceAll(pages(t)["../../docs/start/agent.md"], "/run/snowfence", dir)
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		if block[1] != "python" || !strings.Contains(block[2], "def app(") {
			continue
		}
		ask := block[2] + "\nprint(int(app({}, lambda *_: None)[0]), int(app({}, lambda *_: None)[0]))\n"
		out, err := exec.Command("/usr/bin/python3", "-c", ask).CombinedOutput()
		ids := strings.Fields(string(out))
		if err != nil || len(ids) != 2 || ids[0] == ids[1] {
			t.Errorf("%s: %v", out, err)
		}
		return
	}
	t.Error("the page has no code for gunicorn")
}
