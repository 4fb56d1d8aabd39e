package store

// Format is the version of the data in a store. A release that changes it
// raises the number, and a program refuses a namespace with a later one.
const Format = 1

// Servers is the name under which servers keep records of themselves. No
// namespace can have it.
const Servers = "##servers"
