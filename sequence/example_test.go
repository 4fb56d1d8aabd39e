package sequence_test

import (
	"context"
	"fmt"
	"log"

	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
)

func Example() {
	ctx := context.Background()
	store := store.NewMemory() // or sqlstore.New(db, sqlstore.PostgreSQL())

	// Repeated alike it changes nothing, so each program may do it.
	if err := sequence.Create(ctx, store, "orders", sequence.Definition{Start: new(int64(1000))}); err != nil {
		log.Fatal(err)
	}
	orders, err := sequence.Open(ctx, store, "orders", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	for range 3 {
		n, err := orders.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 1000
	// 1001
	// 1002
}

// A strict sequence is read in the order in which its numbers were given,
// over all programs.
func Example_strict() {
	ctx := context.Background()
	store := store.NewMemory()
	err := sequence.Create(ctx, store, "tickets", sequence.Definition{Mode: sequence.Strict, Max: new(int64(3))})
	if err != nil {
		log.Fatal(err)
	}
	tickets, err := sequence.Open(ctx, store, "tickets", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tickets.Close()
	for {
		n, err := tickets.Next(ctx)
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 2
	// 3
	// sequence "tickets": all numbers were given out up to max 3: raise max, or use another sequence
}

// Invoices are counted in each year from 1 on.
func ExampleDated() {
	ctx := context.Background()
	store := store.NewMemory()
	err := sequence.Create(ctx, store, "invoices", sequence.Definition{
		Mode:    sequence.Strict,
		Pattern: "RE-{year}-{n:6}",
		Zone:    "Europe/Berlin",
	})
	if err != nil {
		log.Fatal(err)
	}
	invoices, err := sequence.OpenDated(ctx, store, "invoices", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer invoices.Close()
	s, err := invoices.Next(ctx) // s.Text is RE-2026-000001, s.Period 2026, s.N 1
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.N, len(s.Text))

	// Not of the present year, but of the one before.
	late, err := invoices.Reserve(ctx, s.Period-1, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(late.At(0).N, late.At(1).N, late.Period == s.Period-1)
	// Output:
	// 1 14
	// 1 2 true
}

func ExampleSequence_Reserve() {
	ctx := context.Background()
	store := store.NewMemory()
	if err := sequence.Create(ctx, store, "rows", sequence.Definition{Step: 10}); err != nil {
		log.Fatal(err)
	}
	rows, err := sequence.Open(ctx, store, "rows", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	r, err := rows.Reserve(ctx, 4)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.First, r.Last())
	// Output:
	// 1 31
}

// After a backup was restored, a sequence goes on above a floor.
func ExampleConfirm() {
	ctx := context.Background()
	store := store.NewMemory()
	if err := sequence.Create(ctx, store, "orders", sequence.Definition{}); err != nil {
		log.Fatal(err)
	}

	// Nothing at or above the floor was given to anybody, or is held by a
	// program.
	floor := int64(20_000)
	err := sequence.Confirm(ctx, store, "orders", sequence.Confirmation{Floor: &floor})
	if err != nil {
		log.Fatal(err)
	}
	info, err := sequence.Show(ctx, store, "orders")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Next)

	// Only the highest number in a table is known, and how many programs
	// there were.
	highest := int64(20_500)
	err = sequence.Confirm(ctx, store, "orders", sequence.Confirmation{Used: &highest, Programs: 20})
	if err != nil {
		log.Fatal(err)
	}
	info, err = sequence.Show(ctx, store, "orders")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Next)
	// Output:
	// 20000
	// 40020501
}

// A sequence over several stores goes on while one of them answers.
func ExampleOpenAny() {
	ctx := context.Background()
	stores := []store.Store{store.NewMemory(), store.NewMemory()} // or redisstore.New of each server
	// 1, 11, 21, … in the first store; 2, 12, 22, … in the second
	for i, st := range stores {
		d := sequence.Definition{Start: new(int64(i + 1)), Step: 10, AfterFailover: 1_000_000}
		if err := sequence.Create(ctx, st, "tickets", d); err != nil {
			log.Fatal(err)
		}
	}
	tickets, err := sequence.OpenAny(ctx, stores, "tickets", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tickets.Close()
	for range 3 {
		n, err := tickets.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 11
	// 21
}
