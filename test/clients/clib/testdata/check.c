/* Scenes for the tests of the C library, each a command: check SCENE [ARGUMENT...]. A scene that
 * ends well prints "ok" at the end. IDs go to standard output as 8 bytes each, where a scene says so. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "snowfence.h"

static char self[4096];

/* Names of the shim, which a program over the archive has for itself. */
int begun, machine, page, part;
int fail(void) { return 0; }
int enter(void) { return 0; }

static void wrong(int line, const char *what, int status, int want)
{
	char text[1024];

	snowfence_last_error(text, sizeof text);
	fprintf(stderr, "line %d: %s is %d (%s), want %d; last error: %s\n", line, what, status,
	        snowfence_strerror(status), want, text);
	exit(1);
}

#define WANT(call, want)                                           \
	do {                                                       \
		int got_ = (call);                                 \
		if (got_ != (want))                                \
			wrong(__LINE__, #call, got_, (want));      \
	} while (0)

static _Thread_local snowfence_ring_t ring;

/* Handles that are none. */
static void handles(char **arg)
{
	snowfence_t *a, *b;
	snowfence_sequence_t *s;
	int64_t id, ids[4];
	size_t made;
	snowfence_parts_t parts;
	char path[4096];

	WANT(snowfence_abi_version(), SNOWFENCE_ABI_VERSION);
	for (int i = 0; i < 2; i++) { /* before and after something was opened */
		uintptr_t foreign[] = {0, 1, 42, (uintptr_t)&id, (uintptr_t)-1, (uintptr_t)0x5f1d000000010001 << 1,
		                       0x5f1d7fffffff0001, 0x5f1d00000001ffff};
		for (size_t f = 0; f < sizeof foreign / sizeof *foreign; f++) {
			snowfence_t *g = (snowfence_t *)foreign[f];
			WANT(snowfence_next(g, &id), SNOWFENCE_INVALID);
			WANT(snowfence_fill(g, ids, 4, &made), SNOWFENCE_INVALID);
			WANT(snowfence_decode_own(g, 1, &parts), SNOWFENCE_INVALID);
			WANT(snowfence_close(g), SNOWFENCE_INVALID);
			WANT(snowfence_ring_next(&ring, g, &id), SNOWFENCE_INVALID);
			WANT(snowfence_sequence_next((snowfence_sequence_t *)g, &id), SNOWFENCE_INVALID);
			WANT(snowfence_sequence_close((snowfence_sequence_t *)g), SNOWFENCE_INVALID);
		}
		if (i == 0)
			WANT(snowfence_open_static(NULL, 100, NULL, &a), SNOWFENCE_OK);
	}
	WANT(snowfence_next(a, NULL), SNOWFENCE_INVALID);
	WANT(snowfence_fill(a, NULL, 4, &made), SNOWFENCE_INVALID);
	WANT(snowfence_fill(a, ids, (size_t)-1, &made), SNOWFENCE_INVALID);
	WANT(snowfence_fill(a, ids, 0, NULL), SNOWFENCE_OK);
	WANT(snowfence_fill(a, ids, 4, NULL), SNOWFENCE_OK);
	WANT(snowfence_open_static(NULL, 1, NULL, NULL), SNOWFENCE_INVALID);
	WANT(snowfence_open_static("nonsense", 1, NULL, &b), SNOWFENCE_INVALID);
	WANT(b != NULL, 0);
	WANT(snowfence_open_static(NULL, 1, "leed=1", &b), SNOWFENCE_INVALID);
	WANT(snowfence_sequence_next((snowfence_sequence_t *)a, &id), SNOWFENCE_INVALID);
	WANT(snowfence_ring_next(&ring, a, NULL), SNOWFENCE_INVALID);
	WANT(snowfence_ring_next(&ring, a, &id), SNOWFENCE_OK);

	/* The same number or file twice in one process. */
	WANT(snowfence_open_static(NULL, 100, NULL, &b), SNOWFENCE_TAKEN);
	snprintf(path, sizeof path, "%s/node", arg[0]);
	WANT(snowfence_open_statefile(path, NULL, 7, NULL, &b), SNOWFENCE_OK);
	snowfence_t *c;
	WANT(snowfence_open_statefile(path, NULL, 7, NULL, &c), SNOWFENCE_TAKEN);
	WANT(snowfence_next(b, &id), SNOWFENCE_OK);
	WANT(snowfence_close(b), SNOWFENCE_OK);

	WANT(snowfence_close(a), SNOWFENCE_OK);
	WANT(snowfence_close(a), SNOWFENCE_CLOSED);
	WANT(snowfence_next(a, &id), SNOWFENCE_CLOSED);
	WANT(snowfence_ring_next(&ring, a, &id), SNOWFENCE_CLOSED);
	WANT(snowfence_open_static(NULL, 100, NULL, &b), SNOWFENCE_OK); /* in the slot of a */
	WANT(snowfence_close(a), SNOWFENCE_CLOSED);
	WANT(snowfence_ring_next(&ring, a, &id), SNOWFENCE_CLOSED);
	WANT(snowfence_ring_next(&ring, b, &id), SNOWFENCE_OK);
	WANT(snowfence_close(b), SNOWFENCE_OK);
	WANT(snowfence_open("nothing:", NULL, NULL, &b), SNOWFENCE_INVALID);
	WANT(snowfence_sequence_open("mem:", "bills", &s), SNOWFENCE_INVALID);
	WANT(snowfence_open("sqlite:/nowhere/at/all.db", NULL, NULL, &b), SNOWFENCE_STORE);

	char text[SNOWFENCE_TEXT_SIZE], tiny[3];
	size_t length;
	WANT(snowfence_format(123456, "base58", text, sizeof text, &length), SNOWFENCE_OK);
	WANT(snowfence_parse(text, "base58", &id), SNOWFENCE_OK);
	WANT(id == 123456 && length == strlen(text), 1);
	WANT(snowfence_format(123456, NULL, tiny, sizeof tiny, &length), SNOWFENCE_TOO_SMALL);
	WANT((int)length, 6);
	WANT(snowfence_parse("x", NULL, &id), SNOWFENCE_INVALID);
	WANT(snowfence_parse(NULL, NULL, &id), SNOWFENCE_INVALID);
	WANT(snowfence_last_error(tiny, sizeof tiny) > 20, 1);
	WANT((int)strlen(tiny), 2);
	for (int status = -1; status < 20; status++)
		WANT(strcmp(snowfence_strerror(status), "unknown status") == 0, status < 0 || status > 14);
}

/* What a child of a process that used the library sees. */
static snowfence_t *parents;

static int in_child(void)
{
	int64_t id, ids[4];
	size_t made;
	snowfence_t *g;
	snowfence_parts_t parts;
	char text[SNOWFENCE_TEXT_SIZE];

	alarm(60); /* a child that enters Go hangs */
	WANT(snowfence_ring_next(&ring, parents, &id), SNOWFENCE_FORKED);
	WANT(snowfence_next(parents, &id), SNOWFENCE_FORKED);
	WANT(snowfence_fill(parents, ids, 4, &made), SNOWFENCE_FORKED);
	WANT(snowfence_close(parents), SNOWFENCE_FORKED);
	WANT(snowfence_open_static(NULL, 9, NULL, &g), SNOWFENCE_FORKED);
	WANT(snowfence_format(1, NULL, text, sizeof text, NULL), SNOWFENCE_FORKED);
	WANT(snowfence_decode(NULL, 1, &parts), SNOWFENCE_FORKED);
	return 0;
}

static volatile int stop, stopped;

static void *use(void *arg)
{
	int64_t id, last = 0;

	(void)arg;
	while (!stop) {
		WANT(snowfence_ring_next(&ring, parents, &id), SNOWFENCE_OK);
		WANT(id > last, 1);
		last = id;
	}
	return NULL;
}

static void await(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "child %d ended with %#x\n", pid, status);
		exit(1);
	}
}

