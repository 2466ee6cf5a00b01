/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Limits of the CPU core, and the task table. The program that uses the core defines the table.
 */
#ifndef LAXITY_TASKS_H
#define LAXITY_TASKS_H

#include "types.h"

#define LX_MAX_TASKS 16384
/* Servers per CPU. */
#define LX_MAX_SERVERS 2048
/* Server slots that only reservations may use. */
#define LX_RESERVED_PLACES 256

/* A task and its position in its server's list of runnable members. */
struct lx_member {
	/* LX_NONE if the task has no server. */
	u32 server;
	u32 runnable;
	u32 next;
	/* For load balancing: the task must stay on this CPU. */
	u32 pinned;
};

/* By task number. */
#ifdef __bpf__
extern struct lx_member members[LX_MAX_TASKS] __attribute__((section(".bss.members")));
#else
extern struct lx_member members[LX_MAX_TASKS];
#endif

LX_INLINE struct lx_member *lx_member(u32 task)
{
	return lx_at(members, task);
}

#endif
