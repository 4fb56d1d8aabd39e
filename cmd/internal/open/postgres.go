//go:build !snowfence_no_postgres

package open

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/snowfence/snowfence/sqlstore"
)

// postgresParams are the parameters of libpq that have a meaning here, by
// libpq's names.
var postgresParams = []string{
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslsni", "sslnegotiation", "channel_binding",
	"target_session_attrs", "application_name", "search_path", "default_query_exec_mode", "host",
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
			return nil, a.errorf("give hosts between // and /, or the folder of a socket as the parameter host: " +
				"leave one of them out")
		}
		settings["host"], settings["port"] = strings.Join(hosts, ","), strings.Join(ports, ",")
	}
	if strings.Contains(cmp.Or(settings["host"], env("PGHOST")), ",") &&
		cmp.Or(settings["target_session_attrs"], env("PGTARGETSESSIONATTRS")) == "" {
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
	c.ConnectTimeout = timeout
	db := stdlib.OpenDB(*c, stdlib.OptionBeforeConnect(func(_ context.Context, c *pgx.ConnConfig) error {
		password, err := a.currentPassword()
		c.Password = cmp.Or(password, c.Password)
		return err
	}), stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		want, got := settings["search_path"], ""
		if want == "" {
			return nil
		}
		err := c.QueryRow(ctx, "SHOW search_path").Scan(&got)
		plain := strings.NewReplacer(" ", "", `"`, "")
		if err == nil && !strings.EqualFold(plain.Replace(got), plain.Replace(want)) {
			err = a.errorf("search_path is %s, not %s, because a pooler left it out: set it for the user, by ALTER "+
				"ROLE name SET search_path", got, want)
		}
		if err != nil {
			_ = c.Close(context.WithoutCancel(ctx)) // stdlib would leave it open
		}
		return err
	}))
	return a.openSQL(ctx, db, sqlstore.PostgreSQL(), most, timeout)
}
