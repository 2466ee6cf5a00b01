/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Makes a CPU decide again, from outside; and lets tasks that wait join its servers.
 */
#ifndef LAXITY_SCX_JOIN_H
#define LAXITY_SCX_JOIN_H

#include "decide.h"
#include "migrate.h"

/* Requires the lock. Makes the CPU call `dispatch`: no task on the local DSQ may start without it. A kick
 * has no effect while a higher class has the CPU, and only ends idling while a task is about to start; so
 * the timer kicks again, and each later decision does. */
LX_INLINE void lx_reschedule(struct lx_cpu *c, u64 now)
{
	now = lx_max(now, c->clock);
	lx_run_drain(&c->run);
	lx_run_pick(&c->run, LX_NONE);
	lx_arm_poll(c, now);
	scx_bpf_kick_cpu(c->cpu, SCX_KICK_PREEMPT);
}

/* A task that was moved to the servers of another CPU joins them if it waits. */
LX_GLOBAL_FN u32 lx_join_home(u32 slot, u64 now)
{
	struct lx_task *t = lx_task_at(slot);
	struct lx_cpu *c = t ? lx_lock_home(t) : NULL;
	struct lx_decision o;

	if (!c)
		return 0;
	now = lx_charge_current(c, now);
	if (t->queued) {
		lx_task_attach(c, t, slot, now);
		lx_on_wake(c, now, slot);
	}
	/* A CPU that comes online decides when it is. */
	o.preempt = 1;
	if (!lx_is_offline(c))
		lx_decide(c, now, &o);
	if (o.preempt)
		lx_reschedule(c, now);
	lx_unlock(&c->lock);
	return 0;
}

#endif
