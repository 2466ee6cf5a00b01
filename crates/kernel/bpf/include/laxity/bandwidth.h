/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The bandwidth that best-effort servers divide (crates/cpu/src/servers/bandwidth.rs), stored as
 * its inverse per unit of weight, L / U_BE, with 32 fractional bits.
 */
#ifndef LAXITY_BANDWIDTH_H
#define LAXITY_BANDWIDTH_H

#include "u128.h"

#define LX_MAX_PERIOD 172800000000000ULL
/* Lower bound of the best-effort bandwidth for divisions. */
#define LX_MIN_SHARE (1ULL << 20)

struct lx_bandwidth {
	u64 best_effort_bw;
	u64 total_weight;
	struct lx_u128 pace;
};

LX_GLOBAL_FN u32 lx_bandwidth_set(struct lx_bandwidth *b __arg_nonnull, u64 best_effort_bw,
				  u64 total_weight)
{
	u64 share = lx_max(best_effort_bw, LX_MIN_SHARE);
	/* (total_weight << 72) / share in two halves; the sum of weights is below 2^32. */
	u64 high = lx_max(total_weight, 1) << 8;

	b->best_effort_bw = best_effort_bw;
	b->total_weight = total_weight;
	b->pace.high = high / share;
	b->pace.low = lx_u128_div(high % share, 0, share, 1);
	if (b->pace.low == LX_NEVER) {
		/* Rounding up may carry. The value is then at the upper end of the range of
		 * periods. */
		b->pace.high++;
		b->pace.low = 0;
	}
	return 0;
}

/* Period in which a server of weight q earns `budget`, rounded up. */
LX_GLOBAL_FN u64 lx_period_for(const struct lx_bandwidth *b __arg_nonnull, u64 budget, u32 q)
{
	struct lx_u128 low = lx_u128_mul(budget, b->pace.low);
	struct lx_u128 high = lx_u128_mul(budget, b->pace.high);
	u64 product, middle = low.high + high.low;

	if (high.high || middle < high.low || middle >> 32)
		return LX_MAX_PERIOD;
	product = middle << 32 | low.low >> 32;
	if ((u32)low.low && !++product)
		return LX_MAX_PERIOD;
	if (!q)
		q = 1;
	product = product / q + (product % q != 0);
	return lx_min(lx_max(product, 1), LX_MAX_PERIOD);
}

/* Share of weight q, rounded down. Weights are at most 40, so the product fits. */
LX_INLINE u64 lx_weight_share_down(const struct lx_bandwidth *b, u32 q)
{
	return lx_max(b->best_effort_bw, LX_MIN_SHARE) * q / lx_max(b->total_weight, 1);
}

/* Share of weight q, rounded up. */
LX_INLINE u64 lx_weight_share_up(const struct lx_bandwidth *b, u32 q)
{
	return lx_div_ceil(lx_max(b->best_effort_bw, LX_MIN_SHARE) * q, lx_max(b->total_weight, 1));
}

#endif
