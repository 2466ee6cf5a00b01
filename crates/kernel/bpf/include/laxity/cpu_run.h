/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Per-CPU run state: the current task, the task picked last, and preempted tasks parked on the local
 * DSQ, which the kernel resumes without calling a program. A state machine without time, servers or
 * kernel calls: the sched_ext hooks translate into its events (scx/local_queue.h), and a host test
 * enumerates these (tests/cpu_run.rs).
 *
 *   event                                      transition
 *   a decision picks a task                    lx_run_decide
 *   `dispatch` switches to the picked task     lx_run_switch_to, lx_run_pick
 *   an enqueued task preempts the CPU          lx_run_preempt_now, then lx_run_preempt
 *   a preempted or woken task is parked        lx_run_park
 *   a task blocks, leaves or is enqueued       lx_run_remove
 *   the kernel ran out of parked tasks         lx_run_remove of lx_run_stale_slot
 *   parked tasks must not resume               lx_run_drain; lx_run_drained at the next `dispatch`
 *   a task starts, stops (with run hooks)      lx_run_start, lx_run_stop
 *
 * A transition changes the current task at most once, so its caller reports the stop and the start by
 * comparing the current task before and after.
 *
 * A higher class that takes or returns the CPU changes nothing here, since no program is called: the
 * timer polls for it. A CPU that goes offline gets no more events but removals.
 *
 * The `running` and `stopping` hooks would cost two programs per switch and add little: `dispatch`
 * reports the task that stopped, `enqueue` the task that was preempted, and the kernel accounts
 * execution. So these hooks are not loaded. Consequences:
 *
 *   - A task that blocks while tasks are parked is detected later: at its wake-up, or at the CPU's
 *     next decision (lx_update_blocked). Until then it counts as runnable.
 *   - Tasks are charged by the kernel's accounting (sum_exec_runtime), so they do not pay for
 *     real-time tasks or parked tasks that ran in between. Between two updates by the kernel, the time
 *     since the last update is added if the task is on the CPU.
 *   - A timer that fires while a higher class has the CPU is repeated (scx/timer_callback.h).
 *
 * On kernels where this is not reliable (7.0 delays tasks, 7.3 accounts too little),
 * `machine.has_run_hooks` is set, both hooks are loaded (scx/run_hooks.h), and nothing is parked.
 */
#ifndef LAXITY_CPU_RUN_H
#define LAXITY_CPU_RUN_H

#include "types.h"

/* Maximum number of preempted tasks parked on the local DSQ. */
#define LX_MAX_LOCAL 8

/* Tasks are slots; LX_NONE is none. */
struct lx_cpu_run {
	u32 current;
	/* The task picked last. */
	u32 next;
	/* Tasks parked on the local DSQ; the last one runs next. */
	u32 nr_local;
	/* The CPU has to call `dispatch`: parked tasks must not resume by themselves. */
	u32 drain_local;
	u32 local_queue[LX_MAX_LOCAL];
};

LX_INLINE void lx_run_init(struct lx_cpu_run *r)
{
	r->current = LX_NONE;
	r->next = LX_NONE;
}

LX_INLINE void lx_run_start(struct lx_cpu_run *r, u32 slot)
{
	r->current = slot;
}

/* The current task stops, and no parked task follows. */
LX_INLINE void lx_run_stop(struct lx_cpu_run *r)
{
	if (r->next == r->current)
		r->next = LX_NONE;
	r->current = LX_NONE;
}

/* The task that runs next, or LX_NONE for an idle CPU. */
LX_INLINE void lx_run_pick(struct lx_cpu_run *r, u32 slot)
{
	r->next = slot;
}

LX_INLINE int lx_run_contains(const struct lx_cpu_run *r, u32 slot)
{
	u32 i;

	if (r->current == slot)
		return 1;
	for (i = lx_zero; i < r->nr_local && i < LX_MAX_LOCAL && can_loop; i += 1 + lx_zero)
		if (*lx_at(r->local_queue, i) == slot)
			return 1;
	return 0;
}

/* The parked task that runs next; there is one. */
LX_INLINE u32 lx_run_last_parked(const struct lx_cpu_run *r)
{
	return *lx_at(r->local_queue, r->nr_local - 1);
}

