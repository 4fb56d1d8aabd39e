package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/s3store"
	"github.com/snowfence/snowfence/test/harness/amazon"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/tests"
)

var must = tests.Must

func openStore(t testing.TB, c *s3.Client, prefix string) *s3store.Store {
	t.Helper()
	st, err := s3store.New(c, amazon.Bucket, &s3store.Options{Prefix: prefix, Timeout: shared.Patience()})
	must(t, err)
	return st
}

func TestConformance(t *testing.T) {
	address := amazon.StartS3(t)
	var n atomic.Int64
	open := func(t *testing.T) store.Store {
		return openStore(t, amazon.S3(address, nil), fmt.Sprint("test", n.Add(1), "/"))
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

// hooked is a transport that stands in for the server, or changes what it
// answers to writes of records.
type hooked struct {
	before func(*http.Request) *http.Response // nil goes on
	after  func(*http.Response) error
	writes atomic.Int64
}

func (h *hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut || strings.HasSuffix(r.URL.Path, "/identity") {
		return http.DefaultTransport.RoundTrip(r)
	}
	h.writes.Add(1)
	if h.before != nil {
		if resp := h.before(r); resp != nil {
			return resp, nil
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && h.after != nil {
		err = h.after(resp)
	}
	return resp, err
}

// refusal is what S3 answers.
func refusal(r *http.Request, status int, code string) *http.Response {
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"application/xml"}},
		Body: io.NopCloser(strings.NewReader("<Error><Code>" + code + "</Code><Message>as asked</Message></Error>")),
	}
}

func record(nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "n", Node: 5}, Nonce: nonce, Revision: 1}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) error {
	t.Helper()
	return st.Swap(t.Context(), []store.Write{{Old: old, New: r}})[0]
}

// nonce returns what the record has.
func nonce(t *testing.T, st store.Store) string {
	t.Helper()
	rs, err := st.Get(t.Context(), []store.Key{record("").Key})
	must(t, err)
	return rs[0].Nonce
}

func identity(t *testing.T, st store.Store) string {
	t.Helper()
	id, err := st.Identity(t.Context(), "")
	if err != nil || id == "" {
		t.Fatal(id, err)
	}
	return id
}

// A write whose answer is lost is done or not, and is sent once.
func TestLostAnswer(t *testing.T) {
	address := amazon.StartS3(t)
	h := &hooked{after: func(*http.Response) error { return io.ErrUnexpectedEOF }}
	st := openStore(t, amazon.S3(address, h), "a/")
	if err := swap(t, st, "", record("a")); err == nil || errors.Is(err, store.ErrLost) || h.writes.Load() != 1 {
		t.Errorf("%v, after %d writes", err, h.writes.Load())
	}
	if got := nonce(t, st); got != "a" {
		t.Errorf("the record has nonce %q", got)
	}
}

// A conflict does not tell whether this write or another one was done: the
// nonce decides.
func TestConflicts(t *testing.T) {
	address, direct := amazon.StartS3(t), (*s3store.Store)(nil)
	for name, c := range map[string]struct {
		meanwhile func(r *http.Request)
		want      error
		nonce     string
	}{
		"nothing was done": {func(*http.Request) {}, nil, "b"},
		"another program's was": {func(*http.Request) {
			if err := swap(t, direct, "a", record("c")); err != nil {
				t.Error(err)
			}
		}, store.ErrLost, "c"},
		"a proxy had sent it": {func(r *http.Request) {
			if resp, err := http.DefaultTransport.RoundTrip(r); err != nil || resp.StatusCode != http.StatusOK {
				t.Error(resp, err)
			}
		}, nil, "b"},
	} {
		for _, code := range []string{"ConditionalRequestConflict", "PreconditionFailed"} {
			prefix := name + code + "/"
			direct = openStore(t, amazon.S3(address, nil), prefix)
			must(t, swap(t, direct, "", record("a")))
			h := &hooked{}
			h.before = func(r *http.Request) *http.Response {
				h.before = nil
				c.meanwhile(r)
				if code == "PreconditionFailed" {
					return refusal(r, http.StatusPreconditionFailed, code)
				}
				return refusal(r, http.StatusConflict, code)
			}
			err := swap(t, openStore(t, amazon.S3(address, h), prefix), "a", record("b"))
			if !errors.Is(err, c.want) || nonce(t, direct) != c.nonce {
				t.Errorf("%s, %s: %v, and the record has nonce %q", code, name, err, nonce(t, direct))
			}
		}
	}
}

// A write that is always refused is tried again after pauses, until the
// caller gives up.
func TestPausesBetweenConflicts(t *testing.T) {
	h := &hooked{}
	st := openStore(t, amazon.S3(amazon.StartS3(t), h), "pauses/")
	must(t, swap(t, st, "", record("a")))
	h.before = func(r *http.Request) *http.Response {
		return refusal(r, http.StatusConflict, "ConditionalRequestConflict")
	}
	h.writes.Store(0)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	err := st.Swap(ctx, []store.Write{{Old: "a", New: record("b")}})[0]
	if n := h.writes.Load(); !errors.Is(err, context.DeadlineExceeded) || n < 1 || n > 50 {
		t.Errorf("%d writes: %v", n, err)
	}
}

