package insql

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed serial_postgres.sql
var serialPostgres string

//go:embed serial_mariadb.sql
var serialMariaDB string

// serialKeys are the fields of a sequence's record that the functions know.
// They refuse a record with others.
var serialKeys = []string{
	"mode", "start", "step", "pattern", "zone", "max", "min_range", "max_range", "after_failover", "identity",
	"confirmed", "reached", "largest", "moved", "open", "floor", "through",
}

// SerialPostgres returns the SQL of functions that take numbers of strict
// sequences, for PostgreSQL 12 and later. The schema is the one of the
// table snowfence_lease; "" means public. It may be run again.
func SerialPostgres(schema string, about []string) (string, error) {
	schema = cmp.Or(schema, "public")
	n, err := serialNumbers(schema, about)
	if err != nil {
		return "", err
	}
	v := n.textValues()
	v["Schema"] = quoted(`"`, schema)
	v["InText"] = strings.ReplaceAll(quoted(`"`, schema), "'", "''")
	v["Keys"], v["Rights"] = strings.Join(serialKeys, ","), postgresRights
	return v.fillText(serialPostgres), nil
}

// SerialMariaDB is [SerialPostgres] for MariaDB 10.6 and later. The schema
// is a database; "" means the one of the connection.
func SerialMariaDB(schema string, about []string) (string, error) {
	n, err := serialNumbers(schema, about)
	if err != nil {
		return "", err
	}
	paths := make([]string, len(serialKeys))
	for i, key := range serialKeys {
		paths[i] = fmt.Sprintf("'$.%s'", key)
	}
	v := n.textValues()
	v["Schema"], v["Keys"] = "", strings.Join(paths, ", ")
	if schema != "" {
		v["Schema"] = quoted("`", schema) + "."
	}
	return v.fillText(serialMariaDB), nil
}

// serialNumbers are the numbers of SQL that makes no IDs: a schema and
// comments.
func serialNumbers(schema string, about []string) (numbers, error) {
	n := numbers{Plan: Plan{Schema: schema, About: about}}
	return n, n.splitNames()
}
