/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Policing: the exact state of the envelope with which a real-time flow was admitted. Either token
 * buckets (crates/link/src/police/buckets.rs), or one packet per period with a jitter
 * (crates/link/src/police/periodic.rs).
 */
#ifndef LAXITY_POLICE_H
#define LAXITY_POLICE_H

#include "types.h"

#define LX_MAX_BUCKETS 4
#define LX_MAX_FLOWS 64
/* Distinct relative deadlines. */
#define LX_DEADLINE_CLASSES 32

struct lx_bucket {
	/* Nanobits, bit/s, and ns in which an empty bucket fills. */
	u64 burst;
	u64 rate;
	u64 fill;
};

struct lx_envelope {
	struct lx_bucket bucket[LX_MAX_BUCKETS];
	/* 0 for token buckets. */
	u64 period;
	u64 jitter;
	u32 nr_buckets;
	/* Longer packets never conform; packets shorter than `min_packet` count as that. */
	u32 max_packet;
	u32 min_packet;
	u32 padding;
};

struct lx_policer {
	/* Nanobits at time `at`; for a periodic flow level[0] is the next instant of its grid. */
	u64 level[LX_MAX_BUCKETS];
	u64 at;
};

LX_INLINE u64 lx_bucket_level(const struct lx_bucket *b, u64 level, u64 elapsed)
{
	if (elapsed >= b->fill)
		return b->burst;
	/* Less than twice the burst. */
	return lx_min(b->burst, level + elapsed * b->rate);
}

LX_INLINE void lx_policer_reset(struct lx_policer *p, const struct lx_envelope *e)
{
	u32 i;

	for (i = 0; i < LX_MAX_BUCKETS; i++)
		p->level[i] = e->period ? 0 : e->bucket[i].burst;
	p->at = 0;
}

/*
 * Earliest time, at least `now`, at which a packet conforms; LX_NEVER if it never does. `after` is
 * the state after the packet is admitted then.
 */
LX_INLINE u64 lx_conforms_at(const struct lx_policer *p, const struct lx_envelope *e, u64 now,
			     u32 bytes, struct lx_policer *after)
{
	u64 at = lx_max(now, p->at);
	u64 wait = 0;
	u64 cost, elapsed;
	u32 i;

	if (bytes > e->max_packet)
		return LX_NEVER;
	if (e->period) {
		u64 grid = p->level[0];

		at = lx_max(at, grid > e->jitter ? grid - e->jitter : 0);
		after->level[0] = lx_max(at, grid) + e->period;
		after->at = at;
		return at;
	}
	cost = lx_max(bytes, e->min_packet) * NANOBITS_PER_BYTE;
	elapsed = at - p->at;
	after->at = at;
	for (i = 0; i < LX_MAX_BUCKETS; i++) {
		const struct lx_bucket *b = &e->bucket[i];
		u64 level;

		if (i >= e->nr_buckets)
			break;
		level = lx_bucket_level(b, p->level[i], elapsed);
		if (level >= cost) {
			after->level[i] = level - cost;
			continue;
		}
		if (cost > b->burst || !b->rate)
			return LX_NEVER;
		/* Computed from the common time, so that the division rounds up only once. */
		wait = lx_max(wait, lx_div_ceil(cost - p->level[i], b->rate) - elapsed);
	}
	if (!wait)
		return at;
	elapsed += wait;
	for (i = 0; i < LX_MAX_BUCKETS && i < e->nr_buckets; i++)
		after->level[i] = lx_bucket_level(&e->bucket[i], p->level[i], elapsed) - cost;
	after->at = at + wait;
	return at + wait;
}

/* Admits a packet: takes over the state that lx_conforms_at computed. */
LX_INLINE void lx_policer_commit(struct lx_policer *p, const struct lx_envelope *e,
				 const struct lx_policer *after)
{
	u32 i;

	p->at = after->at;
	if (e->period) {
		p->level[0] = after->level[0];
		return;
	}
	for (i = 0; i < LX_MAX_BUCKETS; i++) {
		if (i >= e->nr_buckets)
			break;
		p->level[i] = after->level[i];
	}
}

#endif
