/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Fair order among classes of which only the candidate is known, and may change until it is sent
 * (crates/link/src/fair/late.rs). The start tag of a class is fixed when it begins to wait and when a
 * packet of it is sent; the finish tag follows the size of the candidate. So a drop costs its class
 * nothing.
 */
#ifndef LAXITY_FAIR_LATE_H
#define LAXITY_FAIR_LATE_H

#include "fair.h"

/* Tags stay within this behind virtual time. */
#define LX_LATE_MARGIN (LX_RANGE / 8)

/* Subtracts from all tags long before they overflow. */
LX_INLINE void lx_late_rebase(struct lx_fair *f, const struct lx_shares *s)
{
	u64 base = f->virtual_time - LX_LATE_MARGIN;
	u32 i;

	if (f->virtual_time < LX_RANGE / 2)
		return;
	for (i = lx_zero; i < s->nr_classes && can_loop; i++) {
		struct lx_best_class *c = lx_at(f->class, i);
		u64 *eligible = lx_at(f->eligible.key, i);
		u64 *later = lx_at(f->later.key, i);

		c->start = c->start > base ? c->start - base : 0;
		if (*eligible != LX_NEVER)
			*eligible = *eligible > base ? *eligible - base : 0;
		if (*later != LX_NEVER)
			*later = *later > base ? *later - base : 0;
	}
	f->virtual_time = LX_LATE_MARGIN;
}

LX_GLOBAL_FN u32 lx_late_enter(struct lx_fair *f __arg_nonnull,
			       const struct lx_shares *s __arg_nonnull, u32 class)
{
	const struct lx_best_class *c;
	u64 eligible = LX_NEVER, later = LX_NEVER;

	class &= LX_BEST_EFFORT_CLASSES - 1;
	c = lx_at(f->class, class);

	if (c->candidate != LX_NONE) {
		if (s->kind == LX_SCFQ || c->start <= f->virtual_time)
			eligible = c->start + lx_at(s->class, class)->cost * c->candidate;
		else
			later = c->start;
	}
	if (*lx_at(f->eligible.key, class) != eligible)
		lx_tournament_set(&f->eligible, s->size, class, eligible);
	if (*lx_at(f->later.key, class) != later)
		lx_tournament_set(&f->later, s->size, class, later);
	return 0;
}

/* The size of the candidate of a class now, or LX_NONE. */
LX_INLINE void lx_late_set(struct lx_fair *f, const struct lx_shares *s, u32 class, u32 candidate)
{
	struct lx_best_class *c = lx_at(f->class, class);
	u8 waited = c->candidate != LX_NONE;

	if (c->candidate == candidate)
		return;
	c->candidate = candidate;
	if (candidate == LX_NONE) {
		f->waiting--;
		if (!f->waiting) {
			f->virtual_time = 0;
			f->period++;
		}
	} else if (!waited) {
		c->start = lx_max(c->period == f->period ? c->start : 0, f->virtual_time);
		c->period = f->period;
		f->waiting++;
	}
	lx_late_enter(f, s, class);
}

/* `wire` bytes of a class are sent. A new candidate is set afterwards. */
LX_INLINE void lx_late_serve(struct lx_fair *f, const struct lx_shares *s, u32 class, u32 wire)
{
	struct lx_best_class *c = lx_at(f->class, class);

	lx_late_rebase(f, s);
	c->start += lx_at(s->class, class)->cost * wire;
	if (s->kind == LX_SCFQ)
		f->virtual_time = lx_max(f->virtual_time, c->start);
	else
		f->virtual_time += s->common * wire;
	lx_late_enter(f, s, class);
}

/* The waiting class that is next, or LX_NONE. */
LX_INLINE u32 lx_late_winner(struct lx_fair *f, const struct lx_shares *s)
{
	u32 class;

	while (can_loop) {
		u64 start;

		class = lx_tournament_winner(&f->later, s->size);
		start = *lx_at(f->later.key, class);
		if (start == LX_NEVER)
			break;
		if (start > f->virtual_time) {
			u32 first = lx_tournament_winner(&f->eligible, s->size);

			if (*lx_at(f->eligible.key, first) != LX_NEVER)
				break;
			f->virtual_time = start;
		}
		lx_late_enter(f, s, class);
	}
	class = lx_tournament_winner(&f->eligible, s->size);
	return *lx_at(f->eligible.key, class) == LX_NEVER ? LX_NONE : class;
}

/* The waiting class with the most bytes per weight, or LX_NONE. */
LX_INLINE u32 lx_late_longest(const struct lx_fair *f, const struct lx_shares *s)
{
	u64 bytes = 0, weight = 1;
	u32 class = LX_NONE;
	u32 i;

	for (i = lx_zero; i < s->nr_classes && can_loop; i++) {
		const struct lx_best_class *c = lx_at(f->class, i);
		u64 own = lx_at(s->class, i)->weight;

		if (c->candidate != LX_NONE && c->bytes * weight > bytes * own) {
			bytes = c->bytes;
			weight = own;
			class = i;
		}
	}
	return class;
}

#endif
