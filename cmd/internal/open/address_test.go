package open

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence/internal/tests"
)

func none(string) string { return "" }

func TestName(t *testing.T) {
	for rawURL, want := range map[string]string{
		"postgres://app:s3cret@db/ids":                             "postgres://app:xxxxx@db:5432/ids",
		"postgres://app@db:5433,db2/ids?sslmode=disable":           "postgres://app@db:5433,db2:5432/ids?sslmode=disable",
		"postgres://[::1]/ids":                                     "postgres://[::1]:5432/ids",
		"postgresql:///ids?host=/run/postgresql":                   "postgresql:///ids?host=/run/postgresql",
		"mysql://a%40b:s3cret@db/ids?tls=yes":                      "mysql://a%40b:xxxxx@db:3306/ids?tls=yes",
		"mysql://db/ids?password=s3cret&tls_ca=/etc/ca.pem":        "mysql://db:3306/ids?password=xxxxx&tls_ca=/etc/ca.pem",
		"redis://:s3cret@cache":                                    "redis://:xxxxx@cache:6379",
		"redis+sentinel://a,b:1,c/main/2?sentinel_password=s3cret": "redis+sentinel://a:26379,b:1,c:26379/main/2?sentinel_password=xxxxx",
		"etcd://root:s3cret%2F@a,b,c":                              "etcd://root:xxxxx@a:2379,b:2379,c:2379",
		// one text for both: hidden everywhere
		"redis://s3cret:s3cret@cache":                                  "redis://xxxxx:xxxxx@cache:6379",
		"postgres://db/ids?application_name=s3cret&password=s3cret":    "postgres://db:5432/ids?application_name=xxxxx&password=xxxxx",
		"postgres://db/ids?password_file=/run/secrets/db&connections=": "postgres://db:5432/ids?connections=&password_file=/run/secrets/db",
	} {
		if got := Redact(rawURL); got != want {
			t.Errorf("%s: got %s, want %s", rawURL, got, want)
		}
	}
	for _, rawURL := range []string{"s3cret@x", "s3cret", "what://a:s3cret@b", "postgres://a:s3cret/@b", ""} {
		if got := Redact(rawURL); strings.Contains(got, "s3cret") {
			t.Errorf("%s: got %s", rawURL, got)
		}
	}
}

func TestPassword(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		tests.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	one, two := file("one", "from the file\n"), file("two", "from the other\r\nsecond line\n")
	empty, long := file("empty", "\n"), file("long", strings.Repeat("x", 5000))
	for _, c := range []struct {
		url, password, passwordFile string
		want, says                  string
	}{
		{"postgres://a:in%20the%20URL@h/d", "env", one, "in the URL", ""},
		{"postgres://h/d?password=a%26b", "env", one, "a&b", ""},
		{"postgres://h/d?password_file=" + two, "env", one, "from the other", ""},
		{"postgres://a@h/d", "env", one, "env", ""},
		{"postgres://a:@h/d", "env", one, "env", ""},
		{"postgres://h/d", "", one, "from the file", ""},
		{"postgres://h/d", "", "", "", ""},
		{"postgres://h/d?password_file=" + dir + "/none", "env", "", "", "no such file"},
		{"postgres://h/d", "", empty, "", "holds no password"},
		{"postgres://h/d", "", long, "", "holds no password"},
	} {
		_, rest, _ := strings.Cut(c.url, ":")
		a, err := parseAddress("postgres", rest, "5432")
		tests.NoError(t, err)
		err = a.findPassword(func(name string) string {
			return map[string]string{PasswordEnv: c.password, PasswordFileEnv: c.passwordFile}[name]
		})
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v, want %q in it", c.url, err, c.says)
			}
			continue
		}
		if err != nil || a.password != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.url, a.password, err, c.want)
		}
		if hid := a.secrets.hideIn("FATAL: " + a.password + "!"); c.want != "" && strings.Contains(hid, c.want) {
			t.Errorf("%s: shown: %s", c.url, hid)
		}
	}
}

// A driver's text is shown without the password, in whatever form it has
// it, and errors.Is sees what is inside.
func TestHiding(t *testing.T) {
	const password = `p"w/ä&=%`
	a, err := parseAddress("mysql", "//u:"+url.PathEscape(password)+"@h/d", "3306")
	tests.NoError(t, err)
	inner := errors.New("driver: " + password + " and " + url.QueryEscape(password) + " and " +
		url.PathEscape(password) + fmt.Sprintf(" and %q", password))
	err = a.wrapError(inner)
	if !errors.Is(err, inner) || strings.Count(err.Error(), Hidden) < 5 || strings.Contains(err.Error(), `w/`) || strings.Contains(err.Error(), "%C3%A4") {
		t.Errorf("%v", err)
	}
}

