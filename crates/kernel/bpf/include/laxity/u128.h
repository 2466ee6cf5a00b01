/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * 128-bit products of two times, which BPF lacks, and shares of a CPU in units of 2^-40
 * (crates/cpu/src/share.rs).
 */
#ifndef LAXITY_U128_H
#define LAXITY_U128_H

#include "types.h"

#define LX_FULL_SHARE (1ULL << 40)
/* Upper bound of divisors: two days in ns, or 128 CPUs as a share. */
#define LX_MAX_DIVISOR (1ULL << 48)

struct lx_u128 {
	u64 high;
	u64 low;
};

LX_INLINE struct lx_u128 lx_u128_mul(u64 a, u64 b)
{
	u64 a1 = a >> 32, a0 = (u32)a, b1 = b >> 32, b0 = (u32)b;
	u64 low = a0 * b0;
	u64 middle = a1 * b0 + (low >> 32);
	u64 other = a0 * b1 + (u32)middle;
	struct lx_u128 w = {
		.high = a1 * b1 + (middle >> 32) + (other >> 32),
		.low = other << 32 | (u32)low,
	};

	return w;
}

LX_INLINE int lx_u128_le(struct lx_u128 a, struct lx_u128 b)
{
	return a.high < b.high || (a.high == b.high && a.low <= b.low);
}

/* (high:low) / d, rounded up if `up` is set, for 0 < d < LX_MAX_DIVISOR; saturates. Divides 16 bits
 * at a time, since the remainder has fewer than 48. */
LX_GLOBAL_FN u64 lx_u128_div(u64 high, u64 low, u64 d, u64 up)
{
	u64 q = 0, r;
	u32 i;

	if (!d || high >= d)
		return LX_NEVER;
	r = high;
#pragma clang loop unroll(full)
	for (i = 0; i < 4; i++) {
		r = r << 16 | ((low >> (48 - 16 * i)) & 0xffff);
		q = q << 16 | r / d;
		r %= d;
	}
	return up && r && q != LX_NEVER ? q + 1 : q;
}

/* a * b / d, rounded up if `up` is set; saturates. */
LX_INLINE u64 lx_mul_div(u64 a, u64 b, u64 d, u64 up)
{
	struct lx_u128 w = lx_u128_mul(a, b);
	u64 q;

	/* Common case: the product fits into 64 bits, as for two factors of 4 s. */
	if (!w.high && d) {
		q = w.low / d;
		return q + (up && q * d != w.low);
	}
	return lx_u128_div(w.high, w.low, d, up);
}

/* work / time as a share, rounded up if `up` is set. */
LX_INLINE u64 lx_share(u64 work, u64 time, u64 up)
{
	return lx_mul_div(work, LX_FULL_SHARE, time, up);
}

/* Time in which a share provides this work, rounded up. */
LX_INLINE u64 lx_time_for_work(u64 share, u64 work)
{
	/* Clamping the share to that of all possible CPUs does not change the result in
	 * practice. */
	return lx_mul_div(work, LX_FULL_SHARE, lx_min(share, LX_MAX_DIVISOR - 1), 1);
}

#endif
