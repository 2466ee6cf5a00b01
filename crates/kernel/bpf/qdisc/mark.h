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

/* Flow and key that laxity_mark has read of a packet, for the qdisc: the five words of the packet's
 * control block that programs at tcx have. */
struct lx_note {
	/* lx_note_tag of the plan by which it was read. */
	u32 tag, tag_high;
	u32 hash;
	u16 source, destination;
	u16 flow;
	u8 ecn, marked;
};

_Static_assert(sizeof(struct lx_note) == sizeof(((struct __sk_buff *)0)->cb), "words of a note");

/* No other program knows the secret, so no packet has the tag by chance. */
LX_INLINE u64 lx_note_tag(void)
{
	return own.note_secret + state.applied;
}

/* Key of a packet within its class if the class has flow queues or an AQM. `ctx` is what dynptrs are
 * made from. */
LX_INLINE void lx_read_key(struct sk_buff *skb, void *ctx, u32 flow, struct lx_flow_key *key)
{
	const struct lx_class_config *class;

	/* Of real-time packets only demoted ones enter the queues of a class. */
	if (flow < config.flows && lx_at(config.flow, flow)->excess != LX_DEMOTE)
		return;
	class = lx_at(config.class, lx_best_effort_class(&config, flow));
	if (class->order == LX_FLOWS || class->aqm.kind != LX_AQM_NONE)
		lx_flow_key_of(skb, ctx, class->flows.by, key);
}

/* Both are global functions, so that what they find in a packet does not multiply the states of what
 * follows; the first, so that the two together fit into the stack. */
__attribute__((noinline)) u32 lx_flow_of_skb(struct sk_buff *skb __arg_trusted)
{
	return lx_flow_of(&rules, skb, skb);
}

/* Flow or class, and key, of a packet in a qdisc with flow queues or an AQM, which need not read one that
 * laxity_mark has read. */
__attribute__((noinline)) u32 lx_noted_flow_of(struct sk_buff *skb __arg_trusted,
					       struct lx_flow_key *key __arg_nonnull)
{
	const struct qdisc_skb_cb *cb = (const struct qdisc_skb_cb *)skb->cb;
	const struct lx_note *note = (const struct lx_note *)cb->data;
	u32 flow;

	if (((u64)note->tag_high << 32 | note->tag) != lx_note_tag()) {
		flow = lx_flow_of_skb(skb);
		lx_read_key(skb, skb, flow, key);
		return flow;
	}
	key->hash = note->hash;
	key->source = note->source;
	key->destination = note->destination;
	key->ecn = note->ecn;
	key->marked = note->marked;
	return note->flow;
}

/* Sets CE, and corrects the checksum of IPv4 by the difference; returns false if it cannot. */
LX_INLINE u8 lx_set_ce(struct __sk_buff *ctx)
{
	/* Headers that are shared with a clone, of a capture for example, are copied first. */
	return bpf_skb_ecn_set_ce(ctx) ||
	       (!bpf_skb_pull_data(ctx, 0) && bpf_skb_ecn_set_ce(ctx));
}

/* Marks a packet if its queue owes a mark; returns true if it did. */
LX_INLINE u8 lx_pay_mark(struct __sk_buff *ctx, u32 flow, const struct lx_flow_key *key)
{
	struct lx_flow_queue *queue;
	u32 owed;

	/* Whether a real-time packet will be demoted is not known yet. */
	if (flow < config.flows || (key->ecn != LX_ECT0 && key->ecn != LX_ECT1))
		return 0;
	queue = lx_flow_queue(lx_class_find_queue(
		lx_at(config.class, lx_best_effort_class(&config, flow)), key));
	if (!queue)
		return 0;
	owed = queue->owed;
	if (!owed || __sync_val_compare_and_swap(&queue->owed, owed, owed - 1) != owed)
		return 0;
	if (!lx_set_ce(ctx)) {
		__sync_fetch_and_add(&queue->owed, 1);
		return 0;
	}
	__sync_fetch_and_add(&lx_at(counts, flow)->ecn_marks, 1);
	return 1;
}

LX_INLINE void lx_mark_owed(struct __sk_buff *ctx)
{
	struct lx_flow_key key = {};
	u64 tag = lx_note_tag();
	struct sk_buff *skb;
	u32 flow, marked;

	ctx->cb[0] = 0;
	if (!LX_MANAGED || !state.attached)
		return;
	skb = bpf_cast_to_kern_ctx(ctx);
	flow = lx_flow_of(&rules, skb, ctx);
	lx_read_key(skb, ctx, flow, &key);
	marked = lx_pay_mark(ctx, flow, &key);
	ctx->cb[0] = tag;
	ctx->cb[1] = tag >> 32;
	ctx->cb[2] = key.hash;
	ctx->cb[3] = key.source | (u32)key.destination << 16;
	ctx->cb[4] = flow | (u32)key.ecn << 16 | marked << 24;
}

#endif
