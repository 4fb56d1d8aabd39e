// Package metrics shows a server to Prometheus. It reads the service's own counters when
// it is asked. What requests pay for them does not grow with the number of metrics: over
// the Redis protocol a second look at the clock and four atomic additions for all that
// comes in together.
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

// Source is what metrics are read from. All methods are safe for concurrent use.
type Source struct {
	Service *server.Service
	Latency *server.StoreLatency // of the store
	Version string
	Ready   func() bool
	TTL     time.Duration // of the server's own leases

	// Steps are the steps of the clock that were seen, and the last of them, which is
	// negative when it went back.
	Steps func() (back, forward int64, last time.Duration)

	// Reloads calls each with what is read again, and whether the last try failed.
	Reloads func(each func(what string, failed bool))

	// Certificates calls each with the first end of the certificates in use.
	Certificates func(each func(which string, end time.Time))

	Tokens func() *server.Auth

	Wires []server.Wire // that have a listener

	mu   sync.Mutex
	used map[string]server.NodeCount // by namespace
}

// Handler serves the metrics in the formats of Prometheus, for the namespaces that the
// caller sees; nil is all, and the metrics of the process.
func Handler(s *Source, who *server.Identity) http.Handler {
	r := prometheus.NewRegistry()
	c := &collector{s, nil, who == nil || who.SeesAll()}
	if who != nil {
		c.sees = who.Sees
	}
	r.MustRegister(c) // the descriptions are constant: TestMetrics registers them all
	if who == nil {
		r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 8})
}

// metric is one of those below.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func newMetric(kind prometheus.ValueType, name, help string, labels ...string) metric {
	return metric{prometheus.NewDesc("snowfence_"+name, help, labels, nil), kind}
}

// descriptions are the metrics there are.
type descriptions struct {
	build, ready                                                            metric
	ids, waits, failures                                                    metric
	leaseHeld, leaseLeft, leaseBegins, lead, nodesHeld, nodesLeasable       metric
	stepsSeen, lastStep, requests, connections, refused, storeError, oldest metric
	leaseTTL, layoutLeft, reloadFailed, certificateEnd                      metric
	tokenSpent, tokenRefused, tokenNodes, tokenLimit, tokenEnd              metric
	numbers, last, reserve, numbersLeft, trouble                            metric
	store, request                                                          *prometheus.Desc
}

