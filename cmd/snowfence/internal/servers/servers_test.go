package servers

import (
	"strings"
	"testing"
	"time"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// A server has a line for each of its namespaces, and one at least.
func TestServersHaveALineForEachNamespace(t *testing.T) {
	var text []string
	for _, s := range []*pb.ServerInfo{
		{Label: "a", Nodes: []*pb.HeldNodes{{Namespace: "x"}, {Namespace: "y"}}, Failing: []string{"z"}},
		{Label: "b"},
		{Label: "c", Failing: []string{"z"}},
	} {
		for _, row := range serverRows(s, time.Now()) {
			text = append(text, row[0]+":"+row[5])
		}
	}
	const want = "a:x 0-0 (ended), :y 0-0 (ended), :z (no lease), b:, c:z (no lease)"
	if is := strings.Join(text, ", "); is != want {
		t.Error(is)
	}
}
