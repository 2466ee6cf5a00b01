/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * A reservation takes its bandwidth from best effort (crates/cpu/src/servers/transition.rs).
 */
#ifndef LAXITY_ADMIT_H
#define LAXITY_ADMIT_H

#include "release.h"

/* Returns true if a reservation has pending work. */
LX_GLOBAL_FN u32 lx_reservation_pending(struct lx_servers *q __arg_nonnull)
{
	u32 i;

	for (i = lx_zero; i < q->ready.count && can_loop; i += 1 + lx_zero)
		if (lx_server(q, lx_at(q->ready.node, i)->entry)->kind == LX_HARD)
			return 1;
	return 0;
}

/* Reclaims the shares of all departed servers. */
LX_INLINE void lx_free_departed(struct lx_servers *q, u64 now)
{
	u64 load = q->bandwidth.total_weight;

	while (q->nr_departed && can_loop) {
		u32 i = *lx_at(q->departed, q->nr_departed - 1);
		struct lx_server *s = lx_server(q, i);

		lx_heap_remove(&q->reclaims, i);
		lx_active_list_remove(q, 1, s);
		load -= s->active_weight;
		s->active_weight = 0;
		lx_server_free(q, i);
	}
	lx_set_bandwidth(q, now, q->bandwidth.best_effort_bw, load);
}

/* Gives all best-effort servers their present shares from now on: forgets their lags and reclaims
 * the shares of departed servers. Safe while no reservation has pending work. */
LX_GLOBAL_FN u32 lx_reset_lag(struct lx_servers *q __arg_nonnull, u64 now)
{
	u32 k;

	for (k = lx_zero; k < q->nr_active && can_loop; k += 1 + lx_zero) {
		u32 i = *lx_at(q->active, k);
		struct lx_server *s = lx_server(q, i);
		u64 end, later;

		s->limited_until = lx_min(s->limited_until, now);
		if (!s->period || (now >= s->period_end && s->state == LX_BLOCKED))
			continue;
		s->period = lx_max(lx_period_for(&q->bandwidth, s->budget, lx_sharing_weight(s)),
				   s->period);
		end = now + lx_mul_div(s->remaining_budget, s->period, lx_max(s->budget, 1), 1);
		later = end - lx_min(s->period_end, end);
		s->period_end += later;
		s->deadline += later;
		lx_heap_rekey(&q->ready, i, s->deadline);
	}
	q->bw_free_at = now;
	if (q->nr_departed)
		lx_free_departed(q, now);
	LX_TEST_LAG_RESET(now);
	return 0;
}

/* Called when no task is runnable (crates/cpu/src/servers/transition.rs, `forget`). */
LX_INLINE void lx_reset_lag_on_idle(struct lx_servers *q, u64 now)
{
	if (q->nr_departed || q->bw_free_at > now)
		lx_reset_lag(q, now);
}

/* Returns the time from which the bandwidth of a reservation, which `reserved_bw` already includes,
 * is free. */
LX_GLOBAL_FN u64 lx_reservation_admit(struct lx_servers *q __arg_nonnull, u64 now)
{
	struct lx_bandwidth before;
	struct lx_freed freed;

	lx_release_due(q, now);
	before = q->bandwidth;
	lx_update_best_effort_bw(q, now);
	if (!lx_reservation_pending(q)) {
		lx_reset_lag(q, now);
		return now;
	}
	lx_shrink(q, now, LX_NONE, &before, &freed);
	return freed.free_at;
}

#endif
