/* Prints IDs: cc -O2 example.c $(pkg-config --cflags --libs snowfence) -o example && ./example STORE N */
#include <inttypes.h>
#include <snowfence.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local snowfence_ring_t ring; /* one for each thread */

static int failed(int status)
{
	char text[1024];

	snowfence_last_error(text, sizeof text);
	fprintf(stderr, "%s: %s\n", snowfence_strerror(status), text);
	return 1;
}

int main(int argc, char **argv)
{
	snowfence_t *ids;
	int64_t id;
	int status;

	if (argc != 3)
		return 2;
	if ((status = snowfence_open(argv[1], NULL, "label=c-example", &ids)) != SNOWFENCE_OK)
		return failed(status);
	for (long n = atol(argv[2]); n > 0; n--) {
		if ((status = snowfence_ring_next(&ring, ids, &id)) != SNOWFENCE_OK)
			return failed(status);
		printf("%" PRId64 "\n", id);
	}
	if ((status = snowfence_close(ids)) != SNOWFENCE_OK)
		return failed(status);
	return 0;
}
