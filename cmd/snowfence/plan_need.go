package main

import (
	"bufio"
	"fmt"
	"strconv"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/plan"
)

// planNeed proposes layouts for a rate, a number of nodes and years. That there is none
// is a finding.
func (p *program) planNeed(f *planFlags, out *bufio.Writer) error {
	need := f.need
	need.Nodes = 1
	if f.nodes != "" {
		var err error
		if need.Nodes, err = strconv.ParseUint(f.nodes, 10, 64); err != nil {
			return usagef("--nodes: %q is not a number of processes", f.nodes)
		}
	}
	need.Epoch = p.now().UTC().Truncate(24 * time.Hour)
	if f.epoch != "" {
		var err error
		if need.Epoch, err = parseTime("epoch", f.epoch); err != nil {
			return err
		}
	}
	if err := need.Check(); err != nil {
		return usageError{err}
	}
	proposals, refusals := plan.Propose(need)
	var err error
	if f.json {
		err = writeJSON(out, struct {
			Proposals []plan.Proposal `json:"proposals"`
			Refused   []plan.Refusal  `json:"refused"`
		}{append([]plan.Proposal{}, proposals...), append([]plan.Refusal{}, refusals...)})
	} else {
		_, err = out.Write(appendProposals(nil, proposals, refusals, p.now()))
	}
	if err != nil {
		return err
	}
	if len(proposals) == 0 {
		p.message("no layout of %s holds %s over %s nodes for %s%s", map[bool]string{
			true:  "53 bits",
			false: "63 bits",
		}[need.JSSafe],
			perSecond(need.Rate), thousands(need.Nodes), plan.Years(need.Years),
			map[bool]string{true: "; without --js-safe there are 63", false: ""}[need.JSSafe])
		return errFindings
	}
	return nil
}

func appendProposals(b []byte, proposals []plan.Proposal, refusals []plan.Refusal, now time.Time) []byte {
	for i, pr := range proposals {
		if i > 0 {
			b = append(b, '\n')
		}
		alone := "one node alone does not reach the rate"
		if pr.OneNode {
			alone = "one node alone reaches the rate"
		}
		b = appendRows(b, [][2]string{
			{pr.Name, pr.Layout.String()},
			{"  lasts", "until " + endOfLife(pr.Layout, now)},
			{"  nodes", thousands(pr.Nodes)},
			{"  rate", fmt.Sprintf("%s per node, %s in all; %s", perSecond(pr.PerNodePerSecond),
				perSecond(pr.PerSecond), alone)},
			{"  length", fmt.Sprintf("at most %s within the years asked for", plural(int64(pr.Digits), "digit"))},
			{"  for", pr.For},
			{"  against", pr.Against},
		})
	}
	for i, r := range refusals {
		if i == 0 && len(proposals) > 0 {
			b = append(b, '\n')
		}
		b = fmt.Appendf(b, "not with ticks of %s: %s\n", r.Tick, r.Reason)
	}
	return b
}
