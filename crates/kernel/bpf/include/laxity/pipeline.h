/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * From arrival to departure: police, order best effort, assign, serve by deadline. The same
 * decisions as Pipeline in crates/link/src/pipeline.rs, packet by packet.
 *
 * Whoever includes this file provides the memory (ring.h) and
 *
 *   LX_POLICY                          the policy, best a constant
 *   void lx_drop(ctx, slot, reason)    a packet that waited will not be sent
 */
#ifndef LAXITY_PIPELINE_H
#define LAXITY_PIPELINE_H

#include "clock.h"
#include "fair.h"
#include "history.h"
#include "police.h"

#define LX_FLOWS 64
#define LX_CLASSES 32

enum lx_policy { LX_BACKGROUND, LX_LINE, LX_HISTORY };
enum lx_excess { LX_DELAY, LX_DEMOTE, LX_DROP };
enum lx_release { LX_ARRIVAL, LX_HEAD_OF_LINE };

struct lx_flow {
	struct lx_envelope envelope;
	struct lx_limit limit;
	u64 deadline;
	/* Its ring while it is shaped. */
	struct lx_span span;
	u32 class;
	u32 excess;
};

struct lx_config {
	/* bit/s; 0: the device below sets the pace. */
	u64 rate;
	/* ns by which the shaper may be late and catch up. */
	u64 credit;
	struct lx_limits limits;
	/* LX_LINE has one piece from 0 on, whose intercept is not positive. */
	struct lx_service service;
	struct lx_shares shares;
	struct lx_span class[LX_CLASSES];
	struct lx_flow flow[LX_FLOWS];
	u32 flows;
	/* Flows and classes, each up to a power of two. */
	u32 flows_size;
	u32 classes_size;
	u32 overhead;
	u32 min_frame;
	u32 largest_best_effort;
	u32 release;
	u32 slots;
};

LX_TOURNAMENT(lx_flow_heads, LX_FLOWS);
LX_TOURNAMENT(lx_class_heads, LX_CLASSES);

struct lx_pipeline {
	struct lx_policer policer[LX_FLOWS];
	struct lx_account account[LX_FLOWS];
	struct lx_account best_account[LX_BEST];
	struct lx_buffer buffer;
	struct lx_ring shaped[LX_FLOWS];
	struct lx_ring class[LX_CLASSES];
	/* Flows by the instant at which their oldest shaped packet conforms; classes by deadline. */
	struct lx_flow_heads conforming;
	struct lx_class_heads due;
	struct lx_fair fair;
	struct lx_line line;
	struct lx_history history;
	/* Latest release of the aggregate so far. */
	u64 released;
	/* The best-effort packet next in fair order, committed with its deadline. */
	u64 head_deadline;
	u32 head;
	/* Slots never used yet begin here; those given back are a stack in the rings' memory. */
	u32 fresh;
	u32 spare;
	/* Packets that wait. */
	u32 waiting;
};

/* A free slot; there is one for each packet that the buffers accept. The stack of spare slots has
 * the first places of the rings' memory. */
LX_INLINE u32 lx_take_slot(struct lx_pipeline *q)
{
	u32 *place;

	if (!q->spare)
		return q->fresh++;
	q->spare--;
	place = lx_place(q->spare);
	return place ? *place : LX_NONE;
}

LX_INLINE void lx_give_slot(struct lx_pipeline *q, u32 slot)
{
	u32 *place = lx_place(q->spare);

	if (place)
		*place = slot;
	q->spare++;
}

/* Before the first packet. */
LX_INLINE void lx_pipeline_start(struct lx_pipeline *q, const struct lx_config *c)
{
	u32 i;

	for (i = lx_zero; i < LX_FLOWS && lx_may_loop; i++)
		lx_policer_reset(lx_at(q->policer, i), &lx_at(c->flow, i)->envelope);
}

/* Empties all queues. What the flows have sent stays known, or each interruption of the link would
 * grant them another burst. */
LX_INLINE void lx_pipeline_reset(struct lx_pipeline *q, const struct lx_config *c)
{
	u32 i;

	for (i = lx_zero; i < LX_FLOWS && lx_may_loop; i++) {
		lx_at(q->account, i)->used = 0;
		lx_at(q->account, i)->packets = 0;
		lx_at(q->shaped, i)->head = 0;
		lx_at(q->shaped, i)->tail = 0;
	}
	for (i = lx_zero; i < LX_BEST && lx_may_loop; i++) {
		lx_at(q->best_account, i)->used = 0;
		lx_at(q->best_account, i)->packets = 0;
	}
	for (i = lx_zero; i < LX_CLASSES && lx_may_loop; i++) {
		lx_at(q->class, i)->head = 0;
		lx_at(q->class, i)->tail = 0;
	}
	lx_buffer_reset(&q->buffer, &c->limits);
	lx_tournament_clear(&q->conforming, c->flows_size);
	lx_tournament_clear(&q->due, c->classes_size);
	lx_fair_reset(&q->fair, &c->shares);
	lx_line_reset(&q->line);
	lx_history_reset(&q->history, &c->service);
	q->released = 0;
	q->head = LX_NONE;
	q->fresh = 0;
	q->spare = 0;
	q->waiting = 0;
}

