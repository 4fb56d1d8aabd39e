package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// storeTimeout is how long the store may take for a request, beside the
// request's wait for the clock.
const storeTimeout = 20 * time.Second

// streamWriter gives each piece of a stream its own deadline. Between
// pieces there is none: over HTTP/2 one would end a stream that has nothing
// to say.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	slow    time.Duration
}

// withDeadlines bounds how long clients may take for the rest of a request
// and for their answers: Config.Slow beyond the time that the service
// itself may take.
func (p *Process) withDeadlines(next http.Handler) http.Handler {
	slow := p.cfg.Slow
	limit := slow + max(p.cfg.MaxWait, time.Second) + storeTimeout
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if p.draining.Load() && r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // the client asks elsewhere, before it is cut off
			p.lastAsked.Store(time.Now().UnixNano())
		}
		if r.ContentLength != 0 && r.Body != http.NoBody {
			_ = control.SetReadDeadline(time.Now().Add(slow)) // it can be set for all that net/http serves
			r.Body = &body{r.Body, control}
		}
		_ = control.SetWriteDeadline(time.Now().Add(limit))
		next.ServeHTTP(w, r)
	})
}

// streamHandler is for routes with endless answers. A client must take each
// piece in time, and answers end when the server stops.
func (p *Process) streamHandler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{})
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		defer context.AfterFunc(p.streamCtx, func() { cancel(server.ErrStopping) })()
		next.ServeHTTP(&streamWriter{w, control, p.cfg.Slow}, r.WithContext(ctx))
		_ = control.SetWriteDeadline(time.Now().Add(p.cfg.Slow)) // for what is still to be flushed
	})
}

// body takes the deadline away once all of it is read, so that it does not
// end a request that is being answered.
type body struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// Unwrap lets an [http.ResponseController] find the writer below.
func (s *streamWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Write implements [http.ResponseWriter].
func (s *streamWriter) Write(b []byte) (int, error) {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.slow))
	n, err := s.ResponseWriter.Write(b)
	if err == nil {
		_ = s.control.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// Flush implements [http.Flusher].
func (s *streamWriter) Flush() { _ = s.FlushError() }

// FlushError is the call of an [http.ResponseController].
func (s *streamWriter) FlushError() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.slow))
	err := s.control.Flush()
	if err == nil {
		_ = s.control.SetWriteDeadline(time.Time{})
	}
	return err
}
