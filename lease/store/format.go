package store

// Format numbers what programs keep in a store, and how. A release that changes it raises the
// number. A program refuses a namespace of a later one, and raises an earlier one only while no
// server of an earlier one runs: the two would take each other's writes for a restore.
const Format = 1

// Servers is the name under which servers keep records of themselves. No namespace can have it. The
// Generation of such a record is the Format of the server.
const Servers = "##servers"
