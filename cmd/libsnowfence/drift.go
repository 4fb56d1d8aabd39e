package main

/*
#include <stddef.h>
#include <stdint.h>
*/
import "C"

import (
	"unsafe"

	"github.com/snowfence/snowfence/cmd/internal/clib"
)

//export snowfence_go_drift_register
func snowfence_go_drift_register(address, password *C.char, db C.int32_t, master *C.char,
	minimum, maximum, count, life C.int32_t, numbers *C.int32_t, msg *C.char, size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	got, err := drift.Register(clib.Registration{
		Address: C.GoString(address), Password: C.GoString(password), MasterName: C.GoString(master), DB: int32(db),
		Min: int32(minimum), Max: int32(maximum), Count: int32(count), Life: int32(life),
	})
	copy(unsafe.Slice((*int32)(unsafe.Pointer(numbers)), max(count, 1)), got)
	return status
}

//export snowfence_go_drift_unregister
func snowfence_go_drift_unregister(msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	err = drift.UnRegister()
	return status
}

//export snowfence_go_drift_validate
func snowfence_go_drift_validate(worker C.int32_t, held *C.int32_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	if drift.Validate(int32(worker)) {
		*held = 1
	}
	return status
}

//export snowfence_go_drift_set
func snowfence_go_drift_set(worker C.uint32_t, workerBits, seqLen C.uint8_t, msg *C.char,
	size C.size_t,
) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	err = drift.SetOptions(uint32(worker), uint8(workerBits), uint8(seqLen))
	return status
}

//export snowfence_go_drift_next
func snowfence_go_drift_next(id *C.int64_t, msg *C.char, size C.size_t) (status C.int) {
	var err error
	defer finish(&status, &err, msg, size)
	made, err := drift.NextID()
	if err == nil {
		*id = C.int64_t(made)
	}
	return status
}
