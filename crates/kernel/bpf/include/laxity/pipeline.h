/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * From arrival to departure: police, order best effort, assign deadlines, serve by EDF. Decides
 * packet by packet as Pipeline in crates/link/src/pipeline/mod.rs.
 */
#ifndef LAXITY_PIPELINE_H
#define LAXITY_PIPELINE_H

#include "managed.h"

/* Deadline of a real-time packet that conforms at a time. */
LX_INLINE u64 lx_realtime_deadline(struct lx_pipeline *q, const struct lx_config *c,
				   const struct lx_flow *flow, const struct lx_slot *packet,
				   u64 conformance)
{
	u32 class = flow->class;
	struct lx_served_flow *served;
	u8 starts;

	if (!lx_has_curve(c, class))
		return conformance + flow->deadline;
	served = lx_served_flow(class - c->first_served);
	if (!served)
		return LX_NEVER;
	starts = lx_at(q->class, class)->head == LX_NONE && q->sending != class;
	return lx_served_push(served, conformance, packet->wire, starts, q->idle_periods);
}

/* Queues a conforming real-time packet. */
LX_INLINE void lx_enqueue_conforming(struct lx_pipeline *q, const struct lx_config *c,
				     const struct lx_flow *flow, u32 slot, struct lx_slot *packet,
				     u64 conformance)
{
	u32 class = flow->class;

	packet->deadline = lx_realtime_deadline(q, c, flow, packet, conformance);
	if (LX_POLICY == LX_SLACK)
		lx_slack_queued(&q->slack, &c->slack, packet->deadline, packet->wire);
	if (lx_queue_push(lx_at(q->class, class), slot, packet))
		lx_tournament_set(&q->due, c->classes_size, class, packet->deadline);
}

/* Queues shaped packets that conform now, in order of conformance over all flows, so that deadlines
 * within a class do not decrease. */
LX_INLINE void lx_release_shaped(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	while (q->shaped && can_loop) {
		u32 flow = lx_tournament_winner(&q->conforming, c->flows_size);
		u64 conformance = *lx_at(q->conforming.key, flow);
		struct lx_queue *queue = &lx_at(q->flow, flow)->shaped;
		struct lx_slot *packet;
		u32 slot;

		if (conformance > now)
			return;
		slot = queue->head;
		packet = lx_slot(slot);
		if (!packet)
			return;
		lx_queue_pop(queue, packet);
		q->shaped--;
		if (LX_POLICY == LX_SLACK)
			lx_slack_conformed(&q->slack, &c->slack, flow, conformance, packet->bytes);
		lx_enqueue_conforming(q, c, lx_at(c->flow, flow), slot, packet, conformance);
		packet = lx_slot(queue->head);
		lx_tournament_set(&q->conforming, c->flows_size, flow,
				  packet ? packet->deadline : LX_NEVER);
	}
}

/* Earliest time at which lx_dequeue may return a packet without an arrival, after it returned
 * none. */
LX_INLINE u64 lx_next_event(const struct lx_pipeline *q, const struct lx_config *c)
{
	return *lx_at(q->conforming.key, lx_tournament_winner(&q->conforming, c->flows_size));
}

/* Makes a best-effort packet the head and assigns its deadline. */
LX_INLINE void lx_commit_head(struct lx_pipeline *q, const struct lx_config *c, u64 now, u32 slot,
			      const struct lx_slot *packet)
{
	q->head = slot;
	q->head_deadline = lx_assign(q, c, lx_release(q, c, now, packet->arrival), packet->wire);
}

/* Drops a packet of the best-effort class furthest above its share; returns false if there is
 * none. */
LX_INLINE u8 lx_push_out(struct lx_pipeline *q, const struct lx_config *c, void *ctx)
{
	u32 victim = lx_fair_push_out(&q->fair, &c->shares);
	struct lx_slot *packet = lx_slot(victim);

	if (!packet)
		return 0;
	lx_drop(ctx, packet, LX_PUSHED_OUT);
	lx_packet_departed(q, c, victim, packet);
	return 1;
}

/* Makes room by pushing out packets of the best-effort class furthest above its share, so that a
 * flood only hurts itself. */
LX_INLINE struct lx_slot *lx_enqueue_best_effort(struct lx_pipeline *q, const struct lx_config *c,
						 void *ctx, u64 now, u32 flow, u32 bytes,
						 const struct lx_flow_key *key, u32 *slot,
						 u32 *reason)
{
	u32 class = lx_best_effort_class(c, flow);
	struct lx_account *account = &lx_at(q->fair.class, class)->account;
	const struct lx_limit *limit = &lx_at(c->shares.class, class)->limit;
	struct lx_slot *packet;

	/* A larger packet would block for longer than admission assumed. */
	if (bytes > c->largest_best_effort) {
		*reason = LX_OVERSIZE;
		return NULL;
	}
	if (LX_MANAGED)
		return lx_managed_enqueue(q, c, ctx, now, flow, bytes, key, slot, reason);
	while (can_loop) {
		*reason = lx_buffer_best_effort(&q->buffer, &c->limits, account, limit, bytes);
		if (*reason == LX_ACCEPTED)
			break;
		if (*reason == LX_BUFFER_FLOW || !lx_push_out(q, c, ctx))
			return NULL;
	}
	if (*reason != LX_ACCEPTED)
		return NULL;
	packet = lx_slot_init(q, c, now, flow, bytes, key->ecn, 1, slot);
	if (!packet) {
		*reason = LX_BUFFER_SLOTS;
		return NULL;
	}
	/* A lone packet needs no fair queueing. */
	if (q->head == LX_NONE)
		lx_commit_head(q, c, now, *slot, packet);
	else
		lx_fair_enqueue(&q->fair, &c->shares, class, *slot, packet);
	return packet;
}

