/* bench BARE LAYOUT ROUNDS: prints what an ID costs, in ns of processor time: name and figure, the
 * best. What is compared takes turns. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "snowfence.h"

static snowfence_t *ids;
static long long (*bare)(long long);
static int (*go_begin)(const char *), (*go_fill)(long long);
static snowfence_ring_t ring;
static int64_t buf[1024];
static volatile int64_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void must(int status)
{
	char text[1024];

	if (status == SNOWFENCE_OK)
		return;
	snowfence_last_error(text, sizeof text);
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static void run_bare(long n)
{
	while (n-- > 0)
		sink = bare(n);
}

static void run_next(long n)
{
	int64_t id;

	while (n-- > 0) {
		must(snowfence_next(ids, &id));
		sink = id;
	}
}

static void run_ring(long n)
{
	int64_t id;

	while (n-- > 0) {
		must(snowfence_ring_next(&ring, ids, &id));
		sink = id;
	}
}

static void run_fill(long n)
{
	for (; n > 0; n -= 1024)
		must(snowfence_fill(ids, buf, 1024, NULL));
	sink = buf[0];
}

static void run_go_fill(long n)
{
	if (go_fill(n / 1024) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(long);
		long n;
	} rows[] = {{"bare", run_bare, 2000}, {"next", run_next, 2000}, {"ring", run_ring, 204800}, {"fill", run_fill, 204800},
	          {"go-fill", run_go_fill, 204800}};
	enum { ROWS = sizeof rows / sizeof *rows };
	double best[ROWS];
	void *lib;

	if (argc != 4 || (lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL ||
	    (*(void **)&bare = dlsym(lib, "bare")) == NULL || (*(void **)&go_begin = dlsym(lib, "begin")) == NULL ||
	    (*(void **)&go_fill = dlsym(lib, "fill")) == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	must(snowfence_open_static(argv[2], 1, "lead=1000", &ids));
	if (go_begin(argv[2]) != 0)
		return 1;
	for (int i = 0; i < ROWS; i++)
		best[i] = 1e9;
	for (int round = 0; round < atoi(argv[3]); round++)
		for (int i = 0; i < ROWS; i++) {
			double start = now();
			rows[i].run(rows[i].n);
			double took = (now() - start) / rows[i].n;
			if (took < best[i])
				best[i] = took;
		}
	for (int i = 0; i < ROWS; i++)
		printf("%s %.3f\n", rows[i].name, best[i]);
	must(snowfence_close(ids));
	return 0;
}
