package claim

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/scope"
	"github.com/snowfence/snowfence/lease/store"
)

var rewrite = flag.Bool("rewrite", false, "write the answers into the scripts of testdata")

// TestScripts plays the protocol of holders, step by step. A script
// has commands, and their answers behind a tab: kinds and ticks, never
// nonces or dates. testdata/README.md explains them.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatal(len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(path)
			noError(t, err)
			now := played(t, string(script))
			if *rewrite {
				err = os.WriteFile(path, []byte(now), 0o644)
			} else if now != string(script) {
				n := 0
				was, is := strings.Split(string(script), "\n"), strings.Split(now, "\n")
				for n < min(len(was), len(is))-1 && was[n] == is[n] {
					n++
				}
				t.Errorf("%s:%d: %s\nit was %s", path, n+1, is[n], was[n])
			}
			noError(t, err)
		})
	}
}

// The argument shows the start of a script.
func TestScriptOfTheArgument(t *testing.T) {
	page := must(os.ReadFile("../../../docs/prove/argument.md"))
	script := must(os.ReadFile("testdata/doubt.txt"))
	if begin, _, _ := strings.Cut(string(script), "\n\n"); !strings.Contains(string(page), "```\n"+begin+"\n```") {
		t.Errorf("docs/prove/argument.md does not show the start of testdata/doubt.txt:\n%s", begin)
	}
}

// played returns a script with the answers that its commands have now.
func played(t *testing.T, script string) string {
	p := newPlay(t, "")
	var out strings.Builder
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		command := strings.TrimSpace(line)
		if layout, begins := strings.CutPrefix(command, "scene"); begins {
			p = newPlay(t, strings.TrimSpace(layout))
			continue
		}
		times := 1
		if before, n, ok := strings.Cut(command, " x"); ok && !strings.HasPrefix(line, "#") {
			command, times = before, int(p.number(n))
		}
		for range times {
			p.out.Reset()
			p.before, p.calls = p.calls, nil
			if command != "" && command[0] != '#' {
				p.do(command)
			}
		}
		out.WriteString(p.out.String())
	}
	return out.String()
}

// do carries a command out.
func (p *play) do(command string) {
	word := strings.Fields(command)
	name, rest := word[0], word[1:]
	if c := p.players[name]; c != nil {
		p.act(c, rest)
		return
	}
	operator := scope.Namespaces(storage{p})
	switch name {
	case "before", "after", "get", "list", "swap", "suspect", "pin", "pause", "acquire", "renew", "release":
		p.lay(command)
	case "answered":
		p.traps = nil
	case "holder", "guest":
		p.enter(name == "guest", rest[0], rest[1:])
	case "wait":
		p.now = p.now.Add(p.duration(rest[0]))
	case "cancel":
		p.cancel()
		p.over = !p.busy
	case "clock":
		p.clock = new(p.duration(rest[0]))
	case "store":
		p.id = rest[0]
	case "rides":
		p.rides = len(rest) == 0
	case "save":
		p.saved = p.records()
	case "rollback":
		for _, r := range slices.Concat(p.records(), p.saved) {
			if len(rest) == 0 || slices.Contains(rest, keyName(r.Key)) {
				p.replace(store.Record{Key: r.Key})
				if i := slices.IndexFunc(p.saved, func(s store.Record) bool { return s.Key == r.Key }); i >= 0 {
					p.replace(p.saved[i])
				}
			}
		}
	case "gone":
		p.replace(store.Record{Key: p.key(rest[0])})
	case "put":
		p.put(p.record(p.key(rest[0])), rest[1:])
	case "show":
		if c := p.players[rest[0]]; c != nil {
			p.say("%s", c.knows())
		} else {
			p.say("%s", p.text(p.record(p.key(rest[0]))))
		}
	case "calls":
		p.say("%s", strings.Join(p.before, ", "))
	case "evict":
		p.ended(operator.Release(p.ctx(), "n", p.number(rest[0])))
	case "veto":
		p.ended(operator.Veto(p.ctx(), "n", p.number(rest[0]), strings.Join(rest[1:], " ")))
	case "functions":
		p.recordFunctions(p.number(rest[0]))
	case "restored":
		p.ended(operator.Restored(p.ctx(), "n"))
	case "unit":
		p.ended(operator.Change(p.ctx(), "n", p.scheme, &scope.NamespaceOptions{Unit: p.number(rest[0])}))
	case "layout":
		p.scheme = p.schemeOf(rest)
		p.ended(operator.Change(p.ctx(), "n", p.scheme, nil))
	default:
		p.Fatalf("%q: no such command or holder", command)
	}
}

