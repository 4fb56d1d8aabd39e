package doctor

// Names of results. Scripts know them, so they stay.
const (
	ClockSync           = "clock-sync"
	ClockOffset         = "clock-offset"
	StoreMissing        = "store-missing"
	StoreUnusable       = "store-unusable"
	StoreRestored       = "store-restored"
	StoreVersion        = "store-version"
	StoreDurability     = "store-durability"
	StoreRights         = "store-rights"
	StoreFileSystem     = "store-file-system"
	StoreIdentity       = "store-identity"
	NamespaceChanging   = "namespace-changing"
	NamespaceWaits      = "namespace-waits"
	NamespaceRolledBack = "namespace-rolled-back"
	LayoutEnds          = "layout-ends"
	NodesLeft           = "nodes-left"
	NodeVetoed          = "node-vetoed"
	HolderLate          = "holder-late"
	HolderClock         = "holder-clock"
	SequenceRolledBack  = "sequence-rolled-back"
	SequenceEnds        = "sequence-ends"
	Settings            = "settings"
	CertificateEnds     = "certificate-ends"
	TokenEnds           = "token-ends"
	FileReadable        = "file-readable"
)
