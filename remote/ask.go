package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/sequence"
	"google.golang.org/protobuf/encoding/protowire"
)

// perRecord is the extra time of a request for each record: the busiest
// store that was measured writes ten thousand a second, and its client is
// busy too.
const perRecord = time.Millisecond

// ask makes a repeatable request to the server that answered last, then to
// the others while one is unreachable.
func ask[T any](ctx context.Context, c *Client, records int, do func(context.Context, *peer) (T, error)) (T, error) {
	var away []error
	first := int(c.good.Load())
	for i := range c.servers {
		n := (first + i) % len(c.servers)
		out, err := call(ctx, c, c.servers[n], records, do)
		if err == nil {
			c.good.Store(int64(n))
			return out, nil
		}
		if !isAway(err) || ctx.Err() != nil {
			var zero T
			return zero, err
		}
		away = append(away, err)
	}
	var zero T
	return zero, errors.Join(away...)
}

// race makes a repeatable request to the server that answered last, and
// after a while to the next too, for waiting callers. The first good answer
// counts.
func race[T any](ctx context.Context, c *Client, do func(context.Context, *peer) (T, error)) (out T, err error) {
	ctx, cancel := context.WithCancel(ctx) // those that are too late
	defer cancel()
	type answer struct {
		server int
		out    T
		err    error
	}
	answers := make(chan answer, len(c.servers))
	first, begun := int(c.good.Load()), 0
	next := time.NewTimer(0)
	defer next.Stop()
	var away []error
	for len(away) < len(c.servers) {
		select {
		case <-next.C:
			if begun == len(c.servers) {
				continue
			}
			n := (first + begun) % len(c.servers)
			begun++
			go func() {
				out, err := call(ctx, c, c.servers[n], 0, do)
				answers <- answer{n, out, err}
			}()
			next.Reset(min(hurry, c.timeout/2))
		case a := <-answers:
			if a.err == nil {
				c.good.Store(int64(a.server))
				return a.out, nil
			}
			more := isAway(a.err) || errors.Is(a.err, snowfence.ErrExhausted) || errors.Is(a.err, lease.ErrTaken)
			if !more || ctx.Err() != nil {
				return out, a.err
			}
			away = append(away, a.err)
			next.Reset(0)
		}
	}
	return out, errors.Join(away...)
}

// hurry is when another server is asked too: healthy ones answer in
// milliseconds, or wait a second for their clock at most.
const hurry = 1500 * time.Millisecond

// askOnce makes a request that must not be repeated, because it may have
// worked without an answer. Then the next request goes to another server.
func askOnce[T any](
	ctx context.Context, c *Client, records int, do func(context.Context, *peer) (T, error),
) (T, error) {
	n := c.good.Load()
	out, err := call(ctx, c, c.servers[n], records, do)
	if err != nil && (isAway(err) || errors.Is(err, lease.ErrTaken)) { // others have nodes of their own
		c.moveOn(c.servers[n])
	}
	return out, err
}

// moveOn makes the server after a silent one the first to be asked.
func (c *Client) moveOn(after *peer) {
	n := int64(slices.Index(c.servers, after))
	c.good.CompareAndSwap(n, (n+1)%int64(len(c.servers)))
}

func call[T any](
	ctx context.Context, c *Client, p *peer, records int, do func(context.Context, *peer) (T, error),
) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+time.Duration(records)*perRecord)
	defer cancel()
	out, err := do(ctx, p)
	return out, p.explainError(err)
}

// isAway reports whether another server may answer after this failure.
func isAway(err error) bool {
	if errors.Is(err, lease.ErrElsewhere) {
		return false // it is, but not of this lease: its holder takes another one
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeUnknown, connect.CodeInternal:
		return true
	}
	return reason(err) == "" // no server of ours says so: it is a proxy, or something else has the address
}

// explainError names the server, and marks errors of the wire with the
// errors of lease and snowfence.
func (p *peer) explainError(err error) error {
	if err == nil {
		return nil
	}
	return p.explainReason(reason(err), err)
}

// explainReason is explain for an error of which the reason is known.
func (p *peer) explainReason(reason string, err error) error {
	meaning := map[string]error{
		"no-namespace": lease.ErrNoNamespace, "lost": store.ErrLost, "refused": lease.ErrRefused,
		"invalid": lease.ErrInvalid, "exhausted": snowfence.ErrExhausted, "lifetime": snowfence.ErrLifetime,
		"no-sequence": sequence.ErrNoSequence, "ended": sequence.ErrEnded, "rolled-back": sequence.ErrRolledBack,
		"period": sequence.ErrPeriod, "no-nodes": lease.ErrTaken, "exists": lease.ErrExists,
		"elsewhere": lease.ErrElsewhere,
	}[reason]
	if meaning == nil {
		return fmt.Errorf("remote: %s: %w", p.address, err)
	}
	return fmt.Errorf("remote: %s: %w (%w)", p.address, err, meaning)
}

// reason returns the reason of a server's google.rpc.ErrorInfo, or "".
func reason(err error) string {
	var e *connect.Error
	if !errors.As(err, &e) {
		return ""
	}
	for _, d := range e.Details() {
		if d.Type() != "google.rpc.ErrorInfo" {
			continue
		}
		// Read by hand, which saves a module: the first field is the
		// reason.
		b := d.Bytes()
		if num, typ, n := protowire.ConsumeTag(b); n > 0 && num == 1 && typ == protowire.BytesType {
			if text, m := protowire.ConsumeBytes(b[n:]); m > 0 {
				return string(text)
			}
		}
	}
	return ""
}
