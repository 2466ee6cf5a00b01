/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Changes of the link's rate, with the same flows and classes, and flows that lose their reservation
 * because of it: they are shed, and their packets are best effort, demoted.
 *
 * A new rate takes over when no conforming real-time packet waits and the link is free, so admission
 * at the new rate holds from then on: what each flow sends from that instant is within its envelope,
 * since policers keep their tokens and packets that they delay conform later. Queues stay as they
 * are; best-effort deadlines are computed as if all waiting packets had been released then.
 */
#ifndef LAXITY_RATE_CHANGE_H
#define LAXITY_RATE_CHANGE_H

#include "pipeline.h"

/* Bit i of `shed` is real-time flow i. */
LX_INLINE u8 lx_is_shed(u64 shed, u32 flow)
{
	return shed >> lx_index(flow, LX_MAX_FLOWS) & 1;
}

/* As lx_enqueue; packets of shed flows count with the demoted ones. */
LX_INLINE struct lx_slot *lx_enqueue_unless_shed(struct lx_pipeline *q, const struct lx_config *c,
						 u64 shed, void *ctx, u64 now, u32 flow, u32 bytes,
						 const struct lx_flow_key *key, u32 *slot,
						 u32 *reason)
{
	u32 last = c->flows + c->shares.nr_classes - 1;
	u8 is_shed = flow < c->flows && lx_is_shed(shed, flow);
	struct lx_slot *packet;

	packet = lx_enqueue(q, c, ctx, now, is_shed ? last : flow, bytes, key, slot,
			    reason);
	if (packet && is_shed) {
		packet->flow = flow;
		packet->demoted = 1;
	}
	return packet;
}

/* Best effort sends no packet as long as this one. */
LX_INLINE u8 lx_stays_realtime(const struct lx_config *c, const struct lx_slot *packet)
{
	return packet->bytes > c->largest_best_effort;
}

/* Takes out a packet of a shed flow: one that does not conform yet, or the first in the order of
 * deadlines. Returns NULL if there is none. */
LX_INLINE struct lx_slot *lx_take_shed(struct lx_pipeline *q, const struct lx_config *c, u64 shed,
				       u64 now, u32 *slot)
{
	struct lx_slot *packet, *next;
	struct lx_queue *queue;
	u32 i;

	for (i = lx_zero; q->shaped && i < c->flows && can_loop; i++) {
		queue = &lx_at(q->flow, i)->shaped;
		*slot = queue->head;
		packet = lx_slot(*slot);
		if (!packet || !lx_is_shed(shed, i) || lx_stays_realtime(c, packet))
			continue;
		lx_queue_pop(queue, packet);
		q->shaped--;
		next = lx_slot(queue->head);
		lx_tournament_set(&q->conforming, c->flows_size, i,
				  next ? next->deadline : LX_NEVER);
		return packet;
	}
	i = lx_tournament_winner(&q->due, c->classes_size);
	queue = lx_at(q->class, i);
	*slot = queue->head;
	packet = lx_slot(*slot);
	if (!packet || !lx_is_shed(shed, packet->flow) || lx_stays_realtime(c, packet))
		return NULL;
	lx_queue_pop(queue, packet);
	if (LX_POLICY == LX_SLACK)
		lx_slack_departed(&q->slack, &c->slack, now, packet->deadline, packet->wire);
	next = lx_slot(queue->head);
	lx_tournament_set(&q->due, c->classes_size, i, next ? next->deadline : LX_NEVER);
	return packet;
}

/* Moves waiting packets of shed flows to best effort, those due first in the order of deadlines as
 * they reach the head. They are accepted regardless of best effort's limits. */
LX_INLINE void lx_demote_shed(struct lx_pipeline *q, const struct lx_config *c, u64 shed, u64 now)
{
	u32 class = c->shares.nr_classes - 1;
	struct lx_account *account = &lx_at(q->fair.class, class)->account;
	/* Its flow is no longer known, so it waits with others of that kind, and keeps its ECN field. */
	struct lx_flow_key key = {};

	while (can_loop) {
		struct lx_slot *packet;
		u32 slot, flow;
		u64 size;

		packet = lx_take_shed(q, c, shed, now, &slot);
		if (!packet)
			break;
		flow = packet->flow;
		lx_buffer_leave_realtime(&q->buffer, &lx_at(q->flow, flow)->account,
					 &lx_at(c->flow, flow)->limit, packet->bytes);
		packet->best_effort = 1;
		packet->demoted = 1;
		size = lx_max(packet->bytes, lx_at(c->shares.class, class)->limit.smallest);
		account->used += size;
		account->packets++;
		q->buffer.used += size;
		q->buffer.best_effort_used += size;
		q->buffer.best_effort_packets++;
		if (LX_MANAGED)
			lx_managed_requeue(q, c, now, class, &key, slot);
		else if (q->head == LX_NONE)
			lx_commit_head(q, c, now, slot, packet);
		else
			lx_fair_enqueue(&q->fair, &c->shares, class, slot, packet);
	}
}

/* Whether a real-time packet conforms and waits, or one of a flow to be shed waits at all. */
LX_INLINE u8 lx_blocks_rate_change(struct lx_pipeline *q, const struct lx_config *c, u64 shed,
				   u64 now)
{
	u32 i;

	if (q->shaped)
		lx_release_shaped(q, c, now);
	if (*lx_at(q->due.key, lx_tournament_winner(&q->due, c->classes_size)) != LX_NEVER)
		return 1;
	for (i = lx_zero; q->shaped && i < c->flows && can_loop; i++)
		if (lx_is_shed(shed, i) && lx_at(q->flow, i)->shaped.head != LX_NONE)
			return 1;
	return 0;
}

/* Continues under a configuration with another rate, which `c` holds already. */
LX_INLINE void lx_rate_changed(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	/* No real-time packet waits; the numbers of deadlines and pieces may differ. */
	lx_tournament_clear(&q->due, c->classes_size);
	lx_history_reset(&q->history, &c->service);
	lx_slack_reset(&q->slack);
	lx_recompute_deadlines(q, c, now);
}

#endif
