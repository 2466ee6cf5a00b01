/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Numbered entries by their keys, the least first; on equal keys the one with the lower turn
 * (crates/cpu/src/queue.rs).
 */
#ifndef LAXITY_HEAP_H
#define LAXITY_HEAP_H

#include "wide.h"

/* Servers of one CPU. */
#define LX_SERVERS 2048

struct lx_node {
	u64 key;
	u64 turn;
	u32 entry;
	u32 padding;
};

struct lx_heap {
	struct lx_node node[LX_SERVERS];
	/* Where an entry stands, counted from one; zero for those that are not here. */
	u32 place[LX_SERVERS];
	u32 count;
	u32 padding;
};

LX_INLINE int lx_heap_has(const struct lx_heap *h, u32 entry)
{
	return *lx_at(h->place, entry) != 0;
}

/* Of an entry that is there. */
LX_INLINE u64 lx_heap_key(const struct lx_heap *h, u32 entry)
{
	return lx_at(h->node, *lx_at(h->place, entry) - 1)->key;
}

LX_INLINE u32 lx_heap_first(const struct lx_heap *h)
{
	return h->count ? h->node[0].entry : LX_NONE;
}

/* LX_NEVER when empty. */
LX_INLINE u64 lx_heap_least(const struct lx_heap *h)
{
	return h->count ? h->node[0].key : LX_NEVER;
}

LX_INLINE int lx_earlier(u64 key, u64 turn, const struct lx_node *n)
{
	return key < n->key || (key == n->key && turn < n->turn);
}

LX_INLINE void lx_heap_put(struct lx_heap *h, u32 at, u64 key, u64 turn, u32 entry)
{
	struct lx_node *n = lx_at(h->node, at);

	n->key = key;
	n->turn = turn;
	n->entry = entry;
	*lx_at(h->place, entry) = at + 1;
}

/* Those above a place that come after a key go down; returns where it belongs. */
LX_INLINE u32 lx_heap_rise(struct lx_heap *h, u32 at, u64 key, u64 turn)
{
	while (at && lx_may_loop) {
		u32 up = (at - 1) / 2 + lx_zero;
		const struct lx_node *n = lx_at(h->node, up);

		if (!lx_earlier(key, turn, n))
			break;
		lx_heap_put(h, at, n->key, n->turn, n->entry);
		at = up;
	}
	return at;
}

/* Of an entry that is not there. */
LX_CALLED u32 lx_heap_enter(struct lx_heap *h LX_GIVEN, u32 entry, u64 key, u64 turn)
{
	u32 at = h->count;

	if (at >= LX_SERVERS)
		return 0;
	h->count = at + 1;
	/* With two or three there, only the first one can come after. */
	if (at == 1 || at == 2) {
		const struct lx_node *n = &h->node[0];

		if (lx_earlier(key, turn, n)) {
			lx_heap_put(h, at, n->key, n->turn, n->entry);
			at = 0;
		}
	} else {
		at = lx_heap_rise(h, at, key, turn);
	}
	lx_heap_put(h, at, key, turn, entry);
	return 0;
}

/* Of one that is there. */
LX_CALLED u32 lx_heap_move(struct lx_heap *h LX_GIVEN, u32 entry, u64 key, u64 turn)
{
	u32 count = h->count, at = *lx_at(h->place, entry);

	if (!at)
		return 0;
	at = lx_heap_rise(h, at - 1, key, turn);
	/* The verifier shall not know where it begins. */
	at += lx_zero;
	while (lx_may_loop) {
		u32 down = 2 * at + 1 + lx_zero;
		const struct lx_node *n;

		if (down >= count)
			break;
		n = lx_at(h->node, down);
		if (down + 1 < count) {
			const struct lx_node *m = lx_at(h->node, down + 1);

			if (lx_earlier(m->key, m->turn, n)) {
				n = m;
				down++;
			}
		}
		if (lx_earlier(key, turn, n))
			break;
		lx_heap_put(h, at, n->key, n->turn, n->entry);
		at = down;
	}
	lx_heap_put(h, at, key, turn, entry);
	return 0;
}

/* Enters, or moves what is there. */
LX_INLINE void lx_heap_set(struct lx_heap *h, u32 entry, u64 key, u64 turn)
{
	if (lx_heap_has(h, entry))
		lx_heap_move(h, entry, key, turn);
	else
		lx_heap_enter(h, entry, key, turn);
}

/* Another key for what is there, with its turn; nothing for others. */
LX_INLINE void lx_heap_rekey(struct lx_heap *h, u32 entry, u64 key)
{
	u32 at = *lx_at(h->place, entry);

	if (at)
		lx_heap_move(h, entry, key, lx_at(h->node, at - 1)->turn);
}

/* Of one that is there. */
LX_CALLED u32 lx_heap_take(struct lx_heap *h LX_GIVEN, u32 entry)
{
	u32 at = *lx_at(h->place, entry);
	const struct lx_node *last;

	if (!at || !h->count)
		return 0;
	*lx_at(h->place, entry) = 0;
	last = lx_at(h->node, --h->count);
	if (last->entry == entry)
		return 0;
	if (h->count == 1) {
		lx_heap_put(h, 0, last->key, last->turn, last->entry);
		return 0;
	}
	*lx_at(h->place, last->entry) = at;
	lx_heap_move(h, last->entry, last->key, last->turn);
	return 0;
}

/* What is there, if it is. */
LX_INLINE void lx_heap_remove(struct lx_heap *h, u32 entry)
{
	if (lx_heap_has(h, entry))
		lx_heap_take(h, entry);
}

#endif
