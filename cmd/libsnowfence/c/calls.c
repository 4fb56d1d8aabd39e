/* The calls of snowfence.h. Each looks for a fork and for NULL, and then asks the Go part. */
#include <stdio.h>
#include <string.h>

#include "shim.h"

_Thread_local char last[1024];

int fail(int status, const char *text)
{
	snprintf(last, sizeof last, "%s", text);
	return status;
}

#ifdef SNOWFENCE_ARCHIVE
#define DECLARE(name, args) extern int snowfence_go_##name args;
SNOWFENCE_PART(DECLARE)
#define ENTRY(name, args) .name = snowfence_go_##name,
#else
#define ENTRY(name, args)
#endif

struct part part = {SNOWFENCE_PART(ENTRY)};

int missing(const char *what)
{
	char text[128];

	snprintf(text, sizeof text, "%s is NULL: give an address to write to", what);
	return fail(SNOWFENCE_INVALID, text);
}

int enter_with(const void *handle)
{
	TRY(check_fork());
	if (handle == NULL)
		return fail(SNOWFENCE_INVALID, "the handle is NULL: use what an open call stored");
	if (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 0)
		return fail(SNOWFENCE_INVALID, "the handle is not of this library: nothing was opened yet");
	return SNOWFENCE_OK;
}

EXPORT int snowfence_abi_version(void) { return SNOWFENCE_ABI_VERSION; }

EXPORT const char *snowfence_strerror(int status)
{
	switch (status) {
	case SNOWFENCE_OK: return "success";
	case SNOWFENCE_FENCED: return "no grant is held";
	case SNOWFENCE_EXHAUSTED: return "no ID could be made within max-wait";
	case SNOWFENCE_LIFETIME: return "outside the lifetime of the layout";
	case SNOWFENCE_INVALID: return "an argument is wrong";
	case SNOWFENCE_CLOSED: return "the handle was closed";
	case SNOWFENCE_FORKED: return "the process was forked after the library was used";
	case SNOWFENCE_STORE: return "the store or state file cannot be used";
	case SNOWFENCE_TAKEN: return "another process has it";
	case SNOWFENCE_NOT_LOADED: return "libsnowfence-go.so cannot be loaded";
	case SNOWFENCE_TOO_SMALL: return "the buffer is too small";
	case SNOWFENCE_TOO_MANY: return "too many handles are open";
	case SNOWFENCE_ENDED: return "all numbers were given out";
	case SNOWFENCE_ROLLED_BACK: return "the store may have lost numbers that were given out";
	case SNOWFENCE_INTERNAL: return "a defect of the library";
	}
	return "unknown status";
}

EXPORT size_t snowfence_last_error(char *buf, size_t size)
{
	if (buf != NULL && size > 0)
		snprintf(buf, size, "%s", last);
	return strlen(last);
}

EXPORT int snowfence_open(const char *store, const char *ns, const char *options, snowfence_t **out)
{
	uint64_t handle = 0;

	NEED(out);
	*out = NULL;
	TRY(enter());
	TRY(part.open(store, ns, options, &handle, last, sizeof last));
	*out = HANDLE(handle);
	return SNOWFENCE_OK;
}

EXPORT int snowfence_open_statefile(const char *path, const char *layout, int64_t node, const char *options,
                                    snowfence_t **out)
{
	uint64_t handle = 0;

	NEED(out);
	*out = NULL;
	TRY(enter());
	TRY(part.open_statefile(path, layout, node, options, &handle, last, sizeof last));
	*out = HANDLE(handle);
	return SNOWFENCE_OK;
}

EXPORT int snowfence_open_static(const char *layout, int64_t node, const char *options, snowfence_t **out)
{
	uint64_t handle = 0;

	NEED(out);
	*out = NULL;
	TRY(enter());
	TRY(part.open_static(layout, node, options, &handle, last, sizeof last));
	*out = HANDLE(handle);
	return SNOWFENCE_OK;
}

