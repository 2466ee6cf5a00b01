/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Changes the policy of running tasks.
 */
#ifndef LAXITY_POLICY_CHANGE_H
#define LAXITY_POLICY_CHANGE_H

#include "servers.h"

/* Restarts a best-effort server with a new budget and deadline; its learnt average stays. */
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
	s->compute_bound = 0;
	s->defers = 0;
	lx_server_init_best_effort(q, now, i);
	if (average)
		s->average = average;
	s->budget = s->kind == LX_RATE_BASED ? s->average : 0;
	return 0;
}

/*
 * Tasks with reservations are not affected, except that BeRate tasks always come after them.
 * Between server policies, servers keep their state, because they may hold a lead that reservations
 * wait for. To and from BeRate, best-effort servers are restarted. Leaving BeRate this is as safe
 * as if all tasks woke now, because reservations had priority over every one of them.
 */
LX_INLINE void lx_change_policy(struct lx_servers *q, u64 now,
				const struct lxc_policy_params *rules)
{
	int restart = q->rules.quantum || rules->quantum;
	u32 i;

	lx_reclaim_up_to(q, now);
	q->rules = *rules;
	if (!restart)
		return;
	q->total_quanta = 0;
	q->nr_active = 0;
	/* No server has a lag. */
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
