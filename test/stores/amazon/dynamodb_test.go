package amazon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/dynamostore"
	"github.com/snowfence/snowfence/internal/tests"
	"github.com/snowfence/snowfence/lease/store"
	"github.com/snowfence/snowfence/test/harness/amazon"
)

// changed is a transport that changes the answers of one operation.
func changed(operation string, change func(answer map[string]any)) *hooked {
	return &hooked{
		of: func(r *http.Request) bool { return strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+operation) },
		after: func(_ *http.Request, resp *http.Response) error {
			defer resp.Body.Close()
			var answer map[string]any
			if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
				return err
			}
			change(answer)
			text, err := json.Marshal(answer)
			resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			resp.Header.Del("X-Amz-Crc32") // of the text before
			return err
		},
	}
}

// Keys that DynamoDB leaves for later are asked for again.
func TestKeysLeftForLater(t *testing.T) {
	left := 0
	h := changed("BatchGetItem", func(answer map[string]any) {
		items := answer["Responses"].(map[string]any)["ids"].([]any)
		if left--; left < 0 {
			return
		}
		last := items[len(items)-1].(map[string]any)
		answer["Responses"].(map[string]any)["ids"] = items[:len(items)-1]
		answer["UnprocessedKeys"] = map[string]any{"ids": map[string]any{
			"Keys":           []any{map[string]any{"namespace": last["namespace"], "node": last["node"]}},
			"ConsistentRead": true,
		}}
	})
	st := onDynamoDB(t).open(t, "ids", h, false)
	var keys []store.Key
	for node := range int64(250) {
		keys = append(keys, record(node, "").Key)
		must(t, swap(t, st, "", record(node, fmt.Sprint("a", node))))
	}
	left = 3
	h.count.Store(0)
	rs, _, err := st.Get(t.Context(), append(keys, keys[7]))
	must(t, err)
	for i, r := range rs {
		if want := fmt.Sprint("a", append(keys, keys[7])[i].Node); r.Nonce != want {
			t.Errorf("record %d has nonce %q, want %q", i, r.Nonce, want)
		}
	}
	if got := h.count.Load(); got != 6 {
		t.Errorf("%d requests", got)
	}
	page, _, err := st.List(t.Context(), "n", snowfence.NodeRange{From: 5, Until: 240}, 200)
	if err != nil || len(page) != 200 || page[0].Node != 5 || page[199].Node != 204 {
		t.Errorf("%d records, %v", len(page), err)
	}
}

// The error for a table that is missing says how it is made. What happens
// when one is restored is in test/stores/faults.
func TestMissingTable(t *testing.T) {
	st, err := dynamostore.New(amazon.DynamoDB(amazon.StartDynamoDB(t), nil), "ids", nil)
	must(t, err)
	_, err = store.Identity(t.Context(), st, "")
	tests.Says(t, err, "aws dynamodb create-table", "")
}

// A table that other regions write is refused.
func TestReplicas(t *testing.T) {
	s := onDynamoDB(t)
	for operation, change := range map[string]func(map[string]any){
		"DescribeTable": func(answer map[string]any) {
			answer["Table"].(map[string]any)["Replicas"] = []any{map[string]any{"RegionName": "us-east-1"}}
		},
		"BatchGetItem": func(answer map[string]any) { // of a global table of 2017
			for _, it := range answer["Responses"].(map[string]any)["ids"].([]any) {
				it.(map[string]any)["aws:rep:updateregion"] = map[string]any{"S": "us-east-1"}
			}
		},
	} {
		st := s.open(t, "ids", changed(operation, change), false)
		tests.Says(t, tests.ErrOf(store.Identity(t.Context(), st, "")), "a table of one region", "%s", operation)
	}
}
