package program

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/test/harness/servers"
)

// TestImport moves counters of a real Redis by the commands of the page.
// Nothing shows the password.
func TestImport(t *testing.T) {
	path := servers.Program(t, servers.Snowfence)
	old := servers.StartRedis(t, "--requirepass", password)
	cli := servers.Need(t, "redis", "redis-cli")[0]
	redis := func(want string, args ...string) {
		t.Helper()
		to := []string{"-h", "127.0.0.1", "-p", port(old.Address()), "-a", password, "--no-auth-warning"}
		args = append(to, args...)
		out, _ := exec.CommandContext(t.Context(), cli, args...).CombinedOutput()
		if !strings.Contains(string(out), want) {
			t.Errorf("redis-cli %v: %s, not %s", args, out, want)
		}
	}
	url := "sqlite:" + t.TempDir() + "/ids.db"
	run := func(answer, want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), path, append(args, "--store", url)...)
		cmd.Stdin = strings.NewReader(answer)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		all := string(out) + stderr.String()
		if strings.Contains(all, "Zq9") || !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("snowfence %v: %v, without %q:\n%s", args, err, want, all)
		}
	}
	page, err := os.ReadFile("../../../docs/move/redis-incr.md")
	must(t, err)
	imports := func(keys string, flags ...string) []string {
		from := strings.Replace(old.URL(), "redis://", "redis://:"+escaped+"@", 1)
		return append([]string{"sequence", "import", keys, "--from", from}, flags...)
	}
	const daily = "{year}{month}{day}-{n}"
	for _, command := range []string{
		"'shop:*' --from redis://cache:6379 --dry-run", "'shop:*' --from redis://cache:6379",
		"'bills:*' --from redis://cache:6379 --pattern '" + daily + "'",
	} {
		if !strings.Contains(string(page), "\nsnowfence sequence import "+command+"\n") {
			t.Errorf("the page does not have %s", command)
		}
	}

	redis("OK", "MSET", "shop:orders", "41", "shop:returns", "7", "bills:2026-11-21", "5", "bills:20261122", "12",
		"word:a", "b", "who:1234", "1", "twin:a", "1", "twin.a", "2", "far", "9223372036854775807")
	redis("1", "EXPIREAT", "bills:20261122", "4000000000")
	run("", "add --from redis://", "sequence", "import", "shop:*")
	run("", `no key fits "none"`, imports("none")...)
	run("", `key "word:a" holds no number`, imports("word:*")...)
	run("", "add --pattern", imports("bills:*")...)
	run("", "has no date", imports("shop:*", "--pattern", daily)...)
	run("", "another one, as in who.c1234", imports("who:*")...)
	run("", "import one of them", imports("twin*")...)
	run("", "9223372036854775807", imports("far")...)
	run("", "mode is \"quick\"", imports("shop:*", "--mode", "quick")...)

	for _, nothing := range []struct{ answer, flag string }{{"n\n", "--json"}, {"", "--json"}, {"y\n", "--dry-run"}} {
		run(nothing.answer, "shop:returns +7 +shop.returns", imports("shop:*", nothing.flag)...)
		redis("41", "GET", "shop:orders")
		run("", "no sequence", "sequence", "list")
	}
	run("y\n", `shop:orders +41 +shop.orders +-\n`, imports("shop:*")...)
	redis("not an integer", "INCR", "shop:orders")
	run("", "42\n43\n", "sequence", "next", "shop.orders", "-n", "2")
	run("", "^8\n", "sequence", "next", "shop.returns")
	run("", `"last":"41"`, imports("shop:*", "--confirm", "--json")...) // again, and nothing changes
	run("", "^44\n", "sequence", "next", "shop.orders")

	// A program was killed after it had stopped the counter.
	redis("OK", "SET", "bills:2026-11-21", "moved at 5", "KEEPTTL")
	dated := imports("bills:*", "--pattern", daily, "--confirm")
	run("", `bills:20261122 +12 +bills +20261122\n`, dated...)
	redis("4000000000", "EXPIRETIME", "bills:20261122")
	run("", "^20261121-6\n", "sequence", "next", "bills", "--period", "20261121", "--any-period")
	run("", "^20261122-13\n", "sequence", "next", "bills", "--period", "20261122", "--any-period")
	run("", "^20261120-1\n", "sequence", "next", "bills", "--period", "20261120", "--any-period")
	redis("OK", "SET", "bills:20261120", "3")
	run("", "20261120 were taken already", dated...)
	redis("3", "GET", "bills:20261120")
}

// port is what stands behind the colon of an address.
func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// TestMovePages runs the statements of docs/move/leaf.md: each reads the
// first number above those of the old programs.
func TestMovePages(t *testing.T) {
	m := servers.StartMariaDB(t)
	page, err := os.ReadFile("../../../docs/move/leaf.md")
	must(t, err)
	statement := regexp.MustCompile("`([A-Z][^`]*)`")
	for _, c := range []struct{ row, made, want string }{
		{"Leaf", "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint, step int);" +
			"INSERT INTO leaf_alloc VALUES ('orders', 5001, 1000)", "5001"}, // 4001 to 5000 were given
		{"tinyid", "CREATE TABLE tiny_id_info (biz_type varchar(63) PRIMARY KEY, max_id bigint, step int);" +
			"INSERT INTO tiny_id_info VALUES ('orders', 5001, 1000)", "5002"}, // 4002 to 5001
		{"CosId", "CREATE TABLE cosid (name varchar(100) PRIMARY KEY, last_max_id bigint unsigned);" +
			"INSERT INTO cosid VALUES ('shop.orders', 5000)", "5001"}, // 4981 to 5000
		{"wuid", "CREATE TABLE wuid (h int(10) NOT NULL AUTO_INCREMENT, x tinyint(4) NOT NULL DEFAULT '0'," +
			" PRIMARY KEY (x), UNIQUE KEY h (h)); REPLACE INTO wuid (x) VALUES (0); REPLACE INTO wuid (x) VALUES (0);" +
			"REPLACE INTO wuid (h, x) VALUES (1, 0)", "206158430208"}, // up to 3 << 36, and 1 was written last
	} {
		database := m.NewDatabase(t)
		m.SQL(t, database, c.made)
		_, row, _ := strings.Cut(string(page), "\n| "+c.row)
		row, _, _ = strings.Cut(row, "\n")
		var all []string
		for _, s := range statement.FindAllStringSubmatch(row, -1) {
			all = append(all, s[1])
		}
		if got := m.SQL(t, database, strings.Join(all, ";")); strings.TrimSpace(got) != c.want {
			t.Errorf("%s: %q, not %s", c.row, got, c.want)
		}
	}
}
