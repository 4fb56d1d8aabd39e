package open

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/sqlstore"
)

const (
	connectTimeout = 5 * time.Second // of one attempt to reach a store
	maxConnections = 8               // to an SQL server, at most
)

// postgresParams are those of libpq that have a meaning here, by libpq's names.
var postgresParams = []string{
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "sslnegotiation", "target_session_attrs",
	"application_name", "search_path",
	"default_query_exec_mode", "host",
}

func openPostgres(ctx context.Context, a *address, env func(string) string) (*Store, error) {
	timeout, most, err := a.sqlParams(env, postgresParams...)
	if err != nil {
		return nil, err
	}
	settings := map[string]string{"application_name": "snowfence"}
	for _, name := range postgresParams {
		if v := a.params[name]; v != "" {
			settings[name] = v
		}
	}
	var hosts, ports []string
	for _, h := range a.hosts {
		i := strings.LastIndexByte(h, ':')
		hosts, ports = append(hosts, strings.Trim(h[:i], "[]")), append(ports, h[i+1:])
	}
	if len(hosts) > 0 {
		if settings["host"] != "" {
			return nil, a.errorf("hosts stand between // and /, or one is the parameter host, for a folder with a " +
				"socket: leave one of them out")
		}
		settings["host"], settings["port"] = strings.Join(hosts, ","), strings.Join(ports, ",")
	}
	if len(hosts) > 1 && settings["target_session_attrs"] == "" {
		settings["target_session_attrs"] = "read-write" // a standby does not know what was granted last
	}
	if a.user != "" {
		settings["user"] = a.user
	}
	if a.path != "" {
		settings["database"] = a.path
	}
	var dsn strings.Builder
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&dsn, "%s='%s' ", name, strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(settings[name]))
	}
	c, err := pgx.ParseConfig(dsn.String())
	if err != nil {
		return nil, a.errorf("%v", err)
	}
	if a.password != "" {
		c.Password = a.password
	}
	c.ConnectTimeout = timeout
	return a.openSQL(ctx, stdlib.OpenDB(*c), sqlstore.PostgreSQL(), most, timeout)
}

func openMySQL(ctx context.Context, a *address, env func(string) string) (*Store, error) {
	db, most, timeout, err := a.mySQL(env)
	if err != nil {
		return nil, err
	}
	return a.openSQL(ctx, db, sqlstore.MySQL(), most, timeout)
}

// Database is a database of another program.
type Database struct {
	*sql.DB
	secrets secrets
}

// Hide returns a text, such as an error of the driver, without the database's passwords.
func (d *Database) Hide(text string) string { return d.secrets.hide(text) }

// MySQL opens the database of another program, by a URL as stores have it. env knows its password
// by the name that a store's has.
func MySQL(ctx context.Context, rawURL string, env func(name string) string) (*Database, error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	if scheme != "mysql" && scheme != "mariadb" {
		return nil, fmt.Errorf("%w of the old database: write mysql://USER@HOST:3306/DATABASE", ErrURL)
	}
	a, err := parseAddress(scheme, rest, servers[scheme].port)
	if err != nil {
		return nil, err
	}
	db, most, timeout, err := a.mySQL(env)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(most)
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := db.PingContext(asking); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, a.wrap(err)
	}
	return &Database{db, a.secrets}, nil
}

// mySQL prepares connections, and makes none.
func (a *address) mySQL(env func(string) string) (db *sql.DB, most int, timeout time.Duration, err error) {
	if timeout, most, err = a.sqlParams(env, append([]string{"socket"}, tlsParams...)...); err != nil {
		return nil, 0, 0, err
	}
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName, c.Timeout = a.user, a.password, a.path, timeout
	c.Logger = &mysql.NopLogger{} // what it says is in the errors
	switch socket := a.params["socket"]; {
	case len(a.hosts) == 1 && socket == "":
		c.Net, c.Addr = "tcp", a.hosts[0]
	case len(a.hosts) == 0 && socket != "":
		c.Net, c.Addr = "unix", socket
	default:
		return nil, 0, 0, a.errorf("it takes one host, or the parameter socket: programs of one fleet must see " +
			"one server")
	}
	if c.DBName == "" {
		return nil, 0, 0, a.errorf("the name of the database is missing: %s://HOST/DATABASE", a.scheme)
	}
	if a.params["tls"] == "" && c.Net == "tcp" && !a.tlsGiven() {
		// As PostgreSQL's clients do: TLS where the server has it, without a look at its
		// certificate.
		c.TLSConfig = "preferred"
	} else if c.TLS, err = a.tls(false); err != nil {
		return nil, 0, 0, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, 0, 0, a.wrap(err)
	}
	return sql.OpenDB(connector), most, timeout, nil
}

// sqlParams reads what both kinds of servers have, and refuses what neither has.
func (a *address) sqlParams(env func(string) string, own ...string) (timeout time.Duration, most int, err error) {
	if timeout, err = a.serverParams(env, append([]string{"connections"}, own...)...); err != nil {
		return 0, 0, err
	}
	most, err = a.number("connections", number{least: 1, most: 1000, otherwise: maxConnections})
	return timeout, most, err
}

func (a *address) openSQL(ctx context.Context, db *sql.DB, d sqlstore.Dialect, most int,
	timeout time.Duration,
) (*Store, error) {
	db.SetMaxOpenConns(most)
	db.SetMaxIdleConns(most)
	db.SetConnMaxIdleTime(5 * time.Minute)
	st, err := sqlstore.New(db, d)
	if err != nil {
		db.Close()
		return nil, a.wrap(err)
	}
	findings := func(ctx context.Context, _ string) ([]Finding, error) {
		found, err := st.Report(ctx)
		out := make([]Finding, len(found))
		for i, f := range found {
			out[i] = Finding(f)
		}
		return out, err
	}
	s, err := a.newStore(ctx, st, timeout, findings, db.Close)
	if err == nil {
		s.Connections = most
	}
	return s, err
}

// newStore asks a store for the first time, so that one that is unreachable or may not be used
// shows now.
func (a *address) newStore(
	ctx context.Context, st lease.Store, timeout time.Duration,
	findings func(ctx context.Context, namespace string) ([]Finding, error), closing func() error,
) (*Store, error) {
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := st.Get(asking, []lease.Key{{Namespace: "default", Node: lease.NamespaceNode}}); err != nil {
		if asking.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("it does not answer within %v: is it running, and can it be reached from here? "+
				"(connect_timeout) (%w)", timeout, err)
		}
		_ = closing() // the first error is the one to tell
		return nil, a.wrap(err)
	}
	return &Store{Leases: st, Name: a.name(), secrets: a.secrets, findings: findings, close: closing}, nil
}
