package dashboard

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/snowfence/snowfence/lease/scope"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

const (
	sampleEvery = time.Second
	maxSamples  = 900  // samples: a quarter of an hour
	maxSeries   = 1000 // namespaces whose rates are remembered
	readEvery   = 5    // seconds between two looks at the store, while a page watches
)

// sampler looks at the service once a second and remembers a quarter of an
// hour.
type sampler struct {
	cfg       Config
	service   *server.Service
	latency   *server.StoreLatency
	readGate  gate // holds a value while the store is read
	countGate gate // and while the nodes are counted that are held

	mu       sync.Mutex
	times    []int64 // of the samples, in Unix milliseconds
	store    *meter
	wires    map[server.Wire]*meter
	failures failures
	rates    map[string]*series
	now      map[string]spaceState
	names    []*pb.Namespace
	readAt   time.Time // when the store was read last
	away     storeState
	back     time.Time // since when the store answers after an outage that is not over yet
	unready  error     // why requests should go to another server; nil while they need not
	usage    map[string]nodeUsage
	countDue time.Time // when the next count begins
	servers  []*pb.ServerInfo
	pages    int

	storedSequences []*pb.Sequence // as the store had them
	sequences       []sequenceState
	next            chan struct{} // closed and replaced at each sample
	lastAt          time.Time
}

// series are the rates of one namespace, as long as the samples.
type series struct {
	total int64
	rates []float32
}

// spaceState is the server's own work in a namespace.
type spaceState struct {
	Name    string  `json:"name"`
	Rate    float64 `json:"rate"`
	Made    int64   `json:"made"`
	Leased  bool    `json:"leased"` // it has a lease, or wants one
	Held    bool    `json:"held"`
	Trouble string  `json:"trouble,omitempty"`

	FirstNode int64     `json:"first_node,string"`
	LastNode  int64     `json:"last_node,string"`
	Until     time.Time `json:"until_time,omitzero"`
	Renewed   int64     `json:"renewed"` // when Until was acknowledged

	Sublet int64 `json:"sublet"` // nodes of its units that have a holder
	Units  int64 `json:"units"`  // nodes of its units
}

// storeState says whether the store answers.
type storeState struct {
	Away  bool   `json:"away"`
	Since int64  `json:"since,omitempty"`
	Cause string `json:"cause,omitempty"`
}

func newSampler(cfg Config) *sampler {
	sm := &sampler{
		cfg: cfg, service: cfg.Service, latency: cfg.Latency, rates: map[string]*series{}, now: map[string]spaceState{},
		next: make(chan struct{}), readGate: make(gate, 1), countGate: make(gate, 1), lastAt: time.Now(),
		wires: map[server.Wire]*meter{}, store: newMeter(cfg.Latency.Counts()), usage: map[string]nodeUsage{},
	}
	sm.service.RequestLatency(func(w server.Wire, c server.LatencyCounts) { sm.wires[w] = newMeter(c) })
	return sm
}

func (sm *sampler) run(ctx context.Context) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	var asks sync.WaitGroup
	defer asks.Wait()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sm.takeSample(time.Now())
		sm.mu.Lock()
		watched := sm.pages > 0
		sm.mu.Unlock()
		if watched && n%readEvery == 0 {
			asks.Go(func() { sm.readStore(ctx) })
		}
		if watched {
			asks.Go(func() { sm.countNodes(ctx) })
		}
	}
}

// takeSample takes one sample, and wakes its waiters.
func (sm *sampler) takeSample(now time.Time) {
	states := map[string]spaceState{}
	for _, sp := range sm.service.Spaces.List() {
		states[sp.Name] = stateOf(sp)
	}
	sm.mu.Lock()
	defer sm.mu.Unlock()
	elapsed := max(now.Sub(sm.lastAt).Seconds(), 0.001)
	sm.lastAt = now
	sm.times = appendSample(sm.times, now.UnixMilli())
	sm.store.takeSample(sm.latency.Counts(), elapsed)
	sm.failures.takeSample(sm.service, sm.latency, elapsed)
	sm.judgeReadiness(now)
	sm.service.RequestLatency(func(w server.Wire, c server.LatencyCounts) { sm.wires[w].takeSample(c, elapsed) })
	for name, st := range states {
		sr := sm.rates[name]
		if sr == nil && len(sm.rates) < maxSeries {
			sr = &series{rates: make([]float32, len(sm.times)-1, maxSamples+1), total: 0}
			sm.rates[name] = sr
		}
		if sr == nil {
			continue
		}
		st.Rate = float64(max(st.Made-sr.total, 0)) / elapsed // a namespace that was opened anew counts from 0 again
		sr.total = st.Made
		states[name] = st
	}
	for name, sr := range sm.rates {
		sr.rates = appendSample(sr.rates, float32(states[name].Rate))
		if _, open := states[name]; !open && !slices.ContainsFunc(sr.rates, func(r float32) bool { return r > 0 }) {
			delete(sm.rates, name)
		}
	}
	sm.now = states
	sm.sampleSequences()
	close(sm.next)
	sm.next = make(chan struct{})
}

