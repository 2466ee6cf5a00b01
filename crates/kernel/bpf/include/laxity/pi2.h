/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * PI2: the controller of RFC 8033 on a linear probability, squared for classic traffic (RFC 9332,
 * section 2.1 and appendix A), with integers as in crates/link/src/aqm/pi2.rs.
 */
#ifndef LAXITY_PI2_H
#define LAXITY_PI2_H

#include "types.h"

/* Time between two updates, in ns, and updates that are made up for at once after a gap. */
#define LX_PI2_PERIOD 16000000ULL
#define LX_PI2_MAX_UPDATES 8
/* Gains of 0.16 and 3.2 Hz for a delay in ns and a probability in Q32, in 2^-16. */
#define LX_PI2_ALPHA 45036
#define LX_PI2_BETA 900720
/* Time without signals once the queue begins to build up (RFC 8033, section 4.4). */
#define LX_PI2_BURST 150000000ULL
/* Probability 1. */
#define LX_PI2_ONE (1ULL << 32)
/* Delays count up to this. */
#define LX_PI2_MAX_DELAY (1LL << 31)

struct lx_pi2 {
	/* p' in Q32, at most LX_PI2_ONE. */
	s64 probability;
	s64 last_delay;
	u64 updated;
	u64 burst;
	/* State of xorshift64*, not 0. */
	u64 random;
};

/* Two independent numbers below LX_PI2_ONE: the halves of one draw. */
struct lx_rolls {
	u64 first;
	u64 second;
};

LX_INLINE void lx_pi2_reset(struct lx_pi2 *p, u64 seed)
{
	p->probability = 0;
	p->last_delay = 0;
	p->updated = 0;
	p->burst = LX_PI2_BURST;
	p->random = seed;
}

LX_INLINE void lx_pi2_update(struct lx_pi2 *p, u64 target, s64 delay)
{
	s64 clamped = lx_min(target, LX_PI2_MAX_DELAY);
	/* Below 2^32 * 2^20 * 2. */
	s64 change = (delay - clamped) * LX_PI2_ALPHA + (delay - p->last_delay) * LX_PI2_BETA;
	s64 probability = p->probability + (change >> 16);

	if (probability < 0)
		probability = 0;
	p->probability = lx_min(probability, LX_PI2_ONE);
	if (!p->probability && (u64)delay < target / 2 && (u64)p->last_delay < target / 2)
		p->burst = LX_PI2_BURST;
	else
		p->burst = p->burst > LX_PI2_PERIOD ? p->burst - LX_PI2_PERIOD : 0;
	p->last_delay = delay;
}

/* p' for a packet that leaves now, with the delay of the queue; 0 while a burst is allowed. */
LX_GLOBAL_FN u64 lx_pi2_probability(struct lx_pi2 *p __arg_nonnull, u64 target, u64 now, u64 delay)
{
	u64 due = (now > p->updated ? now - p->updated : 0) / LX_PI2_PERIOD;
	u64 i;

	delay = lx_min(delay, LX_PI2_MAX_DELAY);
	for (i = lx_zero; i < lx_min(due, LX_PI2_MAX_UPDATES) && can_loop; i++)
		lx_pi2_update(p, target, delay);
	p->updated = due > LX_PI2_MAX_UPDATES ? now : p->updated + due * LX_PI2_PERIOD;
	return p->burst ? 0 : p->probability;
}

LX_INLINE struct lx_rolls lx_pi2_rolls(struct lx_pi2 *p)
{
	u64 x = p->random;
	struct lx_rolls rolls;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	p->random = x;
	x *= 0x2545f4914f6cdd1dULL;
	rolls.first = x >> 32;
	rolls.second = (u32)x;
	return rolls;
}

#endif
