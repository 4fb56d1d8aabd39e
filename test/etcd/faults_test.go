//go:build unix

package etcd

import (
	"syscall"
	"testing"

	"github.com/snowfence/snowfence/test/servers"
)

// TestLeaderKilled kills the leader again and again while generators renew: they go on
// with what they have, and renew with the next leader.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, servers.StartEtcdCluster(t, 3)...)
	f.start(6)
	for range 3 {
		leader, _ := f.leader()
		leader.Kill()
		f.renewed()
		leader.Restart(t)
		leader.AwaitHealthy(t)
	}
	f.renewed()
}

// TestStoppedMember stops members without ending them: connections stay open and nobody answers.
func TestStoppedMember(t *testing.T) {
	t.Parallel()
	f := newFleet(t, servers.StartEtcdCluster(t, 3)...)
	f.start(4)
	leader, others := f.leader()
	for _, m := range []*servers.Etcd{others[0], leader} {
		m.Signal(t, syscall.SIGSTOP)
		f.renewed()
		m.Signal(t, syscall.SIGCONT)
		m.AwaitHealthy(t)
	}
	f.renewed()
}

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
