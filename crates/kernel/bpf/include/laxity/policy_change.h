/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Another policy for the tasks that are there. Part of servers.h.
 */
#ifndef LAXITY_POLICY_CHANGE_H
#define LAXITY_POLICY_CHANGE_H

/* A server of best effort gets the budget and deadline of a new one; what was learnt of it stays. */
LX_GLOBAL_FN u32 lx_server_restart(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	u64 average = lx_learnt_average(s);

	LX_TEST_CREATED(i);
	lx_leave_ready(q, i);
	lx_heap_remove(&q->expired, i);
	lx_heap_remove(&q->reclaims, i);
	if (s->state == LX_LEAVING) {
		lx_server_free(q, i);
		return 0;
	}
	s->state = LX_BLOCKED;
	s->active_weight = 0;
	s->active_pos = 0;
	s->remaining_budget = 0;
	s->period_end = 0;
	s->deadline = 0;
	s->period = 0;
	s->average_used = 0;
	s->share_raised_at = 0;
	lx_server_init_best_effort(q, now, i);
	if (average)
		s->average = average;
	s->budget = s->kind == LX_RATE_BASED ? s->average : 0;
	return 0;
}

/*
 * Tasks of reservations feel nothing, except that those of BeRate are always behind them. Between
 * policies that divide the bandwidth servers go on as they are, since they may have used time ahead
 * that reservations wait for. To and from BeRate all servers of best effort start as new ones: from it that is as
 * safe as if all tasks woke now, because reservations had all they wanted before any of them.
 */
LX_INLINE void lx_change_policy(struct lx_servers *q, u64 now,
				const struct lxc_policy_params *rules)
{
	int anew = q->rules.quantum || rules->quantum;
	u32 i;

	lx_reclaim_up_to(q, now);
	q->rules = *rules;
	if (!anew)
		return;
	q->total_quanta = 0;
	q->nr_active = 0;
	/* Nobody owes anybody anything. */
	q->bw_free_at = 0;
	q->share_raised_at = 0;
	q->nr_departed = 0;
	q->ahead_checked_at = 0;
	lx_bandwidth_set(&q->bandwidth, q->bandwidth.best_effort_bw, 0);
	for (i = lx_zero; i < q->nr_used && can_loop; i += 1 + lx_zero) {
		const struct lx_server *s = lx_server(q, i);

		if (s->kind != LX_HARD && s->state != LX_VACANT)
			lx_server_restart(q, now, i);
	}
	lx_reclaim_up_to(q, now);
	for (i = lx_zero; i < q->nr_used && can_loop; i += 1 + lx_zero) {
		const struct lx_server *s = lx_server(q, i);

		if (s->kind != LX_HARD && s->head != LX_NONE && s->state == LX_BLOCKED)
			lx_activate(q, now, i);
	}
}

#endif
