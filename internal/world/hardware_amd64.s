//go:build !purego

#include "textflag.h"

// func rdrand() (number uint64, ok bool)
TEXT ·rdrand(SB), NOSPLIT, $0-9
	MOVL $10, CX

again:
	RDRANDQ AX
	JCS     drawn
	DECL    CX
	JNZ     again
	XORL    AX, AX
	MOVQ    AX, number+0(FP)
	MOVB    $0, ok+8(FP)
	RET

drawn:
	MOVQ AX, number+0(FP)
	MOVB $1, ok+8(FP)
	RET

// func hasRDRAND() bool
TEXT ·hasRDRAND(SB), NOSPLIT, $0-1
	MOVL  $1, AX
	XORL  CX, CX
	CPUID
	BTL   $30, CX
	SETCS ret+0(FP)
	RET
