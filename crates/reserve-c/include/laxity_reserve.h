/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reserves CPU time: a runtime in every period, guaranteed whatever the other load.
 *
 * The server is `laxity cpu serve`. It listens on /run/laxity/cpu.sock; the environment variable
 * LAXITY_CPU_SOCKET names another path. Each call uses a connection of its own, so any thread and any
 * child may call. A reservation ends with the last of its tasks, or by laxity_release.
 *
 * Link with -llaxity_reserve; the pkg-config name is laxity_reserve.
 */
#ifndef LAXITY_RESERVE_H
#define LAXITY_RESERVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return codes. Later versions may add codes. */
enum laxity_code {
	LAXITY_OK = 0,
	LAXITY_NO_ROOM = 1,          /* no CPU of the task has enough bandwidth; see max_runtime_ns */
	LAXITY_SHARE = 2,            /* exceeds the user's share; see max_runtime_ns */
	LAXITY_TOO_MANY = 3,         /* the maximum number of reservations is reached */
	LAXITY_ALREADY_RESERVED = 4, /* the task is already reserved */
	LAXITY_NOT_RESERVED = 5,     /* the task is not reserved */
	LAXITY_NO_TASK = 6,          /* the task does not exist, or another user owns it */
	LAXITY_INVALID = 7,          /* the reservation is invalid, whatever the load */
	LAXITY_AFFINITY = 8,         /* the affinity of the task rules it out */
	LAXITY_NO_SCHEDULER = 9,     /* no scheduler is running */
	LAXITY_BUSY = 10,            /* retry later */
	LAXITY_MALFORMED = 11,       /* the request or the answer is malformed */
	LAXITY_VERSION = 12,         /* the server speaks another version of the protocol */
	LAXITY_INTERNAL = 13,        /* an internal error */
	LAXITY_UNKNOWN = 14,         /* a code that this library does not know */
	LAXITY_UNREACHABLE = 15,     /* no server listens, or the caller may not connect */
	LAXITY_INTERRUPTED = 16,     /* no answer arrived; laxity_query tells the state */
};

/* A bit of `flags`: threads and processes that the task starts later share the reservation. */
#define LAXITY_INHERIT 1u

/* For `task`: the calling thread. Other threads are named by gettid(2). */
#define LAXITY_THIS_THREAD 0u

/* The reservation of a task, and the share of its user. Times are in ns. */
struct laxity_reservation {
	uint64_t runtime_ns;      /* CPU time in each period; zero for no reservation */
	uint64_t period_ns;
	uint64_t tasks;           /* the number of tasks that share it */
	uint64_t deadline_misses; /* periods in which work within the runtime ended late */
	uint64_t max_lateness_ns; /* the greatest lateness of such work */
	uint64_t reserved_ppm;    /* the user's reservations, in millionths of one CPU */
	uint64_t limit_ppm;       /* their limit; zero for root, which has none */
	uint32_t cpu;             /* the CPU that serves it */
	uint32_t inherit;         /* whether children share it */
};

/* The cause of a failed call. */
struct laxity_error {
	/* The largest runtime that would be granted with the same period; zero if none would, and for
	 * errors that do not depend on it. */
	uint64_t max_runtime_ns;
	/* A message, terminated by a zero byte. */
	char text[504];
};

/*
 * Reserves, and returns once the reservation is in force, which may take seconds. Sets runtime_ns,
 * period_ns and cpu of `grant`, and its other fields to zero. `grant` and `error` may be NULL.
 */
int laxity_reserve(uint32_t task, uint64_t runtime_ns, uint64_t period_ns, uint32_t flags,
		   struct laxity_reservation *grant, struct laxity_error *error);

/* Reads the reservation of a task and the share of its user. `state` and `error` may be NULL. */
int laxity_query(uint32_t task, struct laxity_reservation *state, struct laxity_error *error);

/* Ends the reservation of a task, which continues as best effort. `error` may be NULL. */
int laxity_release(uint32_t task, struct laxity_error *error);

/* The name of a code, such as "no-room"; "unknown" for unknown codes. A static string. */
const char *laxity_code_name(int code);

#ifdef __cplusplus
}
#endif

#endif
