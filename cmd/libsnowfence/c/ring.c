/* What a ring does when it has no ID. The rule of what it gives out is in snowfence.h. */
#include "shim.h"

_Static_assert(sizeof(snowfence_ring_t) == 8 * SNOWFENCE_RING_WORDS, "other languages give a ring so much room");

#define LOOK(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)

/* Makes a ring one of a handle. */
static int join(snowfence_ring_t *ring, snowfence_t *ids)
{
	uint64_t handle = NUMBER(ids), slot = handle & 0x7fff;

	if (handle >> 48 != SNOWFENCE_MAGIC || (handle & 0x8000) != 0 || slot == 0 || slot >= SNOWFENCE_WORDS)
		return fail(SNOWFENCE_INVALID, "the handle is not of this library: use what an open call stored");
	ring->ids = ids;
	ring->beat = page + slot;
	ring->machine = machine;
	ring->size = 0;
	return SNOWFENCE_OK;
}

/* How many IDs a refill asks for. */
static uint32_t next_size(const snowfence_ring_t *ring)
{
	uint32_t left = ring->end - ring->at, size = ring->size;

	if (left == 0 && LOOK(ring->beat) == ring->seen)
		size *= 2; /* used up within its beat */
	else if (left > size / 2)
		size /= 2; /* most was lost */
	if (size < SNOWFENCE_RING_LEAST)
		return SNOWFENCE_RING_LEAST;
	return size < SNOWFENCE_RING_MOST ? size : SNOWFENCE_RING_MOST;
}

EXPORT int snowfence_ring_refill(snowfence_ring_t *ring, snowfence_t *ids, int64_t *id)
{
	size_t made = 0;
	int64_t first;

	NEED(ring);
	NEED(id);
	TRY(enter_with(ids));
	if (ring->ids != ids)
		TRY(join(ring, ids));
	ring->size = next_size(ring);
	do {
		ring->at = ring->end = 0;
		ring->seen = LOOK(ring->beat); /* before the IDs are made: later is too late */
		ring->made_on = LOOK(ring->machine);
		TRY(part.take(NUMBER(ids), ring->buf, ring->size, &made, last, sizeof last));
		first = ring->buf[0];
		ring->at = 1;
		ring->end = (uint32_t)made;
	} while (LOOK(ring->machine) != ring->made_on); /* a copy of the machine has them, too */
	*id = first;
	return SNOWFENCE_OK;
}

EXPORT int snowfence_ring_take(snowfence_ring_t *ring, snowfence_t *ids, int64_t *id)
{
	return snowfence_ring_pop(ring, ids, id);
}
