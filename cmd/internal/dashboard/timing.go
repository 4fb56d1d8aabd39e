package dashboard

import "github.com/snowfence/snowfence/cmd/internal/server"

// timing is how many of something there were in one second, and how long they took, in
// milliseconds.
type timing struct {
	Rate float32 `json:"rate"`
	P50  float32 `json:"p50"` // the times are −1 where there were none
	P99  float32 `json:"p99"`
}

var noTiming = timing{0, -1, -1}

// timings are those of a quarter of an hour, as long as the samples.
type timings struct {
	Rate []float32 `json:"rate"`
	P50  []float32 `json:"p50"`
	P99  []float32 `json:"p99"`
}

// meter remembers the timings of what a server.Latency counts.
type meter struct {
	last server.LatencyCounts
	list []timing
}

// sample takes what was counted since the last sample, elapsed seconds ago.
func (m *meter) sample(counts server.LatencyCounts, elapsed float64) {
	d := counts.Since(m.last)
	m.last = counts
	t := noTiming
	if n := d.N(); n > 0 {
		ms := func(q float64) float32 { return float32(d.Quantile(q).Seconds() * 1000) }
		t = timing{float32(float64(n) / elapsed), ms(0.5), ms(0.99)}
	}
	m.list = appendSample(m.list, t)
}

func (m *meter) latest() timing {
	if len(m.list) == 0 {
		return noTiming
	}
	return m.list[len(m.list)-1]
}

// used reports whether there was anything at all in the quarter of an hour.
func (m *meter) used() bool {
	for _, t := range m.list {
		if t.Rate > 0 {
			return true
		}
	}
	return false
}

func (m *meter) all() timings {
	out := timings{make([]float32, len(m.list)), make([]float32, len(m.list)), make([]float32, len(m.list))}
	for i, t := range m.list {
		out.Rate[i], out.P50[i], out.P99[i] = t.Rate, t.P50, t.P99
	}
	return out
}
