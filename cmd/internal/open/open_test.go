package open

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	odd := "a b%41;ü.db" // a path is a path, whatever URLs make of such characters
	for rawURL, file := range map[string]string{
		"mem:":                          "",
		"sqlite:one.db":                 "one.db",
		"sqlite:" + dir + "/two.db":     "two.db",
		"sqlite://" + dir + "/three.db": "three.db",
		"sqlite:" + odd:                 odd,
	} {
		st, err := Open(t.Context(), rawURL)
		if err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		s := tests.Must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
		tests.WantErr(t, tests.ErrOf(scope.Namespaces(st.Leases).Create(t.Context(), "default", s, nil)), nil,
			"%s", rawURL)
		if !st.Local || st.Volatile != (file == "") {
			t.Errorf("%s: local %v, volatile %v", rawURL, st.Local, st.Volatile)
		}
		tests.WantErr(t, st.Close(), nil, "%s", rawURL)
		if file != "" {
			if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
				t.Errorf("%s: nothing was kept in %s: %v", rawURL, file, err)
			}
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for rawURL, want := range map[string]string{
		"":                              "has no scheme",
		"ids.db":                        "has no scheme",
		"sqlite:":                       "the path of the file is missing",
		"sqlite::memory:":               "or mem:",
		"sqlite://host/ids.db":          "a file has no host",
		"sqlite:ids.db?_pragma=x":       "the settings are fixed",
		"mem:x":                         "write mem: alone",
		"oracle://scott:secret@tiger/x": "no kind of store called",
		"secret@host":                   "has no scheme",
		"app:secret@host/db":            "has no scheme",

		"postgres:app:secret@h/d":                        "two slashes",
		"postgres://app:secret/1@h/d":                    "it has '@' or '#' behind its hosts: in a password write '/' as %2F",
		"postgres://app:secret?1@h/d":                    "it has '@' or '#'",
		"postgres://app:secret#1@h/d":                    "it has '@' or '#'",
		"postgres://app:sec%zzret@h/d":                   "a '%' without two hexadecimal digits",
		"postgres://app:secret@h:port/d":                 "a host is not HOST or HOST:PORT",
		"postgres://app:secret@h,,i/d":                   "a host is not HOST or HOST:PORT",
		"postgres://app:secret@h/d%zz":                   "what stands behind the hosts has a '%'",
		"postgres://h/d?password=secret&secretx=1":       "it has a parameter that is not known; postgres stores have application_name, channel_binding,",
		"postgres://app:secret@h/d?password=secret2":     "more than one password",
		"postgres://h/d?password_file=x&password=secret": "more than one password",
		"postgres://h/d?password=secret&password=b":      "a parameter is given twice",
		"postgres://h/d?password=sec%zzret":              "a parameter has a '%'",
		"postgres://h/d?connect_timeout=soon":            "connect_timeout must be a time from 1ms to 1h",
		"postgres://h/d?connections=0":                   "connections is a number from 2 to 1000",
		"postgres://h/d?host=/run":                       "leave one of them out",
		"postgres://app:secret@h/d?sslmode=secret":       "sslmode is invalid",
		"mysql://app:secret@h":                           "the name of the database is missing",
		"mysql://app:secret@h,i/d":                       "it takes one host",
		"mysql:///d":                                     "it takes one host, or the parameter socket",
		"mysql://h/d?tls=no&tls_name=x":                  "tls=no is given beside settings",
		"mysql://h/d?tls_cert=x":                         "tls_cert and tls_key belong together",
		"redis://:secret@h/x":                            "the number of a database",
		"redis://:secret@h,i":                            "use redis+sentinel or redis+cluster for several",
		"redis://":                                       "the host is missing",
		"redis://h?aof=perhaps":                          "aof is yes or no",
		"redis://h?replicas=-1":                          "replicas is a number from 0 to 100",
		"redis://h?sentinel_user=x":                      "parameter sentinel_user is not known",
		"rediss://h?tls=no":                              "its scheme means TLS",
		"redis+sentinel://:secret@h":                     "the name of the master is missing",
		"redis+sentinel://h/m/x":                         "the number of a database",
		"redis+cluster://:secret@h/1":                    "a cluster has no numbered databases",
		"etcd://app:secret@h/x":                          "write nothing after the hosts",
		"etcd://app@h":                                   "a user and a password belong together",
		"etcd://":                                        "the hosts are missing",
		"etcd://h?timeout=0":                             "timeout must be a time",
		"dynamodb://ids":                                 "build the program with -tags snowfence_amazon",
		"s3://ids/a":                                     "build the program with -tags snowfence_amazon",
	} {
		_, err := Open(t.Context(), rawURL)
		tests.Refuses(t, err, ErrURL, want)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", rawURL, err)
		}
	}
	dir := t.TempDir()
	tests.NoError(t, os.WriteFile(dir+"/text", []byte(strings.Repeat("no database\n", 1000)), 0o600))
	for path, want := range map[string]string{
		"/no/such/ids.db": "its folder does not exist",
		"":                "that is a folder",
		"/text":           "store sqlite:" + dir + "/text: ",
	} {
		if _, err := Open(t.Context(), "sqlite:"+dir+path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", path, err, want)
		}
	}
}

