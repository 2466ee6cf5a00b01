/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The classes of best effort where packets are chosen at each decision: their queues, their AQM, and
 * the order among them (crates/link/src/class_queues.rs).
 */
#ifndef LAXITY_CLASS_QUEUES_H
#define LAXITY_CLASS_QUEUES_H

#include "aqm.h"
#include "fair_late.h"
#include "flow_queue.h"

/* The order among the queues of a class. */
enum lx_order {
	/* There is only one. */
	LX_FIFO,
	LX_DUAL,
	LX_FLOWS,
};

struct lx_class_config {
	struct lx_flow_config flows;
	u32 order;
	/* Its number among the classes with flow queues. */
	u32 flow_order;
	/* At its limit it pushes out its own packets, instead of refusing new ones. */
	u32 pushes_out;
	u32 padding;
	struct lx_aqm_config aqm;
};

struct lx_class_state {
	struct lx_pi2 pi2;
	/* Deficit of the classic one of two queues. */
	s64 lacking;
	u32 nr_packets;
	/* Queue of the candidate, or LX_NONE. */
	u32 candidate;
	/* The candidate may have changed. */
	u32 stale;
	u32 padding;
};

struct lx_class_queues {
	struct lx_class_state class[LX_BEST_EFFORT_CLASSES];
	/* Classes that are stale; the last one is looked at first. */
	u32 stale[LX_BEST_EFFORT_CLASSES];
	u32 nr_stale;
	/* How many more packets are pushed out of a queue at most before its class is asked again, the
	 * class and the queue, and how many bytes it keeps. */
	u32 pushing_out;
	u64 victims;
	u64 least;
	/* Time for which real-time packets have been sent, in ns. */
	u64 realtime;
};

LX_GLOBAL_FN u32 lx_class_reset(struct lx_class_state *class __arg_nonnull,
				const struct lx_class_config *c __arg_nonnull)
{
	struct lx_flow_order *order = lx_flow_order(c->flow_order);
	u32 i;

	lx_pi2_reset(&class->pi2, c->aqm.seed);
	class->lacking = 0;
	class->nr_packets = 0;
	class->candidate = LX_NONE;
	class->stale = 0;
	for (i = lx_zero; i < c->flows.queues && can_loop; i++) {
		struct lx_flow_queue *queue = lx_flow_queue(c->flows.first + i);

		if (!queue)
			break;
		lx_flow_queue_reset(&c->flows, queue);
	}
	if (c->order == LX_FLOWS && order)
		lx_flow_order_reset(order);
	return 0;
}

LX_INLINE void lx_class_refresh_later(struct lx_class_queues *m, u32 class)
{
	u32 *stale = &lx_at(m->class, class)->stale;

	if (*stale)
		return;
	*stale = 1;
	*lx_at(m->stale, m->nr_stale & (LX_BEST_EFFORT_CLASSES - 1)) = class;
	m->nr_stale++;
}

/* The queue that a packet enters. */
LX_GLOBAL_FN u32 lx_class_find_queue(const struct lx_class_config *c __arg_nonnull,
				     const struct lx_flow_key *key __arg_nonnull)
{
	if (c->order == LX_FLOWS)
		return lx_flow_find(&c->flows, key->hash);
	if (c->order == LX_DUAL && lx_ecn_l4s(key->ecn))
		return c->flows.first + LX_LOW_LATENCY;
	return c->flows.first;
}

/* The queue of a class whose oldest packet is next, or LX_NONE. */
LX_INLINE u32 lx_class_select_queue(const struct lx_class_state *class,
				    const struct lx_class_config *c)
{
	struct lx_flow_queue *classic, *low_latency;
	struct lx_flow_order *order;
	u32 queue;

	if (c->order == LX_FIFO)
		return class->nr_packets ? c->flows.first : LX_NONE;
	if (c->order == LX_FLOWS) {
		order = lx_flow_order(c->flow_order);
		return order ? lx_flow_select(order, &c->flows) : LX_NONE;
	}
	classic = lx_flow_queue(c->flows.first + LX_CLASSIC);
	low_latency = lx_flow_queue(c->flows.first + LX_LOW_LATENCY);
	if (!classic || !low_latency)
		return LX_NONE;
	queue = lx_dual_select(class->lacking, classic->nr_packets, low_latency->nr_packets);
	return queue == LX_NONE ? queue : c->flows.first + queue;
}

/* The oldest packet of a queue, or NULL. */
LX_INLINE struct lx_slot *lx_class_oldest(u32 queue, u32 *slot)
{
	struct lx_flow_queue *q = lx_flow_queue(queue);

	if (!q)
		return NULL;
	*slot = q->packets.head;
	return lx_slot(*slot);
}

/* Selects the candidate of each class in which something has changed. `c` has
 * LX_BEST_EFFORT_CLASSES elements. */
