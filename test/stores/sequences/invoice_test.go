package sequences

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/snowfence/snowfence/sequence"
	"github.com/snowfence/snowfence/sqlstore"
)

// The code of docs/choose/invoices.md.

// writeInvoice writes an invoice and returns its number.
func writeInvoice(ctx context.Context, db *sql.DB, customer string, cents int64) (int64, error) {
	for {
		n, err := tryInvoice(ctx, db, customer, cents)
		if !errors.Is(err, sequence.ErrRetry) {
			return n, err
		}
	}
}

func tryInvoice(ctx context.Context, db *sql.DB, customer string, cents int64) (int64, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	// All else that the transaction does comes here, before the number.
	number, err := sqlstore.SequenceTx(ctx, tx, sqlstore.PostgreSQL(), "invoices")
	if err != nil {
		return 0, err
	}
	const insert = "INSERT INTO invoice (number, customer, cents) VALUES ($1, $2, $3)"
	if _, err := tx.ExecContext(ctx, insert, number.N, customer, cents); err != nil {
		return 0, err
	}
	return number.N, tx.Commit()
}

func documentedInvoice(t *testing.T, on func(testing.TB) database) {
	d := on(t)
	if d.driver != "pgx" {
		return // the code is for PostgreSQL
	}
	ctx, db := t.Context(), d.pool(t, 4)
	run(t, db, "CREATE TABLE invoice (number BIGINT PRIMARY KEY, customer TEXT NOT NULL, cents BIGINT NOT NULL)")
	store := must(sqlstore.New(db, sqlstore.PostgreSQL()))
	noError(t, sequence.Create(ctx, store, "invoices", sequence.Definition{Mode: sequence.Strict}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n, err := writeInvoice(ctx, db, "Ada", 1200); err != nil || n < 1 || n > 8 {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
	wg.Wait()
}

// TestDocumentedCode looks for each line of Go on the pages of sequences
// among the examples that are run.
func TestDocumentedCode(t *testing.T) {
	var examples []byte
	for _, file := range []string{
		"../../../sequence/example_test.go", "../../../remote/example_test.go", "invoice_test.go",
	} {
		code := must(os.ReadFile(file))
		examples = append(examples, code...)
	}
	code, lines := false, 0
	for _, page := range []string{"sequences.md", "invoices.md"} {
		doc := must(os.ReadFile("../../../docs/choose/" + page))
		for line := range strings.Lines(string(doc)) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "```"):
				code = line == "```go"
			case code:
				if lines++; !strings.Contains(string(examples), line) {
					t.Errorf("%s: in no example: %s", page, line)
				}
			}
		}
	}
	if lines < 40 {
		t.Errorf("only %d lines of code", lines)
	}
}