/* Nothing waits and the wire is idle: deadlines begin anew. */
LX_INLINE void lx_idle(struct lx_pipeline *q, const struct lx_config *c)
{
	if (LX_POLICY == LX_LINE)
		lx_line_reset(&q->line);
	if (LX_POLICY == LX_HISTORY)
		lx_history_reset(&q->history, &c->service);
}

LX_INLINE u64 lx_assign(struct lx_pipeline *q, const struct lx_config *c, u64 release, u32 wire)
{
	const struct lx_piece *p = &c->service.piece[0];
	u64 work = wire * NANOBITS_PER_BYTE;

	if (LX_POLICY == LX_HISTORY)
		return lx_history_push(&q->history, &c->service, release, wire);
	if (LX_POLICY != LX_LINE)
		return LX_NEVER;
	/* The fluid server takes the packet itself along, so that its end is the deadline. */
	if (q->line.begun)
		lx_line_advance(&q->line, p->slope, p->horizon, release);
	else
		lx_line_enter(&q->line, p->slope, p->horizon, release, 0);
	q->line.ahead += work;
	if (q->line.ahead >= LX_RANGE) {
		q->line.ahead = LX_RANGE;
		q->line.lost = 1;
	}
	if (q->line.lost)
		return LX_NEVER;
	return release + lx_div_ceil(q->line.ahead - p->intercept, p->slope);
}

/* A real-time packet conforms and waits for its turn. */
LX_INLINE void lx_insert(struct lx_pipeline *q, const struct lx_config *c, u32 slot,
			 struct lx_slot *packet, u64 conformance)
{
	const struct lx_flow *flow = lx_at(c->flow, packet->flow);
	u32 class = flow->class;
	struct lx_ring *ring = lx_at(q->class, class);
	u8 first = ring->head == ring->tail;

	packet->deadline = conformance + flow->deadline;
	lx_ring_push(ring, lx_at(c->class, class), slot);
	if (first)
		lx_tournament_set(&q->due, c->classes_size, class, packet->deadline);
}

/* Lets in what has come to conform, in order of conformance over all flows, so that deadlines
 * within a class never fall. */
LX_INLINE void lx_release_shaped(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	while (lx_may_loop) {
		u32 flow = lx_tournament_winner(&q->conforming, c->flows_size);
		u64 conformance = *lx_at(q->conforming.key, flow);
		struct lx_ring *ring = lx_at(q->shaped, flow);
		const struct lx_span *span = &lx_at(c->flow, flow)->span;
		struct lx_slot *packet;
		u32 slot;

		if (conformance > now)
			return;
		slot = lx_ring_oldest(ring, span);
		packet = lx_slot(slot);
		if (!packet)
			return;
		ring->head++;
		lx_insert(q, c, slot, packet, conformance);
		packet = lx_slot(lx_ring_oldest(ring, span));
		lx_tournament_set(&q->conforming, c->flows_size, flow,
				  packet ? packet->deadline : LX_NEVER);
	}
}

/* When lx_dequeue may answer differently without an arrival, after it found nothing. */
LX_INLINE u64 lx_next_event(const struct lx_pipeline *q, const struct lx_config *c)
{
	return *lx_at(q->conforming.key, lx_tournament_winner(&q->conforming, c->flows_size));
}

/* Takes the next best-effort packet in fair order and gives it its deadline. */
LX_INLINE void lx_commit(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	struct lx_slot *packet;

	q->head = lx_fair_dequeue(&q->fair, &c->shares);
	packet = lx_slot(q->head);
	if (!packet)
		return;
	if (c->release == LX_ARRIVAL)
		q->released = lx_max(q->released, packet->arrival);
	else
		q->released = now;
	q->head_deadline = lx_assign(q, c, q->released, packet->wire);
}

/* Best-effort and demoted packets count with a class, the last one for the latter. */
LX_INLINE u32 lx_best_class_of(const struct lx_config *c, u32 flow)
{
	u32 last = c->shares.classes - 1;

	return flow < c->flows || flow - c->flows > last ? last : flow - c->flows;
}

/* A packet has left the queues: its place and its bytes are free again. */
LX_INLINE void lx_left(struct lx_pipeline *q, const struct lx_config *c, u32 slot,
		       struct lx_slot *packet)
{
	u32 flow = packet->flow;

	if (packet->best_effort) {
		u32 class = lx_best_class_of(c, flow);

		lx_buffer_leave_best_effort(&q->buffer, lx_at(q->best_account, class),
					    &lx_at(c->shares.class, class)->limit, packet->bytes);
	} else {
		lx_buffer_leave_realtime(&q->buffer, lx_at(q->account, flow),
					 &lx_at(c->flow, flow)->limit, packet->bytes);
	}
	q->waiting--;
	lx_give_slot(q, slot);
}

