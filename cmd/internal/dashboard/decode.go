package dashboard

import (
	"net/http"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// decode is POST /dashboard/api/decode
// {"text":"…","namespace":"…","layout":"…"}: what "snowfence decode" says
// of a text. With neither a namespace nor a layout all that are known are
// tried.
func (d *Dashboard) decode(w http.ResponseWriter, r *http.Request) error {
	var q struct {
		Text      string `json:"text"`
		Namespace string `json:"namespace"`
		Layout    string `json:"layout"`
	}
	id, err := d.authorize(r, "")
	if err != nil {
		return err
	}
	if err := readBody(w, r, &q); err != nil {
		return err
	}
	text := strings.Trim(strings.TrimSpace(q.Text), `"'`)
	if text == "" || len(text) > 200 {
		return server.Errorf(server.Invalid, "type an ID: decimal, hexadecimal, base32, base58, base62, …")
	}
	dec := show.Decoder{Namespace: q.Namespace, Now: time.Now()}
	switch {
	case q.Namespace != "":
		dec.Source = show.FromNamespace
		dec.Views, err = d.viewOf(r, id, q.Namespace)
	case q.Layout != "":
		dec.Source = show.Given
		dec.Views = make([]*show.View, 1)
		if dec.Views[0], err = show.NewPlainView(q.Layout); err != nil {
			err = server.NewError(server.Invalid, err)
		}
	default:
		dec.Source = show.Guessed
		dec.Views, err = d.knownViews(id)
	}
	if err != nil {
		return err
	}
	cards, err := dec.Cards([]byte(text))
	if err != nil {
		return server.NewError(server.Invalid, err)
	}
	return writeJSON(w, cards)
}

func (d *Dashboard) viewOf(r *http.Request, id *server.Identity, namespace string) ([]*show.View, error) {
	sp, err := d.cfg.Service.Spaces.Admit(r.Context(), id, server.VerbRead, namespace, 0)
	if err != nil {
		return nil, err
	}
	return []*show.View{spaceView(sp)}, nil
}

// knownViews returns the layouts of the namespaces that are open, because
// no store is asked for a guess, and those known.
func (d *Dashboard) knownViews(id *server.Identity) (list []*show.View, err error) {
	for _, sp := range d.cfg.Service.Spaces.List() {
		if !id.Sees(sp.Name) {
			continue
		}
		list = append(list, spaceView(sp))
	}
	known, err := show.Known()
	return append(list, known...), err
}

func spaceView(sp *server.Space) *show.View {
	v := show.ViewOf(sp.Name, sp.Scheme())
	v.Unit = sp.Unit()
	return v
}
