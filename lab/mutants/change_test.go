package mutants

// changeMutants are the rules of what a namespace has been, and of the
// nodes that can be leased in it: a term each.
var changeMutants = []mutant{
	m("unit: a record of the old unit says nothing of the new one", "lease/scope.change.reunit", "^TestScripts$",
		drop("ns.Since =")).in("./lease/internal/claim"),
}
