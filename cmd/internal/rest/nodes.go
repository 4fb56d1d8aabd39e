package rest

import (
	"context"
	"net/http"
	"strconv"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// release is DELETE /v1/{namespace}/leases/{node}.
func (h *rest) release(w http.ResponseWriter, r *http.Request) error {
	return h.editNode(w, r, h.s.ReleaseNode)
}

// veto is PUT /v1/{namespace}/leases/{node}/veto.
func (h *rest) veto(w http.ResponseWriter, r *http.Request) error {
	return h.editNode(w, r, func(ctx context.Context, namespace string, node int64) (server.LeaseInfo, error) {
		var v struct {
			Reason string `json:"reason"`
		}
		if err := readBody(w, r, &v, `{"reason":"its number was given to the old cluster"}`); err != nil {
			return server.LeaseInfo{}, err
		}
		if v.Reason == "" {
			return server.LeaseInfo{}, server.Errorf(server.Invalid, "a veto needs a reason, so that others see why; "+
				"DELETE ends one")
		}
		return h.s.VetoNode(ctx, namespace, node, v.Reason)
	})
}

// lift is DELETE /v1/{namespace}/leases/{node}/veto.
func (h *rest) lift(w http.ResponseWriter, r *http.Request) error {
	return h.editNode(w, r, func(ctx context.Context, namespace string, node int64) (server.LeaseInfo, error) {
		return h.s.VetoNode(ctx, namespace, node, "")
	})
}

// editNode changes a node for a caller who may, and answers how it is then.
func (h *rest) editNode(w http.ResponseWriter, r *http.Request,
	edit func(ctx context.Context, namespace string, node int64) (server.LeaseInfo, error),
) error {
	name, _, err := h.authorize(r, server.VerbManage, 1)
	if err != nil {
		return err
	}
	if _, err := queryParams(r); err != nil {
		return err
	}
	text := r.PathValue("node")
	node, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return server.Errorf(server.Invalid, "%s is not a node number", server.Clip(text))
	}
	l, err := edit(r.Context(), name, node)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, l)
}
