/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012) of words in little
 * endian order. See `FlowHasher` in crates/traffic/src/flow_key.rs.
 */
#ifndef LAXITY_SIPHASH_H
#define LAXITY_SIPHASH_H

#include "types.h"

/* 128 secret bits. */
struct lx_sip_key {
	u64 half[2];
};

struct lx_sip {
	u64 v0, v1, v2, v3;
};

LX_INLINE u64 lx_rotate_left(u64 x, u32 bits)
{
	return x << bits | x >> (64 - bits);
}

LX_INLINE void lx_sip_round(struct lx_sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = lx_rotate_left(s->v1, 13) ^ s->v0;
	s->v3 = lx_rotate_left(s->v3, 16) ^ s->v2;
	s->v0 = lx_rotate_left(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = lx_rotate_left(s->v1, 17) ^ s->v2;
	s->v3 = lx_rotate_left(s->v3, 21) ^ s->v0;
	s->v2 = lx_rotate_left(s->v2, 32);
}

LX_INLINE void lx_sip_word(struct lx_sip *s, u64 word)
{
	s->v3 ^= word;
	lx_sip_round(s);
	s->v0 ^= word;
}

/* Hash of `words` whole words and the `bytes` bytes of `rest`, fewer than eight. */
LX_INLINE u64 lx_siphash(const struct lx_sip_key *key, const u64 *message, u32 words, u64 rest,
			 u32 bytes)
{
	struct lx_sip s = {
		.v0 = key->half[0] ^ 0x736f6d6570736575ULL,
		.v1 = key->half[1] ^ 0x646f72616e646f6dULL,
		.v2 = key->half[0] ^ 0x6c7967656e657261ULL,
		.v3 = key->half[1] ^ 0x7465646279746573ULL,
	};
	u32 i;

	for (i = 0; i < words; i++)
		lx_sip_word(&s, message[i]);
	lx_sip_word(&s, (u64)(words * 8 + bytes) << 56 | rest);
	s.v2 ^= 0xff;
	lx_sip_round(&s);
	lx_sip_round(&s);
	lx_sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

#endif
