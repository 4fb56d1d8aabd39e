package servers

import (
	"strings"
	"testing"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// A server has a line for each of its namespaces, and one at least.
func TestServersHaveALineForEachNamespace(t *testing.T) {
	got := linesOf([]*pb.ServerInfo{
		{Label: "a", Nodes: []*pb.HeldNodes{{Namespace: "x"}, {Namespace: "y"}}, Failing: []string{"z"}},
		{Label: "b"},
		{Label: "c", Failing: []string{"z"}},
	})
	var text []string
	for _, s := range got {
		line := s.Label + ":" + strings.Join(s.Failing, "")
		for _, h := range s.Nodes {
			line += h.Namespace
		}
		text = append(text, line)
	}
	if is := strings.Join(text, " "); is != "a:x :y :z b: c:z" {
		t.Error(is)
	}
}
