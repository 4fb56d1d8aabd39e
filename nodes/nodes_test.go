package nodes

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/internal/tests"
)

func twitterScheme(t *testing.T) *snowfence.Scheme {
	t.Helper()
	s := tests.Must(snowfence.NewScheme(snowfence.MustLayout("twitter")))
	return s
}

// wantNode asks a source for the whole node of a layout and compares the
// number, or what the error says.
func wantNode(t *testing.T, s *snowfence.Scheme, src Source, want int64, says string) {
	t.Helper()
	n, err := Find(t.Context(), s, src)
	switch {
	case says == "" && (err != nil || n != want):
		t.Errorf("%s: got %d, %v, want %d", src, n, err, want)
	case says != "" && (!errors.Is(err, ErrNoNode) || !strings.Contains(err.Error(), says) ||
		!strings.Contains(err.Error(), src.String())):
		t.Errorf("%s: got %d, %v, want %q in it, the name of the source, and ErrNoNode", src, n, err, says)
	}
}

func TestFromEnv(t *testing.T) {
	s, src := twitterScheme(t), FromEnv("SNOWFENCE_TEST_WORKER")
	wantNode(t, s, src, 0, "it is not set: set it")
	for text, c := range map[string]struct {
		want int64
		says string
	}{
		"0": {0, ""}, "1023": {1023, ""}, "007": {7, ""},
		"":                     {0, "it is empty"},
		"1024":                 {0, "it is 1024, and node has 10 bits, which hold 0 to 1023"},
		"-1":                   {0, `it is "-1", not a whole number`},
		" 7":                   {0, `it is " 7", not a whole number`},
		"seven":                {0, `it is "seven", not a whole number`},
		"99999999999999999999": {0, "not a whole number"},
	} {
		t.Setenv("SNOWFENCE_TEST_WORKER", text)
		wantNode(t, s, src, c.want, c.says)
	}
}

func TestFromFile(t *testing.T) {
	s, dir := twitterScheme(t), t.TempDir()
	path := filepath.Join(dir, "node")
	src := FromFile(path)
	wantNode(t, s, src, 0, "it cannot be read")
	wantNode(t, s, FromFile(dir), 0, "it cannot be read")
	for text, c := range map[string]struct {
		want int64
		says string
	}{
		"5": {5, ""}, "31\n": {31, ""}, " 12 \r\n": {12, ""},
		"":                        {0, "it is empty"},
		"\n":                      {0, "it is empty"},
		"5\n6\n":                  {0, "not a whole number"},
		strings.Repeat("1", 1000): {0, "not a whole number"},
	} {
		tests.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		wantNode(t, s, src, c.want, c.says)
	}
}

func TestFromOrdinal(t *testing.T) {
	t.Setenv("POD_INDEX", "")
	s := twitterScheme(t)
	for host, c := range map[string]struct {
		want int64
		says string
	}{
		"web-0": {0, ""}, "web-7": {7, ""}, "order-api-123": {123, ""}, "web-3.web.default.svc.cluster.local": {3, ""},
		"web":             {0, `host name "web" has no ordinal: run as a StatefulSet`},
		"":                {0, "has no ordinal"},
		"-3":              {0, "has no ordinal"},
		"web-":            {0, "has no ordinal"},
		"web.7":           {0, "has no ordinal"},
		"web-5d8f7c9b-x2": {0, "has no ordinal"}, // a pod of a Deployment
		"host-07":         {0, "ends in 07, which no StatefulSet gives"},

		"ip-10-0-3-17": {0, "ends in an address"}, "ip10-0-3-17.ec2.internal": {0, "ends in an address"},
		"10-0-3-17": {0, "ends in an address"}, "ip-172-31-255-4": {0, "ends in an address"},
		"web-5d8f7c9b6d-24567": {0, "a Deployment's pod"}, "fluentd-99999": {0, "ends at random"},
		"orders-2-3": {3, ""}, "web-db-24": {24, ""},
		"web-1024": {0, "it is 1024, and node has 10 bits"},
	} {
		wantNode(t, s, ordinalOf(func() (string, error) { return host, nil }), c.want, c.says)
	}
	ofPod := ordinalOf(func() (string, error) { return "web-3", nil })
	t.Setenv("POD_INDEX", "7")
	wantNode(t, s, ofPod, 7, "")
	t.Setenv("POD_INDEX", "-7")
	wantNode(t, s, ofPod, 0, "not a whole number")
	t.Setenv("POD_INDEX", "")
	broken := func() (string, error) { return "", errors.New("no kernel") }
	wantNode(t, s, ordinalOf(broken), 0, "cannot be read: no kernel")
}

func addresses(t *testing.T, texts ...string) func() ([]net.Addr, error) {
	t.Helper()
	var list []net.Addr
	for _, text := range texts {
		ip, n, err := net.ParseCIDR(text)
		tests.NoError(t, err)
		n.IP = ip
		list = append(list, n)
	}
	return func() ([]net.Addr, error) { return list, nil }
}

