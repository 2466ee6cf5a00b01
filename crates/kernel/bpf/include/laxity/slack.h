/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * `slack`: best effort is served whenever no real-time deadline could suffer from it, that is, if
 * its work w <= C x - B(x) - F(x) for every interval x from now, where B is the queued work due by
 * its end, and F the maximum work that flows can still send and that is due by then (see
 * crates/link/src/slack/mod.rs).
 *
 * This code uses upper bounds of B and F, so that the search is bounded. Queued work is kept in 64
 * buckets of absolute time, each due at its earliest deadline. The flows of one deadline are
 * bounded by two lines: the sum of their fastest and of their slowest token buckets. The slack is
 * then piecewise linear; it bends down only where work is due or a class begins, and up only where
 * the two lines of a class cross, so its minimum is at one of these points. The bounds may refuse
 * too much, never too little.
 *
 * Between searches a lower bound of the slack decreases with each best-effort byte sent, and with
 * each real-time packet started that is due later than the least relative deadline from now.
 */
#ifndef LAXITY_SLACK_H
#define LAXITY_SLACK_H

#include "police.h"

#define LX_SLACK_BUCKETS 64
/* Points of a search: where work is due, and two per class. */
#define LX_SLACK_POINTS 128

struct lx_slack_flow {
	/* Its fastest and its slowest bucket, as policed. */
	struct lx_bucket line[2];
	/* Maximum bytes on the wire per counted bytes. */
	u64 wire;
	u64 counted;
	u64 period;
	u64 jitter;
	u32 smallest;
	u32 class;
};

struct lx_slack_class {
	u64 deadline;
	/* Sums over its flows, on the wire. */
	u64 rate[2];
};

struct lx_slack_config {
	struct lx_slack_flow flow[LX_MAX_FLOWS];
	struct lx_slack_class class[LX_DEADLINE_CLASSES];
	u64 min_deadline;
	/* Longest interval without overflow. */
	u64 horizon;
	/* Maximum slope of F, in bit/s. */
	u64 max_rate;
	/* Work queued below the scheduler, in nanobits. */
	u64 downstream_backlog;
	/* Width of a bucket: 1 << shift ns. */
	u32 shift;
	u32 classes;
};

struct lx_slack {
	struct {
		u64 first;
		u64 work;
	} due[LX_SLACK_BUCKETS];
	/* State of each flow: nanobits it may still send, or its next grid instant. */
	struct {
		u64 level[2];
		u64 at;
	} flow[LX_MAX_FLOWS];
	/* Working memory of a search: lines of each class, points, and work due by each time. */
	struct {
		u64 level[2];
		u64 knee;
	} class[LX_DEADLINE_CLASSES];
	struct {
		u64 least;
		u64 most;
	} point[LX_SLACK_POINTS];
	struct {
		u64 at;
		u64 sum;
	} waiting[LX_SLACK_BUCKETS];
	/* Lower bound of the slack in nanobits, valid if `known`. */
	s64 lower;
	/* Needs of at least this are refused until `refused_until`. */
	s64 refused;
	u64 refused_until;
	u64 known;
};

LX_INLINE void lx_slack_start(struct lx_slack *s, const struct lx_slack_config *c)
{
	u32 i;

	for (i = lx_zero; i < LX_MAX_FLOWS && can_loop; i++) {
		const struct lx_slack_flow *f = lx_at(c->flow, i);

		lx_at(s->flow, i)->level[0] = f->period ? 0 : f->line[0].burst;
		lx_at(s->flow, i)->level[1] = f->line[1].burst;
		lx_at(s->flow, i)->at = 0;
	}
}

LX_INLINE void lx_slack_invalidate(struct lx_slack *s)
{
	s->known = 0;
	s->refused_until = 0;
}

LX_INLINE void lx_slack_reset(struct lx_slack *s)
{
	u32 i;

	for (i = lx_zero; i < LX_SLACK_BUCKETS && can_loop; i++)
		lx_at(s->due, i)->work = 0;
	lx_slack_invalidate(s);
}

/* A shaped packet of a flow conforms at a time. */
LX_INLINE void lx_slack_conformed(struct lx_slack *s, const struct lx_slack_config *c, u32 flow,
				  u64 at, u32 bytes)
{
	const struct lx_slack_flow *f = lx_at(c->flow, flow);
	u64 *level = lx_at(s->flow, flow)->level;
	u64 elapsed = at - lx_at(s->flow, flow)->at;

	if (f->period) {
		level[0] = lx_max(at, level[0]) + f->period;
	} else {
		u64 cost = lx_max(bytes, f->smallest) * NANOBITS_PER_BYTE;
		u64 fast = lx_bucket_level(&f->line[0], level[0], elapsed);
		u64 slow = lx_bucket_level(&f->line[1], level[1], elapsed);

		level[0] = fast > cost ? fast - cost : 0;
		level[1] = slow > cost ? slow - cost : 0;
	}
	lx_at(s->flow, flow)->at = at;
}

