package serve

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/sequence"
)

// A refusal for want of room came after the numbers were taken, and lost
// them.
func TestRefusalForRoomLosesNoNumber(t *testing.T) {
	st := newStore(t)
	for name, d := range map[string]sequence.Definition{
		"bills": {Mode: sequence.Dense}, "strict": {Mode: sequence.Strict}, "dated": {Pattern: "{yy}{n}"},
	} {
		noError(t, sequence.Create(t.Context(), st, name, d))
	}
	p, _ := start(t, Config{}, st)
	for _, name := range []string{"bills", "strict", "dated"} {
		take := func(count string) (int, string) {
			return ask(t, "POST", "http://"+p.HTTP+"/snowfence.v1.SequenceService/Next", "",
				`{"name":"`+name+`","count":`+count+`}`)
		}
		for _, want := range []string{"1", "2"} {
			if code, text := take("1"); code != http.StatusOK || !strings.Contains(text, `"first":"`+want+`"`) {
				t.Fatalf("%s: %d %s, want %s", name, code, text, want)
			}
			var others server.Caller
			noError(t, p.Service().Reserve(&others, server.MostRoom-4*server.RequestRoom))
			if code, text := take("2000"); code != http.StatusTooManyRequests {
				t.Errorf("%s: numbers without room: %d %.80s", name, code, text)
			}
			if code, text := get(t, "http://"+p.HTTP+"/v1/"+name+"/sequence/next?n=2000", ""); code != 429 {
				t.Errorf("%s: numbers over HTTP without room: %d %.80s", name, code, text)
			}
			p.Service().Ended(&others)
		}
	}
}

// Metrics of many sequences or tokens took the room of few.
func TestMetricsReserveTheirRoom(t *testing.T) {
	st := newStore(t)
	p, _ := start(t, Config{}, st)
	noError(t, p.Service().Reserve(&server.Caller{}, server.MostRoom-2<<20))
	look := func(want int) {
		if code, text := get(t, "http://"+p.HTTP+"/metrics", ""); code != want {
			t.Errorf("%d: %d bytes of text in the room of 2 MB", code, len(text))
		}
	}
	look(http.StatusOK)
	var many []server.Token
	for i := range 600 {
		many = append(many, token(fmt.Sprint("t", i), fmt.Sprint("secret", i), server.VerbRead))
	}
	p.tokens.useAuth(must(server.NewAuth(many)))
	if code, _ := get(t, "http://"+p.HTTP+"/metrics", "secret0"); code != http.StatusTooManyRequests {
		t.Errorf("of 600 tokens: %d", code)
	}
	p.tokens.useAuth(server.Open())
	for i := range 600 {
		name := fmt.Sprintf("s.c%d", i)
		noError(t, sequence.Create(t.Context(), st, name, sequence.Definition{}))
		must(p.service.Sequences.Find(t.Context(), &server.Caller{}, name))
	}
	look(http.StatusTooManyRequests)
}

// Headers were four times the room of a request.
func TestHeadersHaveRoom(t *testing.T) {
	p, _ := start(t, Config{}, newStore(t))
	for n, want := range map[int]int{6 << 10: 200, server.RequestRoom: http.StatusRequestHeaderFieldsTooLarge} {
		req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.HTTP+"/healthz", nil))
		req.Header.Set("Cookie", strings.Repeat("x", n))
		res := must(http.DefaultClient.Do(req))
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%d bytes of headers: %s", n, res.Status)
		}
	}
}
