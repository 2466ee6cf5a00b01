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

/* Longest wait for a lock, in ns. Holders need microseconds, unless a hypervisor has taken their CPU away. */
#define LX_LOCK_TIMEOUT_NS 250000000ULL
/* Attempts of one call of lx_lock_spin. */
#define LX_LOCK_ATTEMPTS 60000

/* Returns true if the lock was acquired. A function of its own, so that the kernel counts the iterations of each
 * call: Linux 7.3.4 has ended loops after 65,535 iterations in one frame, 1.5 ms in the virtual machine, where
 * 6.18 lets them go on for 250 ms. */
LX_GLOBAL_FN u32 lx_lock_spin(struct lx_lock *lock __arg_nonnull)
{
	u32 i;

	for (i = lx_zero; i < LX_LOCK_ATTEMPTS && can_loop; i += 1 + lx_zero)
		if (!READ_ONCE(lock->held) && !__sync_val_compare_and_swap(&lock->held, 0, 1))
			return 1;
	return 0;
}

/* The lock is held. A function of its own, because the stacks of its callers are full. */
LX_GLOBAL_FN u32 lx_lock_wait(struct lx_lock *lock __arg_nonnull)
{
	u64 since = bpf_ktime_get_ns(), waited = 0;

	while (waited < LX_LOCK_TIMEOUT_NS && can_loop) {
		u32 acquired = lx_lock_spin(lock);

		waited = bpf_ktime_get_ns() - since;
		if (acquired) {
			totals.waited = lx_max(totals.waited, waited);
			return 1;
		}
	}
	__sync_fetch_and_add(&totals.unlocked, 1);
	return 0;
}

/* Returns true if the lock was acquired, which does not fail in practice. */
LX_INLINE int lx_lock(struct lx_lock *lock)
{
	return !__sync_val_compare_and_swap(&lock->held, 0, 1) || lx_lock_wait(lock);
}

LX_INLINE void lx_unlock(struct lx_lock *lock)
{
	__sync_lock_test_and_set(&lock->held, 0);
}

#endif
