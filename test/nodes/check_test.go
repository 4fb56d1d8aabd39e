package nodes

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/redisstore"
	"github.com/snowfence/snowfence/test/servers"
)

// TestRedisSetCheck is the hook that users of Sonyflake know, against a real Redis.
func TestRedisSetCheck(t *testing.T) {
	r := servers.StartRedis(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{fmt.Sprintf("127.0.0.1:%d", r.Port)}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	check := redisstore.Claim(client, "ids:nodes")
	ctx := t.Context()
	s, err := snowfence.NewScheme(snowfence.Sonyflake())
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []int64{7, 8} {
		if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(node).Check(check)); n != node || err != nil {
			t.Errorf("the first with node %d: got %d, %v", node, n, err)
		}
	}
	other := redisstore.Claim(client, "ids:nodes") // of another process
	if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(7).Check(other)); !errors.Is(err, snowfence.ErrNoNode) || !strings.Contains(err.Error(), "7 was refused: ") {
		t.Errorf("the second with node 7: got %d, %v", n, err)
	}
	if err := redisstore.Unclaim(ctx, client, "ids:nodes", 7); err != nil {
		t.Fatal(err)
	}
	if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(7).Check(other)); n != 7 || err != nil {
		t.Errorf("after the number was taken out: got %d, %v", n, err)
	}
	r.Kill()
	if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(9).Check(check)); err == nil {
		t.Errorf("without Redis: got %d", n)
	}
}
