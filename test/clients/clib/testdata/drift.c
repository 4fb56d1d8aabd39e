/* The C calls of snow-drift: drift bare, drift redis ADDRESS. It prints what it has, waits for a line where
 * the keys are looked at, and ends with "ok". */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snowdrift.h"

#define WANT(got, op, want)                                                                              \
	do {                                                                                             \
		long long got_ = (got), want_ = (want);                                                  \
		if (!(got_ op want_)) {                                                                  \
			char text[1024];                                                                 \
			snowfence_last_error(text, sizeof text);                                         \
			fprintf(stderr, "line %d: %s is %lld, want %s %lld; last error: %s\n", __LINE__, \
			        #got, got_, #op, want_, text);                                           \
			exit(1);                                                                         \
		}                                                                                        \
	} while (0)

#define WORKER(id, seq_bits) ((id) >> (seq_bits) & 63)

static void says(const char *part)
{
	char text[1024];

	snowfence_last_error(text, sizeof text);
	if (strstr(text, part) == NULL) {
		fprintf(stderr, "the last error is %s, want %s\n", text, part);
		exit(1);
	}
}

static void in_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		WANT(NextId(), ==, -SNOWFENCE_FORKED);
		WANT(RegisterOne("127.0.0.1:1", "", 0, "", 0, 63, 15), ==, -1);
		WANT(Validate(1), ==, 0);
		UnRegister();
		says("forked");
		_exit(0);
	}
	WANT(waitpid(pid, &status, 0), ==, pid);
	WANT(status, ==, 0);
}

static void bare(void)
{
	int64_t id, last = 0;

	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	says("SetWorkerId");
	SetWorkerId(5);
	for (int i = 0; i < 10000; i++) {
		WANT(id = NextId(), >, last);
		WANT(WORKER(id, 6), ==, 5);
		last = id;
	}
	SetWorkerId(64);
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	says("0 to 63");
	SetWorkerId(5);
	WANT(NextId(), >, last);
	SetOptions(9, 6, 10);
	WANT(id = NextId(), >, 0);
	WANT(WORKER(id, 10), ==, 9);
	SetOptions(9, 20, 10);
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	SetOptions(70000, 19, 3);
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	WANT(RegisterOne("127.0.0.1:1", "", 0, "", 0, 63, 2), <, 0);
	WANT(NextId(), ==, -SNOWFENCE_INVALID); /* registered, if in vain: a bare number is over */
	SetWorkerId(5);
	WANT(NextId(), <, 0);
	WANT(Validate(5), ==, 0);
	UnRegister();
	in_child();
}

/* The binary of the original took 64 bits for the database, its published header says 32. */
typedef int32_t (*wide)(const char *, const char *, int64_t, const char *, int32_t, int32_t, int32_t);

static void redis(const char *address)
{
	wide register_one = (wide)(void *)RegisterOne;
	int32_t worker, many[4] = {7, 7, 7, 7}, other;
	int64_t id, last = 0;

	WANT(RegisterOne(address, "", 2, "", 32, 63, 2), ==, -2);
	says("TTL");
	WANT(RegisterOne("127.0.0.1:1", "", 2, "", 32, 63, 15), ==, -1);
	says("127.0.0.1:1");
	WANT(worker = register_one(address, "", ((int64_t)0x5eed << 32) + 2, "", 32, 63, 15), >=, 32);
	WANT(Validate(worker), ==, 1);
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	SetWorkerId(5); /* is not held */
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	says("does not hold number 5");
	SetWorkerId(worker);
	for (int i = 0; i < 1000; i++) {
		WANT(id = NextId(), >, last);
		WANT(WORKER(id, 6), ==, worker);
		last = id;
	}
	SetWorkerId(worker); /* again */
	WANT(id = NextId(), >, last);
	SetOptions(worker, 6, 10); /* a number has one generator */
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	says("call RegisterOne again, and then SetOptions");
	SetWorkerId(worker);
	WANT(NextId(), >, id);
	printf("%d\n", worker);
	fflush(stdout);
	getchar();

	in_child();
	WANT(RegisterMany(address, "", 2, "", 32, 63, 0, 15, many), ==, -1);
	WANT(many[0], ==, 7);
	WANT(RegisterMany(address, "", 2, "", 32, 63, 3, 2, many), ==, -2);
	WANT(RegisterMany(address, "", 2, "", 40, 42, 3, 15, many), ==, 3);
	WANT(Validate(worker), ==, 0);
	WANT(NextId(), <, 0);
	for (int i = 0; i < 3; i++) {
		WANT(many[i], >=, 40);
		WANT(many[i], <=, 42);
		WANT(Validate(many[i]), ==, 1);
		SetOptions(many[i], 6, 10);
		WANT(id = NextId(), >, 0);
		WANT(WORKER(id, 10), ==, many[i]);
	}
	WANT(many[3], ==, 7);
	UnRegister();
	for (int i = 0; i < 3; i++)
		WANT(Validate(many[i]), ==, 0);
	WANT(NextId(), <, 0);
	SetWorkerId(many[2]);
	WANT(NextId(), ==, -SNOWFENCE_INVALID);
	WANT(other = RegisterOne(address, "", 2, "", 50, 63, 15), >=, 50);
	SetWorkerId(other);
	WANT(NextId(), >, 0);
	UnRegister();
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "bare") == 0)
		bare();
	else if (argc == 3 && strcmp(argv[1], "redis") == 0)
		redis(argv[2]);
	else
		return 2;
	puts("ok");
	return 0;
}
