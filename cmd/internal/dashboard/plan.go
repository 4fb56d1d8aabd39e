package dashboard

import (
	"net/http"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/plan"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// plan is POST /dashboard/api/plan {"layout":"…"}: the size and the
// lifetime of a layout.
func (d *Dashboard) plan(w http.ResponseWriter, r *http.Request) error {
	if _, err := d.authorize(r, ""); err != nil {
		return err
	}
	var q struct {
		Layout string `json:"layout"`
	}
	if err := readBody(w, r, &q); err != nil {
		return err
	}
	l, err := snowfence.ParseLayout(q.Layout)
	if err != nil {
		return server.NewError(server.Invalid, err)
	}
	return writeJSON(w, plan.Of(l, time.Now()))
}
