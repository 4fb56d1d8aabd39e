// Package audit checks any stream of 64-bit IDs, from this or any other system:
// are they unique, in order, and, where they should look random, evenly spread?
//
//	a, err := audit.New(audit.Options{Scheme: scheme})
//	defer a.Close()
//	err = a.Add(ids...) // as often as there are more
//	result, err := a.Result(ctx)
//	fmt.Println(result.Count, result.Duplicates.IDs)
//
// [Read] takes IDs out of text, tables, JSON lines or bytes.
//
// # Exact, in bounded memory
//
// Every answer is exact; nothing is sampled. An [Auditor] keeps the IDs, 8
// bytes each, in the order in which they came: in memory up to half of
// [Options.Memory], and in a temporary file beyond. IDs that came in order, the
// usual case, are checked by one look at them. Others are sorted in parts that
// fit the memory, and the sorted parts are merged. Sorting finds which IDs are
// there more than once, and how often. Since the order of arrival was kept and
// not sorted away, their positions follow from a second look that searches for
// just those few IDs, also when the IDs came from a pipe, which cannot be read
// twice.
package audit
