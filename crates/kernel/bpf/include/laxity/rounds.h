/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Flows that have used their first quantum, in the rounds in which they can send again
 * (crates/link/src/flow_queue/rounds.rs). DRR (Shreedhar and Varghese, 1995) visits each flow in each
 * round; here a flow enters the round in which its deficit will be positive, so each visit sends.
 */
#ifndef LAXITY_ROUNDS_H
#define LAXITY_ROUNDS_H

#include "flow_state.h"

/* Rounds ahead that are kept apart, a power of two. */
#define LX_ROUNDS 1024
#define LX_ROUND_WORDS (LX_ROUNDS / 64)

/* A FIFO of flows; `last` is valid only if it is not empty. */
struct lx_flow_list {
	u32 first;
	u32 last;
};

struct lx_rounds {
	struct lx_flow_list list[LX_ROUNDS];
	/* Rounds with flows. */
	u64 used[LX_ROUND_WORDS];
	u32 present;
	u32 nr_flows;
};

LX_INLINE void lx_flow_list_push(struct lx_flow_list *list, u32 flow, struct lx_flow_queue *queue)
{
	u32 tail = list->last;
	struct lx_flow_queue *last;

	queue->next = LX_NONE;
	list->last = flow;
	if (list->first == LX_NONE) {
		list->first = flow;
		return;
	}
	last = lx_flow_queue(tail);
	if (last)
		last->next = flow;
}

LX_INLINE void lx_rounds_reset(struct lx_rounds *r)
{
	u32 i;

	for (i = lx_zero; i < LX_ROUNDS && can_loop; i++)
		lx_at(r->list, i)->first = LX_NONE;
	for (i = lx_zero; i < LX_ROUND_WORDS && can_loop; i++)
		*lx_at(r->used, i) = 0;
	r->present = 0;
	r->nr_flows = 0;
}

/* The first round with a flow, from the present one on; there is one. */
LX_INLINE u32 lx_rounds_next_used(struct lx_rounds *r)
{
	u32 word = r->present / 64;
	u64 ahead = *lx_at(r->used, word) & (~0ULL << (r->present & 63));
	u32 i;

	if (ahead)
		return word * 64 + lx_lowest_bit(ahead);
	for (i = lx_zero; i < LX_ROUND_WORDS && can_loop; i++) {
		word = (word + 1) & (LX_ROUND_WORDS - 1);
		ahead = *lx_at(r->used, word);
		if (ahead)
			break;
	}
	return word * 64 + lx_lowest_bit(ahead);
}

/* The next flow, or LX_NONE; begins the next round that has one when the present one is done. */
LX_INLINE u32 lx_rounds_first(struct lx_rounds *r)
{
	if (!r->nr_flows)
		return LX_NONE;
	if (lx_at(r->list, r->present)->first == LX_NONE)
		r->present = lx_rounds_next_used(r);
	return lx_at(r->list, r->present)->first;
}

/* Adds a flow to the round `ahead` rounds after the present one, below LX_ROUNDS. */
LX_INLINE void lx_rounds_push(struct lx_rounds *r, u32 flow, struct lx_flow_queue *queue, u32 ahead)
{
	u32 round = (r->present + ahead) & (LX_ROUNDS - 1);

	lx_flow_list_push(lx_at(r->list, round), flow, queue);
	*lx_at(r->used, round / 64) |= 1ULL << (round & 63);
	r->nr_flows++;
}

/* Removes the flow that lx_rounds_first returned. */
LX_INLINE void lx_rounds_pop(struct lx_rounds *r, const struct lx_flow_queue *queue)
{
	u32 round = r->present;
	struct lx_flow_list *list = lx_at(r->list, round);

	list->first = queue->next;
	if (list->first == LX_NONE)
		*lx_at(r->used, round / 64) &= ~(1ULL << (round & 63));
	r->nr_flows--;
}

#endif
