// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * The link scheduler as a queueing discipline. <laxity/pipeline.h> decides; this code deals with
 * the kernel's packets, the pace of the link, and statistics.
 *
 * The loader opens one copy of this object per interface and registers it under its own name, so
 * parameters need no lookup and other users cannot change them. `init` refuses any other interface.
 */
#include "headers.h"
#include "intf.h"
#include "mark.h"
#include "plan_change.h"

/* Context of a call of the kernel. */
struct lx_call {
	struct Qdisc *sch;
	/* At an arrival, the list of packets that the kernel frees after it has let go of the qdisc's
	 * lock; NULL at a departure. */
	struct bpf_sk_buff_ptr *to_free;
};

/* Called for waiting packets that a new arrival pushes out, and for those that an AQM drops. */
LX_INLINE void lx_drop(void *ctx, struct lx_slot *slot, u32 reason)
{
	struct lx_call *call = ctx;
	struct sk_buff *skb = bpf_kptr_xchg(&slot->packet, NULL);

	(*lx_at(lx_at(counts, slot->flow)->dropped, reason))++;
	call->sch->q.qlen--;
	call->sch->qstats.backlog -= slot->bytes;
	call->sch->qstats.drops++;
	if (!skb)
		return;
	if (call->to_free)
		bpf_qdisc_skb_drop(skb, call->to_free);
	else
		bpf_kfree_skb(skb);
}

/* A qdisc must not write to packets; laxity_mark has done so. */
LX_INLINE u8 lx_mark(void *ctx, struct lx_slot *slot)
{
	return 0;
}

/* Records from when on a waiting packet can be sent: from `since`, or when the first shaped packet
 * conforms. */
LX_INLINE void lx_note_waiting(struct Qdisc *sch, u64 since)
{
	if (sch->q.qlen > pipeline.shaped)
		lx_pace_waits(&link.pace, since);
	else if (pipeline.shaped)
		lx_pace_waits(&link.pace, lx_next_event(&pipeline, &config));
}

