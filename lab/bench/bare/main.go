// Bare is a server for comparison: net/http and nothing else. It answers a
// constant as long as the answer with one ID.
package main

import (
	"fmt"
	"net/http"
	"os"
)

var constant = []byte(`{"ids":["2104672976770170879"]}` + "\n")

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bare ADDRESS")
		os.Exit(2)
	}
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(constant)
	})
	fmt.Fprintln(os.Stderr, "bare:", http.ListenAndServe(os.Args[1], nil))
	os.Exit(1)
}
