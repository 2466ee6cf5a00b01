/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Optional trace of events and decisions, for display and for a replay against the policy in user
 * space. Costs one comparison per event while disabled.
 */
#ifndef LAXITY_SCX_RECORD_H
#define LAXITY_SCX_RECORD_H

#include "state.h"

/* As in laxity_kernel::cpu::record. The comments give `a` and `b`, and `slot` if it is not a
 * task. */
enum lx_event_kind {
	/* A task gets a server of its own: weight, learnt average. */
	LX_JOINED,
	/* A task joins the server of a reservation: number. */
	LX_BOUND,
	/* A reservation gets a server without members: slot = number, budget, period. */
	LX_RESERVED,
	LX_LEFT,
	/* New weight. */
	LX_WEIGHED,
	LX_WOKE,
	LX_BLOCKED_NOW,
	/* Execution time. */
	LX_RAN,
	LX_TIMER,
	/* A task or LX_NONE was picked: remaining budget, deadline. */
	LX_CHOSEN,
	/* A best-effort or reserved task started: budget, period. */
	LX_STARTED,
	LX_STARTED_RESERVED,
	LX_STOPPED,
};

struct lx_event {
	u64 at;
	u32 what;
	u32 cpu;
	u32 slot;
	u32 pid;
	u64 a;
	u64 b;
};

struct {
	/* End of the recording, so that it ends if the reader dies. */
	u64 until;
	/* Events dropped for lack of space. */
	u64 lost;
} recording SEC(".data.recording");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

/* A global function, because the stacks of its callers are full. */
LX_GLOBAL_FN u32 lx_write_event(u64 which, u64 now, u32 slot, u64 a, u64 b)
{
	struct lx_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	struct lx_task *t;

	if (!e) {
		__sync_fetch_and_add(&recording.lost, 1);
		return 0;
	}
	t = slot < LX_MAX_TASKS ? lx_task_at(slot) : NULL;
	e->at = now;
	e->what = which;
	e->cpu = which >> 32;
	e->slot = slot;
	e->pid = t ? t->pid : 0;
	e->a = a;
	e->b = b;
	/* No wake-up, since the CPU's lock is held; the reader polls. */
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

LX_INLINE void lx_record(u32 what, const struct lx_cpu *c, u64 now, u32 slot, u64 a, u64 b)
{
	if (now < READ_ONCE(recording.until))
		lx_write_event(what | (u64)c->cpu << 32, now, slot, a, b);
}

#endif
