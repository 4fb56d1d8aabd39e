/*
 * The part of the library that is loaded with the program: it starts no thread, so that a process
 * may load it, fork, and open in each child. The Go part is loaded at the first call that needs it
 * (with SNOWFENCE_ARCHIVE it is linked, and starts with the program).
 *
 * Invariant: a process in which the Go part was started, or began to be, has the page mapped and
 * its first word set. Its children, however they were made, see the word as 0 and enter nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "shim.h"

_Static_assert(sizeof(void *) == 8, "a handle is a number of 64 bits");

uint64_t *page, *machine;
int begun;
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;

/* The second line, for kernels that do not wipe the page: fork() alone calls it. */
static void in_child(void)
{
	uint64_t *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE);

	if (p != NULL)
		memset(p, 0, SNOWFENCE_WORDS * sizeof *p);
}

/* Maps the page. Without a lock, because a child would find it locked for ever. */
static uint64_t *map_page(void)
{
	size_t size = SNOWFENCE_WORDS * sizeof(uint64_t);
	uint64_t *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE), *none = NULL;

	if (p != NULL)
		return p;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_WIPEONFORK);
	__atomic_store_n(p, 1, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(&page, &none, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(p, size); /* another thread was first, and none saw this one */
		return none;
	}
	pthread_atfork(NULL, NULL, in_child);
	return p;
}

#ifdef SNOWFENCE_ARCHIVE
/* Go starts with the program, so a child of it is too late from there on. */
__attribute__((constructor)) static void start(void) { map_page(); }

static int load(void) { return SNOWFENCE_OK; }
#else
static char folder[PATH_MAX]; /* of this library, as it was when it was loaded */

__attribute__((constructor)) static void start(void)
{
	Dl_info own;
	char *slash;

	if (dladdr((void *)&page, &own) == 0 || realpath(own.dli_fname, folder) == NULL ||
	    (slash = strrchr(folder, '/')) == NULL)
		folder[0] = 0;
	else
		*slash = 0;
}

static int load(void)
{
	char path[PATH_MAX + 32];
	void *go;

	snprintf(path, sizeof path, "%s/libsnowfence-go.so", folder);
	go = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (go == NULL) {
		snprintf(last, sizeof last, "the Go part of the library cannot be loaded: %s: install it beside "
		         "libsnowfence.so", dlerror());
		return SNOWFENCE_NOT_LOADED;
	}
#define FIND(name, args)                                                                                           \
	if ((*(void **)&part.name = dlsym(go, "snowfence_go_" #name)) == NULL) {                                  \
		return fail(SNOWFENCE_NOT_LOADED, "libsnowfence-go.so beside libsnowfence.so is of another "      \
		            "version: install both again (it has no snowfence_go_" #name ")");                     \
	}
	SNOWFENCE_PART(FIND)
	return SNOWFENCE_OK;
}
#endif

static int forked(void)
{
	return fail(SNOWFENCE_FORKED, "this process was forked from one that had used the library, whose threads it "
	            "does not have: open in the child before the parent does, start it with exec, or use a server");
}

/* Starts the Go part. */
static __attribute__((noinline)) int begin(void)
{
	uint64_t *p = map_page();
	sigset_t all, old;
	int status = SNOWFENCE_OK;

	if (p == NULL)
		return fail(SNOWFENCE_NOT_LOADED, "no memory for the library: mmap failed");
	if (__atomic_load_n(p, __ATOMIC_ACQUIRE) == 0)
		return forked();
	/* Go's threads get this mask, less what Go needs: a handler of the program may not know them, as
	 * Perl's does not. Blocked before the lock, so that no handler finds it locked by its own thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&beginning);
	if (!begun && (status = load()) == SNOWFENCE_OK) {
		machine = p; /* where nothing counts resumptions */
		if (part.begin(p, SNOWFENCE_WORDS, &machine) == SNOWFENCE_OK)
			__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
		else
			status = fail(SNOWFENCE_TAKEN, "another copy of libsnowfence.so in this process uses "
			              "libsnowfence-go.so: load only one of them");
	}
	pthread_mutex_unlock(&beginning);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return status;
}

int enter(void)
{
	if (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 0)
		return begin();
	return __atomic_load_n(page, __ATOMIC_ACQUIRE) == 0 ? forked() : SNOWFENCE_OK;
}

int check_fork(void)
{
	uint64_t *p = __atomic_load_n(&page, __ATOMIC_ACQUIRE);

	return p != NULL && __atomic_load_n(p, __ATOMIC_ACQUIRE) == 0 ? forked() : SNOWFENCE_OK;
}
