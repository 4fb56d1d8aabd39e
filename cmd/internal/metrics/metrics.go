// Package metrics shows a server to Prometheus. It reads the service's own
// counters when it is asked. Their cost for a request does not grow with
// the number of metrics: over the Redis protocol, a second reading of the
// clock and four atomic additions for all commands that come together.
package metrics

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/snowfence/snowfence/cmd/internal/server"
)

// Source has the values of the metrics. All methods are safe for concurrent
// use.
type Source struct {
	Service *server.Service
	Latency *server.StoreLatency // of the store
	Version string
	Ready   func() bool
	TTL     time.Duration // of the server's own leases

	// Steps returns how often the clock stepped back and forward, and its
	// last step, negative for one back.
	Steps func() (back, forward int64, last time.Duration)

	// Reloads calls each with the name of a file that the server reads
	// again, and whether the last try failed.
	Reloads func(each func(what string, failed bool))

	// Certificates calls each with the first end of the certificates in
	// use.
	Certificates func(each func(which string, end time.Time))

	Tokens func() *server.Auth

	Wires []server.Wire // that have a listener

	mu         sync.Mutex
	nodeCounts map[string]server.NodeCount // by namespace
}

// Handler serves the metrics in the formats of Prometheus, for the
// namespaces that the caller may see. If who is nil, it serves all, and the
// metrics of the process.
func Handler(s *Source, who *server.Identity) http.Handler {
	r := prometheus.NewRegistry()
	c := &collector{s, nil, who == nil || who.SeesAll()}
	if who != nil {
		c.sees = who.Sees
	}
	r.MustRegister(c)
	if who == nil {
		r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 8, DisableCompression: true,
	})
}

// collector implements [prometheus.Collector] without descriptions in
// advance, because each registry has one collector only.
type collector struct {
	s      *Source
	sees   func(string) bool
	tokens bool // metrics of tokens, too
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s, to, now := c.s, sink(out), time.Now()
	to.gauge("build_info", "The program; always 1.", 1, "version", s.Version, "goversion", runtime.Version())
	to.gauge("ready", "1 when the server is ready: the store answers and leases are held.", boolValue(s.Ready()))
	s.Service.Failures(func(wire, kind string, n int64) {
		to.counter("failures_total", "Errors that went to callers.", n, "wire", wire, "kind", kind)
	})
	s.Service.Leases.Renewals(func(result string, n int64) {
		to.counter("sublease_renewals_total", "Renewals of subleases that reached this server, by how they ended.", n,
			"result", result)
	})
	back, forward, last := s.Steps()
	for direction, n := range map[string]int64{"back": back, "forward": forward} {
		to.counter("clock_steps_total", "Steps of this machine's clock by 50 ms or more.", n, "direction", direction)
	}
	to.gauge("clock_last_step_seconds", "The last step of the clock; negative when it stepped back.", last.Seconds())
	to.gauge("lease_ttl_seconds", "How far ahead this server leases its nodes: lease_left_seconds is more than two "+
		"thirds of it while all is well.", s.TTL.Seconds())
	s.Reloads(func(what string, failed bool) {
		to.gauge("reload_failed", "1 while settings, tokens or certificates changed and cannot be read: the old ones "+
			"are in use.", boolValue(failed), "what", what)
	})
	s.Certificates(func(which string, end time.Time) {
		to.gauge("certificate_expiry_timestamp_seconds", "When the first certificate ends, in Unix time: of the "+
			"server's chain, or of the authorities of clients.", float64(end.Unix()), "certificate", which)
	})
	s.Latency.Each(func(o server.Op, n server.LatencyCounts, failed int64) {
		to.histogram("store_seconds", "How long round trips to the store took that succeeded, those shared by many "+
			"callers counted once.", n, storeFirst, "op", o.Name())
		to.counter("store_errors_total", "Round trips to the store that ended with an error.", failed, "op", o.Name())
	})
	to.gauge("store_oldest_seconds", "How long the oldest round trip to the store has had no answer; 0 while none is "+
		"under way.", s.Latency.Oldest(now).Seconds())
	s.Service.RequestLatency(func(w server.Wire, n server.LatencyCounts) {
		to.histogram("request_seconds", "How long requests took, from when they were read until their answers were on "+
			"their way, without streams, watches and the dashboard. What comes in together over the Redis protocol is "+
			"answered together, and counts with the time of all of it.", n, requestFirst, "wire", w.Name())
	})
	c.collectWires(to)
	s.mu.Lock()
	used := s.nodeCounts
	s.mu.Unlock()
	if c.tokens {
		c.collectTokens(to, used)
	}
	c.collectSpaces(to, used, now)
	c.collectSequences(to)
}

