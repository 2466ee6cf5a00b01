/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The `running` and `stopping` hooks, for kernels whose accounting of execution is not reliable
 * (cpu_run.h).
 */
#ifndef LAXITY_SCX_RUN_HOOKS_H
#define LAXITY_SCX_RUN_HOOKS_H

#include "decide.h"
#include "migrate.h"

/* Common case: the picked task starts, and no decision is necessary. */
LX_INLINE int lx_starts(u32 cpu, const struct task_struct *p)
{
	struct lx_cpu *c = lx_cpu(cpu);
	const struct lx_task *t;
	int as_chosen;

	if (!c || !lx_lock(&c->lock))
		return 0;
	if (lx_slot_is_task(c->ksoftirqd, p))
		c->ksoftirqd = LX_NONE;
	/* A timer that fired in between had no effect, since the kernel was about to switch; nor had the
	 * kick of a request. */
	t = lx_task_at(c->run.next);
	as_chosen = lx_slot_is_task(c->run.next, p) && lx_member(c->run.next)->runnable &&
		    READ_ONCE(c->armed) && t && !t->pending;
	if (as_chosen) {
		c->clock = lx_max(lx_decision_time(c, p->se.exec_start), c->clock);
		lx_run_start(&c->run, c->run.next);
		lx_on_start(c, c->run.current, c->clock);
	}
	lx_unlock(&c->lock);
	lx_run_pending_timers(c);
	return as_chosen;
}

/* The current task stops or blocks. */
LX_INLINE int lx_stops(u32 cpu, const struct task_struct *p, u64 now, u32 runnable)
{
	struct lx_cpu *c = lx_cpu(cpu);
	int running;

	if (!c || !lx_lock(&c->lock))
		return 0;
	running = lx_slot_is_task(c->run.current, p);
	if (running) {
		u32 slot = c->run.current;

		/* A budget that is used up ends before the block; otherwise the task would wait for
		 * its replenishment after it wakes. */
		now = lx_charge_current(c, now);
		if (!runnable)
			lx_on_block(c, now, slot);
		lx_run_stop(&c->run);
		lx_record(LX_STOPPED, c, now, slot, 0, 0);
		c->stopped_at = p->se.exec_start;
	}
	lx_unlock(&c->lock);
	return running;
}

SEC("struct_ops/running")
void laxity_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 slot = 0, was_held, cpu = lx_cpu_of(p);
	struct lx_decision o;
	struct lx_task *t;
	struct lx_cpu *c;
	u64 now;

	if (lx_starts(cpu, p))
		return;
	now = bpf_ktime_get_ns();
	c = lx_cpu(cpu);
	if (!c)
		return;
	/* It is enqueued again soon if the CPU comes back. */
	if (lx_is_offline(c)) {
		if (p->scx.slice > LX_UNCHARGED_SLICE_NS)
			lx_set_slice(p, LX_UNCHARGED_SLICE_NS);
		return;
	}
	t = lx_task_of(p, &slot);
	if (!t)
		return;
	/* It may have been running since before its slot could be cached. */
	if (p->scx.dsq_vtime != (u64)slot + 1)
		lx_cache_slot(p, slot + 1);
	if (t->home_cpu != cpu)
		lx_leave_cpu(t, slot, now, cpu);
	c = lx_lock_home(t);
	if (!c)
		return;
	/* Its reservation is on another CPU, so it is not charged. It was moved there while a higher class
	 * had this one, and leaves now, or may not migrate. Its slice is not renewed, which would let it stay
	 * for ever where that class comes often. */
	if (c->cpu != cpu) {
		lx_unlock(&c->lock);
		if (p->scx.slice > LX_UNCHARGED_SLICE_NS)
			lx_set_slice(p, LX_UNCHARGED_SLICE_NS);
		if (!lx_is_migration_disabled(p))
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		return;
	}
	now = lx_charge_current(c, now);
	lx_task_attach(c, t, slot, now);
	lx_on_wake(c, now, slot);
	was_held = t->queued;
	t->queued = 0;
	lx_run_pick(&c->run, slot);
	lx_run_start(&c->run, slot);
	lx_on_start(c, slot, now);
	lx_decide(c, now, &o);
	/* It was asked to move while a higher class had the CPU. */
	o.preempt |= t->pending != 0;
	lx_unlock(&c->lock);
	if (was_held)
		lx_task_unhold(t);
	lx_kick_on_preempt(&o);
}

SEC("struct_ops/stopping")
void laxity_stopping(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	u32 slot = 0, runnable = ctx[1];
	struct lx_task *t;

	/* `exit_task` runs only after the last reference is gone, which may be much later. */
	if (!runnable && p->__state & TASK_DEAD) {
		t = lx_task_of(p, &slot);
		if (t)
			lx_task_exit(t, slot);
		return;
	}
	if (!lx_stops(lx_cpu_of(p), p, now, runnable) && !runnable)
		lx_task_blocks(p);
	if (runnable)
		return;
	t = lx_task_cached(p, &slot);
	if (t && t->pending)
		lx_apply_pending(slot, now);
}

#endif
