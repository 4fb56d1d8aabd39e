package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease/store"
)

// Swap implements [store.Store]. It sends each write at most once to a
// server that may do it; see the package comment. Writes of a namespace go
// together, up to 500 in an atomic script. A result is nil only after the
// acknowledgements that [Options] requires.
func (s *Store) Swap(
	ctx context.Context, writes []store.Write, then ...store.Key,
) (_ []error, read []store.Record, told store.Reply) {
	errs := make([]error, len(writes))
	if err := store.Check(writes); err != nil {
		return slices.Repeat([]error{err}, len(writes)), nil, told
	}
	for namespace, at := range byNamespace(writes, func(w store.Write) string { return w.New.Namespace }) {
		if err := s.registerNamespace(ctx, namespace); err != nil {
			for _, i := range at {
				errs[i] = err
			}
			continue
		}
		read, told = s.swapNamespace(ctx, namespace, writes, at, then, errs)
	}
	return errs, read, told
}

// registerNamespace puts a namespace on the list before its first record,
// because in a cluster the list lives on another server. It does so again
// when the data may have been rolled back.
func (s *Store) registerNamespace(ctx context.Context, namespace string) error {
	if err := checkName(namespace); err != nil {
		return err
	}
	s.mu.Lock()
	id, done := s.seen[namespace].id, s.names[namespace]
	s.mu.Unlock()
	if done != "" && done == id {
		return nil
	}
	id, err := s.dataOf(ctx, namespace)
	if err != nil {
		return err
	}
	if _, err := s.dataOf(ctx, listName); err != nil { // looks at the server of the list
		return err
	}
	results, err := s.commitCommands(ctx, listName, func(bool) []rueidis.Completed {
		return []rueidis.Completed{s.client.B().Sadd().Key(s.namespaces()).Member(namespace).Build()}
	})
	if err = cmp.Or(results[0].Error(), err); err != nil {
		return s.explainError(namespace, fmt.Errorf("putting it on the list of namespaces: %w", advise(err)))
	}
	s.mu.Lock()
	s.names[namespace] = id
	s.mu.Unlock()
	return nil
}

// listName stands for the list of namespaces; lease allows no such name.
const listName = "@"

func (s *Store) namespaces() string { return s.opts.Prefix + ":{" + listName + "}:namespaces" }

// swapNamespace writes one namespace: the writes at those places. A single
// script also reads then.
func (s *Store) swapNamespace(
	ctx context.Context, namespace string, writes []store.Write, at []int, then []store.Key, errs []error,
) (read []store.Record, told store.Reply) {
	parts := slices.Collect(slices.Chunk(at, chunk))
	if len(parts) > 1 {
		then = nil
	}
	started := s.calls.Add(1)
	results, unacknowledged := s.commitCommands(ctx, namespace, func(known bool) (cmds []rueidis.Completed) {
		for _, part := range parts {
			args := append(make([]string, 0, 1+len(then)+3*len(part)), strconv.Itoa(len(then)))
			for _, k := range then {
				args = append(args, store.NodeText(k.Node))
			}
			for _, i := range part {
				w, old := writes[i], ""
				if w.Old != "" {
					old = store.Front(w.Old)
				}
				args = append(args, store.NodeText(w.New.Node), old, encode(w.New))
			}
			cmds = append(cmds, s.buildCall(swapScript, known, namespace, args))
		}
		return cmds
	})
	for i, part := range parts {
		a := s.setResults(ctx, namespace, started, results[i], unacknowledged, part, errs, &told)
		for j, k := range then {
			r, err := a.decodeRecord(1, j, k)
			if err != nil {
				return nil, told // the caller reads it, and gets the error
			}
			read = append(read, r)
		}
	}
	return read, told
}

