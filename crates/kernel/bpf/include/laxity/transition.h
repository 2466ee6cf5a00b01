/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Transfers of bandwidth at zero-lag times (crates/cpu/src/servers/transition.rs).
 */
#ifndef LAXITY_TRANSITION_H
#define LAXITY_TRANSITION_H

#include "berate.h"

struct lx_freed {
	/* Time at which all freed bandwidth is available, and the part available now. */
	u64 free_at;
	u64 free_now;
};

/* Shrinks one server to its present share; `before` is the bandwidth before the change. */
LX_GLOBAL_FN u32 lx_shrink_one(struct lx_servers *q __arg_nonnull, u64 now, u32 i,
			       const struct lx_bandwidth *before __arg_nonnull,
			       struct lx_freed *freed __arg_nonnull)
{
	struct lx_server *s = lx_server(q, i);
	u64 period, from, had, has;
	u32 weight = lx_sharing_weight(s);

	if (!s->period || (s->state == LX_BLOCKED && now >= s->period_end)) {
		/* The period is over: the next one has the new share. */
		if (now >= s->limited_until) {
			had = lx_weight_share_down(before, weight);
			has = lx_weight_share_up(&q->bandwidth, weight);
			freed->free_now += had > has ? had - has : 0;
		}
		return 0;
	}
	period = lx_period_for(&q->bandwidth, s->budget, weight);
	if (period <= s->period)
		return 0;
	from = lx_zero_lag(s, now);
	if (from > now) {
		freed->free_at = lx_max(freed->free_at, from);
	} else {
		/* The base is not the rate of this period, which was rounded: later periods may use
		 * the full share. */
		had = lx_share(s->budget, s->period, 0);
		has = lx_weight_share_up(&q->bandwidth, weight);
		had = had > has ? had - has : 0;
		freed->free_now += had;
		/* Bandwidth given up now no longer counts towards the limit. */
		s->limited_rate -= lx_min(s->limited_rate, had);
	}
	lx_stretch_from(s, now, from, period);
	lx_heap_rekey(&q->ready, i, s->deadline);
	return 0;
}

/* A departed server cannot shrink: its lead keeps the old share until the share is reclaimed. */
LX_INLINE void lx_wait_for_departed(struct lx_servers *q, u32 i, struct lx_freed *freed)
{
	const struct lx_server *s = lx_server(q, i);

	if (s->active_weight && lx_heap_contains(&q->reclaims, i) &&
	    lx_period_for(&q->bandwidth, s->budget, lx_sharing_weight(s)) > s->period)
		freed->free_at = lx_max(freed->free_at, s->reclaim_at);
}

/* Shrinks all best-effort servers except one. Only servers that count in the total weight have
 * bandwidth to give up. */
LX_GLOBAL_FN u32 lx_shrink(struct lx_servers *q __arg_nonnull, u64 now, u32 except,
			   const struct lx_bandwidth *before __arg_nonnull,
			   struct lx_freed *freed __arg_nonnull)
{
	u32 i;

	freed->free_at = now;
	freed->free_now = 0;
	for (i = lx_zero; i < q->nr_active && can_loop; i += 1 + lx_zero) {
		u32 id = *lx_at(q->active, i);

		if (id != except)
			lx_shrink_one(q, now, id, before, freed);
	}
	for (i = lx_zero; i < q->nr_departed && can_loop; i += 1 + lx_zero)
		lx_wait_for_departed(q, *lx_at(q->departed, i), freed);
	q->bw_free_at = lx_max(q->bw_free_at, freed->free_at);
	freed->free_at = q->bw_free_at;
	return 0;
}

/* Two lists: counted servers that have members, and counted servers that departed. Iterating all
 * servers would be slower. */
LX_INLINE u32 *lx_active_list_at(struct lx_servers *q, int gone, u32 at)
{
	return gone ? lx_at(q->departed, at) : lx_at(q->active, at);
}

LX_INLINE void lx_active_list_add(struct lx_servers *q, int gone, struct lx_server *s, u32 i)
{
	u32 *count = gone ? &q->nr_departed : &q->nr_active;

	*lx_active_list_at(q, gone, *count) = i;
	s->active_pos = ++*count;
}

LX_INLINE void lx_active_list_remove(struct lx_servers *q, int gone, struct lx_server *s)
{
	u32 *count = gone ? &q->nr_departed : &q->nr_active, last;

	if (!s->active_pos || !*count)
		return;
	last = *lx_active_list_at(q, gone, --*count);
	*lx_active_list_at(q, gone, s->active_pos - 1) = last;
	lx_server(q, last)->active_pos = s->active_pos;
	s->active_pos = 0;
}

/* Sets best-effort bandwidth and total weight. */
LX_INLINE void lx_set_bandwidth(struct lx_servers *q, u64 now, u64 best_effort, u64 load)
{
	struct lx_u128 pace = q->bandwidth.pace;

	lx_bandwidth_set(&q->bandwidth, best_effort, load);
	if (!lx_u128_le(pace, q->bandwidth.pace))
		q->share_raised_at = now;
}

/* Sets the counted weight of a server and updates the total. */
LX_GLOBAL_FN u32 lx_set_active_weight(struct lx_servers *q __arg_nonnull, u64 now, u32 i,
				      u32 counted)
{
	struct lx_server *s = lx_server(q, i);
	u32 before = s->active_weight;

	s->active_weight = counted;
	if (!before && counted)
		lx_active_list_add(q, 0, s, i);
	else if (before && !counted)
		lx_active_list_remove(q, 0, s);
	lx_set_bandwidth(q, now, q->bandwidth.best_effort_bw,
			 q->bandwidth.total_weight - before + counted);
	return 0;
}

