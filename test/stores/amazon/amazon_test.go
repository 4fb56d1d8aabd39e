// Package amazon tests leases in DynamoDB and S3, for which servers stand
// in.
package amazon

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/s3store"
	"github.com/snowfence/snowfence/test/harness/amazon"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
)

var must = tests.NoError

// A service is a server with stores by names.
type service struct {
	// open opens a store, whose table is there already, or is made.
	open func(t testing.TB, name string, through http.RoundTripper, readOnly bool) store.Store

	count   func(t testing.TB, name string) int // what is stored
	call    func(r *http.Request) string        // the name of an operation
	write   string                              // that of the one that writes
	busy    func(r *http.Request) *http.Response
	renewal string // what a renewal takes: reads and a write, as the page says
}

func onDynamoDB(t testing.TB) service {
	address := amazon.StartDynamoDB(t)
	direct := amazon.DynamoDB(address, nil)
	var tables sync.Map
	return service{
		open: func(t testing.TB, name string, through http.RoundTripper, readOnly bool) store.Store {
			if _, made := tables.LoadOrStore(name, true); !made {
				amazon.NewTable(t, direct, name)
			}
			st, err := dynamostore.New(amazon.DynamoDB(address, through), name,
				&dynamostore.Options{Timeout: shared.Patience(), ReadOnly: readOnly})
			must(t, err)
			return st
		},
		count: func(t testing.TB, name string) int {
			out, err := direct.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
			must(t, err)
			return len(out.Items)
		},
		call: func(r *http.Request) string {
			_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
			return operation
		},
		write: "PutItem",
		busy: func(r *http.Request) *http.Response {
			return answer(r, http.StatusBadRequest, "application/x-amz-json-1.0",
				`{"__type":"com.amazon.coral.availability#ThrottlingException","message":"slow down"}`)
		},
		renewal: "map[BatchGetItem:1 DescribeTable:1 PutItem:1]",
	}
}

func onS3(t testing.TB) service {
	address := amazon.StartS3(t)
	return service{
		open: func(t testing.TB, name string, through http.RoundTripper, readOnly bool) store.Store {
			st, err := s3store.New(amazon.S3(address, through), amazon.Bucket,
				&s3store.Options{Prefix: name + "/", Timeout: shared.Patience(), ReadOnly: readOnly})
			must(t, err)
			return st
		},
		count: func(t testing.TB, name string) int {
			list, err := amazon.S3(address, nil).ListObjectsV2(t.Context(),
				&s3.ListObjectsV2Input{Bucket: aws.String(amazon.Bucket), Prefix: aws.String(name + "/")})
			must(t, err)
			return len(list.Contents)
		},
		call: func(r *http.Request) string {
			if strings.HasSuffix(r.URL.Path, "/identity") {
				return r.Method + " identity"
			}
			return r.Method
		},
		write:   http.MethodPut,
		busy:    func(r *http.Request) *http.Response { return refusal(r, http.StatusServiceUnavailable, "slow down") },
		renewal: "map[GET:2 GET identity:1 PUT:1]",
	}
}

// each runs a test on both.
func each(t *testing.T, test func(t *testing.T, s service)) {
	t.Run("DynamoDB", func(t *testing.T) { test(t, onDynamoDB(t)) })
	t.Run("S3", func(t *testing.T) { test(t, onS3(t)) })
}

// hooked is a transport that stands in for the server, or changes what it
// answers.
type hooked struct {
	of     func(r *http.Request) bool           // the requests it is about
	before func(r *http.Request) *http.Response // nil goes on
	after  func(r *http.Request, resp *http.Response) error
	count  atomic.Int64
}

func (h *hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	if !h.of(r) {
		return http.DefaultTransport.RoundTrip(r)
	}
	h.count.Add(1)
	if h.before != nil {
		if resp := h.before(r); resp != nil {
			return resp, nil
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && h.after != nil {
		err = h.after(r, resp)
	}
	return resp, err
}

// writes are the requests that write records.
func (s service) writes(r *http.Request) bool { return s.call(r) == s.write }

func answer(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {kind}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: nonce, Revision: 1}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) error {
	t.Helper()
	_, err := store.Put(t.Context(), st, store.Write{Old: old, New: r})
	return err
}

// nonce returns what the record of node 5 has.
func nonce(t *testing.T, st store.Store) string {
	t.Helper()
	rs, _, err := st.Get(t.Context(), []store.Key{record(5, "").Key})
	must(t, err)
	return rs[0].Nonce
}

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, s service) {
		var n atomic.Int64
		open := func(t *testing.T) store.Store { return s.open(t, fmt.Sprint("test", n.Add(1)), nil, false) }
		storetest.Run(t, open)
		storetest.RunCounts(t, open)
	})
}

// A write whose answer is lost is done or not, and is sent once: the second
// one would find the first, and take it for another's.
func TestLostAnswer(t *testing.T) {
	each(t, func(t *testing.T, s service) {
		nonce(t, s.open(t, "ids", nil, false)) // makes the identity
		h := &hooked{of: s.writes, after: func(*http.Request, *http.Response) error { return io.ErrUnexpectedEOF }}
		err := swap(t, s.open(t, "ids", h, false), "", record(5, "a"))
		if err == nil || errors.Is(err, store.ErrLost) || h.count.Load() != 1 {
			t.Errorf("%v, after %d requests", err, h.count.Load())
		}
		if got := nonce(t, s.open(t, "ids", nil, false)); got != "a" {
			t.Errorf("the record has nonce %q", got)
		}
	})
}

// A busy service does nothing, and says so. It is no loss.
func TestThrottled(t *testing.T) {
	each(t, func(t *testing.T, s service) {
		nonce(t, s.open(t, "ids", nil, false)) // makes the identity
		st := s.open(t, "ids", &hooked{of: s.writes, before: s.busy}, false)
		err := swap(t, st, "", record(5, "a"))
		if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "slow down") {
			t.Error(err)
		}
		if got := nonce(t, st); got != "" {
			t.Errorf("the record has nonce %q", got)
		}
	})
}

// A program that only looks writes nothing, not even the identity.
func TestReadOnly(t *testing.T) {
	each(t, func(t *testing.T, s service) {
		looks := s.open(t, "ids", nil, true)
		_, missing := store.Identity(t.Context(), looks, "")
		for name, err := range map[string]error{
			"swap": swap(t, looks, "", record(5, "a")), "suspect": looks.Suspect(t.Context(), "one"),
			"identity": missing,
		} {
			tests.WantErr(t, err, store.ErrReadOnly, "%s", name)
		}
		if n := s.count(t, "ids"); n != 0 {
			t.Errorf("%d are stored", n)
		}
	})
}

// The page says what a renewal takes.
func TestCallsOfARenewal(t *testing.T) {
	each(t, func(t *testing.T, s service) {
		var mu sync.Mutex // S3 is asked for several objects at once
		seen := map[string]int{}
		st := s.open(t, "ids", &hooked{of: func(r *http.Request) bool {
			mu.Lock()
			defer mu.Unlock()
			seen[s.call(r)]++
			return false
		}}, false)
		must(t, swap(t, st, "", record(5, "a"))) // makes the identity, too
		clear(seen)
		must(t, swap(t, st, "a", record(5, "b")))
		_, err := store.Ask(t.Context(), st, "n")
		must(t, err)
		if got := fmt.Sprint(seen); got != s.renewal {
			t.Error(got)
		}
	})
}
