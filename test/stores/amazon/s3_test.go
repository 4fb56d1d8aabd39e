package amazon

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/s3store"
	"github.com/snowfence/snowfence/test/harness/amazon"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
)

func openS3(t testing.TB, c *s3.Client, prefix string) *s3store.Store {
	t.Helper()
	st, err := s3store.New(c, amazon.Bucket, &s3store.Options{Prefix: prefix, Timeout: shared.Patience()})
	must(t, err)
	return st
}

// refusal is what S3 answers.
func refusal(r *http.Request, status int, code string) *http.Response {
	return answer(r, status, "application/xml", "<Error><Code>"+code+"</Code><Message>as asked</Message></Error>")
}

// A conflict does not tell whether this write or another one was done: the
// nonce decides.
func TestConflicts(t *testing.T) {
	s, direct := onS3(t), store.Store(nil)
	for name, c := range map[string]struct {
		meanwhile func(r *http.Request)
		want      error
		nonce     string
	}{
		"nothing was done": {func(*http.Request) {}, nil, "b"},
		"another program's was": {func(*http.Request) {
			must(t, swap(t, direct, "a", record(5, "c")))
		}, store.ErrLost, "c"},
		"a proxy had sent it": {func(r *http.Request) {
			if resp, err := http.DefaultTransport.RoundTrip(r); err != nil || resp.StatusCode != http.StatusOK {
				t.Error(resp, err)
			}
		}, nil, "b"},
	} {
		for _, code := range []string{"ConditionalRequestConflict", "PreconditionFailed"} {
			direct = s.open(t, name+code, nil, false)
			must(t, swap(t, direct, "", record(5, "a")))
			h := &hooked{of: s.writes}
			h.before = func(r *http.Request) *http.Response {
				h.before = nil
				c.meanwhile(r)
				if code == "PreconditionFailed" {
					return refusal(r, http.StatusPreconditionFailed, code)
				}
				return refusal(r, http.StatusConflict, code)
			}
			err := swap(t, s.open(t, name+code, h, false), "a", record(5, "b"))
			if !errors.Is(err, c.want) || nonce(t, direct) != c.nonce {
				t.Errorf("%s, %s: %v, and the record has nonce %q", code, name, err, nonce(t, direct))
			}
		}
	}
}

// A write that is always refused is tried again after pauses, until the
// caller gives up.
func TestPausesBetweenConflicts(t *testing.T) {
	s := onS3(t)
	h := &hooked{of: s.writes}
	st := s.open(t, "pauses", h, false)
	must(t, swap(t, st, "", record(5, "a")))
	h.count.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h.before = func(r *http.Request) *http.Response {
		if h.count.Load() == 5 {
			cancel()
		}
		return refusal(r, http.StatusConflict, "ConditionalRequestConflict")
	}
	began := time.Now()
	_, err := store.Put(ctx, st, store.Write{Old: "a", New: record(5, "b")})
	took, n := time.Since(began), h.count.Load() // a pause is 10 ms at least
	if !errors.Is(err, context.Canceled) || n != 5 || took < 40*time.Millisecond {
		t.Errorf("%d writes in %v: %v", n, took, err)
	}
}

// deaf is a server that ignores a condition.
type deaf struct{ header string }

func (d deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del(d.header)
	return http.DefaultTransport.RoundTrip(r)
}

// A server that ignores conditions is refused before its first use.
func TestServerThatIgnoresConditions(t *testing.T) {
	for _, header := range []string{"If-Match", "If-None-Match"} {
		st := onS3(t).open(t, "a", deaf{header}, false)
		tests.Says(t, swap(t, st, "", record(5, "a")), "ignores the condition", "%s", header)
		if _, _, err := st.Get(t.Context(), []store.Key{record(5, "").Key}); err == nil {
			t.Errorf("%s: a record was read", header)
		}
	}
}

// A 404 of a proxy does not say that an object is gone, and a server that
// answers 404 to all is an error.
func TestProxyFindsNothing(t *testing.T) {
	s, text := onS3(t), ""
	h := &hooked{of: func(*http.Request) bool { return text != "" }}
	h.before = func(r *http.Request) *http.Response { return answer(r, http.StatusNotFound, "text/plain", text) }
	st := s.open(t, "a", h, false)
	must(t, swap(t, st, "", record(5, "a")))
	text = "404 page not found"
	if err := swap(t, st, "a", record(5, "b")); err == nil || errors.Is(err, store.ErrLost) {
		t.Fatal(err)
	}
	for _, text = range []string{text, "<Error><Code>NoSuchKey</Code></Error>"} {
		tests.Says(t, tests.ErrOf(store.Identity(t.Context(), s.open(t, "new", h, false), "")), "404", text)
	}
}

// Objects that the store did not write are an error, and so is a bucket
// that is missing.
func TestErrors(t *testing.T) {
	c := amazon.S3(amazon.StartS3(t), nil)
	st := openS3(t, c, "a/")
	must(t, swap(t, st, "", record(5, "a")))
	for _, name := range []string{"a/photos/1.jpg", "a/n-n/x.jpg"} {
		in := &s3.PutObjectInput{Bucket: aws.String(amazon.Bucket), Key: &name, Body: strings.NewReader("x")}
		must(t, tests.ErrOf(c.PutObject(t.Context(), in)))
	}
	_, _, heads := st.Heads(t.Context())
	_, _, list := st.List(t.Context(), "n", snowfence.NodeRange{Until: 9}, 10)
	gone, err := s3store.New(c, "gone", nil)
	must(t, err)
	_, bucket := store.Identity(t.Context(), gone, "")
	for want, err := range map[string]error{
		`the folder "photos"`: heads, `the object "a/n-n/x.jpg"`: list, "aws s3 mb s3://gone": bucket,
	} {
		tests.Says(t, err, want, "refused")
	}
}
