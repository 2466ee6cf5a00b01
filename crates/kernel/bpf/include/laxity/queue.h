/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * FIFO queues as linked lists of slots, so that a packet moves between queues without a copy.
 */
#ifndef LAXITY_QUEUE_H
#define LAXITY_QUEUE_H

#include "slot.h"

/* Slot i, or NULL beyond the last one. Defined by the program, which owns the memory. */
LX_INLINE struct lx_slot *lx_slot(u32 i);

/* Oldest and newest slot; the queue is empty if `head` is LX_NONE. */
struct lx_queue {
	u32 head;
	u32 tail;
};

LX_INLINE void lx_queue_clear(struct lx_queue *q)
{
	q->head = LX_NONE;
	q->tail = LX_NONE;
}

/* Returns true if the queue was empty. */
LX_INLINE u8 lx_queue_push(struct lx_queue *q, u32 slot, struct lx_slot *packet)
{
	u32 tail = q->tail;
	struct lx_slot *last;

	packet->next = LX_NONE;
	q->tail = slot;
	if (q->head == LX_NONE) {
		q->head = slot;
		return 1;
	}
	packet->prev = tail;
	last = lx_slot(tail);
	if (last)
		last->next = slot;
	return 0;
}

/* Removes the oldest packet, `packet`. */
LX_INLINE void lx_queue_pop(struct lx_queue *q, const struct lx_slot *packet)
{
	q->head = packet->next;
}

/* Removes the newest packet, `packet`. */
LX_INLINE void lx_queue_pop_newest(struct lx_queue *q, const struct lx_slot *packet)
{
	struct lx_slot *last;

	if (q->head == q->tail) {
		q->head = LX_NONE;
		return;
	}
	q->tail = packet->prev;
	last = lx_slot(q->tail);
	if (last)
		last->next = LX_NONE;
}

#endif