// A server that is not there is an error within the timeout, which says so
// and hides the password.
func TestUnreachable(t *testing.T) {
	for _, rawURL := range []string{
		"postgres://app:s3cret@127.0.0.1:1/ids?sslmode=require&channel_binding=require&connect_timeout=1",
		"mysql://app:s3cret@127.0.0.1:1/ids?connect_timeout=1s",
		"redis://app:s3cret@127.0.0.1:1?connect_timeout=1s",
		"redis+sentinel://app:s3cret@127.0.0.1:1,127.0.0.1:2/main?connect_timeout=1s",
		"redis+cluster://app:s3cret@127.0.0.1:1,127.0.0.1:2?connect_timeout=1s",
		"etcd://app:s3cret@127.0.0.1:1?connect_timeout=1s",
		"etcd://127.0.0.1:1?connect_timeout=1s&tls=yes",
	} {
		t.Run(rawURL[:5], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			st, err := OpenEnv(ctx, rawURL, none)
			if err == nil {
				st.Close()
				t.Fatalf("%s: opened", rawURL)
			}
			if ctx.Err() != nil || !Unreachable(err) || !strings.Contains(err.Error(),
				"store "+Redact(rawURL)+": ") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", rawURL, err)
			}
		})
	}
}

func TestStandbyAmongTheHostsOfAParameter(t *testing.T) {
	t.Setenv("PGPORT", "5432")
	l := tests.Must(net.Listen("unix", t.TempDir()+"/.s.PGSQL.5432"))
	go OpenEnv(t.Context(), "postgres://u@/d?host=/none,"+filepath.Dir(l.Addr().String()), none)
	c, got := tests.Must(l.Accept()), make([]byte, 999)
	tests.Must(c.Read(got))
	tests.Must(c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00Z\x00\x00\x00\x05I"))) // come in, I am ready
	if tests.Must(c.Read(got)); !strings.Contains(string(got), "show transaction_read_only") {
		t.Errorf("it asks %q", got)
	}
}

// FuzzPassword opens URLs with a password wherever a user may put one,
// escaped or not: no text that comes of it shows it.
func FuzzPassword(f *testing.F) {
	f.Add(uint8(0), "p/w@x", false, "h", "d", "")
	f.Add(uint8(3), "p&w=x#?", true, "h:1", "0", "&aof=yes")
	f.Add(uint8(5), "%zz %41", false, "h,i", "m", "&colour=red")
	f.Add(uint8(0), "", false, "h", "?", "")
	f.Add(uint8(9), ":\x00\"'\\", true, "[::1]:99999", "", "&&&")
	schemes := []string{
		"postgres", "postgresql", "mysql", "mariadb", "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster",
		"etcd", "oracle", "sqlite",
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // no server must be asked
	f.Fuzz(func(t *testing.T, scheme uint8, tail string, escape bool, host, path, params string) {
		const mark = "Zq9Xk7" // begins each password, and nothing else
		if strings.Contains(host+path+params+tail, mark) {
			return // what is shown may have the mark from there
		}
		password := mark + tail
		text := password
		if escape {
			text = url.QueryEscape(password)
			text = strings.ReplaceAll(text, "+", "%20")
		}
		s := schemes[int(scheme)%len(schemes)]
		for _, rawURL := range []string{
			s + "://app:" + text + "@" + host + "/" + path + "?x" + params,
			s + "://:" + text + "@" + host + "/" + path,
			s + "://" + host + "/" + path + "?password=" + text + params,
			s + "://" + host + "/" + path + "?sentinel_password=" + text + params,
			s + ":app:" + text + "@" + host,
		} {
			if s == "sqlite" {
				rawURL = "app:" + text + "@" + host // no scheme at all
			}
			st, err := OpenEnv(ctx, rawURL, none)
			shown := Redact(rawURL)
			if err != nil {
				shown += " " + err.Error()
			} else {
				shown += " " + st.Name
				st.Close()
			}
			if strings.Contains(shown, mark) {
				t.Errorf("%q shows the password: %s", rawURL, shown)
			}
		}
	})
}
