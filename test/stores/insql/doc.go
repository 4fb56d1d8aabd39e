// Package insql tests the functions that snowfence sql prints, inside real
// databases.
//
// For each database there are files of one pattern. base has a database
// with the functions and the table orders. probes lists the questions, and
// the files beside it ask them. mutants breaks each term of the text and
// asks the probes. The test itself adds crowds, kills and restored data.
// The files of serial do so for the functions that take numbers of
// sequences.
package insql
