/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Deadlines from one line of slope s that cuts the time axis at the shift: a fluid server. Packet
 * n ends there at max(r_n, end of packet n - 1) + w_n / s, and the deadline is that plus the shift.
 * Alone this is `shifted-line` (Chakraborty, Gries, Thiele, RTAS 2002, section 4.2), and the last
 * piece of `exact` works like it.
 *
 * The work that the server still has is kept instead of absolute products, so 64 bits suffice; see
 * LX_RANGE. Beyond the range no deadline is given until the link idles, which is safe.
 */
#ifndef LAXITY_LINE_H
#define LAXITY_LINE_H

#include "types.h"

struct lx_line {
	/* Release of the newest packet, and the nanobits before it that the server still has then. */
	u64 release;
	u64 ahead;
	/* Any packet since the reset; the range was left. */
	u8 begun, out_of_range;
};

/* Lets time pass up to a release. */
LX_INLINE void lx_line_advance(struct lx_line *line, u64 slope, u64 horizon, u64 release)
{
	u64 passed = release - line->release;
	u64 served;

	line->release = release;
	/* Longer than any work in range needs; shorter ones do not overflow. */
	if (passed > horizon) {
		line->ahead = 0;
		return;
	}
	served = passed * slope;
	line->ahead = line->ahead > served ? line->ahead - served : 0;
}

/* The newest packet begins after the work of the one before it. */
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

/* As if the packets so far had been one of `work` nanobits, released at an instant. */
LX_INLINE void lx_line_begin(struct lx_line *line, u64 release, u64 work)
{
	line->release = release;
	line->ahead = work;
	line->begun = 1;
	line->out_of_range = 0;
}

/* Remembers `work` nanobits released at an instant instead of all packets so far, if that gives
 * earlier deadlines. */
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
