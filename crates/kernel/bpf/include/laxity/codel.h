/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * CoDel (RFC 8289), a packet at a time, with integers as in crates/link/src/aqm/codel.rs.
 */
#ifndef LAXITY_CODEL_H
#define LAXITY_CODEL_H

#include "bits.h"

/* Within so many intervals of the last signal a new episode goes on with the rate of signals of the
 * one before (RFC 8289, section 5.5). */
#define LX_CODEL_RESUME 16

struct lx_codel_config {
	/* In ns; the interval is at least twice the target. */
	u64 target;
	u64 interval;
	/* A queue of so few bytes is never signalled to. */
	u64 least_bytes;
};

/* State of one queue; all zero at first. */
struct lx_codel {
	/* Time at which the delay will have been above the target for an interval; 0 while it is
	 * below. */
	u64 first_above;
	/* Time at which the next packet is signalled. */
	u64 next;
	/* Signals of this episode, and of the last one at its start. */
	u32 count;
	u32 last_count;
	/* In an episode. */
	u32 signals;
	u32 padding;
};

/* 2^32 / sqrt(n), rounded down. */
static const u64 lx_inverse_roots[64] = {
	4294967296, 4294967296, 3037000499, 2479700524, 2147483648, 1920767766, 1753413056, 1623345050,
	1518500249, 1431655765, 1358187913, 1294981364, 1239850262, 1191209600, 1147878293, 1108955787,
	1073741824, 1041682577, 1012333499, 985333074,	960383883,  937238701,	915690104,  895562589,
	876706528,  858993459,	842312386,  826566841,	811672525,  797555404,	784150157,  771398898,
	759250124,  747657839,	736580814,  725981976,	715827882,  706088273,	696735698,  687745183,
	679093956,  670761199,	662727841,  654976372,	647490682,  640255922,	633258379,  626485368,
	619925131,  613566756,	607400099,  601415716,	595604800,  589959129,	584471018,  579133272,
	573939146,  568882315,	563956834,  559157114,	554477893,  549914211,	545461392,  541115016,
};

/* The same with a relative error of at most 2^-16: above 63, n is scaled by a power of 4 into
 * [16, 64), and two Newton steps improve the value of its integer part. */
LX_GLOBAL_FN u64 lx_inverse_root(u32 n)
{
	u32 k, i;
	u64 m, y;

	if (n < 64)
		return *lx_at(lx_inverse_roots, n);
	k = (lx_log2(n) - 4) / 2;
	/* Q20. */
	m = ((u64)n << 20) >> (2 * k);
	y = *lx_at(lx_inverse_roots, (u32)(m >> 20));
	for (i = 0; i < 2; i++) {
		/* y (3 - m y^2) / 2, with y in Q32, at most 2^30. */
		u64 product = (((y * y) >> 32) * m) >> 20;

		y = (y * ((3ULL << 32) - product)) >> 33;
	}
	return y >> k;
}

LX_INLINE u64 lx_saturating_add(u64 a, u64 b)
{
	return a + b < a ? LX_NEVER : a + b;
}

/* from + interval / sqrt(count). */
LX_INLINE u64 lx_codel_control_law(u64 from, u64 interval, u32 count)
{
	u64 root = lx_inverse_root(count);

	return lx_saturating_add(from, (interval >> 32) * root + (((u32)interval * root) >> 32));
}

/* Whether the delay has been above the target for an interval. */
LX_INLINE u8 lx_codel_stays_above(struct lx_codel *s, const struct lx_codel_config *c, u64 now,
				  u64 sojourn, u32 packets, u64 bytes)
{
	if (sojourn < c->target || packets <= 1 || bytes <= c->least_bytes) {
		s->first_above = 0;
		return 0;
	}
	if (!s->first_above) {
		s->first_above = lx_saturating_add(now, c->interval);
		return 0;
	}
	return now >= s->first_above;
}

/*
 * Returns true if the packet that leaves after `sojourn` is to be dropped or marked, with `packets`
 * and `bytes` in its queue, itself included. A queue's last packet never is, nor one of a queue of
 * at most a largest packet.
 */
LX_INLINE u8 lx_codel_signals(struct lx_codel *s, const struct lx_codel_config *c, u64 now,
			      u64 sojourn, u32 packets, u64 bytes)
{
	u8 above = lx_codel_stays_above(s, c, now, sojourn, packets, bytes);
	u32 delta;
	u64 since;

	if (s->signals) {
		if (!above) {
			s->signals = 0;
			return 0;
		}
		if (now < s->next)
			return 0;
		if (s->count != LX_NONE)
			s->count++;
		s->next = lx_codel_control_law(s->next, c->interval, s->count);
		return 1;
	}
	if (!above)
		return 0;
	s->signals = 1;
	delta = s->count > s->last_count ? s->count - s->last_count : 0;
	since = now > s->next ? now - s->next : 0;
	s->count = delta > 1 && since / LX_CODEL_RESUME < c->interval ? delta : 1;
	s->last_count = s->count;
	s->next = lx_codel_control_law(now, c->interval, s->count);
	return 1;
}

#endif
