package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// list is GET /v1?list=sequences or servers; namespaces are listed without it.
func (h *rest) list(w http.ResponseWriter, r *http.Request) error {
	_, id, err := h.authorize(r, server.VerbRead, 1) // of no namespace
	if err != nil {
		return err
	}
	q, err := queryParams(r, "list")
	if err != nil {
		return err
	}
	var list any
	what := cmp.Or(q.Get("list"), "namespaces")
	switch what {
	case "namespaces":
		list, err = h.s.Namespaces(r.Context(), id)
	case "sequences":
		list, err = h.s.ListSequences(r.Context(), id)
	case "servers":
		list, err = h.s.Servers(r.Context(), id)
	default:
		err = server.Errorf(server.Invalid, "list=%s: list namespaces, sequences or servers", server.Clip(what))
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{what: list})
}

func (h *rest) show(w http.ResponseWriter, r *http.Request) error {
	name, _, err := h.authorize(r, server.VerbRead, 1)
	if err != nil {
		return err
	}
	if _, err := queryParams(r); err != nil {
		return err
	}
	info, err := h.s.ShowNamespace(r.Context(), name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, info)
}

// namespaceBody is what a request says of the nodes of a namespace, and of its layout. What it
// does not mention stays as it is.
type namespaceBody struct {
	Layout string `json:"layout"`
	First  *int64 `json:"first_node"`
	Last   *int64 `json:"last_node"`
}

const namespaceSample = `{"layout":"snowfence","first_node":0,"last_node":1023}`

// readBody reads the body of a request; sample is what it may be.
func readBody(w http.ResponseWriter, r *http.Request, v any, sample string) error {
	if _, err := queryParams(r); err != nil {
		return err
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return server.Errorf(server.Invalid, "the body should be as %s: %w", sample, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return server.Errorf(server.Invalid, "the body has more than one JSON object")
	}
	return nil
}

func (h *rest) create(w http.ResponseWriter, r *http.Request) error {
	name, _, err := h.authorize(r, server.VerbManage, 1)
	if err != nil {
		return err
	}
	var v namespaceBody
	if err := readBody(w, r, &v, namespaceSample); err != nil {
		return err
	}
	spec := server.NamespaceSpec{Layout: v.Layout, First: v.First, Last: v.Last}
	info, made, err := h.s.CreateNamespace(r.Context(), name, spec)
	switch {
	case err != nil:
		return err
	case made:
		return writeJSON(w, http.StatusCreated, info)
	}
	return writeJSON(w, http.StatusOK, info)
}

func (h *rest) change(w http.ResponseWriter, r *http.Request) error {
	name, _, err := h.authorize(r, server.VerbManage, 1)
	if err != nil {
		return err
	}
	var v struct {
		namespaceBody
		Widen  bool      `json:"widen"`
		Unused time.Time `json:"unused"`
	}
	if err := readBody(w, r, &v, namespaceSample); err != nil {
		return err
	}
	info, err := h.s.ChangeNamespace(r.Context(), name, server.NamespaceSpec{
		Layout: v.Layout, First: v.First, Last: v.Last, Widen: v.Widen, Unused: v.Unused,
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, info)
}

// delete is DELETE /v1/{namespace}?confirm={namespace}.
func (h *rest) delete(w http.ResponseWriter, r *http.Request) error {
	name, _, err := h.authorize(r, server.VerbManage, 1)
	if err != nil {
		return err
	}
	q, err := queryParams(r, "confirm")
	if err != nil {
		return err
	}
	if err := h.s.DeleteNamespace(r.Context(), name, q.Get("confirm")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// leases is GET /v1/{namespace}/leases?after=&limit=&held=true.
func (h *rest) leases(w http.ResponseWriter, r *http.Request) error {
	name, _, err := h.authorize(r, server.VerbRead, 1)
	if err != nil {
		return err
	}
	q, err := queryParams(r, "after", "limit", "held")
	if err != nil {
		return err
	}
	after, err := intParam(q, "after", -1)
	if err != nil {
		return err
	}
	limit, err := intParam(q, "limit", 0)
	if err != nil {
		return err
	}
	held, err := boolParam(q, "held")
	if err != nil {
		return err
	}
	list, err := h.s.Leases(r.Context(), name, server.LeaseQuery{After: after, Limit: int(limit), Held: held})
	if err != nil {
		return err
	}
	if list == nil {
		list = []server.LeaseInfo{}
	}
	return writeJSON(w, http.StatusOK, map[string]any{"leases": list})
}
