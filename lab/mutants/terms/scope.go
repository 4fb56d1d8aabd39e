package terms

import (
	"path/filepath"
	"slices"
	"strings"
)

// Scope is a file on the path of a grant, relative to the root of the
// repository.
type Scope struct {
	File  string
	Funcs []string // with their receivers, as "Type.name"; empty for all
}

// Path is what decides which ticks are granted, and to which holder. A file
// is added when each of its terms is noticed by a test, or has a reason in
// the list.
var Path = slices.Concat(
	whole(".", "close fence fill generator layout local next position range refresh region reserve"),
	whole("statefile", "folder statefile content part write flock"),
	whole("lease/internal/claim", `
		claim open namespace grant acquire renew write confirm release rollback server server_claim guest guest_acquire
	`),
	whole("lease", "events open lease keep close"),
	whole("lease/sublet", "division server"),
	whole("lease/scope", "namespace_record namespace admit limits create change change_proof"),
	some("lease/scope/reserved.go", `
		Operator.AllowBackfill Operator.NoteOthers Operator.BackfillNodes Operator.NoteRollback Namespace.notAllowed
		Namespace.reserve Namespace.Fills Namespace.NoteUsed showMilli
	`),
	whole("lease/backfill", "backfill counts"),
	whole("lease/internal/ticket", "ticket"),
	whole("lease/store", "add records store text identity group group_batcher"),
	whole("sequence", `
		any any_take calendar close confirm course dated func definition judge local manage pattern period piece plain
		range_size record reserve sequence serial show source supply take tx wait
	`),
	whole("cmd/internal/lessor", "lessor units"),
	whole("cmd/internal/rpc", "forward"),
	some("lease/internal/claim/setup.go", "Kept.String Setup.noteSend Setup.Backoff"),
	some("lease/internal/claim/find.go", "storeClaim.within"),
	some("lease/scope/operator.go", `
		Operator.Show Operator.List Operator.Confirm Operator.Leases Operator.Release Operator.Veto edit
	`),
	whole("lease/internal/answer", "answer"),
	some("lease/scope/region.go", `
		Namespace.region Namespace.key Namespace.add Namespace.fits Namespace.each Namespace.end Namespace.begin
		Namespace.addLeases Namespace.addReserved Namespace.uncovered Namespace.Uncovered Namespace.layouts
		Namespace.History Region.empty Region.ended
	`),
	some("lease/scope/region_functions.go", "ofFunctions Namespace.withoutFunctions Functions.database"),
	some("lease/store/memory.go", "Memory.Swap Memory.Suspect"),
	some("lease/backfill/eras.go", `
		pastEra.holds pastSecond.holds pastSecond.capacity pastSecond.parts slotOf Backfill.servable
	`),
	some("lease/internal/claim/find_pages.go", "finder.ahead finder.unavailable finder.rank"),
	some("scheme.go", "Scheme.Nodes Scheme.Compose Scheme.Tag Scheme.checkTag"),
	some("spread.go", "checkGrant Layout.CheckSpread track.beginTick"),
	whole("compat/internal/process", "set"),
	some("compat/internal/process/fence.go", "fence.least"),
	some("compat/internal/process/handle.go", "Handle.Extend Handle.Close"),
	some("compat/internal/process/waits.go", "waits.out"),
	some("compat/internal/process/number.go", "set.bare number.fits"),
	some("compat/internal/process/part.go", "part.overlaps part.same"),
	some("compat/sonyflake/fence.go", "shows"),
	some("compat/sonyflake/settings.go", "Settings.machine"),
	some("compat/randflake/generate.go", "kindOf"),
	some("compat/randflake/randflake.go", "Generator.GetLeaseInfo"),
	some("compat/idgen/options.go", "IdGeneratorOptions.lead IdGeneratorOptions.check"),
	some("redisstore/workerid/worker.go", "Worker.wish Worker.renewed"),
	some("redisstore/workerid/take.go", "Registrar.checkRange"),
	some("cmd/internal/server/servers.go", "Servers.CheckPeer"),
	some("cmd/internal/server/limit.go", "Leases.checkHeld Leases.checkLate Leases.keepWithin"),
)

// whole returns the files of a folder that are looked at as a whole.
func whole(folder, names string) (files []Scope) {
	for name := range strings.FieldsSeq(names) {
		files = append(files, Scope{File: filepath.Join(folder, name+".go")})
	}
	return files
}

// some returns a file of which some functions are looked at.
func some(file, functions string) []Scope {
	return []Scope{{File: file, Funcs: strings.Fields(functions)}}
}
