/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Fair queueing among best-effort classes: self-clocked fair queueing (Golestani, INFOCOM 1994) and
 * WF2Q+ (Bennett and Zhang, IEEE/ACM ToN 5(5), 1997), both on a virtual time driven by the work
 * that the aggregate receives (see crates/link/src/fair/mod.rs). A byte costs a class `cost` units
 * and all classes together `common`; both are exact wherever the weights allow it.
 */
#ifndef LAXITY_FAIR_H
#define LAXITY_FAIR_H

#include "buffer.h"
#include "queue.h"
#include "tournament.h"

#define LX_BEST_EFFORT_CLASSES 16

enum lx_fair_kind { LX_SCFQ, LX_WF2Q_PLUS };

struct lx_share {
	struct lx_limit limit;
	u64 cost;
	u64 weight;
};

struct lx_best_class {
	struct lx_queue queue;
	struct lx_account account;
	/* Waiting bytes on the wire. */
	u64 bytes;
	/* Tags of the head, or of the last packet served if the class is empty. */
	u64 start;
	u64 finish;
	u64 period;
	/* Size of the candidate, LX_NONE while nothing waits (fair_late.h). */
	u32 candidate;
	u32 padding;
};

LX_TOURNAMENT(lx_best_heads, LX_BEST_EFFORT_CLASSES);

struct lx_fair {
	struct lx_best_class class[LX_BEST_EFFORT_CLASSES];
	/* Heads that have started in the reference system, by finish tag; all heads under SCFQ. */
	struct lx_best_heads eligible;
	/* Other heads, by start tag. */
	struct lx_best_heads later;
	u64 virtual_time;
	/* Number of the busy period; tags of earlier ones count as zero. */
	u64 period;
	u64 packets;
	/* Classes with a candidate (fair_late.h). */
	u64 waiting;
};

struct lx_shares {
	struct lx_share class[LX_BEST_EFFORT_CLASSES];
	u64 common;
	u32 kind;
	u32 nr_classes;
	/* Number of classes, rounded up to a power of two. */
	u32 size;
	u32 padding;
};

LX_INLINE void lx_fair_reset(struct lx_fair *f, const struct lx_shares *s)
{
	u32 i;

	for (i = lx_zero; i < LX_BEST_EFFORT_CLASSES && can_loop; i++) {
		struct lx_best_class *c = lx_at(f->class, i);

		lx_queue_clear(&c->queue);
		c->account.used = 0;
		c->account.packets = 0;
		c->bytes = 0;
		c->start = 0;
		c->finish = 0;
		c->period = 0;
		c->candidate = LX_NONE;
	}
	lx_tournament_clear(&f->eligible, s->size);
	lx_tournament_clear(&f->later, s->size);
	f->virtual_time = 0;
	f->period = 0;
	f->packets = 0;
	f->waiting = 0;
}

/* Subtracts the virtual time from all tags long before they overflow. */
LX_INLINE void lx_fair_rebase(struct lx_fair *f, const struct lx_shares *s)
{
	u64 base = f->virtual_time;
	u32 i;

	if (base < LX_RANGE / 2)
		return;
	for (i = lx_zero; i < s->nr_classes && can_loop; i++) {
		struct lx_best_class *c = lx_at(f->class, i);
		u64 *eligible = lx_at(f->eligible.key, i);
		u64 *later = lx_at(f->later.key, i);

		/* Tags behind virtual time count as virtual time, so the order does not change. */
		c->start = c->start > base ? c->start - base : 0;
		c->finish = c->finish > base ? c->finish - base : 0;
		if (*eligible != LX_NEVER)
			*eligible = *eligible > base ? *eligible - base : 0;
		if (*later != LX_NEVER)
			*later = *later > base ? *later - base : 0;
	}
	f->virtual_time = 0;
}

LX_INLINE void lx_fair_enter(struct lx_fair *f, const struct lx_shares *s, u32 class, u64 start,
			     u32 wire)
{
	struct lx_best_class *c = lx_at(f->class, class);

	c->start = start;
	c->finish = start + lx_at(s->class, class)->cost * wire;
	c->period = f->period;
	if (s->kind == LX_SCFQ || start <= f->virtual_time)
		lx_tournament_set(&f->eligible, s->size, class, c->finish);
	else
		lx_tournament_set(&f->later, s->size, class, start);
}

