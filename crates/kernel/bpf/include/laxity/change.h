/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Another policy for the tasks that are there. Part of servers.h.
 */
#ifndef LAXITY_POLICY_CHANGE_H
#define LAXITY_POLICY_CHANGE_H

/* A server of best effort gets the budget and deadline of a new one; what was learnt of it stays. */
LX_CALLED u32 lx_found_again(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	u64 average = lx_learnt(s);

	LX_SERVER_BEGINS(i);
	lx_leave_ready(q, i);
	lx_heap_remove(&q->expired, i);
	lx_heap_remove(&q->returns, i);
	if (s->state == LX_LEAVING) {
		lx_vacate(q, i);
		return 0;
	}
	s->state = LX_BLOCKED;
	s->counted = 0;
	s->active = 0;
	s->left = 0;
	s->end = 0;
	s->deadline = 0;
	s->period = 0;
	s->average_used = 0;
	s->risen = 0;
	lx_begin(q, now, i);
	if (average)
		s->average = average;
	s->budget = s->kind == LX_RATED ? s->average : 0;
	return 0;
}

/*
 * Tasks of reservations feel nothing, except that those of BeRate are always behind them. Between
 * policies that divide the bandwidth servers go on as they are, since they may have used time ahead
 * that reservations wait for. To and from BeRate all servers of best effort start as new ones: from it that is as
 * safe as if all tasks woke now, because reservations had all they wanted before any of them.
 */
LX_INLINE void lx_change_rules(struct lx_servers *q, u64 now, const struct lx_rules *rules)
{
	int anew = q->rules.quantum || rules->quantum;
	u32 i;

	lx_catch_up(q, now);
	q->rules = *rules;
	if (!anew)
		return;
	q->load = 0;
	q->actives = 0;
	/* Nobody owes anybody anything. */
	q->settled = 0;
	q->risen = 0;
	q->leaving = 0;
	q->looked = 0;
	lx_bandwidth_set(&q->bandwidth, q->bandwidth.best_effort, 0);
	for (i = lx_zero; i < q->used && lx_may_loop; i += 1 + lx_zero) {
		const struct lx_server *s = lx_server(q, i);

		if (s->kind != LX_HARD && s->state != LX_VACANT)
			lx_found_again(q, now, i);
	}
	lx_catch_up(q, now);
	for (i = lx_zero; i < q->used && lx_may_loop; i += 1 + lx_zero) {
		const struct lx_server *s = lx_server(q, i);

		if (s->kind != LX_HARD && s->head != LX_NONE && s->state == LX_BLOCKED)
			lx_activate(q, now, i);
	}
}

#endif
