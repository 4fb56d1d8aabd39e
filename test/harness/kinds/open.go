// Package kinds starts stores of all kinds, and opens them as a program of
// a user would.
package kinds

import (
	"cmp"
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

// Open opens the store that a URL names, and returns the function that
// closes it. Its calls take as long as a timeout; 0 is the default.
func Open(rawURL string, timeout time.Duration) (store.Store, func() error, error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	switch scheme {
	case "sqlite", "postgres", "mysql":
		db, dialect, err := Database(rawURL, timeout)
		if err != nil {
			return nil, nil, err
		}
		st, err := sqlstore.New(db, dialect)
		if err != nil {
			return nil, nil, errors.Join(err, db.Close())
		}
		return st, db.Close, nil
	case "redis", "redis+sentinel":
		return overRedis(rawURL)
	case "etcd":
		return overEtcd(rawURL, timeout)
	case "kubernetes", "dynamodb", "s3":
		st, err := overService(rawURL, timeout)
		return st, func() error { return nil }, err
	}
	return nil, nil, fmt.Errorf("there is no kind of store called %q", scheme)
}

// Database opens the SQL database that a URL names. SQLite waits for its
// lock as long as a timeout.
func Database(rawURL string, timeout time.Duration) (*sql.DB, sqlstore.Dialect, error) {
	scheme, rest, _ := strings.Cut(rawURL, ":")
	switch scheme {
	case "sqlite":
		busy := cmp.Or(timeout, 100*time.Second).Milliseconds()
		dsn := url.URL{Scheme: "file", Path: rest, RawQuery: url.Values{
			"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy), "journal_mode(WAL)", "synchronous(FULL)"},
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

func overEtcd(rawURL string, timeout time.Duration) (store.Store, func() error, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, nil, err
	}
	c, err := clientv3.New(servers.EtcdConfig(strings.Split(u.Host, ",")...))
	if err != nil {
		return nil, nil, err
	}
	st, err := etcdstore.New(c, &etcdstore.Options{Prefix: strings.Trim(u.Path, "/"), Timeout: timeout})
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return st, c.Close, nil
}

// overService opens a store behind a service that others run.
func overService(rawURL string, timeout time.Duration) (store.Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	address := strings.TrimPrefix(u.Query().Get("endpoint"), "http://")
	switch u.Scheme {
	case "dynamodb":
		return dynamostore.New(amazon.DynamoDB(address, nil), u.Host, &dynamostore.Options{Timeout: timeout})
	case "s3":
		o := &s3store.Options{Prefix: strings.Trim(u.Path, "/") + "/", Timeout: timeout}
		return s3store.New(amazon.S3(address, nil), u.Host, o)
	}
	config, err := kubestore.Kubeconfig(u.Query().Get("kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.Namespace = strings.Trim(u.Path, "/")
	return kubestore.New(config, &kubestore.Options{Timeout: timeout})
}
