package store

// Format is the version of what programs keep in a store, and how. A release that changes it raises
// the number. A program refuses a namespace with a later number. It raises an earlier number only
// while no server of that format runs: each would take the other's writes for a restored backup.
const Format = 1

// Servers is the name under which servers keep records of themselves. No namespace can have it. The
// Generation of such a record is the Format of the server.
const Servers = "##servers"
