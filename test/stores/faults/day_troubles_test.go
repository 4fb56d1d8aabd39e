//go:build linux

package faults

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
)

// troubles are what wakes operators.
var troubles = []trouble{
	{
		name: "the store is down", store: "PostgreSQL",
		begin: func(t testing.TB, d *day) func() {
			d.kill()
			return func() { d.restart(t) }
		},
	},
	{
		name: "a server starts while the store is down", store: "PostgreSQL",
		begin: func(t testing.TB, d *day) func() {
			d.kill()
			d.server.kill()
			d.start(t)
			d.began = mark{}
			return func() { d.restart(t) }
		},
	},
	{
		name: "the store hangs", store: "PostgreSQL",
		begin: func(_ testing.TB, d *day) func() {
			root := d.pids()[0]
			signalTree(root, syscall.SIGSTOP)
			return func() { signalTree(root, syscall.SIGCONT) }
		},
	},
	{
		name: "the disk of an SQLite file is full", store: "SQLite", quick: true,
		begin: func(t testing.TB, d *day) func() {
			d.empty(t)
			return d.disk.fill(t)
		},
	},
	{
		name: "the clock of the server is an hour ahead", store: "PostgreSQL", stepped: true,
		begin: func(t testing.TB, d *day) func() {
			d.clock.step(t, time.Hour)
			return nil
		},
	},
	{
		name: "all nodes are vetoed", store: "SQLite", quick: true,
		begin: func(t testing.TB, d *day) func() {
			for node := range leasable {
				d.run(t, "lease", "veto", fmt.Sprint(node), "--reason", "its rack burns", "--store", d.programURL())
			}
			return nil
		},
	},
	{
		name: "programs of a later version took the namespace over", store: "SQLite",
		begin: func(t testing.TB, d *day) func() {
			within(t, patience, "the namespace has the next format", func() bool {
				rs, _, err := d.store.Get(t.Context(), []store.Key{{Namespace: namespace, Node: store.NamespaceNode}})
				if err != nil {
					return false
				}
				r, old := rs[0], rs[0].Nonce
				format := fmt.Sprintf(`"format":%d,`, store.Format)
				r.Data = strings.Replace(r.Data, format, fmt.Sprintf(`"format":%d,`, store.Format+1), 1)
				r.Nonce, r.Revision = rand.Text(), r.Revision+1
				_, err = store.Put(t.Context(), d.store, store.Write{Old: old, New: r})
				return err == nil && r.Data != rs[0].Data
			})
			return nil
		},
	},
	{
		name: "the store was moved to another one", store: "SQLite", quick: true,
		begin: func(t testing.TB, d *day) func() {
			d.run(t, "store", "move", d.programURL(), "sqlite:"+filepath.Join(d.dir, "next.db"))
			return nil
		},
	},
	{
		name: "a client tries one wrong password after the other", store: "SQLite",
		begin: func(t testing.TB, d *day) func() {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for ctx.Err() == nil {
					d.guess(ctx)
				}
			}()
			return cancel
		},
	},
	{
		name: "one token takes all the connections it gets", store: "SQLite",
		args: []string{"--max-connections", "40"},
		begin: func(t testing.TB, d *day) func() {
			ctx, cancel := context.WithCancel(t.Context())
			for range 50 {
				go d.hoard(ctx)
			}
			return cancel
		},
	},
	{
		name: "a server is stopped under load", store: "SQLite", args: []string{"--drain", "30s"},
		begin: func(t testing.TB, d *day) func() {
			words, begun := make(chan string, 1), make(chan struct{})
			go func() { words <- d.load(sync.OnceFunc(func() { close(begun) })) }()
			<-begun
			d.server.signal(t, syscall.SIGTERM)
			return func() {
				<-d.server.gone
				if got := <-words; got != "TRYAGAIN the server is stopping: ask another one" {
					t.Errorf("a client that never pauses read %q", got)
				}
			}
		},
	},
}

// run runs a command of the program.
func (d *day) run(t testing.TB, args ...string) {
	t.Helper()
	tests.Run(t, exec.CommandContext(t.Context(), snowfencePath(t), args...))
}

// guess sends wrong passwords over the Redis protocol, until the server
// hangs up or ctx ends.
func (d *day) guess(ctx context.Context) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.resp)
	if err != nil {
		return
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for err == nil && ctx.Err() == nil {
		if _, err = fmt.Fprintf(conn, "AUTH %s\r\n", rand.Text()); err == nil {
			_, err = in.ReadString('\n')
		}
	}
}

// hoard keeps a connection of a token that wants them all, and tries to get
// one until ctx ends.
func (d *day) hoard(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.resp)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		fmt.Fprint(conn, "AUTH greedy\r\n")
		_, _ = io.Copy(io.Discard, conn) // until the server hangs up
		stop()
		_ = conn.Close()
	}
}

// load asks for IDs over the Redis protocol without a pause, until the
// server hangs up, and returns the different errors that it read. It calls
// begun when it has read an answer, or cannot.
func (d *day) load(begun func()) string {
	defer begun()
	conn, err := net.Dial("tcp", d.resp)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	pipeline := []byte(strings.Repeat("SNOWFENCE.NEXT "+namespace+"\r\n", 64))
	go func() {
		_, err := fmt.Fprintf(conn, "AUTH %s\r\n", caller)
		for err == nil {
			_, err = conn.Write(pipeline)
		}
	}()
	var errs []string
	for in := bufio.NewReader(conn); ; begun() {
		line, err := in.ReadString('\n')
		if err != nil { // what was cut off is no line
			return strings.Join(errs, "\n")
		}
		if text, wrong := strings.CutPrefix(strings.TrimSpace(line), "-"); wrong && !slices.Contains(errs, text) {
			errs = append(errs, text)
		}
	}
}
