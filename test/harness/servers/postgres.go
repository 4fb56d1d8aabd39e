package servers

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

var must = tests.NoError

// Postgres is a PostgreSQL server with data in a folder of its own. It has
// the user postgres, without a password. Restart, Kill and Stop are its
// process's; after a restart wait with Up.
type Postgres struct {
	*Process
	Port int
	Dir  string // its data

	bin string
	dbs atomic.Int32
}

// StartPostgres starts a server; settings are further ones, as name=value.
func StartPostgres(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	p := newPostgres(t)
	copied(t, filepath.Join(p.bin, "postgres"), p.Dir, func() {
		p.Run(t, "initdb", "-D", p.Dir, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8")
	})
	p.startServer(t, settings)
	return p
}

func newPostgres(t testing.TB) *Postgres {
	t.Helper()
	Need(t, "postgres")                                             // left out?
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // Debian's, which are not on the PATH
	path := ""
	if len(found) > 0 {
		path = found[len(found)-1]
	} else {
		path = Need(t, "postgres", "postgres")[0]
	}
	// Beside t.TempDir, which only the user of the test can enter; as root
	// the server runs as another one.
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(t.TempDir())), "snowfence-postgres-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &Postgres{Dir: filepath.Join(dir, "data"), bin: filepath.Dir(path)}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatalf("postgres refuses to run as root, and there is no other user for it: %v", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		must(t, os.Chown(dir, uid, gid))
	}
	return p
}

func (p *Postgres) startServer(t testing.TB, settings []string) {
	t.Helper()
	p.Port = Ports(t, 1)[0]
	args := []string{
		"-D", p.Dir, "-p", strconv.Itoa(p.Port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "max_connections=200",
	}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	path, args := p.commandAs("postgres", args)
	path, err := exec.LookPath(path)
	must(t, err)
	p.Process = Start(t, "postgres", path, args, nil)
	p.Ready(t, p.askServer)
}

// commandAs returns the command line of one of PostgreSQL's programs, under
// a user that is not root.
func (p *Postgres) commandAs(program string, args []string) (path string, all []string) {
	path = filepath.Join(p.bin, program)
	if os.Getuid() != 0 {
		return path, args
	}
	return "setpriv", append([]string{
		"--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL",
		"--", path,
	}, args...)
}

func (p *Postgres) askServer() error {
	return exec.Command(filepath.Join(p.bin, "pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(p.Port)).Run()
}

// Up waits until the server answers. A killed server leaves processes
// behind for a moment, and as long as they run, a new one ends at once: it
// is started again.
func (p *Postgres) Up(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		err := p.waitReady(p.askServer)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "pre-existing shared memory block") || time.Now().After(deadline) {
			t.Fatal(err)
		}
		p.Restart(t)
	}
}

// Run runs one of PostgreSQL's programs as the server's user, and returns
// its output. It must not fail.
func (p *Postgres) Run(t testing.TB, program string, args ...string) string {
	t.Helper()
	path, args := p.commandAs(program, args)
	cmd := exec.Command(path, args...)
	cmd.Dir = filepath.Dir(p.Dir)
	return tests.Run(t, cmd)
}

// SQL runs statements in a database, as the superuser, and returns what
// psql prints of the results, unaligned.
func (p *Postgres) SQL(t testing.TB, database, statements string) string {
	t.Helper()
	return strings.TrimSpace(p.Run(t, "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
		"-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres", "-d", database, "-c", statements))
}

// URL is the URL of a database.
func (p *Postgres) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", p.Port, database)
}

// NewDatabase makes an empty database and returns its name. It is safe for
// concurrent use.
func (p *Postgres) NewDatabase(t testing.TB) string {
	t.Helper()
	name := fmt.Sprint("db", p.dbs.Add(1))
	p.SQL(t, "postgres", "CREATE DATABASE "+name)
	return name
}

// Again starts a server that has ended, and waits until it answers.
func (p *Postgres) Again(t testing.TB) {
	t.Helper()
	p.Restart(t)
	p.Up(t)
}

// Standby starts a second server that follows p as an asynchronous replica
// and answers reads.
func (p *Postgres) Standby(t testing.TB, settings ...string) *Postgres {
	t.Helper()
	s := newPostgres(t)
	s.Run(t, "pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres", "-D", s.Dir, "-R",
		"-c", "fast", "--no-sync")
	s.startServer(t, settings)
	return s
}

// Promote makes a standby a primary, and waits until it is one.
func (p *Postgres) Promote(t testing.TB) {
	t.Helper()
	p.Run(t, "pg_ctl", "promote", "-D", p.Dir, "-w")
}

// StopCleanly ends the server after its connections, as at a shutdown of
// the machine.
func (p *Postgres) StopCleanly(t testing.TB) {
	t.Helper()
	p.Stop(t, syscall.SIGINT)
}

// Dump returns a database as pg_dump writes it, with more of its arguments.
func (p *Postgres) Dump(t testing.TB, database string, args ...string) string {
	t.Helper()
	return p.Run(t, "pg_dump", append([]string{
		"-h", "127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres", database,
	}, args...)...)
}

// Load runs a dump in a database, in one transaction: a running program
// finds no table without its key.
func (p *Postgres) Load(t testing.TB, database, dump string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dump.sql")
	must(t, os.WriteFile(path, []byte(dump), 0o600))
	tests.Run(t, exec.Command(filepath.Join(p.bin, "psql"), "-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-h",
		"127.0.0.1", "-p", strconv.Itoa(p.Port), "-U", "postgres", "-d", database, "-f", path))
}

// Files runs a program on the server's files, which must not fail.
func (p *Postgres) Files(t testing.TB, program string, args ...string) {
	t.Helper()
	tests.Run(t, exec.Command(program, args...))
}
