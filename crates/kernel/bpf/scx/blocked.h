/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Detection of tasks that blocked without a call of a program (cpu_run.h).
 */
#ifndef LAXITY_SCX_BLOCKED_H
#define LAXITY_SCX_BLOCKED_H

#include "migrate.h"

/* Requires the lock. Charges a task that is not running up to the kernel's total of its
 * execution. */
LX_INLINE void lx_charge_total(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 now, u64 executed,
			       u64 more)
{
	u64 ran = lx_uncharged(t, executed) + more;

	c->clock = now;
	if (ran)
		lx_charge_task(c, slot, now, ran);
}

/* Requires the lock. Time for which a preempted task ran on after one or more other tasks became
 * current. The kernel accounts this time to the task that replaces it, since it does not update its
 * clock there. A waiting task that is enqueued again after a change of attributes did not run. */
LX_INLINE u64 lx_ran_past_preemption(struct lx_cpu *c, const struct task_struct *p, u32 slot)
{
	struct lx_task *next;
	u64 length;

	if (!c->run.nr_local || c->run.current == LX_NONE || !p->on_cpu)
		return 0;
	if (lx_run_last_parked(&c->run) != slot &&
	    (c->run.current == slot || !lx_run_contains(&c->run, slot)))
		return 0;
	length = bpf_ktime_get_ns();
	length -= lx_min(c->clock, length);
	next = lx_task_at(c->run.current);
	if (next)
		next->charged_runtime += length;
	return length;
}

/* Requires the lock. A task counted as runnable has been blocked since it was seen to stop. */
LX_INLINE void lx_mark_blocked(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 exec_start,
			       u64 executed, u64 now)
{
	u64 at = lx_stopped_at(c, exec_start, now);

	lx_charge_total(c, t, slot, at, executed, 0);
	lx_on_block(c, at, slot);
	lx_cpu_remove(c, slot, at);
}

/* Requires the lock. Returns true if a task of the run state is blocked, and removes it then. */
LX_INLINE u32 lx_check_blocked(struct lx_cpu *c, u32 slot, u64 now)
{
	struct lx_task *t = lx_task_at(slot);
	const struct task_struct *p;

	if (!t || !t->task_addr)
		return 0;
	p = lx_task_struct(t);
	if (p->scx.flags & SCX_TASK_QUEUED)
		return 0;
	lx_mark_blocked(c, t, slot, p->se.exec_start, p->se.sum_exec_runtime, now);
	return 1;
}

enum { LX_NOT_BLOCKED, LX_WAS_BLOCKED, LX_WAS_BLOCKED_WITH_REQUEST };

/* The same for a task that may be on another CPU, where a change of attributes dequeues it for a
 * moment. */
LX_GLOBAL_FN u32 lx_check_blocked_off_cpu(struct lx_cpu *c __arg_nonnull, u32 slot, u64 now)
{
	const struct lx_task *t = lx_task_at(slot);

	if (!t || !t->task_addr || lx_task_struct(t)->on_cpu || !lx_check_blocked(c, slot, now))
		return LX_NOT_BLOCKED;
	return t->pending ? LX_WAS_BLOCKED_WITH_REQUEST : LX_WAS_BLOCKED;
}

/* Requires the lock. Removes blocked tasks from the head of the run state, and carries out requests for
 * them. */
LX_INLINE void lx_update_blocked(struct lx_cpu *c, u64 now)
{
	u32 i, slot, found;

	for (i = lx_zero; i <= LX_MAX_LOCAL && can_loop; i += 1 + lx_zero) {
		slot = c->run.current;
		if (slot == LX_NONE)
			break;
		found = lx_check_blocked_off_cpu(c, slot, now);
		if (found == LX_NOT_BLOCKED)
			break;
		/* Here, since calls nest at most eight deep. */
		if (found == LX_WAS_BLOCKED_WITH_REQUEST)
			lx_apply_unless_runs(c, slot, now);
	}
}

/* Removes a task that the run state holds although the local DSQ is empty. Returns its slot if it has
 * blocked while a request for it is pending, otherwise LX_NONE. */
LX_GLOBAL_FN u32 lx_drop_stale_one(struct lx_cpu *c __arg_nonnull, u32 last)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot, blocked = LX_NONE;

	if (!lx_lock(&c->lock))
		return LX_NONE;
	now = lx_max(now, c->clock);
	slot = lx_run_stale_slot(&c->run, last);
	if (slot != LX_NONE) {
		const struct lx_task *t = lx_task_at(slot);

		if (!lx_check_blocked(c, slot, now))
			lx_cpu_remove(c, slot, now);
		else if (t && t->pending)
			blocked = slot;
	}
	lx_unlock(&c->lock);
	return blocked;
}