LX_INLINE void lx_class_queues_refresh(struct lx_class_queues *m, struct lx_fair *f,
				     const struct lx_shares *s, const struct lx_class_config *c)
{
	while (m->nr_stale && can_loop) {
		struct lx_class_state *state;
		struct lx_slot *packet;
		u32 class, slot;

		m->nr_stale--;
		class = *lx_at(m->stale, m->nr_stale & (LX_BEST_EFFORT_CLASSES - 1));
		state = lx_at(m->class, class);
		state->stale = 0;
		state->candidate = lx_class_select_queue(
			state, &c[lx_index(class, LX_BEST_EFFORT_CLASSES)]);
		packet = lx_class_oldest(state->candidate, &slot);
		lx_late_set(f, s, class, packet ? packet->wire : LX_NONE);
	}
}

/* Marks that a queue may owe beyond its packets. */
LX_INLINE u32 lx_spare_marks(const struct lx_class_config *c, u32 queue)
{
	return c->order == LX_DUAL && queue == c->flows.first + LX_LOW_LATENCY ? LX_SPARE_MARKS : 0;
}

/* Removes the oldest packet of a queue of a class; returns its slot. */
LX_GLOBAL_FN u32 lx_class_pop(struct lx_class_queues *m __arg_nonnull,
			      struct lx_fair *f __arg_nonnull,
			      const struct lx_class_config *c __arg_nonnull, u32 class, u32 queue)
{
	struct lx_flow_queue *q = lx_flow_queue(queue);
	struct lx_flow_order *order;
	struct lx_slot *packet;
	u32 slot;

	class &= LX_BEST_EFFORT_CLASSES - 1;
	if (!q)
		return LX_NONE;
	slot = q->packets.head;
	packet = lx_slot(slot);
	if (!packet)
		return LX_NONE;
	lx_queue_pop(&q->packets, packet);
	q->nr_packets--;
	q->bytes -= packet->wire;
	q->owed = lx_min(q->owed, q->nr_packets + lx_spare_marks(c, queue));
	lx_at(m->class, class)->nr_packets--;
	if (c->order == LX_FLOWS) {
		order = lx_flow_order(c->flow_order);
		if (order)
			lx_flow_changed(order, &c->flows, queue, q);
	}
	lx_at(f->class, class)->bytes -= packet->wire;
	f->packets--;
	lx_class_refresh_later(m, class);
	return slot;
}

/* `wire` bytes of a queue of a class have been sent. */
LX_INLINE void lx_class_charge(struct lx_class_state *class, const struct lx_class_config *c,
			       u32 queue, u32 wire)
{
	u32 index = queue - c->flows.first;
	struct lx_flow_queue *q;

	if (c->order == LX_FLOWS) {
		q = lx_flow_queue(queue);
		if (q)
			q->deficit -= wire;
	} else if (c->order == LX_DUAL) {
		q = lx_flow_queue(c->flows.first + (index ^ 1));
		if (q)
			class->lacking =
				lx_dual_charge(class->lacking, index, wire, q->nr_packets);
	}
}

/* The verdict of the AQM of a class on its candidate. */
LX_GLOBAL_FN u32 lx_class_judge(struct lx_class_queues *m __arg_nonnull,
				const struct lx_class_config *c __arg_nonnull, u32 class, u64 now)
{
	struct lx_class_state *state = lx_at(m->class, class & (LX_BEST_EFFORT_CLASSES - 1));
	struct lx_flow_queue *queue = lx_flow_queue(state->candidate);
	struct lx_leaving leaving = {};
	struct lx_slot *packet;
	u32 verdict, slot;

	if (!queue)
		return LX_VERDICT_SEND;
	packet = lx_slot(queue->packets.head);
	if (!packet)
		return LX_VERDICT_SEND;
	leaving.now = now;
	leaving.raw = now - packet->arrival;
	leaving.realtime = m->realtime - packet->realtime;
	leaving.longest = leaving.raw;
	leaving.packets = state->nr_packets;
	leaving.queue = state->candidate - c->flows.first;
	leaving.ecn = packet->ecn;
	leaving.bulk = c->order != LX_FLOWS || queue->state == LX_FLOW_OLD;
	if (c->order == LX_DUAL) {
		packet = lx_class_oldest(c->flows.first + (leaving.queue ^ 1), &slot);
		if (packet)
			leaving.longest = lx_max(leaving.longest, now - packet->arrival);
	}
	verdict = lx_aqm_judge(&c->aqm, &state->pi2, queue, &leaving);
	if (verdict == LX_VERDICT_MARK)
		queue->owed = lx_min(queue->owed + 1,
				     queue->nr_packets + lx_spare_marks(c, state->candidate));
	return verdict;
}

/* The queue of a class with about the most bytes, or LX_NONE. */
LX_INLINE u32 lx_class_fattest(const struct lx_class_config *c)
{
	struct lx_flow_queue *classic, *low_latency;
	struct lx_flow_order *order;

	if (c->order == LX_FIFO)
		return c->flows.first;
	if (c->order == LX_FLOWS) {
		order = lx_flow_order(c->flow_order);
		return order ? lx_fattest_first(&order->fattest) : LX_NONE;
	}
	classic = lx_flow_queue(c->flows.first + LX_CLASSIC);
	low_latency = lx_flow_queue(c->flows.first + LX_LOW_LATENCY);
	if (!classic || !low_latency)
		return LX_NONE;
	return c->flows.first +
	       (low_latency->bytes >= classic->bytes ? LX_LOW_LATENCY : LX_CLASSIC);
}

#endif
