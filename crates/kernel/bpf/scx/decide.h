/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The decision of a CPU: picks a server and sets the timer.
 */
#ifndef LAXITY_SCX_DECIDE_H
#define LAXITY_SCX_DECIDE_H

#include "record.h"
#include "replenish.h"
#include "timer.h"

/* Polling interval while a higher class has the CPU, in ns. */
#define LX_HIGHER_CLASS_POLL_NS 50000

/* Decision to carry out after the lock is released. */
struct lx_decision {
	u32 cpu;
	/* Task to run. */
	u32 slot;
	u32 preempt;
	/* It goes on without budget, and only in what the deadline server grants. */
	u32 unbudgeted;
};

/* A change of shares changes deadlines: disables the coalescing of budgets from the current task's
 * next replenishment on. The current task has been charged. */
LX_INLINE void lx_arm_at_budget_end(struct lx_cpu *c, u64 now)
{
	u32 server = c->run.current == LX_NONE ? LX_NONE : lx_member(c->run.current)->server;

	if (server != LX_NONE)
		lx_arm_timer(c, now,
			     lx_min(c->due,
				    now + lx_server(&c->servers, server)->remaining_budget));
}

/* Adjusts the next timer while tasks are parked on the local DSQ: the budget of the task that runs
 * after the current one must end in time if other tasks wait. */
LX_INLINE u64 lx_due_with_local(struct lx_cpu *c, u64 now, u64 due, u32 parked)
{
	u32 server = lx_member(parked)->server;

	if (server == LX_NONE || c->servers.ready.count < 3)
		return due;
	return lx_min(due, now + lx_server(&c->servers, server)->remaining_budget);
}

/* Whether the kernel has a deadline server for sched_ext. Without one it runs higher classes first,
 * and the order of what waits does not matter meanwhile. */
#define lx_has_deadline_server() bpf_core_field_exists(((struct rq *)0)->ext_server)

/* Returns true if tasks of a higher class are runnable on the CPU. Without the run queue's lock the counts may
 * differ for a moment. */
LX_INLINE u32 lx_has_higher_class(const struct lx_cpu *c)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, c->cpu);

	return rq && rq->nr_running > rq->scx.nr_running;
}

/* The same while something is reserved there: the CPU then executes of ours what the deadline server
 * grants. A wrong count costs best effort a turn. */
LX_INLINE u32 lx_higher_class_waits(const struct lx_cpu *c)
{
	return lx_has_deadline_server() && c->servers.reserved_bw && lx_has_higher_class(c);
}

/* Time after which the CPU has to reschedule for the deadline server to end: the kernel sets a timer
 * for its runtime only when the server begins, not when another of our tasks follows; and if the
 * runtime turns out to be used up while the kernel picks a task of ours, that task continues. */
LX_INLINE u64 lx_server_runtime(const struct lx_cpu *c)
{
	const struct rq *rq;
	s64 left;

	if (!lx_has_deadline_server())
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, c->cpu);
	left = rq ? rq->ext_server.runtime : 0;
	return left > LX_HIGHER_CLASS_POLL_NS ? (u64)left : LX_HIGHER_CLASS_POLL_NS;
}

/* Requires the lock. Sets the timer for a kick that may be lost. */
LX_INLINE void lx_arm_poll(struct lx_cpu *c, u64 now)
{
	c->kick_again_ns = LX_HIGHER_CLASS_POLL_NS;
	lx_arm_timer(c, now, lx_min(c->due, now + LX_HIGHER_CLASS_POLL_NS));
}

/* Last step under the lock: picks a server and arms the timer. */
LX_INLINE void lx_decide(struct lx_cpu *c, u64 now, struct lx_decision *o)
{
	u32 reserved_first = lx_higher_class_waits(c), server = LX_NONE;
	u64 due, left = 0, deadline = 0, protected = LX_NEVER;

	if (lx_has_deadline_server() && (reserved_first || c->servers.passed_over))
		server = lx_pick_reserved(&c->servers, now);
	if (server == LX_NONE)
		server = lx_pick(&c->servers, now);
	due = lx_next_timer(&c->servers);
	if (server != LX_NONE && c->servers.protected_until)
		protected = c->servers.protected_until - now;
	o->cpu = c->cpu;
	o->slot = LX_NONE;
	if (server != LX_NONE) {
		struct lx_server *s = lx_server(&c->servers, server);

		o->slot = s->head;
		left = s->remaining_budget;
		deadline = s->deadline;
	}
	lx_record(reserved_first ? LX_CHOSEN_RESERVED_FIRST : LX_CHOSEN, c, now, o->slot,
		  lx_min(left, protected), deadline);
	if (server != LX_NONE) {
		if (o->slot == c->run.current)
			left -= lx_min(left, now - c->current_since);
		/* Budgets that end while it is protected are replenished without a timer. */
		if (protected != LX_NEVER &&
		    lx_replenishes_silently(c, lx_server(&c->servers, server)))
			left = protected;
		left = lx_min(left, protected);
		if (!c->servers.reserved_bw)
			left += LX_TIMER_SLACK_NS;
		/* lx_coalesced_length is called only if the timer would have to be set, which is
		 * most of the cost. */
		if (now + left < due && (c->armed <= now || c->armed > now + left))
			left += lx_coalesced_length(c, server);
		due = lx_min(due, now + left);
	}
	/* The kernel stops the deadline server where a pick of it finds no task, and starts it again only
	 * when a task becomes runnable while none was. So a reservation goes on without budget. */
	o->unbudgeted = reserved_first && server == LX_NONE && c->servers.suspended.count;
	if (o->unbudgeted) {
		server = lx_heap_top(&c->servers.suspended);
		o->slot = lx_server(&c->servers, server)->head;
	}
	if (reserved_first && server != LX_NONE)
		due = lx_min(due, now + lx_server_runtime(c));
	o->preempt = lx_run_must_preempt(&c->run, o->slot);
	if (c->run.nr_local)
		due = lx_due_with_local(c, now, due,
					lx_run_decide(&c->run, o->slot, o->preempt));
	/* The CPU has to call `dispatch`, and a kick may be lost. */
	if (c->run.drain_local) {
		o->preempt = 1;
		due = lx_min(due, now + LX_HIGHER_CLASS_POLL_NS);
	}
	lx_arm_timer(c, now, due);
}

LX_INLINE void lx_kick_on_preempt(const struct lx_decision *o)
{
	if (o->preempt)
		scx_bpf_kick_cpu(o->cpu, SCX_KICK_PREEMPT);
}

#endif
