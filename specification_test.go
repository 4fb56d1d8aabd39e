package snowfence_test

import (
	"context"
	"crypto/aes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/ff1"
	"github.com/snowfence/snowfence/internal/sparx"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/public"
)

// vectors reads a file of docs/reference/specification.md.
func vectors[T any](t *testing.T, name string) (v T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "specification", name))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(name, err)
	}
	return v
}

// same fails the test where what the code makes is not what the file has.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func number(text string) int64 {
	return must(strconv.ParseInt(text, 10, 64))
}

func TestSpecificationOfLayouts(t *testing.T) {
	v := vectors[struct {
		Presets [][2]string
		Valid   []struct {
			Spec, Canonical string
			EpochNs         string `json:"epoch_unix_ns"`
			TickNs          string `json:"tick_ns"`
			Fields          [][2]any
			First, Last     string
			Cipher          snowfence.Cipher
		}
		Invalid []string
	}](t, "layouts.json")
	for i, p := range snowfence.Presets() {
		same(t, "preset", [2]string{p.Name, p.Layout.String()}, v.Presets[i])
	}
	for _, c := range v.Valid {
		l, err := snowfence.ParseLayout(c.Spec)
		if err != nil {
			t.Error(err)
			continue
		}
		epoch := fmt.Sprintf("%d%09d", l.Epoch.Unix(), l.Epoch.Nanosecond())
		var fields [][2]any
		for _, f := range l.Fields {
			fields = append(fields, [2]any{f.Name, f.Bits})
		}
		same(t, c.Spec, []any{l, epoch, int64(l.Tick), fields, l.First, l.Last, l.Cipher},
			[]any{c.Canonical, c.EpochNs, c.TickNs, c.Fields, c.First, c.Last, c.Cipher})
	}
	for _, spec := range v.Invalid {
		fails(t, errOf(snowfence.ParseLayout(spec)), "%q is the layout", spec)
	}
}

// scheme returns the scheme of a spec. An empty text is a secret that is
// gone.
func scheme(t *testing.T, spec string, secrets []string) *snowfence.Scheme {
	t.Helper()
	l, err := snowfence.ParseLayout(spec)
	var keys []*snowfence.Secret
	for _, text := range secrets {
		var k *snowfence.Secret
		if text != "" && err == nil {
			k, err = snowfence.ParseSecret([]byte(text))
		}
		keys = append(keys, k)
	}
	noError(t, err)
	return must(snowfence.NewScheme(l, keys...))
}

// IDs are composed of their parts and taken apart again: also those that
// other implementations published.
func TestSpecificationOfIDs(t *testing.T) {
	v := vectors[struct {
		IDs []struct {
			Layout                         string
			Secrets                        []string
			Tick, Node, Sequence, Rollback string
			UnixNs                         string `json:"unix_ns"`
			Parts                          map[string]string
			Key                            int
			ID                             string
			Published                      bool
		}
		Refused []struct {
			Layout  string
			Secrets []string
			ID      string
		}
	}](t, "ids.json")
	published := 0
	for _, c := range v.IDs {
		s := scheme(t, c.Layout, c.Secrets)
		parts := snowfence.Parts{
			Tick: number(c.Tick), Node: number(c.Node), Sequence: number(c.Sequence), Rollback: number(c.Rollback),
		}
		id, err := s.Compose(parts)
		same(t, c.Layout, []any{id, err}, []any{c.ID, nil})
		back, err := s.Decode(id)
		same(t, c.Layout, []any{back.Tick, back.Node, back.Sequence, back.Rollback, back.Key, err},
			[]any{c.Tick, c.Node, c.Sequence, c.Rollback, c.Key, nil})
		if back.Time.Year() < 9999 { // later ones cannot be written
			same(t, c.Layout, fmt.Sprintf("%d%09d", back.Time.Unix(), back.Time.Nanosecond()), c.UnixNs)
		}
		values := s.NodeParts(back.Node)
		node, err := s.Node(values...)
		same(t, c.Layout, []any{node, err}, []any{c.Node, nil})
		for i, f := range s.Layout().NodeParts() {
			same(t, c.Layout+": "+f.Name, values[i], c.Parts[f.Name])
		}
		if c.Published {
			published++
		}
	}
	if published < 40 {
		t.Errorf("%d published IDs", published)
	}
	for _, c := range v.Refused {
		fails(t, errOf(scheme(t, c.Layout, c.Secrets).Decode(snowfence.ID(number(c.ID)))), "%s: %s", c.Layout, c.ID)
	}
}

