/* A Go part without Go, for tools that do not follow Go's stacks: one generator, whose IDs count
 * up. Its beat rises every 100 ms and at close, as the real one does. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "part.h"
#include "snowfence.h"

int fake_loss;              /* the beat rises while IDs are taken */
uint64_t fake_machine = 7;  /* how often the machine was resumed from a snapshot */
int64_t fake_copied = -1;   /* 0: it is resumed once, while IDs are taken. Then it is the last of them */

static uint64_t *beats;
static int64_t count;
static int is_open, stops;
static pid_t own;
static pthread_t ticker;

#define HANDLE ((uint64_t)SNOWFENCE_MAGIC << 48 | 1 << 16 | 1)

/* A child of the process has no thread of Go: a call that enters here would wait for ever. */
static void no_child(void)
{
	if (getpid() == own)
		return;
	fprintf(stderr, "a child of the process entered the Go part\n");
	_exit(9);
}

static int say(char *err, size_t size, int status)
{
	snprintf(err, size, "the fake says %d", status);
	return status;
}

static void *tick(void *arg)
{
	struct timespec t = {0, 1000000}; /* faster than the real one, to meet more */

	(void)arg;
	while (!__atomic_load_n(&stops, __ATOMIC_ACQUIRE)) {
		nanosleep(&t, NULL);
		__atomic_add_fetch(&beats[1], 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* A thread of Go, which runs no handler of the program. */
static void *look(void *arg)
{
	sigset_t mask;

	(void)arg;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (sigismember(&mask, SIGALRM) == 1 && sigismember(&mask, SIGUSR1) == 1)
		return NULL;
	fprintf(stderr, "signals reach a thread of Go\n");
	_exit(9);
}

int snowfence_go_begin(uint64_t *page, size_t words, uint64_t **machine)
{
	pthread_t thread;

	beats = page;
	*machine = &fake_machine;
	own = getpid();
	pthread_create(&thread, NULL, look, NULL);
	pthread_join(thread, NULL);
	return words == SNOWFENCE_WORDS ? 0 : SNOWFENCE_INTERNAL;
}

int snowfence_go_open_static(const char *layout, int64_t node, const char *options, uint64_t *out, char *err,
                             size_t size)
{
	(void)layout, (void)node, (void)options;
	no_child();
	if (__atomic_exchange_n(&is_open, 1, __ATOMIC_SEQ_CST))
		return say(err, size, SNOWFENCE_TAKEN);
	__atomic_add_fetch(&beats[1], 1, __ATOMIC_SEQ_CST);
	pthread_create(&ticker, NULL, tick, NULL);
	*out = HANDLE;
	return 0;
}

int snowfence_go_take(uint64_t handle, int64_t *ids, size_t n, size_t *made, char *err, size_t size)
{
	no_child();
	if (handle != HANDLE || !__atomic_load_n(&is_open, __ATOMIC_SEQ_CST))
		return say(err, size, SNOWFENCE_CLOSED);
	for (size_t i = 0; i < n; i++)
		ids[i] = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
	*made = n;
	if (__atomic_load_n(&fake_loss, __ATOMIC_SEQ_CST))
		__atomic_add_fetch(&beats[1], 1, __ATOMIC_SEQ_CST);
	if (fake_copied == 0) {
		fake_copied = ids[n - 1];
		__atomic_add_fetch(&fake_machine, 1, __ATOMIC_SEQ_CST);
	}
	return 0;
}

int snowfence_go_fill(uint64_t handle, int64_t *ids, size_t n, size_t *made, char *err, size_t size)
{
	return snowfence_go_take(handle, ids, n, made, err, size);
}

int snowfence_go_next(uint64_t handle, int64_t *id, char *err, size_t size)
{
	size_t made;

	return snowfence_go_take(handle, id, 1, &made, err, size);
}

int snowfence_go_close(uint64_t handle, char *err, size_t size)
{
	no_child();
	if (handle != HANDLE || !__atomic_exchange_n(&is_open, 0, __ATOMIC_SEQ_CST))
		return say(err, size, SNOWFENCE_CLOSED);
	__atomic_add_fetch(&beats[1], 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&stops, 1, __ATOMIC_RELEASE);
	pthread_join(ticker, NULL);
	return 0;
}

int snowfence_go_open(const char *store, const char *ns, const char *options, uint64_t *out, char *err, size_t size)
{
	(void)store, (void)ns, (void)options, (void)out;
	return say(err, size, SNOWFENCE_STORE);
}

int snowfence_go_open_statefile(const char *path, const char *layout, int64_t node, const char *options,
                                uint64_t *out, char *err, size_t size)
{
	(void)path, (void)layout, (void)node, (void)options, (void)out;
	return say(err, size, SNOWFENCE_STORE);
}

int snowfence_go_sequence_open(const char *store, const char *name, uint64_t *out, char *err, size_t size)
{
	(void)store, (void)name, (void)out;
	return say(err, size, SNOWFENCE_STORE);
}

int snowfence_go_sequence_next(uint64_t handle, int64_t *number, char *err, size_t size)
{
	(void)handle, (void)number;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_sequence_serial(uint64_t handle, char *buf, size_t room, size_t *length, char *err, size_t size)
{
	(void)handle, (void)buf, (void)room, (void)length;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_sequence_close(uint64_t handle, char *err, size_t size)
{
	(void)handle;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_decode(const char *layout, int64_t id, int64_t *parts, char *err, size_t size)
{
	(void)layout, (void)id, (void)parts, (void)err, (void)size;
	return 0;
}

int snowfence_go_decode_own(uint64_t handle, int64_t id, int64_t *parts, char *err, size_t size)
{
	(void)handle, (void)id, (void)parts;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_next_for(uint64_t handle, int64_t tag, int64_t *id, char *err, size_t size)
{
	(void)handle, (void)tag, (void)id;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_tag(uint64_t handle, int64_t id, int64_t tag, int64_t *tagged, char *err, size_t size)
{
	(void)handle, (void)id, (void)tag, (void)tagged;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_ranges(const char *layout, int64_t from, int64_t to, int64_t tag, int64_t *buf, size_t n,
                        size_t *written, char *err, size_t size)
{
	(void)layout, (void)from, (void)to, (void)tag, (void)buf, (void)n, (void)written;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_format(int64_t id, const char *encoding, char *buf, size_t room, size_t *length, char *err,
                        size_t size)
{
	(void)encoding, (void)err, (void)size;
	*length = (size_t)snprintf(buf, room, "%lld", (long long)id);
	return 0;
}

int snowfence_go_parse(const char *text, const char *encoding, int64_t *id, char *err, size_t size)
{
	(void)text, (void)encoding, (void)id;
	return say(err, size, SNOWFENCE_INVALID);
}

int snowfence_go_drift_register(const char *address, const char *password, int32_t db, const char *master, int32_t min,
                                int32_t max, int32_t count, int32_t life, int32_t *numbers, char *err, size_t size)
{
	(void)address, (void)password, (void)db, (void)master, (void)min, (void)max, (void)count, (void)life;
	(void)numbers;
	return say(err, size, SNOWFENCE_STORE);
}

int snowfence_go_drift_unregister(char *err, size_t size) { return say(err, size, SNOWFENCE_STORE); }

int snowfence_go_drift_validate(int32_t worker, int32_t *held, char *err, size_t size)
{
	(void)worker, (void)held;
	return say(err, size, SNOWFENCE_STORE);
}

int snowfence_go_drift_set(uint32_t worker, uint8_t worker_bits, uint8_t seq_bits, char *err, size_t size)
{
	(void)worker, (void)worker_bits, (void)seq_bits;
	return say(err, size, SNOWFENCE_STORE);
}

int snowfence_go_drift_next(int64_t *id, char *err, size_t size)
{
	(void)id;
	return say(err, size, SNOWFENCE_STORE);
}
