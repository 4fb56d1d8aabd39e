package snowflake

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

// The zero Node ended the program with a nil pointer.
func TestZeroNode(t *testing.T) {
	var n Node
	tests.WantErr(t, tests.ErrOf(n.GenerateContext(t.Context())), snowfence.ErrClosed, "GenerateContext")
	if ids, err := n.GenerateNContext(t.Context(), 2); len(ids) > 0 || !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("GenerateNContext: %v, %v", ids, err)
	}
	tests.WantErr(t, n.Close(), nil, "Close")
	for name, call := range map[string]func(){
		"Generate":  func() { n.Generate() },
		"GenerateN": func() { n.GenerateN(2) },
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, snowfence.ErrClosed) {
					t.Errorf("%s panics with %v; it returns no error, so it must say what is wrong", name, err)
				}
			}()
			call()
		}()
	}
}