// collectWires sends the counts of each wire. gRPC shares the connections
// of HTTP.
func (c *collector) collectWires(to sink) {
	wires := c.s.Wires
	if slices.Contains(wires, server.HTTP) {
		wires = append(slices.Clone(wires), server.RPC)
	}
	for _, w := range wires {
		m, name := c.s.Service.Meter(w), w.Name()
		to.counter("requests_total", "Requests over HTTP (the dashboard too), calls of gRPC and Connect, commands of "+
			"the Redis protocol.", m.Requests.Load(), "wire", name)
		if w != server.RPC {
			to.gauge("connections", "Open connections; HTTP's carry gRPC too.", float64(m.Connections.Load()),
				"wire", name)
			to.counter("connections_refused_total", "Connections beyond the limit.", m.Refused.Load(), "wire", name)
		}
	}
}

// collectSpaces sends the metrics of the open namespaces.
func (c *collector) collectSpaces(to sink, used map[string]server.NodeCount, now time.Time) {
	held := map[string]bool{} // of the namespaces that are used
	for _, name := range c.s.Service.Spaces.Moved() {
		held[name] = false
	}
	for _, sp := range c.s.Service.Spaces.List() {
		if c.sees != nil && !c.sees(sp.Name) || sp.Scheme() == nil {
			continue
		}
		of := []string{"namespace", strings.ToValidUTF8(sp.Name, "?")}
		to.counter("ids_total", "IDs made by this server.", sp.Made.Load(), of...)
		to.counter("waits_total", "Requests for one ID that had to wait for the clock or a grant.", sp.Waits.Load(),
			of...)
		to.gauge("layout_left_seconds", "How long until the time bits of the layout run out.",
			float64(sp.Scheme().Layout().EndOfLife().Unix()-now.Unix()), of...)
		if h, ok := sp.Own.Health(now); ok {
			if !sp.Own.Lapsed(now) {
				held[sp.Name] = h.Left > 0
			}
			to.gauge("lease_left_seconds", "How long IDs could still be made if the store became unreachable now.",
				h.Left.Seconds(), of...)
			to.gauge("lease_begins_seconds", "How long until IDs can be made, when the grant begins in the future: "+
				"after a change, for instance.", h.Waits(now).Seconds(), of...)
		}
		if lead, ok := sp.Own.Lead(now); ok {
			to.gauge("lead_seconds", "How far IDs are ahead of the clock: in a burst, or after the clock stepped back.",
				lead.Seconds(), of...)
		}
		if held, nodes := sp.Sublet(); nodes > 0 {
			to.gauge("nodes_sublet", "Nodes of this server's units that have a holder.", float64(held), of...)
			to.gauge("nodes_in_units", "Nodes of this server's units.", float64(nodes), of...)
		}
		if u, ok := used[sp.Name]; ok {
			to.gauge("nodes_held", "Nodes that are leased, by anybody, or vetoed.", float64(u.Held), of...)
			to.gauge("nodes_leasable", "Nodes that can be leased.", float64(u.Leasable), of...)
		}
	}
	for name, is := range held {
		if c.sees == nil || c.sees(name) {
			to.gauge("lease_held", "1 while this server can make IDs of the namespace, 0 while its lease is lost, or "+
				"after the namespace was moved to another store; none while it is unused.", boolValue(is),
				"namespace", strings.ToValidUTF8(name, "?"))
		}
	}
}

