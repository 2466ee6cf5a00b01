/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * From arrival to departure: police, order best effort, assign deadlines, serve by EDF. Decides
 * packet by packet as Pipeline in crates/link/src/pipeline/mod.rs.
 */
#ifndef LAXITY_PIPELINE_H
#define LAXITY_PIPELINE_H

#include "clock.h"
#include "fair.h"
#include "flow_key.h"
#include "history.h"
#include "slack.h"

/* The policy; programs define it before they include this header, preferably as a constant. */
#ifndef LX_POLICY
extern u32 lx_policy;
#define LX_POLICY lx_policy
#endif

/* Drops a waiting packet. Defined by the program, as lx_mark is. */
LX_INLINE void lx_drop(void *ctx, struct lx_slot *slot, u32 reason);

/* Sets CE on a packet that enters its queue; returns false if the program cannot, and marks packets
 * before they arrive (lx_flow_key.marked). */
LX_INLINE u8 lx_mark(void *ctx, struct lx_slot *slot);

enum lx_policy { LX_BACKGROUND, LX_LINE, LX_HISTORY, LX_SLACK };
enum lx_excess { LX_DELAY, LX_DEMOTE, LX_DROP };
enum lx_release { LX_ARRIVAL, LX_HEAD_OF_LINE };
/* When deadlines restart: when the link idles; when no packet waits; whenever no real-time packet
 * waits and the head gains. */
enum lx_restarts { LX_RESTART_ON_IDLE, LX_RESTART_ON_EMPTY, LX_RESTART_ON_CLEAR };

struct lx_flow {
	struct lx_envelope envelope;
	struct lx_limit limit;
	u64 deadline;
	u32 class;
	u32 excess;
};

struct lx_config {
	/* bit/s; 0 if the device sets the pace. */
	u64 rate;
	/* Maximum lateness, in ns, that the shaper may catch up with. */
	u64 credit;
	struct lx_limits limits;
	/* LX_LINE has one piece, from 0 on, whose intercept is not positive. */
	struct lx_service service;
	struct lx_shares shares;
	struct lx_flow flow[LX_MAX_FLOWS];
	struct lx_slack_config slack;
	u32 flows;
	/* Numbers of flows and classes, rounded up to powers of two. */
	u32 flows_size;
	u32 classes_size;
	u32 overhead;
	u32 min_frame;
	u32 largest_best_effort;
	u32 release;
	u32 slots;
	/* enum lx_restarts. */
	u32 restarts;
	/* A restart remembers the packet in flight. */
	u32 counts_in_flight;
};

LX_TOURNAMENT(lx_flow_heads, LX_MAX_FLOWS);
LX_TOURNAMENT(lx_class_heads, LX_DEADLINE_CLASSES);

struct lx_flow_state {
	struct lx_policer policer;
	struct lx_account account;
	/* Packets that do not conform yet. */
	struct lx_queue shaped;
};

struct lx_pipeline {
	struct lx_flow_state flow[LX_MAX_FLOWS];
	struct lx_buffer buffer;
	/* Conforming packets, by relative deadline. */
	struct lx_queue class[LX_DEADLINE_CLASSES];
	/* Flows by the time at which their oldest shaped packet conforms; classes by deadline. */
	struct lx_flow_heads conforming;
	struct lx_class_heads due;
	struct lx_fair fair;
	struct lx_line line;
	struct lx_history history;
	struct lx_slack slack;
	/* Latest release of the aggregate. */
	u64 last_release;
	/* Deadline of the best-effort head, the next packet in fair order. */
	u64 head_deadline;
	u32 head;
	/* First slot never used, and the list of freed slots. */
	u32 first_unused;
	u32 first_free;
	/* Number of shaped packets. */
	u32 shaped;
	/* Real time has strict priority since a stall. */
	u32 best_effort_yields;
};

/* Initial state. */
LX_INLINE void lx_pipeline_start(struct lx_pipeline *q, const struct lx_config *c)
{
	u32 i;

	for (i = lx_zero; i < LX_MAX_FLOWS && can_loop; i++)
		lx_policer_reset(&lx_at(q->flow, i)->policer, &lx_at(c->flow, i)->envelope);
	lx_slack_start(&q->slack, &c->slack);
}

/* Empties all queues. The state of policers stays; otherwise each interruption of the link would
 * grant the flows another burst. */
