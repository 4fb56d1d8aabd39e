package idgen_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/compat/idgen"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/statefile"
)

func Example() {
	options := idgen.NewIdGeneratorOptions(1)
	options.SeqBitLength = 10
	idgen.SetIdGenerator(options)
	id := idgen.NextId()
	fmt.Println(idgen.ExtractTime(id).Year() >= 2026)
	// Output: true
}

// A state file keeps the promise of one machine over restarts.
func ExampleSetFence() {
	path := filepath.Join(os.TempDir(), "snowfence-idgen-example")
	defer os.Remove(path)
	defer os.Remove(path + ".lock")
	if err := fromAFile(path); err != nil {
		log.Fatal(err)
	}
	fmt.Println(idgen.NextId() > 0)
	fmt.Println(idgen.Close())
	// Output:
	// true
	// <nil>
}

func fromAFile(path string) error {
	layout, err := idgen.NewIdGeneratorOptions(0).Layout()
	if err != nil {
		return err
	}
	scheme, err := snowfence.NewScheme(layout)
	if err != nil {
		return err
	}
	file, err := statefile.File(path, scheme, 7) // 7 is the WorkerId
	if err != nil {
		return err
	}
	return idgen.SetFence(file, 2000) // 2000 is TopOverCostCount
}

// A lease of a database takes a free worker.
func fromADatabase(ctx context.Context, db *sql.DB, scheme *snowfence.Scheme) error {
	store, err := sqlstore.New(db, sqlstore.PostgreSQL())
	if err != nil {
		return err
	}
	workers, err := lease.Open(ctx, store, "orders", scheme, nil)
	if err != nil {
		return err
	}
	return idgen.SetFence(workers, 2000)
}

// aMove is for the page: the old processes ended at a known time.
func aMove(path string, scheme *snowfence.Scheme, stopped time.Time) error {
	return statefile.Reset(path, scheme, 7, stopped.Add(2001*time.Millisecond))
}

var _, _ = fromADatabase, aMove