/*
 * A packet of a flow arrives: its slot, or LX_NONE and why it has none. Flows count from the
 * real-time ones on; what is beyond them is best effort.
 */
LX_INLINE u32 lx_enqueue(struct lx_pipeline *q, const struct lx_config *c, void *ctx, u64 now,
			 u32 flow, u32 bytes, u32 *reason)
{
	u8 best_effort = flow >= c->flows;
	u64 conforms = now;
	struct lx_slot *packet;
	u32 slot, class = 0;

	*reason = LX_BUFFER_SLOTS;
	lx_release_shaped(q, c, now);
	if (!best_effort) {
		const struct lx_flow *f = lx_at(c->flow, flow);

		conforms = lx_conforms_at(lx_at(q->policer, flow), &f->envelope, now, bytes);
		if (conforms == LX_NEVER) {
			*reason = LX_OVERSIZE;
			return LX_NONE;
		}
		if (conforms > now && f->excess == LX_DROP) {
			*reason = LX_EXCESS;
			return LX_NONE;
		}
		best_effort = conforms > now && f->excess == LX_DEMOTE;
	}
	if (best_effort) {
		class = lx_best_class_of(c, flow);
		/* A larger one would block for longer than admission counted with. */
		if (bytes > c->largest_best_effort) {
			*reason = LX_OVERSIZE;
			return LX_NONE;
		}
	}

	/* What is short of room is taken from the best-effort class that is furthest above its
	 * share, so a flood pays for itself. */
	while (lx_may_loop) {
		u32 victim;

		if (best_effort)
			*reason = lx_buffer_best_effort(&q->buffer, &c->limits,
							lx_at(q->best_account, class),
							&lx_at(c->shares.class, class)->limit,
							bytes);
		else
			*reason = lx_buffer_realtime(&q->buffer, &c->limits, lx_at(q->account, flow),
						     &lx_at(c->flow, flow)->limit, bytes);
		if (*reason == LX_ACCEPTED)
			break;
		if (*reason == LX_PUSH_OUT)
			*reason = LX_BUFFER_TOTAL;
		else if (!best_effort || *reason == LX_BUFFER_FLOW)
			return LX_NONE;
		victim = lx_fair_push_out(&q->fair, &c->shares);
		packet = lx_slot(victim);
		if (!packet)
			return LX_NONE;
		lx_drop(ctx, packet, LX_PUSHED_OUT);
		lx_left(q, c, victim, packet);
	}
	if (*reason != LX_ACCEPTED)
		return LX_NONE;

	slot = lx_take_slot(q);
	packet = lx_slot(slot);
	if (!packet) {
		*reason = LX_BUFFER_SLOTS;
		return LX_NONE;
	}
	q->waiting++;
	packet->arrival = now;
	packet->bytes = bytes;
	packet->wire = lx_max(bytes + c->overhead, c->min_frame);
	packet->flow = flow;
	packet->best_effort = best_effort;
	packet->demoted = best_effort && flow < c->flows;
	if (best_effort) {
		lx_fair_enqueue(&q->fair, &c->shares, class, slot, packet->wire);
		if (q->head == LX_NONE)
			lx_commit(q, c, now);
		return slot;
	}
	lx_policer_take(lx_at(q->policer, flow), &lx_at(c->flow, flow)->envelope, conforms, bytes);
	if (conforms <= now) {
		lx_insert(q, c, slot, packet, now);
	} else {
		struct lx_ring *ring = lx_at(q->shaped, flow);
		u8 first = ring->head == ring->tail;

		packet->deadline = conforms;
		lx_ring_push(ring, &lx_at(c->flow, flow)->span, slot);
		if (first)
			lx_tournament_set(&q->conforming, c->flows_size, flow, conforms);
	}
	return slot;
}

/*
 * The slot of the packet that goes now, its deadline filled in, or LX_NONE. The caller takes the
 * packet out and calls lx_left.
 */
LX_INLINE u32 lx_dequeue(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	struct lx_slot *packet;
	struct lx_ring *ring;
	u32 class, slot;
	u64 due;

	lx_release_shaped(q, c, now);
	class = lx_tournament_winner(&q->due, c->classes_size);
	due = *lx_at(q->due.key, class);
	slot = q->head;
	/* Without a real-time packet even a best-effort one without deadline goes. */
	if (slot != LX_NONE && q->head_deadline <= due) {
		packet = lx_slot(slot);
		if (!packet)
			return LX_NONE;
		packet->deadline = q->head_deadline;
		lx_commit(q, c, now);
		return slot;
	}
	if (due == LX_NEVER)
		return LX_NONE;
	ring = lx_at(q->class, class);
	slot = lx_ring_oldest(ring, lx_at(c->class, class));
	ring->head++;
	packet = lx_slot(lx_ring_oldest(ring, lx_at(c->class, class)));
	lx_tournament_set(&q->due, c->classes_size, class, packet ? packet->deadline : LX_NEVER);
	return slot;
}

#endif
