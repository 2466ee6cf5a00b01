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
	/* The backlog before the newest packet of lx_line_push, at its release. */
	u64 before;
	/* No deadline is earlier. */
	u64 floor;
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
	line->before = 0;
	line->floor = 0;
	line->begun = 0;
	line->out_of_range = 0;
}

/* Takes a packet of `work` nanobits and returns its deadline on the line. */
LX_INLINE u64 lx_line_push(struct lx_line *line, u64 slope, u64 horizon, s64 intercept, u64 release,
			   u64 work)
{
	/* The fluid server's backlog includes the packet itself, so its finish time is the
	 * deadline. */
	if (line->begun)
		lx_line_advance(line, slope, horizon, release);
	else
		lx_line_enter(line, slope, horizon, release, 0);
	line->before = line->ahead;
	line->ahead += work;
	if (line->ahead >= LX_RANGE) {
		line->ahead = LX_RANGE;
		line->out_of_range = 1;
	}
	if (line->out_of_range)
		return LX_NEVER;
	return lx_max(release + lx_div_ceil(line->ahead - intercept, slope), line->floor);
}

/* Replaces the history by two packets of `first` and `second` nanobits, released at a time. */
LX_INLINE void lx_line_begin(struct lx_line *line, u64 release, u64 first, u64 second)
{
	line->release = release;
	line->before = first;
	line->ahead = first + second;
	line->floor = 0;
	line->begun = 1;
	line->out_of_range = 0;
}

/* Returns true if deadlines after `release` are no earlier than those behind `work` nanobits that are
 * released then. */
LX_INLINE u8 lx_line_floor_is_later(const struct lx_line *line, u64 slope, u64 horizon,
				    s64 intercept, u64 release, u64 work)
{
	u64 ahead;

	if (line->floor <= release)
		return 0;
	ahead = line->floor - release;
	return ahead > horizon || ahead * slope >= work - intercept;
}

/* Replaces the history by `work` nanobits released at a time if that gives earlier deadlines. */
LX_INLINE void lx_line_restart(struct lx_line *line, u64 slope, u64 horizon, s64 intercept,
			       u64 release, u64 work)
{
	if (!work) {
		lx_line_reset(line);
		return;
	}
	if (!line->begun)
		return;
	lx_line_advance(line, slope, horizon, release);
	if (line->out_of_range || line->ahead > work ||
	    lx_line_floor_is_later(line, slope, horizon, intercept, release, work))
		lx_line_begin(line, release, work, 0);
}

#endif
