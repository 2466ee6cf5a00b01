/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Common base of the algorithm headers, in the kernel and in user space.
 *
 * The headers use integers only, keep all state in plain structures and take the time as an
 * argument. Callers hold a lock (of the qdisc, or of the CPU's servers), so nothing here is atomic.
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

/* Bound of every product and difference of the algorithms; the loader enforces it. */
#define LX_RANGE (1ULL << 62)

/* In BPF, a global function: the verifier checks it once, for any arguments, instead of at every
 * call. Such functions return a number, and their pointer arguments are not NULL. */
#ifdef __bpf__
#define LX_GLOBAL_FN __attribute__((noinline))
#define __arg_nonnull __attribute__((btf_decl_tag("arg:nonnull")))
#define __arg_trusted __attribute__((btf_decl_tag("arg:trusted")))
#else
#define LX_GLOBAL_FN static __attribute__((noinline, unused))
#define __arg_nonnull
#define __arg_trusted
#endif

#ifdef __bpf__
/* As in libbpf: hides the origin of a value, so that the compiler keeps the check that the verifier
 * needs. */
#define barrier_var(x) asm volatile("" : "+r"(x))
/* Zero, unknown to the verifier. A loop counter that starts from it has the same abstract state in
 * every iteration, so the verifier follows the loop once. */
static volatile u32 lx_zero;
/* may_goto, which assemblers before clang 19 do not know: opcode 0xe5, and in the low half of the
 * next 32 bits the distance in instructions of eight bytes. */
#ifdef __BPF_FEATURE_MAY_GOTO
#define LX_MAY_GOTO "may_goto %l[l_break]"
#else
#define LX_MAY_GOTO                                                                                \
	"0: .byte 0xe5, 0\n .long 0xffff & ((%l[l_break] - 0b - 8) / 8)\n .byte 0, 0"
#endif
/* Bounds a loop that depends on data: the kernel ends it after 250 ms or eight million iterations. Linux 7.3.4 has
 * ended one after 65,535 (bpf/scx/lock.h). */
#define can_loop                                                                                   \
	({                                                                                         \
		__label__ l_break, l_continue;                                                     \
		int ret = 1;                                                                       \
		asm volatile goto(LX_MAY_GOTO : : : : l_break);                                    \
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

/* Index i of an array of n elements, n a power of two, in a form that the verifier can bound. */
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

/* Both arguments are below or slightly above LX_RANGE. */
LX_INLINE u64 lx_div_ceil(u64 n, u64 d)
{
	/* BPF defines x / 0 as 0; no caller divides by 0. */
	return d ? (n + d - 1) / d : LX_NEVER;
}

#endif
