package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed all:web/dist
var built embed.FS

// policy lets the page load what the server itself serves, and nothing else: no inline
// script or style, no frame, no form.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// setSecurityHeaders sets the headers that all answers have.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// file is a file of the page as it is served.
type file struct {
	body, small       []byte // small is compressed with gzip; nil where that was not worth while
	etag, etagOfSmall string
	kind              string
	cache             string
}

// variant returns what to send to a browser that takes gzip, or does not, and its tag: the
// two are not the same bytes.
func (f *file) variant(gzip bool) (body []byte, etag string) {
	if gzip && f.small != nil {
		return f.small, f.etagOfSmall
	}
	return f.body, f.etag
}

// takesGzip reads an Accept-Encoding.
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, ok := strings.CutPrefix(strings.ToLower(strings.ReplaceAll(weight, " ", "")), "q=")
			return !ok || strings.Trim(q, "0.") != ""
		}
	}
	return false
}

// mountPage serves the built files. What has a hash in its name never changes; the rest
// is asked for again each time, and usually not sent.
func mountPage(mux *http.ServeMux) {
	files := pageFiles()
	serve := func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/dashboard/")
		if name == "" {
			name = "index.html"
		}
		setSecurityHeaders(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
			return
		}
		f, ok := files[name]
		if !ok {
			http.Error(w, "the dashboard has no such file", http.StatusNotFound)
			return
		}
		h := w.Header()
		body, etag := f.variant(takesGzip(r.Header))
		h.Set("ETag", etag)
		h.Set("Cache-Control", f.cache)
		if f.small != nil {
			h.Set("Vary", "Accept-Encoding")
		}
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", f.kind)
		if etag == f.etagOfSmall {
			h.Set("Content-Encoding", "gzip")
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // the browser may be gone
	}
	mux.HandleFunc("/dashboard/", serve)
	mux.HandleFunc("GET /dashboard", redirect)
	mux.HandleFunc("GET /{$}", redirect)
}

func redirect(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	http.Redirect(w, r, "/dashboard/", http.StatusFound)
}

// pageFiles reads the built files, the large ones of which are compressed. They are part of the
// program, so that an error is one of the build, and a test sees that there is a page.
func pageFiles() map[string]*file {
	files := map[string]*file{}
	root, err := fs.Sub(built, "web/dist")
	if err != nil {
		return files
	}
	_ = fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		f := &file{cache: "no-cache"}
		if plain, ok := strings.CutSuffix(name, ".gz"); ok {
			name, f.small, f.etagOfSmall = plain, body, tag(body)
			if body, err = unpack(body); err != nil {
				return err
			}
		}
		f.body, f.etag, f.kind = body, tag(body), mime.TypeByExtension(path.Ext(name))
		switch path.Ext(name) { // whatever the machine's own table says
		case ".js":
			f.kind = "text/javascript; charset=utf-8"
		case ".svg":
			f.kind = "image/svg+xml"
		}
		if strings.HasPrefix(name, "assets/") {
			f.cache = "public, max-age=31536000, immutable"
		}
		files[name] = f
		return nil
	})
	return files
}

func unpack(small []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(small))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:12]) + `"`
}
