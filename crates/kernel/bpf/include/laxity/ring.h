/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Packets wait in slots; queues are rings of slot numbers, so that a packet moves from queue to
 * queue without being touched. Both kinds of memory belong to whoever includes this file, which
 * defines before it
 *
 *   struct lx_slot *lx_slot(u32 i)     slot i, or NULL beyond the last
 *   u32 *lx_place(u32 i)               place i of the memory of all rings, or NULL
 */
#ifndef LAXITY_RING_H
#define LAXITY_RING_H

#include "types.h"

/* Where a ring lies; its length is a power of two that holds all packets it may be given. */
struct lx_span {
	u32 offset;
	u32 mask;
};

/* Both count on for ever; a ring is empty when they are equal. */
struct lx_ring {
	u32 head;
	u32 tail;
};

LX_INLINE u32 lx_ring_at(const struct lx_span *s, u32 position)
{
	u32 *place = lx_place(s->offset + (position & s->mask));

	return place ? *place : LX_NONE;
}

LX_INLINE void lx_ring_push(struct lx_ring *r, const struct lx_span *s, u32 slot)
{
	u32 *place = lx_place(s->offset + (r->tail & s->mask));

	if (place)
		*place = slot;
	r->tail++;
}

LX_INLINE u32 lx_ring_oldest(const struct lx_ring *r, const struct lx_span *s)
{
	return r->head == r->tail ? LX_NONE : lx_ring_at(s, r->head);
}

#endif
