package rest

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// numbers answers GET /v1/{name}/sequence/next?n=10 with a
// SequenceNextResponse or with lines. With runs=true the response leaves
// out the numbers.
func (h *rest) numbers(e *exchange) error {
	w, r, id, name := e.w, e.r, e.caller.Identity, e.subject()
	in := &pb.SequenceNextRequest{}
	err := e.fillRequest(in)
	n := max(int64(in.Count), 1)
	if err == nil {
		err = server.CheckNumbers(n)
	}
	text := prefersText(r.Header) && !in.WithoutNumbers
	if err != nil || r.Method == http.MethodHead {
		if err2 := id.Authorize(server.VerbIDs, name, 1); err2 != nil { // before mistakes in the request
			return err2
		}
		if err == nil { // no client would see the numbers
			_, err = h.s.Sequences.Find(r.Context(), e.caller, name)
		}
		if err == nil {
			h.setHeaders(w, text)
		}
		return err
	}
	texts := min(n, chunk) // the others come in pieces
	if in.WithoutNumbers {
		texts = 0
	}
	got, err := h.s.Sequences.Take(r.Context(), e.caller, name, in.Period, n, texts)
	if err != nil {
		return err
	}
	b, end := []byte(nil), ""
	if !text {
		if b, err = view.JSON(h.s.Sequences.Numbers(name, got)); err != nil {
			return server.NewError(server.Internal, err)
		}
		end = "]}\n"
		b = b[:len(b)-len("]}")] // the numbers are the last member
	}
	h.setHeaders(w, text)
	if in.WithoutNumbers {
		_, _ = w.Write(append(b, end...)) // the client may be gone; its numbers are used up
		return nil
	}
	buf := h.takeBuffer(n)
	defer h.bufs.Put(buf)
	*buf = append((*buf)[:0], b...)
	for i := int64(0); i < n; *buf = (*buf)[:0] {
		for last := min(n, i+chunk); i < last; i++ {
			*buf = appendNumber(*buf, got, i, text)
		}
		if i == n {
			*buf = append(*buf, end...)
		}
		if n <= chunk {
			w.Header()["Content-Length"] = []string{strconv.Itoa(len(*buf))}
		}
		if _, err := w.Write(*buf); err != nil {
			return nil
		}
	}
	return nil
}

// appendNumber appends a line, or an element of a list in JSON.
func appendNumber(b []byte, got server.Numbers, i int64, text bool) []byte {
	if text {
		return append(append(b, got.Text(i)...), '\n')
	}
	if i > 0 {
		b = append(b, ',')
	}
	if got.Period == 0 {
		return append(append(append(b, '"'), got.Text(i)...), '"')
	}
	quoted, _ := json.Marshal(got.Text(i)) // a pattern may have what JSON escapes; texts always marshal
	return append(b, quoted...)
}
