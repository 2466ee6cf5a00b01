/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Scheduled reclaiming of the shares of servers that block or have left.
 */
#ifndef LAXITY_RECLAIM_H
#define LAXITY_RECLAIM_H

#include "servers_state.h"

/* Schedules the reclaiming of a server's share, or cancels it. Servers that block and wake often
 * would enter and leave the heap each time; so an entry stays at its first time, and lx_reclaim_due
 * compares it with `reclaim_at`. */
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
