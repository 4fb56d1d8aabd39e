package dynamodb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/lease/store/storetest"
	"github.com/snowfence/snowfence/test/harness/amazon"
	shared "github.com/snowfence/snowfence/test/harness/fleet"
	"github.com/snowfence/snowfence/test/harness/tests"
)

var must = tests.Must

func openStore(t testing.TB, c *dynamodb.Client, table string) *dynamostore.Store {
	t.Helper()
	st, err := dynamostore.New(c, table, &dynamostore.Options{Timeout: shared.Patience()})
	must(t, err)
	return st
}

func TestConformance(t *testing.T) {
	address := amazon.StartDynamoDB(t)
	var n atomic.Int64
	open := func(t *testing.T) store.Store {
		c, table := amazon.DynamoDB(address, nil), fmt.Sprint("test", n.Add(1))
		amazon.NewTable(t, c, table)
		return openStore(t, c, table)
	}
	storetest.Run(t, open)
	storetest.RunCounts(t, open)
}

// hooked is a transport that changes answers of one operation.
type hooked struct {
	operation string
	change    func(status int, answer map[string]any) (int, error)
	before    func() (status int, body string) // in place of the server, if the status is not 0
	requests  atomic.Int64
}

func (h *hooked) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+h.operation) {
		return http.DefaultTransport.RoundTrip(r)
	}
	h.requests.Add(1)
	if h.before != nil {
		if status, body := h.before(); status != 0 {
			return &http.Response{
				StatusCode: status, Body: io.NopCloser(strings.NewReader(body)), Request: r,
				Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
			}, nil
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || h.change == nil {
		return resp, err
	}
	defer resp.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if resp.StatusCode, err = h.change(resp.StatusCode, answer); err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	resp.Header.Del("X-Amz-Crc32") // of the text before
	return resp, err
}

func through(t *testing.T, h *hooked) (direct, st *dynamostore.Store) {
	t.Helper()
	address := amazon.StartDynamoDB(t)
	amazon.NewTable(t, amazon.DynamoDB(address, nil), "ids")
	return openStore(t, amazon.DynamoDB(address, nil), "ids"), openStore(t, amazon.DynamoDB(address, h), "ids")
}

func record(node int64, nonce string) store.Record {
	return store.Record{Key: store.Key{Namespace: "n", Node: node}, Nonce: nonce, Revision: 1}
}

func swap(t *testing.T, st store.Store, old string, r store.Record) error {
	t.Helper()
	return st.Swap(t.Context(), []store.Write{{Old: old, New: r}})[0]
}

// nonce returns what the record of node 5 has.
func nonce(t *testing.T, st store.Store) string {
	t.Helper()
	rs, err := st.Get(t.Context(), []store.Key{record(5, "").Key})
	must(t, err)
	return rs[0].Nonce
}

// A write whose answer is lost is done or not, and is sent once: the second
// one would find the first, and take it for another's.
func TestLostAnswer(t *testing.T) {
	h := &hooked{operation: "PutItem", change: func(int, map[string]any) (int, error) { return 0, io.ErrUnexpectedEOF }}
	direct, st := through(t, h)
	if err := swap(t, st, "", record(5, "a")); err == nil || errors.Is(err, store.ErrLost) || h.requests.Load() != 1 {
		t.Errorf("%v, after %d requests", err, h.requests.Load())
	}
	if got := nonce(t, direct); got != "a" {
		t.Errorf("the record has nonce %q", got)
	}
}

// A busy DynamoDB does nothing, and says so. It is no loss.
func TestThrottled(t *testing.T) {
	h := &hooked{operation: "PutItem", before: func() (int, string) {
		return http.StatusBadRequest, `{"__type":"com.amazon.coral.availability#ThrottlingException","message":"slow down"}`
	}}
	direct, st := through(t, h)
	err := swap(t, st, "", record(5, "a"))
	if err == nil || errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "slow down") {
		t.Error(err)
	}
	if got := nonce(t, direct); got != "" {
		t.Errorf("the record has nonce %q", got)
	}
}

