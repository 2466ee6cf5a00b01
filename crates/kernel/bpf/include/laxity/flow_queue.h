/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Flow queues of a class: DRR++ (MacGregor and Shi 2000) as RFC 8290, section 4, has it, with host
 * isolation as in CAKE (crates/link/src/flow_queue/mod.rs). Flows have queues of a set-associative
 * table.
 */
#ifndef LAXITY_FLOW_QUEUE_H
#define LAXITY_FLOW_QUEUE_H

#include "fattest.h"
#include "flow_key.h"
#include "rounds.h"

/* Queues of a set. */
#define LX_WAYS 8

/* Flow queues of a class. */
struct lx_flow_config {
	/* The first queue among those of all classes, and their number, a power of two. */
	u32 first;
	u32 queues;
	/* In bytes on the wire. */
	u32 quantum;
	/* Tables of hosts by source and by destination; LX_NONE if they are not isolated. */
	u32 sources;
	u32 destinations;
	/* Identity of a flow (enum lx_queue_by). */
	u32 by;
};

struct lx_flow_order {
	/* Flows in their first quantum. */
	struct lx_flow_list new_flows;
	struct lx_rounds old;
	struct lx_fattest fattest;
};

/* Order i of those of classes with flow queues; NULL beyond the last one. Defined by the program. */
LX_INLINE struct lx_flow_order *lx_flow_order(u32 i);

LX_GLOBAL_FN u32 lx_flow_order_reset(struct lx_flow_order *o __arg_nonnull)
{
	o->new_flows.first = LX_NONE;
	lx_rounds_reset(&o->old);
	lx_fattest_reset(&o->fattest);
	return 0;
}

/* The queue that a flow has or gets: its own, or else an idle one of its set, or else, shared with
 * another flow, the one that its hash names. */
LX_INLINE u32 lx_flow_find(const struct lx_flow_config *c, u32 hash)
{
	u32 set = c->first + (hash & (c->queues / LX_WAYS - 1)) * LX_WAYS;
	u32 direct = set + (hash >> 29);
	struct lx_flow_queue *queue = lx_flow_queue(direct);
	u32 idle = LX_NONE;
	u32 i;

	if (queue && queue->tag == hash)
		return direct;
	if (queue && queue->state == LX_FLOW_IDLE)
		idle = direct;
	for (i = lx_zero; i < LX_WAYS && can_loop; i++) {
		queue = lx_flow_queue(set + i);
		if (!queue)
			break;
		if (queue->tag == hash)
			return set + i;
		if (idle == LX_NONE && queue->state == LX_FLOW_IDLE)
			idle = set + i;
	}
	return idle == LX_NONE ? direct : idle;
}

/* The greater number of bulk flows of its two hosts, at least 1. */
LX_GLOBAL_FN u32 lx_flow_load(const struct lx_flow_config *c __arg_nonnull,
			      const struct lx_flow_queue *queue __arg_nonnull)
{
	struct lx_host_counts *sources = lx_host_counts(c->sources);
	struct lx_host_counts *destinations = lx_host_counts(c->destinations);
	u32 load = 1;

	if (sources)
		load = lx_max(load, *lx_at(sources->flows, queue->source));
	if (destinations)
		load = lx_max(load, *lx_at(destinations->flows, queue->destination));
	return load;
}

LX_GLOBAL_FN u32 lx_flow_set_bulk(const struct lx_flow_config *c __arg_nonnull,
				  struct lx_flow_queue *queue __arg_nonnull, u32 bulk)
{
	struct lx_host_counts *hosts;

	if (queue->bulk == bulk)
		return 0;
	queue->bulk = bulk;
	hosts = lx_host_counts(c->sources);
	if (hosts)
		*lx_at(hosts->flows, queue->source) += bulk ? 1 : -1;
	hosts = lx_host_counts(c->destinations);
	if (hosts)
		*lx_at(hosts->flows, queue->destination) += bulk ? 1 : -1;
	return 0;
}

/* Empties a queue, and subtracts it from the counts of its hosts. */
LX_INLINE void lx_flow_queue_reset(const struct lx_flow_config *c, struct lx_flow_queue *queue)
{
	lx_flow_set_bulk(c, queue, 0);
	lx_queue_clear(&queue->packets);
	queue->nr_packets = 0;
	queue->owed = 0;
	queue->bytes = 0;
	queue->tag = 0;
	queue->list_prev = LX_NONE;
	queue->list_next = LX_NONE;
	queue->list = LX_FATTEST_LISTS;
	queue->state = LX_FLOW_IDLE;
	queue->codel.first_above = 0;
	queue->codel.next = 0;
	queue->codel.count = 0;
	queue->codel.last_count = 0;
	queue->codel.signals = 0;
}

