package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
)

var must = tests.NoError

// TestMain is also the program that the tests start many times: it leases a
// node and prints each ID on a line. With a file name to lock, it holds a
// transaction open for ever.
func TestMain(m *testing.M) {
	if path := os.Getenv("SNOWFENCE_TEST_LOCK"); path != "" {
		fmt.Println(lock(path))
		select {}
	}
	if path := os.Getenv("SNOWFENCE_TEST_FILE"); path != "" {
		if err := child(path, os.Getenv("SNOWFENCE_TEST_NODE"), os.Getenv("SNOWFENCE_TEST_COUNT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func lock(path string) error {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	_, err = db.Exec("BEGIN IMMEDIATE")
	return err
}

func child(path, node, count string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*fleet.Patience())
	defer cancel()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	defer db.Close()
	o := &lease.Options{TTL: 300 * time.Millisecond, Wait: true, MaxWait: fleet.Patience()}
	if node != "" {
		n, err := strconv.ParseInt(node, 10, 64)
		if err != nil {
			return err
		}
		o.Node = &n
	}
	g, err := sqlstore.Open(ctx, db, sqlstore.SQLite(), o)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	ids := make([]snowfence.ID, 500)
	for made := 0; made < n; {
		k, err := g.Fill(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids[:k] {
			fmt.Fprintln(out, int64(id))
		}
		made += k
		time.Sleep(time.Millisecond) // long enough in all for renewals to happen
	}
	if err := out.Flush(); err != nil {
		return err
	}
	// On a slow machine the grant, which is short here, runs out before the
	// store answers.
	if err := g.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// printed is what a child wrote: complete lines only.
type printed struct {
	ids    []int64
	stderr string
}

// process is a child.
type process struct {
	*exec.Cmd
	began chan struct{} // closed when it has printed something, or has ended
}

func (p *process) kill() { _ = p.Process.Kill() }

// start runs the child and sends the IDs it printed when it has ended. It
// must not fail.
func start(t *testing.T, path, node string, count int) (*process, chan []int64) {
	t.Helper()
	cmd, all := startFailing(t, path, node, count)
	out := make(chan []int64, 1)
	go func() {
		p := <-all
		if p.stderr != "" {
			t.Errorf("the child: %s", p.stderr)
		}
		out <- p.ids
	}()
	return cmd, out
}

// startFailing runs the child, which may fail, and sends what it printed
// when it has ended.
func startFailing(t *testing.T, path, node string, count int) (*process, chan printed) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SNOWFENCE_TEST_FILE="+path, "SNOWFENCE_TEST_NODE="+node,
		"SNOWFENCE_TEST_COUNT="+strconv.Itoa(count))
	var errs strings.Builder
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	out := make(chan printed, 1)
	began := make(chan struct{})
	go func() {
		begin := sync.OnceFunc(func() { close(began) })
		defer begin()
		var ids []int64
		r := bufio.NewReader(stdout)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				break
			}
			id, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			tests.WantErr(t, err, nil, "the child wrote %q", line)
			ids = append(ids, id)
			begin()
		}
		_ = cmd.Wait() // why it failed is in stderr
		out <- printed{ids, errs.String()}
	}()
	return &process{cmd, began}, out
}
