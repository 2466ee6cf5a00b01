/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * BeRate (crates/cpu/src/berate.rs): best effort by deadlines. A task's relative deadline is its
 * usual execution per job, divided by its fair share of the unreserved capacity. Each task is a
 * server of kind LX_RATE_BASED; reservations have priority over all of them.
 */
#ifndef LAXITY_BERATE_H
#define LAXITY_BERATE_H

#include "reclaim.h"

/* Bit that sorts BeRate keys behind all deadlines of reservations. */
#define LX_RATE_BASED_KEY (1ULL << 63)

LX_INLINE u64 lx_quantum(const struct lxc_policy_params *r, u32 weight)
{
	return ((weight >> 2) + 1) * r->quantum;
}

/* Key of a server in `ready`. */
LX_INLINE u64 lx_ready_key(const struct lx_server *s)
{
	return s->kind == LX_RATE_BASED ? s->deadline | LX_RATE_BASED_KEY : s->deadline;
}

/* Adds the server's quantum to the load. */
LX_INLINE void lx_rate_activate(struct lx_servers *q, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	lx_reclaim_cancel(q, i);
	if (s->active_weight)
		return;
	s->active_weight = s->weight;
	q->total_quanta += lx_quantum(&q->rules, s->weight);
}

LX_INLINE void lx_rate_deactivate(struct lx_servers *q, struct lx_server *s)
{
	if (s->active_weight)
		q->total_quanta -= lx_quantum(&q->rules, s->active_weight);
	s->active_weight = 0;
}

/* Time that best effort needs for this work. Caches the result, since the load rarely changes. */
LX_INLINE u64 lx_round_time(struct lx_servers *q, u64 work)
{
	struct lx_round_time *r = &q->round_cache;

	if (r->work != work || r->share != q->bandwidth.best_effort_bw) {
		r->work = work;
		r->share = q->bandwidth.best_effort_bw;
		r->time = lx_time_for_work(lx_max(r->share, 1), work);
	}
	return r->time;
}

/* Assigns a new deadline relative to `base`, under the present load. */
LX_GLOBAL_FN u32 lx_rate_assign(struct lx_servers *q __arg_nonnull, u32 i, u64 base)
{
	struct lx_server *s = lx_server(q, i);
	u64 quantum = lx_quantum(&q->rules, s->weight), load;

	if (s->is_new)
		s->execution = 0;
	else
		lx_sample(s);
	s->is_new = 0;
	load = lx_round_time(q, lx_max(q->total_quanta, quantum));
	s->budget = s->average;
	s->period = lx_min(lx_mul_div(s->average, load, quantum, 0), q->rules.max_period);
	s->deadline = s->period < LX_NEVER - base ? base + s->period : LX_NEVER;
	s->remaining_budget = quantum;
	if (load > q->rules.max_period)
		s->remaining_budget = lx_max(lx_mul_div(quantum, q->rules.max_period, load, 0), 1);
	return 0;
}

/* A quantum was executed: the next deadline counts from the old one, limited by `max_ahead`. */
LX_INLINE void lx_rate_next(struct lx_servers *q, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	u64 ahead = q->rules.max_ahead;

	lx_rate_assign(q, i, lx_min(s->deadline, ahead < LX_NEVER - now ? now + ahead : LX_NEVER));
	lx_rotate_members(s);
}

/* The server blocked: it counts in the load for a while longer. */
LX_INLINE void lx_rate_block(struct lx_servers *q, u64 now, u32 i)
{
	if (q->rules.inactive_after < LX_NEVER - now)
		lx_reclaim_schedule(q, i, now + q->rules.inactive_after);
}

/* Changes the weight. */
LX_INLINE void lx_rate_renice(struct lx_servers *q, u32 i, u32 weight)
{
	struct lx_server *s = lx_server(q, i);
	u64 quantum = lx_quantum(&q->rules, weight);

	if (s->active_weight) {
		q->total_quanta += quantum - lx_quantum(&q->rules, s->active_weight);
		s->active_weight = weight;
	}
	s->weight = weight;
	s->remaining_budget = lx_min(s->remaining_budget, quantum);
}

#endif
