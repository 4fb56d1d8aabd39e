// Taker takes numbers of a sequence and prints each with the times at which
// it was asked for and given, until it is told to stop. It stands for a
// user's program: it goes on after errors. A store of http://… is a server.
// With -tx it takes each number in a transaction that also writes a bill.
//
// A line on stdout is one of
//
//	n ENDED BEGAN NUMBER  a number was given; with -tx, the transaction has committed
//	e TIME ERROR          a call returned an error
//
// with times in microseconds since 1970, by the wall clock.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/snowfence/snowfence/remote"
	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/kinds"
)

// patience is how long a call may take: shorter than most faults last.
const patience = 5 * time.Second

func main() {
	store := flag.String("store", "", "URL of the store")
	name := flag.String("name", "", "name of the sequence")
	tx := flag.Bool("tx", false, "take numbers in transactions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	run := numbers
	if *tx {
		run = bills
	}
	if err := run(ctx, *store, *name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// each calls next until ctx ends, and prints its numbers.
func each(ctx context.Context, next func(ctx context.Context) (int64, error)) {
	for ctx.Err() == nil {
		began := time.Now().UnixMicro()
		one, cancel := context.WithTimeout(ctx, patience)
		n, err := next(one)
		cancel()
		pause := 10 * time.Millisecond
		if ended := time.Now().UnixMicro(); err == nil {
			fmt.Printf("n %d %d %d\n", ended, began, n)
		} else {
			fmt.Printf("e %d %q\n", ended, err)
			pause = 50 * time.Millisecond
		}
		time.Sleep(pause)
	}
}

// numbering is a sequence of a store, or of a server.
type numbering interface {
	Next(ctx context.Context) (int64, error)
	Close() error
}

func numbers(ctx context.Context, url, name string) error {
	open, closeStore, err := opener(ctx, url, name)
	if err != nil {
		return err
	}
	var s numbering
	each(ctx, func(ctx context.Context) (int64, error) {
		if s == nil {
			opened, err := open(ctx)
			if err != nil {
				return 0, err
			}
			s = opened
		}
		return s.Next(ctx)
	})
	if s != nil {
		err = s.Close()
	}
	return errors.Join(err, closeStore())
}

// opener returns a function that opens the sequence, and one that closes
// the store.
func opener(ctx context.Context, url, name string) (func(context.Context) (numbering, error), func() error, error) {
	if strings.HasPrefix(url, "http:") {
		c, err := remote.Dial([]string{url}, nil)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) (numbering, error) { return c.Sequence(ctx, name) }, c.Close, nil
	}
	st, closeStore, err := kinds.Open(url, time.Second)
	if err != nil {
		return nil, nil, err
	}
	o := &sequence.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	return func(ctx context.Context) (numbering, error) { return sequence.Open(ctx, st, name, o) }, closeStore, nil
}

func bills(ctx context.Context, url, name string) error {
	db, dialect, err := kinds.Database(url, time.Second)
	if err != nil {
		return err
	}
	options := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	if strings.HasPrefix(url, "sqlite:") {
		options = nil
	}
	each(ctx, func(ctx context.Context) (int64, error) {
		for {
			n, err := bill(ctx, db, options, dialect, name)
			if !errors.Is(err, sequence.ErrRetry) {
				return n, err
			}
		}
	})
	return db.Close()
}

// bill writes a bill with the next number.
func bill(ctx context.Context, db *sql.DB, o *sql.TxOptions, d sqlstore.Dialect, name string) (int64, error) {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	s, err := sqlstore.SequenceTx(ctx, tx, d, name)
	if err != nil {
		return 0, err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO bills (number) VALUES (%d)", s.N)); err != nil {
		return 0, err
	}
	return s.N, tx.Commit()
}
