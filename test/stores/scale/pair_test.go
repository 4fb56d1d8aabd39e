package scale

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/test/harness/servers"
)

var must = tests.NoError

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// pair is two servers over one store.
type pair struct {
	servers     [2]*servers.Process
	http, admin [2]string
	client      *http.Client
}

func startPair(t testing.TB, store string) *pair {
	t.Helper()
	p := &pair{client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}, Timeout: time.Minute,
	}}
	t.Cleanup(p.client.CloseIdleConnections)
	ports := servers.Ports(t, 4)
	for i := range p.servers {
		p.http[i], p.admin[i] = servers.Address(ports[i]), servers.Address(ports[2+i])
		p.servers[i] = servers.Start(t, fmt.Sprint("snowfence", i), servers.Program(t, servers.Snowfence), []string{
			"serve", "--store", store, "--resp", "",
			"--http", p.http[i], "--advertise", p.http[i], "--admin", p.admin[i], "--pprof",
		}, []string{"HOME=" + t.TempDir()})
		p.servers[i].Ready(t, func() error {
			_, err := servers.Get(t.Context(), "http://"+p.http[i]+"/healthz")
			return err
		})
	}
	return p
}

var errAway = errors.New("it does not answer")

// call asks a server over HTTP, as Connect does.
func (p *pair) call(server int, method string, m, out proto.Message) error {
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	res, err := p.client.Post("http://"+p.http[server]+"/snowfence.v1."+method, "application/proto", bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("server %d: %w", server, errAway)
	}
	defer res.Body.Close()
	if b, err = io.ReadAll(res.Body); err != nil {
		return fmt.Errorf("server %d: %w", server, errAway)
	}
	if res.StatusCode == http.StatusOK {
		return proto.Unmarshal(b, out)
	}
	var refusal struct{ Code, Message string }
	_ = json.Unmarshal(b, &refusal) // another answer has the status
	return fmt.Errorf("%s: %s %s", res.Status, refusal.Code, refusal.Message)
}

// heap returns the bytes of a server's heap after a collection.
func (p *pair) heap(t testing.TB, server int) float64 {
	t.Helper()
	page := "http://" + p.admin[server] + "/debug/pprof/heap?debug=1&gc=1"
	_, err := servers.Get(t.Context(), page)
	must(t, err)
	text, err := servers.Get(t.Context(), page)
	must(t, err)
	_, rest, _ := strings.Cut(text, "# HeapAlloc = ")
	n, err := strconv.ParseFloat(rest[:strings.IndexByte(rest+"\n", '\n')], 64)
	must(t, err)
	return n
}

// watch measures holders and servers from begin to end.
type watch struct {
	testing.TB
	pair    *pair
	holders *holders
	first   int // server that runs
	at      time.Time
	used    float64
}

// spent is what some time took.
type spent struct {
	seen
	seconds, servers float64 // servers: of processor time
}

func (w *watch) cpu() (sum float64) {
	for _, p := range w.pair.servers[w.first:] {
		sum += p.CPU(w)
	}
	return sum
}

func (w *watch) begin() {
	w.at, w.used = time.Now(), w.cpu()
	w.holders.since()
}

func (w *watch) end() spent {
	return spent{w.holders.since(), time.Since(w.at).Seconds(), w.cpu() - w.used}
}

// judge fails the run if a tick was granted twice, or a holder was without
// a grant.
func (w *watch) judge(when string, s seen) {
	w.Helper()
	if s.twice > 0 || s.lost > 0 || s.gaps > 0 || len(s.why) > 0 {
		w.Errorf("%s: %d grants overlap others, %d leases were lost, %d times a holder had no grant, for %v at most; "+
			"answers that are no lease: %v", when, s.twice, s.lost, s.gaps, s.longestGap, s.why)
	}
}
