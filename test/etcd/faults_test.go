//go:build unix

package etcd

import (
	"testing"

	"github.com/snowfence/snowfence/test/servers"
)

// TestMajorityLost ends two of three members: holders run to the end of what was
// acknowledged, not further, and go on when one is back.
func TestMajorityLost(t *testing.T) {
	t.Parallel()
	f := newFleet(t, servers.StartEtcdCluster(t, 3)...)
	f.start(4)
	f.renewed()
	f.members[0].Kill()
	f.members[1].Kill()
	before := map[*worker]int64{}
	for _, w := range f.workers {
		before[w] = w.dry.Load()
	}
	f.await("out of grants", func(w *worker) bool { return w.dry.Load() > before[w] && w.l.Status().Trouble != nil })
	for i, w := range f.workers {
		s := w.l.Status()
		if top := w.top.Load(); top >= s.Grant.Until {
			t.Errorf("worker %d made an ID of tick %d, and was granted ticks to %d", i, top, s.Grant.Until)
		}
	}
	f.members[0].Restart(t)
	f.renewed()
}

// TestSingleRestarted kills a cluster of one member and starts it again: nothing
// acknowledged is gone, and it is the same store.
func TestSingleRestarted(t *testing.T) {
	t.Parallel()
	f := newFleet(t, servers.StartEtcd(t))
	f.start(4)
	before := f.identity()
	for range 3 {
		f.members[0].Kill()
		f.members[0].Restart(t)
		f.renewed()
	}
	if after := f.identity(); after != before {
		t.Errorf("a restart made another store of it: %q, then %q", before, after)
	}
}
