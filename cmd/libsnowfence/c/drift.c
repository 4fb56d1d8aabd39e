/* The calls of drift.h. */
#include "drift.h"

#include "shim.h"

EXPORT int snowfence_drift_register(const char *address, const char *password, int32_t db, const char *master,
                                    int32_t min, int32_t max, int32_t count, int32_t life, int32_t *numbers)
{
	NEED(numbers);
	TRY(enter());
	return part.drift_register(address, password, db, master, min, max, count, life, numbers, last, sizeof last);
}

EXPORT int snowfence_drift_unregister(void)
{
	TRY(enter());
	return part.drift_unregister(last, sizeof last);
}

EXPORT int snowfence_drift_validate(int32_t worker, int32_t *held)
{
	NEED(held);
	*held = 0;
	TRY(enter());
	return part.drift_validate(worker, held, last, sizeof last);
}

EXPORT int snowfence_drift_set(uint32_t worker, uint8_t worker_bits, uint8_t seq_bits)
{
	TRY(enter());
	return part.drift_set(worker, worker_bits, seq_bits, last, sizeof last);
}

EXPORT int snowfence_drift_next(int64_t *id)
{
	TRY(enter());
	return part.drift_next(id, last, sizeof last);
}
