package mysql

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/servers"
)

// start returns a fleet on a new server, and the DSN of its database.
func start(t *testing.T, settings ...string) (*servers.MariaDB, *fleet.Fleet, string) {
	t.Helper()
	m := servers.StartMariaDB(t, settings...)
	f := fleet.New(t, fleet.SQL(t, "mysql", sqlstore.MySQL()))
	dsn := m.DSN(m.NewDatabase(t))
	f.Namespace(dsn)
	return m, f, dsn
}

func files(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", program, err, out)
	}
}

// TestPromotion lets a replica that has missed the last renewals take the place
// of a killed primary, at its address, while holders run.
func TestPromotion(t *testing.T) {
	t.Parallel()
	m, f, dsn := start(t, "--server-id=1", "--log-bin", "--sync-binlog=1")
	r := servers.StartMariaDB(t, "--server-id=2", "--log-bin", "--sync-binlog=1", "--read-only=1")
	m.SQL(t, "", "CREATE USER repl IDENTIFIED BY 'x'; GRANT REPLICATION SLAVE ON *.* TO repl")
	r.SQL(t, "", fmt.Sprintf("CHANGE MASTER TO master_host='127.0.0.1', master_port=%d, master_user='repl', "+
		"master_password='x', master_use_gtid=slave_pos; START SLAVE", m.Port))
	c := fleet.NewCutter(t, servers.Address(m.Port))
	proxy := fmt.Sprintf("root@tcp(127.0.0.1:%d)/db1", c.Port)
	old := f.Start("old", proxy, 7)
	old.Renewed()
	r.SQL(t, "", "SELECT MASTER_GTID_WAIT('"+m.SQL(t, "", "SELECT @@gtid_binlog_pos")+"', 60)")
	r.SQL(t, "", "STOP SLAVE")
	_, replica := connect(t, r.DSN("db1"))
	refused(t, replica, "read_only, as replicas are")
	first := f.Start("first", dsn, 8)
	old.Renewed()
	old.More()
	first.More()
	m.Kill()
	granted := old.Grant()
	r.SQL(t, "", "SET GLOBAL read_only = 0")
	c.Lead(servers.Address(r.Port))
	fresh := f.Start("new", proxy, 7)
	fresh.More()
	f.Raised(proxy, granted)
	unheard := f.Start("new of first", proxy, 8)
	unheard.More()
	fresh.Stop()
	old.More()
}

// TestFolderRestored puts a copy of the data folder back, while a holder runs,
// and again while none does.
func TestFolderRestored(t *testing.T) {
	t.Parallel()
	m, f, dsn := start(t)
	first := f.Start("first", dsn, 7)
	first.Renewed()
	m.StopCleanly(t)
	copied := filepath.Join(t.TempDir(), "copy")
	files(t, "cp", "-a", m.Dir, copied)
	m.Restart(t)
	m.Up(t)
	restore := func() {
		m.Kill()
		if err := os.RemoveAll(m.Dir); err != nil {
			t.Fatal(err)
		}
		files(t, "cp", "-a", copied, m.Dir)
		m.Restart(t)
		m.Up(t)
	}
	first.Renewed()
	first.More()
	before := first.Grant()
	restore()
	first.Renewed()
	first.More()
	second := f.Start("second", dsn, 7)
	second.More()
	f.Raised(dsn, before)
	granted := second.Grant()
	second.Stop()
	first.Stop()
	restore()
	third := f.Start("third", dsn, 7)
	third.More()
	f.Raised(dsn, granted)
}