// setResults sets the results of one script, of the writes at those
// places, and returns its answer.
func (s *Store) setResults(ctx context.Context, namespace string, started uint64, res rueidis.RedisResult,
	unacknowledged error, part []int, errs []error, told *store.Reply,
) reply {
	var done string
	a, err := parse(res)
	if err == nil {
		done, err = a.body[0].ToString()
	}
	if err == nil && len(done) != len(part) {
		err = errShort
	}
	if err == nil {
		err = cmp.Or(s.noteReply(ctx, namespace, started, a), told.Join(a.told()))
	}
	for j, i := range part {
		switch {
		case err != nil:
			errs[i] = s.explainError(namespace, err)
		case done[j] == '0':
			errs[i] = store.ErrLost
		case unacknowledged != nil:
			errs[i] = s.explainError(namespace, unacknowledged)
		}
	}
	return a
}

// commitCommands sends commands of one namespace and waits for the
// acknowledgements; an error means that nothing counts yet. It calls build
// again for a server that does not know the script: then none has run.
func (s *Store) commitCommands(ctx context.Context, namespace string, build func(known bool) []rueidis.Completed,
) ([]rueidis.RedisResult, error) {
	s.mu.Lock()
	aof := s.opts.AOF
	if c := s.servers[s.seen[namespace].run]; aof && c != nil && !c.server.hasWAITAOF() {
		aof = false // it was made sure that this one syncs before it answers
	}
	s.mu.Unlock()
	if s.opts.Replicas == 0 && !aof {
		return s.sendCommands(ctx, s.client, build), nil
	}
	c, err := s.dedicate(ctx)
	if err != nil { // nothing was sent
		return slices.Repeat([]rueidis.RedisResult{rueidis.NewErrorResult(err)}, len(build(true))), nil
	}
	defer c.release()
	results := s.sendCommands(ctx, c, build)
	for _, r := range results {
		if r.NonRedisError() != nil {
			return results, nil // the connection is gone, and each result says so
		}
	}
	return results, s.awaitReplicas(ctx, c, aof)
}

// sendCommands sends commands, and those again that did not run because the
// server did not know the script.
func (s *Store) sendCommands(
	ctx context.Context, c rueidis.CoreClient, build func(known bool) []rueidis.Completed,
) []rueidis.RedisResult {
	ctx, cancel := limit(ctx, answerTimeout)
	defer cancel()
	results := c.DoMulti(ctx, build(true)...)
	again := sync.OnceValue(func() []rueidis.Completed { return build(false) })
	for i, r := range results {
		if e, ok := rueidis.IsRedisErr(r.Error()); ok && e.IsNoScript() {
			results[i] = c.DoMulti(ctx, again()[i])[0]
		}
	}
	return results
}

var errUnacknowledged = errors.New("fewer acknowledgements than asked for")

// awaitReplicas asks how far the writes have got, on the connection that
// wrote. On another one the answer would be about nothing.
func (s *Store) awaitReplicas(ctx context.Context, c rueidis.DedicatedClient, aof bool) (err error) {
	b, n, ms := s.client.B(), int64(s.opts.Replicas), int64((s.opts.Timeout+time.Millisecond-1)/time.Millisecond)
	got, has, within := []int64{1, 0}, "have", s.opts.Timeout
	ctx, cancel := limit(ctx, s.opts.Timeout+answerTimeout)
	defer cancel()
	if aof {
		has = "have synced"
		got, err = c.Do(ctx, b.Waitaof().Numlocal(1).Numreplicas(n).Timeout(ms).Build()).AsIntSlice()
	} else {
		got[1], err = c.Do(ctx, b.Wait().Numreplicas(n).Timeout(ms).Build()).AsInt64()
	}
	switch {
	case err != nil:
		return fmt.Errorf("waiting for acknowledgements: %w", advise(err))
	case len(got) != 2:
		return fmt.Errorf("WAITAOF answered %v", got)
	case got[0] < 1:
		return fmt.Errorf("%w: the master has not synced its append-only file within %v", errUnacknowledged, within)
	case got[1] < n:
		return fmt.Errorf("%w: %d of %d replicas %s the write within %v", errUnacknowledged, got[1], n, has, within)
	}
	return nil
}
