//go:build !purego

#include "textflag.h"

// func rndr() (number uint64, ok bool)
TEXT ·rndr(SB), NOSPLIT, $0-9
	WORD $0xd53b2400 // MRS R0, RNDR: sets Z if there is none
	CSET NE, R1
	MOVD R0, number+0(FP)
	MOVB R1, ok+8(FP)
	RET