extern char **environ;

static void forks(char **arg)
{
	pthread_t threads[8];
	int64_t id;
	pid_t pid;
	char *spawned[] = {self, "handles", arg[0], NULL};

	/* The first ring of a process, on a node whose grant is all zeros. */
	WANT(snowfence_open_static(NULL, 0, "lead=1000", &parents), SNOWFENCE_OK);
	for (int i = 0; i < 10; i++)
		WANT(snowfence_ring_next(&ring, parents, &id), SNOWFENCE_OK);
	if ((pid = fork()) == 0)
		_exit(in_child());
	await(pid);
	WANT(snowfence_close(parents), SNOWFENCE_OK);

	WANT(snowfence_open("mem:", NULL, "lead=100000,max-wait=1m", &parents), SNOWFENCE_OK);
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, use, NULL);
	for (int i = 0; i < 30; i++) {
		do /* so that the ring of this thread holds some */
			WANT(snowfence_ring_next(&ring, parents, &id), SNOWFENCE_OK);
		while (ring.at == ring.end);
		pid = i % 3 == 0 ? fork() : i % 3 == 1 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(in_child());
		await(pid);
	}
	WANT(posix_spawn(&pid, self, NULL, NULL, spawned, environ), 0);
	await(pid);
	stop = 1;
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	WANT(snowfence_close(parents), SNOWFENCE_OK);
}