func describe() descriptions {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	return descriptions{
		build: newMetric(gauge, "build_info", "The program; always 1.", "version", "goversion"),
		ready: newMetric(gauge, "ready", "1 when the server is ready: the store answers and leases are held."),
		ids:   newMetric(counter, "ids_total", "IDs made by this server.", "namespace"),
		waits: newMetric(counter, "waits_total",
			"Requests for one ID that had to wait for the clock or a grant.", "namespace"),
		failures: newMetric(counter, "failures_total", "Errors that went to callers.", "wire", "kind"),
		leaseHeld: newMetric(gauge, "lease_held",
			"1 while this server can make IDs of the namespace, 0 while its lease is lost; none while it is unused.",
			"namespace"),
		leaseLeft: newMetric(gauge, "lease_left_seconds",
			"How long IDs could still be made if the store became unreachable now.", "namespace"),
		leaseBegins: newMetric(gauge, "lease_begins_seconds",
			"How long until IDs can be made, when the grant begins in the future: after a change, for instance.",
			"namespace"),
		leaseTTL: newMetric(gauge, "lease_ttl_seconds",
			"How far ahead this server leases its nodes: lease_left_seconds is more than two thirds of it while all "+
				"is well."),
		lead: newMetric(gauge, "lead_seconds",
			"How far IDs are ahead of the clock: in a burst, or after the clock stepped back.", "namespace"),
		nodesHeld:     newMetric(gauge, "nodes_held", "Nodes that are leased, by anybody, or vetoed.", "namespace"),
		nodesLeasable: newMetric(gauge, "nodes_leasable", "Nodes that can be leased.", "namespace"),
		layoutLeft: newMetric(gauge, "layout_left_seconds",
			"How long until the time bits of the layout run out.", "namespace"),
		numbers: newMetric(counter, "sequence_numbers_total", "Numbers that this server gave out.", "sequence"),
		last: newMetric(gauge, "sequence_last_number",
			"The last number that this server gave out, in whichever period.", "sequence"),
		reserve: newMetric(gauge, "sequence_reserve_seconds",
			"How long the numbers that the server holds last at the present rate; +Inf while none are taken.",
			"sequence"),
		numbersLeft: newMetric(gauge, "sequence_left_numbers",
			"Numbers up to the last one that no server and no program has.", "sequence"),
		trouble: newMetric(gauge, "sequence_in_trouble",
			"1 while the store gives no numbers: held ones go on.", "sequence"),
		reloadFailed: newMetric(gauge, "reload_failed",
			"1 while settings, tokens or certificates changed and cannot be read: the old ones are in use.", "what"),
		certificateEnd: newMetric(gauge, "certificate_expiry_timestamp_seconds",
			"When the first certificate ends, in Unix time: of the server's chain, or of the authorities of clients.",
			"certificate"),
		tokenSpent: newMetric(counter, "token_spent_total",
			"IDs, numbers, nodes and other requests that were asked for with a token, as its rate counts them.",
			"token"),
		tokenRefused: newMetric(counter, "token_refused_total",
			"Requests that were refused because of their token or its limits.", "token"),
		tokenNodes: newMetric(gauge, "token_nodes_held",
			"Nodes that clients of a token hold in the namespace where they hold most.", "token"),
		tokenLimit: newMetric(gauge, "token_nodes_limit",
			"How many nodes clients of a token may hold in each namespace.", "token"),
		tokenEnd: newMetric(gauge, "token_expiry_timestamp_seconds", "When a token ends, in Unix time.", "token"),
		stepsSeen: newMetric(counter, "clock_steps_total",
			"Steps of this machine's clock by 50 ms or more.", "direction"),
		lastStep: newMetric(gauge, "clock_last_step_seconds",
			"The last step of the clock; negative when it stepped back."),
		requests: newMetric(counter, "requests_total",
			"Requests over HTTP (the dashboard too), calls of gRPC and Connect, commands of the Redis protocol.",
			"wire"),
		connections: newMetric(gauge, "connections", "Open connections; HTTP's carry gRPC too.", "wire"),
		refused:     newMetric(counter, "connections_refused_total", "Connections beyond the limit.", "wire"),
		storeError: newMetric(counter, "store_errors_total",
			"Round trips to the store that ended with an error.", "op"),
		oldest: newMetric(gauge, "store_oldest_seconds",
			"How long the oldest round trip to the store has had no answer; 0 while none is under way."),
		store: prometheus.NewDesc("snowfence_store_seconds", "How long round trips to the store took that "+
			"succeeded, those shared by many callers counted once.", []string{"op"}, nil),
		request: prometheus.NewDesc("snowfence_request_seconds", "How long requests took, from when they were "+
			"read until their answers were on their way, without streams, watches and the dashboard. "+
			"What comes in together over the Redis protocol is answered together, and counts with the time "+
			"of all of it.", []string{"wire"}, nil),
	}
}