EXPORT int snowfence_next(snowfence_t *ids, int64_t *id)
{
	TRY(enter_with(ids));
	NEED(id);
	return part.next(NUMBER(ids), id, last, sizeof last);
}

EXPORT int snowfence_next_for(snowfence_t *ids, int64_t tag, int64_t *id)
{
	TRY(enter_with(ids));
	NEED(id);
	return part.next_for(NUMBER(ids), tag, id, last, sizeof last);
}

EXPORT int snowfence_tag(snowfence_t *ids, int64_t id, int64_t tag, int64_t *tagged)
{
	TRY(enter_with(ids));
	NEED(tagged);
	return part.tag(NUMBER(ids), id, tag, tagged, last, sizeof last);
}

EXPORT int snowfence_fill(snowfence_t *ids, int64_t *buf, size_t n, size_t *made)
{
	size_t ignored;

	if (made == NULL)
		made = &ignored;
	*made = 0;
	TRY(enter_with(ids));
	if (n > 0)
		NEED(buf);
	return part.fill(NUMBER(ids), buf, n, made, last, sizeof last);
}

EXPORT int snowfence_close(snowfence_t *ids)
{
	TRY(enter_with(ids));
	return part.close(NUMBER(ids), last, sizeof last);
}

EXPORT int snowfence_sequence_open(const char *store, const char *name, snowfence_sequence_t **out)
{
	uint64_t handle = 0;

	NEED(out);
	*out = NULL;
	TRY(enter());
	TRY(part.sequence_open(store, name, &handle, last, sizeof last));
	*out = HANDLE(handle);
	return SNOWFENCE_OK;
}

EXPORT int snowfence_sequence_next(snowfence_sequence_t *sequence, int64_t *number)
{
	TRY(enter_with(sequence));
	NEED(number);
	return part.sequence_next(NUMBER(sequence), number, last, sizeof last);
}

EXPORT int snowfence_sequence_serial(snowfence_sequence_t *sequence, char *buf, size_t size, size_t *length)
{
	size_t ignored;

	TRY(enter_with(sequence));
	if (size > 0)
		NEED(buf);
	return part.sequence_serial(NUMBER(sequence), buf, size, length != NULL ? length : &ignored, last, sizeof last);
}

EXPORT int snowfence_sequence_close(snowfence_sequence_t *sequence)
{
	TRY(enter_with(sequence));
	return part.sequence_close(NUMBER(sequence), last, sizeof last);
}

EXPORT int snowfence_decode(const char *layout, int64_t id, snowfence_parts_t *parts)
{
	NEED(parts);
	TRY(enter());
	return part.decode(layout, id, (int64_t *)parts, last, sizeof last);
}

EXPORT int snowfence_decode_own(snowfence_t *ids, int64_t id, snowfence_parts_t *parts)
{
	TRY(enter_with(ids));
	NEED(parts);
	return part.decode_own(NUMBER(ids), id, (int64_t *)parts, last, sizeof last);
}

EXPORT int snowfence_ranges(const char *layout, int64_t from, int64_t to, int64_t tag, snowfence_range_t *ranges,
                            size_t n, size_t *written)
{
	NEED(written);
	*written = 0;
	if (n > 0)
		NEED(ranges);
	TRY(enter());
	return part.ranges(layout, from, to, tag, (int64_t *)ranges, n, written, last, sizeof last);
}

EXPORT int snowfence_format(int64_t id, const char *encoding, char *buf, size_t size, size_t *length)
{
	size_t ignored;

	if (size > 0)
		NEED(buf);
	TRY(enter());
	return part.format(id, encoding, buf, size, length != NULL ? length : &ignored, last, sizeof last);
}

EXPORT int snowfence_parse(const char *text, const char *encoding, int64_t *id)
{
	NEED(id);
	if (text == NULL)
		return fail(SNOWFENCE_INVALID, "text is NULL: give the text of an ID");
	TRY(enter());
	return part.parse(text, encoding, id, last, sizeof last);
}
