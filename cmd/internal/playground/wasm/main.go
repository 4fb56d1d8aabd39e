//go:build js && wasm

// The program that the playground of the project's site loads. It gives the
// page one function.
package main

import (
	"syscall/js"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/playground"
)

func main() {
	js.Global().Set("snowfence", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) != 1 {
			return `{"error":"ask one question"}`
		}
		return playground.Ask(args[0].String(), time.Now())
	}))
	select {}
}
