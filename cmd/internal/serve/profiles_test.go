package serve

import (
	"net/http"
	"strings"
	"testing"
)

// What go tool pprof and go tool trace ask for is there.
func TestProfiles(t *testing.T) {
	p, _ := start(t, Config{Listeners: Listeners{Admin: "127.0.0.1:0", Pprof: true}}, newStore(t))
	for path, want := range map[string]struct {
		code  int
		begin string // of the answer
	}{
		"":                              {http.StatusOK, "  "},
		"heap?gc=1":                     {http.StatusOK, "\x1f\x8b"},
		"heap?debug=1":                  {http.StatusOK, "heap profile: "},
		"goroutine?debug=2":             {http.StatusOK, "goroutine "},
		"profile?seconds=1":             {http.StatusOK, "\x1f\x8b"},
		"trace?seconds=0.01":            {http.StatusOK, "go 1."},
		"cmdline":                       {http.StatusNotFound, "Unknown profile"},
		"nothing/of/the/kind?seconds=1": {http.StatusNotFound, ""},
	} {
		code, body := get(t, "http://"+p.Admin+"/debug/pprof/"+path, "")
		if code != want.code || !strings.HasPrefix(body, want.begin) {
			t.Errorf("%q: %d, %.60q", path, code, body)
		}
		if path == "" && (!strings.Contains(body, " goroutine\n") || !strings.Contains(body, " trace?")) {
			t.Errorf("the list of profiles: %s", body)
		}
	}
}
