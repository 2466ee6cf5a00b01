/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What is found out of tasks of which nobody told (cpu_run.h). Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_BLOCKED_H
#define LAXITY_SCX_BLOCKED_H

/* Under the lock: a task that does not run executed so much in all, by the kernel's count. */
LX_INLINE void lx_charge_total(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 now, u64 executed,
			       u64 more)
{
	u64 ran = lx_uncharged(t, executed) + more;

	c->clock = now;
	if (ran)
		lx_charge_task(c, slot, now, ran);
}

/* Under the lock: for how long a task that is put aside has gone on since another came before it, or several.
 * The kernel, which spares a look at its clock there, counts that with the other, which did not run. One that
 * waits and comes again, since something about it was changed, did not go on. */
LX_INLINE u64 lx_ran_past_preemption(struct lx_cpu *c, const struct task_struct *p, u32 slot)
{
	struct lx_task *next;
	u64 length;

	if (!c->nr_local || c->current == LX_NONE || !p->on_cpu)
		return 0;
	if (*lx_at(c->local_queue, c->nr_local - 1) != slot &&
	    (c->current == slot || !lx_run_contains(c, slot)))
		return 0;
	length = bpf_ktime_get_ns();
	length -= lx_min(c->clock, length);
	next = lx_task_at(c->current);
	if (next)
		next->charged_runtime += length;
	return length;
}

/* Under the lock: a task that was taken for one with something to do sleeps since it was seen to stop. */
LX_INLINE void lx_mark_blocked(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 exec_start,
			       u64 executed, u64 now)
{
	u64 at = lx_stopped_at(c, exec_start, now);

	lx_charge_total(c, t, slot, at, executed, 0);
	lx_on_block(c, at, slot);
	lx_run_remove(c, slot, at);
}

/* Under the lock: whether a task that is here sleeps since; then it is not here any more. */
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

/* The same of one that may run on another CPU, which takes it out for a moment when something about it is
 * changed. */
LX_GLOBAL_FN u32 lx_check_blocked_off_cpu(struct lx_cpu *c __arg_nonnull, u32 slot, u64 now)
{
	const struct lx_task *t = lx_task_at(slot);

	return t && t->task_addr && !lx_task_struct(t)->on_cpu && lx_check_blocked(c, slot, now);
}

/* Under the lock: those who have the CPU, and would next, may sleep since. */
LX_INLINE void lx_update_blocked(struct lx_cpu *c, u64 now)
{
	u32 i;

	for (i = lx_zero; i <= LX_MAX_LOCAL && can_loop; i += 1 + lx_zero)
		if (c->current == LX_NONE || !lx_check_blocked_off_cpu(c, c->current, now))
			break;
}

/* Whether a CPU is thought to have others than `last`, though nobody waits in the kernel's queue any more. Asked
 * without the lock, as nobody else puts tasks there; on other CPUs they may be taken away. */
LX_INLINE int lx_has_stale_run_state(const struct lx_cpu *c, u32 last)
{
	return c && (c->nr_local || (c->current != LX_NONE && c->current != last));
}

/* One of them is not there any more. */
LX_GLOBAL_FN u32 lx_drop_stale_one(struct lx_cpu *c __arg_nonnull)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot;

	if (!lx_lock(&c->lock))
		return 0;
	now = lx_max(now, c->clock);
	slot = c->nr_local ? *lx_at(c->local_queue, c->nr_local - 1) : c->current;
	if (slot != LX_NONE && !lx_check_blocked(c, slot, now))
		lx_run_remove(c, slot, now);
	lx_unlock(&c->lock);
	return 0;
}

/* From `dispatch`: all of them. */
LX_INLINE void lx_drop_stale(struct lx_cpu *c, u32 last)
{
	u32 i;

	for (i = lx_zero; i <= LX_MAX_LOCAL && lx_has_stale_run_state(c, last) && can_loop;
	     i += 1 + lx_zero)
		lx_drop_stale_one(c);
}

/* Under the lock: a task comes to wait that was taken for one with something to do. It is put aside, which
 * this tells, or slept meanwhile, or something about it was changed. */
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
	lx_run_remove(c, slot, c->clock);
	return p->on_cpu != 0;
}

/* Who ran last on a CPU that asks. */
struct lx_prev {
	/* By the kernel's clock, when it was counted how long it executed in all. */
	u64 exec_start;
	u64 sum_exec_runtime;
	u32 slot;
	/* It could go on. */
	u32 runnable;
};

/* Who ran last sleeps: its slot, if it is in the servers of this CPU still. */
LX_INLINE u32 lx_prev_blocked(struct task_struct *prev, u32 cpu)
{
	u32 slot = 0;
	struct lx_task *t = lx_task_cached(prev, &slot);

	if (!t)
		return LX_NONE;
	/* The kernel tells only when nothing refers to it any more, which may be long after. */
	if (prev->__state & TASK_DEAD) {
		lx_task_exit(t, slot);
		lx_task_unhold(t);
		return LX_NONE;
	}
	/* Handed over by another CPU just when it came again. */
	if (t->queued) {
		t->queued = 0;
		lx_task_unhold(t);
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

/* What is known of who ran last is booked. A part of its own, as the verifier has much to follow here. */
LX_GLOBAL_FN u32 lx_charge_prev(u32 cpu, struct lx_prev *last __arg_nonnull)
{
	struct lx_cpu *c = lx_cpu(cpu);
	u32 slot = last->slot;
	struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);
	u64 now = bpf_ktime_get_ns();

	if (!c || !lx_lock(&c->lock))
		return 0;
	now = lx_max(now, c->clock);
	c->drain_local = 0;
	if (last->exec_start)
		c->clock_offset = now - last->exec_start;
	if (t) {
		/* It came from another class with the CPU. A server that is blocked has no budget to be used up. */
		if (last->runnable && !lx_member(slot)->runnable) {
			lx_task_attach(c, t, slot, now);
			lx_on_wake(c, now, slot);
		}
		lx_charge_total(c, t, slot, now, last->sum_exec_runtime, 0);
		if (!last->runnable) {
			lx_on_block(c, now, slot);
			lx_run_remove(c, slot, now);
			last->slot = LX_NONE;
		}
	}
	c->clock = now;
	lx_unlock(&c->lock);
	return 0;
}

/* Under the lock: the time of a choice: the clock was read just before the first one. */
LX_INLINE u64 lx_pick_time(struct lx_cpu *c, struct lx_prev *last)
{
	if (!last->exec_start)
		c->clock = lx_max(bpf_ktime_get_ns(), c->clock);
	last->exec_start = 0;
	return c->clock;
}

/* Under the lock: who was chosen has the CPU from now on, or nobody. */
LX_INLINE void lx_switch_to(struct lx_cpu *c, u32 slot, u64 now)
{
	if (c->current != slot) {
		if (c->current != LX_NONE)
			lx_run_remove(c, c->current, now);
		if (slot != LX_NONE)
			lx_set_current(c, now, slot);
	}
}

#endif
