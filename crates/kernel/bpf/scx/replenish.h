/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Budgets that are replenished at once: one timer for several of them.
 */
#ifndef LAXITY_SCX_REPLENISH_H
#define LAXITY_SCX_REPLENISH_H

#include "record.h"

/* Maximum number of budgets per timer. */
#define LX_MAX_COALESCED 16

/* Returns true if an exhausted budget only changes the deadline: it is replenished at once, the
 * server has one runnable member, and no reservation is affected by the deadline. */
LX_INLINE int lx_replenishes_silently(const struct lx_cpu *c, const struct lx_server *s)
{
	return c->servers.rules.recharge && !c->servers.reserved_bw && s->kind == LX_BEST_EFFORT &&
	       s->state == LX_READY && s->head == s->tail;
}

/* Charges a task that executed for `ran` up to `until` and used up several budgets without a timer:
 * each budget is charged at its end. Returns the execution after the last one. */
LX_GLOBAL_FN u64 lx_charge_budgets(struct lx_cpu *c __arg_nonnull, u32 slot, u64 until, u64 ran)
{
	u32 server = lx_member(slot)->server;
	struct lx_server *s = lx_server(&c->servers, server);

	while (lx_replenishes_silently(c, s) && s->remaining_budget && s->remaining_budget < ran &&
	       can_loop) {
		u64 left = s->remaining_budget;
		u64 end;

		ran -= left;
		end = until - lx_min(ran, until);
		lx_record(LX_RAN, c, end, slot, left, 0);
		lx_server_ran(&c->servers, s, server, end, left);
	}
	return ran;
}

/* Execution for which a server stays first with its next budgets if nothing else changes. */
LX_GLOBAL_FN u64 lx_coalesced_length(struct lx_cpu *c __arg_nonnull, u32 server)
{
	struct lx_servers *q = &c->servers;
	const struct lx_server *s = lx_server(q, server);
	u64 next = LX_NEVER, executed = s->execution + s->remaining_budget, period, times;
	u64 whole;
	struct lx_coalesced *f = &c->coalesced;

	/* With a limited share or another average the next budgets would differ. */
	if (!lx_replenishes_silently(c, s) || !q->rules.sample_per_job ||
	    s->period_end < s->limited_until || lx_heap_top(&q->ready) != server || !s->budget)
		return 0;
	whole = lx_budget(&q->rules, lx_budget_basis(&q->rules, s));
	if (s->budget != (s->compute_bound ? lx_min(q->rules.slice, q->rules.max_budget) : whole))
		return 0;
	if (q->ready.count > 1)
		next = q->ready.node[1].key;
	if (q->ready.count > 2)
		next = lx_min(next, q->ready.node[2].key);
	/* Common case: the same question at every wake-up within a budget. */
	if (f->server == server && f->deadline == s->deadline && f->budget == s->budget &&
	    f->total_weight == q->bandwidth.total_weight && f->next_deadline <= next)
		return f->length;
	period = lx_period_for(&q->bandwidth, s->budget, s->weight);
	if (period > q->rules.max_period || next <= s->deadline ||
	    executed >= q->rules.max_budget)
		return 0;
	times = lx_min((next - s->deadline - 1) / period, LX_MAX_COALESCED);
	times = lx_min(times, (q->rules.max_budget - executed - 1) / s->budget);
	/* Its deadlines come later once it counts as compute-bound (lx_on_budget_exhausted). */
	if (!s->compute_bound && q->rules.slice != LX_NEVER) {
		u64 usual = 4 * s->average + q->rules.slice;

		times = executed < usual ?
				lx_min(times, (usual - executed + s->budget - 1) / s->budget) :
				0;
	}
	f->server = server;
	f->deadline = s->deadline;
	f->budget = s->budget;
	f->total_weight = q->bandwidth.total_weight;
	f->next_deadline = next;
	f->length = times * s->budget;
	return f->length;
}

#endif