// collectSequences sends the metrics of the open sequences.
func (c *collector) collectSequences(to sink) {
	for _, sq := range c.s.Service.Sequences.List() {
		if c.sees != nil && !c.sees(sq.Name) {
			continue
		}
		st, of := sq.Status(), []string{"sequence", sq.Name}
		to.counter("sequence_numbers_total", "Numbers that this server gave out.", st.Taken, of...)
		if st.Given {
			to.gauge("sequence_last_number", "The last number that this server gave out, in whichever period.",
				float64(st.Last), of...)
		}
		to.gauge("sequence_reserve_seconds", "How long the numbers that the server holds last at the present rate; "+
			"+Inf while none are taken.", st.Reserve, of...)
		to.gauge("sequence_left_numbers", "Numbers up to the last one that no server and no program has.",
			float64(st.Left), of...)
		to.gauge("sequence_in_trouble", "1 while the store gives no numbers: held ones go on.",
			boolValue(st.Trouble != nil), of...)
	}
}

// collectTokens sends the metrics of the tokens.
func (c *collector) collectTokens(to sink, used map[string]server.NodeCount) {
	c.s.Tokens().Used(func(t *server.Token, u *server.Usage) {
		of := []string{"token", t.Name}
		to.counter("token_spent_total", "IDs, numbers, nodes and other requests that were asked for with a token, as "+
			"its rate counts them.", u.Spent.Load(), of...)
		to.counter("token_refused_total", "Requests that were refused because of their token or its limits.",
			u.Refused.Load(), of...)
		if t.May(server.VerbLease) {
			most := int64(0)
			for _, u := range used {
				most = max(most, u.Owners[t.Name])
			}
			to.gauge("token_nodes_held", "Nodes that clients of a token hold in the namespace where they hold most.",
				float64(most), of...)
		}
		if t.Nodes > 0 {
			to.gauge("token_nodes_limit", "How many nodes clients of a token may hold in each namespace.",
				float64(t.Nodes), of...)
		}
		if !t.Until.IsZero() {
			to.gauge("token_expiry_timestamp_seconds", "When a token ends, in Unix time.", float64(t.Until.Unix()),
				of...)
		}
	})
}

// sink takes metrics. Labels are names and values in turn.
type sink chan<- prometheus.Metric

func (to sink) gauge(name, help string, v float64, labels ...string) {
	desc, values := describe(name, help, labels)
	to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, values...)
}

func (to sink) counter(name, help string, n int64, labels ...string) {
	desc, values := describe(name, help, labels)
	to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), values...)
}

func describe(name, help string, labels []string) (desc *prometheus.Desc, values []string) {
	var names []string
	for pair := range slices.Chunk(labels, 2) {
		names, values = append(names, pair[0]), append(values, pair[1])
	}
	return prometheus.NewDesc("snowfence_"+name, help, names, nil), values
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The first buckets that Prometheus sees. Round trips to a store over a
// network take longer than requests that are answered from memory.
const (
	storeFirst   = 64 * time.Microsecond
	requestFirst = 8 * time.Microsecond
	lastBucket   = 40 * time.Second
)

// histogram sends the counts of one name, with a bucket for each octave
// from first to 33 s.
func (to sink) histogram(name, help string, n server.LatencyCounts, first time.Duration, labels ...string) {
	buckets, sum, next := map[float64]uint64{}, int64(0), first
	for i, k := range n.Buckets {
		sum += k
		if edge := server.LatencyEdge(i); edge >= next && edge < lastBucket {
			buckets[edge.Seconds()] = uint64(sum)
			next = 2 * edge
		}
	}
	desc, values := describe(name, help, labels)
	to <- prometheus.MustNewConstHistogram(desc, uint64(sum), n.Total.Seconds(), buckets, values...)
}
