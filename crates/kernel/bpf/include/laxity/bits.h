/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* Positions of bits in a word, without instructions that BPF lacks. */
#ifndef LAXITY_BITS_H
#define LAXITY_BITS_H

#include "types.h"

/* Position of the highest bit of a word that is not 0. To the verifier any number: it need not follow
 * each. */
LX_GLOBAL_FN u32 lx_log2(u64 v)
{
	u32 log = 0;

	if (v >> 32) {
		log += 32;
		v >>= 32;
	}
	if (v >> 16) {
		log += 16;
		v >>= 16;
	}
	if (v >> 8) {
		log += 8;
		v >>= 8;
	}
	if (v >> 4) {
		log += 4;
		v >>= 4;
	}
	if (v >> 2) {
		log += 2;
		v >>= 2;
	}
	return log + (v >> 1);
}

/* Position of the lowest bit of a word that is not 0. */
LX_INLINE u32 lx_lowest_bit(u64 v)
{
	return lx_log2(v & -v);
}

#endif
