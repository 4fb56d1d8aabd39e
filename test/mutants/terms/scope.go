package terms

// Scope is a file on the path of a grant, relative to the root of the repository.
type Scope struct {
	File  string
	Funcs []string // with their receivers, as "Type.name"; empty for all
}

// Path is what decides which ticks are granted, and who has them. A file is added when each of its
// terms is noticed by a test, or has a reason in the list.
var Path = []Scope{
	{File: "batch.go"},
	{File: "close.go"},
	{File: "fence.go"},
	{File: "fill.go"},
	{File: "generator.go"},
	{File: "hold.go"},
	{File: "layout_change.go"},
	{File: "layout_overlap.go"},
	{File: "local.go"},
	{File: "next.go"},
	{File: "position.go"},
	{File: "refresh.go"},
	{File: "reserve.go"},
	{File: "statefile.go"},
	{File: "statefile_content.go"},
	{File: "statefile_write.go"},
	{File: "statefile_flock.go"},
	{File: "lease/grant.go"},
	{File: "lease/acquire.go"},
	{File: "lease/renew.go"},
	{File: "lease/release.go"},
	{File: "lease/lost.go"},
	{File: "lease/rollback.go"},
	{File: "lease/events.go"},
	{File: "lease/claim.go"},
	{File: "lease/find.go", Funcs: []string{"finder.wait", "finder.unavailable", "finder.allowed", "claim.within"}},
	{File: "lease/lease.go"},
	{File: "lease/keep.go"},
	{File: "lease/close.go"},
	{File: "lease/ticket.go"},
	{File: "lease/store.go", Funcs: []string{"readNamespace", "namespaceOf", "decodeNamespace", "Namespace.write"}},
	{File: "lease/query.go"},
	{File: "lease/namespace.go"},
	{File: "lease/change.go"},
	{File: "lease/change_proof.go"},
	{File: "lease/manage.go"},
	{File: "lease/group.go"},
	{File: "lease/group_batcher.go"},
	{File: "lease/open_all.go"},
	{File: "lease/holders.go"},
	{File: "lease/holders_judge.go"},
}
