package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/lease"
)

// startNode is the node number of the record that counts starts: below that of a namespace, and so in no list of nodes or namespaces.
const startNode = lease.NamespaceNode - 1

// StartNumber counts a start of a program and returns its number: 0 for the first one of a name, then 1, and so on, below nodes, each once. It is the table
// with a row per start that other generators take their worker number from, with one difference: those begin again at 0 when the numbers have run out, whoever
// still uses them. Here that is an error, since nothing tells whether an earlier holder is gone. That is what a lease is for (lease.Open), and what to use
// unless starts are few: 1024 nodes last three years of a start a day.
//
// Use the number with a fence that never saw it before, such as snowfence.Static. It promises no more than that no other start had it, in a database
// that was never set back: one that is a restored dump or was promoted is refused, as far as it can be told (see the dialects); then use another name and other nodes. The
// name is that of a namespace or none; numbers know nothing of its leases, so keep their ranges apart. It is safe for any number of programs at once. A call
// that fails may have used a number up.
func StartNumber(ctx context.Context, db *sql.DB, d Dialect, name string, nodes int64) (int64, error) {
	st, err := New(db, d)
	if err != nil {
		return 0, err
	}
	if name == "" || nodes < 1 {
		return 0, fmt.Errorf("sqlstore: start number of %q among %d nodes: it needs a name and at least one node", name, nodes)
	}
	key := lease.Key{Namespace: name, Node: startNode}
	for {
		rs, err := st.Get(ctx, []lease.Key{key})
		if err != nil {
			return 0, err
		}
		id, err := st.Identity(ctx, name)
		if err != nil {
			return 0, err
		}
		old := rs[0]
		number := old.Revision // how many there were
		switch {
		case old.Nonce != "" && old.Data != id:
			return 0, fmt.Errorf("sqlstore: start number of %q: the database was %s and is %s now, and may have forgotten starts: use another name, with nodes that were not used", name, old.Data, id)
		case number >= nodes:
			return 0, fmt.Errorf("sqlstore: start number of %q: all %d were given out, and nobody knows whether their holders are gone: lease a node (lease.Open), or use another name with other nodes", name, nodes)
		}
		next := lease.Record{Key: key, Nonce: rand.Text(), Revision: number + 1, Data: id, At: time.Now().UnixMilli()}
		if err := st.Swap(ctx, []lease.Write{{Old: old.Nonce, New: next}})[0]; err == nil {
			return number, nil
		} else if !errors.Is(err, lease.ErrLost) {
			return 0, err
		}
	}
}
