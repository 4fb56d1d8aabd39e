// Libsnowfence is the Go part of the C library. Build it with "make lib";
// programs link the shim in the folder c, which loads it at the first call
// that needs it.
//
// Only what C can hold crosses the border: numbers, and the buffers of the
// caller. The work of the calls is in package clib.
package main

/*
#include <stddef.h>
#include <stdint.h>
*/
import "C"

import (
	"fmt"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/cmd/internal/clib"
	"github.com/snowfence/snowfence/internal/world"
)

// The library of the process: C has no other place to keep it.
var (
	lib   atomic.Pointer[clib.Library]
	texts clib.Texts
	drift clib.Drift
)

func main() {} // a C library has to have one

// finish turns the end of a call into a status, and writes the text of the
// error to C. It is deferred, so that a panic becomes a status and not the
// end of the program.
func finish(status *C.int, err *error, buf *C.char, size C.size_t) {
	if r := recover(); r != nil {
		*status = C.int(clib.Internal)
		writeText(buf, size, fmt.Sprintf("a defect of the library, please report it: %v", r))
	} else if *err != nil {
		*status = C.int(clib.StatusOf(*err))
		writeText(buf, size, clib.TextOf(*err))
	}
}

// writeText writes a text with a zero at its end, cut between two
// characters if it is too long.
func writeText(buf *C.char, size C.size_t, text string) {
	if size == 0 {
		return
	}
	if len(text) >= int(size) {
		text = strings.ToValidUTF8(text[:size-1], "")
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(buf)), int(size))
	to[copy(to, text)] = 0
}

// mostIDs is more than any memory holds. Its bytes do not overflow.
const mostIDs = 1 << 48

//export snowfence_go_begin
func snowfence_go_begin(page *C.uint64_t, words C.size_t, machine **C.uint64_t) C.int {
	words64 := unsafe.Slice((*uint64)(unsafe.Pointer(page)), int(words))
	if !lib.CompareAndSwap(nil, clib.NewLibrary(words64)) {
		return C.int(clib.Taken) // its handles would be another shim's
	}
	if counter, err := world.Counter(world.VMClock); err == nil {
		*machine = (*C.uint64_t)(unsafe.Pointer(counter)) // in a page of the device, never unmapped
	}
	return C.int(clib.OK)
}

//export snowfence_go_open
func snowfence_go_open(store, ns, options *C.char, out *C.uint64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	h, err := lib.Load().Open(C.GoString(store), C.GoString(ns), C.GoString(options))
	*out = C.uint64_t(h)
	return status
}

//export snowfence_go_open_statefile
func snowfence_go_open_statefile(path, layout *C.char, node C.int64_t, options *C.char, out *C.uint64_t,
	msg *C.char, size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	h, err := lib.Load().OpenStateFile(C.GoString(path), C.GoString(layout), int64(node), C.GoString(options))
	*out = C.uint64_t(h)
	return status
}

//export snowfence_go_open_static
func snowfence_go_open_static(layout *C.char, node C.int64_t, options *C.char, out *C.uint64_t, msg *C.char,
	size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	h, err := lib.Load().OpenStatic(C.GoString(layout), int64(node), C.GoString(options))
	*out = C.uint64_t(h)
	return status
}

//export snowfence_go_next
func snowfence_go_next(h C.uint64_t, id *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	made, err := lib.Load().Next(clib.Handle(h))
	if err == nil {
		*id = C.int64_t(made)
	}
	return status
}

//export snowfence_go_next_for
func snowfence_go_next_for(h C.uint64_t, tag C.int64_t, id *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	made, err := lib.Load().NextFor(clib.Handle(h), int64(tag))
	if err == nil {
		*id = C.int64_t(made)
	}
	return status
}

//export snowfence_go_tag
func snowfence_go_tag(h C.uint64_t, id, tag C.int64_t, tagged *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	made, err := lib.Load().Tag(clib.Handle(h), snowfence.ID(id), int64(tag))
	if err == nil {
		*tagged = C.int64_t(made)
	}
	return status
}

//export snowfence_go_fill
func snowfence_go_fill(h C.uint64_t, buf *C.int64_t, n C.size_t, made *C.size_t, msg *C.char,
	size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	ids, err := idsOf(buf, n)
	if err != nil {
		return status
	}
	count, err := lib.Load().Fill(clib.Handle(h), ids)
	*made = C.size_t(count)
	return status
}