/*
 * A packet of a flow arrives. Returns its slot, or NULL and a reason. Numbers beyond the real-time
 * flows are best-effort classes. `ctx` is passed on to lx_drop and lx_mark.
 */
LX_INLINE struct lx_slot *lx_enqueue(struct lx_pipeline *q, const struct lx_config *c, void *ctx,
				     u64 now, u32 flow, u32 bytes, const struct lx_flow_key *key,
				     u32 *slot, u32 *reason)
{
	const struct lx_flow *f = lx_at(c->flow, flow & (LX_MAX_FLOWS - 1));
	struct lx_flow_state *state = lx_at(q->flow, flow & (LX_MAX_FLOWS - 1));
	struct lx_policer after = {};
	struct lx_slot *packet;
	u64 conforms;

	if (q->shaped)
		lx_release_shaped(q, c, now);
	if (flow >= c->flows)
		return lx_enqueue_best_effort(q, c, ctx, now, flow, bytes, key, slot, reason);
	conforms = lx_conforms_at(&state->policer, &f->envelope, now, bytes, &after);
	if (conforms > now) {
		if (conforms == LX_NEVER) {
			*reason = LX_OVERSIZE;
			return NULL;
		}
		if (f->excess == LX_DROP) {
			*reason = LX_EXCESS;
			return NULL;
		}
		if (f->excess == LX_DEMOTE)
			return lx_enqueue_best_effort(q, c, ctx, now, flow, bytes, key, slot, reason);
	}
	*reason = lx_buffer_realtime(&q->buffer, &c->limits, &state->account, &f->limit, bytes);
	while (*reason == LX_PUSH_OUT && can_loop) {
		if (!(LX_MANAGED ? lx_managed_push_out(q, c, ctx, LX_NONE) :
				   lx_push_out(q, c, ctx))) {
			*reason = LX_BUFFER_TOTAL;
			return NULL;
		}
		*reason = lx_buffer_realtime(&q->buffer, &c->limits, &state->account, &f->limit,
					     bytes);
	}
	if (*reason != LX_ACCEPTED)
		return NULL;
	packet = lx_slot_init(q, c, now, flow, bytes, key->ecn, 0, slot);
	if (!packet) {
		*reason = LX_BUFFER_SLOTS;
		return NULL;
	}
	lx_policer_commit(&state->policer, &f->envelope, &after);
	if (conforms <= now) {
		if (LX_POLICY == LX_SLACK)
			lx_slack_sync_policer(&q->slack, flow, &state->policer, &f->envelope);
		lx_enqueue_conforming(q, c, f, *slot, packet, now);
	} else {
		packet->deadline = conforms;
		q->shaped++;
		if (lx_queue_push(&state->shaped, *slot, packet))
			lx_tournament_set(&q->conforming, c->flows_size, flow, conforms);
	}
	return packet;
}

/*
 * Returns the slot of the packet to send now, with its deadline, or NULL. The caller takes the
 * packet out and calls lx_packet_departed. `ctx` is passed on to lx_drop, which gets packets that an
 * AQM drops before; one that is charged is returned as well (lx_slot.dropped).
 */
LX_INLINE struct lx_slot *lx_dequeue(struct lx_pipeline *q, const struct lx_config *c, void *ctx,
				     u64 now, u32 *slot)
{
	struct lx_slot *packet, *next;
	struct lx_queue *queue;
	u32 class;
	u64 due;

	if (q->shaped)
		lx_release_shaped(q, c, now);
	if (LX_SERVED)
		q->sending = LX_NONE;
	class = lx_tournament_winner(&q->due, c->classes_size);
	due = *lx_at(q->due.key, class);
	if (q->best_effort_yields && due == LX_NEVER)
		lx_recompute_deadlines(q, c, now);
	if (LX_MANAGED) {
		packet = q->best_effort_yields ? NULL : lx_managed_next(q, c, ctx, now, due, slot);
		if (packet) {
			if (due == LX_NEVER)
				lx_restart(q, c, now, packet->wire);
			return packet;
		}
	}
	*slot = q->head;
	packet = LX_MANAGED ? NULL : lx_slot(*slot);
	if (packet && !q->best_effort_yields &&
	    lx_serves_best_effort(q, c, now, packet->wire, due)) {
		u32 head = LX_NONE;

		packet->deadline = q->head_deadline;
		if (q->fair.packets)
			head = lx_fair_dequeue(&q->fair, &c->shares);
		next = lx_slot(head);
		if (next)
			lx_commit_head(q, c, now, head, next);
		else
			q->head = LX_NONE;
		if (due == LX_NEVER)
			lx_restart(q, c, now, packet->wire);
		return packet;
	}
	if (due == LX_NEVER)
		return NULL;
	queue = lx_at(q->class, class);
	*slot = queue->head;
	packet = lx_slot(*slot);
	if (!packet)
		return NULL;
	lx_queue_pop(queue, packet);
	if (LX_MANAGED && c->rate)
		q->queues.realtime += lx_div_ceil(packet->wire * NANOBITS_PER_BYTE, c->rate);
	if (LX_POLICY == LX_SLACK)
		lx_slack_departed(&q->slack, &c->slack, now, due, packet->wire);
	next = lx_slot(queue->head);
	lx_tournament_set(&q->due, c->classes_size, class, next ? next->deadline : LX_NEVER);
	if (lx_has_curve(c, class)) {
		/* The next packet of its flow continues this one, so no history of best effort may begin
		 * beside it. */
		q->sending = class;
		return packet;
	}
	class = lx_tournament_winner(&q->due, c->classes_size);
	if (*lx_at(q->due.key, class) == LX_NEVER && !q->best_effort_yields)
		lx_restart(q, c, now, packet->wire);
	return packet;
}

#endif
