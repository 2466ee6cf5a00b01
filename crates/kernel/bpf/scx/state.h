/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * State of CPUs and tasks, and parameters that the loader writes.
 */
#ifndef LAXITY_SCX_STATE_H
#define LAXITY_SCX_STATE_H

#include <laxity/cpu_run.h>
#include <laxity/layout.h>
#include <laxity/nearness.h>
#include <laxity/servers.h>
#include "intf.h"
#include "limits.h"
#include "lock.h"

struct lx_setup setup SEC(".data.setup");
const volatile struct lx_machine machine SEC(".rodata.machine");
struct lx_ended ended SEC(".data.ended");

/* Arguments and result of the last call of lx_coalesced_length. */
struct lx_coalesced {
	u32 server;
	u32 padding;
	u64 deadline;
	u64 budget;
	u64 total_weight;
	u64 next_deadline;
	u64 length;
};

struct lx_cpu {
	struct lx_lock lock;
	u32 cpu;
	/* Time up to which the current task has been charged, or its start. */
	u64 current_since;
	/* Time of the last event. It never decreases, whichever CPU reads the clock. */
	u64 clock;
	/* Value of the run queue clock, which stands still during a switch, when a task stopped at
	 * `clock`; and the offset of bpf_ktime_get_ns() from that clock at the last switch. Both
	 * wrap around. */
	u64 stopped_at;
	u64 clock_offset;
	/* Time for which the timer is set, and time at which it is needed. */
	u64 armed;
	u64 due;
	/* While the CPU is offline: time until the timer kicks again. */
	u64 kick_again_ns;
	u32 overflow_server;
	/* Set when the CPU goes offline, cleared when `dispatch` is called there again, or `enqueue` for a task
	 * of its servers. */
	u32 offline;
	/* Slot of ksoftirqd while that thread waits for the CPU. */
	u32 ksoftirqd;
	struct lx_cpu_run run;
	struct lx_coalesced coalesced;
	struct lx_balance balance;
	/* CPUs from which to take a task at this look. */
	struct {
		u32 in_cache;
		u32 in_node;
		u32 beyond;
		u32 giver;
	} sources;
	/* Statistics: counts, and maxima in ns. */
	u64 switches;
	u64 steals;
	u64 max_overrun_ns;
	u64 max_release_lateness_ns;
	struct lx_servers servers;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	/* The loader sets the number of entries. */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_cpu);
} cpus SEC(".maps");

struct lx_task {
	/* Referenced while the task is queued; a longer reference would keep the task from being
	 * freed. */
	struct task_struct __kptr *task;
	/* Average execution, for the task's next server. */
	u64 learnt_average;
	/* CPU whose servers the task belongs to. */
	u32 home_cpu;
	/* The task waits for a CPU in the servers. */
	u32 queued;
	u32 weight;
	/* Product of the weights of its cgroups in percent, and the generation for which it was
	 * computed. */
	u32 cgroup_scale;
	u32 cgroup_gen;
	/* Reservation that the task belongs to, and the one it is moving to; numbers from one. */
	u32 reservation;
	u32 pending;
	/* For display; zero if the slot is free. */
	u32 pid;
	/* The task is a CPU's ksoftirqd thread. */
	u32 is_ksoftirqd;
	/* Address of the task_struct, and the part of its runtime that has been charged. */
	u64 task_addr;
	u64 charged_runtime;
	/* When it came to the servers of its CPU. */
	u64 arrived;
};

/* For the tests in the virtual machine. */
LX_FIELD(lx_task, queued, 20, 4);
LX_FIELD(lx_task, pid, 44, 4);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LX_MAX_TASKS);
	__type(key, u32);
	__type(value, struct lx_task);
} tasks SEC(".maps");

/* By slot, parallel to `tasks`. */
struct lx_member members[LX_MAX_TASKS] SEC(".bss.members");

LX_INLINE struct lx_cpu *lx_cpu(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

LX_INLINE struct lx_task *lx_task_at(u32 slot)
{
	return bpf_map_lookup_elem(&tasks, &slot);
}

/* One word of the mask of active CPUs: those that are online and not going offline. */
LX_INLINE u64 lx_active_word(u32 word)
{
	const void *at = (const void *)(setup.cpu_active_mask + word * sizeof(u64));
	const struct cpumask *active = bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct cpumask));

	return setup.cpu_active_mask ? active->bits[0] : LX_NEVER;
}

LX_INLINE int lx_is_active(u32 cpu)
{
	return lx_active_word(cpu / 64) >> cpu % 64 & 1;
}

/* Returns true if the CPU may not call `dispatch` any more. */
LX_INLINE int lx_is_offline(const struct lx_cpu *c)
{
	return machine.cpus > 1 && (READ_ONCE(c->offline) || !lx_is_active(c->cpu));
}

#endif
