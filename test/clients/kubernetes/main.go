// Command kubernetes is the service of docs/operate/kubernetes.md: it
// leases a node, makes IDs, tells its probes how it is, and gives the node
// back on SIGTERM.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sqlstore"
)

const (
	startTimeout = 50 * time.Second // less than the startup probe allows, so that the log says why
	stopTimeout  = 20 * time.Second // with preStop less than terminationGracePeriodSeconds
)

func main() {
	if err := start(); err != nil {
		slog.Error("ended", "error", err)
		os.Exit(1)
	}
}

func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	db, err := sql.Open("pgx", os.Getenv("STORE_URL")) // the password is in PGPASSWORD
	if err != nil {
		return err
	}
	defer db.Close()
	st, err := sqlstore.New(db, sqlstore.PostgreSQL())
	if err != nil {
		return err
	}
	in, err := net.Listen("tcp", ":8080")
	if err != nil {
		return err
	}
	return run(ctx, in, st, os.Getenv("POD_NAME"))
}

// run serves until ctx ends or the lease does, and gives the node back.
func run(ctx context.Context, in net.Listener, st store.Store, pod string) error {
	defer in.Close()
	scheme, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return err
	}
	first, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	l, err := lease.Open(first, st, "orders", scheme, &lease.Options{
		Label: pod, Wait: true, Idle: -1,
		Logger: slog.Default(),
	})
	if err != nil {
		return err
	}
	ids, err := snowfence.New(snowfence.Config{Fence: l})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	srv := &http.Server{Handler: handler(ids, l), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(in) }()
	select {
	case <-ctx.Done(): // SIGTERM
	case <-l.Done(): // it cannot heal: another layout, a deleted namespace
		err = l.Err()
	case err = <-ended:
	}
	last, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	// First the requests, then the generator, then the lease: a request
	// that still makes IDs keeps the node.
	return errors.Join(err, srv.Shutdown(last), ids.Shutdown(last), l.Shutdown(last))
}

func handler(ids *snowfence.Generator, l *lease.Lease) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		id, err := ids.Next(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, id)
	})
	// Alive as long as it can heal. A store that is unreachable is no
	// reason to be killed.
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) { answer(w, l.Err()) })
	// Ready as long as IDs can be made.
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		s := l.Status()
		if !s.Held || time.Now().After(l.Scheme().Layout().TimeOf(s.Grant.Until)) {
			answer(w, fmt.Errorf("no grant is held: %w", errors.Join(s.Trouble, l.Err())))
			return
		}
		answer(w, l.Err())
	})
	return mux
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
