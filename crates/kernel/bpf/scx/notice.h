/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What is found out of tasks of which nobody told (here.h). Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_NOTICE_H
#define LAXITY_SCX_NOTICE_H

/* Under the lock: a task that does not run executed so much in all, by the kernel's count. */
LX_INLINE void lx_book_all(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 now, u64 executed,
			   u64 more)
{
	u64 ran = lx_unbooked(t, executed) + more;

	c->clock = now;
	if (ran)
		lx_book(c, slot, now, ran);
}

/* Under the lock: for how long a task that is put aside has gone on since another came before it, or several.
 * The kernel, which spares a look at its clock there, counts that with the other, which did not run. One that
 * waits and comes again, since something about it was changed, did not go on. */
LX_INLINE u64 lx_went_on(struct lx_cpu *c, const struct task_struct *p, u32 slot)
{
	struct lx_task *next;
	u64 length;

	if (!c->depth || c->current == LX_NONE || !p->on_cpu)
		return 0;
	if (*lx_at(c->below, c->depth - 1) != slot && (c->current == slot || !lx_is_here(c, slot)))
		return 0;
	length = bpf_ktime_get_ns();
	length -= lx_min(c->clock, length);
	next = lx_task_at(c->current);
	if (next)
		next->booked += length;
	return length;
}

/* Under the lock: a task that was taken for one with something to do sleeps since it was seen to stop. */
LX_INLINE void lx_slept(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 exec_start, u64 executed,
			u64 now)
{
	u64 at = lx_stopped_at(c, exec_start, now);

	lx_book_all(c, t, slot, at, executed, 0);
	lx_blocks(c, at, slot);
	lx_is_not_here(c, slot, at);
}

/* Under the lock: whether a task that is here sleeps since; then it is not here any more. */
LX_INLINE u32 lx_finds_asleep(struct lx_cpu *c, u32 slot, u64 now)
{
	struct lx_task *t = lx_task_at(slot);
	const struct task_struct *p;

	if (!t || !t->at)
		return 0;
	p = lx_seen(t);
	if (p->scx.flags & SCX_TASK_QUEUED)
		return 0;
	lx_slept(c, t, slot, p->se.exec_start, p->se.sum_exec_runtime, now);
	return 1;
}

/* The same of one that may run on another CPU, which takes it out for a moment when something about it is
 * changed. */
LX_CALLED u32 lx_slept_since(struct lx_cpu *c LX_GIVEN, u32 slot, u64 now)
{
	const struct lx_task *t = lx_task_at(slot);

	return t && t->at && !lx_seen(t)->on_cpu && lx_finds_asleep(c, slot, now);
}

/* Under the lock: those who have the CPU, and would next, may sleep since. */
LX_INLINE void lx_notice(struct lx_cpu *c, u64 now)
{
	u32 i;

	for (i = lx_zero; i <= LX_BELOW && lx_may_loop; i += 1 + lx_zero)
		if (c->current == LX_NONE || !lx_slept_since(c, c->current, now))
			break;
}

/* Whether a CPU is thought to have others than `last`, though nobody waits in the kernel's queue any more. Asked
 * without the lock, as nobody else puts tasks there; on other CPUs they may be taken away. */
LX_INLINE int lx_has_others(const struct lx_cpu *c, u32 last)
{
	return c && (c->depth || (c->current != LX_NONE && c->current != last));
}

/* One of them is not there any more. */
LX_CALLED u32 lx_clear_one(struct lx_cpu *c LX_GIVEN)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot;

	if (!lx_lock(&c->lock))
		return 0;
	now = lx_max(now, c->clock);
	slot = c->depth ? *lx_at(c->below, c->depth - 1) : c->current;
	if (slot != LX_NONE && !lx_finds_asleep(c, slot, now))
		lx_is_not_here(c, slot, now);
	lx_unlock(&c->lock);
	return 0;
}

/* From `dispatch`: all of them. */
LX_INLINE void lx_clear(struct lx_cpu *c, u32 last)
{
	u32 i;

	for (i = lx_zero; i <= LX_BELOW && lx_has_others(c, last) && lx_may_loop; i += 1 + lx_zero)
		lx_clear_one(c);
}

