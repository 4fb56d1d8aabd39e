// Package compat tests the layers in compat/ against the libraries of their
// API: their own test files run against the layers, and IDs and texts are
// compared both ways. A file a library.
package compat
