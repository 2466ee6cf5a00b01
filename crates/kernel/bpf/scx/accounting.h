/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Charging of execution, the clock of a CPU, and the events that its servers see.
 */
#ifndef LAXITY_SCX_ACCOUNTING_H
#define LAXITY_SCX_ACCOUNTING_H

#include "record.h"
#include "replenish.h"
#include "task.h"

/* Execution of the current task that has not been charged yet; marks it as charged. */
LX_GLOBAL_FN u64 lx_current_runtime(struct lx_cpu *c __arg_nonnull, u64 now)
{
	struct lx_task *t = lx_task_at(c->run.current);
	const struct task_struct *p;
	u64 executed, since, ran;

	if (machine.has_run_hooks)
		return now - c->current_since;
	if (!t || !t->task_addr)
		return 0;
	p = lx_task_struct(t);
	since = READ_ONCE(p->se.exec_start);
	executed = p->se.sum_exec_runtime;
	/* Another CPU may read while the kernel updates both fields. */
	if (p->on_cpu && READ_ONCE(p->se.exec_start) == since)
		executed += now - lx_min(now, since + c->clock_offset);
	ran = executed - lx_min(t->charged_runtime, executed);
	t->charged_runtime += ran;
	return ran;
}

/* Time of a start or of a decision: the time at which the previous task stopped if the run queue
 * clock has not moved since. Another clock read would cost as much as the rest. */
LX_INLINE u64 lx_decision_time(const struct lx_cpu *c, u64 kernel_clock)
{
	return kernel_clock && kernel_clock == c->stopped_at ? c->clock : bpf_ktime_get_ns();
}

/* Charges a task's execution up to `now`. */
LX_INLINE void lx_charge_task(struct lx_cpu *c, u32 slot, u64 now, u64 ran)
{
	u32 server = lx_member(slot)->server;
	u64 left = server == LX_NONE ? ran : lx_server(&c->servers, server)->remaining_budget;

	if (ran > left) {
		u64 late = now - lx_min(c->due, now);

		ran = lx_charge_budgets(c, slot, now, ran);
		left = lx_server(&c->servers, server)->remaining_budget;
		c->max_overrun_ns = lx_max(c->max_overrun_ns, lx_min(ran - lx_min(left, ran), late));
	}
	c->current_since = now;
	lx_record(LX_RAN, c, now, slot, ran, 0);
	if (server != LX_NONE)
		lx_server_ran(&c->servers, lx_server(&c->servers, server), server, now, ran);
}

/* Charges the current task. Events reported at `now` take effect after that. */
LX_INLINE u64 lx_charge_current(struct lx_cpu *c, u64 now)
{
	now = lx_max(now, c->clock);
	c->clock = now;
	if (c->run.current != LX_NONE)
		lx_charge_task(c, c->run.current, now, lx_current_runtime(c, now));
	return now;
}

/* Returns true if a wake-up takes bandwidth from other servers while reservations exist: the task
 * has no server, or its server does not count with its full weight. */
LX_INLINE int lx_wake_takes_share(struct lx_cpu *c, u32 slot)
{
	u32 server = lx_member(slot)->server;
	const struct lx_server *s;

	if (!c->servers.reserved_bw)
		return 0;
	if (server == LX_NONE)
		return 1;
	s = lx_server(&c->servers, server);
	return s->kind == LX_BEST_EFFORT && s->active_weight < s->weight;
}

/* Advances the clock for a wake-up, and charges the current task only if that matters: when its
 * budget is used up, or when bandwidth is transferred, since it cannot give up what it has used.
 * Until then lx_limit_ahead underestimates the lead of the current task and moves deadlines back by
 * less. */
LX_INLINE u64 lx_sync_clock(struct lx_cpu *c, u64 now, u32 slot)
{
	now = lx_max(now, c->clock);
	if (c->run.current != LX_NONE) {
		u32 server = lx_member(c->run.current)->server;

		if (server == LX_NONE ||
		    now - c->current_since >= lx_server(&c->servers, server)->remaining_budget ||
		    lx_wake_takes_share(c, slot))
			return lx_charge_current(c, now);
	}
	c->clock = now;
	return now;
}

/* Requires the lock. Processes due releases and records how late a release of a reservation is.
 * Returns true if anything was due. */
LX_INLINE int lx_process_due(struct lx_cpu *c, u64 now)
{
	u64 at;

	if (lx_next_timer(&c->servers) > now)
		return 0;
	at = lx_heap_min_key(&c->servers.suspended);
	if (at < now)
		c->max_release_lateness_ns = lx_max(c->max_release_lateness_ns, now - at);
	lx_record(LX_TIMER, c, now, LX_NONE, 0, 0);
	lx_on_timer(&c->servers, now);
	return 1;
}

/* Returns true if the current task itself, not an interrupt, is doing what is done now. */
LX_INLINE u32 lx_by_current(const struct lx_cpu *c)
{
	const struct lx_task *t = lx_task_at(c->run.current);

	return c->run.current != LX_NONE && t && t->task_addr == (u64)bpf_get_current_task_btf() &&
	       !lx_in_interrupt();
}

/* Wake-up and block of a task. */
LX_INLINE void lx_on_wake(struct lx_cpu *c, u64 now, u32 slot)
{
	lx_record(LX_WOKE, c, now, slot, 0, 0);
	lx_wake(&c->servers, now, slot);
}

LX_INLINE void lx_on_block(struct lx_cpu *c, u64 now, u32 slot)
{
	lx_record(LX_BLOCKED_NOW, c, now, slot, 0, 0);
	lx_block(&c->servers, now, slot, 0);
}

LX_INLINE void lx_on_wake_by_current(struct lx_cpu *c, u64 now, u32 slot)
{
	lx_record(LX_WOKE, c, now, slot, 1, 0);
	lx_wake_by_running(&c->servers, now, slot);
}

#endif
