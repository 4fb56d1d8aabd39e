/* What the files of the shim share. */
#ifndef SNOWFENCE_SHIM_H
#define SNOWFENCE_SHIM_H

#include "part.h"
#include "snowfence.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define FIELD(name, args) int(*name) args;
struct part {
	SNOWFENCE_PART(FIELD)
};
#undef FIELD

extern struct part part;   /* the calls of the Go part; after enter only */
extern int begun;          /* the Go part may be entered */
extern uint64_t *page;     /* mapped once, never unmapped: rings read it at any time */
extern uint64_t *machine;  /* how often the machine was resumed from a snapshot, or a word that stays; after enter only */
extern _Thread_local char last[1024]; /* text of the last error */

/* Sets the text of the last error, and returns the status. */
int fail(int status, const char *text);

/* The status of an argument that is NULL. */
int missing(const char *what);

/* Whether this process is a child of one that used the library. */
int check_fork(void);

/* Starts the Go part at the first call. Each call of the Go part is behind one of these two, which
 * look at the page: a child of a process that used the library enters nothing. */
int enter(void);

/* The same for calls with a handle. Before anything is opened there is none. */
int enter_with(const void *handle);

#define TRY(call)                                                                                                  \
	do {                                                                                                       \
		int status_ = (call);                                                                              \
		if (status_ != SNOWFENCE_OK)                                                                       \
			return status_;                                                                            \
	} while (0)

#define NEED(pointer)                                                                                              \
	do {                                                                                                       \
		if ((pointer) == NULL)                                                                             \
			return missing(#pointer);                                                                  \
	} while (0)

#define NUMBER(handle) ((uint64_t)(uintptr_t)(handle))
#define HANDLE(number) ((void *)(uintptr_t)(number))

#endif
