package dashboard

import (
	"slices"

	"github.com/snowfence/snowfence/cmd/internal/server"
)

// timing is how many of something there were in one second, and how long
// they took, in milliseconds.
type timing struct {
	Rate float32 `json:"rate"`
	P50  float32 `json:"p50"` // the times are −1 where there were none
	P99  float32 `json:"p99"`
}

var noTiming = timing{0, -1, -1}

// timings cover a quarter of an hour, as long as the samples.
type timings struct {
	Rate []float32 `json:"rate"`
	P50  []float32 `json:"p50"`
	P99  []float32 `json:"p99"`
}

// recent has the count and the durations of the last minute.
type recent struct {
	N   int64   `json:"n"`
	P50 float32 `json:"p50"` // the times are −1 where there were none
	P99 float32 `json:"p99"`
}

// meter remembers the timings of a server.Latency.
type meter struct {
	counts []server.LatencyCounts // at the last samples, at most a minute of them, oldest first
	list   []timing
}

func newMeter(counts server.LatencyCounts) *meter {
	return &meter{counts: []server.LatencyCounts{counts}}
}

// takeSample takes the counts since the last sample, elapsed seconds ago.
func (m *meter) takeSample(counts server.LatencyCounts, elapsed float64) {
	d := counts.Since(m.counts[len(m.counts)-1])
	m.counts = append(m.counts, counts)
	if len(m.counts) > minute+1 {
		m.counts = slices.Delete(m.counts, 0, 1)
	}
	t := noTiming
	if n := d.N(); n > 0 {
		t = timing{float32(float64(n) / elapsed), quantile(&d, 0.5), quantile(&d, 0.99)}
	}
	m.list = appendSample(m.list, t)
}

func quantile(c *server.LatencyCounts, q float64) float32 {
	return float32(c.Quantile(q).Seconds() * 1000)
}

func (m *meter) lastMinute() recent {
	d := m.counts[len(m.counts)-1].Since(m.counts[0])
	if n := d.N(); n > 0 {
		return recent{n, quantile(&d, 0.5), quantile(&d, 0.99)}
	}
	return recent{0, -1, -1}
}

func (m *meter) latestTiming() timing {
	if len(m.list) == 0 {
		return noTiming
	}
	return m.list[len(m.list)-1]
}

// hasTimings reports whether there was anything at all in the quarter of an
// hour.
func (m *meter) hasTimings() bool {
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
