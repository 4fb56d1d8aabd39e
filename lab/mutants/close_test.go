package mutants

// closeMutants break the rules of Close, Shutdown and Release, one term
// each.
var closeMutants = []mutant{
	m("close: nothing is handed out after the seal", "lease.Lease.stop", "TestCloseOfAStoreThatHangs",
		drop("l.use.spent = true")),
	m("close: the lease seals its generator", "lease.Lease.stop", "TestCloseOfAStoreThatHangs", swap("used (2)", "_"),
		swap("seal()", "seal")),
	m("release: a pending acquisition stays until it is back", "lease/internal/claim.storeClaim.abandonAcquire",
		"TestShutdownOfAnAcquisitionWithoutAnAnswer",
		before(`return fmt.Errorf("lease: giving`, "c.held = nil")).in("./lease"),
}
