/* Rings and forks over the fake Go part, under valgrind and ThreadSanitizer. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snowfence.h"

#define THREADS 8
#ifndef EACH
#define EACH 20000
#endif

#define WANT(call, want)                                                                           \
	do {                                                                                       \
		int got_ = (call);                                                                 \
		if (got_ != (want)) {                                                              \
			fprintf(stderr, "line %d: %s is %d, want %d\n", __LINE__, #call, got_, want); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static snowfence_t *ids;
static int ready, over;
static int64_t *made[THREADS];

static void *run(void *arg)
{
	static _Thread_local snowfence_ring_t ring; /* in the thread's own storage, and never freed */
	int64_t *own = arg, id;

	for (int i = 0; i < EACH; i++) {
		WANT(snowfence_ring_next(&ring, ids, &own[i]), SNOWFENCE_OK);
		WANT(i == 0 || own[i] > own[i - 1], 1);
	}
	__atomic_add_fetch(&ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST))
		snowfence_ring_next(&ring, ids, &id);
	WANT(snowfence_ring_next(&ring, ids, &id), SNOWFENCE_CLOSED);
	return NULL;
}

static void *open_late(void *arg)
{
	snowfence_t *g;
	sigset_t before = {0}, after = {0};
	int status;

	(void)arg;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	status = snowfence_open_static(NULL, 1, NULL, &g);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	WANT(memcmp(&before, &after, sizeof after), 0); /* what is blocked for Go is free again */
	if (status == SNOWFENCE_OK)
		ids = g;
	else
		WANT(status, SNOWFENCE_TAKEN);
	return NULL;
}

/* A loss is seen while a ring refills: what it got beside the first ID is dropped. */
extern int fake_loss;

static void loss_in_refill(void)
{
	static snowfence_ring_t ring, other;
	int64_t first, second;

	__atomic_store_n(&fake_loss, 1, __ATOMIC_SEQ_CST);
	WANT(snowfence_ring_next(&ring, ids, &first), SNOWFENCE_OK);
	WANT(snowfence_ring_next(&ring, ids, &second), SNOWFENCE_OK);
	WANT(second > first + 1, 1);
	__atomic_store_n(&fake_loss, 0, __ATOMIC_SEQ_CST);

	for (int i = 0; i < 100; i++) { /* another handle than the refill's, while the beat is the same */
		do
			WANT(snowfence_ring_next(&other, ids, &first), SNOWFENCE_OK);
		while (other.at == other.end);
		WANT(snowfence_ring_next(&other, (snowfence_t *)42, &first), SNOWFENCE_INVALID);
	}
}

/* A ring that holds some. Returns the last of them. */
static int64_t filled(snowfence_ring_t *ring)
{
	int64_t id;

	do
		WANT(snowfence_ring_next(ring, ids, &id), SNOWFENCE_OK);
	while (ring->at == ring->end);
	return ring->buf[ring->end - 1];
}

/* The machine is resumed twice from one snapshot: neither copy of a ring gives out what the other has. */
extern uint64_t fake_machine;
extern int64_t fake_copied;

static void copied_machine(void)
{
	static snowfence_ring_t ring, other;
	int64_t id, last, others;

	for (int i = 0; i < 20; i++) { /* the beat may rise just then, so it is tried often */
		int by = i % 2 ? 1 : -1; /* any other value counts */
		last = filled(&ring);
		other = ring;
		__atomic_add_fetch(&fake_machine, by, __ATOMIC_SEQ_CST);
		WANT(snowfence_ring_take(&ring, ids, &id), 0);
		WANT(snowfence_ring_next(&ring, ids, &id), SNOWFENCE_OK);
		WANT(snowfence_ring_next(&other, ids, &others), SNOWFENCE_OK);
		WANT(id > last && others > last && id != others, 1);
	}
	fake_copied = 0; /* while a ring refills */
	ring.ids = NULL;
	WANT(snowfence_ring_next(&ring, ids, &id), SNOWFENCE_OK);
	WANT(id > fake_copied && ring.buf[ring.end - 1] > fake_copied, 1);
}

/* An ID is taken before the look at each word: the ring finds it in a page that nobody may read, yet. */
static snowfence_ring_t looking;
static uint32_t at_look;
static uint64_t *hidden;

static void look(int signal)
{
	(void)signal;
	at_look = looking.at;
	mprotect(hidden, 4096, PROT_READ | PROT_WRITE);
}

static void taken_before_the_look(void)
{
	struct sigaction now = {.sa_handler = look}, old;
	int64_t id;

	hidden = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &now, &old);
	for (int word = 0; word < 2; word++) {
		const uint64_t **to = word == 0 ? &looking.beat : &looking.machine;
		looking.ids = NULL;
		filled(&looking);
		*hidden = **to;
		*to = hidden;
		uint32_t before = looking.at;
		at_look = before;
		mprotect(hidden, 4096, PROT_NONE);
		snowfence_ring_take(&looking, ids, &id);
		WANT(at_look == before + 1, 1);
	}
	sigaction(SIGSEGV, &old, NULL);
	munmap(hidden, 4096);
}

static int order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static snowfence_ring_t left;
	pthread_t all[THREADS];
	int64_t id, *merged = malloc(sizeof(int64_t) * THREADS * EACH);
	int forks = argc > 1 && strcmp(argv[1], "forks") == 0, status;
	char text[100];

	alarm(300);
	for (int i = 0; i < THREADS; i++) /* the first calls of a process, at the same time */
		pthread_create(&all[i], NULL, open_late, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	loss_in_refill();
	copied_machine();
	if (argc > 2) /* valgrind has no exact state at a fault */
		taken_before_the_look();
	for (int i = 0; i < THREADS; i++) {
		made[i] = malloc(sizeof(int64_t) * EACH);
		pthread_create(&all[i], NULL, run, made[i]);
	}
	for (int i = 0; forks && i < 10; i++) {
		pid_t pid = i % 2 ? fork() : _Fork();
		if (pid == 0) {
			snowfence_t *g;
			_exit(snowfence_close(ids) == SNOWFENCE_FORKED &&
			              snowfence_open_static(NULL, 1, NULL, &g) == SNOWFENCE_FORKED
			          ? 0
			          : 1);
		}
		WANT(waitpid(pid, &status, 0) == pid && status == 0, 1);
	}
	while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < THREADS)
		usleep(1000);
	filled(&left);
	WANT(snowfence_close(ids), SNOWFENCE_OK);
	for (int i = 0; i < 3; i++) /* a refill that fails leaves nothing, either */
		WANT(snowfence_ring_next(&left, ids, &id), SNOWFENCE_CLOSED);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(all[i], NULL);
		memcpy(merged + i * EACH, made[i], sizeof(int64_t) * EACH);
		free(made[i]);
	}
	qsort(merged, THREADS * EACH, sizeof *merged, order);
	for (int i = 1; i < THREADS * EACH; i++)
		WANT(merged[i] != merged[i - 1], 1);
	free(merged);
	WANT(snowfence_next(ids, &(int64_t){0}), SNOWFENCE_CLOSED);
	WANT(snowfence_last_error(text, sizeof text) > 0, 1);
	fprintf(stderr, "ok\n");
	return 0;
}
