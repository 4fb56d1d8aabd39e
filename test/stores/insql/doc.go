// Package insql tests the functions that snowfence sql prints, inside real
// databases.
//
// A base is a database with the functions and the table orders. lists has
// the probes of each database: the files beside it look for one kind of
// mistake each. The files of mutants break each term of a text, which its
// probe has to notice. The tests of a database add crowds, kills and
// restored data. The files of serial do so for the functions that take
// numbers of sequences.
package insql
