/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The lock of a CPU's state, and counters of rare events.
 */
#ifndef LAXITY_SCX_LOCK_H
#define LAXITY_SCX_LOCK_H

#include "intf.h"
#include "kernel.h"

struct lx_totals totals SEC(".data.totals");

/*
 * A spin lock of our own, since programs must not call global functions while they hold a
 * bpf_spin_lock. Holders have interrupts disabled, as the kernel has while it holds a run queue
 * lock, so a holder is never preempted.
 */
struct lx_lock {
	u32 held;
};

/* Returns true if the lock was acquired. The bound satisfies the verifier; acquisition does not
 * fail in practice. */
LX_INLINE int lx_lock(struct lx_lock *lock)
{
	u64 since;

	if (!__sync_val_compare_and_swap(&lock->held, 0, 1))
		return 1;
	since = bpf_ktime_get_ns();
	while (can_loop) {
		if (READ_ONCE(lock->held) || __sync_val_compare_and_swap(&lock->held, 0, 1))
			continue;
		totals.waited = lx_max(totals.waited, bpf_ktime_get_ns() - since);
		return 1;
	}
	__sync_fetch_and_add(&totals.unlocked, 1);
	return 0;
}

LX_INLINE void lx_unlock(struct lx_lock *lock)
{
	__sync_lock_test_and_set(&lock->held, 0);
}

#endif
