/* What shim.c is on Windows. Nothing is forked there, so the Go part is linked, and starts with the DLL. */
#include <windows.h>

#include "shim.h"

static uint64_t words[SNOWFENCE_WORDS] = {1};
uint64_t *page = words, *machine = words;
int begun;

static BOOL CALLBACK begin(INIT_ONCE *once, void *ignored, void **context)
{
	(void)once, (void)ignored, (void)context;
	part.begin(page, SNOWFENCE_WORDS, &machine);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	return TRUE;
}

int enter(void)
{
	static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

	InitOnceExecuteOnce(&once, begin, NULL, NULL);
	return SNOWFENCE_OK;
}

int check_fork(void) { return SNOWFENCE_OK; }
