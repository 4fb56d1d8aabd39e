package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/internal/tests"
)

// MariaDB is a MariaDB server with data in a folder of its own. It has the
// user root, without a password. Restart, Kill and Stop are its process's;
// after a restart wait with Up.
type MariaDB struct {
	*Process
	Port int
	Dir  string // its data

	client string
	dbs    atomic.Int32
}

// StartMariaDB starts a server; settings are further ones, as --name=value.
func StartMariaDB(t testing.TB, settings ...string) *MariaDB {
	t.Helper()
	found := Need(t, "mysql", "mariadb-install-db", "mariadbd", "mariadb")
	m := &MariaDB{Dir: filepath.Join(t.TempDir(), "data"), client: found[2]}
	copied(t, found[1], m.Dir, func() {
		install := exec.Command(found[0], append(m.userArgs(), "--no-defaults", "--datadir="+m.Dir,
			"--tmpdir="+m.tempFolder(t), "--auth-root-authentication-method=normal", "--skip-test-db")...)
		tests.Run(t, install)
	})
	m.startServer(t, found[1], settings)
	return m
}

// tempFolder is the server's own folder for temporary files: servers that
// are started together take each other's for their own in a common one.
func (m *MariaDB) tempFolder(t testing.TB) string {
	t.Helper()
	dir := m.Dir + ".tmp"
	must(t, os.MkdirAll(dir, 0o700))
	return dir
}

// userArgs lets the server run as root where the test does: the server
// demands this argument.
func (m *MariaDB) userArgs() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (m *MariaDB) startServer(t testing.TB, path string, settings []string) {
	t.Helper()
	m.Port = Ports(t, 1)[0]
	args := append([]string{"--no-defaults"}, m.userArgs()...)
	args = append(args, "--datadir="+m.Dir, "--tmpdir="+m.tempFolder(t), "--port="+strconv.Itoa(m.Port),
		"--bind-address=127.0.0.1", "--max-connections=500",
		"--socket="+m.Dir+"/s", "--pid-file="+m.Dir+"/pid", "--skip-name-resolve")
	m.Process = Start(t, "mariadbd", path, append(args, settings...), nil)
	m.Ready(t, m.askServer)
}

func (m *MariaDB) askServer() error {
	_, err := m.runSQL("", "SELECT 1")
	return err
}

func (m *MariaDB) runSQL(database, statements string) (string, error) {
	args := []string{
		"--no-defaults", "--protocol=tcp", "-uroot", "-h127.0.0.1", "-P" + strconv.Itoa(m.Port), "-N",
		"-B", "-e", statements,
	}
	if database != "" {
		args = append(args, database)
	}
	out, err := exec.Command(m.client, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("mariadb: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// Up waits until the server answers.
func (m *MariaDB) Up(t testing.TB) {
	t.Helper()
	m.Ready(t, m.askServer)
}

// SQL runs statements in a database ("" for none), as root, and returns the
// client's output.
func (m *MariaDB) SQL(t testing.TB, database, statements string) string {
	t.Helper()
	out, err := m.runSQL(database, statements)
	must(t, err)
	return out
}

// DSN is the DSN of a database, for github.com/go-sql-driver/mysql.
func (m *MariaDB) DSN(database string) string {
	return fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s", m.Port, database)
}

// URL is the URL of a database.
func (m *MariaDB) URL(database string) string {
	return fmt.Sprintf("mysql://root@127.0.0.1:%d/%s", m.Port, database)
}

// NewDatabase makes an empty database and returns its name. It is safe for
// concurrent use.
func (m *MariaDB) NewDatabase(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("db", m.dbs.Add(1))
	m.SQL(t, "", "CREATE DATABASE "+name)
	return name
}

// StopCleanly ends the server as at a shutdown of the machine.
func (m *MariaDB) StopCleanly(t testing.TB) {
	t.Helper()
	m.Stop(t, syscall.SIGTERM)
}

// Dump returns a database as mariadb-dump writes it, with more of its
// arguments.
func (m *MariaDB) Dump(t testing.TB, database string, args ...string) string {
	t.Helper()
	out, err := exec.Command(Need(t, "mysql", "mariadb-dump")[0], append([]string{
		"--no-defaults", "--protocol=tcp", "-uroot", "-h127.0.0.1", "-P" + strconv.Itoa(m.Port), "--single-transaction",
		"--hex-blob", database,
	}, args...)...).Output()
	if err != nil {
		t.Fatalf("mariadb-dump: %v", err)
	}
	return string(out)
}

// Load runs a dump in a database.
func (m *MariaDB) Load(t testing.TB, database, dump string) {
	t.Helper()
	cmd := exec.Command(m.client, "--no-defaults", "--protocol=tcp", "-uroot", "-h127.0.0.1",
		"-P"+strconv.Itoa(m.Port), database)
	cmd.Stdin = strings.NewReader(dump)
	tests.Run(t, cmd)
}
