/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Per-CPU run state: the current task, and preempted tasks parked on the local DSQ, which the
 * kernel resumes without calling a program.
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
 *   - A timer that fires while a higher class has the CPU is repeated (timer_callback.h).
 *
 * On kernels where this is not reliable (7.0 delays tasks, 7.3 accounts too little),
 * `machine.has_run_hooks` is set, both hooks are loaded (run_hooks.h), and none of this is used.
 */
#ifndef LAXITY_SCX_CPU_RUN_H
#define LAXITY_SCX_CPU_RUN_H

#include "record.h"
#include "task.h"

/* Makes a task the current one. */
LX_INLINE void lx_set_current(struct lx_cpu *c, u64 now, u32 slot)
{
	u32 server = lx_member(slot)->server;

	c->current = slot;
	c->current_since = now;
	c->switches++;
	if (c->ksoftirqd == slot)
		c->ksoftirqd = LX_NONE;
	if (now < READ_ONCE(recording.until) && server != LX_NONE) {
		const struct lx_server *s = lx_server(&c->servers, server);

		lx_record(s->kind == LX_HARD ? LX_STARTED_RESERVED : LX_STARTED, c, now, slot,
			  s->budget, s->period);
	}
}

LX_INLINE int lx_run_contains(const struct lx_cpu *c, u32 slot)
{
	u32 i;

	if (c->current == slot)
		return 1;
	for (i = lx_zero; i < c->nr_local && i < LX_MAX_LOCAL && can_loop; i += 1 + lx_zero)
		if (*lx_at(c->local_queue, i) == slot)
			return 1;
	return 0;
}

/* The current task stopped: the task parked last becomes current. */
LX_INLINE void lx_pop_local(struct lx_cpu *c, u64 now)
{
	lx_record(LX_STOPPED, c, now, c->current, 0, 0);
	if (c->next == c->current)
		c->next = LX_NONE;
	c->current = LX_NONE;
	if (c->nr_local) {
		c->nr_local--;
		lx_set_current(c, now, *lx_at(c->local_queue, c->nr_local));
		if (c->next == LX_NONE)
			c->next = c->current;
	}
}

LX_GLOBAL_FN u32 lx_local_remove(struct lx_cpu *c __arg_nonnull, u32 slot)
{
	u32 i, left = 0;

	for (i = lx_zero; i < c->nr_local && i < LX_MAX_LOCAL && can_loop; i += 1 + lx_zero) {
		u32 at = *lx_at(c->local_queue, i);

		if (at == slot)
			continue;
		*lx_at(c->local_queue, left) = at;
		left += 1 + lx_zero;
	}
	c->nr_local = left;
	return 0;
}

/* Removes a task from the run state: it is neither current nor parked any more. */
LX_INLINE void lx_run_remove(struct lx_cpu *c, u32 task, u64 now)
{
	/* Some verifiers lose the bounds of a copied number that is held across a call. */
	u32 slot = task + lx_zero;

	if (c->current == slot)
		lx_pop_local(c, now);
	else if (c->nr_local && *lx_at(c->local_queue, c->nr_local - 1) == slot)
		c->nr_local--;
	else if (c->nr_local)
		lx_local_remove(c, slot);
	if (c->next == slot)
		c->next = LX_NONE;
}

/* The same as a global function. */
LX_GLOBAL_FN u32 lx_run_remove_task(struct lx_cpu *c __arg_nonnull, u32 slot, u64 now)
{
	lx_run_remove(c, slot, now);
	return 0;
}

LX_INLINE void lx_push_local(struct lx_cpu *c, u32 slot)
{
	*lx_at(c->local_queue, c->nr_local) = slot;
	c->nr_local++;
}

/* Makes a task current and parks the current one. */
LX_INLINE void lx_preempt_current(struct lx_cpu *c, u32 slot, u64 now)
{
	if (c->current != LX_NONE) {
		lx_record(LX_STOPPED, c, now, c->current, 0, 0);
		lx_push_local(c, c->current);
	}
	lx_set_current(c, now, slot);
}

/* Returns true if an entry is second in the heap. */
LX_INLINE int lx_heap_is_second(const struct lx_heap *h, u32 entry)
{
	u32 place = *lx_at(h->position, entry);

	if (place == 2)
		return h->count < 3 || lx_node_before(h->node[1].key, h->node[1].seq, &h->node[2]);
	return place == 3 && lx_node_before(h->node[2].key, h->node[2].seq, &h->node[1]);
}

/* Returns true if the current task is on the CPU: the kernel has switched to it, and no higher
 * class has preempted it. Otherwise it is on the local DSQ itself. */
LX_INLINE int lx_current_on_cpu(const struct lx_cpu *c)
{
	const struct lx_task *t = lx_task_at(c->current);

	return t && t->task_addr && lx_task_struct(t)->on_cpu;
}

/* Returns true if an enqueued task may be parked on the local DSQ, to resume without a decision
 * when the current task stops: it is next in deadline order, no other CPU would take it, and there
 * are no reservations whose releases might come first. It is inserted at the head of the DSQ, so
 * the current task must not be there, unless the kernel has just taken it to replace the preempted
 * one. A recording needs every decision, so nothing is parked meanwhile. */
LX_INLINE int lx_may_park(struct lx_cpu *c, const struct lx_task *t, u32 slot, int preempted)
{
	const struct lx_member *m = lx_member(slot);
	const struct lx_heap *h = &c->servers.ready;
	const struct lx_server *s;

	if (c->servers.reserved_bw || c->drain_local || c->ksoftirqd != LX_NONE ||
	    c->nr_local >= LX_MAX_LOCAL || c->current == LX_NONE || m->server == LX_NONE ||
	    (machine.cpus > 1 && !m->pinned) || t->reservation || t->pending || t->is_ksoftirqd ||
	    c->clock < READ_ONCE(recording.until) || (!preempted && !lx_current_on_cpu(c)))
		return 0;
	s = lx_server(&c->servers, m->server);
	return s->head == s->tail && lx_heap_is_second(h, m->server) &&
	       h->node[0].entry == lx_member(c->current)->server;
}

/* Returns true if a waiting task has an earlier deadline than a parked one; the first of these has
 * the latest deadline. */
LX_INLINE int lx_overtakes_local(const struct lx_cpu *c, u32 slot)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 server = lx_member(slot)->server, last;

	if (!c->nr_local || server == LX_NONE)
		return 0;
	last = lx_member(c->local_queue[0])->server;
	return lx_heap_contains(h, server) && last != LX_NONE && lx_heap_contains(h, last) &&
	       lx_heap_key(h, server) < lx_heap_key(h, last);
}

/* Estimated time at which a task stopped, given its last update by the kernel. */
LX_INLINE u64 lx_stopped_at(const struct lx_cpu *c, u64 exec_start, u64 now)
{
	return lx_min(lx_max(exec_start + c->clock_offset, c->clock), now);
}

#endif
