// Write writes the notices of what others made and our programs contain.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/snowfence/snowfence/test/release/licences"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: write FOLDER, the root of the repository")
	}
	text, err := licences.Notices(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	file := filepath.Join(os.Args[1], filepath.FromSlash(licences.File))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}
