package bench

import (
	"testing"

	sonyflake2 "github.com/sony/sonyflake/v2"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/nodes"
)

// TestSonyflakeMachineID compares the machine number that Sonyflake takes
// by default, on the machine of the test, with nodes.FromIPv4(16).
func TestSonyflakeMachineID(t *testing.T) {
	s := must(snowfence.NewScheme(snowfence.MustLayout("sonyflake")))
	node, err := nodes.Find(t.Context(), s, nodes.FromIPv4(16))
	sf, theirErr := sonyflake2.New(sonyflake2.Settings{})
	if err != nil || theirErr != nil {
		if err == nil || theirErr == nil {
			t.Fatalf("here: %v; Sonyflake: %v", err, theirErr)
		}
		return // there is no private address, for either
	}
	id := must(sf.NextID())
	if theirs := sf.Decompose(id)["machine"]; theirs != node {
		t.Errorf("node %d, and Sonyflake's machine %d", node, theirs)
	}
}
