package rest

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// nextParams are the parameters of a request for IDs.
type nextParams struct {
	n    int64
	runs bool
	form server.Form
	past bool
	at   time.Time
	node int64
	tag  *int64 // nil for none
}

// nextParams reads ?n=10&format=base58&prefix=ord&tag=7, or
// ?n=10&runs=true. With &at=2019-05-17T08:30:00Z and perhaps &node=3, the
// IDs are for a time gone by.
func (e *exchange) nextParams() (want nextParams, err error) {
	q, err := e.readParams()
	if err != nil {
		return want, err
	}
	var wrong [6]error
	want.n, wrong[0] = intParam("n", q.Get("n"), 1)
	want.runs, wrong[1] = boolParam("runs", q.Get("runs"))
	want.form, wrong[2] = server.ParseForm(q.Get("format"), q.Get("prefix"))
	switch want.past = q.Has("at"); {
	case want.runs && (q.Has("format") || q.Has("prefix")):
		err = server.Errorf(server.Invalid, "runs have no format and no prefix: leave runs out, or format and prefix")
	case want.past && want.runs:
		err = server.Errorf(server.Invalid, "runs are for new IDs only: leave runs out, or at")
	case !want.past && q.Has("node"):
		err = server.Errorf(server.Invalid, "node is for IDs of the past: add at, or leave node out")
	case want.past:
		want.at, err = server.ParseTime(q.Get("at"))
	}
	wrong[3] = err
	want.node, wrong[4] = intParam("node", q.Get("node"), 0)
	want.tag, wrong[5] = tagParam(q)
	return want, cmp.Or(wrong[:]...)
}

// kinds are the forms of answers; the first is for clients that do not
// care.
var kinds = []string{"application/json", "text/plain"}

// next is GET /v1/{namespace}/next?n=10: {"ids":["…"]}, or lines, or with
// runs=true {"runs":[…]}.
func (h *rest) next(e *exchange) error {
	w, r := e.w, e.r
	want, err := e.nextParams()
	if err == nil && want.runs && r.Method != http.MethodHead {
		return e.makeCall()
	}
	n, text := want.n, prefersText(r.Header) && !want.runs
	o := server.Order{Namespace: e.subject(), Count: n, Tag: want.tag, Wrong: err}
	if r.Method == http.MethodHead { // no client would see the IDs
		if _, err = h.s.IDs.Admit(r.Context(), e.caller, o, n); err == nil {
			h.setHeaders(w, text)
		}
		return err
	}
	buf := h.takeBuffer(n)
	defer h.bufs.Put(buf)
	enc := idEncoder{form: want.form, text: text}
	o.Room = 8*n + textRoom*min(n, chunk) // the rest of the text comes in pieces
	write := func(ids []snowfence.ID) {
		h.setHeaders(w, text)
		for whole := n <= chunk; len(ids) > 0; {
			k := min(len(ids), chunk)
			*buf = enc.append((*buf)[:0], ids[:k])
			if ids = ids[k:]; len(ids) == 0 {
				*buf = enc.end(*buf)
			}
			if whole { // otherwise net/http would send chunks
				w.Header()["Content-Length"] = []string{strconv.Itoa(len(*buf))}
			}
			if _, err := w.Write(*buf); err != nil {
				return // the client is gone; its IDs are used up
			}
		}
	}
	if want.past {
		ids, err := h.s.IDs.Backfill(r.Context(), e.caller, o, want.at, want.node)
		if err == nil {
			write(ids)
		}
		return err
	}
	return h.s.IDs.Batch(r.Context(), e.caller, o, write)
}

// prefersText reports whether a client would rather have lines of text than
// JSON.
func prefersText(h http.Header) bool {
	accept := h["Accept"]
	return len(accept) > 0 && goautoneg.Negotiate(strings.Join(accept, ","), kinds) == "text/plain"
}

// chunk is how many IDs are formatted and written at a time: a slow client
// holds no more text than that.
const chunk = 2000

// textRoom is the room of an ID as text, in bytes: up to 88 with a prefix
// in JSON, and what a buffer grows by.
const textRoom = 112

// takeBuffer returns a buffer for n texts, but no large one for a small
// answer that a slow client holds.
func (h *rest) takeBuffer(n int64) *[]byte {
	buf := h.bufs.Get().(*[]byte)
	if int64(cap(*buf)) > server.RequestRoom+textRoom*min(n, chunk) {
		*buf = nil
	}
	return buf
}

// setHeaders sets the headers of an answer with IDs.
func (h *rest) setHeaders(w http.ResponseWriter, text bool) {
	header := w.Header()
	header["Content-Type"] = h.json
	if text {
		header["Content-Type"] = h.text
	}
	header["Cache-Control"] = h.noStore // an ID from a cache would be a repeated one
}

// idEncoder appends IDs as lines, or as one JSON object.
type idEncoder struct {
	form  server.Form
	text  bool
	begun bool // the JSON object is
}

func (e *idEncoder) append(b []byte, ids []snowfence.ID) []byte {
	if e.text {
		for _, id := range ids {
			b = append(e.form.Append(b, id), '\n')
		}
		return b
	}
	b = slices.Grow(b, 16+24*len(ids))
	for _, id := range ids {
		if e.begun {
			b = append(b, `","`...)
		} else {
			b, e.begun = append(b, `{"ids":["`...), true
		}
		b = e.form.Append(b, id)
	}
	return b
}

// end appends the end of the JSON object.
func (e *idEncoder) end(b []byte) []byte {
	if e.text {
		return b
	}
	return append(b, "\"]}\n"...)
}

// stream is GET /v1/{namespace}/stream?format=base58&prefix=ord&tag=7: a
// line for each ID until the client has enough.
func (h *rest) stream(e *exchange) error {
	w, r := e.w, e.r
	q, err := e.readParams()
	form, err2 := server.ParseForm(q.Get("format"), q.Get("prefix"))
	tag, err3 := tagParam(q)
	o := server.Order{Namespace: e.subject(), Count: chunk, Tag: tag, Wrong: cmp.Or(err, err2, err3)}
	if r.Method == http.MethodHead {
		if _, err = h.s.IDs.Admit(r.Context(), e.caller, o, 0); err == nil {
			h.setHeaders(w, true)
		}
		return err
	}
	var b []byte
	enc, started := idEncoder{form: form, text: true}, false
	o.Room = server.StreamRoom
	err = h.s.IDs.Stream(r.Context(), e.caller, o, 0, func(ids []snowfence.ID) error {
		if !started {
			h.setHeaders(w, true)
		}
		started, b = true, enc.append(b[:0], ids)
		if _, err := w.Write(b); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush() // a token with a low rate waits long for the next piece
	})
	switch {
	case !started:
		return err
	case context.Cause(r.Context()) != nil: // the client is gone, or the server stops
		return nil
	}
	panic(http.ErrAbortHandler) // breaks the stream off, so that its end is not taken for a good one
}
