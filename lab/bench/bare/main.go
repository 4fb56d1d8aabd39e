// Bare is a server for comparison: net/http and nothing else. GET / answers a constant as long as
// the answer with one ID, and GET /json?n=N the text of N numbers by encoding/json, made anew for
// each request.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
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
	http.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil || n < 1 || n > 1_000_000 {
			http.Error(w, "n", http.StatusBadRequest)
			return
		}
		ids := make([]string, n)
		for i := range ids {
			ids[i] = strconv.FormatInt(2104672976770170879+int64(i), 10)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string][]string{"ids": ids})
	})
	fmt.Fprintln(os.Stderr, "bare:", http.ListenAndServe(os.Args[1], nil))
	os.Exit(1)
}
