/*
 * snowdrift.h: the C calls of snow-drift (yitter/IdGenerator), over Snowfence.
 *
 *	int32_t worker = RegisterOne("127.0.0.1:6379", "", 0, "", 32, 63, 15);
 *	SetWorkerId(worker);
 *	int64_t id = NextId();      // 0 or less: snowfence_last_error says why
 *
 * Link with -lsnowdrift -lsnowfence. IDs have the bits of the original, and worker numbers have its
 * keys in Redis, which is best effort: docs/move/snow-drift.md says what is not promised.
 * What snowfence.h says about threads and fork holds here too.
 */
#ifndef SNOWDRIFT_H
#define SNOWDRIFT_H

#include "snowfence.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gives back what this process has, ends its generator, and takes a worker number from Redis. It
 * returns the number, -2 for a configuration that cannot be used, and -1 when no number was got.
 * address is the server's, or the addresses of sentinels or of a cluster, with commas. master is
 * what the sentinels call the server, or "". life is at least 3 seconds. */
int32_t RegisterOne(const char *address, const char *password, int32_t db, const char *master, int32_t min,
                    int32_t max, int32_t life);

/* Takes count numbers into a buffer with room for them, with -1 in place of each that was not got.
 * Returns how many were got, or -2. (The original returns memory of Go, which C cannot read.) */
int32_t RegisterMany(const char *address, const char *password, int32_t db, const char *master, int32_t min,
                     int32_t max, int32_t count, int32_t life, int32_t *numbers);

/* Ends the generator, and gives all numbers back. */
void UnRegister(void);

/* Returns 1 while this process holds the number, and else 0. */
int32_t Validate(int32_t worker);

/* Sets the worker number of NextId. A process that took numbers from Redis makes IDs only with one
 * that it holds; when that one is lost, NextId goes on with another number of the range. Any other
 * process has a bare number, which must not be used elsewhere. After an error NextId fails. */
void SetWorkerId(uint32_t worker);

/* The same with lengths in bits; 0 means the default of 6. It has the parameters of the Rust port.
 * Programs of the Go port, which gives it the worker alone, call SetWorkerId. */
void SetOptions(uint32_t worker, uint8_t worker_bits, uint8_t seq_bits);

/* Returns a new ID; on failure, a status of snowfence.h with a minus, or 0. */
int64_t NextId(void);

#ifdef __cplusplus
}
#endif

#endif
