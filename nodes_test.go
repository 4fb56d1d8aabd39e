package snowfence

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func twitterScheme(t *testing.T) *Scheme {
	t.Helper()
	s, err := NewScheme(Twitter())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantNode asks a source for the whole node of a layout and compares the number, or what the error says.
func wantNode(t *testing.T, s *Scheme, src NodeSource, want int64, says string) {
	t.Helper()
	n, err := s.NodeFrom(t.Context(), src)
	switch {
	case says == "" && (err != nil || n != want):
		t.Errorf("%s: got %d, %v, want %d", src, n, err, want)
	case says != "" && (!errors.Is(err, ErrNoNode) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), src.String())):
		t.Errorf("%s: got %d, %v, want %q in it, the name of the source, and ErrNoNode", src, n, err, says)
	}
}

func TestNodeFromEnv(t *testing.T) {
	s, src := twitterScheme(t), NodeFromEnv("SNOWFENCE_TEST_WORKER")
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

func TestNodeFromFile(t *testing.T) {
	s, dir := twitterScheme(t), t.TempDir()
	path := filepath.Join(dir, "node")
	src := NodeFromFile(path)
	wantNode(t, s, src, 0, "it cannot be read")
	wantNode(t, s, NodeFromFile(dir), 0, "it cannot be read")
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		wantNode(t, s, src, c.want, c.says)
	}
}

func TestNodeFromOrdinal(t *testing.T) {
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
		"web-1024":        {0, "it is 1024, and node has 10 bits"},
	} {
		wantNode(t, s, ordinalOf(func() (string, error) { return host, nil }), c.want, c.says)
	}
	wantNode(t, s, ordinalOf(func() (string, error) { return "", errors.New("no kernel") }), 0, "cannot be read: no kernel")
}

func addresses(t *testing.T, texts ...string) func() ([]net.Addr, error) {
	t.Helper()
	var list []net.Addr
	for _, text := range texts {
		ip, n, err := net.ParseCIDR(text)
		if err != nil {
			t.Fatal(err)
		}
		n.IP = ip
		list = append(list, n)
	}
	return func() ([]net.Addr, error) { return list, nil }
}

func TestNodeFromIPv4(t *testing.T) {
	sony, err := NewScheme(Sonyflake())
	if err != nil {
		t.Fatal(err)
	}
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
	wide, err := NewScheme(Layout{Fields: []Field{{FieldTime, 31}, {FieldNode, 32}}})
	if err != nil {
		t.Fatal(err)
	}
	wantNode(t, wide, ipv4Of(32, addresses(t, "192.168.1.2/24")), 192<<24|168<<16|1<<8|2, "")
}

func TestNodeFromParts(t *testing.T) {
	s := twitterScheme(t)
	fails := NodeFunc("the metadata service", func(context.Context) (int64, error) { return 0, context.DeadlineExceeded })
	for _, c := range []struct {
		parts []NodeSource
		want  int64
		says  string
	}{
		{[]NodeSource{NodeNumber(3), NodeNumber(7)}, 3<<5 | 7, ""},
		{[]NodeSource{NodeNumber(103)}, 103, ""},
		{[]NodeSource{NodeNumber(31), NodeNumber(32)}, 0, "worker from number 32: no node number: it is 32, and worker has 5 bits, which hold 0 to 31"},
		{[]NodeSource{NodeNumber(-1), NodeNumber(2)}, 0, "datacenter from number -1"},
		{[]NodeSource{fails, NodeNumber(2)}, 0, "datacenter from the metadata service: no node number: context deadline exceeded"},
		{nil, 0, "0 sources given; the node of the layout has the parts datacenter, worker"},
		{[]NodeSource{{}, NodeNumber(2)}, 0, "the zero NodeSource"},
	} {
		n, err := s.NodeFrom(t.Context(), c.parts...)
		if c.says == "" && (err != nil || n != c.want) || c.says != "" && (!errors.Is(err, ErrNoNode) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: got %d, %v, want %d %q", c.parts, n, err, c.want, c.says)
		}
	}
	if _, err := s.NodeFrom(t.Context(), fails); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("what the source said is lost: %v", err)
	}
}

