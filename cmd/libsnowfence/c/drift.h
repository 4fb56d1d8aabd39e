/* What libsnowdrift.so asks of libsnowfence.so. Not for programs: snowdrift.h has their calls. */
#ifndef SNOWFENCE_DRIFT_H
#define SNOWFENCE_DRIFT_H

#include <stdint.h>

int snowfence_drift_register(const char *address, const char *password, int32_t db, const char *master, int32_t min,
                             int32_t max, int32_t count, int32_t life, int32_t *numbers);
int snowfence_drift_unregister(void);
int snowfence_drift_validate(int32_t worker, int32_t *held);
int snowfence_drift_set(uint32_t worker, uint8_t worker_bits, uint8_t seq_bits);
int snowfence_drift_next(int64_t *id);

#endif
