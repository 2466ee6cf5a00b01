/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Start times of packets with late timers: as on a wire of the link's rate, and at most the credit
 * behind. Time beyond that is lost.
 */
#ifndef LAXITY_PACE_H
#define LAXITY_PACE_H

#include "clock.h"

struct lx_pace {
	struct lx_clock clock;
	/* Earliest time at which a waiting packet could have been sent; LX_NEVER if none waits. */
	u64 ready;
};

/* Time lost beyond the credit while packets waited. */
struct lx_stalls {
	u64 count;
	u64 total;
	u64 longest;
};

/* A packet may be sent from time `at` on. */
LX_INLINE void lx_pace_waits(struct lx_pace *p, u64 at)
{
	p->ready = lx_min(p->ready, lx_max(at, p->clock.free));
}

/* Start time of a packet taken now. */
LX_INLINE u64 lx_pace_start(const struct lx_pace *p, u64 credit, u64 now)
{
	return lx_max(lx_min(p->ready, now), now > credit ? now - credit : 0);
}

/* Time lost before that start. */
LX_INLINE u64 lx_pace_lost(const struct lx_pace *p, u64 start)
{
	return start > p->ready ? start - p->ready : 0;
}

/* Sends a packet at `start`. The caller calls lx_pace_waits if another one waits. */
LX_INLINE u64 lx_pace_send(struct lx_pace *p, struct lx_stalls *n, u64 rate, u64 start, u32 wire)
{
	u64 lost = lx_pace_lost(p, start);

	if (lost) {
		n->count++;
		n->total += lost;
		n->longest = lx_max(n->longest, lost);
	}
	p->ready = LX_NEVER;
	return lx_clock_transmit(&p->clock, rate, start, wire) - start;
}

#endif