/* Called from `dispatch`: removes all of them. */
LX_INLINE void lx_drop_stale(struct lx_cpu *c, u32 last)
{
	u32 i, slot;

	for (i = lx_zero; i <= LX_MAX_LOCAL && c && lx_run_is_stale(&c->run, last) && can_loop;
	     i += 1 + lx_zero) {
		slot = lx_drop_stale_one(c, last);
		if (slot != LX_NONE)
			lx_apply_pending(slot, bpf_ktime_get_ns());
	}
}

/* Requires the lock. A task of the run state is enqueued. Returns true if it was preempted;
 * otherwise it blocked and woke, or its attributes changed. */
LX_INLINE int lx_requeued(struct lx_cpu *c, struct lx_task *t, const struct task_struct *p,
			  u32 slot, u64 flags, u64 now)
{
	u64 more;

	if (flags & SCX_ENQ_WAKEUP) {
		lx_mark_blocked(c, t, slot, p->se.exec_start, p->se.sum_exec_runtime, now);
		return 0;
	}
	more = lx_ran_past_preemption(c, p, slot);
	lx_charge_total(c, t, slot, c->clock + more, p->se.sum_exec_runtime, more);
	lx_cpu_remove(c, slot, c->clock);
	return p->on_cpu != 0;
}

/* The task that ran before a call of `dispatch`. */
struct lx_prev {
	/* Time of the last update of its execution, by the run queue clock; zero once it has been
	 * used. */
	u64 exec_start;
	u64 sum_exec_runtime;
	u32 slot;
	/* It is still runnable. */
	u32 runnable;
};

/* The previous task blocked: returns its slot if it belongs to the servers of this CPU. */
LX_INLINE u32 lx_prev_blocked(struct task_struct *prev, u32 cpu)
{
	u32 slot = 0;
	struct lx_task *t = lx_task_cached(prev, &slot);

	if (!t)
		return LX_NONE;
	/* `exit_task` runs only after the last reference is gone, which may be much later. */
	if (prev->__state & TASK_DEAD) {
		lx_task_exit(t, slot);
		lx_task_unhold(t);
		return LX_NONE;
	}
	/* Another CPU dispatched it just when it was enqueued again. */
	if (t->queued) {
		t->queued = 0;
		lx_task_unhold(t);
	}
	if (t->pending) {
		lx_apply_pending(slot, bpf_ktime_get_ns());
		return LX_NONE;
	}
	if (t->home_cpu == cpu)
		return slot;
	t->charged_runtime = prev->se.sum_exec_runtime;
	lx_task_blocks(prev);
	return LX_NONE;
}

LX_INLINE void lx_read_prev(struct lx_prev *last, struct task_struct *prev, u32 cpu)
{
	last->slot = LX_NONE;
	last->runnable = prev && prev->scx.flags & SCX_TASK_QUEUED;
	last->exec_start = prev ? prev->se.exec_start : 0;
	last->sum_exec_runtime = prev ? prev->se.sum_exec_runtime : 0;
	if (last->runnable)
		last->slot = lx_prev_slot(prev, cpu);
	else if (prev && !machine.has_run_hooks)
		last->slot = lx_prev_blocked(prev, cpu);
}

/* Charges the previous task. Returns its slot if it has blocked while a request for it is pending,
 * otherwise LX_NONE. A global function, because the verifier has much to follow in `dispatch`. */
LX_GLOBAL_FN u32 lx_charge_prev(u32 cpu, struct lx_prev *last __arg_nonnull)
{
	struct lx_cpu *c = lx_cpu(cpu);
	u32 slot = last->slot, blocked = LX_NONE;
	struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);
	u64 now = bpf_ktime_get_ns();

	if (!c || !lx_lock(&c->lock))
		return LX_NONE;
	now = lx_max(now, c->clock);
	lx_run_drained(&c->run);
	if (last->exec_start)
		c->clock_offset = now - last->exec_start;
	/* A requester may have moved it meanwhile. */
	if (t && READ_ONCE(t->home_cpu) != cpu) {
		t = NULL;
		last->slot = LX_NONE;
	}
	if (t) {
		/* It came from another class while it had the CPU. A blocked server has no budget
		 * to charge. */
		if (last->runnable && !lx_member(slot)->runnable) {
			lx_task_attach(c, t, slot, now);
			lx_on_wake(c, now, slot);
		}
		lx_charge_total(c, t, slot, now, last->sum_exec_runtime, 0);
		if (!last->runnable) {
			lx_on_block(c, now, slot);
			lx_cpu_remove(c, slot, now);
			last->slot = LX_NONE;
			if (t->pending)
				blocked = slot;
		}
	}
	c->clock = now;
	lx_unlock(&c->lock);
	return blocked;
}

/* Requires the lock. Time of a decision; lx_charge_prev has read the clock for the first one. */
LX_INLINE u64 lx_pick_time(struct lx_cpu *c, struct lx_prev *last)
{
	if (!last->exec_start)
		c->clock = lx_max(bpf_ktime_get_ns(), c->clock);
	last->exec_start = 0;
	return c->clock;
}

#endif