/* A packet conforms on arrival. No packet of its flow is shaped then, so the policer, which has
 * counted it, has the flow's state. */
LX_INLINE void lx_slack_sync_policer(struct lx_slack *s, u32 flow, const struct lx_policer *p,
				     const struct lx_envelope *e)
{
	u64 *level = lx_at(s->flow, flow)->level;

	level[0] = p->level[0];
	level[1] = *lx_at(p->level, lx_max(e->nr_buckets, 1) - 1);
	lx_at(s->flow, flow)->at = p->at;
}

/* A real-time packet is queued. */
LX_INLINE void lx_slack_queued(struct lx_slack *s, const struct lx_slack_config *c, u64 deadline,
			       u32 wire)
{
	u32 i = (deadline >> c->shift) & (LX_SLACK_BUCKETS - 1);

	if (!lx_at(s->due, i)->work || deadline < lx_at(s->due, i)->first)
		lx_at(s->due, i)->first = deadline;
	lx_at(s->due, i)->work += wire;
}

LX_INLINE void lx_slack_spend(struct lx_slack *s, u32 wire)
{
	s->lower -= wire * NANOBITS_PER_BYTE;
}

/* The best-effort packet that was to be sent has been dropped instead. */
LX_INLINE void lx_slack_refund(struct lx_slack *s, u32 wire)
{
	s->lower += wire * NANOBITS_PER_BYTE;
}

/* A real-time packet starts. */
LX_INLINE void lx_slack_departed(struct lx_slack *s, const struct lx_slack_config *c, u64 now,
				 u64 deadline, u32 wire)
{
	lx_at(s->due, (deadline >> c->shift) & (LX_SLACK_BUCKETS - 1))->work -= wire;
	if (deadline > now + c->min_deadline)
		lx_slack_spend(s, wire);
}

LX_INLINE u64 lx_on_wire(const struct lx_slack_flow *f, u64 counted)
{
	if (f->wire == f->counted)
		return counted;
	return counted / f->counted * f->wire +
	       lx_div_ceil(counted % f->counted * f->wire, f->counted);
}

/* Computes the lines of all classes from the state of the flows. */
LX_INLINE void lx_slack_lines(struct lx_slack *s, const struct lx_slack_config *c, u32 flows,
			      u64 now)
{
	u32 i;

	for (i = lx_zero; i < c->classes && can_loop; i++) {
		lx_at(s->class, i)->level[0] = 0;
		lx_at(s->class, i)->level[1] = 0;
	}
	for (i = lx_zero; i < flows && can_loop; i++) {
		const struct lx_slack_flow *f = lx_at(c->flow, i);
		const u64 *level = lx_at(s->flow, i)->level;
		u64 *sum = lx_at(s->class, f->class)->level;
		u64 elapsed = now - lx_at(s->flow, i)->at;
		u64 fast, slow;

		if (f->period) {
			/* The staircase of free grid instants, bounded by a line. */
			u64 base = lx_max(now, level[0]);
			u64 early = now + f->jitter;
			u64 shift = (early > base ? early - base : base - early) * f->line[0].rate;

			fast = f->line[0].burst;
			if (early >= base)
				fast += shift;
			else
				fast = fast > shift ? fast - shift : 0;
			slow = fast;
		} else {
			fast = lx_bucket_level(&f->line[0], level[0], elapsed);
			slow = lx_bucket_level(&f->line[1], level[1], elapsed);
		}
		sum[0] += lx_on_wire(f, fast);
		sum[1] += lx_on_wire(f, slow);
	}
	for (i = lx_zero; i < c->classes && can_loop; i++) {
		u64 *level = lx_at(s->class, i)->level;
		const u64 *rate = lx_at(c->class, i)->rate;
		u64 knee = 0;

		if (level[1] > level[0]) {
			if (rate[0] > rate[1])
				knee = lx_div_ceil(level[1] - level[0], rate[0] - rate[1]);
			else
				level[1] = level[0];
			/* Beyond the horizon the slow line alone is a bound, too. */
			if (knee > c->horizon)
				knee = 0;
		}
		lx_at(s->class, i)->knee = knee;
	}
}