// collector implements [prometheus.Collector] without descriptions in advance, because
// each registry has one collector only.
type collector struct {
	s      *Source
	sees   func(string) bool
	tokens bool // metrics of tokens, too
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(out chan<- prometheus.Metric) {
	d := describe()
	put := func(m metric, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
	}
	s := c.s
	put(d.build, 1, s.Version, runtime.Version())
	put(d.ready, boolValue(s.Ready()))
	s.Service.Failures(func(wire, kind string, n int64) { put(d.failures, float64(n), wire, kind) })
	back, forward, last := s.Steps()
	put(d.stepsSeen, float64(back), "back")
	put(d.stepsSeen, float64(forward), "forward")
	put(d.lastStep, last.Seconds())
	put(d.leaseTTL, s.TTL.Seconds())
	s.Reloads(func(what string, failed bool) { put(d.reloadFailed, boolValue(failed), what) })
	s.Certificates(func(which string, end time.Time) { put(d.certificateEnd, float64(end.Unix()), which) })
	s.Latency.Each(func(o server.Op, n server.LatencyCounts, failed int64) {
		out <- histogram(d.store, n, storeFirst, o.Name())
		put(d.storeError, float64(failed), o.Name())
	})
	put(d.oldest, s.Latency.Oldest(time.Now()).Seconds())
	s.Service.RequestLatency(func(w server.Wire, n server.LatencyCounts) {
		out <- histogram(d.request, n, requestFirst, w.Name())
	})
	s.mu.Lock()
	used := s.used
	s.mu.Unlock()
	if slices.Contains(s.Wires, server.HTTP) {
		put(d.requests, float64(s.Service.Meter(server.RPC).Requests.Load()), server.RPC.Name())
	}
	for _, w := range s.Wires {
		m := s.Service.Meter(w)
		put(d.requests, float64(m.Requests.Load()), w.Name())
		put(d.connections, float64(m.Connections.Load()), w.Name())
		put(d.refused, float64(m.Refused.Load()), w.Name())
	}
	if c.tokens {
		c.collectTokens(used, d, put)
	}
	now := time.Now()
	for _, sp := range s.Service.Spaces() {
		if c.sees != nil && !c.sees(sp.Name) || sp.Scheme() == nil {
			continue
		}
		name, l := strings.ToValidUTF8(sp.Name, "?"), sp.Scheme().Layout()
		put(d.ids, float64(sp.Made.Load()), name)
		put(d.waits, float64(sp.Waits.Load()), name)
		put(d.layoutLeft, float64(l.EndOfLife().Unix()-now.Unix()), name)
		if h, ok := sp.Health(now); ok {
			if !sp.Lapsed(now) {
				put(d.leaseHeld, boolValue(h.Left > 0), name)
			}
			put(d.leaseLeft, h.Left.Seconds(), name)
			put(d.leaseBegins, h.Waits(now).Seconds(), name)
		}
		if lead, ok := sp.Lead(now); ok {
			put(d.lead, lead.Seconds(), name)
		}
		if u, ok := used[sp.Name]; ok {
			put(d.nodesHeld, float64(u.Held), name)
			put(d.nodesLeasable, float64(u.Leasable), name)
		}
	}
	for _, sq := range s.Service.Sequences() {
		if c.sees != nil && !c.sees(sq.Name) {
			continue
		}
		st := sq.Status()
		put(d.numbers, float64(st.Taken), sq.Name)
		if st.Given {
			put(d.last, float64(st.Last), sq.Name)
		}
		put(d.reserve, st.Reserve, sq.Name)
		put(d.numbersLeft, float64(st.Left), sq.Name)
		put(d.trouble, boolValue(st.Trouble != nil), sq.Name)
	}
}

// collectTokens puts what there is of each token.
func (c *collector) collectTokens(
	used map[string]server.NodeCount, d descriptions, put func(metric, float64, ...string),
) {
	c.s.Tokens().Used(func(t *server.Token, u *server.Usage) {
		put(d.tokenSpent, float64(u.Spent.Load()), t.Name)
		put(d.tokenRefused, float64(u.Refused.Load()), t.Name)
		if t.May(server.VerbLease) {
			most := int64(0)
			for _, u := range used {
				most = max(most, u.Owners[t.Name])
			}
			put(d.tokenNodes, float64(most), t.Name)
		}
		if t.Nodes > 0 {
			put(d.tokenLimit, float64(t.Nodes), t.Name)
		}
		if !t.Until.IsZero() {
			put(d.tokenEnd, float64(t.Until.Unix()), t.Name)
		}
	})
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// The first buckets that Prometheus sees. Round trips to a store over a network take
// longer than requests that are answered from memory.
const (
	storeFirst   = 64 * time.Microsecond
	requestFirst = 8 * time.Microsecond
	lastBucket   = 40 * time.Second
)

// histogram makes one of the counts, with a bucket for each octave from first to 33 s.
func histogram(d *prometheus.Desc, n server.LatencyCounts, first time.Duration, labels ...string) prometheus.Metric {
	buckets, sum, next := map[float64]uint64{}, int64(0), first
	for i, k := range n.Buckets {
		sum += k
		if edge := server.LatencyEdge(i); edge >= next && edge < lastBucket {
			buckets[edge.Seconds()] = uint64(sum)
			next = 2 * edge
		}
	}
	return prometheus.MustNewConstHistogram(d, uint64(sum), n.Total.Seconds(), buckets, labels...)
}
