package nodes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
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

	check := func(ctx context.Context, node int64) error {
		added, err := client.Do(ctx, client.B().Sadd().Key("nodes").Member(strconv.FormatInt(node, 10)).Build()).AsInt64()
		if err == nil && added == 0 {
			err = errors.New("it is in the set already: SREM it once its process is gone")
		}
		return err
	}

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
	if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(7).Check(check)); !errors.Is(err, snowfence.ErrNoNode) || !strings.Contains(err.Error(), "7 was refused: it is in the set already") {
		t.Errorf("the second with node 7: got %d, %v", n, err)
	}
	if err := client.Do(ctx, client.B().Srem().Key("nodes").Member("7").Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(7).Check(check)); n != 7 || err != nil {
		t.Errorf("after SREM: got %d, %v", n, err)
	}
	r.Kill()
	if n, err := s.NodeFrom(ctx, snowfence.NodeNumber(9).Check(check)); err == nil {
		t.Errorf("without Redis: got %d", n)
	}
}
