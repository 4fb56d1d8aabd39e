//go:build linux

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	pb "github.com/snowfence/snowfence/remote/snowfencev1"
	"github.com/snowfence/snowfence/test/harness/servers"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// varies is what differs from wire to wire, and from time to time.
var varies = regexp.MustCompile(`; waited \S+s\b`)

// callers returns what a caller reads on each wire: "IDs", or status, code,
// word and text.
func (d *day) callers(t testing.TB) string {
	ctx, cancel := context.WithTimeout(t.Context(), quick.Timeout)
	defer cancel()
	texts := map[string]bool{}
	var kinds []string
	for _, ask := range []func(context.Context, *day) (kind, text string){askHTTP, askGRPC, askRESP} {
		kind, text := ask(ctx, d)
		texts[varies.ReplaceAllString(text, "")] = true
		kinds = append(kinds, kind)
	}
	switch {
	case len(texts) > 1:
		return fmt.Sprintf("%s: different texts: %q", kinds, slices.Sorted(maps.Keys(texts)))
	case texts[""]:
		return kinds[0]
	}
	for text := range texts {
		kinds[len(kinds)-1] += ": " + text
	}
	return strings.Join(kinds, ", ")
}

func askHTTP(ctx context.Context, d *day) (kind, text string) {
	status, answered, err := servers.Ask(ctx, http.DefaultClient, http.MethodGet,
		"http://"+d.web+"/v1/"+namespace+"/next", "", "Authorization: Bearer "+caller)
	if status == 0 {
		return "no answer", ""
	}
	var answer struct{ Detail string }
	if err := json.Unmarshal([]byte(answered), &answer); err != nil {
		return err.Error(), ""
	}
	if err == nil {
		return "IDs", ""
	}
	return fmt.Sprint(status), answer.Detail
}

// joint is where a word of a code ends.
var joint = regexp.MustCompile(`([a-z])([A-Z])`)

func askGRPC(ctx context.Context, d *day) (kind, text string) {
	conn, err := grpc.NewClient(d.web, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err.Error(), ""
	}
	defer conn.Close()
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+caller)
	err = conn.Invoke(ctx, "/snowfence.v1.IDService/Next", &pb.NextRequest{Namespace: namespace, Count: 1},
		new(pb.NextResponse))
	if err != nil {
		s := status.Convert(err)
		return strings.ToLower(joint.ReplaceAllString(s.Code().String(), "${1}_$2")), s.Message()
	}
	return "IDs", ""
}

func askRESP(ctx context.Context, d *day) (kind, text string) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.resp)
	if err != nil {
		return "no answer", ""
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline) // it fails only on a connection that is closed
	fmt.Fprintf(conn, "AUTH %s\r\nSNOWFENCE.NEXT %s\r\n", caller, namespace)
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(strings.TrimPrefix(line, "-"), " ")
		switch {
		case err != nil:
			return "no answer", ""
		case strings.HasPrefix(line, "-"):
			return word, rest
		case strings.HasPrefix(line, ":"):
			return "IDs", ""
		}
	}
}
