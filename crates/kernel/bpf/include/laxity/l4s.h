/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The dual queue coupled AQM (RFC 9332) of a class without flow queues: ECT(1) and CE have a queue of
 * their own (crates/link/src/aqm/l4s.rs).
 */
#ifndef LAXITY_L4S_H
#define LAXITY_L4S_H

#include "pi2.h"

/* The two queues of the class. */
enum { LX_CLASSIC, LX_LOW_LATENCY, LX_DUAL_QUEUES };

/* Marks that the low-latency queue may owe beyond its packets: it is often empty, and what has left
 * it is to be signalled all the same. */
#define LX_SPARE_MARKS 8

/* How much more often the low-latency queue is marked than the root of the classic signal has it
 * (RFC 9332, section 2.1). */
#define LX_COUPLING 2
/* Tenths of what is sent that the classic queue gets at least while it waits. */
#define LX_CLASSIC_SHARE 1

enum lx_signal {
	LX_NO_SIGNAL,
	/* A mark where the packet can carry one. */
	LX_SIGNAL_MARK,
	LX_SIGNAL_DROP,
};

/* PI2 for classic traffic: two rolls below p'; a drop once p' is above 1/2, where marks no longer
 * suffice. */
LX_INLINE u32 lx_classic_signal(u64 probability, struct lx_rolls rolls)
{
	if (rolls.first >= probability || rolls.second >= probability)
		return LX_NO_SIGNAL;
	return probability <= LX_PI2_ONE / 2 ? LX_SIGNAL_MARK : LX_SIGNAL_DROP;
}

/* The signal for a packet of `queue` that has waited for `sojourn`; `few` if its class has no
 * other. */
LX_INLINE u32 lx_dual_signal(u64 probability, struct lx_rolls rolls, u32 queue, u64 sojourn,
			     u64 step, u8 few)
{
	u64 coupled = LX_COUPLING * probability;

	if (few)
		return LX_NO_SIGNAL;
	/* Overload: marks no longer suffice, and both queues lose as many. */
	if (coupled >= LX_PI2_ONE && rolls.first < probability && rolls.second < probability)
		return LX_SIGNAL_DROP;
	if (queue == LX_CLASSIC)
		return lx_classic_signal(probability, rolls);
	return sojourn > step || rolls.first < coupled ? LX_SIGNAL_MARK : LX_NO_SIGNAL;
}

/* Which queue is next: low latency, unless the classic queue has had less than its share. `lacking`
 * has the bytes times 10 that it lacks while both wait. */
LX_INLINE u32 lx_dual_select(s64 lacking, u32 classic, u32 low_latency)
{
	if (classic && low_latency)
		return lacking > 0 ? LX_CLASSIC : LX_LOW_LATENCY;
	if (low_latency)
		return LX_LOW_LATENCY;
	return classic ? LX_CLASSIC : LX_NONE;
}

/* Deficit of the classic queue once `wire` bytes of a queue are sent, after which the other one has
 * `other` packets. */
LX_INLINE s64 lx_dual_charge(s64 lacking, u32 queue, u32 wire, u32 other)
{
	if (!other)
		return 0;
	if (queue == LX_LOW_LATENCY)
		return lacking + LX_CLASSIC_SHARE * (s64)wire;
	return lacking - (10 - LX_CLASSIC_SHARE) * (s64)wire;
}

#endif
