/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * End of transmissions, exact below a nanosecond: the remainder, in nanobits that the link could
 * still have sent within the last nanosecond, carries over from packet to packet while the link is
 * busy. See crates/core/src/clock.rs.
 */
#ifndef LAXITY_CLOCK_H
#define LAXITY_CLOCK_H

#include "types.h"

struct lx_clock {
	/* End of the last transmission, rounded up. */
	u64 free;
	u64 spare;
};

/* Sends `wire` bytes from `start` on, which is not before `free`; returns the end, rounded up. */
LX_INLINE u64 lx_clock_transmit(struct lx_clock *clock, u64 rate, u64 start, u32 wire)
{
	u64 need = wire * NANOBITS_PER_BYTE;
	u64 spare = start == clock->free ? clock->spare : 0;
	u64 ns;

	need = need > spare ? need - spare : 0;
	ns = lx_div_ceil(need, rate);
	clock->spare = ns * rate - need;
	clock->free = start + ns;
	return clock->free;
}

#endif
