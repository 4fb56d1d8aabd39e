package nodes

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowfence/snowfence"
)

// Parse reads a source from a setting: a number, env:NAME, file:PATH,
// ordinal, or ipv4:BITS.
func Parse(text string) (Source, error) {
	kind, arg, _ := strings.Cut(text, ":")
	switch {
	case kind == "env" && arg != "":
		return FromEnv(arg), nil
	case kind == "file" && arg != "":
		return FromFile(arg), nil
	case text == "ordinal":
		return FromOrdinal(), nil
	case kind == "ipv4":
		if bits, err := strconv.Atoi(arg); err == nil {
			return FromIPv4(bits), nil
		}
	default:
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Number(n), nil
		}
	}
	return Source{}, fmt.Errorf("nodes: %q is no number, env:NAME, file:PATH, ordinal or ipv4:BITS", text)
}

// Within reads nodes of a scheme from a setting: a range such as 30-63, one
// node, or the highest parts of the node. Each part has a number or a
// source, as in datacenter=env:ZONE.
func Within(ctx context.Context, s *snowfence.Scheme, text string) (none snowfence.NodeRange, err error) {
	if !strings.Contains(text, "=") {
		a, b, two := strings.Cut(text, "-")
		if !two {
			b = a
		}
		first, errFirst := strconv.ParseInt(a, 10, 64)
		last, errLast := strconv.ParseInt(b, 10, 64)
		switch {
		case errFirst != nil || errLast != nil || first < 0 || last < first:
			return none, fmt.Errorf("nodes: %q is neither a range such as 30-63, nor one node, nor a part such as "+
				"datacenter=3", text)
		case last >= s.Nodes():
			return none, fmt.Errorf("nodes: %s: the layout has nodes 0 to %d", text, s.Nodes()-1)
		}
		return snowfence.NodeRange{From: first, Until: last + 1}, nil
	}
	parts := map[string]int64{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		src, err := Parse(value)
		if err != nil {
			return none, fmt.Errorf("nodes: %q is not a part and its number, such as datacenter=3 or "+
				"datacenter=env:ZONE", pair)
		}
		if _, twice := parts[name]; twice {
			return none, fmt.Errorf("nodes: %s is given twice: leave one out", name)
		}
		if parts[name], err = src.Number(ctx); err != nil {
			return none, fmt.Errorf("nodes: %s from %s", name, strings.TrimPrefix(err.Error(), "nodes: "))
		}
	}
	return s.NodesWith(parts)
}
