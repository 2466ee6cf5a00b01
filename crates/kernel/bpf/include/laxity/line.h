/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Deadlines from one line of slope s that crosses the time axis at the shift, that is, from a fluid
 * server. Packet n finishes there at max(r_n, finish of packet n - 1) + w_n / s, and its deadline
 * is that plus the shift. This is `shifted-line` (Chakraborty, Gries, Thiele, RTAS 2002, section
 * 4.2), and the last piece of `exact`.
 *
 * The state is the server's backlog instead of absolute products, so 64 bits suffice (LX_RANGE).
 * Out of range no deadline is assigned until the link idles, which is safe.
 */
#ifndef LAXITY_LINE_H
#define LAXITY_LINE_H

#include "types.h"

struct lx_line {
	/* Release of the newest packet, and the server's backlog before it at that time, in
	 * nanobits. */
	u64 release;
	u64 ahead;
	/* A packet arrived since the reset; the backlog left the range. */
	u8 begun, out_of_range;
};

/* Advances time to a release. */
LX_INLINE void lx_line_advance(struct lx_line *line, u64 slope, u64 horizon, u64 release)
{
	u64 passed = release - line->release;
	u64 served;

	line->release = release;
	/* Any backlog in range is served; shorter times do not overflow. */
	if (passed > horizon) {
		line->ahead = 0;
		return;
	}
	served = passed * slope;
	line->ahead = line->ahead > served ? line->ahead - served : 0;
}

/* The newest packet starts after the work of the previous one. */
LX_INLINE void lx_line_enter(struct lx_line *line, u64 slope, u64 horizon, u64 release, u64 work)
{
	if (!line->begun) {
		line->begun = 1;
		line->release = release;
		line->ahead = 0;
		return;
	}
	line->ahead += work;
	if (line->ahead >= LX_RANGE) {
		line->ahead = LX_RANGE;
		line->out_of_range = 1;
	}
	lx_line_advance(line, slope, horizon, release);
}

LX_INLINE void lx_line_reset(struct lx_line *line)
{
	line->release = 0;
	line->ahead = 0;
	line->begun = 0;
	line->out_of_range = 0;
}

/* Replaces the history by one packet of `work` nanobits, released at a time. */
LX_INLINE void lx_line_begin(struct lx_line *line, u64 release, u64 work)
{
	line->release = release;
	line->ahead = work;
	line->begun = 1;
	line->out_of_range = 0;
}

/* Replaces the history by `work` nanobits released at a time if that gives earlier deadlines. */
LX_INLINE void lx_line_restart(struct lx_line *line, u64 slope, u64 horizon, u64 release, u64 work)
{
	if (!work) {
		lx_line_reset(line);
		return;
	}
	if (!line->begun)
		return;
	lx_line_advance(line, slope, horizon, release);
	if (line->out_of_range || line->ahead > work)
		lx_line_begin(line, release, work);
}

#endif