/* A parent that loads the library and opens nothing; each child opens. IDs on standard output. */
static void prefork(char **arg)
{
	pid_t pids[4];
	int64_t id;

	for (int i = 0; i < 4; i++)
		if ((pids[i] = fork()) == 0) {
			int64_t ids[2500];
			WANT(snowfence_open(arg[0], NULL, NULL, &parents), SNOWFENCE_OK);
			for (int n = 0; n < 2500; n++)
				WANT(snowfence_ring_next(&ring, parents, &ids[n]), SNOWFENCE_OK);
			WANT(snowfence_close(parents), SNOWFENCE_OK);
			WANT(fwrite(ids, 8, 2500, stdout) == 2500, 1);
			exit(0);
		}
	for (int i = 0; i < 4; i++)
		await(pids[i]);
	WANT(snowfence_open(arg[0], NULL, NULL, &parents), SNOWFENCE_OK);
	WANT(snowfence_next(parents, &id), SNOWFENCE_OK);
	WANT(fwrite(&id, 8, 1, stdout) == 1, 1);
	WANT(snowfence_close(parents), SNOWFENCE_OK);
}

/* signals SECONDS WHEN: timers interrupt threads in C and in Go all the time. Handlers come after
 * the library was opened, or before it and without SA_ONSTACK: Go adds that to those that it finds. */
static volatile long signals_seen;

static void count_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&signals_seen, 1, __ATOMIC_RELAXED);
}

static void signals(char **arg)
{
	int before = strcmp(arg[1], "before") == 0;
	struct sigaction act = {.sa_handler = count_signal, .sa_flags = SA_RESTART | (before ? 0 : SA_ONSTACK)}, found;
	struct itimerval often = {{0, 1000}, {0, 1000}};
	time_t end = time(NULL) + atoi(arg[0]);
	pthread_t all[8];
	int64_t id, buf[4096];

	if (before)
		WANT(sigaction(SIGPROF, &act, NULL) | sigaction(SIGALRM, &act, NULL), 0);
	WANT(snowfence_open("mem:", NULL, "lead=100000,max-wait=1m", &parents), SNOWFENCE_OK);
	if (!before)
		WANT(sigaction(SIGPROF, &act, NULL) | sigaction(SIGALRM, &act, NULL), 0);
	WANT(sigaction(SIGALRM, NULL, &found), 0);
	WANT((found.sa_flags & SA_ONSTACK) != 0, 1);
	WANT(setitimer(ITIMER_PROF, &often, NULL) | setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, use, NULL);
	while (time(NULL) < end || __atomic_load_n(&signals_seen, __ATOMIC_RELAXED) < 1000) {
		WANT(snowfence_next(parents, &id), SNOWFENCE_OK);
		WANT(snowfence_fill(parents, buf, 4096, NULL), SNOWFENCE_OK);
	}
	stop = 1;
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
	WANT(snowfence_close(parents), SNOWFENCE_OK);
}

