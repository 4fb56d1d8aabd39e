package move

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/snowfence/snowfence/lease/store"
)

// closed is added to the format of a namespace that was moved away, so that
// programs that know no moves refuse it too.
const closed = 1 << 30

// incomplete is the [store.ErrMoved] of the target while a move is under
// way.
type incomplete struct{}

func (incomplete) Error() string {
	return "its data is being moved to this store: wait, or run snowfence store move again"
}

func (incomplete) Is(target error) bool { return target == store.ErrMoved }

// Moved says where the data of a namespace or a sequence is. It is part of
// the Data of the record that heads it. The one with the highest N is the
// real one, and all others are closed.
type Moved struct {
	ID   string `json:"id"`             // of the data, the same in all stores and backups: its first nonce
	N    int64  `json:"n,omitempty"`    // how often it was moved
	To   string `json:"to,omitempty"`   // where it is now: the name of a store, for people
	Into string `json:"into,omitempty"` // nonce of the record there that waits for it; "" when it is complete
	From string `json:"from,omitempty"` // where it is copied from, until it is complete here

	Identity string `json:"identity,omitempty"` // of this store when it began to wait for the copy
}

// Err is an [store.ErrMoved] if no program may use the data.
func (m Moved) Err() error {
	switch {
	case m.To != "":
		return store.ErrMoved
	case m.From != "":
		return incomplete{}
	}
	return nil
}

// Of returns the mark in the head record of a namespace or a sequence.
func Of(r store.Record) (Moved, error) {
	var data struct{ Moved Moved }
	if r.Nonce == "" {
		return data.Moved, nil
	}
	if err := json.Unmarshal([]byte(r.Data), &data); err != nil {
		return Moved{}, store.Damaged(r.Key, err)
	}
	return data.Moved, nil
}

// marked returns the head r with the mark m. All else that it has stays,
// also of a later format.
func marked(r store.Record, m Moved) (store.Record, error) {
	data := map[string]json.RawMessage{}
	var known struct{ Format int }
	was := []byte(cmp.Or(r.Data, "{}"))
	if err := errors.Join(json.Unmarshal(was, &data), json.Unmarshal(was, &known)); err != nil {
		return r, store.Damaged(r.Key, err)
	}
	data["moved"], _ = json.Marshal(m) // texts and a number always have a JSON
	if r.Node == store.NamespaceNode {
		known.Format &^= closed
		if m.Err() != nil {
			known.Format |= closed
		}
		data["format"], _ = json.Marshal(known.Format)
	}
	text, err := json.Marshal(data)
	r.Data = string(text)
	return r, err
}