func TestFromIPv4(t *testing.T) {
	sony := tests.Must(snowfence.NewScheme(snowfence.MustLayout("sonyflake")))
	for _, c := range []struct {
		bits  int
		addrs []string
		want  int64
		says  string
	}{
		{16, []string{"127.0.0.1/8", "::1/128", "10.1.2.3/24"}, 2<<8 | 3, ""},
		{16, []string{"192.168.255.255/16"}, 65535, ""},
		{16, []string{"172.15.0.1/16", "172.32.0.1/16", "172.16.0.9/12", "10.0.0.1/8"}, 9, ""}, // the first private one
		{16, []string{"fe80::1/64", "169.254.7.1/16", "10.0.0.1/8"}, 7<<8 | 1, ""},             // link-local counts
		{16, []string{"8.8.8.8/24", "192.168.0.4/24"}, 4, ""},
		{8, []string{"10.1.2.3/24"}, 3, ""},
		{10, []string{"10.1.2.3/24"}, 2<<8 | 3, ""},
		{10, []string{"10.1.6.3/24"}, 2<<8 | 3, ""}, // bits above are cut off: two machines, one number
		{16, []string{"8.8.8.8/24", "2001:db8::1/64"}, 0, "none of its addresses (8.8.8.8, 2001:db8::1) is a private IPv4 address"},
		{16, []string{"127.0.0.1/8"}, 0, "no address but loopback"},
		{20, []string{"10.1.2.3/24"}, 0, "it is 66051, and node has 16 bits"},
		{0, nil, 0, "take 1 to 32"},
		{33, nil, 0, "take 1 to 32"},
	} {
		wantNode(t, sony, ipv4Of(c.bits, addresses(t, c.addrs...)), c.want, c.says)
	}
	wantNode(t, sony, ipv4Of(16, func() ([]net.Addr, error) { return nil, errors.New("no network") }), 0, "no network")
	wide := tests.Must(snowfence.NewScheme(snowfence.Layout{Fields: []snowfence.Field{
		{Name: snowfence.FieldTime, Bits: 31},
		{Name: snowfence.FieldNode, Bits: 32},
	}}))
	wantNode(t, wide, ipv4Of(32, addresses(t, "192.168.1.2/24")), 192<<24|168<<16|1<<8|2, "")
}

func TestFromParts(t *testing.T) {
	s := twitterScheme(t)
	fails := Func("the metadata service", func(context.Context) (int64, error) { return 0, context.DeadlineExceeded })
	for _, c := range []struct {
		parts []Source
		want  int64
		says  string
	}{
		{[]Source{Number(3), Number(7)}, 3<<5 | 7, ""},
		{[]Source{Number(103)}, 103, ""},
		{[]Source{Number(31), Number(32)}, 0, "worker from number 32: no node number: it is 32, and worker has 5 bits, which hold 0 to 31"},
		{[]Source{Number(-1), Number(2)}, 0, "datacenter from number -1"},
		{[]Source{fails, Number(2)}, 0, "datacenter from the metadata service: no node number: context deadline exceeded"},
		{nil, 0, "0 sources given; the node of the layout has the parts datacenter, worker"},
		{[]Source{{}, Number(2)}, 0, "the zero nodes.Source"},
	} {
		n, err := Find(t.Context(), s, c.parts...)
		if c.says == "" && (err != nil || n != c.want) ||
			c.says != "" && (!errors.Is(err, ErrNoNode) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: got %d, %v, want %d %q", c.parts, n, err, c.want, c.says)
		}
	}
	tests.WantErr(t, tests.ErrOf(Find(t.Context(), s, fails)), context.DeadlineExceeded, "what the source said is lost")
}

func TestSourceNumber(t *testing.T) {
	if n, err := Number(5000).Number(t.Context()); n != 5000 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for _, src := range []Source{Number(-1), FromEnv("SNOWFENCE_TEST_NOT_SET"), {}} {
		err := tests.ErrOf(src.Number(t.Context()))
		tests.WantErr(t, err, ErrNoNode, "%s", src)
		tests.Says(t, err, src.String(), "%s", src)
	}
}

func TestParseAndWithin(t *testing.T) {
	s := twitterScheme(t)
	t.Setenv("ZONE", "3")
	for text, want := range map[string]string{
		"7": "number 7", "-7": "number -7", "env:ZONE": "environment variable ZONE", "file:/etc/node": "file /etc/node",
		"ordinal": "", "ipv4:16": "", "env:": "no", "file:": "no", "ipv4:x": "no", "seven": "no", "": "no",
	} {
		src, err := Parse(text)
		if (err != nil) != (want == "no") || err == nil && want != "" && src.String() != want {
			t.Errorf("%q: %s, %v", text, src, err)
		}
	}
	for text, want := range map[string]snowfence.NodeRange{
		"30-63": {From: 30, Until: 64}, "5": {From: 5, Until: 6}, "0-1023": {Until: 1024},
		"datacenter=3": {From: 96, Until: 128}, "datacenter=env:ZONE": {From: 96, Until: 128},
		"datacenter=3, worker=2": {From: 98, Until: 99},
	} {
		if got, err := Within(t.Context(), s, text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"0-1024": "the layout has nodes 0 to 1023", "5-4": "neither a range", "-5": "neither a range", "x": "neither a range",
		"datacenter=x": "not a part and its number", "datacenter=32": "hold 0 to 31", "zone=3": "has no part zone",
		"worker=1": "datacenter stands above it", "datacenter=env:SNOWFENCE_TEST_NOT_SET": "datacenter from environment",
		"datacenter=3, datacenter=4": "datacenter is given twice",
	} {
		tests.Says(t, tests.ErrOf(Within(t.Context(), s, text)), want, "%q", text)
	}
}
