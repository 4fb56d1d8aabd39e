package lease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// question is what a holder writes in place of a namespace's record, over a server that keeps the
// store ([Holders]): it asks the server to look at the namespace itself. None of it is stored.
type question struct {
	Reach time.Duration `json:"reach"`          // the ttl and the allowed skew of the lease, together
	Gone  []evidence    `json:"gone,omitempty"` // what the holder was shown, and what the store may have lost since
}

// evidence is what the server showed of a node's record, and signed.
type evidence struct {
	Node       int64  `json:"node"`
	Nonce      string `json:"nonce"`
	Revision   int64  `json:"revision"`
	Generation int64  `json:"generation"`
	Until      int64  `json:"until"`
	MAC        string `json:"mac"`
}

// asked is a question as the data of a namespace's record.
type asked struct {
	Question *question `json:"question"`
}

const (
	// maxAsked is how often a lease asks about one thing before it gives up: others may write the
	// namespace at the same time.
	maxAsked = 10

	// maxEvidence is how many records a question may show; one that is gone is enough.
	maxEvidence = 8
)

// ask has the server look at the namespace. What it found is in the namespace's record afterwards.
func (l *Lease) ask(ctx context.Context, ns Namespace, seen []Record) error {
	q := question{Reach: l.reach()}
	for _, r := range seen[:min(len(seen), maxEvidence)] {
		q.Gone = append(q.Gone, evidence{r.Node, r.Nonce, r.Revision, r.Generation, r.Until, r.Data})
	}
	data, err := json.Marshal(asked{&q})
	if err != nil {
		return fmt.Errorf("lease: namespace %q: %w", l.name, err)
	}
	w := Write{ns.record.Nonce, Record{Key: ns.record.Key, Nonce: l.world.Text(), Generation: ns.Generation, Data: string(data)}}
	err = l.st.Swap(ctx, []Write{w})[0]
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("lease: asking the server to look at namespace %q: %w", l.name, err)
	}
	return nil
}

// reread reads the namespace after a write of what is held, and over a server also what was
// written: so it has what proves later that the store had it.
func (l *Lease) reread(ctx context.Context) (Namespace, error) {
	if !l.watched {
		return readNamespace(ctx, l.st, l.name)
	}
	h := l.hold
	rs, err := l.st.Get(ctx, append(keys(h.records), Key{l.name, NamespaceNode}))
	if err != nil {
		return Namespace{}, fmt.Errorf("lease: reading namespace %q: %w", l.name, err)
	}
	last := len(rs) - 1
	ns, err := namespaceOf(l.st, rs[last])
	if err != nil {
		return Namespace{}, err
	}
	for i, r := range rs[:last] {
		if r.Nonce != h.records[i].Nonce {
			err := l.lose(fmt.Errorf("node %d was changed by somebody else as soon as it was written", r.Node))
			l.judge(h, rs[:last])
			return Namespace{}, err
		}
	}
	l.seen = rs[:last]
	return ns, nil
}

// remind moves the latest record of a node to the front of what a question shows.
func (l *Lease) remind(k Key) {
	for i, r := range l.seen {
		if r.Key == k {
			l.seen[0], l.seen[i] = r, l.seen[0]
			return
		}
	}
}

// outwait is for a lease that saw the store go back, without what proves it to the server. It takes
// no grant that may begin before the end of all its own: it waits until they lie in the past.
func (l *Lease) outwait(ctx context.Context, refused error) error {
	now, err := l.clock(ctx)
	if err != nil {
		return err
	}
	if l.ticks.back(now) >= l.known {
		return nil
	}
	free := l.ticks.layout.TimeOf(l.known).Add(l.opts.TTL)
	return fmt.Errorf("lease: namespace %q: the store lost what it had acknowledged, and the server cannot see it; waiting until %s, when no ID can come twice: %v",
		l.name, free.Format(time.RFC3339), refused)
}
