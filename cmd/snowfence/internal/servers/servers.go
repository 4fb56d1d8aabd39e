package servers

import (
	"bufio"
	"context"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/cmd/internal/show"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/spf13/cobra"
)

func serversCommand(e *command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "servers", Short: "List the servers over a store", Args: cobra.NoArgs,
		Long: `Servers lists the servers that use a store: label, version, start, and the nodes of each
server's own leases, and when the server was last seen, whether it is ready, and how long its
leases last if they are not renewed. Of a unit it says how many nodes are sublet. Each server
writes a record every 20 s. One that was killed is not called ready after half a minute, and
leaves the list after a minute.`,
		Example: "  snowfence servers --store postgres://reader@db.example/ids",
	}
	return command.ListCommand(e, cmd, func(ctx context.Context, st *open.Store, asJSON bool, out *bufio.Writer) error {
		list, err := server.ListServers(ctx, st.Leases)
		if err != nil {
			return err
		}
		if !asJSON {
			list = linesOf(list)
		}
		now := e.Now()
		header := []string{"SERVER", "VERSION", "SINCE", "SEEN", "READY", "NODES"}
		row := func(s *pb.ServerInfo) []string { return serverRow(s, now) }
		return command.WriteTable(e, out, list, asJSON, "no server uses "+st.Name, header, row)
	})
}

// serverRow is a line of the table.
func serverRow(s *pb.ServerInfo, now time.Time) []string {
	nodes := ""
	for _, h := range s.Nodes {
		ends := "ended"
		if h.Until != nil {
			ends = "ends " + show.Ago(h.Until.AsTime(), now)
		}
		if h.Sublet != nil {
			ends = fmt.Sprintf("%d sublet, %s", *h.Sublet, ends)
		}
		nodes = fmt.Sprintf("%s %s (%s)", h.Namespace, command.NodeRange(h.FirstNode, h.LastNode), ends)
	}
	for _, name := range s.Failing {
		nodes = name + " (no lease)"
	}
	if s.Since == nil {
		return []string{"", "", "", "", "", nodes}
	}
	ready := map[bool]string{true: "yes", false: "no"}[s.Ready]
	return []string{
		s.Label, s.Version, s.Since.AsTime().Format(time.RFC3339), show.Ago(s.Seen.AsTime(), now), ready, nodes,
	}
}

// linesOf returns the lines of a table, one for each namespace of a server.
// Only the first line of a server has its other facts.
func linesOf(list []*pb.ServerInfo) (lines []*pb.ServerInfo) {
	for _, s := range list {
		first := len(lines)
		for _, h := range s.Nodes {
			lines = append(lines, &pb.ServerInfo{Nodes: []*pb.HeldNodes{h}})
		}
		for _, name := range s.Failing {
			lines = append(lines, &pb.ServerInfo{Failing: []string{name}})
		}
		if first == len(lines) {
			lines = append(lines, &pb.ServerInfo{})
		}
		one := lines[first]
		one.Label, one.Version, one.Since, one.Seen, one.Ready = s.Label, s.Version, s.Since, s.Seen, s.Ready
	}
	return lines
}
