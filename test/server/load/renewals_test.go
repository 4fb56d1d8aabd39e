package load

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/snowfence/snowfence"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// BenchmarkRenewals has clients lease 256 nodes over gRPC and renew them, some
// at a time or in one request. It prints what each costs: time, and processor
// time of the server.
func BenchmarkRenewals(b *testing.B) {
	const nodes, rounds = 256, 8
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			p := start(b, k.url(b), snowfence.Default())
			conn, err := grpc.NewClient(p.http[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			call := func(method string, m, out any) {
				if err := conn.Invoke(context.Background(), "/snowfence.v1.LeaseService/"+method, m, out); err != nil {
					b.Error(err)
				}
			}
			tickets := make([][]byte, nodes)
			renewal := func(i int) *pb.RenewRequest {
				return &pb.RenewRequest{Ticket: tickets[i], Attempt: rand.Text()}
			}
			measure := func(what string, n int, do func()) {
				began, cpu := time.Now(), seconds(b, p.servers[0].Pid())
				do()
				b.Logf("%s, %s: %.0f µs, %.0f µs of the server's processor time", k.name, what,
					time.Since(began).Seconds()/float64(n)*1e6, (seconds(b, p.servers[0].Pid())-cpu)/float64(n)*1e6)
			}
			measure("an acquisition", nodes, func() {
				for i := range tickets {
					var l pb.Lease
					call("Acquire", &pb.AcquireRequest{Namespace: namespace, Label: fmt.Sprint("holder", i)}, &l)
					tickets[i] = l.Ticket
				}
			})
			for _, callers := range []int{1, 16, nodes} {
				measure(fmt.Sprintf("a renewal, %d at a time", callers), rounds*nodes, func() {
					var all sync.WaitGroup
					for c := range callers {
						all.Go(func() {
							for i := c; i < rounds*nodes; i += callers {
								var l pb.Lease
								call("Renew", renewal(i%nodes), &l)
								tickets[i%nodes] = l.Ticket
							}
						})
					}
					all.Wait()
				})
			}
			measure("a renewal, 256 in a request", rounds*nodes, func() {
				for range rounds {
					m, out := &pb.RenewAllRequest{}, &pb.RenewAllResponse{}
					for i := range nodes {
						m.Renewals = append(m.Renewals, renewal(i))
					}
					call("RenewAll", m, out)
					for i, r := range out.Renewals {
						tickets[i] = r.GetLease().GetTicket()
					}
				}
			})
		})
	}
}
