package snowflake

import (
	"errors"
	"testing"

	"github.com/snowfence/snowfence"
)

// The zero Node ended the program with a nil pointer.
func TestZeroNode(t *testing.T) {
	var n Node
	if _, err := n.GenerateContext(t.Context()); !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("GenerateContext: %v", err)
	}
	if ids, err := n.GenerateNContext(t.Context(), 2); len(ids) > 0 || !errors.Is(err, snowfence.ErrClosed) {
		t.Errorf("GenerateNContext: %v, %v", ids, err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
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
