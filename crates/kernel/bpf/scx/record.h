/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What the servers of CPUs were told and whom they chose, for a recording: to look at, and to
 * ask the policy in user space the same. Costs a comparison where nobody does. Part of
 * laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_RECORD_H
#define LAXITY_SCX_RECORD_H

/* As laxity_kernel::cpu::record has them; said is what a and b are, and slot where it is no task. */
enum lx_event_kind {
	/* A task has a server of its own: weight, what was learnt of it. */
	LX_JOINED,
	/* A task is in the server of a reservation: its number. */
	LX_BOUND,
	/* A reservation has a server, nobody is in it yet: its number, budget, period. */
	LX_RESERVED,
	LX_LEFT,
	/* Weight. */
	LX_WEIGHED,
	LX_WOKE,
	LX_BLOCKED_NOW,
	/* So long. */
	LX_RAN,
	LX_TIMER,
	/* Nobody, or a task: what is left of the budget, the deadline. */
	LX_CHOSEN,
	/* On the CPU, best effort or of a reservation: budget, period. */
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
	/* Ends by itself, so that nobody who records and dies leaves it on. */
	u64 until;
	/* Events for which there was no room. */
	u64 lost;
} recording SEC(".data.recording");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

/* Not a part of those that call it, whose stacks are full. */
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
	/* Nobody is woken, since the CPU's lock is held: the reader looks from time to time. */
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

LX_INLINE void lx_record(u32 what, const struct lx_cpu *c, u64 now, u32 slot, u64 a, u64 b)
{
	if (now < READ_ONCE(recording.until))
		lx_write_event(what | (u64)c->cpu << 32, now, slot, a, b);
}

#endif
