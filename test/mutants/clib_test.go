package mutants

const clibPackage = "github.com/snowfence/snowfence/cmd/internal/clib"

// clibMutants break when the beat of the C library rises, which ends what rings hold, and which
// handles and numbers are refused. What the shim and the header check, test/clib breaks.
var clibMutants = []mutant{
	{
		rule: "clib: the beat rises after takes", file: "cmd/internal/clib/beat.go",
		old: "\t\ttime.AfterFunc(beatEvery, b.raise)\n", now: "", pkg: clibPackage,
		test: "^TestTheBeatRisesAfterTakes$",
	},
	{
		rule: "clib: a take announces a rise", file: "cmd/internal/clib/generator.go",
		old: "\tg.beat.mark()\n", now: "", pkg: clibPackage, test: "^TestTheBeatRisesAfterTakes$",
	},
	{
		rule: "clib: and after that rise the next one", file: "cmd/internal/clib/beat.go",
		old: "due != now &&", now: "due == 0 &&", pkg: clibPackage, test: "^TestTheBeatRisesAfterTakes$",
	},
	{
		rule: "clib: the beat rises at a loss", file: "cmd/internal/clib/fence.go",
		old: "\t\tused := seal()\n\t\tw.beat.raise()\n", now: "\t\tused := seal()\n", pkg: clibPackage,
		test: "^TestLossRaisesTheBeatAfterTheSeal$",
	},
	{
		rule: "clib: and not before the seal", file: "cmd/internal/clib/fence.go",
		old: "\t\tused := seal()\n\t\tw.beat.raise()\n", now: "\t\tw.beat.raise()\n\t\tused := seal()\n",
		pkg: clibPackage, test: "^TestLossRaisesTheBeatAfterTheSeal$",
	},
	{
		rule: "clib: the beat rises at another grant", file: "cmd/internal/clib/fence.go",
		old: "if g != w.last {", now: "if false {", pkg: clibPackage, test: "^TestAnotherGrantRaisesTheBeat$",
	},
	{
		rule: "clib: the beat rises at close", file: "cmd/internal/clib/generator.go",
		old: "\te.ids.beat.raise() //", now: "\t//", pkg: clibPackage, test: "^TestCloseRaisesTheBeat$",
	},
	{
		rule: "clib: no ring reads 0", file: "cmd/internal/clib/generator.go", old: "\tb.raise() //", now: "\t//",
		pkg: clibPackage, test: "^TestTheBeatIsNeverZero$",
	},
	{
		rule: "clib: a handle is of its generation", file: "cmd/internal/clib/handles.go",
		old: "e.handle == h", now: "true", pkg: clibPackage, test: "^TestHandles$",
	},
	{
		rule: "clib: a handle is of its kind", file: "cmd/internal/clib/handles.go",
		old: "if h>>48 == magic && (h&sequenceOf != 0) == sequence &&", now: "if h>>48 == magic &&", pkg: clibPackage,
		test: "^TestHandles$",
	},
	{
		rule: "clib: a static number is open once", file: "cmd/internal/clib/open.go",
		old: "\t\tl.statics[key] = fence\n", now: "", pkg: clibPackage, test: "^TestTheSameNumberTwiceInOneProcess$",
	},
	{
		rule: "clib: a closed handle makes nothing", file: "cmd/internal/clib/handles.go",
		old: " && !e.closed.Load() {", now: " {", pkg: clibPackage, test: "^TestAClosingHandleMakesNothing$",
	},
	{
		rule: "clib: a seal reaches the generator", file: "cmd/internal/clib/fence.go",
		old: "\t\tused := seal()\n", now: "\t\tvar used int64\n", pkg: clibPackage,
		test: "^TestLossRaisesTheBeatAfterTheSeal$",
	},
	{
		rule: "clib: a fence is bound once", file: "cmd/internal/clib/fence.go",
		old: "\tif !ok {\n", now: "\tif !ok || true {\n", pkg: clibPackage,
		test: "^TestTheSameNumberTwiceInOneProcess$",
	},
	{
		rule: "clib: a bare number ends when the process registers", file: "cmd/internal/clib/drift.go",
		old: "\tif err := d.end(); err != nil {", now: "\tif err := error(nil); err != nil {", pkg: clibPackage,
		test: "^TestDriftBareNumbersEndAtRegistration$",
	},
	{
		rule: "clib: and none begins afterwards", file: "cmd/internal/clib/drift.go",
		old: "\td.registered = true\n", now: "", pkg: clibPackage, test: "^TestDriftBareNumbersEndAtRegistration$",
	},
	{
		rule: "clib: no ID of the options before those that were refused", file: "cmd/internal/clib/drift.go",
		old: "\td.ready.Store(err == nil)\n", now: "\td.ready.Store(true)\n", pkg: clibPackage,
		test: "^TestDriftOptions$",
	},
	{
		rule: "clib: bare worker numbers have 16 bits", file: "cmd/internal/clib/drift.go",
		old: "if s.worker > 1<<16-1 {", now: "if false {", pkg: clibPackage, test: "^TestDriftOptions$",
	},
}