/* Collects the points at which the slack may have its minimum; returns their number. */
LX_INLINE u32 lx_slack_points(struct lx_slack *s, const struct lx_slack_config *c, u64 now,
			      u32 *waiting)
{
	u64 sum = 0;
	u32 points = lx_zero, n = lx_zero;
	u32 i;

	for (i = lx_zero; i < LX_SLACK_BUCKETS && can_loop; i++) {
		u32 bucket = ((now >> c->shift) + i) & (LX_SLACK_BUCKETS - 1);
		u64 work = lx_at(s->due, bucket)->work;
		u64 first = lx_at(s->due, bucket)->first;
		u64 x = first > now ? first - now : 0;

		if (!work)
			continue;
		sum += work;
		lx_at(s->waiting, n & (LX_SLACK_BUCKETS - 1))->at = x;
		lx_at(s->waiting, n & (LX_SLACK_BUCKETS - 1))->sum = sum;
		n++;
		lx_at(s->point, points & (LX_SLACK_POINTS - 1))->least = x;
		lx_at(s->point, points & (LX_SLACK_POINTS - 1))->most = x;
		points++;
	}
	for (i = lx_zero; i < c->classes && can_loop; i++) {
		u64 x = lx_at(c->class, i)->deadline;
		u64 knee = lx_at(s->class, i)->knee;

		lx_at(s->point, points & (LX_SLACK_POINTS - 1))->least = x;
		lx_at(s->point, points & (LX_SLACK_POINTS - 1))->most = x;
		points++;
		if (!knee)
			continue;
		/* The lines cross within the preceding nanosecond. */
		lx_at(s->point, points & (LX_SLACK_POINTS - 1))->least = x + knee - 1;
		lx_at(s->point, points & (LX_SLACK_POINTS - 1))->most = x + knee;
		points++;
	}
	*waiting = n;
	return points;
}

/* Work due by x: queued, and still to come. In nanobits. */
LX_INLINE u64 lx_slack_demand(const struct lx_slack *s, const struct lx_slack_config *c,
			      u32 waiting, u64 x)
{
	u64 sum = 0, due = 0;
	u32 i;

	for (i = lx_zero; i < waiting && can_loop; i++) {
		if (lx_at(s->waiting, i & (LX_SLACK_BUCKETS - 1))->at <= x)
			due = lx_at(s->waiting, i & (LX_SLACK_BUCKETS - 1))->sum;
	}
	for (i = lx_zero; i < c->classes && can_loop; i++) {
		const struct lx_slack_class *class = lx_at(c->class, i);
		u64 y = x - class->deadline;

		if (class->deadline > x)
			break;
		if (y < lx_at(s->class, i)->knee)
			sum += lx_at(s->class, i)->level[0] + class->rate[0] * y;
		else
			sum += lx_at(s->class, i)->level[1] + class->rate[1] * y;
	}
	return sum + due * NANOBITS_PER_BYTE;
}

/* Computes how long a refusal is valid: the slack grows no faster than flows can send, and jumps
 * when the interval becomes shorter than a deadline. */
LX_INLINE void lx_slack_refuse(struct lx_slack *s, const struct lx_slack_config *c, u64 now, u64 x,
			       s64 need, s64 least)
{
	u64 stands = (u64)(need - least) / c->max_rate;
	u32 i;

	stands = lx_min(stands, x);
	for (i = lx_zero; i < c->classes && can_loop; i++) {
		u64 deadline = lx_at(c->class, i)->deadline;

		if (deadline > x)
			break;
		stands = lx_min(stands, x - deadline);
	}
	s->known = 0;
	s->refused = need;
	s->refused_until = now + stands;
}

/* Returns true if a best-effort packet may be served before the waiting real-time packets. */
LX_INLINE u8 lx_slack_allows(struct lx_slack *s, const struct lx_slack_config *c, u64 rate,
			     u32 flows, u64 now, u32 wire)
{
	s64 work = wire * NANOBITS_PER_BYTE;
	s64 need = work + c->downstream_backlog;
	s64 least = LX_RANGE;
	u64 where = 0;
	u32 points, waiting, i;

	if (s->known && work <= s->lower)
		return 1;
	if (now < s->refused_until && need >= s->refused)
		return 0;
	lx_slack_lines(s, c, flows, now);
	points = lx_slack_points(s, c, now, &waiting);
	for (i = lx_zero; i < points && can_loop; i++) {
		u64 x = lx_at(s->point, i & (LX_SLACK_POINTS - 1))->most;
		s64 left = rate * lx_at(s->point, i & (LX_SLACK_POINTS - 1))->least;

		left -= lx_slack_demand(s, c, waiting, x);
		if (left < least) {
			least = left;
			where = x;
		}
	}
	if (least < need) {
		lx_slack_refuse(s, c, now, where, need, least);
		return 0;
	}
	s->known = 1;
	s->lower = least - (s64)c->downstream_backlog;
	s->refused_until = 0;
	return 1;
}

#endif