func encodingOf(name string) snowfence.Encoding {
	return must(snowfence.ParseEncoding(name))
}

func TestSpecificationOfTexts(t *testing.T) {
	type text struct{ Prefix, Encoding, Text, ID string }
	v := vectors[struct {
		Texts                   []map[string]string
		Read, Refused, Prefixed []text
		BadPrefixes             []string `json:"bad_prefixes"`
	}](t, "texts.json")
	for _, row := range v.Texts {
		id := snowfence.ID(number(row["id"]))
		for _, name := range slices.Sorted(maps.Keys(row)) {
			if name == "id" {
				continue
			}
			e := encodingOf(name)
			back, err := e.Parse(row[name])
			same(t, name, []any{e.Encode(id), back, err}, []any{row[name], id, nil})
		}
		if len(row) != 1+2*len(snowfence.Encodings()) {
			t.Errorf("%s has %d texts", row["id"], len(row)-1)
		}
	}
	for _, c := range slices.Concat(v.Read, v.Refused) {
		id, err := encodingOf(c.Encoding).Parse(c.Text)
		if (err == nil) != (c.ID != "") || err == nil && id.String() != c.ID {
			t.Errorf("%+v: %d, %v", c, id, err)
		}
	}
	for _, c := range v.Prefixed {
		id, err := public.MustPrefix(c.Prefix, encodingOf(c.Encoding)).Parse(c.Text)
		if (err == nil) != (c.ID != "") || err == nil && id.String() != c.ID {
			t.Errorf("%+v: %d, %v", c, id, err)
		}
	}
	for _, name := range v.BadPrefixes {
		fails(t, errOf(public.NewPrefix(name, snowfence.Hex)), "the prefix %q", name)
	}
}

// The steps below encrypted IDs, for people who find that an ID differs.
func TestSpecificationOfCiphers(t *testing.T) {
	type step struct {
		Key, Plain, Cipher, Tweak string
		Bits                      int
		Secret, Private, Public   string
	}
	v := vectors[struct {
		AES, SPARX, FF1, Masks []step
		Secrets                [][2]string `json:"secret_ids"`
	}](t, "ciphers.json")
	unhex := func(text string) []byte {
		return must(hex.DecodeString(text))
	}
	secret := func(text string) *snowfence.Secret {
		return must(snowfence.ParseSecret([]byte(text)))
	}
	for _, c := range v.AES {
		b, err := aes.NewCipher(unhex(c.Key))
		block := unhex(c.Plain)
		b.Encrypt(block, block)
		same(t, "AES", []any{hex.EncodeToString(block), err}, []any{c.Cipher, nil})
	}
	for _, c := range v.SPARX {
		b, err := sparx.New(unhex(c.Key))
		block := unhex(c.Plain)
		binary.LittleEndian.PutUint64(block, b.Encrypt64(binary.LittleEndian.Uint64(block)))
		same(t, "SPARX", []any{hex.EncodeToString(block), err}, []any{c.Cipher, nil})
	}
	for _, c := range v.FF1 {
		b := must(ff1.New(unhex(c.Key), c.Bits, []byte(c.Tweak)))
		plain, _ := strconv.ParseUint(c.Plain, 10, 64)
		same(t, "FF1", b.Encrypt(plain), c.Cipher)
	}
	for _, c := range v.Masks {
		m := must(public.NewMask(secret(c.Secret)))
		same(t, "a mask", m.Public(snowfence.ID(number(c.Private))), c.Public)
	}
	for _, c := range v.Secrets {
		same(t, "a secret's ID", secret(c[0]).ID(), c[1])
	}
}

