/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Statistics of a flow or class: counts, drops by reason, and a histogram of delays with buckets of
 * at most 25 % width. Demoted packets have no deadline and are counted separately.
 */
#ifndef LAXITY_COUNTS_H
#define LAXITY_COUNTS_H

#include "buffer.h"

#define LX_DELAY_BUCKETS 128
/* Delays below 2^10 ns share the first bucket; then four buckets per doubling. */
#define LX_DELAY_SHIFT 10

struct lx_counts {
	u64 packets;
	u64 bytes;
	u64 deadline_misses;
	u64 demoted;
	u64 delay_sum;
	u64 delay_max;
	u64 demoted_sum;
	u64 demoted_max;
	u64 dropped[LX_REASONS];
	u64 delay[LX_DELAY_BUCKETS];
	/* Counted by the program that marks, without the qdisc's lock. */
	u64 ecn_marks;
};

LX_INLINE u32 lx_delay_bucket(u64 delay)
{
	u64 v = delay >> LX_DELAY_SHIFT;
	u32 doubling = 0;

	if (v < 4)
		return v;
	if (v >> 32)
		return LX_DELAY_BUCKETS - 1;
	if (v >> 18) {
		doubling += 16;
		v >>= 16;
	}
	if (v >> 10) {
		doubling += 8;
		v >>= 8;
	}
	if (v >> 6) {
		doubling += 4;
		v >>= 4;
	}
	if (v >> 4) {
		doubling += 2;
		v >>= 2;
	}
	if (v >> 3) {
		doubling += 1;
		v >>= 1;
	}
	return lx_min(doubling * 4 + v, LX_DELAY_BUCKETS - 1);
}

LX_INLINE void lx_count_sent(struct lx_counts *n, u32 bytes, u64 delay, u8 late, u8 demoted)
{
	n->packets++;
	n->bytes += bytes;
	n->deadline_misses += late;
	if (demoted) {
		n->demoted++;
		n->demoted_sum += delay;
		if (delay > n->demoted_max)
			n->demoted_max = delay;
		return;
	}
	n->delay_sum += delay;
	if (delay > n->delay_max)
		n->delay_max = delay;
	(*lx_at(n->delay, lx_delay_bucket(delay)))++;
}

#endif
