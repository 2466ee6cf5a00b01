/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Tournament tree: the player with the least key, the lowest number among equals. Changing a key
 * costs one comparison per level.
 */
#ifndef LAXITY_TOURNAMENT_H
#define LAXITY_TOURNAMENT_H

#include "types.h"

/* A key of LX_NEVER is that of a player that has withdrawn. */
#define LX_TOURNAMENT(name, players)                                                               \
	struct name {                                                                              \
		u64 key[players];                                                                  \
		/* Winners; node 1 is the root, the children of node i are 2i and 2i + 1. */       \
		u32 winner[players];                                                               \
	}

LX_INLINE void lx_tournament_update(u64 *key, u32 *winner, u32 places, u32 size, u32 player)
{
	u32 best = player & ~1U;
	u32 node;

	if (size < 2)
		return;
	if (key[lx_index(best + 1, places)] < key[lx_index(best, places)])
		best++;
	node = (size + player) >> 1;
	winner[lx_index(node, places)] = best;
	while (node > 1 && can_loop) {
		u32 left = winner[lx_index(node & ~1U, places)];
		u32 right = winner[lx_index(node | 1, places)];

		best = key[lx_index(right, places)] < key[lx_index(left, places)] ? right : left;
		node >>= 1;
		winner[lx_index(node, places)] = best;
	}
}

#define lx_tournament_set(t, size, player, value)                                                  \
	do {                                                                                       \
		*lx_at((t)->key, player) = (value);                                                \
		lx_tournament_update((t)->key, (t)->winner, sizeof((t)->key) / sizeof(u64), size,  \
				     player);                                                      \
	} while (0)

/* The winner; its key is LX_NEVER if no player is left. */
#define lx_tournament_winner(t, size) ((size) < 2 ? 0 : (t)->winner[1])

LX_INLINE void lx_tournament_empty(u64 *key, u32 *winner, u32 places, u32 size)
{
	u32 i;

	for (i = lx_zero; i < places && can_loop; i++)
		key[lx_index(i, places)] = LX_NEVER;
	/* A node always names a player of its own subtree. */
	for (i = size - 1; i > 0 && i < size && can_loop; i--)
		winner[lx_index(i, places)] = 2 * i < size ? winner[lx_index(2 * i, places)]
							   : 2 * i - size;
}

#define lx_tournament_clear(t, size)                                                               \
	lx_tournament_empty((t)->key, (t)->winner, sizeof((t)->key) / sizeof(u64), size)

#endif
