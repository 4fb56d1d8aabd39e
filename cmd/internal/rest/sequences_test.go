package rest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// make makes a sequence.
func (f *face) make(name, definition string) {
	f.Helper()
	if w := f.do("PUT", "/v1/"+name+"/sequence", definition); w.Code != 201 {
		f.Fatalf("%s: %d %s", name, w.Code, w.Body)
	}
}

// numbers returns the numbers of an answer.
func (f *face) numbers(target string) (list []string) {
	f.Helper()
	var v struct{ Numbers []string }
	w := f.do("GET", target, "")
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 {
		f.Fatalf("%s: %d %v %.300s", target, w.Code, err, w.Body)
	}
	return v.Numbers
}

// Numbers beyond 2^53, which JavaScript would round, come back as they are,
// in every form.
func TestNumbersAreExact(t *testing.T) {
	f := start(t)
	f.make("large", `{"mode":"strict","start":"9223372036854775800"}`)
	if got := f.numbers("/v1/large/sequence/next?n=2"); !slices.Equal(got,
		[]string{"9223372036854775800", "9223372036854775801"}) {
		t.Errorf("numbers %q", got)
	}
	w := f.do("GET", "/v1/large/sequence/next?n=3&runs=true", "", "Accept", "text/plain")
	want := `{"first":"9223372036854775802","last":"9223372036854775804","step":"1","left":"3","period":"0","numbers":[]}`
	if got := strings.TrimSpace(w.Body.String()); got != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("runs %s", got)
	}
	w = f.do("GET", "/v1/large/sequence/next?n=2", "", "Accept", "text/plain")
	if got := w.Body.String(); got != "9223372036854775805\n9223372036854775806\n" ||
		w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("lines %q", got)
	}
	var info map[string]any
	w = f.do("GET", "/v1/large/sequence", "")
	if err := json.Unmarshal(w.Body.Bytes(), &info); err != nil || info["next"] != "9223372036854775807" ||
		info["max"] != "9223372036854775807" || info["start"] != "9223372036854775800" || info["left"] != "1" {
		t.Errorf("%s, %v", w.Body, err)
	}
	if got := f.numbers("/v1/large/sequence/next"); !slices.Equal(got, []string{"9223372036854775807"}) {
		t.Errorf("the last number: %q", got)
	}
	w = f.do("GET", "/v1/large/sequence/next", "")
	if w.Code != 422 || !strings.Contains(w.Body.String(), `"kind":"ended"`) {
		t.Errorf("after the last number: %d %s", w.Code, w.Body)
	}
}

// A large answer is all there, in order, whatever pieces it was written in;
// the next one goes on.
func TestManyNumbers(t *testing.T) {
	f := start(t)
	f.make("many", `{"mode":"strict","step":3}`)
	next := int64(1)
	for _, n := range []int{1, 2, chunk, chunk + 1, 3*chunk - 1, 100_000} {
		got := f.numbers("/v1/many/sequence/next?n=" + strconv.Itoa(n))
		if len(got) != n {
			t.Fatalf("%d of %d numbers", len(got), n)
		}
		for _, text := range got {
			if text != strconv.FormatInt(next, 10) {
				t.Fatalf("%s, want %d", text, next)
			}
			next += 3
		}
		w := f.do("POST", "/v1/many/sequence/next?n="+strconv.Itoa(n), "", "Accept", "text/plain")
		if lines := strings.Count(w.Body.String(), "\n"); lines != n {
			t.Errorf("%d lines of %d", lines, n)
		}
		next += int64(3 * n)
	}
}

// HEAD takes no numbers, and says whether there is such a sequence.
func TestHeadOfNumbers(t *testing.T) {
	f := start(t)
	f.make("tickets", `{"mode":"strict"}`)
	for _, query := range []string{"", "?n=100", "?runs=true"} {
		if w := f.do("HEAD", "/v1/tickets/sequence/next"+query, ""); w.Code != 200 || w.Body.Len() > 0 {
			t.Errorf("%s: %d %q", query, w.Code, w.Body)
		}
	}
	if got := f.numbers("/v1/tickets/sequence/next"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after HEAD: %q", got)
	}
	if w := f.do("HEAD", "/v1/nowhere/sequence/next", ""); w.Code != 404 {
		t.Errorf("of no sequence: %d", w.Code)
	}
}

// Serials of a dated sequence have their period beside them, and are quoted
// as JSON wants it.
func TestSerials(t *testing.T) {
	f := start(t)
	f.make("bills", `{"mode":"strict","pattern":"\"R\\{year}-{n:4}","zone":"Europe/Berlin"}`)
	var v struct {
		Numbers []string
		Period  int64 `json:",string"`
	}
	w := f.do("GET", "/v1/bills/sequence/next?n=2", "")
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || len(v.Numbers) != 2 {
		t.Fatalf("%v, %s", err, w.Body)
	}
	for i, text := range v.Numbers {
		if want := fmt.Sprintf(`"R\%d-%04d`, v.Period, i+1); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
	w = f.do("GET", fmt.Sprintf("/v1/bills/sequence/next?period=%d", v.Period), "", "Accept", "text/plain")
	if want := fmt.Sprintf("\"R\\%d-0003\n", v.Period); w.Body.String() != want {
		t.Errorf("%q, want %q", w.Body, want)
	}
	w = f.do("GET", "/v1/bills/sequence/next?runs=true", "")
	want := fmt.Sprintf(`{"first":"4","last":"4","step":"1","left":"9995","period":"%d","numbers":[]}`, v.Period)
	if strings.TrimSpace(w.Body.String()) != want {
		t.Errorf("%s, want %s", w.Body, want)
	}
	for query, code := range map[string]int{"?period=5": 422, "?period=20261122": 422, "?period=x": 400} {
		if w := f.do("GET", "/v1/bills/sequence/next"+query, ""); w.Code != code {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	f.make("plain", `{}`)
	if w := f.do("GET", "/v1/plain/sequence/next?period=2026", ""); w.Code != 422 {
		t.Errorf("the period of a plain sequence: %d %s", w.Code, w.Body)
	}
	document(t).answers(t, "a dated sequence", "/v1/{name}/sequence", "get", f.do("GET", "/v1/bills/sequence", ""))
}

// Numbers are for tokens with the verb, in the names of the token.
func TestRightsToNumbers(t *testing.T) {
	f := start(t)
	f.make("orders", `{}`)
	f.make("other", `{}`)
	for _, verb := range []server.Verb{server.VerbIDs, server.VerbRead, server.VerbManage} {
		a := must(server.NewAuth([]server.Token{{
			Name: "t", SHA256: sumOfSecret, Verbs: []server.Verb{verb}, Namespaces: []string{"ord*"},
		}}))
		f.who, _ = a.Identify("secret")
		for _, method := range []string{"GET", "POST", "HEAD"} {
			for _, name := range []string{"orders", "other"} {
				code := f.do(method, "/v1/"+name+"/sequence/next", "").Code
				if may := verb == server.VerbIDs && name == "orders"; may != (code == 200) || !may && code != 403 {
					t.Errorf("%s %s with %s: %d", method, name, verb, code)
				}
			}
		}
	}
	f.who = nil
	if w := f.do("GET", "/v1/orders/sequence/next", ""); w.Code != 401 {
		t.Errorf("no token: %d", w.Code)
	}
}
