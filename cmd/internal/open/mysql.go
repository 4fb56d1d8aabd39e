//go:build !snowfence_no_mysql

package open

import (
	"context"
	"database/sql"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mySQL prepares connections, and makes none.
func (a *address) mySQL(env func(string) string) (db *sql.DB, most int, timeout time.Duration, err error) {
	if timeout, most, err = a.sqlParams(env, append([]string{"socket"}, tlsParams...)...); err != nil {
		return nil, 0, 0, err
	}
	c := mysql.NewConfig()
	c.User, c.DBName, c.Timeout = a.user, a.path, timeout
	err = c.Apply(mysql.BeforeConnect(func(_ context.Context, c *mysql.Config) (err error) {
		c.Passwd, err = a.currentPassword()
		return err
	}))
	if err != nil {
		return nil, 0, 0, err
	}
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
		// As PostgreSQL's clients do: TLS if the server has it, without a
		// check of its certificate.
		c.TLSConfig = "preferred"
	} else if c.TLS, err = a.tlsConfig(false); err != nil {
		return nil, 0, 0, err
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, 0, 0, a.wrapError(err)
	}
	return sql.OpenDB(connector), most, timeout, nil
}
