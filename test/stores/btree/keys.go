// Package btree measures the price of a kind of key in the B-trees of
// PostgreSQL and MariaDB.
//
//	make bench PARTS=btree ROWS=5000000
package btree

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/snowfence/snowfence"
)

// writers is how many connections insert at once.
const writers = 16

// days is the time that the rows of a table have: row i of n was made at
// i/n of it.
const days = 20

// A kind of key. Times are the rows', not the measurement's.
type kind struct {
	name     string
	postgres string // type of the column
	mariadb  string

	// key returns the key of a row as SQL has it; "" when the database
	// makes it.
	key func(made time.Time, writer int, n uint64) string

	// low returns a key below the keys of a time and above the earlier
	// ones; nil where keys have no order of time.
	low func(at time.Time) string
}

func kinds() ([]kind, error) {
	plain, err := snowfence.NewScheme(snowfence.Default())
	if err != nil {
		return nil, err
	}
	encrypted, err := snowfence.NewScheme(snowfence.Randflake(), snowfence.GenerateSecret())
	if err != nil {
		return nil, err
	}
	number := func(s *snowfence.Scheme, node func(writer int) int64) func(time.Time, int, uint64) string {
		return func(made time.Time, writer int, n uint64) string {
			l := s.Layout()
			id, err := s.Compose(snowfence.Parts{Tick: l.TickOf(made), Node: node(writer), Sequence: int64(n) & l.Last})
			if err != nil {
				panic(err) // a row before the epoch
			}
			return fmt.Sprint(int64(id))
		}
	}
	one := func(int) int64 { return 1 }
	each := func(writer int) int64 { return int64(writer) }
	from := func(at time.Time) string {
		lo, _, err := plain.Range(at, at)
		if err != nil {
			panic(err) // the layout is not encrypted
		}
		return fmt.Sprint(int64(lo))
	}
	uuid7 := func(made time.Time, _ int, _ uint64) string { return uuid(7, made) }
	low7 := func(at time.Time) string { return fmt.Sprintf("'%s-0000-0000-000000000000'", stamp(at)) }
	return []kind{
		{name: "the database's counter", postgres: "bigserial", mariadb: "BIGINT AUTO_INCREMENT"},
		{name: "Snowfence, one node", postgres: "bigint", mariadb: "BIGINT", key: number(plain, one), low: from},
		{name: "Snowfence, 16 nodes", postgres: "bigint", mariadb: "BIGINT", key: number(plain, each), low: from},
		{name: "Randflake", postgres: "bigint", mariadb: "BIGINT", key: number(encrypted, each)},
		{
			name: "UUIDv4", postgres: "uuid", mariadb: "UUID",
			key: func(made time.Time, _ int, _ uint64) string { return uuid(4, made) },
		},
		{name: "UUIDv7", postgres: "uuid", mariadb: "UUID", key: uuid7, low: low7},
		{name: "UUIDv7 as text", postgres: "char(36)", mariadb: "CHAR(36) CHARACTER SET ascii", key: uuid7, low: low7},
	}, nil
}

// stamp is the time at the front of a UUIDv7.
func stamp(at time.Time) string {
	ms := uint64(at.UnixMilli())
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

func uuid(version uint64, at time.Time) string {
	front := fmt.Sprintf("%08x-%04x", random()>>32, random()>>48)
	if version == 7 {
		front = stamp(at)
	}
	return fmt.Sprintf("'%s-%04x-%04x-%012x'", front, version<<12|random()>>52, 0x8000|random()>>50, random()>>16)
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