func TestPlaces(t *testing.T) {
	const system, mac = "/var/lib/snowfence/snowfence.db", "/Library/Application Support/snowfence/snowfence.db"
	for _, c := range []struct {
		goos string
		env  map[string]string
		want Places
	}{
		{"linux", map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, Places{system, "/s/snowfence/snowfence.db"}},
		{"linux", map[string]string{"HOME": "/h"}, Places{system, "/h/.local/state/snowfence/snowfence.db"}},
		{"freebsd", map[string]string{"XDG_STATE_HOME": "relative", "HOME": "/h"}, Places{system, "/h/.local/state/snowfence/snowfence.db"}},
		{"linux", nil, Places{system, ""}},
		{"linux", map[string]string{"HOME": "relative"}, Places{system, ""}},
		{"darwin", map[string]string{"HOME": "/Users/a"}, Places{mac, "/Users/a/.local/state/snowfence/snowfence.db"}},
		{"windows", map[string]string{"ProgramData": "/all", "LOCALAPPDATA": "/mine"}, Places{"/all/snowfence/snowfence.db", "/mine/snowfence/snowfence.db"}},
		{"windows", nil, Places{}},
	} {
		if got := PlacesOf(c.goos, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s, %v: got %+v, want %+v", c.goos, c.env, got, c.want)
		}
	}
}

// The drive of a file of Windows was taken for a host.
func TestFileOfADrive(t *testing.T) {
	for path, want := range map[string]string{
		"C:/a b/ids.db": "file:///C:/a%20b/ids.db?mode=ro", "/ids.db": "file:///ids.db?mode=ro",
	} {
		if got := dsn(path, url.Values{"mode": {"ro"}}); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

type sqlError string

func (e sqlError) Error() string    { return string(e) }
func (e sqlError) SQLState() string { return string(e) }

type redisError struct{ error }

func (redisError) IsLoading() bool     { return true }
func (redisError) IsClusterDown() bool { return false }

// A server waits for a store that is unreachable, and ends where waiting
// would not help.
func TestStoresToWaitFor(t *testing.T) {
	for want, list := range map[bool][]error{
		true: {
			&net.DNSError{IsNotFound: true}, errNoAnswer, sqlError("57P03"),
			sqlError("53300"), io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn,
			redisError{errors.New("LOADING")},
		},
		false: {
			errors.New("a standby"), sqlError("28P01"), ErrURL, context.Canceled, os.ErrPermission,
			&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")},
		},
	} {
		for _, err := range list {
			a := &address{scheme: "postgres"}
			if got := Unreachable(fmt.Errorf("trying: %w", a.wrapError(err))); got != want {
				t.Errorf("%v: %v", err, got)
			}
		}
	}
}

// How many connections a server of another kind has is not known.
func TestConnections(t *testing.T) {
	for url, want := range map[string]int{
		"postgres://h/d": 8, "mariadb://h/d?connections=3": 3, "redis://h": 0, "sqlite:x.db": 0, "mysql:h": 0, "": 0,
	} {
		if got := Connections(url); got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
}
