// Holder makes IDs and prints each with the time it was made, until it is
// told to stop. It stands for a user's program: it leases a node with the
// library, calls Next in a loop, and goes on after errors. The log of the
// lease goes to stderr.
//
// A line on stdout is one of
//
//	i TIME ID          an ID was made
//	g TIME NODE UNTIL  the store has acknowledged a grant of this node up to this tick
//	e TIME ERROR       Next returned an error
//
// with times in microseconds since 1970, by the wall clock.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

func main() {
	var (
		url       = flag.String("store", "", "URL of the store")
		namespace = flag.String("namespace", "default", "namespace")
		node      = flag.Int64("node", -1, "this node; -1 means any")
		static    = flag.Bool("static", false, "take -node as it is, without a lease: a mistake that tests must find")
		label     = flag.String("label", "", "label of the lease")
		ttl       = flag.Duration("ttl", 2*time.Second, "ttl of the lease")
		create    = flag.Bool("create", false, "create the namespace on first use")
	)
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := snowfence.NewScheme(snowfence.MustLayout("twitter"))
	if err != nil {
		log.Error("scheme", "error", err)
		os.Exit(1)
	}
	if *static {
		err = run(ctx, snowfence.Unguarded(s, *node), nil)
	} else {
		o := &lease.Options{TTL: *ttl, Label: *label, Create: *create, Logger: log}
		if *node >= 0 {
			o.Node = node
		}
		err = leased(ctx, *url, *namespace, s, o)
	}
	if err != nil {
		log.Error("the program ends", "error", err)
		os.Exit(1)
	}
}

func leased(ctx context.Context, url, namespace string, s *snowfence.Scheme, o *lease.Options) error {
	var st store.Store
	var closeStore func() error
	var l *lease.Lease
	// A service manager would start a program again that could not reach
	// its store.
	for start := time.Now(); ; time.Sleep(300 * time.Millisecond) {
		err := func() (err error) {
			opening, cancel := context.WithTimeout(ctx, 2*time.Minute)
			defer cancel()
			if st, closeStore, err = kinds.Open(url, time.Second); err != nil {
				return err
			}
			if l, err = lease.Open(opening, st, namespace, s, o); err != nil {
				return errors.Join(err, closeStore())
			}
			return nil
		}()
		if err == nil {
			break
		}
		o.Logger.Warn("starting", "error", err)
		if time.Since(start) > 5*time.Minute || ctx.Err() != nil {
			return err
		}
	}
	err := run(ctx, l, l)
	closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(err, unlessLate(l.Shutdown(closing)), closeStore())
}

// unlessLate ignores the end of a short grant before a busy machine gave
// the node back.
func unlessLate(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// run makes some IDs every 10 ms: enough for several in a tick, few enough
// that a dozen processes do not keep the machine busy.
func run(ctx context.Context, f snowfence.Fence, l *lease.Lease) (err error) {
	// A short MaxWait, so that callers learn early of trouble.
	config := snowfence.Config{Fence: f, MaxWait: 250 * time.Millisecond}
	g, err := snowfence.New(config)
	for errors.Is(err, snowfence.ErrFenced) && !errors.Is(err, lease.ErrEnded) && ctx.Err() == nil {
		g, err = snowfence.New(config) // a program that a supervisor starts again
	}
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, unlessLate(g.Shutdown(closing)), out.Flush())
	}()
	var told snowfence.Grant
	tell := func() {
		if l == nil {
			return
		}
		if st := l.Status(); st.Held && st.Grant != told {
			told = st.Grant
			fmt.Fprintf(out, "g %d %d %d\n", time.Now().UnixMicro(), told.Node, told.Until)
		}
	}
	for ctx.Err() == nil {
		for range 8 {
			id, err := g.Next(ctx)
			now := time.Now().UnixMicro()
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, lease.ErrEnded):
				return err
			case err != nil:
				fmt.Fprintf(out, "e %d %q\n", now, err)
			default:
				fmt.Fprintf(out, "i %d %d\n", now, id)
				tell() // after the ID: what was acknowledged when it was made is no later than this
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}
