package mutants

// agentMutants break two rules: an agent has only nodes of its units, and
// each user has at most a share of them.
var agentMutants = []mutant{
	m("agent: its own store keeps no node", "cmd/internal/agent.namespaceStore.Swap", "^TestAgentHasNothingElse$",
		always("w.New.Namespace == store.Servers")),
	m("agent: a user has a quarter of a unit", "cmd/internal/agent.New", "^TestAgent$",
		swap("max(1, a.Nodes/4)", "a.Nodes")),
	m("agent: it ends with its namespace", "cmd/internal/agent.source.Acquire", "^TestAgentOfAChangedNamespace$",
		never("errors.Is(err, lease.ErrMismatch) || errors.Is(err, lease.ErrNoNamespace)")),
}
