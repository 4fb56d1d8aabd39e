package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/sequence"
)

// authorizeSequence returns the sequence of a request whose caller may do something with it.
func (h *rest) authorizeSequence(r *http.Request, v server.Verb) (name string, err error) {
	id, err := h.identify(r)
	if err != nil {
		return "", err
	}
	name = r.PathValue("name")
	return name, id.Authorize(v, name, 1)
}

// numbersParams reads ?n=10&period=20261122&runs=true.
func numbersParams(r *http.Request) (n, period int64, runs bool, err error) {
	q, err := queryParams(r, "n", "period", "runs")
	if err != nil {
		return 0, 0, false, err
	}
	if n, err = intParam(q, "n", 1); err != nil {
		return 0, 0, false, err
	}
	if period, err = intParam(q, "period", 0); err != nil {
		return 0, 0, false, err
	}
	runs, err = boolParam(q, "runs")
	return n, period, runs, err
}

// nextNumbers is GET /v1/{name}/sequence/next?n=10: {"numbers":["…"]}, or lines, or with runs=true
// {"runs":[…]}.
func (h *rest) nextNumbers(w http.ResponseWriter, r *http.Request) error {
	id, err := h.identify(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	n, period, runs, err := numbersParams(r)
	if err == nil {
		err = server.CheckNumbers(n)
	}
	text := prefersText(r.Header) && !runs
	if err != nil || r.Method == http.MethodHead {
		if err2 := id.Authorize(server.VerbIDs, name, 1); err2 != nil { // who may not ask is told that first
			return err2
		}
		if err == nil { // nobody would see the numbers
			_, err = h.s.Sequence(r.Context(), name)
		}
		if err == nil {
			h.setHeaders(w, text)
		}
		return err
	}
	got, err := h.s.TakeNumbers(r.Context(), id, name, period, n)
	if err != nil {
		return err
	}
	h.setHeaders(w, text)
	if runs {
		b := fmt.Appendf(nil, `{"runs":[{"first":"%d","last":"%d","step":"%d"}]`, got.First, got.Last(), got.Step)
		_, _ = w.Write(endNumbers(b, got)) // the client may be gone; its numbers are used up
		return nil
	}
	buf := h.bufs.Get().(*[]byte)
	defer h.bufs.Put(buf)
	for i := int64(0); i < n; {
		*buf = (*buf)[:0]
		for end := min(n, i+chunk); i < end; i++ {
			*buf = appendNumber(*buf, got, i, text)
		}
		if i == n && !text {
			*buf = endNumbers(append(*buf, ']'), got)
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

// appendNumber appends a line, or an element of the list in a JSON object.
func appendNumber(b []byte, got server.Numbers, i int64, text bool) []byte {
	switch {
	case text:
		return append(append(b, got.Text(i)...), '\n')
	case i == 0:
		b = append(b, `{"numbers":[`...)
	default:
		b = append(b, ',')
	}
	if got.Period == 0 {
		return append(append(append(b, '"'), got.Text(i)...), '"')
	}
	quoted, _ := json.Marshal(got.Text(i)) // a pattern may have what JSON escapes; texts always marshal
	return append(b, quoted...)
}

// endNumbers appends the end of a JSON object.
func endNumbers(b []byte, got server.Numbers) []byte {
	if got.Period != 0 {
		b = fmt.Appendf(b, `,"period":%d`, got.Period)
	}
	return append(b, "}\n"...)
}

func (h *rest) showSequence(w http.ResponseWriter, r *http.Request) error {
	name, err := h.authorizeSequence(r, server.VerbRead)
	if err != nil {
		return err
	}
	if _, err := queryParams(r); err != nil {
		return err
	}
	return sequenceAnswer(w, http.StatusOK)(h.s.ShowSequence(r.Context(), name))
}

// sequenceAnswer writes a sequence unless there is an error.
func sequenceAnswer(w http.ResponseWriter, code int) func(server.SequenceInfo, error) error {
	return func(info server.SequenceInfo, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(w, code, info)
	}
}

// number is an integer in a body: 5, or "5", because JavaScript's numbers round large ones.
type number int64

// UnmarshalJSON implements [json.Unmarshaler].
func (n *number) UnmarshalJSON(b []byte) error {
	text := string(b)
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		text = strings.TrimSuffix(quoted, `"`)
	}
	v, err := strconv.ParseInt(text, 10, 64)
	*n = number(v)
	return err
}

// sequenceBody is what can change in a sequence. What a request does not mention stays as it is.
type sequenceBody struct {
	Max           *number `json:"max"`
	MinRange      number  `json:"min_range"`
	MaxRange      number  `json:"max_range"`
	AfterFailover string  `json:"after_failover"`
}

func (b sequenceBody) spec() server.SequenceSpec {
	return server.SequenceSpec{
		Max: (*int64)(b.Max), MinRange: int64(b.MinRange), MaxRange: int64(b.MaxRange), AfterFailover: b.AfterFailover,
	}
}

func (h *rest) createSequence(w http.ResponseWriter, r *http.Request) error {
	name, err := h.authorizeSequence(r, server.VerbManage)
	if err != nil {
		return err
	}
	var v struct {
		sequenceBody
		Mode    string  `json:"mode"`
		Start   *number `json:"start"`
		Step    *number `json:"step"`
		Pattern string  `json:"pattern"`
		Zone    string  `json:"zone"`
	}
	if err := readBody(w, r, &v, `{"mode":"fast","start":"1"}`); err != nil {
		return err
	}
	spec := v.spec()
	spec.Mode, spec.Start, spec.Step = v.Mode, (*int64)(v.Start), (*int64)(v.Step)
	spec.Pattern, spec.Zone = v.Pattern, v.Zone
	info, made, err := h.s.CreateSequence(r.Context(), name, spec)
	code := http.StatusOK
	if made {
		code = http.StatusCreated
	}
	return sequenceAnswer(w, code)(info, err)
}

func (h *rest) changeSequence(w http.ResponseWriter, r *http.Request) error {
	name, err := h.authorizeSequence(r, server.VerbManage)
	if err != nil {
		return err
	}
	var v sequenceBody
	if err := readBody(w, r, &v, `{"max":"999999"}, with max, min_range, max_range or after_failover, because `+
		`nothing else of a sequence changes`); err != nil {
		return err
	}
	return sequenceAnswer(w, http.StatusOK)(h.s.ChangeSequence(r.Context(), name, v.spec()))
}

func (h *rest) confirmSequence(w http.ResponseWriter, r *http.Request) error {
	name, err := h.authorizeSequence(r, server.VerbManage)
	if err != nil {
		return err
	}
	var v struct {
		Floor    *number `json:"floor"`
		Used     *number `json:"used"`
		Programs number  `json:"programs"`
	}
	if err := readBody(w, r, &v, `{"floor":"5000"} or {"used":"4711","programs":20}`); err != nil {
		return err
	}
	return sequenceAnswer(w, http.StatusOK)(h.s.ConfirmSequence(r.Context(), name, sequence.Confirmation{
		Floor: (*int64)(v.Floor), Used: (*int64)(v.Used), Programs: int64(v.Programs),
	}))
}

// deleteSequence is DELETE /v1/{name}/sequence?confirm={name}.
func (h *rest) deleteSequence(w http.ResponseWriter, r *http.Request) error {
	name, err := h.authorizeSequence(r, server.VerbManage)
	if err != nil {
		return err
	}
	q, err := queryParams(r, "confirm")
	if err != nil {
		return err
	}
	if err := h.s.DeleteSequence(r.Context(), name, q.Get("confirm")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
