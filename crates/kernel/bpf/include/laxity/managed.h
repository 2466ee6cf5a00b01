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

/* The class that packets are pushed out of, in the upper half, and its fattest queue; LX_NEVER if there
 * is none, or the class, unless it is LX_NONE, refuses new packets at its limit instead. */
LX_GLOBAL_FN u64 lx_managed_victims(struct lx_pipeline *q __arg_nonnull,
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

/* Removes a packet that is pushed out of a class, or for LX_NONE out of the class furthest above its
 * share; returns its slot, or LX_NONE if there is none. The oldest packets of the fattest queue go, up
 * to half of its bytes, before q->queues.pushing_out is 0 again. */
LX_GLOBAL_FN u32 lx_managed_pop_victim(struct lx_pipeline *q __arg_nonnull,
				       const struct lx_config *c __arg_nonnull, u32 class)
{
	struct lx_class_queues *m = &q->queues;
	struct lx_flow_queue *flow;
	u32 victim;

	if (!m->pushing_out) {
		m->victims = lx_managed_victims(q, c, class);
		flow = lx_flow_queue(m->victims);
		if (m->victims == LX_NEVER || !flow)
			return LX_NONE;
		m->pushing_out = LX_MAX_PUSH_OUT;
		m->least = flow->bytes / 2;
	}
	class = (m->victims >> 32) & (LX_BEST_EFFORT_CLASSES - 1);
	victim = lx_class_pop(m, &q->fair, lx_at(c->class, class), class, m->victims);
	flow = lx_flow_queue(m->victims);
	m->pushing_out--;
	if (victim == LX_NONE || !flow || flow->bytes <= m->least)
		m->pushing_out = 0;
	return victim;
}

/* Packets have been pushed out. After the last one the slot must close: packets that come later were
 * not released before. */
LX_GLOBAL_FN u32 lx_managed_pushed_out(struct lx_pipeline *q __arg_nonnull,
				       const struct lx_config *c __arg_nonnull)
{
	if (!q->fair.packets)
		lx_best_effort_close(q, c);
	return 0;
}

/* Pushes packets out of a class, or for LX_NONE out of the class furthest above its share. Returns
 * false if there is none, or the class refuses new packets at its limit instead. */
LX_INLINE u8 lx_managed_push_out(struct lx_pipeline *q, const struct lx_config *c, void *ctx,
				 u32 class)
{
	u8 any = 0;

	while (can_loop) {
		u32 victim = lx_managed_pop_victim(q, c, class);
		struct lx_slot *packet = lx_slot(victim);

		if (!packet)
			break;
		any = 1;
		lx_drop(ctx, packet, LX_PUSHED_OUT);
		lx_packet_departed(q, c, victim, packet);
		if (!q->queues.pushing_out)
			break;
	}
	lx_managed_pushed_out(q, c);
	return any;
}

/* Adds a best-effort packet. If its queue owes a mark, the packet gets it. */
LX_INLINE struct lx_slot *lx_managed_enqueue(struct lx_pipeline *q, const struct lx_config *c,
					     void *ctx, u64 now, u32 flow, u32 bytes,
					     const struct lx_flow_key *key, u32 *slot, u32 *reason)
{
	u32 class = lx_best_effort_class(c, flow) & (LX_BEST_EFFORT_CLASSES - 1);
	struct lx_account *account = &lx_at(q->fair.class, class)->account;
	const struct lx_limit *limit = &lx_at(c->shares.class, class)->limit;
	struct lx_flow_queue *queue;
	struct lx_slot *packet;
	u32 to;

	while (can_loop) {
		*reason = lx_buffer_best_effort(&q->buffer, &c->limits, account, limit, bytes);
		if (*reason == LX_ACCEPTED)
			break;
		if (!lx_managed_push_out(q, c, ctx, *reason == LX_BUFFER_FLOW ? class : LX_NONE))
			return NULL;
	}
	packet = lx_slot_init(q, c, now, flow, bytes, key->marked ? LX_CE : key->ecn, 1, slot);
	to = lx_class_find_queue(lx_at(c->class, class), key);
	queue = lx_flow_queue(to);
	if (!packet || !queue) {
		*reason = LX_BUFFER_SLOTS;
		return NULL;
	}
	if (!key->marked && queue->owed && (key->ecn == LX_ECT0 || key->ecn == LX_ECT1) &&
	    lx_mark(ctx, packet)) {
		packet->ecn = LX_CE;
		queue->owed--;
	}
	lx_managed_push(q, c, (u64)class << 32 | to, key, *slot);
	if (!q->best_effort.open)
		lx_managed_open(q, c, now);
	return packet;
}

/* Queues a packet that was accepted before and counts in the buffers already. */
LX_INLINE void lx_managed_requeue(struct lx_pipeline *q, const struct lx_config *c, u64 now,
				  u32 class, const struct lx_flow_key *key, u32 slot)
{
	u32 to;

	class &= LX_BEST_EFFORT_CLASSES - 1;
	to = lx_class_find_queue(lx_at(c->class, class), key);
	lx_managed_push(q, c, (u64)class << 32 | to, key, slot);
	if (!q->best_effort.open)
		lx_managed_open(q, c, now);
}

/* Removes the candidate of a class, which has been dropped. */
LX_GLOBAL_FN u32 lx_managed_remove(struct lx_pipeline *q __arg_nonnull,
				   const struct lx_config *c __arg_nonnull, u32 class)
{
	class &= LX_BEST_EFFORT_CLASSES - 1;
	return lx_class_pop(&q->queues, &q->fair, lx_at(c->class, class), class,
			    lx_at(q->queues.class, class)->candidate);
}

/* The candidate of a class starts, with `wire` bytes: charges it to its class, flow and slot, and opens
 * the next slot. */
LX_GLOBAL_FN u32 lx_managed_start(struct lx_pipeline *q __arg_nonnull,
				  const struct lx_config *c __arg_nonnull, u64 now, u32 class,
				  u32 wire)
{
	u32 queue;

	class &= LX_BEST_EFFORT_CLASSES - 1;
	queue = lx_at(q->queues.class, class)->candidate;
	lx_late_serve(&q->fair, &c->shares, class, wire);
	lx_managed_remove(q, c, class);
	lx_class_charge(lx_at(q->queues.class, class), lx_at(c->class, class), queue, wire);
	lx_best_effort_used(q, c, wire);
	return lx_managed_open(q, c, now);
}

/* Returns true if the slot goes before the first real-time packet, due at `due`, with a candidate of
 * `wire` bytes. */
LX_GLOBAL_FN u32 lx_managed_asks(struct lx_pipeline *q __arg_nonnull,
				 const struct lx_config *c __arg_nonnull, u64 now, u64 due,
				 u32 wire)
{
	lx_best_effort_offer(q, c, wire);
	return lx_serves_best_effort(q, c, now, wire, due);
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
		u32 wire, asked;

		if (!packet)
			return NULL;
		class &= LX_BEST_EFFORT_CLASSES - 1;
		wire = packet->wire;
		asked = lx_managed_asks(q, c, now, due, wire);
		if (!asked && !(LX_SLOT_RULE == LX_SLOT_UNASKED && dropped))
			return NULL;
		if (dropped < LX_MAX_DROPS)
			verdict = LX_JUDGE(&q->queues, lx_at(c->class, class), class, now);
		if (verdict == LX_VERDICT_DROP)
			lx_drop(ctx, packet, LX_AQM);
		if (verdict != LX_VERDICT_DROP || lx_at(c->class, class)->aqm.ingress) {
			packet->deadline = q->head_deadline;
			packet->dropped = verdict == LX_VERDICT_DROP;
			lx_managed_start(q, c, now, class, wire);
			return packet;
		}
		lx_managed_remove(q, c, class);
		lx_packet_departed(q, c, *slot, packet);
		if (LX_POLICY == LX_SLACK)
			lx_slack_refund(&q->slack, wire);
		if (!q->fair.packets) {
			lx_managed_pushed_out(q, c);
			return NULL;
		}
	}
	return NULL;
}

#endif
