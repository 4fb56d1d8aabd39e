// Package servers starts the real servers that tests need: on free loopback
// ports, with data in temporary folders, stopped by themselves.
//
// A server that is not installed makes a test skip itself, which the strict
// runner of make test counts as a failure. To do without one, set
// SNOWFENCE_LEAVE_OUT=mysql,etcd.
package servers
