package insql

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// MariaDB returns the SQL for MariaDB 10.6 and later. It runs again without harm: the position
// stays.
func MariaDB(p Plan) (string, error) { return mysql(p, true) }

// MySQL returns the SQL for MySQL 8.0 and later. It is the same as for MariaDB, and was run only
// there.
func MySQL(p Plan) (string, error) { return mysql(p, false) }

// mysqlNumbers are the numbers of the template. MariaDB has INSERT … RETURNING.
type mysqlNumbers struct {
	one
	Returning bool
	Trigger   []string // its name, with the schema of the table
}

func mysql(p Plan, returning bool) (string, error) {
	n, err := p.one()
	if err != nil {
		return "", err
	}
	m := mysqlNumbers{one: n, Returning: returning}
	if len(n.Table) > 0 {
		schema, table := n.Table[:len(n.Table)-1], n.Table[len(n.Table)-1]
		m.Trigger = append(append(m.Trigger, schema...), cut("snowfence_"+table, 64))
	}
	return write("mysql.sql", m, func(name string) string {
		return "`" + strings.ReplaceAll(name, "`", "``") + "`"
	})
}

// cut returns the first characters of a name, of which MySQL allows 64.
func cut(name string, most int) string {
	for utf8.RuneCountInString(name) > most {
		_, last := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-last]
	}
	return name
}

// one has the numbers of a dialect with one position for all transactions.
type one struct {
	numbers
	Start        int64 // position above which the first ID lies
	MaxWaitTicks int64
}

func (p Plan) one() (one, error) {
	if p.Lanes != 0 {
		return one{}, fmt.Errorf("%w: only PostgreSQL has lanes: leave them out", ErrPlan)
	}
	n, err := p.numbers()
	if err != nil {
		return one{}, err
	}
	if hi, lo := bits.Mul64(uint64(n.MaxTick)+1, uint64(n.Count)); hi > 0 || lo > math.MaxInt64 {
		return one{}, fmt.Errorf("%w: %d ticks of %d numbers do not fit in 63 bits: take a layout with fewer", ErrPlan,
			n.MaxTick+1, n.Count)
	}
	return one{numbers: n, Start: (n.From+1)*n.Count - 1, MaxWaitTicks: n.MaxWaitUS / n.Tick}, nil
}
