/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The slot of best effort: a deadline before its packet is chosen (crates/link/src/slot.rs, which has
 * the rule and its proof). The candidate is chosen at each decision; a larger one raises the deadline,
 * a smaller one keeps it.
 */
#ifndef LAXITY_BEST_EFFORT_SLOT_H
#define LAXITY_BEST_EFFORT_SLOT_H

#include "assign.h"

/* Opens the slot with a candidate of `wire` bytes. */
LX_INLINE void lx_best_effort_open(struct lx_pipeline *q, const struct lx_config *c, u64 now,
				   u64 arrival, u32 wire)
{
	struct lx_best_effort_slot *slot = &q->best_effort;

	slot->release = lx_release(q, c, now, arrival);
	slot->largest = wire;
	slot->open = 1;
#if LX_SLOT_RULE == LX_SLOT_LOWERS_WHEN_SMALLER
	slot->newest = wire;
	slot->history = q->history;
#endif
	q->head_deadline = lx_assign(q, c, slot->release, wire);
}

/* The candidate has `wire` bytes. */
LX_INLINE void lx_best_effort_offer(struct lx_pipeline *q, const struct lx_config *c, u32 wire)
{
	struct lx_best_effort_slot *slot = &q->best_effort;
	u64 raised;

#if LX_SLOT_RULE == LX_SLOT_LOWERS_WHEN_SMALLER
	if (wire < slot->newest) {
		q->history = slot->history;
		q->head_deadline = lx_assign(q, c, slot->release, wire);
		slot->largest = wire;
		slot->newest = wire;
		return;
	}
	slot->newest = wire;
#endif
	if (wire <= slot->largest)
		return;
	raised = lx_raise(q, c, slot->release, slot->largest, wire);
	slot->largest = wire;
#if LX_SLOT_RULE == LX_SLOT_KEEPS_WHEN_LARGER
	return;
#endif
	q->head_deadline = lx_max(q->head_deadline, raised);
}

/* A candidate of `wire` bytes starts. */
LX_INLINE void lx_best_effort_used(struct lx_pipeline *q, const struct lx_config *c, u32 wire)
{
	struct lx_best_effort_slot *slot = &q->best_effort;

	slot->open = 0;
#if LX_SLOT_RULE == LX_SLOT_LOWERS_WHEN_SMALLER
	q->history = slot->history;
	lx_assign(q, c, slot->release, wire);
	return;
#endif
	if (wire < slot->largest)
		lx_settle(q, c, slot->release, slot->largest, wire);
}

/* No candidate is left. */
LX_INLINE void lx_best_effort_close(struct lx_pipeline *q, const struct lx_config *c)
{
	struct lx_best_effort_slot *slot = &q->best_effort;

	if (!slot->open)
		return;
	slot->open = 0;
#if LX_SLOT_RULE == LX_SLOT_LOWERS_WHEN_SMALLER
	q->history = slot->history;
	return;
#endif
	lx_settle(q, c, slot->release, slot->largest, 0);
#if LX_SLOT_RULE == LX_SLOT_RESETS_ON_DROP
	lx_forget_best_effort(q, c);
#endif
}

#endif