/* The current task stopped: the task parked last becomes current. */
LX_INLINE void lx_run_resume(struct lx_cpu_run *r)
{
	lx_run_stop(r);
	if (r->nr_local) {
		r->nr_local--;
		r->current = *lx_at(r->local_queue, r->nr_local);
		if (r->next == LX_NONE)
			r->next = r->current;
	}
}

LX_GLOBAL_FN u32 lx_local_remove(struct lx_cpu_run *r __arg_nonnull, u32 slot)
{
	u32 i, left = 0;

	for (i = lx_zero; i < r->nr_local && i < LX_MAX_LOCAL && can_loop; i += 1 + lx_zero) {
		u32 at = *lx_at(r->local_queue, i);

		if (at == slot)
			continue;
		*lx_at(r->local_queue, left) = at;
		left += 1 + lx_zero;
	}
	r->nr_local = left;
	return 0;
}

/* A task is neither current nor parked nor picked any more. */
LX_INLINE void lx_run_remove(struct lx_cpu_run *r, u32 task)
{
	/* Some verifiers lose the bounds of a copied number that is held across a call. */
	u32 slot = task + lx_zero;

	if (r->current == slot)
		lx_run_resume(r);
	else if (r->nr_local && lx_run_last_parked(r) == slot)
		r->nr_local--;
	else if (r->nr_local)
		lx_local_remove(r, slot);
	if (r->next == slot)
		r->next = LX_NONE;
}

/* Parks a task; there is room. */
LX_INLINE void lx_run_park(struct lx_cpu_run *r, u32 slot)
{
	*lx_at(r->local_queue, r->nr_local) = slot;
	r->nr_local++;
}

/* Makes a task current and parks the current one. */
LX_INLINE void lx_run_preempt(struct lx_cpu_run *r, u32 slot)
{
	if (r->current != LX_NONE)
		lx_run_park(r, r->current);
	r->current = slot;
}

/* The picked task preempts the CPU at once, so the decision that picked it drains nothing. */
LX_INLINE void lx_run_preempt_now(struct lx_cpu_run *r, u32 slot, u32 drain_before)
{
	r->drain_local = drain_before;
	r->next = slot;
}

/* The picked task becomes current; LX_NONE for an idle CPU. */
LX_INLINE void lx_run_switch_to(struct lx_cpu_run *r, u32 slot)
{
	if (r->current != slot) {
		if (r->current != LX_NONE)
			lx_run_remove(r, r->current);
		if (slot != LX_NONE)
			r->current = slot;
	}
}

/* Returns true if a decision has to preempt the CPU: it picks another task, or none, since the
 * budget of the current one has ended and no other task has one. */
LX_INLINE u32 lx_run_must_preempt(const struct lx_cpu_run *r, u32 slot)
{
	return slot != r->next;
}

/* A decision while tasks are parked. The task parked last runs after the current one, and is
 * returned; if that is the picked task, no drain is necessary. */
LX_INLINE u32 lx_run_decide(struct lx_cpu_run *r, u32 slot, u32 preempt)
{
	u32 parked = lx_run_last_parked(r);

	if (preempt && slot != parked)
		r->drain_local = 1;
	return parked;
}

/* Parked tasks must not resume. */
LX_INLINE void lx_run_drain(struct lx_cpu_run *r)
{
	r->drain_local = 1;
}

/* `dispatch` is called: the kernel has emptied the local DSQ. */
LX_INLINE void lx_run_drained(struct lx_cpu_run *r)
{
	r->drain_local = 0;
}

/* Returns true if the run state holds other tasks than `last` although the local DSQ is empty.
 * Needs no lock, since only this CPU adds tasks; other CPUs may remove some. */
LX_INLINE int lx_run_is_stale(const struct lx_cpu_run *r, u32 last)
{
	return r->nr_local || (r->current != LX_NONE && r->current != last);
}

/* The first of them to remove: tasks ran from the current one on, and each stopped before the next
 * resumed. */
LX_INLINE u32 lx_run_stale_slot(const struct lx_cpu_run *r, u32 last)
{
	if (r->current != LX_NONE && r->current != last)
		return r->current;
	return r->nr_local ? lx_run_last_parked(r) : LX_NONE;
}

#endif