SEC("struct_ops/enqueue")
int laxity_enqueue(u64 *ctx)
{
	struct sk_buff *skb = (void *)ctx[0];
	struct Qdisc *sch = (void *)ctx[1];
	struct bpf_sk_buff_ptr *to_free = (void *)ctx[2];
	struct lx_call call = { .sch = sch, .to_free = to_free };
	u64 now = bpf_ktime_get_ns();
	u32 bytes = qdisc_pkt_len(skb);
	struct lx_flow_key key = {};
	struct lx_slot *packet;
	u32 flow, reason, slot;

	if (!sch->q.qlen && now > link.pace.clock.free) {
		/* While packets wait, each departure checks. */
		if (lx_plan_change_pending())
			lx_apply_plan_change(now);
		lx_link_idle(&pipeline, &config);
	}
	flow = LX_MANAGED ? lx_noted_flow_of(skb, &key) : lx_flow_of_skb(skb);
	packet = lx_enqueue_unless_shed(&pipeline, &config, lx_follow_rate(), &call, now, flow,
					bytes, &key, &slot, &reason);
	if (!packet) {
		(*lx_at(lx_at(counts, flow)->dropped, reason & (LX_REASONS - 1)))++;
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	sch->q.qlen++;
	lx_note_waiting(sch, now);
	sch->qstats.backlog += bytes;
	skb = bpf_kptr_xchg(&packet->packet, skb);
	/* A free slot holds no packet. */
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_SUCCESS;
}

/* Sets the watchdog unless it is set for that time already; it fires once. */
LX_INLINE void lx_watchdog_at(struct Qdisc *sch, u64 at)
{
	if (link.armed == at)
		return;
	link.armed = at;
	bpf_qdisc_watchdog_schedule(sch, at, 0);
}

/* Time at which to continue after the packet in flight. Timers cost more than everything else, so
 * packets that fit into half the credit are sent together; the other half is for late timers. */
LX_INLINE u64 lx_resume_at(void)
{
	return link.pace.clock.free + (link.lasted < config.credit / 2 ? config.credit / 2 : 0);
}

SEC("struct_ops/dequeue")
struct sk_buff *laxity_dequeue(u64 *ctx)
{
	struct Qdisc *sch = (void *)ctx[0];
	struct lx_call call = { .sch = sch };
	struct lx_slot *packet;
	struct sk_buff *skb;
	u64 now, start = 0, end;
	u32 slot, bytes;
	u8 late;

	if (!sch->q.qlen)
		return NULL;
	now = bpf_ktime_get_ns();
	if (lx_plan_change_pending() || link.shed)
		lx_follow_change(now);
	if (link.pace.clock.free > now) {
		sch->qstats.overlimits++;
		lx_watchdog_at(sch, lx_resume_at());
		return NULL;
	}
	if (config.rate) {
		/* A late timer may catch up within the credit, which admission counts as blocking.
		 * Time beyond that is lost: the timer was late, the device queue was stopped, or
		 * the CPU was stolen. */
		start = lx_pace_start(&link.pace, config.credit, now);
		if (lx_pace_lost(&link.pace, start))
			lx_handle_stall(&pipeline);
	}
	packet = lx_dequeue(&pipeline, &config, &call, now, &slot);
	if (!packet) {
		/* All packets that wait are held back by their policers. */
		link.pace.ready = LX_NEVER;
		lx_note_waiting(sch, now);
		lx_link_idle(&pipeline, &config);
		if (sch->q.qlen)
			lx_watchdog_at(sch, lx_next_event(&pipeline, &config));
		return NULL;
	}
	end = now;
	if (config.rate) {
		link.lasted = lx_pace_send(&link.pace, &stalls, config.rate, start, packet->wire);
		end = now + link.lasted;
	}
	if (packet->dropped) {
		/* It is gone, and the link counts as busy for its length. */
		lx_note_waiting(sch, 0);
		lx_packet_departed(&pipeline, &config, slot, packet);
		if (sch->q.qlen)
			lx_watchdog_at(sch, config.rate ? lx_resume_at() : now);
		return NULL;
	}
	bytes = packet->bytes;
	late = !packet->best_effort && end > packet->deadline;
	if (late && link.slowed)
		state.late_rate_change++;
	lx_count_sent(lx_at(counts, packet->flow), bytes, end - packet->arrival,
		      late && !link.slowed, packet->demoted);
	sch->q.qlen--;
	lx_note_waiting(sch, 0);
	sch->qstats.backlog -= bytes;
	skb = bpf_kptr_xchg(&packet->packet, NULL);
	lx_packet_departed(&pipeline, &config, slot, packet);
	if (skb)
		bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

SEC("tcx/egress")
int laxity_mark(struct __sk_buff *ctx)
{
	lx_mark_owed(ctx);
	return TCX_NEXT;
}

SEC("struct_ops/init")
int laxity_init(u64 *ctx)
{
	struct Qdisc *sch = (void *)ctx[0];
	struct net_device *dev = sch->dev_queue->dev;
	struct lxl_plan_change *change;
	u32 plan, entry;

	if (sch->handle != own.handle || dev->ifindex != own.ifindex ||
	    dev->nd_net.net->ns.inum != own.net)
		return -EINVAL;
	if (state.attached)
		return -EBUSY;
	plan = wanted;
	entry = plan % LX_PLANS;
	change = bpf_map_lookup_elem(&changes, &entry);
	if (!change)
		return -EINVAL;
	state.attached = 1;
	link.pace.ready = LX_NEVER;
	state.applied = plan;
	sch->limit = own.slots;
	lx_install_plan(change);
	lx_pipeline_reset(&pipeline, &config);
	return 0;
}

/* The interface goes down, or the qdisc is removed. */
SEC("struct_ops/reset")
void laxity_reset(u64 *ctx)
{
	u32 i;

	for (i = lx_zero; i < config.slots && can_loop; i++) {
		struct lx_slot *packet = lx_slot(i);
		struct sk_buff *skb;

		if (!packet)
			break;
		skb = bpf_kptr_xchg(&packet->packet, NULL);
		if (!skb)
			continue;
		lx_at(counts, packet->flow)->dropped[LX_FLUSHED]++;
		bpf_kfree_skb(skb);
	}
	link.pace.ready = LX_NEVER;
	/* The kernel has cancelled the watchdog. */
	link.armed = 0;
	lx_pipeline_reset(&pipeline, &config);
}

SEC("struct_ops/destroy")
void laxity_destroy(u64 *ctx)
{
	state.attached = 0;
}

SEC(".struct_ops.link")
struct Qdisc_ops laxity = {
	.enqueue = (void *)laxity_enqueue,
	.dequeue = (void *)laxity_dequeue,
	.init = (void *)laxity_init,
	.reset = (void *)laxity_reset,
	.destroy = (void *)laxity_destroy,
	.id = "laxity",
};

char licence[] SEC("license") = "Dual MIT/GPL";
