/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Best effort whose packet is chosen at each decision: flow queues and AQM under the deadlines
 * (crates/link/src/pipeline/managed.rs).
 */
#ifndef LAXITY_MANAGED_H
#define LAXITY_MANAGED_H

#include "best_effort_slot.h"

/* After so many drops in one decision the next candidate does not pass its AQM. */
#define LX_MAX_DROPS 32
/* The most packets that are pushed out at once. */
#define LX_MAX_PUSH_OUT 64

/* The AQM; tests put a script in its place. */
#ifndef LX_JUDGE
#define LX_JUDGE lx_class_judge
#endif

LX_GLOBAL_FN u32 lx_managed_refresh(struct lx_pipeline *q __arg_nonnull,
				    const struct lx_config *c __arg_nonnull)
{
	lx_class_queues_refresh(&q->queues, &q->fair, &c->shares, c->class);
	return 0;
}

/* The class whose candidate is next, or LX_NONE. */
LX_GLOBAL_FN u32 lx_managed_select(struct lx_pipeline *q __arg_nonnull,
				   const struct lx_config *c __arg_nonnull)
{
	lx_managed_refresh(q, c);
	return lx_late_winner(&q->fair, &c->shares);
}

/* The candidate of a class. */
LX_INLINE struct lx_slot *lx_managed_candidate(const struct lx_pipeline *q, u32 class, u32 *slot)
{
	if (class == LX_NONE)
		return NULL;
	return lx_class_oldest(lx_at(q->queues.class, class)->candidate, slot);
}

/* Opens the slot if a packet waits. */
LX_GLOBAL_FN u32 lx_managed_open(struct lx_pipeline *q __arg_nonnull,
				 const struct lx_config *c __arg_nonnull, u64 now)
{
	u32 slot;
	const struct lx_slot *packet = lx_managed_candidate(q, lx_managed_select(q, c), &slot);

	if (packet)
		lx_best_effort_open(q, c, now, packet->arrival, packet->wire);
	return 0;
}

/* Adds a packet to a queue, whose class is in the upper half of `to`. */
LX_GLOBAL_FN u32 lx_managed_push(struct lx_pipeline *q __arg_nonnull,
				 const struct lx_config *c __arg_nonnull, u64 to,
				 const struct lx_flow_key *key __arg_nonnull, u32 slot)
{
	u32 class = (to >> 32) & (LX_BEST_EFFORT_CLASSES - 1);
	const struct lx_class_config *config = lx_at(c->class, class);
	struct lx_flow_queue *flow = lx_flow_queue(to);
	struct lx_slot *packet = lx_slot(slot);
	struct lx_flow_order *order;

	if (!flow || !packet)
		return 0;
	packet->realtime = q->queues.realtime;
	lx_queue_push(&flow->packets, slot, packet);
	flow->nr_packets++;
	flow->bytes += packet->wire;
	lx_at(q->queues.class, class)->nr_packets++;
	if (config->order == LX_FLOWS) {
		order = lx_flow_order(config->flow_order);
		if (order)
			lx_flow_arrived(order, &config->flows, to, flow, key);
	}
	lx_at(q->fair.class, class)->bytes += packet->wire;
	q->fair.packets++;
	lx_class_refresh_later(&q->queues, class);
	return 0;
}

/* Adds a packet to a class. If its queue owes a mark, the packet gets it. */
LX_INLINE void lx_managed_enqueue(struct lx_pipeline *q, const struct lx_config *c, void *ctx,
				  u64 now, u32 class, const struct lx_flow_key *key, u32 slot,
				  struct lx_slot *packet)
{
	const struct lx_class_config *config = lx_at(c->class, class);
	u32 queue = lx_class_find_queue(config, key);
	struct lx_flow_queue *flow = lx_flow_queue(queue);

	if (!flow)
		return;
	if (key->marked) {
		packet->ecn = LX_CE;
	} else if (flow->owed && (key->ecn == LX_ECT0 || key->ecn == LX_ECT1) &&
		   lx_mark(ctx, packet)) {
		packet->ecn = LX_CE;
		flow->owed--;
	}
	lx_managed_push(q, c, (u64)class << 32 | queue, key, slot);
	if (!q->best_effort.open)
		lx_managed_open(q, c, now);
}

/* The class that packets are pushed out of, in the upper half, and its fattest queue; LX_NEVER if there
 * is none, or the class, unless it is LX_NONE, refuses new packets at its limit instead. */
