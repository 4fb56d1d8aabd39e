package program

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestImport runs the commands that move a counter of Leaf, with a password that nothing shows.
func TestImport(t *testing.T) {
	path := servers.Program(t, servers.Snowfence)
	m := servers.StartMariaDB(t)
	database := m.NewDatabase(t)
	m.SQL(t, database, "CREATE USER app IDENTIFIED BY '"+password+"'; GRANT ALL ON "+database+".* TO app;"+
		"CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL PRIMARY KEY, max_id bigint NOT NULL, step int NOT NULL,"+
		" description varchar(256), update_time timestamp);"+
		"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 5001, 1000)")
	url := "sqlite:" + t.TempDir() + "/ids.db"
	dsn := withPassword(m.URL(database))
	from := []string{"sequence", "import", "orders", "--from", "leaf", "--dsn", dsn, "--row", "orders"}
	run := func(want string, args ...string) {
		t.Helper()
		cmd := exec.Command(path, append(args, "--store", url)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if all := string(out) + stderr.String(); strings.Contains(all, "Zq9") || !strings.Contains(all, want) {
			t.Errorf("snowfence %v: %v, without %q:\n%s", args, err, want, all)
		}
	}
	page, err := os.ReadFile("../../../docs/move/leaf.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"--block 10000000", "--finish"} {
		command := strings.Replace(strings.Join(from, " "), dsn, "mysql://app@db:3306/leaf", 1)
		command += " " + more
		if !strings.Contains(string(page), "\nsnowfence "+command+"\n") {
			t.Errorf("the page does not have %s", command)
		}
	}
	next := []string{"sequence", "next", "orders"}
	run("add --from leaf", "sequence", "import", "orders", "--dsn", dsn)
	run("add --dsn mysql://", "sequence", "import", "orders", "--from", "leaf")
	run("leave --max out, or add --finish", append(from, "--max", "9999")...)
	for range 2 { // the second one changes nothing
		run("numbers   5001 to 5010\n", append(from, "--block", "10")...)
	}
	run("run this again with --finish", append(from, "--block", "10")...)
	run("5001\n5002\n", append(next, "-n", "2")...)
	run("there is no such row", "sequence", "import", "others", "--from", "leaf", "--row", "none", "--dsn", dsn)
	run("Access denied", "sequence", "import", "others", "--from", "leaf", "--row", "orders", "--dsn",
		strings.Replace(dsn, escaped, escaped+"x", 1))
	m.SQL(t, database, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'") // by an old program
	for range 2 {
		run("next      6011\n", append(from, "--finish", "--max", "9999")...)
	}
	run("6011\n", next...)
	run("state     active\n", "sequence", "create", "fresh")
	run("snowfence sequence show fresh", "sequence", "import", "fresh", "--from", "leaf", "--row", "orders",
		"--dsn", dsn)
}
