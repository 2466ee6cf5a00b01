/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * BeRate (crates/cpu/src/berate.rs): best effort by deadlines, each of them what a task usually
 * executes at once divided by its fair share of what reservations leave. Here a task is a server of
 * the kind LX_RATED; reservations go before all of these. Part of servers.h.
 */
#ifndef LAXITY_BERATE_H
#define LAXITY_BERATE_H

/* Keys of these are behind all deadlines of reservations. */
#define LX_BEHIND (1ULL << 63)

LX_INLINE u64 lx_quantum(const struct lx_rules *r, u32 weight)
{
	return ((weight >> 2) + 1) * r->quantum;
}

/* The key of a server among those that compete. */
LX_INLINE u64 lx_key(const struct lx_server *s)
{
	return s->kind == LX_RATED ? s->deadline | LX_BEHIND : s->deadline;
}

/* Its quantum is part of the load from now on. */
LX_INLINE void lx_load(struct lx_servers *q, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	lx_will_not_return(q, i);
	if (s->counted)
		return;
	s->counted = s->weight;
	q->load += lx_quantum(&q->rules, s->weight);
}

LX_INLINE void lx_unload(struct lx_servers *q, struct lx_server *s)
{
	if (s->counted)
		q->load -= lx_quantum(&q->rules, s->counted);
	s->counted = 0;
}

/* How long best effort takes for so much work. It is asked again and again with the same load. */
LX_INLINE u64 lx_round(struct lx_servers *q, u64 work)
{
	struct lx_round *r = &q->round;

	if (r->work != work || r->share != q->bandwidth.best_effort) {
		r->work = work;
		r->share = q->bandwidth.best_effort;
		r->time = lx_time_for(lx_max(r->share, 1), work);
	}
	return r->time;
}

/* A new deadline that counts from `base`, when the load is as it is now. */
LX_CALLED u32 lx_rate(struct lx_servers *q LX_GIVEN, u32 i, u64 base)
{
	struct lx_server *s = lx_server(q, i);
	u64 quantum = lx_quantum(&q->rules, s->weight), load;

	if (s->fresh)
		s->execution = 0;
	else
		lx_sample(s);
	s->fresh = 0;
	load = lx_round(q, lx_max(q->load, quantum));
	s->budget = s->average;
	s->period = lx_min(lx_mul_div(s->average, load, quantum, 0), q->rules.longest);
	s->deadline = s->period < LX_NEVER - base ? base + s->period : LX_NEVER;
	s->left = quantum;
	if (load > q->rules.longest)
		s->left = lx_max(lx_mul_div(quantum, q->rules.longest, load, 0), 1);
	return 0;
}

/* A quantum was executed: what comes next counts from the deadline that there was, but not from too
 * far ahead. */
LX_INLINE void lx_rate_again(struct lx_servers *q, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	u64 ahead = q->rules.ahead;

	lx_rate(q, i, lx_min(s->deadline, ahead < LX_NEVER - now ? now + ahead : LX_NEVER));
	lx_turn(s);
}

/* Nothing to run: part of the load for some time yet. */
LX_INLINE void lx_rate_sleeps(struct lx_servers *q, u64 now, u32 i)
{
	if (q->rules.lapse < LX_NEVER - now)
		lx_will_return(q, i, now + q->rules.lapse);
}

/* Another weight. */
LX_INLINE void lx_rate_weigh(struct lx_servers *q, u32 i, u32 weight)
{
	struct lx_server *s = lx_server(q, i);
	u64 quantum = lx_quantum(&q->rules, weight);

	if (s->counted) {
		q->load += quantum - lx_quantum(&q->rules, s->counted);
		s->counted = weight;
	}
	s->weight = weight;
	s->left = lx_min(s->left, quantum);
}

#endif