LX_INLINE void lx_pipeline_reset(struct lx_pipeline *q, const struct lx_config *c)
{
	u32 i;

	for (i = lx_zero; i < LX_MAX_FLOWS && can_loop; i++) {
		struct lx_flow_state *flow = lx_at(q->flow, i);

		flow->account.used = 0;
		flow->account.packets = 0;
		lx_queue_clear(&flow->shaped);
	}
	for (i = lx_zero; i < LX_DEADLINE_CLASSES && can_loop; i++)
		lx_queue_clear(lx_at(q->class, i));
	lx_buffer_reset(&q->buffer, &c->limits);
	lx_tournament_clear(&q->conforming, c->flows_size);
	lx_tournament_clear(&q->due, c->classes_size);
	lx_fair_reset(&q->fair, &c->shares);
	lx_line_reset(&q->line);
	lx_history_reset(&q->history, &c->service);
	lx_slack_reset(&q->slack);
	q->last_release = 0;
	q->head = LX_NONE;
	q->first_unused = 0;
	q->first_free = LX_NONE;
	q->shaped = 0;
	q->best_effort_yields = 0;
}

/* No packet waits and the link is idle: deadlines no longer depend on earlier packets. */
LX_INLINE void lx_link_idle(struct lx_pipeline *q, const struct lx_config *c)
{
	if (LX_POLICY == LX_LINE)
		lx_line_reset(&q->line);
	if (LX_POLICY == LX_HISTORY)
		lx_history_clear(&q->history, &c->service);
	if (LX_POLICY == LX_SLACK)
		lx_slack_invalidate(&q->slack);
}

LX_INLINE u64 lx_assign(struct lx_pipeline *q, const struct lx_config *c, u64 release, u32 wire)
{
	const struct lx_piece *p = &c->service.piece[0];
	u64 work = wire * NANOBITS_PER_BYTE;

	if (LX_POLICY == LX_HISTORY)
		return lx_history_push(&q->history, &c->service, release, wire, q->head_deadline);
	if (LX_POLICY != LX_LINE)
		return LX_NEVER;
	/* The fluid server's backlog includes the packet itself, so its finish time is the
	 * deadline. */
	if (q->line.begun)
		lx_line_advance(&q->line, p->slope, p->horizon, release);
	else
		lx_line_enter(&q->line, p->slope, p->horizon, release, 0);
	q->line.ahead += work;
	if (q->line.ahead >= LX_RANGE) {
		q->line.ahead = LX_RANGE;
		q->line.out_of_range = 1;
	}
	if (q->line.out_of_range)
		return LX_NEVER;
	return release + lx_div_ceil(q->line.ahead - p->intercept, p->slope);
}

/*
 * A packet of `wire` bytes starts and no other real-time packet waits: the history may be forgotten
 * (see crates/link/src/assign/mod.rs).
 */
LX_INLINE void lx_restart(struct lx_pipeline *q, const struct lx_config *c, u64 now, u32 wire)
{
	const struct lx_piece *p = &c->service.piece[0];
	const struct lx_slot *head = lx_slot(q->head);
	u32 in_flight = c->counts_in_flight ? wire : 0;
	u32 both;
	u64 earlier;

	if ((LX_POLICY != LX_LINE && LX_POLICY != LX_HISTORY) || c->restarts == LX_RESTART_ON_IDLE)
		return;
	if (!head) {
		if (LX_POLICY == LX_LINE)
			lx_line_restart(&q->line, p->slope, p->horizon, now,
					in_flight * NANOBITS_PER_BYTE);
		else
			lx_history_restart(&q->history, &c->service, now, in_flight);
		return;
	}
	if (c->restarts != LX_RESTART_ON_CLEAR)
		return;
	both = in_flight + head->wire;
	earlier = lx_history_single_deadline(&c->service, now, both);
	if (earlier >= q->head_deadline)
		return;
	q->head_deadline = earlier;
	/* Packets behind the head count as released now as well. */
	q->last_release = lx_max(q->last_release, now);
	if (LX_POLICY == LX_LINE) {
		lx_line_begin(&q->line, now, both * NANOBITS_PER_BYTE);
		return;
	}
	lx_history_clear(&q->history, &c->service);
	q->history.first = both;
	q->history.first_release = now;
}

/*
 * The link lost time: packets waited while it sent nothing for longer than the credit. Called
 * before the lx_dequeue that ends the stall. Real time then has strict priority until no real-time
 * packet waits; `slack` runs a new search instead. The proof is in crates/link/src/pipeline/mod.rs.
 */
LX_INLINE void lx_handle_stall(struct lx_pipeline *q)
{
	if (LX_POLICY == LX_SLACK)
		lx_slack_invalidate(&q->slack);
	else
		q->best_effort_yields = 1;
}

/* Ends a stall: recomputes deadlines as if all waiting packets had been released now. */
LX_INLINE void lx_recompute_deadlines(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	const struct lx_slot *packet = lx_slot(q->head);

	q->best_effort_yields = 0;
	lx_link_idle(q, c);
	q->last_release = lx_max(q->last_release, now);
	if (!packet)
		return;
	if (LX_POLICY == LX_HISTORY)
		q->head_deadline =
			lx_history_first(&q->history, &c->service, q->last_release, packet->wire);
	else
		q->head_deadline = lx_assign(q, c, q->last_release, packet->wire);
}

