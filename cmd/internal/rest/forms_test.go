package rest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
)

// What next and stream write in a form, decode reads in that form, as the
// ID of the same namespace.
func TestForms(t *testing.T) {
	f := start(t)
	for _, form := range []string{
		"", "format=base58", "format=hex-fixed&prefix=ord", "format=base64url&prefix=a_b",
		"prefix=usr",
	} {
		w := f.do("GET", "/v1/default/next?n=2&"+form, "")
		var got struct{ IDs []string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.IDs) != 2 {
			t.Fatalf("%s: %v, %s", form, err, w.Body)
		}
		var ids []int64
		for _, text := range got.IDs {
			w := f.do("GET", "/v1/default/decode/"+text+"?"+form, "")
			var parts struct {
				ID   int64 `json:"id,string"`
				Time time.Time
			}
			if err := json.Unmarshal(w.Body.Bytes(), &parts); err != nil || time.Since(parts.Time).Abs() > time.Hour {
				t.Fatalf("%s, %s: %v, %s", form, text, err, w.Body)
			}
			ids = append(ids, parts.ID)
		}
		if ids[0] >= ids[1] {
			t.Errorf("%s: %v are %d", form, got.IDs, ids)
		}
	}
}

// A tag is in each ID, and fields above the time make several ranges.
func TestTagAndRanges(t *testing.T) {
	f := start(t)
	f.do("PUT", "/v1/orders", `{"layout":"tag=10,time=41,node=6,seq=6"}`)
	for _, query := range []string{"tag=7", "n=3&tag=7&format=base58", "n=3000&tag=7", "n=500&tag=7&runs=true"} {
		w := f.do("GET", "/v1/orders/next?"+query, "")
		var got struct {
			IDs  []string
			Runs []struct{ First, Last string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.IDs)+len(got.Runs) == 0 {
			t.Fatalf("%s: %v, %s", query, err, w.Body)
		}
		for _, r := range got.Runs {
			got.IDs = append(got.IDs, r.First, r.Last)
		}
		for i, text := range got.IDs {
			format := strings.TrimPrefix(query, "n=3&tag=7&")
			if !strings.HasPrefix(format, "format") {
				format = ""
			}
			w := f.do("GET", "/v1/orders/decode/"+text+"?"+format, "")
			if !strings.Contains(w.Body.String(), `{"name":"tag","value":"7"}`) {
				t.Fatalf("%s: ID %d, %s: %s", query, i, text, w.Body)
			}
		}
	}
	const day = "/v1/orders/range?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"
	one := `{"ranges":[{"low":"63179566239186944","high":"63179920133586944"}]}`
	if got := f.do("GET", day+"&within=tag=7", "").Body.String(); strings.TrimSpace(got) != one {
		t.Errorf("got %s, want %s", got, one)
	}
	if got := f.do("GET", day, "").Body.String(); strings.Count(got, "low") != 1024 {
		t.Errorf("not a range for each tag: %.300s", got)
	}
}

// IDs for a time gone by.
func TestNextAt(t *testing.T) {
	f := start(t)
	st := f.service.Store()
	l := must(snowfence.ParseLayout("time=41,node=10,seq=12,epoch=2015-01-01,first=5"))
	s := must(snowfence.NewScheme(l))
	must(scope.Namespaces(st).Create(t.Context(), "past", s, nil))
	status := func(query string, code int, words string) {
		t.Helper()
		w := f.do("GET", "/v1/"+query, "")
		if w.Code != code || !strings.Contains(w.Body.String(), words) {
			t.Errorf("%s: %d, %s; want %d with %q", query, w.Code, w.Body, code, words)
		}
	}
	const at = "past/next?at=2019-05-17T08:30:00Z"
	status(at, 422, "allow it")
	must(scope.Namespaces(st).AllowBackfill(t.Context(), "past", 0))
	status(at, 200, `{"ids":["578861767065600000"]}`)
	status(at+"&n=2", 200, `{"ids":["578861767069794304","578861767073988608"]}`)
	status(at+"&n=2&node=1&format=hex", 200, `{"ids":["`)
	status("past/next?at=1558081800000", 200, `{"ids":["578861767078182912"]}`)
	status(at+"&n=1000", 422, "no ID is left")
	status(at+"&node=1024", 400, "node")
	status(at+"&runs=true", 400, "runs")
	status("past/next?node=1", 400, "add at")
	status("past/next?at=yesterday", 400, "write it as")
	status("past/next?at=2999-01-01T00:00:00Z", 400, "in the future")
	status("default/next?at=2019-05-17T08:30:00Z", 422, "allow it")
	status("past/next?n=3", 200, "ids")
	must(scope.Namespaces(st).BackfillNodes(t.Context(), "past", snowfence.NodeRange{From: 2, Until: 3}))
	status(at, 422, "use the nodes 2 to 2")
	status(at+"&node=2", 200, "ids")
	f.who = nil
	status(at, 401, "token")
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// fails reports a call without an error.
var fails = tests.Fails
