/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Configuration and state of one link, and the memory of its packets.
 */
#ifndef LAXITY_PIPELINE_STATE_H
#define LAXITY_PIPELINE_STATE_H

#include "class_queues.h"
#include "clock.h"
#include "history.h"
#include "service_deadlines.h"
#include "slack.h"

/* The policy; programs define it before they include this header, preferably as a constant. */
#ifndef LX_POLICY
extern u32 lx_policy;
#define LX_POLICY lx_policy
#endif

/* Whether a class has flow queues or an AQM: then the best-effort packet is chosen at each decision
 * (managed.h), and else committed in advance. A constant as well. */
#ifndef LX_MANAGED
extern u32 lx_managed;
#define LX_MANAGED lx_managed
#endif

/* Whether flows have service curves. A constant as well. */
#ifndef LX_SERVED
extern u32 lx_served;
#define LX_SERVED lx_served
#endif

/* Rules of the best-effort slot (best_effort_slot.h). All but the first are unsafe; tests choose them
 * to show that they would be noticed. */
#define LX_SLOT_SAFE 0
#define LX_SLOT_KEEPS_WHEN_LARGER 1
#define LX_SLOT_UNASKED 2
#define LX_SLOT_RESETS_ON_DROP 3
#define LX_SLOT_LOWERS_WHEN_SMALLER 4
#ifndef LX_SLOT_RULE
#define LX_SLOT_RULE LX_SLOT_SAFE
#endif

/* Drops a waiting packet. Defined by the program, as lx_mark is. */
LX_INLINE void lx_drop(void *ctx, struct lx_slot *slot, u32 reason);

/* Sets CE on a packet that enters its queue; returns false if the program cannot, and marks packets
 * before they arrive (lx_flow_key.marked). */
LX_INLINE u8 lx_mark(void *ctx, struct lx_slot *slot);

/* The flow with service curve i, or NULL beyond the last one. Defined by the program, which owns the
 * memory. */
LX_INLINE struct lx_served_flow *lx_served_flow(u32 i);

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
	/* Class of the first flow with a service curve; classes up to it are relative deadlines, and each
	 * such flow has one of its own from it on. */
	u32 first_served;
	u32 padding;
	/* Queues and AQM of each best-effort class, if LX_MANAGED. */
	struct lx_class_config class[LX_BEST_EFFORT_CLASSES];
};

LX_TOURNAMENT(lx_flow_heads, LX_MAX_FLOWS);
LX_TOURNAMENT(lx_class_heads, LX_DEADLINE_CLASSES);

struct lx_flow_state {
	struct lx_policer policer;
	struct lx_account account;
	/* Packets that do not conform yet. */
	struct lx_queue shaped;
};

/* Slot of best effort while it waits, if LX_MANAGED: a release, the size of the largest candidate so
 * far, and with it a deadline, lx_pipeline.head_deadline. */
struct lx_best_effort_slot {
	u64 release;
	u32 largest;
	u32 open;
#if LX_SLOT_RULE == LX_SLOT_LOWERS_WHEN_SMALLER
	u32 newest;
	/* Before the candidate was assigned. */
	struct lx_history history;
#endif
};

struct lx_pipeline {
	struct lx_flow_state flow[LX_MAX_FLOWS];
	struct lx_buffer buffer;
	/* Conforming packets, by relative deadline, and those of each flow with a service curve. */
	struct lx_queue class[LX_DEADLINE_CLASSES];
	/* Flows by the time at which their oldest shaped packet conforms; classes by deadline. */
	struct lx_flow_heads conforming;
	struct lx_class_heads due;
	struct lx_fair fair;
	struct lx_line line;
	struct lx_history history;
	struct lx_slack slack;
	struct lx_class_queues queues;
	struct lx_best_effort_slot best_effort;
	/* Number of the link's idle periods. */
	u64 idle_periods;
	/* Latest release of the aggregate. */
	u64 last_release;
	/* Deadline of the best-effort head, the next packet in fair order, or of the best-effort
	 * slot. */
	u64 head_deadline;
	u32 head;
	/* First slot never used, and the list of freed slots. */
	u32 first_unused;
	u32 first_free;
	/* Number of shaped packets. */
	u32 shaped;
	/* Real time has strict priority since a stall. */
	u32 best_effort_yields;
	/* The class of the packet on the wire, if its flow has a service curve, until the next
	 * decision. */
	u32 sending;
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
	q->queues.nr_stale = 0;
	q->queues.pushing_out = 0;
	q->queues.realtime = 0;
	q->best_effort.open = 0;
	for (i = lx_zero; LX_MANAGED && i < c->shares.nr_classes && can_loop; i++)
		lx_class_reset(lx_at(q->queues.class, i), lx_at(c->class, i));
	q->last_release = 0;
	q->head = LX_NONE;
	q->first_unused = 0;
	q->first_free = LX_NONE;
	q->shaped = 0;
	q->best_effort_yields = 0;
	q->sending = LX_NONE;
	q->idle_periods++;
}

/* Deadlines of best effort no longer depend on its earlier packets. */
LX_INLINE void lx_forget_best_effort(struct lx_pipeline *q, const struct lx_config *c)
{
	if (LX_POLICY == LX_LINE)
		lx_line_reset(&q->line);
	if (LX_POLICY == LX_HISTORY)
		lx_history_clear(&q->history, &c->service);
	if (LX_POLICY == LX_SLACK)
		lx_slack_invalidate(&q->slack);
}

/* No packet waits and the link is idle: no deadline depends on earlier packets. */
LX_INLINE void lx_link_idle(struct lx_pipeline *q, const struct lx_config *c)
{
	lx_forget_best_effort(q, c);
	if (LX_SERVED) {
		q->sending = LX_NONE;
		q->idle_periods++;
	}
}

/* Whether the flow of a class has a service curve. */
LX_INLINE u8 lx_has_curve(const struct lx_config *c, u32 class)
{
	return LX_SERVED && class >= c->first_served;
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

#endif
