package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/snowfence/snowfence"
)

// handClient is a client as docs/reference/specification.md has it, with
// one mistake or none.
type handClient struct {
	mistake string

	mu          sync.Mutex // guards what follows
	layout      snowfence.Layout
	ticket      string // "" without a lease
	node        int64
	from, until int64
	tick, slot  int64 // of the last ID
	past        int64 // the tick after the last one that was stamped of this node
	earlier     []string
	lost        string // the last ticket, after a loss
	renewAt     time.Time
	busy        bool // a call is under way
	elsewhere   bool // the lease cannot be renewed, and goes on to its end
	trouble     error
}

// grantOf is the answer with a lease.
type grantJSON struct {
	Node, From, Until string
	RenewAfter        string `json:"renew_after"`
	Layout, Ticket    string
}

func (c *handClient) is(mistake string) bool { return c.mistake == mistake }

func (c *handClient) next() (snowfence.ID, error) {
	for range 20 {
		c.mu.Lock()
		if !c.busy && time.Now().After(c.renewAt) {
			c.busy = true
			go c.work()
		}
		id, err := c.stamp()
		c.mu.Unlock()
		if err == nil {
			return id, nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return 0, errors.Join(errors.New("there is no ID now"), c.trouble)
}

// stamp is the function next of the page.
func (c *handClient) stamp() (snowfence.ID, error) {
	none := errors.New("none")
	if c.ticket == "" {
		return 0, none
	}
	l, now := c.layout, c.layout.TickOf(time.Now())
	last := l.Last
	if c.is("ignores last") {
		last = 1<<l.Bits(snowfence.FieldSequence) - 1
	}
	n, values := last-l.First+1, int64(1)<<l.Bits(snowfence.FieldScatter)
	t, s := c.tick, c.slot+1
	if s >= n*values {
		t, s = t+1, 0
	}
	begin := max(now, c.from)
	if begin > t {
		t, s = begin, 0
	}
	if t > now || t >= c.until && !c.is("ignores until") {
		return 0, none
	}
	c.tick, c.slot, c.past = t, s, t+1
	p := snowfence.Parts{Tick: t, Node: c.node}
	switch {
	case c.is("repeats a number") && s == 1:
		s = 0
	case c.is("repeats a number with a tag"):
		p.Tag, s = s%2, s/2
	case c.is("moves a value within a tick"):
		t += s
	}
	p.Sequence, p.Scatter = l.First+s%n, (t+s/n)%values
	scheme, err := snowfence.NewScheme(l)
	if err != nil {
		return 0, err
	}
	return scheme.Compose(p)
}

// work renews or acquires once.
func (c *handClient) work() {
	c.mu.Lock()
	ticket, attempt, earlier := c.ticket, rand.Text(), c.earlier
	if c.is("repeats its attempt") {
		attempt = "the-same-attempt"
	}
	body := map[string]any{"attempt": attempt, "earlier": earlier}
	method := "Renew"
	if ticket == "" || c.elsewhere {
		method = "Acquire"
		body["namespace"], body["label"] = os.Getenv("SNOWFENCE_NAMESPACE"), "by hand"
		body["ttl"] = strconv.FormatFloat(ttlOf().Seconds(), 'f', -1, 64) + "s"
		if c.lost != "" && !c.is("forgets what it lost") {
			body["lost"], body["free"] = c.lost, true
		}
		if c.is("takes a second node") {
			delete(body, "attempt")
			delete(body, "earlier")
		}
	} else {
		body["ticket"] = ticket
	}
	if !c.is("forgets earlier attempts") {
		c.earlier = append(c.earlier, attempt)
	}
	if c.is("trusts a renewal that it sent") && method == "Renew" && ticket != "" {
		c.until += int64(ttlOf() / c.layout.Tick)
	}
	c.mu.Unlock()
	var g grantJSON
	status, err := c.call(method, body, &g)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	switch {
	case err == nil && status == http.StatusOK && g.Ticket != "":
		c.take(method, g)
	case method == "Renew" && c.ends(status, err):
		c.lost, c.ticket, c.earlier, c.renewAt = c.ticket, "", nil, time.Now()
	case method == "Renew" && errors.Is(err, errElsewhere) && !c.is("renews what is elsewhere"):
		c.elsewhere, c.earlier, c.renewAt = true, nil, time.Now()
	default:
		c.trouble = fmt.Errorf("%s: status %d: %w", method, status, err)
		c.renewAt = time.Now().Add(100 * time.Millisecond)
	}
}

// ends reports whether an answer to Renew means that the lease is lost.
func (c *handClient) ends(status int, err error) bool {
	if c.is("takes every error for a loss") {
		return err != nil || status != http.StatusOK
	}
	ours := (err != nil || c.is("believes a proxy")) && !c.is("goes on after a loss")
	return ours && (status == http.StatusConflict || status == http.StatusNotFound && !c.is("goes on after 404"))
}

func (c *handClient) take(method string, g grantJSON) {
	l, err := snowfence.ParseLayout(g.Layout)
	if c.is("has a layout of its own") {
		l, err = snowfence.ParseLayout("time=40,node=7,seq=3,epoch=2010-11-04T01:42:54.657Z,tick=200ms,first=1,last=5")
	}
	if err == nil && c.is("needs a node number") && g.Node == "" {
		err = errors.New("the answer has no node")
	}
	if err != nil {
		c.trouble = err
		return
	}
	node, from := number(g.Node), number(g.From)
	other := node != c.node || c.is("forgets what it stamped")
	if method == "Acquire" && other || c.is("begins anew with each renewal") {
		c.tick, c.slot, c.past = -1, -1, from
	}
	if method == "Acquire" || !c.is("keeps the first from") {
		c.from = from
	}
	if method == "Acquire" || !c.is("keeps the first ticket") {
		c.ticket = g.Ticket
	}
	c.layout, c.node, c.until, c.earlier, c.lost, c.elsewhere = l, node, number(g.Until), nil, "", false
	after, _ := time.ParseDuration(g.RenewAfter)
	c.renewAt = time.Now().Add(after)
	if c.is("keeps its ticket on disk") {
		b, _ := json.Marshal(g)
		_ = os.WriteFile(c.file(), b, 0o600)
	}
}

func newHandClient(mistake string) *handClient {
	c := &handClient{mistake: mistake, node: -1}
	if b, err := os.ReadFile(c.file()); err == nil {
		var g grantJSON
		_ = os.Remove(c.file())
		if json.Unmarshal(b, &g) == nil {
			c.take("Acquire", g)
		}
	}
	return c
}

// file is where a client keeps its ticket that must not.
func (c *handClient) file() string {
	return filepath.Join(os.TempDir(), "conform-ticket-"+filepath.Base(os.Getenv("SNOWFENCE_SERVER")))
}

func number(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func (c *handClient) call(method string, body map[string]any, out any) (int, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		os.Getenv("SNOWFENCE_SERVER")+"/snowfence.v1.LeaseService/"+method, bytes.NewReader(b))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if c.is("follows redirects") {
		client.CheckRedirect = nil
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusOK && !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		return 0, errors.New("an answer that is no JSON")
	}
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, reasonOf(res.Body)
	}
	return res.StatusCode, json.NewDecoder(res.Body).Decode(out)
}

var errElsewhere = errors.New("the lease is elsewhere")

// reasonOf reads the reason of an error; nil without one.
func reasonOf(r io.Reader) (err error) {
	var e struct{ Details []struct{ Value string } }
	_ = json.NewDecoder(r).Decode(&e) // of damaged answers there is none
	for _, d := range e.Details {
		err = errors.New("it has a reason")
		b, _ := base64.RawStdEncoding.DecodeString(d.Value)
		if bytes.Contains(b, []byte("elsewhere")) || bytes.Contains(b, []byte("invalid")) {
			return errElsewhere
		}
	}
	return err
}

func (c *handClient) close() {
	c.mu.Lock()
	ticket, used := c.ticket, c.past
	c.ticket = ""
	c.mu.Unlock()
	if ticket == "" {
		return
	}
	if c.is("gives back what it used") {
		used--
	}
	var none struct{}
	_, _ = c.call("Release", map[string]any{"ticket": ticket, "used": strconv.FormatInt(used, 10)}, &none)
}
