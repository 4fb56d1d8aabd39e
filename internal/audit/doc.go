// Package audit checks any stream of 64-bit IDs, from this or any other
// system: are they unique, in order, and, where they should look random,
// evenly spread?
//
//	a, err := audit.New(audit.Options{Scheme: scheme})
//	err = a.Add(ids...) // as often as there are more
//	result, err := a.Result(ctx)
//	fmt.Println(result.Count, result.Duplicates.IDs)
//
// [Read] takes IDs out of text, tables, JSON lines or bytes.
//
// # Exact, in bounded memory
//
// Every answer is exact; nothing is sampled. IDs that came in order, the
// usual case, are checked by one look at them, however many there are.
// Others have to fit into [Memory] twice: in the order in which
// they came, and sorted. Sorting finds which IDs are there more than once,
// and how often. Their positions follow from a second look that searches
// for just those few IDs.
package audit
