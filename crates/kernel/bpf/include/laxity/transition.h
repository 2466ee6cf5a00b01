/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Bandwidth changes hands at zero-lag times (crates/cpu/src/servers/transition.rs). Part of
 * servers.h.
 */
#ifndef LAXITY_TRANSITION_H
#define LAXITY_TRANSITION_H

struct lx_freed {
	/* When all of it is free, and what is at once. */
	u64 settled;
	u64 spare;
};

/* One server fits its present share, which `before` was not yet. */
LX_CALLED u32 lx_shrink_one(struct lx_servers *q LX_GIVEN, u64 now, u32 i,
			    const struct lx_bandwidth *before LX_GIVEN,
			    struct lx_freed *freed LX_GIVEN)
{
	struct lx_server *s = lx_server(q, i);
	u64 period, from, had, has;
	u32 weight = lx_dividing(s);

	if (!s->period || (s->state == LX_BLOCKED && now >= s->end)) {
		/* Its period is over: the next one has the new share. */
		if (now >= s->limited_until) {
			had = lx_share_down(before, weight);
			has = lx_share_up(&q->bandwidth, weight);
			freed->spare += had > has ? had - has : 0;
		}
		return 0;
	}
	period = lx_period(&q->bandwidth, s->budget, weight);
	if (period <= s->period)
		return 0;
	from = lx_zero_lag(s, now);
	if (from > now) {
		freed->settled = lx_max(freed->settled, from);
	} else {
		/* Not the rate of this period, which was rounded: later ones may have all of the share. */
		had = lx_share(s->budget, s->period, 0);
		has = lx_share_up(&q->bandwidth, weight);
		had = had > has ? had - has : 0;
		freed->spare += had;
		/* What it leaves at once is no longer part of what it is limited to. */
		s->limited_rate -= lx_min(s->limited_rate, had);
	}
	lx_stretch_from(s, now, from, period);
	lx_heap_rekey(&q->ready, i, s->deadline);
	return 0;
}

/* One that has left cannot shrink: what it executed ahead has its old share until its share comes back. */
LX_INLINE void lx_wait_for_leaver(struct lx_servers *q, u32 i, struct lx_freed *freed)
{
	const struct lx_server *s = lx_server(q, i);

	if (s->counted && lx_heap_has(&q->returns, i) &&
	    lx_period(&q->bandwidth, s->budget, lx_dividing(s)) > s->period)
		freed->settled = lx_max(freed->settled, s->back);
}

/* Every shared server but `except` does. Only those that count have something to give. */
LX_CALLED u32 lx_shrink(struct lx_servers *q LX_GIVEN, u64 now, u32 except,
			const struct lx_bandwidth *before LX_GIVEN,
			struct lx_freed *freed LX_GIVEN)
{
	u32 i;

	freed->settled = now;
	freed->spare = 0;
	for (i = lx_zero; i < q->actives && lx_may_loop; i += 1 + lx_zero) {
		u32 id = *lx_at(q->active, i);

		if (id != except)
			lx_shrink_one(q, now, id, before, freed);
	}
	for (i = lx_zero; i < q->leaving && lx_may_loop; i += 1 + lx_zero)
		lx_wait_for_leaver(q, *lx_at(q->gone, i), freed);
	q->settled = lx_max(q->settled, freed->settled);
	freed->settled = q->settled;
	return 0;
}

/* Those that count and have not left stand in a list of their own, since there may be many more; and those that
 * have left and count still, in another. */
LX_INLINE u32 *lx_listed(struct lx_servers *q, int gone, u32 at)
{
	return gone ? lx_at(q->gone, at) : lx_at(q->active, at);
}

LX_INLINE void lx_list(struct lx_servers *q, int gone, struct lx_server *s, u32 i)
{
	u32 *count = gone ? &q->leaving : &q->actives;

	*lx_listed(q, gone, *count) = i;
	s->active = ++*count;
}

LX_INLINE void lx_unlist(struct lx_servers *q, int gone, struct lx_server *s)
{
	u32 *count = gone ? &q->leaving : &q->actives, last;

	if (!s->active || !*count)
		return;
	last = *lx_listed(q, gone, --*count);
	*lx_listed(q, gone, s->active - 1) = last;
	lx_server(q, last)->active = s->active;
	s->active = 0;
}

/* Another bandwidth, or another load that divides it. */
LX_INLINE void lx_redivide(struct lx_servers *q, u64 now, u64 best_effort, u64 load)
{
	struct lx_wide pace = q->bandwidth.pace;

	lx_bandwidth_set(&q->bandwidth, best_effort, load);
	if (!lx_at_most(pace, q->bandwidth.pace))
		q->risen = now;
}

/* Another load, of which a server has more or less. */
LX_CALLED u32 lx_set_counted(struct lx_servers *q LX_GIVEN, u64 now, u32 i, u32 counted)
{
	struct lx_server *s = lx_server(q, i);
	u32 before = s->counted;

	s->counted = counted;
	if (!before && counted)
		lx_list(q, 0, s, i);
	else if (before && !counted)
		lx_unlist(q, 0, s);
	lx_redivide(q, now, q->bandwidth.best_effort, q->bandwidth.load - before + counted);
	return 0;
}

