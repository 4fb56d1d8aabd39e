package rpc

import (
	"bytes"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease"
	"github.com/snowfence/snowfence/lease/store"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/protobuf/proto"
)

// BenchmarkRenewAll renews a hundred subleases in a request: what a server does
// beside HTTP. BenchmarkSubletsRenew has the part of it that reads no request.
func BenchmarkRenewAll(b *testing.B) {
	const n = 100
	l, err := snowfence.ParseLayout("time=32,node=22,seq=9,epoch=2025-01-01,tick=1s")
	if err != nil {
		b.Fatal(err)
	}
	s, err := snowfence.NewScheme(l)
	if err != nil {
		b.Fatal(err)
	}
	st := store.NewMemory()
	o := &lease.NamespaceOptions{Unit: 1024, MaxTTL: 90 * time.Second}
	if _, err := lease.Namespaces(st).Create(b.Context(), "default", s, o); err != nil {
		b.Fatal(err)
	}
	service := server.New(st, server.Options{})
	defer service.Close(b.Context())
	who, mux := server.Open().Anyone(), http.NewServeMux()
	Mount(mux, service, func(*http.Request) (*server.Identity, error) { return who, nil }, plain)
	ask := func(method string, m, out proto.Message) {
		body, err := proto.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/snowfence.v1.LeaseService/"+method, bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/proto")
		w := httptest.NewRecorder()
		b.StartTimer()
		mux.ServeHTTP(w, r)
		b.StopTimer()
		if err := proto.Unmarshal(w.Body.Bytes(), out); err != nil || w.Code != http.StatusOK {
			b.Fatal(w.Code, err)
		}
	}
	m, out := &pb.RenewAllRequest{}, &pb.RenewAllResponse{}
	for range n {
		var one pb.Lease
		ask("Acquire", &pb.AcquireRequest{Label: "holder", Attempt: rand.Text()}, &one)
		m.Renewals = append(m.Renewals, &pb.RenewRequest{Ticket: one.Ticket})
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.StopTimer()
	for range b.N {
		attempt := rand.Text()
		for i, r := range m.Renewals {
			if len(out.Renewals) > 0 {
				r.Ticket = out.Renewals[i].Lease.Ticket
			}
			r.Attempt = attempt
		}
		ask("RenewAll", m, out)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/n, "ns/renewal")
}
