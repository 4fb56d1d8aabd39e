package main

import (
	"time"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/lease"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkFlags ask for IDs that cannot be real to be refused.
type checkFlags struct {
	check bool
	store storeFlags
}

func (f *checkFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&f.check, "check", false, "refuse IDs that cannot be real: of a time to come, or with --store of a node never leased")
	f.store.register(fs)
}

// checkAhead is how far clocks and leads may be ahead of this machine's clock.
const checkAhead = time.Minute

// plausible returns what --check holds IDs against, and nil without it. How often a random number would pass is said once.
func (p *program) plausible(cmd *cobra.Command, f *checkFlags, s *snowfence.Scheme) (*snowfence.Plausible, error) {
	withStore := p.given(cmd, "store") || p.given(cmd, "namespace")
	switch {
	case !f.check && (cmd.Flags().Changed("store") || cmd.Flags().Changed("namespace")) && !p.fromEnv["store"] && !p.fromEnv["namespace"]:
		return nil, usagef("--store and --namespace tell --check which nodes were leased: add --check")
	case !f.check:
		return nil, nil
	}
	want := &snowfence.Plausible{Now: p.now(), Ahead: checkAhead}
	if withStore {
		st, err := p.openStore(cmd.Context(), &f.store)
		if err != nil {
			return nil, err
		}
		defer st.Close()
		leases, err := lease.ListLeases(cmd.Context(), st.Leases, f.store.namespace)
		if err != nil {
			return nil, err
		}
		if len(leases) == 0 {
			return nil, usagef("no node of namespace %q was ever leased, so that no ID can be of it", f.store.namespace)
		}
		want.First = leases[0].Node
		for _, r := range leases {
			want.First, want.End = min(want.First, r.Node), max(want.End, r.Node+1)
		}
	}
	p.message("a random number passes this check with a probability of %.2g", s.Odds(*want))
	return want, nil
}

func (d *decoder) parts(id snowfence.ID) (snowfence.Parts, error) {
	if d.plausible != nil {
		return d.view.scheme.Check(id, *d.plausible)
	}
	return d.view.scheme.Decode(id)
}