/* heirs FOLDER: a child keeps the lock of its parent's state file until it ends. */
static void heirs(char **arg)
{
	char path[4096], none;
	snowfence_t *g;
	int64_t id;
	int alive[2];
	pid_t pid;

	snprintf(path, sizeof path, "%s/heirs", arg[0]);
	WANT(pipe(alive), 0);
	WANT(snowfence_open_statefile(path, NULL, 7, NULL, &g), SNOWFENCE_OK);
	WANT(snowfence_next(g, &id), SNOWFENCE_OK);
	if ((pid = fork()) == 0) {
		close(alive[1]);
		_exit((int)read(alive[0], &none, 1)); /* 0 at the end of the pipe */
	}
	WANT(snowfence_close(g), SNOWFENCE_OK);
	WANT(snowfence_open_statefile(path, NULL, 7, NULL, &g), SNOWFENCE_TAKEN);
	close(alive[1]);
	await(pid);
	WANT(snowfence_open_statefile(path, NULL, 7, NULL, &g), SNOWFENCE_OK);
	WANT(snowfence_next(g, &id), SNOWFENCE_OK);
	WANT(snowfence_close(g), SNOWFENCE_OK);
}

/* copies LIBRARY SAME OTHER: a copy of the shim beside the same Go part is refused, because it would
 * have the handles of the first one; one beside a Go part of its own has a Go runtime of its own. */