/* Bytes of quantum a round, in 2^-16: positive, since there are fewer than 2^15 queues. */
LX_INLINE u64 lx_flow_share(const struct lx_flow_config *c, const struct lx_flow_queue *queue)
{
	u32 load = lx_flow_load(c, queue);

	return (u64)c->quantum * (load == 1 ? 65536 : 65535 / load);
}

/* Gives a flow the quantum of some rounds. */
LX_INLINE void lx_flow_credit(struct lx_flow_queue *queue, u64 share, u64 rounds)
{
	u64 sum = queue->carry + rounds * share;

	queue->deficit += sum >> 16;
	queue->carry = sum;
}

/* Puts a flow, whose deficit is not positive, into the round in which it will be. */
LX_INLINE void lx_flow_wait_for_credit(struct lx_flow_order *o, const struct lx_flow_config *c,
				       u32 flow, struct lx_flow_queue *queue)
{
	u64 missing, rounds, share;

	queue->state = LX_FLOW_OLD;
	lx_flow_set_bulk(c, queue, 1);
	share = lx_flow_share(c, queue);
	missing = ((u64)(1 - queue->deficit) << 16) - queue->carry;
	rounds = lx_min(lx_div_ceil(missing, share), LX_ROUNDS - 1);
	lx_flow_credit(queue, share, rounds);
	lx_rounds_push(&o->old, flow, queue, rounds);
}

/* The bytes of a queue have changed. */
LX_INLINE void lx_flow_changed(struct lx_flow_order *o, const struct lx_flow_config *c, u32 flow,
			       struct lx_flow_queue *queue)
{
	lx_fattest_set(&o->fattest, flow, queue, queue->bytes * lx_flow_load(c, queue));
}

/* A packet has entered a queue that lx_flow_find has found. */
LX_INLINE void lx_flow_arrived(struct lx_flow_order *o, const struct lx_flow_config *c, u32 flow,
			       struct lx_flow_queue *queue, const struct lx_flow_key *key)
{
	if (queue->state == LX_FLOW_IDLE) {
		queue->tag = key->hash;
		queue->source = key->source;
		queue->destination = key->destination;
		queue->deficit = 0;
		queue->carry = 0;
		queue->state = LX_FLOW_NEW;
		lx_flow_credit(queue, lx_flow_share(c, queue), 1);
		lx_flow_list_push(&o->new_flows, flow, queue);
	} else if (queue->state == LX_FLOW_OLD) {
		lx_flow_set_bulk(c, queue, 1);
	}
	lx_flow_changed(o, c, flow, queue);
}

/* The queue whose oldest packet is next, or LX_NONE. May rotate, but removes nothing. */
LX_GLOBAL_FN u32 lx_flow_select(struct lx_flow_order *o __arg_nonnull,
				const struct lx_flow_config *c __arg_nonnull)
{
	while (can_loop) {
		u32 flow = o->new_flows.first;
		u8 is_new = flow != LX_NONE;
		struct lx_flow_queue *queue;

		if (!is_new)
			flow = lx_rounds_first(&o->old);
		queue = lx_flow_queue(flow);
		if (!queue)
			break;
		if (queue->nr_packets && queue->deficit > 0)
			return flow;
		if (is_new)
			o->new_flows.first = queue->next;
		else
			lx_rounds_pop(&o->old, queue);
		if (queue->deficit <= 0) {
			/* An empty queue pays first too. Else flows of a single packet, each in a
			 * queue of its own, would get more than the others. */
			lx_flow_wait_for_credit(o, c, flow, queue);
		} else if (is_new && o->old.nr_flows) {
			/* Else a flow that sends whenever its queue is empty would always go
			 * first. */
			queue->state = LX_FLOW_OLD;
			lx_rounds_push(&o->old, flow, queue, 1);
		} else {
			if (!is_new)
				lx_flow_set_bulk(c, queue, 0);
			queue->state = LX_FLOW_IDLE;
		}
	}
	return LX_NONE;
}

#endif
