// Package faults hurts real stores and real processes while they make IDs,
// collects what all processes made, and audits it. The package is its
// tests. The rest is shared with the program in holder, which uses the
// library as a user's program would.
package faults

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/redis/rueidis"
	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/etcdstore"
	"github.com/snowfence/snowfence/kubestore"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/s3store"
	"github.com/snowfence/snowfence/sqlstore"
	"github.com/snowfence/snowfence/test/harness/amazon"
	"github.com/snowfence/snowfence/test/harness/servers"
	clientv3 "go.etcd.io/etcd/client/v3"
	_ "modernc.org/sqlite" // the driver
)

// Open opens the store that a URL names, as a program of a user would, and
// returns the function that closes it.
func Open(_ context.Context, rawURL string) (store.Store, func() error, error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	switch scheme {
	case "sqlite", "postgres", "mysql":
		db, dialect, err := Database(rawURL)
		if err != nil {
			return nil, nil, err
		}
		return overSQL(db, dialect)
	case "redis", "redis+sentinel":
		return overRedis(rawURL)
	case "etcd":
		return overEtcd(rawURL)
	case "kubernetes", "dynamodb", "s3":
		st, err := overService(rawURL)
		return st, func() error { return nil }, err
	}
	return nil, nil, fmt.Errorf("there is no kind of store called %q", scheme)
}

// Database opens the SQL database that a URL names.
func Database(rawURL string) (*sql.DB, sqlstore.Dialect, error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	switch scheme {
	case "sqlite":
		dsn := url.URL{Scheme: "file", Path: rest, RawQuery: url.Values{
			"_pragma": {"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(FULL)"},
			"_txlock": {"immediate"},
		}.Encode()}
		db, err := sql.Open("sqlite", dsn.String())
		return db, sqlstore.SQLite(), err
	case "postgres":
		db, err := sql.Open("pgx", rawURL)
		return db, sqlstore.PostgreSQL(), err
	case "mysql":
		u, err := url.Parse(rawURL)
		if err != nil {
			return nil, sqlstore.Dialect{}, err
		}
		c := mysql.NewConfig()
		c.User, c.Net, c.Addr, c.DBName = u.User.Username(), "tcp", u.Host, strings.Trim(u.Path, "/")
		c.Logger = &mysql.NopLogger{}    // what it says is in the errors
		c.ReadTimeout = 10 * time.Second // a commit does not end with its ctx
		connector, err := mysql.NewConnector(c)
		if err != nil {
			return nil, sqlstore.Dialect{}, err
		}
		return sql.OpenDB(connector), sqlstore.MySQL(), nil
	}
	return nil, sqlstore.Dialect{}, fmt.Errorf("there is no SQL database called %q", scheme)
}

func overRedis(rawURL string) (store.Store, func() error, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, nil, err
	}
	o := rueidis.ClientOption{InitAddress: strings.Split(u.Host, ","), DisableCache: true}
	keep := redisstore.Options{Prefix: strings.Trim(u.Path, "/")}
	if u.Scheme == "redis" {
		o.ForceSingleClient = true
	} else { // the path is what the sentinels call the master; a write counts when a replica has it
		o.Sentinel.MasterSet = keep.Prefix
		keep.Prefix, keep.Replicas = "", 1
	}
	c, err := rueidis.NewClient(o)
	if err != nil {
		return nil, nil, err
	}
	st, err := redisstore.New(c, &keep)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return st, func() error { c.Close(); return nil }, nil
}

func overEtcd(rawURL string) (store.Store, func() error, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, nil, err
	}
	c, err := clientv3.New(servers.EtcdConfig(strings.Split(u.Host, ",")...))
	if err != nil {
		return nil, nil, err
	}
	st, err := etcdstore.New(c, &etcdstore.Options{Prefix: strings.Trim(u.Path, "/"), Timeout: time.Second})
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return st, c.Close, nil
}

// overService opens a store behind a service that others run.
func overService(rawURL string) (store.Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	address := strings.TrimPrefix(u.Query().Get("endpoint"), "http://")
	switch u.Scheme {
	case "dynamodb":
		return dynamostore.New(amazon.DynamoDB(address, nil), u.Host, &dynamostore.Options{Timeout: time.Second})
	case "s3":
		o := &s3store.Options{Prefix: strings.Trim(u.Path, "/") + "/", Timeout: time.Second}
		return s3store.New(amazon.S3(address, nil), u.Host, o)
	}
	config, err := kubestore.Kubeconfig(u.Query().Get("kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.Namespace = strings.Trim(u.Path, "/")
	return kubestore.New(config, &kubestore.Options{Timeout: time.Second})
}

func overSQL(db *sql.DB, d sqlstore.Dialect) (store.Store, func() error, error) {
	st, err := sqlstore.New(db, d)
	if err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, nil, err
	}
	return st, db.Close, nil
}