func appendSample[T any](list []T, v T) []T {
	list = append(list, v)
	if len(list) > maxSamples {
		list = slices.Delete(list, 0, len(list)-maxSamples)
	}
	return list
}

func stateOf(sp *server.Space) spaceState {
	s := spaceState{Name: sp.Name, Made: sp.Made.Load()}
	s.Sublet, s.Units = sp.Sublet()
	st, ok := sp.Own.Status()
	if !ok {
		return s
	}
	s.Leased, s.Held = true, st.Held
	if st.Held {
		s.FirstNode, s.LastNode = st.Grant.Node, st.Grant.Node+max(st.Grant.Nodes, 1)-1
		s.Until, s.Renewed = sp.Scheme().Layout().TimeOf(st.Grant.Until).UTC(), millis(st.Renewed)
	}
	if st.Trouble != nil {
		s.Trouble = st.Trouble.Error()
	}
	return s
}

// countPage counts a page that watches, and reads the store for the first
// one.
func (sm *sampler) countPage(ctx context.Context) (stop func()) {
	sm.mu.Lock()
	sm.pages++
	stale := time.Since(sm.readAt) > readEvery*time.Second
	sm.mu.Unlock()
	if stale {
		sm.readStore(ctx)
	}
	return func() {
		sm.mu.Lock()
		defer sm.mu.Unlock()
		sm.pages--
	}
}

// snapshot is one caller's view of the present.
type snapshot struct {
	sample // but for what is news to one page
	away   storeState
	ready  readyState
	names  *pb.ListNamespacesResponse
	usage  map[string]nodeUsage
	spaces []spaceState

	servers   *pb.ListServersResponse
	next      <-chan struct{}
	failures  []failure
	sequences []sequenceState
}

func (sm *sampler) snapshotFor(id *server.Identity) snapshot {
	sm.mu.Lock()
	defer sm.mu.Unlock()
	v := snapshot{
		away: sm.away, next: sm.next, names: &pb.ListNamespacesResponse{}, ready: readyOf(sm.unready, id),
		failures: sm.failures.latest(), usage: map[string]nodeUsage{}, servers: sm.serversFor(id),
	}
	v.Time, v.Store, v.Wires = time.Now().UnixMilli(), sm.store.latestTiming(), map[string]timing{}
	v.Minute = map[string]recent{inStore: sm.store.lastMinute()}
	if n := len(sm.times); n > 0 {
		v.Time, v.Failed, v.Refused = sm.times[n-1], sm.failures.ours[n-1], sm.failures.theirs[n-1]
	}
	for w, m := range sm.wires {
		if t := m.latestTiming(); t.Rate > 0 {
			v.Wires[w.Name()] = t
		}
		if r := m.lastMinute(); r.N > 0 {
			v.Minute[w.Name()] = r
		}
	}
	for name, u := range sm.usage {
		if id.Sees(name) {
			v.usage[name] = u
		}
	}
	for _, ns := range sm.names {
		if id.Sees(ns.Name) && ns.State != scope.Deleted {
			v.names.Namespaces = append(v.names.Namespaces, ns)
		}
	}
	for name, st := range sm.now {
		if id.Sees(name) {
			v.spaces = append(v.spaces, st)
			v.Total += st.Rate
		}
	}
	for _, s := range sm.sequences {
		if id.Sees(s.Name) {
			v.sequences = append(v.sequences, s)
		}
	}
	return v
}

// history is the samples so far.
type history struct {
	Times []int64            `json:"times"`
	Rates []float64          `json:"rates"`
	Store timings            `json:"store"` // round trips
	Wires map[string]timings `json:"wires"` // requests, by the wires that have had some

	Failed  []float32 `json:"failed"` // requests a second, for trouble of the server or its store
	Refused []float32 `json:"refused"`
}

// historyFor returns the samples of one namespace, or with "" of all that a
// caller may see together.
func (sm *sampler) historyFor(id *server.Identity, namespace string) history {
	sm.mu.Lock()
	defer sm.mu.Unlock()
	h := history{
		Times: slices.Clone(sm.times), Rates: make([]float64, len(sm.times)), Store: sm.store.all(),
		Wires: map[string]timings{}, Failed: slices.Clone(sm.failures.ours), Refused: slices.Clone(sm.failures.theirs),
	}
	if h.Times == nil {
		h.Times, h.Failed, h.Refused = []int64{}, []float32{}, []float32{}
	}
	for name, sr := range sm.rates {
		if namespace == "" && id.Sees(name) || namespace != "" && name == namespace {
			for i, r := range sr.rates {
				h.Rates[i] += float64(r)
			}
		}
	}
	for w, m := range sm.wires {
		if m.hasTimings() {
			h.Wires[w.Name()] = m.all()
		}
	}
	return h
}
