package main

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/view"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// An operator saw from the store who holds nodes, but not which servers
// there are.
func TestServersOfAStoreAreListed(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "ids.db")
	st := must(open.Open(t.Context(), url))
	defer st.Close()
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"servers", "--store", url}, nil, &out, &said, nil)
	if code != 0 || out.Len() > 0 || !bytes.Contains(said.Bytes(), []byte("no server uses sqlite:")) {
		t.Errorf("without servers: %d %s%s", code, &out, &said)
	}
	// A label from before they were checked.
	s := server.New(st.Leases, server.Options{Label: "web\x1b[2J-1", Version: "v1.2.3"})
	ctx, stop := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { defer close(gone); s.Servers.Announce(ctx) }()
	defer func() { stop(); <-gone }()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		l, err := server.ListServers(t.Context(), st.Leases)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%v, %v", l, err)
		}
		if len(l) > 0 {
			break
		}
	}
	code = run(t.Context(), []string{"servers", "--store", url}, nil, &out, &said, nil)
	if code != 0 || !regexp.MustCompile(`(?m)^web\\x1b\[2J-1 +v1\.2\.3 +\d{4}-\S+ +.*(now|ago) +yes +$`).Match(out.Bytes()) {
		t.Errorf("%d %q %s", code, &out, &said)
	}
	out.Reset()
	var v pb.ServerInfo
	code = run(t.Context(), []string{"servers", "--json", "--store", url}, nil, &out, &said, nil)
	if err := view.Read(out.Bytes(), &v); code != 0 || err != nil || v.Version != "v1.2.3" {
		t.Errorf("%d %s %s, %v", code, &out, &said, err)
	}
}
