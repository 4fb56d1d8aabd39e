/* What the shim asks of the Go part. err is a buffer of size bytes for the text of an error. */
#ifndef SNOWFENCE_PART_H
#define SNOWFENCE_PART_H

#include <stddef.h>
#include <stdint.h>

#define SNOWFENCE_WORDS 4096 /* of the page: the first says that this process is no child, the others are beats */
#define SNOWFENCE_MAGIC 0x5f1d

/* X(name, arguments) */
#define SNOWFENCE_PART(X)                                                                                          \
	X(begin, (uint64_t *page, size_t words, uint64_t **machine))                                               \
	X(open, (const char *store, const char *ns, const char *options, uint64_t *out, char *err, size_t size))   \
	X(open_statefile, (const char *path, const char *layout, int64_t node, const char *options, uint64_t *out, \
	                   char *err, size_t size))                                                                \
	X(open_static,                                                                                             \
	  (const char *layout, int64_t node, const char *options, uint64_t *out, char *err, size_t size))          \
	X(next, (uint64_t handle, int64_t *id, char *err, size_t size))                                            \
	X(next_for, (uint64_t handle, int64_t tag, int64_t *id, char *err, size_t size))                           \
	X(tag, (uint64_t handle, int64_t id, int64_t tag, int64_t *tagged, char *err, size_t size))                \
	X(fill, (uint64_t handle, int64_t *ids, size_t n, size_t *made, char *err, size_t size))                   \
	X(take, (uint64_t handle, int64_t *ids, size_t n, size_t *made, char *err, size_t size))                   \
	X(close, (uint64_t handle, char *err, size_t size))                                                        \
	X(sequence_open, (const char *store, const char *name, uint64_t *out, char *err, size_t size))             \
	X(sequence_next, (uint64_t handle, int64_t *number, char *err, size_t size))                               \
	X(sequence_serial, (uint64_t handle, char *buf, size_t room, size_t *length, char *err, size_t size))       \
	X(sequence_close, (uint64_t handle, char *err, size_t size))                                               \
	X(decode, (const char *layout, int64_t id, int64_t *parts, char *err, size_t size))                        \
	X(decode_own, (uint64_t handle, int64_t id, int64_t *parts, char *err, size_t size))                       \
	X(ranges, (const char *layout, int64_t from, int64_t to, int64_t tag, int64_t *buf, size_t n,             \
	           size_t *written, char *err, size_t size))                                                       \
	X(format, (int64_t id, const char *encoding, char *buf, size_t room, size_t *length, char *err, size_t size)) \
	X(parse, (const char *text, const char *encoding, int64_t *id, char *err, size_t size))                    \
	X(drift_register,                                                                                          \
	  (const char *address, const char *password, int32_t db, const char *master, int32_t min, int32_t max,    \
	   int32_t count, int32_t life, int32_t *numbers, char *err, size_t size))                                 \
	X(drift_unregister, (char *err, size_t size))                                                              \
	X(drift_validate, (int32_t worker, int32_t *held, char *err, size_t size))                                 \
	X(drift_set, (uint32_t worker, uint8_t worker_bits, uint8_t seq_bits, char *err, size_t size))             \
	X(drift_next, (int64_t *id, char *err, size_t size))

#endif
