package program

import (
	"strings"
	"testing"
)

// readerLists lists and shows with the user reader, who may only read:
// lease list failed for it.
func readerLists(t *testing.T, owner string) {
	t.Helper()
	for _, args := range []string{"new --node 7", "sequence create read"} {
		if code, out := runAs(t, owner, strings.Fields(args)...); code != 0 {
			t.Fatalf("%s: %s", args, out)
		}
	}
	reader := strings.Replace(owner, "app:", "reader:", 1)
	lists := map[string]string{
		"lease list --all":   "\n7 ",
		"namespace list":     "\ndefault ",
		"namespace show":     "snowfence",
		"sequence list":      "\nread ",
		"sequence show read": "next",
		"decode 1234567890123456789 --namespace default": "node",
		"plan --sequence read --rate 1/day":              "numbers",
	}
	if !strings.HasPrefix(owner, "redis") { // there the first server has to come before
		lists["servers"] = ""
	}
	for args, want := range lists {
		code, out := runAs(t, reader, strings.Fields(args)...)
		if code != 0 || !strings.Contains("\n"+out, want) {
			t.Errorf("%s: exit code %d\n%s", args, code, out)
		}
	}
	if code, out := runAs(t, reader, "new"); code != 1 {
		t.Errorf("a reader made an ID: exit code %d\n%s", code, out)
	}
}
