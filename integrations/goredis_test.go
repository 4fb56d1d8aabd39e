package integrations

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