/* WF2Q+: virtual time is at least the least start tag, and all heads that have started are
 * eligible. */
LX_INLINE void lx_fair_promote(struct lx_fair *f, const struct lx_shares *s)
{
	if (!f->packets) {
		f->virtual_time = 0;
		f->period++;
		return;
	}
	while (s->kind == LX_WF2Q_PLUS && can_loop) {
		u32 class = lx_tournament_winner(&f->later, s->size);
		u64 start = *lx_at(f->later.key, class);

		if (start == LX_NEVER)
			return;
		if (start > f->virtual_time) {
			u32 first = lx_tournament_winner(&f->eligible, s->size);

			if (*lx_at(f->eligible.key, first) != LX_NEVER)
				return;
			f->virtual_time = start;
		}
		lx_tournament_set(&f->later, s->size, class, LX_NEVER);
		lx_tournament_set(&f->eligible, s->size, class, lx_at(f->class, class)->finish);
	}
}

LX_INLINE void lx_fair_enqueue(struct lx_fair *f, const struct lx_shares *s, u32 class, u32 slot,
			       struct lx_slot *packet)
{
	struct lx_best_class *c = lx_at(f->class, class);
	u8 first = lx_queue_push(&c->queue, slot, packet);
	u32 wire = packet->wire;

	c->bytes += wire;
	f->packets++;
	if (first) {
		u64 served = c->period == f->period ? c->finish : 0;

		if (s->kind == LX_SCFQ)
			served = 0;
		lx_fair_rebase(f, s);
		lx_fair_enter(f, s, class, lx_max(served, f->virtual_time), wire);
		lx_fair_promote(f, s);
	}
}

/* Removes and returns the next packet in fair order. */
LX_INLINE u32 lx_fair_dequeue(struct lx_fair *f, const struct lx_shares *s)
{
	u32 class = lx_tournament_winner(&f->eligible, s->size);
	u64 finish = *lx_at(f->eligible.key, class);
	struct lx_best_class *c = lx_at(f->class, class);
	struct lx_slot *packet;
	u32 slot;

	if (finish == LX_NEVER)
		return LX_NONE;
	slot = c->queue.head;
	packet = lx_slot(slot);
	if (!packet)
		return LX_NONE;
	lx_queue_pop(&c->queue, packet);
	c->bytes -= packet->wire;
	f->packets--;
	if (s->kind == LX_SCFQ)
		f->virtual_time = finish;
	else
		f->virtual_time += s->common * packet->wire;
	packet = lx_slot(c->queue.head);
	if (packet && (s->kind == LX_SCFQ || finish <= f->virtual_time)) {
		lx_fair_enter(f, s, class, finish, packet->wire);
	} else {
		lx_tournament_set(&f->eligible, s->size, class, LX_NEVER);
		if (packet)
			lx_fair_enter(f, s, class, finish, packet->wire);
	}
	lx_fair_promote(f, s);
	return slot;
}

/* Removes the newest packet of the class with the most waiting work per weight. */
LX_INLINE u32 lx_fair_push_out(struct lx_fair *f, const struct lx_shares *s)
{
	u64 bytes = 0, weight = 1;
	u32 class = LX_NONE;
	struct lx_best_class *c;
	struct lx_slot *packet;
	u32 i, slot;

	for (i = lx_zero; i < s->nr_classes && can_loop; i++) {
		u64 own = lx_at(s->class, i)->weight;

		c = lx_at(f->class, i);
		if (c->queue.head != LX_NONE && c->bytes * weight > bytes * own) {
			bytes = c->bytes;
			weight = own;
			class = i;
		}
	}
	if (class == LX_NONE)
		return LX_NONE;
	c = lx_at(f->class, class);
	slot = c->queue.tail;
	packet = lx_slot(slot);
	if (!packet)
		return LX_NONE;
	lx_queue_pop_newest(&c->queue, packet);
	c->bytes -= packet->wire;
	f->packets--;
	if (c->queue.head == LX_NONE) {
		/* The head itself, never served: takes its cost back. */
		c->finish = c->start;
		lx_tournament_set(&f->eligible, s->size, class, LX_NEVER);
		lx_tournament_set(&f->later, s->size, class, LX_NEVER);
		if (s->kind == LX_WF2Q_PLUS || !f->packets)
			lx_fair_promote(f, s);
	}
	return slot;
}

#endif