LX_GLOBAL_FN u64 lx_managed_victim(struct lx_pipeline *q __arg_nonnull,
				   const struct lx_config *c __arg_nonnull, u32 class)
{
	u32 queue;

	if (class == LX_NONE) {
		lx_managed_refresh(q, c);
		class = lx_late_longest(&q->fair, &c->shares);
		if (class == LX_NONE)
			return LX_NEVER;
	} else if (!lx_at(c->class, class & (LX_BEST_EFFORT_CLASSES - 1))->pushes_out) {
		return LX_NEVER;
	}
	queue = lx_class_fattest(lx_at(c->class, class & (LX_BEST_EFFORT_CLASSES - 1)));
	return queue == LX_NONE ? LX_NEVER : (u64)class << 32 | queue;
}

/* Pushes packets out of a class, or for LX_NONE out of the class furthest above its share: the oldest
 * of its fattest queue, up to half of its bytes. Returns false if there is none. */
LX_INLINE u8 lx_managed_push_out(struct lx_pipeline *q, const struct lx_config *c, void *ctx,
				 u32 class)
{
	u64 victims = lx_managed_victim(q, c, class);
	struct lx_flow_queue *flow;
	u32 count;
	u64 least;

	if (victims == LX_NEVER)
		return 0;
	flow = lx_flow_queue(victims);
	if (!flow)
		return 0;
	class = (victims >> 32) & (LX_BEST_EFFORT_CLASSES - 1);
	least = flow->bytes / 2;
	for (count = lx_zero; count < LX_MAX_PUSH_OUT && can_loop; count++) {
		struct lx_slot *packet;
		u32 victim;

		if (count && flow->bytes <= least)
			break;
		victim = lx_class_pop(&q->queues, &q->fair, lx_at(c->class, class), class, victims);
		packet = lx_slot(victim);
		if (!packet)
			break;
		lx_drop(ctx, packet, LX_PUSHED_OUT);
		lx_packet_departed(q, c, victim, packet);
	}
	return count > 0;
}

/* Once the last packet is pushed out the slot must close: packets that come later were not released
 * before. */
LX_INLINE void lx_managed_pushed_out(struct lx_pipeline *q, const struct lx_config *c)
{
	if (!q->fair.packets)
		lx_best_effort_close(q, c);
}

/* Removes the candidate of a class; it is charged to its class and flow if it is sent. */
LX_GLOBAL_FN u32 lx_managed_remove(struct lx_pipeline *q __arg_nonnull,
				   const struct lx_config *c __arg_nonnull, u32 class, u32 wire,
				   u32 charged)
{
	const struct lx_class_config *config;
	struct lx_class_state *state;
	u32 queue;

	class &= LX_BEST_EFFORT_CLASSES - 1;
	config = lx_at(c->class, class);
	state = lx_at(q->queues.class, class);
	queue = state->candidate;
	if (charged)
		lx_late_serve(&q->fair, &c->shares, class, wire);
	lx_class_pop(&q->queues, &q->fair, config, class, queue);
	if (charged)
		lx_class_charge(state, config, queue, wire);
	return 0;
}

/* The best-effort packet to send now, or NULL: candidates that the AQM drops are replaced, and asked
 * for again. */
LX_INLINE struct lx_slot *lx_managed_next(struct lx_pipeline *q, const struct lx_config *c,
					  void *ctx, u64 now, u64 due, u32 *slot)
{
	u32 dropped;

	for (dropped = lx_zero; can_loop; dropped++) {
		u32 class = lx_managed_select(q, c);
		struct lx_slot *packet = lx_managed_candidate(q, class, slot);
		u32 verdict = LX_VERDICT_SEND;
		u32 wire;
		u8 drops;

		if (!packet)
			return NULL;
		wire = packet->wire;
		lx_best_effort_offer(q, c, wire);
		if (!(LX_SLOT_RULE == LX_SLOT_UNASKED && dropped) &&
		    !lx_serves_best_effort(q, c, now, wire, due))
			return NULL;
		if (dropped < LX_MAX_DROPS)
			verdict = LX_JUDGE(&q->queues, lx_at(c->class, class), class, now);
		drops = verdict == LX_VERDICT_DROP;
		if (drops)
			lx_drop(ctx, packet, LX_AQM);
		if (!drops || lx_at(c->class, class)->aqm.ingress) {
			lx_managed_remove(q, c, class, wire, 1);
			packet->deadline = q->head_deadline;
			packet->dropped = drops;
			lx_best_effort_used(q, c, wire);
			lx_managed_open(q, c, now);
			return packet;
		}
		lx_managed_remove(q, c, class, wire, 0);
		lx_packet_departed(q, c, *slot, packet);
		if (LX_POLICY == LX_SLACK)
			lx_slack_refund(&q->slack, wire);
		if (!q->fair.packets) {
			lx_best_effort_close(q, c);
			return NULL;
		}
	}
	return NULL;
}

#endif