/* The share that a server may use now. */
LX_INLINE u64 lx_entitled(const struct lx_bandwidth *b, u64 now, const struct lx_server *s)
{
	if (!s->counted)
		return 0;
	/* Others that came since may have left it less than it was limited to. */
	if (now < s->limited_until)
		return lx_min(s->limited_rate, lx_share_down(b, s->counted));
	if (s->period && now < s->end)
		return lx_share(s->budget, s->period, 0);
	return lx_share_down(b, s->counted);
}

/* A shared server joins those that divide, with all of its weight. */
LX_CALLED u32 lx_count(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	struct lx_bandwidth before = q->bandwidth;
	u64 held = lx_entitled(&before, now, s);
	struct lx_freed freed;

	lx_set_counted(q, now, i, s->weight > s->counted ? s->weight : s->counted);
	lx_shrink(q, now, i, &before, &freed);
	s->risen = now;
	s->limited_until = freed.settled;
	s->limited_rate = held + freed.spare;
	return 0;
}

/* What a reservation needs from now on. */
LX_INLINE void lx_reserve(struct lx_servers *q, struct lx_server *s, u64 share)
{
	q->need += share - s->reserved;
	s->reserved = share;
}

LX_INLINE void lx_divide(struct lx_servers *q, u64 now)
{
	lx_redivide(q, now, q->need < LX_ONE ? LX_ONE - q->need : 0, q->bandwidth.load);
}

/* The place of a server that is gone. */
LX_INLINE void lx_vacate(struct lx_servers *q, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	s->state = LX_VACANT;
	s->next = q->vacant;
	q->vacant = i;
	q->living--;
}

/* What was to come back at this time does. */
LX_CALLED u32 lx_settle(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	int gone = s->state == LX_LEAVING;

	lx_heap_remove(&q->returns, i);
	if (s->kind == LX_RATED) {
		lx_unload(q, s);
	} else if (s->kind == LX_SHARED) {
		int asleep = s->state == LX_BLOCKED && q->rules.unblocked;

		if (gone)
			lx_unlist(q, 1, s);
		lx_set_counted(q, now, i, gone || asleep ? 0 : s->weight);
	} else if (gone) {
		lx_reserve(q, s, 0);
		lx_divide(q, now);
	}
	if (gone)
		lx_vacate(q, i);
	return 0;
}

/* Lowers what is counted of a server to its weight, or to nothing, when that is safe, but not before
 * `earliest`. */
LX_INLINE void lx_uncount(struct lx_servers *q, u64 now, u64 earliest, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	/* The zero-lag time is no later than the period's end. */
	u64 at = s->end > earliest ? lx_max(lx_zero_lag(s, now), earliest) : earliest;

	/* While its share is limited, others have not left all of what its weight stands for; were the
	 * load to fall now, they would grow into what they are still giving up. */
	if (s->state != LX_LEAVING)
		at = lx_max(at, s->limited_until);
	if (at > now)
		lx_will_return(q, i, at);
	else
		lx_settle(q, now, i);
}

LX_CALLED u32 lx_settle_due(struct lx_servers *q LX_GIVEN, u64 now)
{
	while (lx_heap_least(&q->returns) <= now && lx_may_loop) {
		u32 i = lx_heap_first(&q->returns);
		u64 back = lx_server(q, i)->back;

		if (back > lx_heap_least(&q->returns))
			lx_heap_move(&q->returns, i, back, 0);
		else
			lx_settle(q, now, i);
	}
	return 0;
}

LX_INLINE void lx_catch_up(struct lx_servers *q, u64 now)
{
	if (lx_heap_least(&q->returns) <= now)
		lx_settle_due(q, now);
}

/* Another weight (crates/cpu/src/servers/policy.rs, `renice`). */
LX_CALLED u32 lx_renice(struct lx_servers *q LX_GIVEN, u64 now, u32 i, u32 weight)
{
	struct lx_server *s = lx_server(q, i);
	u32 old = s->weight, asleep = s->state == LX_BLOCKED && q->rules.unblocked;
	u64 period;

	lx_catch_up(q, now);
	if (s->kind == LX_RATED) {
		lx_rate_weigh(q, i, weight);
		return 0;
	}
	s->weight = weight;
	if (!s->counted || weight == old || s->kind != LX_SHARED)
		return 0;
	if (weight > old)
		s->risen = now;
	if (weight > s->counted) {
		/* It counts with what it has when it wakes. */
		if (asleep)
			return 0;
		lx_will_not_return(q, i);
		lx_count(q, now, i);
		return 0;
	}
	period = lx_period(&q->bandwidth, s->budget, weight);
	if (s->period && period > s->period) {
		u64 from = lx_zero_lag(s, now);

		/* Until then it has its old share, though its period no longer shows it. */
		if (from > now)
			q->settled = lx_max(q->settled, from);
		lx_stretch_from(s, now, from, period);
		if (s->state == LX_EXPIRED)
			lx_heap_rekey(&q->expired, i, s->end + q->advanced);
		lx_heap_rekey(&q->ready, i, s->deadline);
	}
	if (!asleep)
		lx_uncount(q, now, now, i);
	return 0;
}

#endif
