/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The run state of a CPU (cpu_run.h) beside its servers and the kernel's tasks: what a start and a stop
 * record, and when a task may be parked on the local DSQ.
 */
#ifndef LAXITY_SCX_LOCAL_QUEUE_H
#define LAXITY_SCX_LOCAL_QUEUE_H

#include "record.h"
#include "task.h"

/* A task becomes current. */
LX_INLINE void lx_on_start(struct lx_cpu *c, u32 slot, u64 now)
{
	u32 server = lx_member(slot)->server;

	c->current_since = now;
	c->switches++;
	/* It was parked, and resumed without a decision. */
	if (!machine.has_run_hooks && !c->run.drain_local && server != LX_NONE &&
	    lx_resume(&c->servers, now, server))
		lx_record(LX_RESUMED, c, now, slot, 0, 0);
	if (c->ksoftirqd == slot)
		c->ksoftirqd = LX_NONE;
	if (now < READ_ONCE(recording.until) && server != LX_NONE) {
		const struct lx_server *s = lx_server(&c->servers, server);

		lx_record(s->kind == LX_HARD ? LX_STARTED_RESERVED : LX_STARTED, c, now, slot,
			  s->budget, s->period);
	}
}

/* Reports the effect of a transition on the current task. */
LX_INLINE void lx_on_switch(struct lx_cpu *c, u32 before, u64 now)
{
	if (c->run.current == before)
		return;
	if (before != LX_NONE)
		lx_record(LX_STOPPED, c, now, before, 0, 0);
	if (c->run.current != LX_NONE)
		lx_on_start(c, c->run.current, now);
}

LX_INLINE void lx_cpu_remove(struct lx_cpu *c, u32 slot, u64 now)
{
	u32 before = c->run.current;

	lx_run_remove(&c->run, slot);
	lx_on_switch(c, before, now);
}

/* The same as a global function. */
LX_GLOBAL_FN u32 lx_cpu_remove_task(struct lx_cpu *c __arg_nonnull, u32 slot, u64 now)
{
	lx_cpu_remove(c, slot, now);
	return 0;
}

LX_INLINE void lx_cpu_preempt(struct lx_cpu *c, u32 slot, u64 now)
{
	u32 before = c->run.current;

	lx_run_preempt(&c->run, slot);
	lx_on_switch(c, before, now);
}

LX_INLINE void lx_cpu_switch_to(struct lx_cpu *c, u32 slot, u64 now)
{
	u32 before = c->run.current;

	lx_run_switch_to(&c->run, slot);
	lx_on_switch(c, before, now);
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
	const struct lx_task *t = lx_task_at(c->run.current);

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

	if (c->servers.reserved_bw || c->run.drain_local || c->ksoftirqd != LX_NONE ||
	    c->run.nr_local >= LX_MAX_LOCAL || c->run.current == LX_NONE || m->server == LX_NONE ||
	    (machine.cpus > 1 && !m->pinned) || t->reservation || t->pending || t->is_ksoftirqd ||
	    c->clock < READ_ONCE(recording.until) || (!preempted && !lx_current_on_cpu(c)))
		return 0;
	s = lx_server(&c->servers, m->server);
	return s->head == s->tail && lx_heap_is_second(h, m->server) &&
	       h->node[0].entry == lx_member(c->run.current)->server;
}

/* Returns true if a waiting task has an earlier deadline than a parked one; the first of these has
 * the latest deadline. */
LX_INLINE int lx_overtakes_local(const struct lx_cpu *c, u32 slot)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 server = lx_member(slot)->server, last;

	if (!c->run.nr_local || server == LX_NONE)
		return 0;
	last = lx_member(c->run.local_queue[0])->server;
	return lx_heap_contains(h, server) && last != LX_NONE && lx_heap_contains(h, last) &&
	       lx_heap_key(h, server) < lx_heap_key(h, last);
}

/* Estimated time at which a task stopped, given its last update by the kernel. The clock may be ahead of
 * `now`, if that was read before the lock was acquired. */
LX_INLINE u64 lx_stopped_at(const struct lx_cpu *c, u64 exec_start, u64 now)
{
	return lx_max(lx_min(exec_start + c->clock_offset, now), c->clock);
}

#endif
