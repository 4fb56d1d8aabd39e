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
func (c *claim) ask(ctx context.Context, ns Namespace, seen []Record) error {
	q := question{Reach: c.reach()}
	for _, r := range seen[:min(len(seen), maxEvidence)] {
		q.Gone = append(q.Gone, evidence{r.Node, r.Nonce, r.Revision, r.Generation, r.Until, r.Data})
	}
	data, err := json.Marshal(asked{&q})
	if err != nil {
		return fmt.Errorf("lease: namespace %q: %w", c.name, err)
	}
	w := Write{ns.record.Nonce, Record{
		Key: ns.record.Key, Nonce: c.world.Text(), Generation: ns.Generation,
		Data: string(data),
	}}
	err = c.st.Swap(ctx, []Write{w})[0]
	if err != nil && !errors.Is(err, ErrLost) {
		return fmt.Errorf("lease: asking the server to look at namespace %q: %w", c.name, err)
	}
	return nil
}

// showFirst moves the latest record of a node to the front of what a question shows.
func (c *claim) showFirst(k Key) {
	for i, r := range c.seen {
		if r.Key == k {
			c.seen[0], c.seen[i] = r, c.seen[0]
			return
		}
	}
}

// outwait is for a lease that saw a rollback of the store, without what proves it to the server.
// It takes no grant that may begin before the end of all its own: it waits until they lie in the
// past.
func (c *claim) outwait(ctx context.Context, refused error) error {
	now, err := c.clock(ctx)
	if err != nil {
		return err
	}
	if c.ticks.back(now) >= c.reached {
		return nil
	}
	free := c.ticks.layout.TimeOf(c.reached).Add(c.opts.TTL)
	return fmt.Errorf("lease: namespace %q: the store lost what it had acknowledged, "+
		"and the server cannot see it; waiting until %s, when no ID can come twice: %v",
		c.name, free.Format(time.RFC3339), refused)
}
