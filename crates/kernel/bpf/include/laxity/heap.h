/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Binary min-heap of numbered entries. Among equal keys the lower sequence number comes first
 * (crates/cpu/src/queue.rs).
 */
#ifndef LAXITY_HEAP_H
#define LAXITY_HEAP_H

#include "tasks.h"

struct lx_node {
	u64 key;
	u64 seq;
	u32 entry;
	u32 padding;
};

struct lx_heap {
	struct lx_node node[LX_MAX_SERVERS];
	/* Position of an entry in `node`, counted from one; zero if it is not in the heap. */
	u32 position[LX_MAX_SERVERS];
	u32 count;
	u32 padding;
};

LX_INLINE int lx_heap_contains(const struct lx_heap *h, u32 entry)
{
	return *lx_at(h->position, entry) != 0;
}

/* The entry must be in the heap. */
LX_INLINE u64 lx_heap_key(const struct lx_heap *h, u32 entry)
{
	return lx_at(h->node, *lx_at(h->position, entry) - 1)->key;
}

LX_INLINE u32 lx_heap_top(const struct lx_heap *h)
{
	return h->count ? h->node[0].entry : LX_NONE;
}

/* LX_NEVER if the heap is empty. */
LX_INLINE u64 lx_heap_min_key(const struct lx_heap *h)
{
	return h->count ? h->node[0].key : LX_NEVER;
}

LX_INLINE int lx_node_before(u64 key, u64 seq, const struct lx_node *n)
{
	return key < n->key || (key == n->key && seq < n->seq);
}

LX_INLINE void lx_heap_put(struct lx_heap *h, u32 at, u64 key, u64 seq, u32 entry)
{
	struct lx_node *n = lx_at(h->node, at);

	n->key = key;
	n->seq = seq;
	n->entry = entry;
	*lx_at(h->position, entry) = at + 1;
}

/* Moves the parents of a position down while they come after the key; returns the final
 * position. */
LX_INLINE u32 lx_heap_sift_up(struct lx_heap *h, u32 at, u64 key, u64 seq)
{
	while (at && can_loop) {
		u32 up = (at - 1) / 2 + lx_zero;
		const struct lx_node *n = lx_at(h->node, up);

		if (!lx_node_before(key, seq, n))
			break;
		lx_heap_put(h, at, n->key, n->seq, n->entry);
		at = up;
	}
	return at;
}

/* The entry must not be in the heap. */
LX_GLOBAL_FN u32 lx_heap_insert(struct lx_heap *h __arg_nonnull, u32 entry, u64 key, u64 seq)
{
	u32 at = h->count;

	if (at >= LX_MAX_SERVERS)
		return 0;
	h->count = at + 1;
	/* With two or three entries only the root can come after the new one. */
	if (at == 1 || at == 2) {
		const struct lx_node *n = &h->node[0];

		if (lx_node_before(key, seq, n)) {
			lx_heap_put(h, at, n->key, n->seq, n->entry);
			at = 0;
		}
	} else {
		at = lx_heap_sift_up(h, at, key, seq);
	}
	lx_heap_put(h, at, key, seq, entry);
	return 0;
}

/* The entry must be in the heap. */
LX_GLOBAL_FN u32 lx_heap_update(struct lx_heap *h __arg_nonnull, u32 entry, u64 key, u64 seq)
{
	u32 count = h->count, at = *lx_at(h->position, entry);

	if (!at)
		return 0;
	at = lx_heap_sift_up(h, at - 1, key, seq);
	/* Hides the start position from the verifier. */
	at += lx_zero;
	while (can_loop) {
		u32 down = 2 * at + 1 + lx_zero;
		const struct lx_node *n;

		if (down >= count)
			break;
		n = lx_at(h->node, down);
		if (down + 1 < count) {
			const struct lx_node *m = lx_at(h->node, down + 1);

			if (lx_node_before(m->key, m->seq, n)) {
				n = m;
				down++;
			}
		}
		if (lx_node_before(key, seq, n))
			break;
		lx_heap_put(h, at, n->key, n->seq, n->entry);
		at = down;
	}
	lx_heap_put(h, at, key, seq, entry);
	return 0;
}

/* Inserts the entry, or updates it if it is in the heap. */
LX_INLINE void lx_heap_upsert(struct lx_heap *h, u32 entry, u64 key, u64 seq)
{
	if (lx_heap_contains(h, entry))
		lx_heap_update(h, entry, key, seq);
	else
		lx_heap_insert(h, entry, key, seq);
}

/* Changes the key and keeps the sequence number; does nothing if the entry is not in the heap. */
LX_INLINE void lx_heap_rekey(struct lx_heap *h, u32 entry, u64 key)
{
	u32 at = *lx_at(h->position, entry);

	if (at)
		lx_heap_update(h, entry, key, lx_at(h->node, at - 1)->seq);
}

/* The entry must be in the heap. */
LX_GLOBAL_FN u32 lx_heap_delete(struct lx_heap *h __arg_nonnull, u32 entry)
{
	u32 at = *lx_at(h->position, entry);
	const struct lx_node *last;

	if (!at || !h->count)
		return 0;
	*lx_at(h->position, entry) = 0;
	last = lx_at(h->node, --h->count);
	if (last->entry == entry)
		return 0;
	if (h->count == 1) {
		lx_heap_put(h, 0, last->key, last->seq, last->entry);
		return 0;
	}
	*lx_at(h->position, last->entry) = at;
	lx_heap_update(h, last->entry, last->key, last->seq);
	return 0;
}

/* Deletes the entry if it is in the heap. */
LX_INLINE void lx_heap_remove(struct lx_heap *h, u32 entry)
{
	if (lx_heap_contains(h, entry))
		lx_heap_delete(h, entry);
}

#endif
