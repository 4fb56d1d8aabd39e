/* windows URL N: makes IDs by the DLL, and prints N of each of four threads. */
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "snowfence.h"

#define THREADS 4

static snowfence_t *ids;
static int64_t *made[THREADS];
static int each;

#define WANT(call, want)                                                                            \
	do {                                                                                        \
		int got_ = (call);                                                                  \
		char text_[1024] = "";                                                              \
		if (got_ != (want)) {                                                               \
			snowfence_last_error(text_, sizeof text_);                                  \
			fprintf(stderr, "line %d: %s is %d, want %d: %s\n", __LINE__, #call, got_, want, text_); \
			exit(1);                                                                    \
		}                                                                                   \
	} while (0)

static unsigned __stdcall run(void *to)
{
	static _Thread_local snowfence_ring_t ring;
	int64_t *own = to;

	for (int i = 0; i < each; i++) {
		WANT(snowfence_ring_next(&ring, ids, &own[i]), SNOWFENCE_OK);
		WANT(i == 0 || own[i] > own[i - 1], 1);
	}
	return 0;
}

int main(int argc, char **argv)
{
	HANDLE all[THREADS];
	snowfence_t *number, *again;
	snowfence_sequence_t *sequence;
	snowfence_parts_t parts;
	snowfence_ring_t ring = {0};
	char text[SNOWFENCE_TEXT_SIZE];
	int64_t id, buf[100];

	if (argc != 3)
		return 2;
	each = atoi(argv[2]);
	WANT(snowfence_abi_version(), SNOWFENCE_ABI_VERSION);
	WANT(snowfence_next((snowfence_t *)42, &id), SNOWFENCE_INVALID);
	WANT(snowfence_ring_next(&ring, (snowfence_t *)42, &id), SNOWFENCE_INVALID);
	WANT(snowfence_open("sqlite:/no/where/ids.db", NULL, NULL, &ids), SNOWFENCE_STORE);

	WANT(snowfence_open_statefile("node", NULL, 7, NULL, &number), SNOWFENCE_STORE); /* no state files here */
	WANT(snowfence_open_static(NULL, 7, NULL, &number), SNOWFENCE_OK);
	WANT(snowfence_open_static(NULL, 7, NULL, &again), SNOWFENCE_TAKEN);
	WANT(snowfence_next(number, &id), SNOWFENCE_OK);
	WANT(snowfence_decode_own(number, id, &parts), SNOWFENCE_OK);
	WANT((int)parts.node, 7);
	WANT(snowfence_close(number), SNOWFENCE_OK);

	WANT(snowfence_open(argv[1], NULL, "lead=1000,max-wait=1m,wait=1m", &ids), SNOWFENCE_OK);
	WANT(snowfence_sequence_open(argv[1], "none", &sequence), SNOWFENCE_INVALID);
	WANT(snowfence_sequence_open(argv[1], "bills", &sequence), SNOWFENCE_OK);
	WANT(snowfence_sequence_next(sequence, &id), SNOWFENCE_OK);
	WANT(snowfence_sequence_close(sequence), SNOWFENCE_OK);
	WANT(snowfence_fill(ids, buf, 100, NULL), SNOWFENCE_OK);
	WANT(snowfence_format(buf[99], "base58", text, sizeof text, NULL), SNOWFENCE_OK);
	WANT(snowfence_parse(text, "base58", &id), SNOWFENCE_OK);
	WANT(id == buf[99] && buf[99] > buf[0], 1);
	for (int i = 0; i < THREADS; i++) {
		made[i] = calloc((size_t)each, sizeof *made[i]);
		all[i] = (HANDLE)_beginthreadex(NULL, 0, run, made[i], 0, NULL);
	}
	WaitForMultipleObjects(THREADS, all, TRUE, INFINITE);
	do /* so that a ring holds some */
		WANT(snowfence_ring_next(&ring, ids, &id), SNOWFENCE_OK);
	while (ring.at == ring.end);
	WANT(snowfence_close(ids), SNOWFENCE_OK);
	WANT(snowfence_ring_next(&ring, ids, &id), SNOWFENCE_CLOSED);
	WANT(snowfence_close(ids), SNOWFENCE_CLOSED);
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < each; i++)
			printf("%lld\n", (long long)made[t][i]);
	return 0;
}