// enter brings a holder on: over the store, or as a guest over the server.
func (p *play) enter(guest bool, name string, word []string) {
	c := &player{events: &events{play: p}}
	o := Settings{Label: name, Logger: quiet}
	scheme := p.scheme
	word = slices.DeleteFunc(word, func(w string) bool {
		secret := strings.HasPrefix(w, "secrets=")
		if secret {
			scheme = p.schemeOf([]string{scheme.Layout().String(), w})
		}
		return secret
	})
	p.set(&o, word)
	o.Clock = ClockOf(func() (time.Time, time.Duration) { return p.now.Add(c.off), p.now.Sub(start) }, scheme)
	n, err := o.Normal(scheme)
	if p.failed(err); err != nil {
		return
	}
	if guest {
		n.MaxSkew = scope.DefaultTTL
	}
	c.Setup = NewSetup(p, "n", scheme, n, c.events.report)
	if guest {
		c.Claim = OverServer(c.Setup, counter{p}, nil)
	} else {
		sc := newClaim(c.Setup, storage{p})
		p.names[sc.who] = name
		c.Claim = sc
	}
	p.players[name] = c
}

// set sets fields of a struct, as in "until=7 veto=hot". A number with a
// sign is added.
func (p *play) set(to any, word []string) {
	for _, w := range word {
		name, value, _ := strings.Cut(w, "=")
		f := reflect.ValueOf(to).Elem().FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		if !f.IsValid() {
			p.Fatalf("%q: no such field", w)
		}
		switch f.Interface().(type) {
		case int, int64:
			n := p.number(value)
			if value[0] == '+' || value[0] == '-' {
				n += f.Int()
			}
			f.SetInt(n)
		case string:
			f.SetString(value)
		case bool:
			f.SetBool(true)
		case *int64:
			f.Set(reflect.ValueOf(new(p.number(value))))
		case time.Duration:
			f.SetInt(int64(p.duration(value)))
		case snowfence.NodeRange:
			from, last, _ := strings.Cut(value, "-")
			f.Set(reflect.ValueOf(snowfence.NodeRange{From: p.number(from), Until: p.number(last) + 1}))
		default:
			p.Fatalf("%q: a field of type %s", w, f.Type())
		}
	}
}

func (p *play) number(text string) int64 {
	n := must(strconv.ParseInt(text, 10, 64))
	return n
}

func (p *play) duration(text string) time.Duration {
	d := must(time.ParseDuration(text))
	return d
}

// put writes a record by other means, with other fields.
func (p *play) put(r store.Record, word []string) {
	if r.Node != store.NamespaceNode || strings.HasPrefix(word[0], "data=") {
		nonce := r.Nonce
		r.Nonce = p.Text()
		if !slices.ContainsFunc(word, func(w string) bool { return strings.HasPrefix(w, "revision=") }) {
			r.Revision++
		}
		if p.set(&r, word); r.Nonce == "." { // as it was
			r.Nonce = nonce
		}
		p.replace(r)
		return
	}
	if key, ok := strings.CutPrefix(word[0], "key="); ok {
		changeData(p.T, &r, map[string]string{"ticket_key": key})
		word = word[1:]
	}
	changeNamespace(p.T, &r, func(ns *scope.Namespace) { p.set(ns, word) })
	r.Nonce = p.Text()
	p.replace(r)
}

// recordFunctions records functions of a node and does not evict its
// holder.
func (p *play) recordFunctions(node int64) {
	r := p.record(p.key("namespace"))
	alone := store.NewMemory() // without the holder
	must(store.Put(p.ctx(), alone, store.Write{New: r}))
	f := scope.Functions{Dialect: "mysql", Lead: time.Second}
	_, _, err := scope.Namespaces(alone).RecordFunctions(p.ctx(), "n", node, f, false)
	p.failed(err)
	rs, _, err := alone.Get(p.ctx(), []store.Key{r.Key})
	noError(p, err)
	p.replace(rs[0])
}

// must returns the result of a call that has to work.
func must[T any](v T, err error) T { return tests.Must(v, err) }

// noError ends the test at an error.
var noError = tests.NoError
