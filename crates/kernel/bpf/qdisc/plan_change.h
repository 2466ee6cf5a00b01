/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Replaces the plan while packets flow.
 *
 * A change of the rate alone keeps flows, classes, queues and policers (<laxity/rate_change.h>). Any
 * other change requeues waiting packets and drops none.
 *
 * Either happens under the qdisc's lock, at an instant at which no real-time packet waits and the
 * link is free. So each real-time packet is served under the plan that accepted it, and the new
 * plan starts with a busy period, as its admission assumes; a packet in flight, of the old size at
 * the old rate, could block for longer than that. Until then real time has strict priority, so that
 * the instant comes soon however much best effort waits.
 *
 * A lower rate is that of the link from the request on, before the plan takes over, and flows that
 * it sheds are best effort: what is behind the link is slower already. Packets accepted before the
 * takeover may be late then; late_rate_change counts them.
 */
#ifndef LAXITY_QDISC_PLAN_CHANGE_H
#define LAXITY_QDISC_PLAN_CHANGE_H

#include "state.h"

#include <laxity/rate_change.h>

#define LX_PLANS 4
#define LX_COUNTS_WORDS (sizeof(struct lx_counts) / sizeof(u64))

struct lxl_plan_change {
	struct lx_config config;
	struct lxl_match_rules rules;
	/* New number of each old flow or class. */
	u16 to[128];
	/* Bit i: real-time flow i has no reservation. */
	u64 shed;
	/* Only rate, credit and `shed` differ from the plan in force, and what follows from them. */
	u64 rate_only;
};

/* Plan n is entry n % LX_PLANS, so the loader never writes one that is being read. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LX_PLANS);
	__type(key, u32);
	__type(value, struct lxl_plan_change);
} changes SEC(".maps");

/* Number of the plan that the loader requests; only the loader writes it. Older numbers than the
 * present one are ignored. */
volatile u32 wanted SEC(".data.wanted");

/* Counts of all flows under earlier plans. */
struct lx_counts earlier SEC(".data.earlier");

LX_INLINE u8 lx_plan_change_pending(void)
{
	return (int)(wanted - state.applied) > 0;
}

/* Word i of some that are no power of two; a counted pointer the verifier could not follow. */
#define lx_word_at(words, i, n)                                                                    \
	({                                                                                         \
		u32 at = (i);                                                                      \
		barrier_var(at);                                                                   \
		&(words)[at < (n) ? at : 0];                                                       \
	})

LX_INLINE void lx_copy_words(u64 *to, const u64 *from, u32 words)
{
	u32 i;

	for (i = lx_zero; i < words && can_loop; i++)
		*lx_word_at(to, i, words) = *lx_word_at(from, i, words);
}

LX_INLINE void lx_fold_counts(void)
{
	u64 *sum = (u64 *)&earlier;
	u32 flow, i;

	for (flow = lx_zero; flow < config.flows + config.shares.nr_classes && can_loop; flow++) {
		struct lx_counts *n = lx_at(counts, flow);
		u64 longest = lx_max(earlier.delay_max, n->delay_max);
		u64 demoted = lx_max(earlier.demoted_max, n->demoted_max);

		for (i = lx_zero; i < LX_COUNTS_WORDS && can_loop; i++) {
			u64 *word = lx_word_at((u64 *)n, i, LX_COUNTS_WORDS);

			*lx_word_at(sum, i, LX_COUNTS_WORDS) += *word;
			*word = 0;
		}
		earlier.delay_max = longest;
		earlier.demoted_max = demoted;
	}
}

/* Installs a configuration. It keeps the number of slots, since slots beyond those it needs may be
 * in use. */
LX_INLINE void lx_install_config(const struct lxl_plan_change *change)
{
	lx_copy_words((u64 *)&config, (const u64 *)&change->config, sizeof(config) / sizeof(u64));
	config.slots = own.slots;
	link.shed = change->shed;
	link.slowed = 0;
	link.plan_rate = config.rate;
	/* Counted at the former rate. */
	link.pace.clock.spare = 0;
}

LX_INLINE void lx_install_plan(const struct lxl_plan_change *change)
{
	lx_install_config(change);
	lx_copy_words((u64 *)&rules, (const u64 *)&change->rules, sizeof(rules) / sizeof(u64));
	lx_pipeline_start(&pipeline, &config);
}

/* Makes a requested rate the link's if it is below that of the plan in force. Returns the flows that
 * are best effort now. */
LX_INLINE u64 lx_follow_rate(void)
{
	u32 entry = wanted % LX_PLANS;
	struct lxl_plan_change *change;
	u64 rate;

	if (!lx_plan_change_pending())
		return link.shed;
	change = bpf_map_lookup_elem(&changes, &entry);
	if (!change || !change->rate_only)
		return link.shed;
	rate = lx_min(change->config.rate, link.plan_rate);
	if (rate != config.rate) {
		config.rate = rate;
		link.pace.clock.spare = 0;
		link.slowed = 1;
	}
	return link.shed | change->shed;
}

/* A global function: verified once. */
__attribute__((noinline)) int lx_demote_shed_flows(u64 shed, u64 now)
{
	lx_demote_shed(&pipeline, &config, shed, now);
	return 0;
}

/* Gives real time strict priority, whatever the policy is. */
LX_INLINE void lx_yield_to_realtime(u64 now)
{
	pipeline.head_deadline = LX_NEVER;
	if (LX_POLICY == LX_SLACK) {
		pipeline.slack.refused = 0;
		pipeline.slack.refused_until = now + 1;
	}
}

