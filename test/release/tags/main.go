// Tags prints the tags of the release that go.work names, one a line, each
// after the tags of the modules that it needs. The first is the version.
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/snowfence/snowfence/test/release"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: tags FOLDER, the root of the repository")
	}
	modules, version, err := release.Modules(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range modules {
		fmt.Println(m.Tag(version))
	}
}
