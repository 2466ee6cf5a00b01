/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * A reservation takes its share from best effort (crates/cpu/src/servers/transition.rs). Part of
 * servers.h.
 */
#ifndef LAXITY_TAKE_H
#define LAXITY_TAKE_H

/* Whether anything that was promised is pending. */
LX_CALLED u32 lx_pressed(struct lx_servers *q LX_GIVEN)
{
	u32 i;

	for (i = lx_zero; i < q->ready.count && lx_may_loop; i += 1 + lx_zero)
		if (lx_server(q, lx_at(q->ready.node, i)->entry)->kind == LX_HARD)
			return 1;
	return 0;
}

/* The shares of those that have left are free. */
LX_INLINE void lx_free_gone(struct lx_servers *q, u64 now)
{
	u64 load = q->bandwidth.load;

	while (q->leaving && lx_may_loop) {
		u32 i = *lx_at(q->gone, q->leaving - 1);
		struct lx_server *s = lx_server(q, i);

		lx_heap_remove(&q->returns, i);
		lx_unlist(q, 1, s);
		load -= s->counted;
		s->counted = 0;
		lx_vacate(q, i);
	}
	lx_redivide(q, now, q->bandwidth.best_effort, load);
}

/* All shared servers have their present shares from now on: what they used ahead, or did not use,
 * is forgotten, and the shares of those that have left are free. Safe when nothing that was promised is
 * pending. */
LX_CALLED u32 lx_begin_anew(struct lx_servers *q LX_GIVEN, u64 now)
{
	u32 k;

	for (k = lx_zero; k < q->actives && lx_may_loop; k += 1 + lx_zero) {
		u32 i = *lx_at(q->active, k);
		struct lx_server *s = lx_server(q, i);
		u64 end, later;

		s->limited_until = lx_min(s->limited_until, now);
		if (!s->period || (now >= s->end && s->state == LX_BLOCKED))
			continue;
		s->period = lx_max(lx_period(&q->bandwidth, s->budget, lx_dividing(s)), s->period);
		end = now + lx_mul_div(s->left, s->period, lx_max(s->budget, 1), 1);
		later = end - lx_min(s->end, end);
		s->end += later;
		s->deadline += later;
		lx_heap_rekey(&q->ready, i, s->deadline);
	}
	q->settled = now;
	if (q->leaving)
		lx_free_gone(q, now);
	LX_SERVERS_BEGIN_ANEW(now);
	return 0;
}

/* Nobody has anything to do (crates/cpu/src/servers/transition.rs, `forget`). */
LX_INLINE void lx_forget_all(struct lx_servers *q, u64 now)
{
	if (q->leaving || q->settled > now)
		lx_begin_anew(q, now);
}

/* From when on the share of a reservation, which `need` holds already, is free. */
LX_CALLED u64 lx_take(struct lx_servers *q LX_GIVEN, u64 now)
{
	struct lx_bandwidth before;
	struct lx_freed freed;

	lx_release_due(q, now);
	before = q->bandwidth;
	lx_divide(q, now);
	if (!lx_pressed(q)) {
		lx_begin_anew(q, now);
		return now;
	}
	lx_shrink(q, now, LX_NONE, &before, &freed);
	return freed.settled;
}

#endif
