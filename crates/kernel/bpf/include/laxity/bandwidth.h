/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The bandwidth that best-effort servers divide (crates/cpu/src/servers/bandwidth.rs), kept as the
 * pace L / U_BE with 32 bits below the binary point.
 */
#ifndef LAXITY_BANDWIDTH_H
#define LAXITY_BANDWIDTH_H

#include "wide.h"

#define LX_LONGEST 172800000000000ULL
/* Below this share nothing is divided. */
#define LX_LEAST_SHARE (1ULL << 20)

struct lx_bandwidth {
	u64 best_effort;
	u64 load;
	struct lx_wide pace;
};

LX_CALLED u32 lx_bandwidth_set(struct lx_bandwidth *b LX_GIVEN, u64 best_effort, u64 load)
{
	u64 share = lx_max(best_effort, LX_LEAST_SHARE);
	/* load << 72 divided by the share, in two halves; weights add up to less than 2^32. */
	u64 high = lx_max(load, 1) << 8;

	b->best_effort = best_effort;
	b->load = load;
	b->pace.high = high / share;
	b->pace.low = lx_div(high % share, 0, share, 1);
	if (b->pace.low == LX_NEVER) {
		/* Rounding up may carry; one below it is as large as any period may be. */
		b->pace.high++;
		b->pace.low = 0;
	}
	return 0;
}

/* The period that makes `budget` the share of weight q, rounded up. */
LX_CALLED u64 lx_period(const struct lx_bandwidth *b LX_GIVEN, u64 budget, u32 q)
{
	struct lx_wide low = lx_mul(budget, b->pace.low);
	struct lx_wide high = lx_mul(budget, b->pace.high);
	u64 product, middle = low.high + high.low;

	if (high.high || middle < high.low || middle >> 32)
		return LX_LONGEST;
	product = middle << 32 | low.low >> 32;
	if ((u32)low.low && !++product)
		return LX_LONGEST;
	if (!q)
		q = 1;
	product = product / q + (product % q != 0);
	return lx_min(lx_max(product, 1), LX_LONGEST);
}

/* The share of weight q, rounded down; weights are at most 40, so that the product fits. */
LX_INLINE u64 lx_share_down(const struct lx_bandwidth *b, u32 q)
{
	return lx_max(b->best_effort, LX_LEAST_SHARE) * q / lx_max(b->load, 1);
}

/* The same, rounded up. */
LX_INLINE u64 lx_share_up(const struct lx_bandwidth *b, u32 q)
{
	return lx_div_ceil(lx_max(b->best_effort, LX_LEAST_SHARE) * q, lx_max(b->load, 1));
}

#endif
