package dashboard

import (
	"embed"
	"net/http"
	"path"
	"strings"

	"github.com/klauspost/compress/gzhttp"
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

// kinds are the types of files, whatever the machine's own table says.
var kinds = map[string]string{
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// mountPage serves the files of the page. The names of those in assets change with their content.
func mountPage(mux *http.ServeMux) {
	files := gzhttp.GzipHandler(http.FileServerFS(built))
	mux.HandleFunc("/dashboard/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/dashboard/")
		h := w.Header()
		setSecurityHeaders(h)
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
			return
		}
		if strings.HasSuffix(name, "/") || name == "assets" { // a folder
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
		own := r.Clone(r.Context())
		own.URL.Path = "/web/dist/" + name
		files.ServeHTTP(w, own)
	})
	mux.HandleFunc("GET /dashboard", redirect)
	mux.HandleFunc("GET /{$}", redirect)
}

// redirect leads to the page.
func redirect(w http.ResponseWriter, r *http.Request) {
	setSecurityHeaders(w.Header())
	http.Redirect(w, r, "/dashboard/", http.StatusFound)
}
