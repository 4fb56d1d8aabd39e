package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed all:web/dist
var built embed.FS

// policy lets the page load what the server itself serves, and nothing else: no inline script or style, no frame, no form.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// protect sets the headers that all answers have.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// file is a file of the page as it is served.
type file struct {
	body  []byte
	etag  string
	kind  string
	cache string
}

// mountPage serves the built files. What has a hash in its name never changes; the rest is asked for again each time, and usually not sent.
func mountPage(mux *http.ServeMux) {
	files := pageFiles()
	serve := func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/dashboard/")
		if name == "" {
			name = "index.html"
		}
		protect(w.Header())
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
		h.Set("ETag", f.etag)
		h.Set("Cache-Control", f.cache)
		if r.Header.Get("If-None-Match") == f.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		h.Set("Content-Type", f.kind)
		_, _ = w.Write(f.body) // the browser may be gone
	}
	mux.HandleFunc("/dashboard/", serve)
	mux.HandleFunc("GET /dashboard", redirect)
	mux.HandleFunc("GET /{$}", redirect)
}

func redirect(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	http.Redirect(w, r, "/dashboard/", http.StatusFound)
}

// pageFiles reads the built files. They are part of the program, so that an error is one of the build, and a test sees that there is a page.
func pageFiles() map[string]file {
	files := map[string]file{}
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
		sum := sha256.Sum256(body)
		f := file{body: body, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, kind: mime.TypeByExtension(path.Ext(name)), cache: "no-cache"}
		if kind := map[string]string{".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}[path.Ext(name)]; kind != "" {
			f.kind = kind // whatever the machine's own table says
		}
		if strings.HasPrefix(name, "assets/") {
			f.cache = "public, max-age=31536000, immutable"
		}
		files[name] = f
		return nil
	})
	return files
}
