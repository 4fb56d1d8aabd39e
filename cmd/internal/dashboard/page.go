package dashboard

import (
	"cmp"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed all:web/dist
var built embed.FS

// policy lets the page load the server's own files, and nothing else: no
// inline script or style, no frame, no form.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// kinds are the types of files, whatever the machine's own table says.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".md": "text/plain; charset=utf-8",
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// pageFiles returns the files of the page by their names. They are read
// once, so that a client that reads slowly holds nothing.
var pageFiles = sync.OnceValues(func() (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(built, "web/dist", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[strings.TrimPrefix(name, "web/dist/")], err = built.ReadFile(name)
		}
		return err
	})
	return files, err
})

// mountPage serves the files of the page. The names of those in assets
// change with their content.
func mountPage(mux *http.ServeMux) {
	mux.HandleFunc("/dashboard/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/dashboard/")
		h := w.Header()
		setSecurityHeaders(h)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
			return
		}
		files, err := pageFiles()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		name = cmp.Or(name, "index.html")
		body, ok := files[name]
		if !ok {
			http.Error(w, "the dashboard has no such file", http.StatusNotFound)
			return
		}
		h.Set("Cache-Control", "no-cache")
		if strings.HasPrefix(name, "assets/") {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		if kind := kinds[path.Ext(name)]; kind != "" {
			h.Set("Content-Type", kind)
		}
		h.Set("Content-Length", strconv.Itoa(len(body)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(body) // the page may be gone
		}
	})
	mux.HandleFunc("GET /dashboard", redirect)
	mux.HandleFunc("GET /{$}", redirect)
}

// setSecurityHeaders sets the headers that all answers have.
func setSecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// redirect sends browsers to the page.
func redirect(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	http.Redirect(w, r, "/dashboard/", http.StatusFound)
}