func TestNodeSourceNumber(t *testing.T) {
	if n, err := NodeNumber(5000).Number(t.Context()); n != 5000 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	for _, src := range []NodeSource{NodeNumber(-1), NodeFromEnv("SNOWFENCE_TEST_NOT_SET"), {}} {
		if n, err := src.Number(t.Context()); !errors.Is(err, ErrNoNode) || !strings.Contains(err.Error(), src.String()) {
			t.Errorf("%s: got %d, %v", src, n, err)
		}
	}
}

// The hook sees what the source found, once it is known to fit, and its word is last.
func TestNodeSourceCheck(t *testing.T) {
	s := twitterScheme(t)
	errTaken := errors.New("taken by the other one")
	var asked []int64
	hook := func(_ context.Context, node int64) error {
		asked = append(asked, node)
		if node == 7 {
			return errTaken
		}
		return nil
	}
	even := func(_ context.Context, node int64) error {
		if node%2 == 1 {
			return errors.New("odd")
		}
		return nil
	}
	wantNode(t, s, NodeNumber(6).Check(hook), 6, "")
	wantNode(t, s, NodeNumber(7).Check(hook), 0, "7 was refused: taken by the other one")
	wantNode(t, s, NodeNumber(2000).Check(hook), 0, "it is 2000")
	wantNode(t, s, NodeNumber(5).Check(even).Check(hook), 0, "5 was refused: odd")
	wantNode(t, s, NodeNumber(7).Check(hook).Check(even), 0, "taken by")
	if len(asked) != 3 || asked[0] != 6 || asked[1] != 7 || asked[2] != 7 {
		t.Errorf("the hook was asked about %v", asked)
	}
	if _, err := s.NodeFrom(t.Context(), NodeNumber(7).Check(hook)); !errors.Is(err, errTaken) {
		t.Errorf("what the hook said is lost: %v", err)
	}
}

func TestNodesWith(t *testing.T) {
	parse := func(spec string) *Scheme {
		l, err := ParseLayout(spec)
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewScheme(l)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	three := parse("time=41,region=2,datacenter=3,worker=5,seq=12")
	for _, c := range []struct {
		s     *Scheme
		parts map[string]int64
		want  NodeRange
		says  string
	}{
		{twitterScheme(t), map[string]int64{"datacenter": 3}, NodeRange{96, 128}, ""},
		{twitterScheme(t), map[string]int64{"datacenter": 31}, NodeRange{992, 1024}, ""},
		{twitterScheme(t), map[string]int64{"datacenter": 0, "worker": 0}, NodeRange{0, 1}, ""},
		{twitterScheme(t), nil, NodeRange{0, 1024}, ""},
		{twitterScheme(t), map[string]int64{"datacenter": 32}, NodeRange{}, "datacenter 32; its 5 bits hold 0 to 31"},
		{twitterScheme(t), map[string]int64{"worker": 3}, NodeRange{}, "the nodes with one worker are no range in the layout time=41,datacenter=5,worker=5"},
		{twitterScheme(t), map[string]int64{"zone": 3}, NodeRange{}, "has no part zone"},
		{three, map[string]int64{"region": 1}, NodeRange{256, 512}, ""},
		{three, map[string]int64{"region": 1, "datacenter": 2}, NodeRange{320, 352}, ""},
		{three, map[string]int64{"region": 1, "worker": 2}, NodeRange{}, "because datacenter stands above it"},
		// Fields of other kinds may stand between the parts of the node.
		{parse("time=41,datacenter=5,seq=12,worker=5"), map[string]int64{"datacenter": 3}, NodeRange{96, 128}, ""},
		{parse("time=41,worker=5,datacenter=5,seq=12"), map[string]int64{"datacenter": 3}, NodeRange{}, "because worker stands above it: give worker too"},
	} {
		got, err := c.s.NodesWith(c.parts)
		if c.says == "" && (err != nil || got != c.want) || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: got %v, %v, want %v %q", c.parts, got, err, c.want, c.says)
		}
		for n := got.From; err == nil && n < got.Until; n++ {
			for i, f := range c.s.Layout().NodeParts() {
				if v, ok := c.parts[f.Name]; ok && c.s.NodeParts(n)[i] != v {
					t.Errorf("%v: node %d has %s %d", c.parts, n, f.Name, c.s.NodeParts(n)[i])
				}
			}
		}
	}
}
