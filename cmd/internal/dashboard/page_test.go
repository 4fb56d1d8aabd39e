package dashboard

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"testing"
)

// A browser that takes gzip gets the large files compressed, and everybody
// gets the same content.
func TestCompressedPage(t *testing.T) {
	b := newBench(t)
	large, err := fs.Glob(built, "web/dist/assets/*")
	if err != nil || len(large) != 2 {
		t.Fatal(large, err)
	}
	for _, name := range large {
		_, plain := b.ask(t, "GET", "/dashboard/"+name[len("web/dist/"):], "", "")
		r := must(http.NewRequestWithContext(t.Context(), "GET", b.URL+"/dashboard/"+name[len("web/dist/"):], nil))
		r.Header.Set("Accept-Encoding", "gzip") // set, so that the client takes nothing apart itself
		res := must(http.DefaultClient.Do(r))
		defer res.Body.Close()
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(z); err != nil || string(got) != plain || res.Header.Get("Vary") == "" {
			t.Errorf("%s is another file when it is compressed: %v, %v", name, err, res.Header)
		}
	}
}
