/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Programs reserve CPU time for themselves: so much in every period, kept whatever else computes.
 *
 * `laxity cpu serve` decides; it listens at /run/laxity/cpu.sock, or where the environment variable
 * LAXITY_CPU_SOCKET says. Each call makes a connection of its own and may be made by any thread, and
 * by children. A reservation ends with the last of its tasks, or by laxity_release.
 *
 * Link with -llaxity_reserve; pkg-config knows it as laxity_reserve.
 */
#ifndef LAXITY_RESERVE_H
#define LAXITY_RESERVE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What calls return. Others may come; laxity_code_name knows those of the library. */
enum laxity_code {
	LAXITY_OK = 0,
	LAXITY_NO_ROOM = 1,      /* no CPU that the task may use has room; see fits_ns */
	LAXITY_SHARE = 2,        /* more than the user's share; see fits_ns */
	LAXITY_TOO_MANY = 3,     /* as many reservations as may be */
	LAXITY_HAS_ONE = 4,      /* the task has a reservation already */
	LAXITY_HAS_NONE = 5,     /* the task has none */
	LAXITY_NO_TASK = 6,      /* no such task, or another user's */
	LAXITY_UNUSABLE = 7,     /* the reservation makes no sense by itself */
	LAXITY_AFFINITY = 8,     /* the CPUs that the task may use rule it out */
	LAXITY_DOWN = 9,         /* no scheduler is up */
	LAXITY_BUSY = 10,        /* later it may do */
	LAXITY_MALFORMED = 11,   /* the server does not understand this library */
	LAXITY_VERSION = 12,     /* the server speaks another version */
	LAXITY_INTERNAL = 13,    /* something inside */
	LAXITY_UNKNOWN = 14,     /* a reason that came after this library */
	LAXITY_UNREACHABLE = 15, /* no server there, or it may not be asked */
	LAXITY_INTERRUPTED = 16, /* no answer came; laxity_query tells what is */
};

/* In `flags`: threads and processes that the task starts from then on share the reservation. */
#define LAXITY_INHERIT 1u

/* In place of a task: the calling thread. Others go by gettid(2). */
#define LAXITY_THIS_THREAD 0u

/* What a task has. Times in ns. */
struct laxity_reservation {
	uint64_t runtime_ns; /* CPU time in each period; zero for no reservation */
	uint64_t period_ns;
	uint64_t tasks;      /* that share it */
	uint64_t late;       /* periods in which work within the runtime ended after the period */
	uint64_t latest_ns;  /* by how much at most */
	uint64_t held_ppm;   /* what the user holds, in millionths of one CPU */
	uint64_t most_ppm;   /* what the user may hold; zero where nothing is set, for root */
	uint32_t cpu;        /* that keeps it */
	uint32_t inherit;    /* whether children share it */
};

/* Why a call failed. */
struct laxity_error {
	/* The largest runtime that would be granted with the same period, where that is the question;
	 * zero when none would. */
	uint64_t fits_ns;
	/* For people; ends in a zero. */
	char text[504];
};

/*
 * Reserves, and comes back when the reservation is in force, at most after some seconds. `reserved`
 * gets runtime_ns, period_ns and cpu, the rest of it zero. `reserved` and `error` may be NULL.
 */
int laxity_reserve(uint32_t task, uint64_t runtime_ns, uint64_t period_ns, uint32_t flags,
		   struct laxity_reservation *reserved, struct laxity_error *error);

/* What a task has, and what its user may still have. `state` and `error` may be NULL. */
int laxity_query(uint32_t task, struct laxity_reservation *state, struct laxity_error *error);

/* Ends the reservation of a task, which goes on as best effort. `error` may be NULL. */
int laxity_release(uint32_t task, struct laxity_error *error);

/* The name of a code, such as "no-room"; "unknown" for others. Never NULL, never freed. */
const char *laxity_code_name(int code);

#ifdef __cplusplus
}
#endif

#endif