// Keys that DynamoDB leaves for later are asked for again.
func TestKeysLeftForLater(t *testing.T) {
	left := 3
	h := &hooked{operation: "BatchGetItem", change: func(status int, answer map[string]any) (int, error) {
		items := answer["Responses"].(map[string]any)["ids"].([]any)
		if left--; left < 0 {
			return status, nil
		}
		last := items[len(items)-1].(map[string]any)
		answer["Responses"].(map[string]any)["ids"] = items[:len(items)-1]
		answer["UnprocessedKeys"] = map[string]any{"ids": map[string]any{
			"Keys":           []any{map[string]any{"namespace": last["namespace"], "node": last["node"]}},
			"ConsistentRead": true,
		}}
		return status, nil
	}}
	_, st := through(t, h)
	var keys []store.Key
	for node := range int64(250) {
		keys = append(keys, record(node, "").Key)
		must(t, swap(t, st, "", record(node, fmt.Sprint("a", node))))
	}
	rs, err := st.Get(t.Context(), append(keys, keys[7]))
	must(t, err)
	for i, r := range rs {
		if want := fmt.Sprint("a", append(keys, keys[7])[i].Node); r.Nonce != want {
			t.Errorf("record %d has nonce %q, want %q", i, r.Nonce, want)
		}
	}
	if got := h.requests.Load(); got != 6 {
		t.Errorf("%d requests", got)
	}
	page, err := st.List(t.Context(), "n", snowfence.NodeRange{From: 5, Until: 240}, 200)
	if err != nil || len(page) != 200 || page[0].Node != 5 || page[199].Node != 204 {
		t.Errorf("%d records, %v", len(page), err)
	}
}

// A backup is restored as another table. That is noticed even if it gets
// the old name and has all its items.
func TestRestoredTable(t *testing.T) {
	address := amazon.StartDynamoDB(t)
	c, name := amazon.DynamoDB(address, nil), "ids"
	amazon.NewTable(t, c, name)
	st := openStore(t, c, name)
	before, err := st.Identity(t.Context(), "")
	if err != nil || before == "" {
		t.Fatal(before, err)
	}
	items, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	must(t, err)
	if _, err := c.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
		t.Fatal(err)
	}
	_, err = st.Identity(t.Context(), "")
	if err == nil || !strings.Contains(err.Error(), "aws dynamodb create-table") {
		t.Errorf("without the table: %v", err)
	}
	amazon.NewTable(t, c, name)
	for _, it := range items.Items {
		if _, err := c.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it}); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := st.Identity(t.Context(), ""); err != nil || after == before {
		t.Errorf("%s, %v; it was %s", after, err, before)
	}
}

// A table that other regions write is refused.
func TestReplicas(t *testing.T) {
	replicas := func(status int, answer map[string]any) (int, error) {
		answer["Table"].(map[string]any)["Replicas"] = []any{map[string]any{"RegionName": "us-east-1"}}
		return status, nil
	}
	_, st := through(t, &hooked{operation: "DescribeTable", change: replicas})
	if _, err := st.Identity(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "a table of one region") {
		t.Error(err)
	}
}

// A program that only looks writes nothing, not even the identity.
func TestReadOnly(t *testing.T) {
	address := amazon.StartDynamoDB(t)
	c := amazon.DynamoDB(address, nil)
	amazon.NewTable(t, c, "ids")
	looks, err := dynamostore.New(c, "ids", &dynamostore.Options{ReadOnly: true})
	must(t, err)
	for name, err := range map[string]error{
		"swap":    swap(t, looks, "", record(5, "a")),
		"suspect": looks.Suspect(t.Context(), "one"),
		"identity": func() error {
			_, err := looks.Identity(t.Context(), "")
			return err
		}(),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, err := c.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String("ids")})
	if err != nil || len(out.Items) != 0 {
		t.Errorf("the table has %d items, %v", len(out.Items), err)
	}
}

// The page says what a renewal takes: a write, two reads, and a description
// of the table.
func TestCallsOfARenewal(t *testing.T) {
	address, seen := amazon.StartDynamoDB(t), map[string]int{}
	amazon.NewTable(t, amazon.DynamoDB(address, nil), "ids")
	st := openStore(t, amazon.DynamoDB(address, counting{func(r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		seen[operation]++
	}}), "ids")
	if _, err := st.Identity(t.Context(), ""); err != nil { // makes it
		t.Fatal(err)
	}
	clear(seen)
	renew(t, st)
	if got := fmt.Sprint(seen); got != "map[BatchGetItem:2 DescribeTable:1 PutItem:1]" {
		t.Error(got)
	}
}

// renew does what a lease does for each renewal.
func renew(t *testing.T, st store.Store) {
	t.Helper()
	_, err1 := st.Get(t.Context(), []store.Key{{Namespace: "n", Node: store.NamespaceNode}})
	_, err2 := st.Identity(t.Context(), "n")
	must(t, errors.Join(swap(t, st, "", record(5, "a")), err1, err2))
}

// counting is a transport that tells of each request.
type counting struct{ tell func(*http.Request) }

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.tell(r)
	return http.DefaultTransport.RoundTrip(r)
}
