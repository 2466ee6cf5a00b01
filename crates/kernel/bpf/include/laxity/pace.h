/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * When packets start, asked by timers that may be late: as a wire of the link's rate would send
 * them, and never more than the credit behind. What is later than that is lost.
 */
#ifndef LAXITY_PACE_H
#define LAXITY_PACE_H

#include "clock.h"

struct lx_pace {
	struct lx_clock clock;
	/* From when on a packet that waits could have been sent; LX_NEVER when none waits. */
	u64 ready;
};

/* Time lost beyond the credit, with packets waiting. */
struct lx_stalls {
	u64 count;
	u64 total;
	u64 longest;
};

/* A packet may be sent from an instant on. */
LX_INLINE void lx_pace_waits(struct lx_pace *p, u64 at)
{
	p->ready = lx_min(p->ready, lx_max(at, p->clock.free));
}

/* When a packet starts that is taken now. */
LX_INLINE u64 lx_pace_start(const struct lx_pace *p, u64 credit, u64 now)
{
	return lx_max(lx_min(p->ready, now), now > credit ? now - credit : 0);
}

/* What is lost by that. */
LX_INLINE u64 lx_pace_lost(const struct lx_pace *p, u64 start)
{
	return start > p->ready ? start - p->ready : 0;
}

/* A packet goes from start on, the next one could follow it; the caller says if one waits. */
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