// A busy S3 does nothing, and says so. It is no loss.
func TestThrottled(t *testing.T) {
	h := &hooked{before: func(r *http.Request) *http.Response {
		return refusal(r, http.StatusServiceUnavailable, "SlowDown")
	}}
	st := openStore(t, amazon.S3(amazon.StartS3(t), h), "a/")
	err := swap(t, st, "", record("a"))
	if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "SlowDown") || nonce(t, st) != "" {
		t.Error(err)
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
		st := openStore(t, amazon.S3(amazon.StartS3(t), deaf{header}), "a/")
		err := swap(t, st, "", record("a"))
		if err == nil || !strings.Contains(err.Error(), "ignores the condition") {
			t.Errorf("%s: %v", header, err)
		}
		if _, err := st.Get(t.Context(), []store.Key{record("").Key}); err == nil {
			t.Errorf("%s: a record was read", header)
		}
	}
}

// A copy of all objects has another identity, because its objects have
// another time.
func TestCopiedBucket(t *testing.T) {
	c := amazon.S3(amazon.StartS3(t), nil)
	st := openStore(t, c, "a/")
	must(t, swap(t, st, "", record("a")))
	before := identity(t, st)
	time.Sleep(1100 * time.Millisecond) // times have a resolution of a second
	list, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(amazon.Bucket)})
	if err != nil || len(list.Contents) != 2 {
		t.Fatal(list, err)
	}
	for _, o := range list.Contents {
		_, err := c.CopyObject(t.Context(), &s3.CopyObjectInput{
			Bucket: aws.String(amazon.Bucket), CopySource: aws.String(amazon.Bucket + "/" + *o.Key),
			Key: aws.String("b/" + strings.TrimPrefix(*o.Key, "a/")),
		})
		must(t, err)
	}
	copied := openStore(t, c, "b/")
	if nonce(t, copied) != "a" || identity(t, copied) == before || identity(t, st) != before {
		t.Errorf("%q and %q, it was %q", identity(t, copied), identity(t, st), before)
	}
}

// A program that only looks writes nothing, not even the identity.
func TestReadOnly(t *testing.T) {
	c := amazon.S3(amazon.StartS3(t), nil)
	looks, err := s3store.New(c, amazon.Bucket, &s3store.Options{ReadOnly: true})
	must(t, err)
	_, missing := looks.Get(t.Context(), []store.Key{record("").Key})
	for _, err := range []error{swap(t, looks, "", record("a")), looks.Suspect(t.Context(), "one"), missing} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Error(err)
		}
	}
	list, err := c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(amazon.Bucket)})
	if err != nil || len(list.Contents) != 0 {
		t.Error(list.Contents, err)
	}
}

// Objects that the store did not write are an error, and so is a bucket
// that is missing.
func TestErrors(t *testing.T) {
	c := amazon.S3(amazon.StartS3(t), nil)
	st := openStore(t, c, "a/")
	must(t, swap(t, st, "", record("a")))
	for _, name := range []string{"a/photos/1.jpg", "a/n-n/x.jpg"} {
		in := &s3.PutObjectInput{Bucket: aws.String(amazon.Bucket), Key: &name, Body: strings.NewReader("x")}
		if _, err := c.PutObject(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	_, heads := st.Heads(t.Context())
	_, list := st.List(t.Context(), "n", snowfence.NodeRange{Until: 9}, 10)
	gone, err := s3store.New(c, "gone", nil)
	must(t, err)
	_, bucket := gone.Identity(t.Context(), "")
	for want, err := range map[string]error{
		`the folder "photos"`: heads, `the object "a/n-n/x.jpg"`: list, "aws s3 mb s3://gone": bucket,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, which should say %s", err, want)
		}
	}
}

// The page says what a renewal takes: a write and three reads.
func TestCallsOfARenewal(t *testing.T) {
	seen := map[string]int{}
	st := openStore(t, amazon.S3(amazon.StartS3(t), counting{func(r *http.Request) { seen[r.Method]++ }}), "a/")
	must(t, swap(t, st, "", record("a")))
	clear(seen)
	_, err1 := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: store.NamespaceNode}})
	_, err2 := st.Identity(t.Context(), "n")
	must(t, errors.Join(swap(t, st, "a", record("b")), err1, err2))
	if got := fmt.Sprint(seen); got != "map[GET:3 PUT:1]" {
		t.Error(got)
	}
}

// counting is a transport that tells of each request.
type counting struct{ tell func(*http.Request) }

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.tell(r)
	return http.DefaultTransport.RoundTrip(r)
}
