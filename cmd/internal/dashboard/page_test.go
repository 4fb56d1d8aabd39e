package dashboard

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"path"
	"slices"
	"testing"
)

// A browser that takes gzip gets the large files compressed, and everybody gets the same
// content; caches are told what it depends on.
func TestCompressedPage(t *testing.T) {
	b := newBench(t)
	fetch := func(name, accept, known string) (*http.Response, []byte) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL+"/dashboard/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Encoding", accept) // set, so that the client takes nothing apart itself
		r.Header.Set("If-None-Match", known)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, body
	}
	var kinds []string
	for name, f := range pageFiles() {
		plain, want := fetch(name, "identity", "")
		if plain.Header.Get("Content-Encoding") != "" || !bytes.Equal(want, f.body) {
			t.Errorf("%s is not what is built in", name)
		}
		if f.small == nil {
			continue
		}
		kinds = append(kinds, path.Ext(name))
		res, body := fetch(name, "deflate, gzip;q=0.8, br", "")
		if res.Header.Get("Content-Encoding") != "gzip" || res.Header.Get("Vary") != "Accept-Encoding" ||
			plain.Header.Get("Vary") != "Accept-Encoding" ||
			res.Header.Get("Content-Type") != plain.Header.Get("Content-Type") {
			t.Errorf("%s: %v", name, res.Header)
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is another file when it is compressed: %v: make web", name, err)
		}
		if len(body) > len(want)/2 {
			t.Errorf("%s: %d bytes of %d", name, len(body), len(want))
		}
		if res.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%s has one tag for two forms", name)
		}
		if again, _ := fetch(name, "gzip", res.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: asked for again: %s", name, again.Status)
		}
		for _, refused := range []string{"gzip;q=0", "gzip; q=0.0", "br", ""} {
			if res, _ := fetch(name, refused, ""); res.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: gzip for %q", name, refused)
			}
		}
	}
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{".css", ".js"}) {
		t.Errorf("compressed: %v", kinds)
	}
}
