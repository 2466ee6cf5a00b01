/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The flow with about the most bytes, in constant time: flows in lists by the logarithm of their
 * bytes, with a bitmap of the lists in use. The first of the last list has more than half the bytes
 * of any other (crates/link/src/flow_queue/fattest.rs).
 */
#ifndef LAXITY_FATTEST_H
#define LAXITY_FATTEST_H

#include "flow_state.h"

#define LX_FATTEST_LISTS 64

struct lx_fattest {
	u32 list[LX_FATTEST_LISTS];
	u64 used;
};

LX_INLINE void lx_fattest_reset(struct lx_fattest *f)
{
	u32 i;

	for (i = lx_zero; i < LX_FATTEST_LISTS && can_loop; i++)
		*lx_at(f->list, i) = LX_NONE;
	f->used = 0;
}

/* A flow has `bytes` bytes now. LX_FATTEST_LISTS as its list stands for none. */
LX_GLOBAL_FN u32 lx_fattest_set(struct lx_fattest *f __arg_nonnull, u32 flow,
				struct lx_flow_queue *queue __arg_nonnull, u64 bytes)
{
	u32 list = bytes ? lx_log2(bytes) : LX_FATTEST_LISTS;
	struct lx_flow_queue *other;

	if (list == queue->list)
		return 0;
	if (queue->list < LX_FATTEST_LISTS) {
		u32 *first = lx_at(f->list, queue->list);

		other = lx_flow_queue(queue->list_prev);
		if (other)
			other->list_next = queue->list_next;
		else
			*first = queue->list_next;
		if (*first == LX_NONE)
			f->used &= ~(1ULL << queue->list);
		other = lx_flow_queue(queue->list_next);
		if (other)
			other->list_prev = queue->list_prev;
	}
	queue->list = list;
	queue->list_prev = LX_NONE;
	queue->list_next = LX_NONE;
	if (list == LX_FATTEST_LISTS)
		return 0;
	queue->list_next = *lx_at(f->list, list);
	other = lx_flow_queue(queue->list_next);
	if (other)
		other->list_prev = flow;
	*lx_at(f->list, list) = flow;
	f->used |= 1ULL << list;
	return 0;
}

/* A flow of the last list, or LX_NONE. */
LX_INLINE u32 lx_fattest_first(const struct lx_fattest *f)
{
	return f->used ? *lx_at(f->list, lx_log2(f->used)) : LX_NONE;
}

#endif
