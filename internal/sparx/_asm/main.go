// Command _asm writes the vector code of package sparx: run it with go
// generate in the folder above.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	for name, fill := range files {
		code, err := generate(fill)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), code, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "sparx: _asm:", err)
			os.Exit(1)
		}
	}
}

// folder is where the files belong, seen from here.
const folder = ".."

var files = map[string]func(*build.Context){
	"avx512_amd64.s": func(c *build.Context) {
		m := newAVX512(c)
		function(m, "encryptAVX512", "encryptAVX512 encrypts groups of 32 blocks.", false)
		function(m, "counterAVX512", "counterAVX512 encrypts groups of 32 numbers of a counter.", true)
	},
}

func generate(fill func(*build.Context)) ([]byte, error) {
	c := build.NewContext()
	c.ConstraintExpr("!purego")
	fill(c)
	f, err := c.Result()
	if err != nil {
		return nil, err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return nil, err
	}
	return printer.NewGoAsm(printer.Config{Name: "go generate", Pkg: "sparx"}).Print(f)
}
