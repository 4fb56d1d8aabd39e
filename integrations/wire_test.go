package integrations

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/integrations/internal/orderpb"
	jsonorders "github.com/snowfence/snowfence/integrations/internal/page/json"
	unready "github.com/snowfence/snowfence/integrations/internal/page/unready"
	"github.com/snowfence/snowfence/test/harness/servers"
)

func TestMain(m *testing.M) { os.Exit(servers.Main(m)) }

// TestGoRedis asks a server in both versions of the Redis protocol.
func TestGoRedis(t *testing.T) {
	ports := servers.Ports(t, 2)
	web, resp := servers.Address(ports[0]), servers.Address(ports[1])
	p := servers.Start(t, "snowfence", servers.Program(t, servers.Snowfence), []string{
		"serve", "--store", "sqlite:" + filepath.Join(t.TempDir(), "ids.db"), "--http", web, "--resp", resp,
	}, nil)
	p.Ready(t, func() error {
		res, err := http.Get("http://" + web + "/v1/default/next")
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	})
	for _, version := range []int{2, 3} {
		c := redis.NewClient(&redis.Options{
			Addr: resp, Protocol: version, ClientName: "wires", MaxRetries: -1,
			ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		})
		t.Cleanup(func() { _ = c.Close() })
		id, err := c.Do(t.Context(), "SNOWFENCE.NEXT", "default").Int64()
		if err != nil || id <= 0 {
			t.Fatalf("%d, %v", id, err)
		}
		list, err := c.Do(t.Context(), "SNOWFENCE.NEXT", "default", "COUNT", 100_000).Int64Slice()
		if err != nil || len(list) != 100_000 || list[0] <= id {
			t.Errorf("%d IDs, %v", len(list), err)
		}
		replies, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
			for range 1000 {
				p.Do(t.Context(), "SNOWFENCE.NEXT", "default")
			}
			return nil
		})
		seen := map[any]bool{}
		for _, r := range replies {
			seen[r.(*redis.Cmd).Val()] = true
		}
		if err != nil || len(seen) != 1000 {
			t.Errorf("%d IDs of a pipeline, %v", len(seen), err)
		}
		if err := c.Do(t.Context(), "SNOWFENCE.NEXT", "nowhere").Err(); err == nil ||
			!strings.HasPrefix(err.Error(), "NONAMESPACE") {
			t.Error(err)
		}
	}
}

// BSON has an int64 of its own, so a document keeps the order and the size
// of a number.
func TestBSON(t *testing.T) {
	const id snowfence.ID = 249887800817025024
	type document struct {
		ID     snowfence.ID  `bson:"_id"`
		Parent *snowfence.ID `bson:"parent"`
		Order  OrderID       `bson:"order"`
		User   UserID        `bson:"user"`
	}
	data := must(bson.Marshal(document{ID: id, Order: -6, User: 7}))
	if kind := bson.Raw(data).Lookup("_id").Type; kind != bson.TypeInt64 {
		t.Errorf("_id is %v", kind)
	}
	if n := bson.Raw(data).Lookup("user").Int64(); n != 7 {
		t.Errorf("a masked ID is kept as %d, not as the private 7", n)
	}
	var back document
	check(t, bson.Unmarshal(data, &back))
	if back.ID != id || back.Parent != nil || back.Order != -6 || back.User != 7 {
		t.Errorf("read %+v", back)
	}
}

func TestProtobuf(t *testing.T) {
	id := snowfence.ID(-249887800817025024)
	message := &orderpb.Order{Id: int64(id), Parts: []int64{int64(id), 1}}
	data := must(proto.Marshal(message))
	text := must(protojson.Marshal(message))

	var back orderpb.Order
	check(t, proto.Unmarshal(data, &back))
	if snowfence.ID(back.GetId()) != id || len(data) != 1+8+1+1+2*8 {
		t.Errorf("%d bytes, read %v", len(data), &back)
	}
	var fromJSON struct {
		ID    snowfence.ID
		Parts []snowfence.ID
	}
	check(t, json.Unmarshal(text, &fromJSON))
	if fromJSON.ID != id || fromJSON.Parts[1] != 1 || !strings.Contains(string(text), `"-249887800817025024"`) {
		t.Errorf("%s is read as %+v", text, fromJSON)
	}
}

// The schema of the page takes what an ID is written as.
func TestSchema(t *testing.T) {
	const id snowfence.ID = 249887800817025024
	schema := must(os.ReadFile("internal/openapi/id.yaml"))
	pattern := regexp.MustCompile(`pattern: '(.*)'`).FindSubmatch(schema)
	if pattern == nil {
		t.Fatalf("%s", schema)
	}
	ids := regexp.MustCompile(string(pattern[1]))
	for text, want := range map[string]bool{
		id.String(): true, "0": true, "9223372036854775807": true, "-9223372036854775808": true,
		"": false, "-0": false, "x": false, "1.5": false, "1e3": false,
	} {
		if ids.MatchString(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	text, err := json.Marshal(jsonorders.Order{ID: id})
	if err != nil || string(text) != `{"id":"249887800817025024"}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestJSON(t *testing.T) {
	type message struct {
		ID     snowfence.ID   `json:"id"`
		Order  OrderID        `json:"order"`
		Parent *snowfence.ID  `json:"parent,omitempty"`
		None   snowfence.ID   `json:"none,omitzero"`
		Many   []snowfence.ID `json:"many"`
	}
	text := must(json.Marshal(message{ID: 249887800817025024, Order: 7, Many: []snowfence.ID{1}}))
	const want = `{"id":"249887800817025024","order":"ord_7","many":["1"]}`
	if string(text) != want {
		t.Errorf("wrote %s", text)
	}
	var back message
	check(t, json.Unmarshal([]byte(strings.Replace(want, `"249887800817025024"`, "249887800817025024", 1)), &back))
	if back.ID != 249887800817025024 || back.Order != 7 || back.Many[0] != 1 {
		t.Errorf("read %+v", back)
	}
}

func TestWriteError(t *testing.T) {
	for _, v := range []struct {
		err    error
		status int
		after  string
	}{
		{fmt.Errorf("order 3: %w", &snowfence.WaitError{Reason: snowfence.ErrFenced}), 503, "1"},
		{&snowfence.WaitError{Reason: snowfence.ErrExhausted, Missing: 2500 * time.Millisecond}, 503, "3"},
		{&snowfence.WaitError{Reason: snowfence.ErrFenced, Missing: 1 << 62}, 503, "61"},
		{errors.New("a bug"), 500, ""},
	} {
		w := httptest.NewRecorder()
		unready.WriteError(w, v.err)
		if w.Code != v.status || w.Header().Get("Retry-After") != v.after {
			t.Errorf("%v: %d, %s", v.err, w.Code, w.Header().Get("Retry-After"))
		}
	}
}