/* Appends a waiting packet to a queue. */
LX_INLINE void lx_collect(struct lx_queue *to, u32 slot)
{
	struct lx_slot *packet = lx_slot(slot);

	if (packet)
		lx_queue_push(to, slot, packet);
}

/* Collects the packets of flow queues. Until it is requeued a packet has no deadline, and keeps the
 * hashes of its flow there; those of a shared queue are the flow's that had it first. */
LX_INLINE void lx_collect_flow_queues(struct lx_queue *to)
{
	u32 class, i;

	for (class = lx_zero; class < config.shares.nr_classes && can_loop; class++) {
		const struct lx_flow_config *flows =
			&lx_at(config.class, class & (LX_BEST_EFFORT_CLASSES - 1))->flows;

		for (i = lx_zero; i < flows->queues && can_loop; i++) {
			struct lx_flow_queue *queue = lx_flow_queue(flows->first + i);

			while (queue && queue->packets.head != LX_NONE && can_loop) {
				u32 slot = queue->packets.head;
				struct lx_slot *packet = lx_slot(slot);

				if (!packet)
					break;
				lx_queue_pop(&queue->packets, packet);
				packet->deadline = queue->tag | (u64)queue->source << 32 |
						   (u64)queue->destination << 48;
				lx_queue_push(to, slot, packet);
			}
			/* The next plan may give its hosts another table. */
			if (queue)
				lx_flow_set_bulk(flows, queue, 0);
		}
	}
}

/* Requeues a best-effort packet that was accepted before, regardless of the new limits. */
LX_INLINE void lx_requeue_best_effort(const struct lxl_plan_change *change, u64 now, u32 slot,
				      struct lx_slot *packet)
{
	struct lx_flow_key key = {
		.hash = packet->deadline,
		.source = packet->deadline >> 32,
		.destination = packet->deadline >> 48,
		.ecn = packet->ecn,
	};
	struct lx_account *account;
	u32 class;
	u64 size;

	packet->flow = *lx_at(change->to, packet->flow);
	packet->wire = lx_max(packet->bytes + config.overhead, config.min_frame);
	class = lx_best_effort_class(&config, packet->flow) & (LX_BEST_EFFORT_CLASSES - 1);
	size = lx_max(packet->bytes, lx_at(config.shares.class, class)->limit.smallest);
	account = &lx_at(pipeline.fair.class, class)->account;
	account->used += size;
	account->packets++;
	pipeline.buffer.used += size;
	pipeline.buffer.best_effort_used += size;
	pipeline.buffer.best_effort_packets++;
	if (!LX_MANAGED) {
		lx_fair_enqueue(&pipeline.fair, &config.shares, class, slot, packet);
		return;
	}
	lx_managed_requeue(&pipeline, &config, now, class, &key, slot);
}

/* Returns 0 while real-time packets wait or a packet is in flight. A global function: verified
 * once. */
__attribute__((noinline)) int lx_apply_plan_change(u64 now)
{
	u32 plan = wanted, entry = plan % LX_PLANS;
	u32 fresh = pipeline.first_unused, spare = pipeline.first_free;
	struct lx_queue waiting;
	struct lxl_plan_change *change;
	u32 i;

	if (link.pace.clock.free > now)
		return 0;
	change = bpf_map_lookup_elem(&changes, &entry);
	if (!change || lx_blocks_rate_change(&pipeline, &config, change->shed, now))
		return 0;
	if (change->rate_only) {
		lx_install_config(change);
		lx_rate_changed(&pipeline, &config, now);
		state.applied = plan;
		return 1;
	}
	if (pipeline.shaped)
		return 0;
	lx_queue_clear(&waiting);
	if (LX_MANAGED)
		lx_collect_flow_queues(&waiting);
	lx_collect(&waiting, pipeline.head);
	for (i = lx_zero; i < LX_BEST_EFFORT_CLASSES && can_loop; i++) {
		struct lx_queue *queue = &lx_at(pipeline.fair.class, i)->queue;

		while (queue->head != LX_NONE && can_loop) {
			u32 slot = queue->head;
			struct lx_slot *packet = lx_slot(slot);

			if (!packet)
				break;
			lx_queue_pop(queue, packet);
			lx_queue_push(&waiting, slot, packet);
		}
	}
	lx_fold_counts();
	lx_install_plan(change);
	lx_pipeline_reset(&pipeline, &config);
	pipeline.first_unused = fresh;
	pipeline.first_free = spare;
	/* As if all packets had arrived now. */
	pipeline.last_release = now;
	while (waiting.head != LX_NONE && can_loop) {
		u32 slot = waiting.head;
		struct lx_slot *packet = lx_slot(slot);

		if (!packet)
			break;
		lx_queue_pop(&waiting, packet);
		lx_requeue_best_effort(change, now, slot, packet);
	}
	if (!LX_MANAGED && pipeline.fair.packets) {
		u32 head = lx_fair_dequeue(&pipeline.fair, &config.shares);
		struct lx_slot *packet = lx_slot(head);

		if (packet)
			lx_commit_head(&pipeline, &config, now, head, packet);
	}
	state.applied = plan;
	return 1;
}

/* At a departure while a plan is requested, or flows have no reservation. A global function: verified
 * once. */
__attribute__((noinline)) int lx_follow_change(u64 now)
{
	u64 shed = lx_follow_rate();

	if (shed)
		lx_demote_shed_flows(shed, now);
	if (lx_plan_change_pending() && !lx_apply_plan_change(now))
		lx_yield_to_realtime(now);
	return 0;
}

#endif
