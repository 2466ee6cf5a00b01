/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What the algorithm headers stand on, in the kernel and in user space.
 *
 * They hold integers only, keep all state in plain structures and take the time as an argument.
 * In the kernel they run under the queueing discipline's lock, so nothing here is atomic.
 */
#ifndef LAXITY_TYPES_H
#define LAXITY_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;

#define LX_INLINE static inline __attribute__((always_inline))
#ifndef NULL
#define NULL ((void *)0)
#endif

#define LX_NEVER (~0ULL)
#define LX_NONE (~0U)

#define NANOBITS_PER_BYTE 8000000000ULL

/* Every product and difference of the algorithms stays below this; the loader sees to it. */
#define LX_RANGE (1ULL << 62)

/* In BPF a global function: verified once, for any arguments, instead of in each place where it is
 * called. Such functions return a number and are given pointers to something. */
#ifdef __bpf__
#define LX_GLOBAL_FN __attribute__((noinline))
#define __arg_nonnull __attribute__((btf_decl_tag("arg:nonnull")))
#else
#define LX_GLOBAL_FN static __attribute__((noinline, unused))
#define __arg_nonnull
#endif

#ifdef __bpf__
/* Hides where a number came from, so that the compiler keeps the test that the verifier needs. */
#define barrier_var(x) asm volatile("" : "+r"(x))
/* Zero, which the verifier does not know: a counter that starts from it has the same state in every
 * round, so a loop is followed once instead of round by round. */
static volatile u32 lx_zero;
/* Bounds a loop whose end depends on data: the kernel ends it after about eight million rounds. */
#define can_loop                                                                                   \
	({                                                                                         \
		__label__ l_break, l_continue;                                                     \
		int ret = 1;                                                                       \
		asm volatile goto("may_goto %l[l_break]" : : : : l_break);                         \
		goto l_continue;                                                                   \
l_break:                                                                                           \
		ret = 0;                                                                           \
l_continue:;                                                                                       \
		ret;                                                                               \
	})
#else
#define barrier_var(x) ((void)0)
#define can_loop 1
#define lx_zero 0
#endif

/* Index i of an array of n places, n a power of two: what the verifier can follow. */
LX_INLINE u32 lx_index(u32 i, u32 n)
{
#ifndef __bpf__
	if (i >= n)
		__builtin_trap();
#endif
	barrier_var(i);
	return i & (n - 1);
}

#define lx_at(array, i) (&(array)[lx_index((i), sizeof(array) / sizeof((array)[0]))])

LX_INLINE u64 lx_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

LX_INLINE u64 lx_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* Both are below LX_RANGE, or little above. */
LX_INLINE u64 lx_div_ceil(u64 n, u64 d)
{
	/* The kernel defines x / 0 as 0; nothing here divides by it. */
	return d ? (n + d - 1) / d : LX_NEVER;
}

#endif
