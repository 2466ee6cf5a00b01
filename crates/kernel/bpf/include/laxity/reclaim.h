/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * When shares come back from servers that sleep or have left. Part of servers.h.
 */
#ifndef LAXITY_RECLAIM_H
#define LAXITY_RECLAIM_H

/* What a server counts for comes back at a time, or not at all. Those who sleep and wake would enter
 * and leave the queue each time; so a task that is there stays, at the time that was first, and it is asked
 * then when the share really comes back. */
LX_INLINE void lx_reclaim_schedule(struct lx_servers *q, u32 i, u64 at)
{
	lx_server(q, i)->reclaim_at = at;
	if (!lx_heap_contains(&q->reclaims, i))
		lx_heap_insert(&q->reclaims, i, at, 0);
	else if (at < lx_heap_key(&q->reclaims, i))
		lx_heap_update(&q->reclaims, i, at, 0);
}

LX_INLINE void lx_reclaim_cancel(struct lx_servers *q, u32 i)
{
	lx_server(q, i)->reclaim_at = LX_NEVER;
}

#endif
