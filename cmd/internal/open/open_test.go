package open

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
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
		s, err := snowfence.NewScheme(snowfence.Twitter())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lease.CreateNamespace(t.Context(), st.Leases, "default", s, nil); err != nil {
			t.Errorf("%s: %v", rawURL, err)
		}
		if !st.Local || st.Volatile != (file == "") {
			t.Errorf("%s: local %v, volatile %v", rawURL, st.Local, st.Volatile)
		}
		if err := st.Close(); err != nil {
			t.Errorf("%s: %v", rawURL, err)
		}
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
		"postgres://u:secret@h/d":       "does not open postgres stores yet",
		"redis+sentinel://:secret@h":    "does not open redis+sentinel stores yet",
		"etcd://u:secret%zz@h":          "does not open etcd stores yet",
		"oracle://scott:secret@tiger/x": "no kind of store called",
	} {
		_, err := Open(t.Context(), rawURL)
		if !errors.Is(err, ErrURL) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", rawURL, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", rawURL, err)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/text", []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
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

func TestStatePath(t *testing.T) {
	for _, c := range []struct{ state, home, want string }{
		{"/s", "/h", "/s/snowfence/snowfence.db"},
		{"", "/h", "/h/.local/state/snowfence/snowfence.db"},
		{"relative", "/h", "/h/.local/state/snowfence/snowfence.db"},
		{"", "", ""},
		{"", "relative", ""},
	} {
		env := map[string]string{"XDG_STATE_HOME": c.state, "HOME": c.home}
		got, err := StatePath(func(name string) string { return env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}
