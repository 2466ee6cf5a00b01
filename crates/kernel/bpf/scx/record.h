/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Optional trace of events and decisions, for display and for a replay against the policy in user
 * space. Costs one comparison per event while disabled.
 */
#ifndef LAXITY_SCX_RECORD_H
#define LAXITY_SCX_RECORD_H

#include "state.h"

struct lx_recording recording SEC(".data.recording");

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
