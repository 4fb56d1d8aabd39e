package insql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// anotherServer checks that a server which was not there when the position
// was last right makes no IDs.
func anotherServer(b mariadbBase) error {
	before, err := b.next(3)
	if err != nil {
		return err
	}
	for set, text := range map[string]string{
		"server_id = 2":                      "snowfence_confirm",
		"innodb_flush_log_at_trx_commit = 2": "innodb_flush_log_at_trx_commit = 1",
		"read_only = 1":                      "connect to the primary",
	} {
		if err := b.run("SET GLOBAL " + set); err != nil {
			return err
		}
		_, err := b.next(1)
		reset := strings.Fields(set)[0]
		old := map[string]string{"server_id": "1", "innodb_flush_log_at_trx_commit": "1", "read_only": "0"}[reset]
		if err := errors.Join(failing(err, text), b.run("SET GLOBAL "+reset+" = "+old)); err != nil {
			return err
		}
	}
	if err := b.run("SET GLOBAL server_id = 2", "CALL snowfence_confirm(0.5)"); err != nil {
		return err
	}
	after, err := b.next(1)
	if err := errors.Join(err, b.run("SET GLOBAL server_id = 1")); err != nil {
		return err
	}
	// There are more earlier IDs than the lead and the seconds below have
	// room for.
	s, _ := schemeOf("snowfence")
	old, _ := s.Decode(before[2])
	p, err := s.Decode(after[0])
	if err != nil || p.Tick < old.Tick+1500 {
		return fmt.Errorf("confirmed: %+v after %+v, %w", p, old, err)
	}
	_, err = b.next(1)
	if err := failing(err, "snowfence_confirm"); err != nil {
		return fmt.Errorf("the old server: %w", err)
	}
	return errors.Join(failing(b.run("CALL snowfence_confirm(-1)"), "difference of two clocks"),
		failing(b.run("CALL snowfence_confirm(90000)"), "difference of two clocks"))
}

// sessionNumbers checks that a session cannot choose the number that the
// next ID is made of, nor have replicas make IDs of their own.
func sessionNumbers(b mariadbBase) error {
	for set, text := range map[string]string{
		"insert_id = 5":               "SET insert_id = 0",
		"insert_id = 1 << 63":         "SET insert_id = 0",
		"binlog_format = 'STATEMENT'": "binlog_format = ROW",
	} {
		if err := failing(b.run("SET SESSION "+set, "SELECT snowfence_next()"), text); err != nil {
			return fmt.Errorf("%s: %w", set, err)
		}
	}
	return b.run("SET insert_id = 5", "SET insert_id = 0", "SELECT snowfence_next()")
}

// putBack checks that a dump which is put back makes no IDs before it is
// confirmed.
func putBack(b mariadbBase) error {
	t := new(quiet)
	before, err := b.next(1)
	if err != nil {
		return err
	}
	dump := b.m.Dump(t, b.name)
	more, err := b.next(100)
	if err != nil {
		return err
	}
	if err := b.run("DO SLEEP(1.1)"); err != nil { // the time of a table has seconds
		return err
	}
	b.m.Load(t, b.name, dump)
	_, err = b.next(1)
	if err := failing(err, "snowfence_confirm"); err != nil {
		return err
	}
	if err := b.run("CALL snowfence_confirm(1)"); err != nil {
		return err
	}
	after, err := b.next(100)
	if err != nil {
		return err
	}
	l := ledger{ids: append(append(before, more...), after...)}
	return l.repeated()
}

// quiet is a testing.TB for servers whose failures panic.
type quiet struct{ testing.TB }

func (*quiet) Helper() {}

// again checks that the text of the same node runs again, and takes no
// rights away, and the text of another is refused.
func again(b mariadbBase) error {
	before, err := b.next(100)
	if err != nil {
		return err
	}
	user := "'for_" + b.name + "'"
	err = b.run("CREATE USER "+user, "GRANT EXECUTE ON FUNCTION snowfence_next TO "+user)
	if err := errors.Join(err, b.load()); err != nil {
		return err
	}
	if err := b.with(func(ctx context.Context, c *sql.Conn) error {
		rights, err := ids(ctx, c, "SELECT COUNT(*) FROM mysql.procs_priv WHERE Db = DATABASE()")
		if err == nil && rights[0] != 1 {
			err = errors.New("a user has no right any more")
		}
		return err
	}); err != nil {
		return err
	}
	after, err := b.next(100)
	if err != nil {
		return err
	}
	l := ledger{ids: append(before, after...)}
	if err := l.repeated(); err != nil {
		return err
	}
	for _, column := range []string{"layout = 'time=41,node=9,seq=13'", "node = 6"} {
		err := b.run("CREATE TABLE kept AS SELECT * FROM snowfence_state", "UPDATE snowfence_state SET "+column)
		if err := errors.Join(err, failing(b.load(), "another node or layout")); err != nil {
			return err
		}
		err = b.run("UPDATE snowfence_state s, kept k SET s.layout = k.layout, s.node = k.node", "DROP TABLE kept")
		if err != nil {
			return err
		}
	}
	return nil
}