/* Queues a conforming real-time packet. */
LX_INLINE void lx_enqueue_conforming(struct lx_pipeline *q, const struct lx_config *c,
				     const struct lx_flow *flow, u32 slot, struct lx_slot *packet,
				     u64 conformance)
{
	u32 class = flow->class;

	packet->deadline = conformance + flow->deadline;
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
	if (c->release == LX_ARRIVAL)
		q->last_release = lx_max(q->last_release, packet->arrival);
	else
		q->last_release = now;
	q->head_deadline = lx_assign(q, c, q->last_release, packet->wire);
}

/* Class that counts a best-effort packet; demoted packets count in the last class. */
LX_INLINE u32 lx_best_effort_class(const struct lx_config *c, u32 flow)
{
	u32 last = c->shares.nr_classes - 1;

	return flow < c->flows || flow - c->flows > last ? last : flow - c->flows;
}

/* Frees the slot and the buffer space of a packet that left the queues. */
LX_INLINE void lx_packet_departed(struct lx_pipeline *q, const struct lx_config *c, u32 slot,
				  struct lx_slot *packet)
{
	u32 flow = packet->flow;

	if (packet->best_effort) {
		u32 class = lx_best_effort_class(c, flow);

		lx_buffer_leave_best_effort(&q->buffer, &lx_at(q->fair.class, class)->account,
					    &lx_at(c->shares.class, class)->limit, packet->bytes);
	} else {
		lx_buffer_leave_realtime(&q->buffer, &lx_at(q->flow, flow)->account,
					 &lx_at(c->flow, flow)->limit, packet->bytes);
	}
	packet->next = q->first_free;
	q->first_free = slot;
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

/* Allocates a slot; there is one for each packet that the buffers accept. */
LX_INLINE struct lx_slot *lx_slot_alloc(struct lx_pipeline *q, u32 *slot)
{
	struct lx_slot *packet;

	*slot = q->first_free;
	if (*slot == LX_NONE) {
		*slot = q->first_unused++;
		return lx_slot(*slot);
	}
	packet = lx_slot(*slot);
	if (packet)
		q->first_free = packet->next;
	return packet;
}

LX_INLINE struct lx_slot *lx_slot_init(struct lx_pipeline *q, const struct lx_config *c, u64 now,
				       u32 flow, u32 bytes, u8 ecn, u8 best_effort,
				       u32 *slot)
{
	struct lx_slot *packet = lx_slot_alloc(q, slot);

	if (!packet)
		return packet;
	packet->arrival = now;
	packet->bytes = bytes;
	packet->wire = lx_max(bytes + c->overhead, c->min_frame);
	packet->flow = flow;
	packet->best_effort = best_effort;
	packet->ecn = ecn;
	packet->dropped = 0;
	packet->demoted = best_effort && flow < c->flows;
	return packet;
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
		if (!lx_push_out(q, c, ctx)) {
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

/* Returns true if the best-effort head goes before the first real-time packet, due at `due`.
 * Without a real-time packet the head goes even if it has no deadline. */
LX_INLINE u8 lx_serves_best_effort(struct lx_pipeline *q, const struct lx_config *c, u64 now,
				   const struct lx_slot *packet, u64 due)
{
	if (LX_POLICY != LX_SLACK)
		return q->head_deadline <= due;
	if (due != LX_NEVER &&
	    !lx_slack_allows(&q->slack, &c->slack, c->rate, c->flows, now, packet->wire))
		return 0;
	lx_slack_spend(&q->slack, packet->wire);
	return 1;
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

	(void)ctx;
	if (q->shaped)
		lx_release_shaped(q, c, now);
	class = lx_tournament_winner(&q->due, c->classes_size);
	due = *lx_at(q->due.key, class);
	if (q->best_effort_yields && due == LX_NEVER)
		lx_recompute_deadlines(q, c, now);
	*slot = q->head;
	packet = lx_slot(*slot);
	if (packet && !q->best_effort_yields && lx_serves_best_effort(q, c, now, packet, due)) {
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
	if (LX_POLICY == LX_SLACK)
		lx_slack_departed(&q->slack, &c->slack, now, due, packet->wire);
	next = lx_slot(queue->head);
	lx_tournament_set(&q->due, c->classes_size, class, next ? next->deadline : LX_NEVER);
	class = lx_tournament_winner(&q->due, c->classes_size);
	if (*lx_at(q->due.key, class) == LX_NEVER && !q->best_effort_yields)
		lx_restart(q, c, now, packet->wire);
	return packet;
}

#endif
