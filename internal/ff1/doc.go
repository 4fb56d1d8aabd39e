// Package ff1 is FF1, the format-preserving encryption of NIST Special
// Publication 800-38G, over the AES of the standard library, for numbers of
// 20 to 64 bits: a permutation of the numbers below 2^n under a key. It is
// there for encrypted IDs that are no 64-bit block, such as positive ones
// (63 bits, or fewer beside a key number) and those that a JavaScript
// number holds (53 bits).
//
// # The mode
//
// The source is SP 800-38G (Dworkin, March 2016,
// https://doi.org/10.6028/NIST.SP.800-38G), algorithms 6 (the function
// PRF), 7 (FF1.Encrypt) and 8 (FF1.Decrypt). Its Revision 1 (second public
// draft, February 2025, https://csrc.nist.gov/pubs/sp/800/38/g/r1/2pd)
// turns the recommendation of at least a million possible inputs into a
// requirement: hence the 20 bits. FF1 is general in the radix; here it is
// 2.
//
// The numeral string X of the standard is the number in binary, exactly n
// digits, the most significant first. Then with
//
//	u, v   = floor(n/2), n - floor(n/2)   digits in the left half A and in the right half B, at first
//	b      = ceil(v/8)                    bytes that hold a half, 2 to 4 here
//	d      = 4*ceil(b/4) + 4              bytes of the round function that count, 8 here
//	T, t                                  the tweak and its length in bytes
//
// and with numbers written as many bytes as the exponent says, the highest
// first, there are ten rounds, i from 0 to 9:
//
//	P      = 1^1 || 2^1 || 1^1 || 2^3 || 10^1 || u^1 || n^4 || t^4
//	Q      = T || zeros || i^1 || B^b     as many zeros as make whole blocks of 16 bytes
//	y      = the first d bytes of PRF(P || Q)
//	A, B   = B, (A + y) mod 2^m           m is u in even rounds and v in odd ones
//
// PRF is the last block of CBC encryption with an initial vector of zeros.
// To decrypt, the rounds run backwards and subtract.
//
// # Differences
//
// All blocks of P || Q but the last are the same for all numbers and
// rounds, and of the last only the low b+1 bytes change, which is at most
// five. So the chain of the earlier blocks, xored with the constant part of
// the last one, is worked out once, and a round is one AES block. Only the
// low four of the d bytes of y are needed, because no half has more than 32
// digits and reducing modulo 2^m is a mask.
//
// The rounds of a number wait for each other: each waits for AES.
// EncryptAll therefore takes a few numbers at a time through each round,
// which lets the processor overlap their blocks. That is the same AES,
// called in another order.
//
// # Promises
//
// Whatever the key and the tweak, distinct numbers give distinct ones: that
// is the structure (a Feistel network) and needs no assumption. How well it
// hides them is a matter of the domain. The message-recovery attacks that
// led to the million (Bellare, Hoang and Tessaro, "Message-Recovery Attacks
// on Feistel-Based Format Preserving Encryption", CCS 2016; Hoang, Tessaro
// and Trieu, "The Curse of Small Domains", Crypto 2018) compare messages
// under a great many tweaks, and a cipher here has one. But a caller with
// both calls keeps its pairs, and over 20 bits a table of all pairs is
// small. A result is not authenticated: any number decrypts to some
// number.
//
// # Constant time
//
// The arithmetic here is additions, subtractions, masks, xors, and shifts
// by the number of bits, which is no secret: no tables, and no branches or
// addresses that depend on a key or on a number.
//
// AES is crypto/aes, and takes a constant time where that uses instructions
// of the processor: amd64 with AES-NI, arm64 with the AES extension, ppc64,
// ppc64le, and s390x with its cipher functions. On any other machine, on
// those without the instructions, and with the build tag purego, it looks
// up tables at secret places, and a program that shares the processor's
// caches can in principle learn the key.
package ff1
