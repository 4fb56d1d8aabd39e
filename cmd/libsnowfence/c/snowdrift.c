/* The names of snow-drift. They are in a library of their own, because names such as Validate would
 * be in the way of programs that only use snowfence.h. */
#include "snowdrift.h"

#include "drift.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int32_t RegisterOne(const char *address, const char *password, int32_t db, const char *master, int32_t min,
                           int32_t max, int32_t life)
{
	int32_t number = -1;

	snowfence_drift_register(address, password, db, master, min, max, 1, life, &number);
	return number;
}

EXPORT int32_t RegisterMany(const char *address, const char *password, int32_t db, const char *master, int32_t min,
                            int32_t max, int32_t count, int32_t life, int32_t *numbers)
{
	int32_t got = 0, unusable = -1;

	if (count < 1) { /* so that nothing is written */
		snowfence_drift_register(address, password, db, master, min, max, count, life, &unusable);
		return unusable;
	}
	for (int32_t i = 0; numbers != NULL && i < count; i++)
		numbers[i] = -1;
	snowfence_drift_register(address, password, db, master, min, max, count, life, numbers);
	if (numbers == NULL || numbers[0] == -2)
		return -2;
	for (int32_t i = 0; i < count; i++)
		got += numbers[i] >= 0;
	return got;
}

EXPORT void UnRegister(void) { snowfence_drift_unregister(); }

EXPORT int32_t Validate(int32_t worker)
{
	int32_t held = 0;

	snowfence_drift_validate(worker, &held);
	return held;
}

EXPORT void SetOptions(uint32_t worker, uint8_t worker_bits, uint8_t seq_bits)
{
	snowfence_drift_set(worker, worker_bits, seq_bits);
}

EXPORT void SetWorkerId(uint32_t worker) { SetOptions(worker, 0, 0); }

EXPORT int64_t NextId(void)
{
	int64_t id = 0;
	int status = snowfence_drift_next(&id);

	return status == SNOWFENCE_OK ? id : -(int64_t)status;
}