// stage is a fence that has the grant of a scene.
type stage struct {
	scheme *snowfence.Scheme
	grant  atomic.Pointer[snowfence.Grant] // never nil; a generator also asks beside its calls
	seal   func() int64
}

var errNoGrant = errors.New("there is no grant")

func (f *stage) Scheme() *snowfence.Scheme { return f.scheme }

func (f *stage) Bind(seal func() int64) (func(), error) {
	f.seal = seal
	return func() {}, nil
}

func (f *stage) Held(after int64) (snowfence.Grant, bool) {
	g := *f.grant.Load()
	return g, g.Until > after
}

func (f *stage) Grant(_ context.Context, after int64) (snowfence.Grant, error) {
	if gr, ok := f.Held(after); ok {
		return gr, nil
	}
	return snowfence.Grant{}, errNoGrant
}

func (f *stage) Release(context.Context, snowfence.Grant, int64) error { return nil }

// scene is what a generator with the grants of a server is asked for.
type scene struct {
	Name   string      `json:"name"`
	Layout string      `json:"layout"`
	Lead   int64       `json:"lead"`
	Steps  []sceneStep `json:"steps"`
}

// sceneStep is a grant, the loss of it, or a call.
type sceneStep struct {
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
	Node  string `json:"node,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
	Now   string `json:"now,omitempty"`
	Tag   string `json:"tag,omitempty"`
	ID    string `json:"id,omitempty"`
}

func TestSpecificationOfGrants(t *testing.T) {
	for _, c := range vectors[[]scene](t, "grants.json") {
		played := c.play(t)
		for i, step := range c.Steps {
			same(t, fmt.Sprintf("%s: step %d at %s", c.Name, i, step.Now), played[i].ID, step.ID)
		}
	}
}

// play returns the steps with the IDs of a generator. It goes by the clock
// of the scene, but for steps back, after which its own goes on.
func (c *scene) play(t *testing.T) []sceneStep {
	t.Helper()
	f := &stage{scheme: scheme(t, c.Layout, nil)}
	f.grant.Store(&snowfence.Grant{})
	var now atomic.Int64
	clock := func() (time.Time, time.Duration) {
		tick := now.Load()
		return f.scheme.Layout().TimeOf(tick), time.Duration(tick) * f.scheme.Layout().Tick
	}
	var g *snowfence.Generator
	played := slices.Clone(c.Steps)
	for i, step := range c.Steps {
		switch {
		case step.Lost:
			f.grant.Store(&snowfence.Grant{})
			f.seal()
		case step.Until != "":
			gr := snowfence.Grant{Node: number(step.Node), From: number(step.From), Until: number(step.Until)}
			// With the same first tick the generator goes on with its
			// grant while it lasts.
			if g != nil && gr.From != f.grant.Load().From {
				f.seal()
			}
			f.grant.Store(&gr)
		case number(step.Now) < now.Load():
		default:
			now.Store(number(step.Now))
			played[i].ID = ""
			if g == nil && f.grant.Load().Until > 0 {
				g = must(snowfence.New(snowfence.Config{Fence: f, Lead: c.Lead, Time: clock, MaxWait: -1}))
			}
			if g == nil {
				continue
			}
			id, err := g.TryNext()
			if err == nil && step.Tag != "" {
				id, err = f.scheme.Tag(id, number(step.Tag))
			}
			if err == nil {
				played[i].ID = id.String()
			}
		}
	}
	return played
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError

// errOf returns the error of a call with another result.
func errOf[T any](v T, err error) error { return tests.ErrOf(v, err) }

// wantErr reports an error of another kind, and with nil any error.
var wantErr = tests.WantErr

// fails reports a call without an error.
var fails = tests.Fails
