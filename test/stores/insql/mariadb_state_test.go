package insql

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/snowfence/snowfence/test/harness/fleet"
)

// anotherServer checks that a server which was not there when the position
// was last right makes no IDs.
func anotherServer(b base) {
	s := fleet.Scheme(b, "snowfence")
	old, err := s.Decode(b.next(3)[2])
	b.must(err)
	for _, c := range []struct{ set, was, text string }{
		{"server_id = 2", "1", "snowfence_confirm"},
		{"innodb_flush_log_at_trx_commit = 2", "1", "innodb_flush_log_at_trx_commit = 1"},
		{"read_only = 1", "0", "connect to the primary"},
	} {
		b.do("SET GLOBAL " + c.set)
		_, err := b.ask(1)
		b.do("SET GLOBAL " + strings.Fields(c.set)[0] + " = " + c.was)
		b.failing(err, c.text)
	}
	// What a session knows of another schema says nothing of this one.
	other := base{TB: b.TB, db: b.db, mariadb: b.mariadb, name: b.mariadb.NewDatabase(b)}
	other.do("USE "+other.name, "CREATE TABLE orders (id BIGINT PRIMARY KEY)")
	b.must(other.load(b.text))
	b.fails("snowfence_confirm", "SELECT "+other.name+".snowfence_next()",
		"UPDATE snowfence_state SET server = CONCAT('x', server)", "SELECT snowfence_next()")
	b.do("SET GLOBAL server_id = 2", "CALL snowfence_confirm(0.5)")
	after, err := b.ask(1)
	b.do("SET GLOBAL server_id = 1")
	b.must(err)
	// There are more earlier IDs than the lead and the seconds below have
	// room for.
	if p, err := s.Decode(after[0]); err != nil || p.Tick < old.Tick+1500 {
		b.Fatalf("confirmed: %+v after %+v, %v", p, old, err)
	}
	b.none("snowfence_confirm") // on the old server
	for _, seconds := range []string{"-1", "90000"} {
		b.fails("difference of two clocks", "CALL snowfence_confirm("+seconds+")")
	}
}

// sessionNumbers checks that a session cannot choose the number that the
// next ID is made of, nor have replicas make IDs of their own.
func sessionNumbers(b base) {
	for set, text := range map[string]string{
		"insert_id = 5":               "SET insert_id = 0",
		"insert_id = 1 << 63":         "SET insert_id = 0",
		"binlog_format = 'STATEMENT'": "binlog_format = ROW",
	} {
		b.fails(text, "SET SESSION "+set, "SELECT snowfence_next()")
	}
	b.do("SET insert_id = 5", "SET insert_id = 0", "SELECT snowfence_next()")
}

// putBack checks that a dump which is put back makes no IDs before it is
// confirmed.
func putBack(b base) {
	var l ledger
	l.add(b.next(1)...)
	dump := b.mariadb.Dump(b, b.name)
	l.add(b.next(100)...)
	b.do("DO SLEEP(1.1)") // the time of a table has seconds
	b.mariadb.Load(b, b.name, dump)
	b.none("snowfence_confirm")
	b.do("CALL snowfence_confirm(1)")
	l.add(b.next(100)...)
	b.must(l.repeated())
}

// again checks that the text of the same node runs again, and takes no
// rights away, and the text of another is refused.
func again(b base) {
	var l ledger
	l.add(b.next(100)...)
	user := "'for_" + b.name + "'"
	b.do("CREATE USER "+user, "GRANT EXECUTE ON FUNCTION snowfence_next TO "+user)
	b.must(b.load(b.text))
	c := b.session()
	defer c.end()
	var rights int
	if c.scan("SELECT COUNT(*) FROM mysql.procs_priv WHERE Db = DATABASE()", &rights); rights != 1 {
		b.Fatal("a user has no right any more")
	}
	l.add(b.next(100)...)
	b.must(l.repeated())
	for _, column := range []string{"layout = 'time=41,node=9,seq=13'", "node = 6"} {
		b.do("CREATE TABLE kept AS SELECT * FROM snowfence_state", "UPDATE snowfence_state SET "+column)
		b.failing(b.load(b.text), "another node or layout")
		b.do("UPDATE snowfence_state s, kept k SET s.layout = k.layout, s.node = k.node", "DROP TABLE kept")
	}
}

var positionOf = regexp.MustCompile(`(position (?:VALUES \(|= ))\d+(,| AND)`)

// anew prints the functions for a node that had another user: they begin
// above its ticks, also where old functions left their position.
func anew(b base) {
	s := fleet.Scheme(b, "snowfence")
	b.next(8)
	start := s.Layout().TickOf(time.Now().Add(time.Hour))
	text := strings.Replace(b.text, "IF false OR", "IF true OR", 1)
	for _, below := range []int64{0, 500_000} { // the second text begins lower
		b.must(b.load(positionOf.ReplaceAllString(text, fmt.Sprintf("${1}%d${2}", (start-below)<<12))))
		for _, id := range b.next(8) {
			if p, err := s.Decode(id); err != nil || p.Tick < start {
				b.Fatalf("%+v, and the node is free from tick %d on: %v", p, start, err)
			}
		}
	}
}