static void copies(char **arg)
{
	static const int want[] = {SNOWFENCE_OK, SNOWFENCE_TAKEN, SNOWFENCE_OK};
	snowfence_t *g[3];
	int (*next[3])(snowfence_t *, int64_t *);
	int64_t id;

	for (int i = 0; i < 3; i++) {
		void *lib = dlopen(arg[i], RTLD_NOW | RTLD_LOCAL);
		if (lib == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		int (*open)(const char *, int64_t, const char *, snowfence_t **) = dlsym(lib, "snowfence_open_static");
		next[i] = dlsym(lib, "snowfence_next");
		for (int again = 0; again < 2; again++)
			WANT(open(NULL, 2 * i + again, NULL, &g[i]), want[i]);
	}
	for (int i = 0; i < 3; i++)
		WANT(next[i](g[i], &id), want[i] == SNOWFENCE_OK ? SNOWFENCE_OK : SNOWFENCE_INVALID);
}

/* stacks SIZE: threads with small stacks make IDs. */
static void *small(void *arg)
{
	int64_t id, buf[64];

	(void)arg;
	for (int i = 0; i < 200; i++) {
		WANT(snowfence_next(parents, &id), SNOWFENCE_OK);
		WANT(snowfence_fill(parents, buf, 64, NULL), SNOWFENCE_OK);
	}
	WANT(snowfence_next(NULL, &id), SNOWFENCE_INVALID);
	return NULL;
}

static void stacks(char **arg)
{
	pthread_attr_t attr;
	pthread_t all[16];

	WANT(snowfence_open("mem:", NULL, "lead=100000,max-wait=1m", &parents), SNOWFENCE_OK);
	WANT(pthread_attr_init(&attr) | pthread_attr_setstacksize(&attr, (size_t)atol(arg[0])), 0);
	for (int i = 0; i < 16; i++)
		WANT(pthread_create(&all[i], &attr, small, NULL), 0);
	for (int i = 0; i < 16; i++)
		pthread_join(all[i], NULL);
	WANT(snowfence_close(parents), SNOWFENCE_OK);
}

/* masks: signals of the program reach no thread of Go, except those that Go itself never blocks; and
 * the program's own threads block what they did before. */
static uint64_t blocked(const char *task)
{
	char path[300], line[200];
	uint64_t mask = 0;
	FILE *status;

	snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
	if ((status = fopen(path, "r")) == NULL)
		return (uint64_t)-1; /* it has ended */
	while (fgets(line, sizeof line, status) != NULL)
		if (sscanf(line, "SigBlk: %" SCNx64, &mask) == 1)
			break;
	fclose(status);
	return mask;
}

#define BIT(signal) (UINT64_C(1) << ((signal) - 1))

static void masks(char **arg)
{
	static const int own[] = {SIGHUP, SIGINT, SIGTERM, SIGALRM, SIGVTALRM, SIGUSR1, SIGUSR2, SIGPIPE, SIGWINCH};
	char self_task[20];
	uint64_t before;
	int others = 0, wait = 0;
	sigset_t usr2;
	snowfence_t *g;
	int64_t id;
	DIR *tasks;

	(void)arg;
	snprintf(self_task, sizeof self_task, "%d", getpid());
	sigemptyset(&usr2); /* Go unblocks its own signals in calls, and blocks them again */
	sigaddset(&usr2, SIGUSR2);
	sigaddset(&usr2, SIGURG);
	WANT(pthread_sigmask(SIG_BLOCK, &usr2, NULL), 0);
	before = blocked(self_task);
	WANT((before & (BIT(SIGUSR2) | BIT(SIGURG) | BIT(SIGALRM))) == (BIT(SIGUSR2) | BIT(SIGURG)), 1);
	WANT(snowfence_open("mem:", NULL, NULL, &g), SNOWFENCE_OK);
	WANT(snowfence_next(g, &id), SNOWFENCE_OK);
	WANT(blocked(self_task) == before, 1);
	while (others < 2 && wait++ < 60000) { /* threads begin with all blocked, and Go sets its mask then */
		struct dirent *task;
		WANT((tasks = opendir("/proc/self/task")) != NULL, 1);
		others = 0;
		while ((task = readdir(tasks)) != NULL) {
			uint64_t mask;
			if (task->d_name[0] == '.' || strcmp(task->d_name, self_task) == 0)
				continue;
			mask = blocked(task->d_name);
			for (size_t i = 0; i < sizeof own / sizeof *own; i++)
				WANT((mask & BIT(own[i])) != 0, 1);
			/* Go preempts by SIGURG, and its profiler needs SIGPROF. */
			others += (mask & (BIT(SIGURG) | BIT(SIGPROF) | BIT(SIGSEGV))) == 0;
		}
		closedir(tasks);
		usleep(1000);
	}
	WANT(others >= 2, 1);
	WANT(snowfence_close(g), SNOWFENCE_OK);
	WANT(blocked(self_task) == before, 1);
}

/* early: the Go part is linked and starts with the program, so that every child is too late. */
static void early(char **arg)
{
	pid_t pid = fork();
	snowfence_t *g;
	int64_t id;

	(void)arg;
	if (pid == 0)
		_exit(snowfence_open_static(NULL, 1, NULL, &g) == SNOWFENCE_FORKED ? 0 : 1);
	await(pid);
	WANT(snowfence_open_static(NULL, 1, NULL, &g), SNOWFENCE_OK);
	WANT(snowfence_next(g, &id), SNOWFENCE_OK);
	WANT(snowfence_close(g), SNOWFENCE_OK);
}

/* threads STORE THREADS IDS: each thread makes IDs by its ring, and the process is forked meanwhile. */
static long each;

static void *make(void *to)
{
	int64_t *ids = to;

	for (long i = 0; i < each; i++) {
		WANT(snowfence_ring_next(&ring, parents, &ids[i]), SNOWFENCE_OK);
		if (i > 0)
			WANT(ids[i] > ids[i - 1], 1);
	}
	__atomic_add_fetch(&stopped, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void threads(char **arg)
{
	int n = atoi(arg[1]), forked = 0;
	pthread_t *all = calloc(n, sizeof *all);
	int64_t *ids;
	pid_t pid;

	each = atol(arg[2]);
	ids = calloc((size_t)n * each, 8);
	WANT(snowfence_open(arg[0], NULL, "lead=2000,max-wait=1m", &parents), SNOWFENCE_OK);
	for (int i = 0; i < n; i++)
		pthread_create(&all[i], NULL, make, ids + i * each);
	while (__atomic_load_n(&stopped, __ATOMIC_SEQ_CST) < n || forked < 3) {
		pid = forked % 3 == 0 ? fork() : forked % 3 == 1 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(in_child());
		await(pid);
		forked++;
	}
	for (int i = 0; i < n; i++)
		pthread_join(all[i], NULL);
	WANT(snowfence_close(parents), SNOWFENCE_OK);
	WANT(fwrite(ids, 8, (size_t)n * each, stdout) == (size_t)n * each, 1);
}

/* After close has returned, or a loss was seen and the beat rose, no ring gives out an ID. */
static volatile int over;

static int none(int status) /* how a ring says that it has no ID and gets none */
{
	return status == SNOWFENCE_CLOSED || status == SNOWFENCE_FENCED;
}

static void *until_over(void *arg)
{
	int64_t id, after = 0;

	(void)arg;
	while (after < 1000) {
		int was = __atomic_load_n(&over, __ATOMIC_SEQ_CST);
		int status = snowfence_ring_next(&ring, parents, &id);
		if (was) {
			if (!none(status))
				wrong(__LINE__, "a ring", status, SNOWFENCE_CLOSED);
			after++;
		} else if (status != SNOWFENCE_OK && status != SNOWFENCE_EXHAUSTED && !none(status)) {
			wrong(__LINE__, "a ring", status, SNOWFENCE_OK);
		} else if (status != SNOWFENCE_OK) {
			usleep(1000); /* leave the cores to who finds out about the loss */
		}
	}
	__atomic_add_fetch(&stopped, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void run_until_over(pthread_t *all)
{
	for (int i = 0; i < 64; i++)
		pthread_create(&all[i], NULL, until_over, NULL);
	usleep(50000);
}

static void closes(char **arg)
{
	pthread_t all[64];

	(void)arg;
	WANT(snowfence_open("mem:", NULL, "lead=100000,max-wait=1m", &parents), SNOWFENCE_OK);
	run_until_over(all);
	WANT(snowfence_close(parents), SNOWFENCE_OK);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 64; i++)
		pthread_join(all[i], NULL);
}

/* loss STORE NAMESPACE: waits until the lease is lost for good. */
static void loss(char **arg)
{
	pthread_t all[64];
	uint64_t seen;
	int64_t id;

	WANT(snowfence_open(arg[0], arg[1], "max-wait=0s,ttl=1s", &parents), SNOWFENCE_OK);
	snowfence_ring_next(&ring, parents, &id); /* for the beat */
	for (int i = 0; i < 64; i++)
		pthread_create(&all[i], NULL, until_over, NULL);
	puts("running");
	fflush(stdout);
	for (int status = 0; !none(status);) {
		seen = __atomic_load_n(ring.beat, __ATOMIC_SEQ_CST);
		status = snowfence_next(parents, &id);
		usleep(1000);
	}
	while (__atomic_load_n(ring.beat, __ATOMIC_SEQ_CST) == seen)
		usleep(1000);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 64; i++)
		pthread_join(all[i], NULL);
	snowfence_close(parents);
}

/* rings STORE OPTIONS THREADS: writes IDs of rings until standard input ends. */
static void *write_ids(void *arg)
{
	int64_t ids[512];
	int n = 0;

	(void)arg;
	while (!stop) {
		int status = snowfence_ring_next(&ring, parents, &ids[n]);
		if (status == SNOWFENCE_FENCED || status == SNOWFENCE_EXHAUSTED)
			continue;
		WANT(status, SNOWFENCE_OK);
		if (++n == 512) {
			fwrite(ids, 8, n, stdout); /* whole: stdio has a lock */
			n = 0;
			usleep(2000);
		}
	}
	fwrite(ids, 8, n, stdout);
	return NULL;
}

static void rings(char **arg)
{
	int n = atoi(arg[2]);
	pthread_t *all = calloc(n, sizeof *all);

	WANT(snowfence_open(arg[0], NULL, arg[1], &parents), SNOWFENCE_OK);
	for (int i = 0; i < n; i++)
		pthread_create(&all[i], NULL, write_ids, NULL);
	while (getchar() != EOF)
		;
	stop = 1;
	for (int i = 0; i < n; i++)
		pthread_join(all[i], NULL);
	snowfence_close(parents);
}

/* Tags and scatter values; a tag that does not fit uses up no ID. */
static void fields(char **arg)
{
	static const char *layout = "scatter=2,tag=3,time=41,node=8,seq=10";
	int64_t ids[4], times = 0, tagged;
	snowfence_range_t ranges[4];
	snowfence_parts_t p[4], q;
	snowfence_t *g;
	size_t n;

	(void)arg;
	WANT(snowfence_open_static(layout, 200, NULL, &g), SNOWFENCE_OK);
	do { /* within a tick */
		WANT(snowfence_next(g, ids), SNOWFENCE_OK);
		WANT(snowfence_next_for(g, 8, ids + 1), SNOWFENCE_INVALID);
		WANT(snowfence_next_for(g, -1, ids + 1), SNOWFENCE_INVALID);
		WANT(snowfence_next_for(g, 7, ids + 1), SNOWFENCE_OK);
		for (int i = 0; i < 2; i++)
			WANT(snowfence_decode(layout, ids[i], p + i), SNOWFENCE_OK);
	} while (p[0].tick != p[1].tick && times++ < 1000);
	WANT(p[0].tag == 0 && p[1].tag == 7 && p[1].node == 200 && p[0].scatter == p[1].scatter, 1);
	WANT((int)p[1].sequence, (int)p[0].sequence + 1);
	WANT(snowfence_tag(g, ids[1], 5, &tagged), SNOWFENCE_OK);
	WANT(snowfence_tag(g, ids[1], 8, &tagged), SNOWFENCE_INVALID);
	WANT(snowfence_decode_own(g, tagged, &q), SNOWFENCE_OK);
	WANT(q.tag == 5 && q.tick == p[1].tick && q.sequence == p[1].sequence && q.scatter == p[1].scatter, 1);

	times = p[1].seconds * 1000000000 + p[1].nanoseconds;
	WANT(snowfence_ranges(layout, times, times + 1000000, 7, ranges, 4, &n), SNOWFENCE_OK);
	WANT((int)n, 4);
	for (size_t i = 0; i < n; i++)
		WANT(ranges[i].low <= ids[1] && ids[1] < ranges[i].high, (int)(i == (size_t)p[1].scatter));
	WANT(snowfence_ranges(layout, times, times + 1000000, -1, ranges, 4, &n), SNOWFENCE_TOO_SMALL);
	WANT((int)n, 4);
	WANT(snowfence_ranges(layout, times, times - 1, -1, ranges, 4, &n), SNOWFENCE_INVALID);
	WANT(snowfence_ranges(layout, times, times, 8, ranges, 4, &n), SNOWFENCE_INVALID);
	WANT(snowfence_ranges("randflake", times, times, -1, ranges, 4, &n), SNOWFENCE_INVALID);
	WANT(snowfence_ranges(NULL, times, times + 1, -1, NULL, 1, &n), SNOWFENCE_INVALID);
	WANT(snowfence_close(g), SNOWFENCE_OK);
	WANT(snowfence_next_for(g, 1, ids), SNOWFENCE_CLOSED);
	WANT(snowfence_tag(g, 1, 1, ids), SNOWFENCE_CLOSED);
}

/* copied: the machine is resumed twice from one snapshot, and shows it as a hypervisor does. */
static void copied(char **arg)
{
	static snowfence_ring_t copies[2];
	int device = open("/dev/vmclock0", O_WRONLY);
	uint64_t resumed = 42;
	int64_t id, seen[4], *to = seen;
	snowfence_t *g;

	(void)arg;
	WANT(device >= 0, 1);
	WANT(snowfence_open_static(NULL, 1, "lead=1000", &g), SNOWFENCE_OK);
	do
		WANT(snowfence_ring_next(copies, g, &id), SNOWFENCE_OK);
	while (copies[0].at == copies[0].end);
	copies[1] = copies[0];
	WANT(pwrite(device, &resumed, sizeof resumed, 104) == sizeof resumed, 1);
	for (int i = 0; i < 2; i++)
		for (int n = 0; n < 2; n++, to++) {
			WANT(snowfence_ring_next(&copies[i], g, to), SNOWFENCE_OK);
			WANT(*to > id && (to == seen || *to != to[-1]), 1);
		}
	WANT(seen[0] != seen[2] && seen[1] != seen[2] && seen[1] != seen[3], 1);
	WANT(snowfence_close(g), SNOWFENCE_OK);
}

/* sequence STORE NAME N: prints numbers. */
static void sequence(char **arg)
{
	snowfence_sequence_t *s;
	int64_t number;
	int status = SNOWFENCE_OK;

	WANT(snowfence_sequence_open(arg[0], arg[1], &s), SNOWFENCE_OK);
	for (int i = 0; i < atoi(arg[2]) && (status = snowfence_sequence_next(s, &number)) == SNOWFENCE_OK; i++)
		printf("%lld\n", (long long)number);
	WANT(snowfence_next((snowfence_t *)s, &number), SNOWFENCE_INVALID);
	WANT(snowfence_sequence_close(s), SNOWFENCE_OK);
	WANT(snowfence_sequence_close(s), SNOWFENCE_CLOSED);
	WANT(snowfence_sequence_next(s, &number), SNOWFENCE_CLOSED);
	printf("status %d\n", status);
}

/* serial STORE NAME N: prints numbers as text. */
static void serial(char **arg)
{
	snowfence_sequence_t *s;
	int64_t number;
	char text[SNOWFENCE_SERIAL_SIZE];
	size_t length;

	WANT(snowfence_sequence_open(arg[0], arg[1], &s), SNOWFENCE_OK);
	WANT(snowfence_sequence_serial(s, text, sizeof text - 1, NULL), SNOWFENCE_TOO_SMALL);
	WANT(snowfence_sequence_serial(s, NULL, sizeof text, NULL), SNOWFENCE_INVALID);
	for (int i = 0; i < atoi(arg[2]); i++) {
		WANT(snowfence_sequence_serial(s, text, sizeof text, &length), SNOWFENCE_OK);
		WANT((int)length, (int)strlen(text));
		printf("%s\n", text);
	}
	printf("status %d\n", snowfence_sequence_next(s, &number));
	WANT(snowfence_sequence_close(s), SNOWFENCE_OK);
	WANT(snowfence_sequence_serial(s, text, sizeof text, NULL), SNOWFENCE_CLOSED);
}

/* unloaded: the Go part is missing. */
static void unloaded(char **arg)
{
	snowfence_t *g;
	char text[1024];
	uint64_t before;

	(void)arg;
	snprintf(text, sizeof text, "%d", getpid());
	before = blocked(text);
	WANT(snowfence_open_static(NULL, 1, NULL, &g), SNOWFENCE_NOT_LOADED);
	WANT(blocked(text) == before, 1);
	snowfence_last_error(text, sizeof text);
	WANT(strstr(text, "install it beside") != NULL, 1);
}

/* reload LIBRARY: dlclose is harmless. */
static void reload(char **arg)
{
	for (int i = 0; i < 3; i++) {
		void *lib = dlopen(arg[0], RTLD_NOW | RTLD_LOCAL);
		snowfence_t *g;
		int64_t id;
		if (lib == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			exit(1);
		}
		int (*open)(const char *, int64_t, const char *, snowfence_t **) = dlsym(lib, "snowfence_open_static");
		int (*next)(snowfence_t *, int64_t *) = dlsym(lib, "snowfence_next");
		int (*close)(snowfence_t *) = dlsym(lib, "snowfence_close");
		WANT(open(NULL, i, NULL, &g), SNOWFENCE_OK);
		WANT(dlclose(lib), 0);
		WANT(next(g, &id), SNOWFENCE_OK);
		WANT(close(g), SNOWFENCE_OK);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*scene)(char **);
	} scenes[] = {
		{"handles", handles}, {"forks", forks},   {"prefork", prefork},   {"threads", threads},
		{"closes", closes},   {"loss", loss},     {"rings", rings},       {"fields", fields},
		{"sequence", sequence}, {"serial", serial}, {"unloaded", unloaded}, {"reload", reload}, {"early", early}, {"signals", signals},
		{"copied", copied}, {"masks", masks}, {"heirs", heirs}, {"copies", copies}, {"stacks", stacks},
	};

	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0 || argc < 2)
		return 2;
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		if (strcmp(argv[1], scenes[i].name) == 0) {
			scenes[i].scene(argv + 2);
			fflush(stdout);
			fprintf(stderr, "ok\n");
			return 0;
		}
	return 2;
}
