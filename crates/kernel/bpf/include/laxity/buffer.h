/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Buffer limits: crates/link/src/buffer.rs with the same limits, counts and results.
 */
#ifndef LAXITY_BUFFER_H
#define LAXITY_BUFFER_H

#include "types.h"

/* Reasons for drops in the order of DropReason, and one that only the kernel has. */
enum lx_reason {
	LX_BUFFER_TOTAL,
	LX_BUFFER_BEST_EFFORT,
	LX_BUFFER_FLOW,
	LX_BUFFER_SLOTS,
	LX_OVERSIZE,
	LX_EXCESS,
	LX_PUSHED_OUT,
	LX_AQM,
	/* The queue was emptied: the interface went down, or the qdisc was removed. */
	LX_FLUSHED,
	/* Room for them, a power of two. */
	LX_REASONS = 16,
	LX_ACCEPTED = LX_REASONS,
	/* A best-effort packet must be pushed out first; call again then. */
	LX_PUSH_OUT,
};

struct lx_limit {
	u64 limit;
	/* Bytes and packets reserved for this flow. */
	u64 reserved;
	u64 reserved_packets;
	/* Minimum size that a packet counts as. */
	u64 smallest;
};

struct lx_limits {
	u64 total;
	u64 best_effort;
	u64 realtime_slots;
	u64 best_effort_slots;
	/* Reserved by all flows, in bytes and packets. */
	u64 committed;
	u64 committed_packets;
};

struct lx_account {
	u64 used;
	u64 packets;
};

struct lx_buffer {
	/* Bytes of real time and best effort. */
	u64 used;
	u64 committed;
	u64 committed_packets;
	u64 best_effort_used;
	u64 best_effort_packets;
};

LX_INLINE void lx_buffer_reset(struct lx_buffer *b, const struct lx_limits *l)
{
	b->used = 0;
	b->committed = l->committed;
	b->committed_packets = l->committed_packets;
	b->best_effort_used = 0;
	b->best_effort_packets = 0;
}

LX_INLINE u32 lx_buffer_realtime(struct lx_buffer *b, const struct lx_limits *l,
				 struct lx_account *a, const struct lx_limit *own, u32 bytes)
{
	u64 size = lx_max(bytes, own->smallest);
	u64 used = a->used + size;
	u64 more = 0;
	u64 beyond;

	if (used > own->limit)
		return LX_BUFFER_FLOW;
	/* Only bytes beyond the flow's reservation need unreserved space. */
	if (used > own->reserved) {
		more = used - lx_max(a->used, own->reserved);
		if (b->committed + more > l->total)
			return LX_BUFFER_TOTAL;
	}
	beyond = a->packets >= own->reserved_packets;
	if (beyond && b->committed_packets >= l->realtime_slots)
		return LX_BUFFER_SLOTS;
	/* Real time alone is within the total, so pushing out best effort can always make room. */
	if (b->used + size > l->total)
		return LX_PUSH_OUT;
	a->used = used;
	a->packets++;
	b->used += size;
	if (more)
		b->committed += more;
	if (beyond)
		b->committed_packets++;
	return LX_ACCEPTED;
}

LX_INLINE u32 lx_buffer_best_effort(struct lx_buffer *b, const struct lx_limits *l,
				    struct lx_account *a, const struct lx_limit *own, u32 bytes)
{
	u64 size = lx_max(bytes, own->smallest);
	u64 all = b->best_effort_used + size;

	if (a->used + size > own->limit)
		return LX_BUFFER_FLOW;
	if (all > l->best_effort)
		return LX_BUFFER_BEST_EFFORT;
	if (b->used + size > l->total)
		return LX_BUFFER_TOTAL;
	if (b->best_effort_packets >= l->best_effort_slots)
		return LX_BUFFER_SLOTS;
	a->used += size;
	a->packets++;
	b->used += size;
	b->best_effort_used = all;
	b->best_effort_packets++;
	return LX_ACCEPTED;
}

LX_INLINE void lx_buffer_leave_realtime(struct lx_buffer *b, struct lx_account *a,
					const struct lx_limit *own, u32 bytes)
{
	u64 size = lx_max(bytes, own->smallest);
	u64 before = a->used;

	a->used = before - size;
	a->packets--;
	b->used -= size;
	if (before > own->reserved)
		b->committed -= before - lx_max(a->used, own->reserved);
	if (a->packets >= own->reserved_packets)
		b->committed_packets--;
}

LX_INLINE void lx_buffer_leave_best_effort(struct lx_buffer *b, struct lx_account *a,
					   const struct lx_limit *own, u32 bytes)
{
	u64 size = lx_max(bytes, own->smallest);

	a->used -= size;
	a->packets--;
	b->used -= size;
	b->best_effort_used -= size;
	b->best_effort_packets--;
}

#endif
