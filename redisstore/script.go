package redisstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence/lease/store"
)

//go:embed *.lua
var lua embed.FS

var (
	readScript    = newScript("read.lua")
	swapScript    = newScript("swap.lua")
	suspectScript = newScript("suspect.lua")
)

// script is a Lua script, which servers keep by the SHA-1 of its text.
type script struct{ text, sha string }

// newScript reads a script, and puts the common head before it.
func newScript(file string) script {
	head, _ := lua.ReadFile("head.lua") // both are embedded
	body, _ := lua.ReadFile(file)
	text := append(head, body...)
	sum := sha1.Sum(text)
	return script{string(text), hex.EncodeToString(sum[:])}
}

// reply is the answer of a script.
type reply struct {
	id   string // the name of the data
	run  string // of the server's process
	now  time.Time
	body []rueidis.RedisMessage
}

var errShort = errors.New("a script answered with fewer values than it should: something between here and the " +
	"server changes answers")

// decodeRecord decodes the i-th record of a part of an answer.
func (a reply) decodeRecord(part, i int, k store.Key) (store.Record, error) {
	if part >= len(a.body) {
		return store.Record{}, errShort
	}
	values, err := a.body[part].ToArray()
	if err != nil || i >= len(values) {
		return store.Record{}, fmt.Errorf("redisstore: namespace %q: %w", k.Namespace, errShort)
	}
	value, err := values[i].ToString()
	if rueidis.IsRedisNil(err) {
		return store.Record{Key: k}, nil
	}
	r, failed := decode(k, value)
	if err = cmp.Or(err, failed); err != nil {
		return r, fmt.Errorf("redisstore: node %d of namespace %q: %w", k.Node, k.Namespace, err)
	}
	return r, nil
}

// runRead runs the script that reads.
func (s *Store) runRead(ctx context.Context, namespace string, args ...string) (reply, error) {
	return s.runRepeatable(ctx, readScript, namespace, args...)
}

// runRepeatable runs a script that may be resent: it would then find
// exactly its own writes.
func (s *Store) runRepeatable(ctx context.Context, sc script, namespace string, args ...string) (reply, error) {
	if err := checkName(namespace); err != nil {
		return reply{}, err
	}
	started := s.calls.Add(1)
	a, err := parse(s.sendCommands(ctx, s.client, func(known bool) []rueidis.Completed {
		return []rueidis.Completed{s.buildCall(sc, known, namespace, args).ToRetryable()}
	})[0])
	if err != nil {
		return a, s.explainError(namespace, err)
	}
	return a, s.noteReply(ctx, namespace, started, a)
}

// checkName refuses names that would end the hash tag early.
func checkName(namespace string) error {
	if strings.ContainsAny(namespace, "{}") {
		return fmt.Errorf("redisstore: namespace %q: a name has no braces", namespace)
	}
	return nil
}

func parse(res rueidis.RedisResult) (a reply, err error) {
	all, err := res.ToArray()
	if err != nil {
		return a, err
	}
	if len(all) < 4 {
		return a, errShort
	}
	id, err := all[0].ToString()
	run, failed := all[1].ToString()
	a = reply{id: id, run: run, body: all[3:]}
	if at, err := all[2].AsIntSlice(); err == nil && len(at) == 2 { // else the user may not ask for it
		a.now = time.Unix(at[0], at[1]*1000)
	}
	return a, cmp.Or(err, failed)
}

// told is the answer as the contract has it.
func (a reply) told() store.Reply { return store.Reply{Identity: "redis:" + a.id, Now: a.now} }

// buildCall builds the command that runs a script, with its text if the
// server does not know it.
func (s *Store) buildCall(sc script, known bool, namespace string, args []string) rueidis.Completed {
	verb, text, fresh := "EVAL", sc.text, rand.Text()
	if known {
		verb, text = "EVALSHA", sc.sha
	}
	if s.opts.ReadOnly {
		verb, fresh = verb+"_RO", ""
	}
	keys := s.keysOf(namespace)
	return s.client.B().Arbitrary(verb).Args(text, strconv.Itoa(len(keys))).Keys(keys...).
		Args(fresh).Args(args...).Build()
}

// noteReply keeps the data's and the server's identity of a reply. If
// replies cross, the reply to the later call counts.
func (s *Store) noteReply(ctx context.Context, namespace string, started uint64, a reply) error {
	s.mu.Lock()
	if len(s.seen) >= mostSeen { // they are asked for again
		clear(s.seen)
	}
	if s.seen[namespace].call < started {
		s.seen[namespace] = seen{started, a.id, a.run}
	}
	s.mu.Unlock()
	return s.checkServer(ctx, namespace, a.run)
}

// keysOf returns the keys of a namespace. The braces keep them on one
// server of a cluster.
func (s *Store) keysOf(namespace string) []string {
	base := s.opts.Prefix + ":{" + namespace + "}:"
	return []string{base + "meta", base + "records", base + "nodes"}
}

// format begins the text of a record. The rest is [store.Encode], of which
// swap.lua knows the nonce.
const format = "3"

func encode(r store.Record) string { return format + store.Encode(r, "") }

// decode is the inverse of encode.
func decode(k store.Key, text string) (store.Record, error) {
	rest, ok := strings.CutPrefix(text, format)
	if !ok {
		return store.Record{}, fmt.Errorf("the record has the format %.1q, and this program knows %q: use its "+
			"program, or another prefix", text, format)
	}
	r, _, err := store.Decode(k, rest)
	return r, err
}