/* Share that a server may use now. */
LX_INLINE u64 lx_current_share(const struct lx_bandwidth *b, u64 now, const struct lx_server *s)
{
	if (!s->active_weight)
		return 0;
	/* Servers activated since may have left it less than its limit. */
	if (now < s->limited_until)
		return lx_min(s->limited_rate, lx_weight_share_down(b, s->active_weight));
	if (s->period && now < s->period_end)
		return lx_share(s->budget, s->period, 0);
	return lx_weight_share_down(b, s->active_weight);
}

/* Counts a best-effort server with its full weight. */
LX_GLOBAL_FN u32 lx_weight_activate(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	struct lx_bandwidth before = q->bandwidth;
	u64 held = lx_current_share(&before, now, s);
	struct lx_freed freed;

	lx_set_active_weight(q, now, i,
			     s->weight > s->active_weight ? s->weight : s->active_weight);
	lx_shrink(q, now, i, &before, &freed);
	s->share_raised_at = now;
	s->limited_until = freed.free_at;
	s->limited_rate = held + freed.free_now;
	return 0;
}

/* Sets the bandwidth of a reservation. */
LX_INLINE void lx_set_reserved_bw(struct lx_servers *q, struct lx_server *s, u64 share)
{
	q->reserved_bw += share - s->reserved_bw;
	s->reserved_bw = share;
}

LX_INLINE void lx_update_best_effort_bw(struct lx_servers *q, u64 now)
{
	lx_set_bandwidth(q, now,
			 q->reserved_bw < LX_FULL_SHARE ? LX_FULL_SHARE - q->reserved_bw : 0,
			 q->bandwidth.total_weight);
}

/* Frees the slot of a departed server. */
LX_INLINE void lx_server_free(struct lx_servers *q, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	s->state = LX_VACANT;
	s->next_vacant = q->first_vacant;
	q->first_vacant = i;
	q->nr_servers--;
}

/* Reclaims the share that a server has given up. */
LX_GLOBAL_FN u32 lx_reclaim(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	int gone = s->state == LX_LEAVING;

	lx_heap_remove(&q->reclaims, i);
	if (s->kind == LX_RATE_BASED) {
		lx_rate_deactivate(q, s);
	} else if (s->kind == LX_BEST_EFFORT) {
		int asleep = s->state == LX_BLOCKED && q->rules.exclude_sleepers;

		if (gone)
			lx_active_list_remove(q, 1, s);
		lx_set_active_weight(q, now, i, gone || asleep ? 0 : s->weight);
	} else if (gone) {
		lx_set_reserved_bw(q, s, 0);
		lx_update_best_effort_bw(q, now);
	}
	if (gone)
		lx_server_free(q, i);
	return 0;
}

/* Reduces the counted weight of a server to its weight, or to zero, at the earliest safe time that
 * is not before `earliest`. */
LX_INLINE void lx_weight_deactivate(struct lx_servers *q, u64 now, u64 earliest, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	/* The zero-lag time is not after the period's end. */
	u64 at = s->period_end > earliest ? lx_max(lx_zero_lag(s, now), earliest) : earliest;

	/* While its share is limited, other servers still hold part of the share of its weight.
	 * If the total weight fell now, they would grow into bandwidth that they are still giving
	 * up. */
	if (s->state != LX_LEAVING)
		at = lx_max(at, s->limited_until);
	if (at > now)
		lx_reclaim_schedule(q, i, at);
	else
		lx_reclaim(q, now, i);
}

LX_GLOBAL_FN u32 lx_reclaim_due(struct lx_servers *q __arg_nonnull, u64 now)
{
	while (lx_heap_min_key(&q->reclaims) <= now && can_loop) {
		u32 i = lx_heap_top(&q->reclaims);
		u64 back = lx_server(q, i)->reclaim_at;

		if (back > lx_heap_min_key(&q->reclaims))
			lx_heap_update(&q->reclaims, i, back, 0);
		else
			lx_reclaim(q, now, i);
	}
	return 0;
}

LX_INLINE void lx_reclaim_up_to(struct lx_servers *q, u64 now)
{
	if (lx_heap_min_key(&q->reclaims) <= now)
		lx_reclaim_due(q, now);
}

/* Changes the weight (crates/cpu/src/servers/policy.rs, `renice`). */
LX_GLOBAL_FN u32 lx_renice(struct lx_servers *q __arg_nonnull, u64 now, u32 i, u32 weight)
{
	struct lx_server *s = lx_server(q, i);
	u32 old = s->weight, asleep = s->state == LX_BLOCKED && q->rules.exclude_sleepers;
	u64 period;

	lx_reclaim_up_to(q, now);
	if (s->kind == LX_RATE_BASED) {
		lx_rate_renice(q, i, weight);
		return 0;
	}
	s->weight = weight;
	if (!s->active_weight || weight == old || s->kind != LX_BEST_EFFORT)
		return 0;
	if (weight > old)
		s->share_raised_at = now;
	if (weight > s->active_weight) {
		/* The new weight counts from the wake-up on. */
		if (asleep)
			return 0;
		lx_reclaim_cancel(q, i);
		lx_weight_activate(q, now, i);
		return 0;
	}
	period = lx_period_for(&q->bandwidth, s->budget, weight);
	if (s->period && period > s->period) {
		u64 from = lx_zero_lag(s, now);

		/* Until then it has its old share, although its period no longer shows it. */
		if (from > now)
			q->bw_free_at = lx_max(q->bw_free_at, from);
		lx_stretch_from(s, now, from, period);
		if (s->state == LX_EXPIRED)
			lx_heap_rekey(&q->expired, i, s->period_end + q->release_advance);
		lx_heap_rekey(&q->ready, i, s->deadline);
	}
	if (!asleep)
		lx_weight_deactivate(q, now, now, i);
	return 0;
}

#endif
