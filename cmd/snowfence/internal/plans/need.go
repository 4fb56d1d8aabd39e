package plans

import (
	"bufio"
	"fmt"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/plan"
	"github.com/snowfence/snowfence/cmd/internal/show"
)

// planNeed proposes layouts for a rate, a number of nodes and years. If
// there is none, that is a finding.
func planNeed(e *command.Env, f *planFlags, out *bufio.Writer) error {
	need := f.need
	need.Nodes = 1
	if f.nodes != "" {
		var err error
		if need.Nodes, err = plan.ParseNodes(f.nodes); err != nil {
			return command.Usagef("--nodes: %w", err)
		}
	} else if need.Datacenters > 1 {
		need.Nodes = need.Datacenters
	}
	need.Epoch = e.Now().UTC().Truncate(24 * time.Hour)
	if f.epoch != "" {
		var err error
		if need.Epoch, err = command.ParseTime("epoch", f.epoch); err != nil {
			return err
		}
	}
	if err := need.Check(); err != nil {
		return command.Usage(err)
	}
	proposals, refusals := plan.Propose(need)
	var err error
	commands, lines := []string{}, []string{}
	if len(proposals) > 0 {
		commands, lines = show.Follow(proposals[0])
	}
	if f.json {
		err = command.WriteJSON(out, struct {
			Proposals []plan.Proposal `json:"proposals"`
			Refused   []plan.Refusal  `json:"refused"`
			Commands  []string        `json:"commands"`
			Go        []string        `json:"go"`
		}{
			append([]plan.Proposal{}, proposals...), append([]plan.Refusal{}, refusals...),
			append([]string{}, commands...), lines,
		})
	} else {
		b := appendProposals(nil, proposals, refusals, e.Now())
		if len(proposals) > 0 {
			b = fmt.Appendf(b, "\nto use %s:\n", proposals[0].Name)
		}
		for _, line := range commands {
			b = append(b, show.WrapCommand("  "+line)+"\n"...)
		}
		for _, line := range lines {
			b = append(b, "  "+line+"\n"...)
		}
		_, err = out.Write(b)
	}
	if err != nil {
		return err
	}
	if len(proposals) == 0 {
		e.Message("%s", show.NoProposal(need))
		return command.ErrFindings
	}
	return nil
}

func appendProposals(b []byte, proposals []plan.Proposal, refusals []plan.Refusal, now time.Time) []byte {
	for i, pr := range proposals {
		if i > 0 {
			b = append(b, '\n')
		}
		rows := show.Proposal(pr, now)
		for i := range rows[1:] {
			rows[i+1][0] = "  " + rows[i+1][0]
		}
		b = rows.Append(b)
	}
	for i, r := range refusals {
		if i == 0 && len(proposals) > 0 {
			b = append(b, '\n')
		}
		b = append(b, show.Wrap(show.Refusal(r), 0, 2)+"\n"...)
	}
	return b
}
