/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Per-CPU timers for the end of budgets and for releases, and the handling of delayed timer
 * interrupts.
 */
#ifndef LAXITY_SCX_TIMER_H
#define LAXITY_SCX_TIMER_H

#include "state.h"

/* Minimum delay of a timer, in ns. */
#define LX_MIN_DELAY_NS 1000

struct lx_cpu_timer {
	struct bpf_timer bpf;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_cpu_timer);
} timers SEC(".maps");

/* Requires the lock. Sets the CPU's timer. */
LX_GLOBAL_FN u32 lx_start_timer(struct lx_cpu *c __arg_nonnull, u64 at)
{
	struct lx_cpu_timer *timer = bpf_map_lookup_elem(&timers, &c->cpu);

	c->armed = at;
	/* May fail for lack of memory; the next decision tries again. */
	if (timer && bpf_timer_start(&timer->bpf, at, BPF_F_TIMER_ABS))
		c->armed = 0;
	return 0;
}

/* Requires the lock. Sets the time of the CPU's next timer. The timer is restarted only if it is
 * set for later, or is overdue: its callback may have read the old time already. */
LX_INLINE void lx_arm_timer(struct lx_cpu *c, u64 now, u64 due)
{
	c->due = due;
	due = lx_max(due, now + LX_MIN_DELAY_NS);
	if (due != LX_NEVER && (c->armed <= now || c->armed > due))
		lx_start_timer(c, due);
}

/* Makes all active CPUs reschedule. */
LX_INLINE void lx_kick_active_cpus(void)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero)
		if (lx_is_active(k))
			scx_bpf_kick_cpu(k, SCX_KICK_PREEMPT);
}

/* Returns true for a ksoftirqd thread, to which the kernel defers soft interrupts under load. */
LX_INLINE int lx_is_ksoftirqd(const struct task_struct *p)
{
	static const char name[] = "ksoftirqd/";
	char comm[sizeof(p->comm)] = {};
	u32 i;

	if (!(p->flags & PF_KTHREAD))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), p->comm);
	for (i = lx_zero; i < sizeof(name) - 1 && can_loop; i += 1 + lx_zero)
		if (comm[i] != name[i])
			return 0;
	return 1;
}

/* Raises an interrupt on a CPU whose run queue is locked. On return from an interrupt the kernel
 * runs pending soft interrupts. It does not ask for a reschedule, which would limit them. */
LX_INLINE void lx_raise_interrupt(u32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* ksoftirqd waits for the CPU, and timers of this scheduler may be among its work. */
LX_INLINE void lx_ksoftirqd_enqueued(struct lx_cpu *c, u32 slot)
{
	c->ksoftirqd = slot;
	lx_raise_interrupt(c->cpu);
}

/* Called after a decision on this CPU. While ksoftirqd waits, more timers may have been deferred to
 * it, since the kernel defers every soft interrupt raised while a reschedule is pending; and it
 * does not program the clock for further timers of that kind before. Other kinds wait for
 * ksoftirqd, which exists for loads that would starve everything else. */
LX_INLINE void lx_run_pending_timers(const struct lx_cpu *c)
{
	if (c->ksoftirqd == LX_NONE)
		return;
	if (bpf_ksym_exists(&__softirq_pending)) {
		const u16 *pending = bpf_this_cpu_ptr(&__softirq_pending);

		if (!(*pending & 1 << HRTIMER_SOFTIRQ))
			return;
	}
	lx_raise_interrupt(c->cpu);
}

#endif
