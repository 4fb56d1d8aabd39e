package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/spf13/cobra"
)

func (p *program) serversCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "servers", Short: "List the servers over a store", Args: cobra.NoArgs,
		Long: `Servers lists the servers that use a store: label, version, start, and the nodes of each
server's own leases, and when the server was last seen, whether it is ready, and how long its
leases last if they are not renewed. Of a unit it says how many nodes are sublet. Each server
writes a record every 20 s. One that was killed is not called ready after half a minute, and
leaves the list after a minute.`,
		Example: "  snowfence servers --store postgres://reader@db.example/ids",
	}
	return p.listCommand(cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		list, err := server.ListServers(ctx, st.Leases)
		if err != nil {
			return err
		}
		now := p.now()
		header := []string{"SERVER", "VERSION", "SINCE", "SEEN", "READY", "NODES"}
		return writeTable(p, out, list, asJSON, "no server uses "+st.Name, header, func(s *pb.ServerInfo) []string {
			var nodes []string
			for _, h := range s.Nodes {
				ends := "ended"
				if h.Until != nil {
					ends = "ends " + show.Ago(h.Until.AsTime(), now)
				}
				if h.Sublet != nil {
					ends = fmt.Sprintf("%d sublet, %s", *h.Sublet, ends)
				}
				nodes = append(nodes, fmt.Sprintf("%s %s (%s)", h.Namespace, nodeRange(h.FirstNode, h.LastNode), ends))
			}
			for _, name := range s.Failing {
				nodes = append(nodes, name+" (no lease)")
			}
			ready := map[bool]string{true: "yes", false: "no"}[s.Ready]
			return []string{
				s.Label, s.Version, s.Since.AsTime().Format(time.RFC3339), show.Ago(s.Seen.AsTime(), now), ready,
				strings.Join(nodes, ", "),
			}
		})
	})
}