// idsOf returns the caller's buffer.
func idsOf(buf *C.int64_t, n C.size_t) ([]snowfence.ID, error) {
	if n > mostIDs {
		return nil, clib.InvalidError("%d IDs at once: at most %d", uint64(n), uint64(mostIDs))
	}
	return unsafe.Slice((*snowfence.ID)(unsafe.Pointer(buf)), int(n)), nil
}

//export snowfence_go_take
func snowfence_go_take(h C.uint64_t, buf *C.int64_t, n C.size_t, made *C.size_t, msg *C.char,
	size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	ids, err := idsOf(buf, n)
	if err != nil {
		return status
	}
	count, err := lib.Load().Take(clib.Handle(h), ids)
	*made = C.size_t(count)
	return status
}

//export snowfence_go_close
func snowfence_go_close(h C.uint64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	err = lib.Load().Close(clib.Handle(h))
	return status
}

//export snowfence_go_sequence_open
func snowfence_go_sequence_open(store, name *C.char, out *C.uint64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	h, err := lib.Load().OpenSequence(C.GoString(store), C.GoString(name))
	*out = C.uint64_t(h)
	return status
}

//export snowfence_go_sequence_next
func snowfence_go_sequence_next(h C.uint64_t, number *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	n, err := lib.Load().NextNumber(clib.Handle(h))
	if err == nil {
		*number = C.int64_t(n)
	}
	return status
}

//export snowfence_go_sequence_serial
func snowfence_go_sequence_serial(h C.uint64_t, buf *C.char, room C.size_t, length *C.size_t, msg *C.char,
	size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	to := unsafe.Slice((*byte)(unsafe.Pointer(buf)), int(min(room, mostText)))
	n, err := lib.Load().NextSerial(clib.Handle(h), to)
	*length = C.size_t(n)
	return status
}

//export snowfence_go_sequence_close
func snowfence_go_sequence_close(h C.uint64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	err = lib.Load().CloseSequence(clib.Handle(h))
	return status
}

//export snowfence_go_decode
func snowfence_go_decode(layout *C.char, id C.int64_t, parts *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	p, err := texts.Decode(C.GoString(layout), snowfence.ID(id))
	if err == nil {
		writeParts(parts, p)
	}
	return status
}

//export snowfence_go_decode_own
func snowfence_go_decode_own(h C.uint64_t, id C.int64_t, parts *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	p, err := lib.Load().Decode(clib.Handle(h), snowfence.ID(id))
	if err == nil {
		writeParts(parts, p)
	}
	return status
}

// writeParts writes the fields of snowfence_parts_t, in its order.
func writeParts(to *C.int64_t, p snowfence.Parts) {
	*(*[9]int64)(unsafe.Pointer(to)) = [9]int64{
		p.Tick, p.Time.Unix(), int64(p.Time.Nanosecond()), p.Node, p.Sequence, p.Rollback, int64(p.Key),
		p.Scatter, p.Tag,
	}
}

//export snowfence_go_ranges
func snowfence_go_ranges(layout *C.char, from, to, tag C.int64_t, buf *C.int64_t, n C.size_t, written *C.size_t,
	msg *C.char, size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	dst := unsafe.Slice((*[2]snowfence.ID)(unsafe.Pointer(buf)), int(min(n, mostIDs/2)))
	count, err := texts.Ranges(C.GoString(layout), int64(from), int64(to), int64(tag), dst)
	*written = C.size_t(count)
	return status
}

//export snowfence_go_format
func snowfence_go_format(id C.int64_t, encoding, buf *C.char, room C.size_t, length *C.size_t, msg *C.char,
	size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	to := unsafe.Slice((*byte)(unsafe.Pointer(buf)), int(min(room, mostText)))
	n, err := texts.Format(snowfence.ID(id), C.GoString(encoding), to)
	*length = C.size_t(n)
	return status
}

// mostText is more than the text of any ID.
const mostText = 1024

//export snowfence_go_parse
func snowfence_go_parse(text, encoding *C.char, id *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	parsed, err := texts.Parse(C.GoString(text), C.GoString(encoding))
	if err == nil {
		*id = C.int64_t(parsed)
	}
	return status
}
