package terms

import (
	"bytes"
	"cmp"
	"slices"
)

// applyEdits carries the edits out. At one place, ends come before
// beginnings. Outer texts begin first, and inner texts end first. Find
// returns the outer ones first.
func (f *finder) applyEdits(code []byte) []byte {
	slices.SortFunc(f.edits, func(a, b edit) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.after != b.after:
			return map[bool]int{true: -1, false: 1}[a.after]
		case a.after:
			return cmp.Compare(b.order, a.order)
		}
		return cmp.Or(cmp.Compare(a.del, b.del), cmp.Compare(a.order, b.order))
	})
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		out.Write(code[at:e.at])
		out.WriteString(e.text)
		at = e.at + e.del
	}
	out.Write(code[at:])
	return out.Bytes()
}

// helpers are the functions of instrumented code. Without a chosen mutant
// each returns the code's own value.
const helpers = `
import (
	"cmp"
	"os"
	"strconv"
	"syscall"
)

var mutantChosen, mutantSeen = mutantSetup()

func mutantSetup() (int, []byte) {
	chosen, _ := strconv.Atoi(os.Getenv("SNOWFENCE_MUTANT"))
	file, err := os.OpenFile(os.Getenv("SNOWFENCE_MUTANTS_SEEN"), os.O_RDWR, 0)
	if err != nil {
		return chosen, nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return chosen, nil
	}
	seen, _ := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	return chosen, seen
}

func mutantOn(id int) bool {
	if mutantSeen != nil {
		mutantSeen[id] = 1
	}
	return id == mutantChosen
}

func mutantNot(id int, is bool) bool { return is != mutantOn(id) }

func mutantOrder[T cmp.Ordered](id int, op string, a, b T) (is bool) {
	shifted, negated := mutantOn(id), mutantOn(id+1)
	switch {
	case op == "<" && !shifted, op == "<=" && shifted:
		is = a < b
	case op == "<", op == "<=":
		is = a <= b
	case op == ">" && !shifted, op == ">=" && shifted:
		is = a > b
	default:
		is = a >= b
	}
	return is != negated
}

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func mutantSum[T mutantInteger](id int, op string, a, b T) T {
	switch {
	case mutantOn(id):
		return a
	case op == "+":
		return a + b
	}
	return a - b
}

func mutantMax[T cmp.Ordered](id int, all ...T) T {
	return mutantExtremum(id, all, func(a, b T) T { return max(a, b) })
}

func mutantMin[T cmp.Ordered](id int, all ...T) T {
	return mutantExtremum(id, all, func(a, b T) T { return min(a, b) })
}

func mutantExtremum[T cmp.Ordered](id int, all []T, of func(a, b T) T) T {
	var out T
	found := false
	for i, v := range all {
		switch {
		case mutantOn(id + i):
		case !found:
			out, found = v, true
		default:
			out = of(out, v)
		}
	}
	return out
}
`