/* Under the lock: a task comes to wait that was taken for one with something to do. It is put aside, which
 * this tells, or slept meanwhile, or something about it was changed. */
LX_INLINE int lx_comes(struct lx_cpu *c, struct lx_task *t, const struct task_struct *p, u32 slot,
		       u64 flags, u64 now)
{
	u64 more;

	if (flags & SCX_ENQ_WAKEUP) {
		lx_slept(c, t, slot, p->se.exec_start, p->se.sum_exec_runtime, now);
		return 0;
	}
	more = lx_went_on(c, p, slot);
	lx_book_all(c, t, slot, c->clock + more, p->se.sum_exec_runtime, more);
	lx_is_not_here(c, slot, c->clock);
	return p->on_cpu != 0;
}

/* Who ran last on a CPU that asks. */
struct lx_last {
	/* By the kernel's clock, when it was counted how long it executed in all. */
	u64 counted;
	u64 executed;
	u32 slot;
	/* It could go on. */
	u32 awake;
};

/* Who ran last sleeps: its slot, if it is in the servers of this CPU still. */
LX_INLINE u32 lx_sleeps_last(struct task_struct *prev, u32 cpu)
{
	u32 slot = 0;
	struct lx_task *t = lx_task_noted(prev, &slot);

	if (!t)
		return LX_NONE;
	/* The kernel tells only when nothing refers to it any more, which may be long after. */
	if (prev->__state & TASK_DEAD) {
		lx_quit(t, slot);
		lx_let_go(t);
		return LX_NONE;
	}
	/* Handed over by another CPU just when it came again. */
	if (t->queued) {
		t->queued = 0;
		lx_let_go(t);
	}
	if (t->home == cpu)
		return slot;
	t->booked = prev->se.sum_exec_runtime;
	lx_sleeps(prev);
	return LX_NONE;
}

LX_INLINE void lx_look_at(struct lx_last *last, struct task_struct *prev, u32 cpu)
{
	last->slot = LX_NONE;
	last->awake = prev && prev->scx.flags & SCX_TASK_QUEUED;
	last->counted = prev ? prev->se.exec_start : 0;
	last->executed = prev ? prev->se.sum_exec_runtime : 0;
	if (last->awake)
		last->slot = lx_yields(prev, cpu);
	else if (prev && !machine.told)
		last->slot = lx_sleeps_last(prev, cpu);
}

/* What is known of who ran last is booked. A part of its own, as the verifier has much to follow here. */
LX_CALLED u32 lx_after(u32 cpu, struct lx_last *last LX_GIVEN)
{
	struct lx_cpu *c = lx_cpu(cpu);
	u32 slot = last->slot;
	struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);
	u64 now = bpf_ktime_get_ns();

	if (!c || !lx_lock(&c->lock))
		return 0;
	now = lx_max(now, c->clock);
	c->draining = 0;
	if (last->counted)
		c->ahead = now - last->counted;
	if (t) {
		/* It came from another class with the CPU. A server that is blocked has no budget to be used up. */
		if (last->awake && !lx_member(slot)->runnable) {
			lx_settle_in(c, t, slot, now);
			lx_wakes(c, now, slot);
		}
		lx_book_all(c, t, slot, now, last->executed, 0);
		if (!last->awake) {
			lx_blocks(c, now, slot);
			lx_is_not_here(c, slot, now);
			last->slot = LX_NONE;
		}
	}
	c->clock = now;
	lx_unlock(&c->lock);
	return 0;
}

/* Under the lock: the time of a choice: the clock was read just before the first one. */
LX_INLINE u64 lx_again(struct lx_cpu *c, struct lx_last *last)
{
	if (!last->counted)
		c->clock = lx_max(bpf_ktime_get_ns(), c->clock);
	last->counted = 0;
	return c->clock;
}

/* Under the lock: who was chosen has the CPU from now on, or nobody. */
LX_INLINE void lx_takes_over(struct lx_cpu *c, u32 slot, u64 now)
{
	if (c->current != slot) {
		if (c->current != LX_NONE)
			lx_is_not_here(c, c->current, now);
		if (slot != LX_NONE)
			lx_runs(c, now, slot);
	}
}

#endif
