package workerid

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/snowfence/snowfence"
)

// RegisterConf is the configuration of the original, and Shared.
type RegisterConf struct {
	Address         string // of the server, or of sentinels or the servers of a cluster, with commas
	Password        string
	DB              int
	MasterName      string // what the sentinels call the master; empty without Sentinel
	MaxWorkerId     int32
	MinWorkerId     int32
	TotalCount      int32 // for RegisterMany
	LifeTimeSeconds int32 // at least 3
	Shared          bool  // as Options.Shared; the original has none
}

// registered is the registration of this process, nil for none. The
// original has one for each process, too.
var (
	turn       sync.Mutex // held while numbers are taken or given back
	registered atomic.Pointer[registration]
)

type registration struct {
	*Registrar
	client rueidis.Client
}

// RegisterOne gives back the numbers of this process, and takes one. It
// returns −2 if the configuration is wrong, and −1 if it got no number; the
// log says why. The process can lose the number: [Validate] reports that,
// and generators over [FenceOf] make IDs only while the process holds it.
func RegisterOne(c RegisterConf) int32 {
	c.TotalCount = 1
	return RegisterMany(c)[0]
}

// RegisterMany gives back the numbers of this process, and takes TotalCount
// new ones. The result has −1 in place of each that it did not get. It is
// −2 alone if the configuration is wrong, and −1 alone for a TotalCount
// below 1.
func RegisterMany(c RegisterConf) []int32 {
	ids, err := TryRegisterMany(c)
	if err != nil {
		slog.Error("worker numbers", "error", err)
	}
	return ids
}

// TryRegisterMany is [RegisterMany], but returns an error and does not log
// it.
func TryRegisterMany(c RegisterConf) ([]int32, error) {
	if _, err := newRegistrar(nil, c.options()); err != nil {
		return []int32{-2}, err
	}
	if c.TotalCount < 1 {
		return []int32{-1}, fmt.Errorf("workerid: TotalCount is %d: it is 1 or more", c.TotalCount)
	}
	turn.Lock()
	defer turn.Unlock()
	giveBack()
	ids := slices.Repeat([]int32{-1}, int(c.TotalCount))
	client, err := rueidis.NewClient(c.clientOption())
	if err != nil {
		return ids, fmt.Errorf("workerid: connecting to %s: %w", c.Address, err)
	}
	r, err := New(client, c.options())
	if err != nil {
		client.Close()
		return ids, err
	}
	registered.Store(&registration{r, client})
	ws, err := r.RegisterMany(context.Background(), int(c.TotalCount))
	for i, w := range ws {
		ids[i] = int32(w.number)
	}
	return ids, err
}

// UnRegister gives back the numbers of this process. It first seals
// generators over [FenceOf]. If your program makes IDs from the numbers in
// another way, stop that before.
func UnRegister() {
	turn.Lock()
	defer turn.Unlock()
	giveBack()
}

// giveBack gives all back and closes the client. turn is held.
func giveBack() {
	r := registered.Swap(nil)
	if r == nil {
		return
	}
	if err := r.UnRegister(); err != nil {
		slog.Error("worker numbers", "error", err)
	}
	r.client.Close()
}

// Validate returns 1 if this process holds the number, and 0 otherwise.
func Validate(workerId int32) int32 {
	if r := registered.Load(); r != nil && r.Validate(int64(workerId)) {
		return 1
	}
	return 0
}

// FenceOf returns a fence over a number of [RegisterOne] or [RegisterMany].
func FenceOf(workerId int32, s *snowfence.Scheme) (*Fence, error) {
	if r := registered.Load(); r != nil {
		if w := r.held(int64(workerId)); w != nil {
			return w.Fence(s)
		}
	}
	return nil, fmt.Errorf("workerid: this process does not hold number %d: call RegisterOne", workerId)
}

func (c RegisterConf) options() *Options {
	return &Options{
		Min: int64(c.MinWorkerId), Max: int64(c.MaxWorkerId), Shared: c.Shared,
		TTL: time.Duration(c.LifeTimeSeconds) * time.Second,
	}
}

// clientOption says where the servers are, as the original understands it.
func (c RegisterConf) clientOption() rueidis.ClientOption {
	o := rueidis.ClientOption{
		InitAddress: strings.Split(c.Address, ","), Password: c.Password, SelectDB: c.DB, DisableCache: true,
	}
	switch {
	case c.MasterName != "":
		o.Sentinel = rueidis.SentinelOption{MasterSet: c.MasterName, TopologyRefreshInterval: 2 * time.Second}
	case len(o.InitAddress) > 1:
		o.SelectDB = 0 // a cluster has one
	default:
		o.ForceSingleClient = true
	}
	return o
}
