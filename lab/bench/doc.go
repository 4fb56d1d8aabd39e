// Package bench measures Snowfence and other ID libraries side by side, in
// one run and by one stopwatch. It has nothing to import: it is tests and
// benchmarks, in a module of its own so that no user of Snowfence ever
// downloads the others.
//
// make bench runs it and writes docs/prove/benchmarks.md.
package bench
