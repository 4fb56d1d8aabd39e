package dashboard

import (
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/snowfence/snowfence/cmd/internal/server"
	pb "github.com/snowfence/snowfence/remote/snowfencev1"
)

// sequenceState is a sequence, and the server's own use of it. Numbers are
// texts, because JavaScript rounds large ones.
type sequenceState struct {
	Name    string  `json:"name"`
	State   string  `json:"state"`
	Mode    string  `json:"mode"`
	Pattern string  `json:"pattern,omitempty"`
	Period  int64   `json:"period,string,omitempty"`
	Last    string  `json:"last_number,omitempty"` // given out
	Own     bool    `json:"own"`                   // Last is this server's; else it is the highest that anybody may have
	Rate    float64 `json:"rate"`
	Held    int64   `json:"held"`    // numbers in this server's memory
	Reserve int64   `json:"reserve"` // how many milliseconds these last; 0 if that is not known
	Left    string  `json:"left"`
	Used    float64 `json:"used"` // which part of the numbers was given out, 0 to 1
	Ends    int64   `json:"ends"` // how many milliseconds those that are left last; 0 if that is not known
	Trouble string  `json:"trouble,omitempty"`
}

// sampleSequences looks at all sequences. mu is held.
func (sm *sampler) sampleSequences() {
	open := map[string]*server.Sequence{}
	for _, sq := range sm.service.Sequences.List() {
		open[sq.Name] = sq
	}
	sm.sequences = sm.sequences[:0:0]
	for _, i := range sm.storedSequences {
		if i.State != "deleted" {
			sm.sequences = append(sm.sequences, sequenceOf(i, open[i.Name]))
		}
	}
}

// sequenceOf returns a sequence as the store had it, with the facts of an
// open one; open may be nil.
func sequenceOf(i *pb.Sequence, open *server.Sequence) sequenceState {
	s := sequenceState{
		Name: i.Name, State: i.State, Mode: i.Mode, Pattern: i.Pattern, Period: i.Period, Last: i.LastNumber,
	}
	left := i.Left
	if open != nil {
		st := open.Status()
		s.Rate, s.Held, s.Reserve, s.Ends = st.Rate, st.Held, lasting(st.Reserve), lasting(st.Ends)
		if st.Given && i.Pattern == "" {
			s.Last, s.Own = strconv.FormatInt(st.Last, 10), true
			left = min(left, st.Left)
		}
		if st.Trouble != nil {
			s.Trouble = st.Trouble.Error()
		}
	}
	s.Left = strconv.FormatInt(left, 10)
	all := new(big.Int).Sub(big.NewInt(i.Max), big.NewInt(i.Start))
	all.Add(all.Quo(all, big.NewInt(i.Step)), big.NewInt(1))
	part, _ := new(big.Rat).SetFrac(big.NewInt(left), all).Float64()
	s.Used = math.Round(max(1-part, 0)*1e4) / 1e4
	return s
}

// lasting is how long numbers last as pages have it; 0 where none are
// taken.
func lasting(seconds float64) int64 {
	if ms := seconds * 1000; ms < 1<<53 {
		return max(int64(ms), 1)
	}
	return 0
}

// changed returns the news for the page, by name, and the names that are
// gone.
func changed[T comparable](known map[string]T, now []T, name func(T) string) (news []T, gone []string) {
	there := map[string]bool{}
	for _, one := range now {
		there[name(one)] = true
		if old, ok := known[name(one)]; !ok || old != one {
			known[name(one)] = one
			news = append(news, one)
		}
	}
	for name := range known {
		if !there[name] {
			delete(known, name)
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	return news, gone
}
