/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Sets CE on packets whose queue owes a mark, before they enter it (crates/link/src/ecn.rs).
 *
 * A BPF qdisc must not write to packets: the kernel refuses it bpf_dynptr_slice_rdwr, and its view of
 * a packet is read-only. A program at tcx may write, and runs right before the qdisc on the same
 * packet. It holds no lock: a queue that the qdisc serves at that moment may owe a mark more or less.
 */
#ifndef LAXITY_QDISC_MARK_H
#define LAXITY_QDISC_MARK_H

#include "headers.h"
#include "state.h"

/* In the first word of the packet's control block, with the ECN field that the packet had. */
#define LX_MARKED 0x4c584300

/* Key of a packet within its class, if the class has flow queues or an AQM. */
LX_INLINE void lx_class_key(const struct lx_class_config *class, struct sk_buff *skb, void *ctx,
			    struct lx_flow_key *key)
{
	if (class->order == LX_FLOWS || class->aqm.kind != LX_AQM_NONE)
		lx_flow_key_of(skb, ctx, class->flows.by, key);
}

/* Key of a packet in the qdisc. */
LX_INLINE void lx_read_key(struct sk_buff *skb, u32 flow, struct lx_flow_key *key)
{
	const struct qdisc_skb_cb *cb = (const struct qdisc_skb_cb *)skb->cb;
	u32 word;

	/* Of real-time packets only demoted ones enter the queues of a class. */
	if (flow < config.flows && lx_at(config.flow, flow)->excess != LX_DEMOTE)
		return;
	lx_class_key(lx_at(config.class, lx_best_effort_class(&config, flow)), skb, skb, key);
	word = *(const u32 *)cb->data;
	if (key->ecn == LX_CE && (word & ~3U) == LX_MARKED) {
		key->ecn = word & 3;
		key->marked = 1;
	}
}

/* Sets CE, and corrects the checksum of IPv4 by the difference; returns false if it cannot. */
LX_INLINE u8 lx_set_ce(struct __sk_buff *ctx)
{
	/* Headers that are shared with a clone, of a capture for example, are copied first. */
	return bpf_skb_ecn_set_ce(ctx) ||
	       (!bpf_skb_pull_data(ctx, 0) && bpf_skb_ecn_set_ce(ctx));
}

LX_INLINE void lx_mark_owed(struct __sk_buff *ctx)
{
	struct sk_buff *skb = bpf_cast_to_kern_ctx(ctx);
	const struct lx_class_config *class;
	struct lx_flow_key key = {};
	struct lx_flow_queue *queue;
	u32 flow, owed;

	ctx->cb[0] = 0;
	if (!LX_MANAGED || !state.attached)
		return;
	flow = lx_flow_of(&rules, skb, ctx);
	/* Whether a real-time packet will be demoted is not known yet. */
	if (flow < config.flows)
		return;
	class = lx_at(config.class, lx_best_effort_class(&config, flow));
	lx_class_key(class, skb, ctx, &key);
	if (key.ecn != LX_ECT0 && key.ecn != LX_ECT1)
		return;
	queue = lx_flow_queue(lx_class_find_queue(class, &key));
	if (!queue)
		return;
	owed = queue->owed;
	if (!owed || __sync_val_compare_and_swap(&queue->owed, owed, owed - 1) != owed)
		return;
	if (!lx_set_ce(ctx)) {
		__sync_fetch_and_add(&queue->owed, 1);
		return;
	}
	__sync_fetch_and_add(&lx_at(counts, flow)->ecn_marks, 1);
	ctx->cb[0] = LX_MARKED | key.ecn;
}

#endif
