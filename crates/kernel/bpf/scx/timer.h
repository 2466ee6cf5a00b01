/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Each CPU's timer, which makes it look again when a budget ends or a release is due. Part of
 * laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_TIMER_H
#define LAXITY_SCX_TIMER_H

/* A timer in the past would not be one. */
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

/* Under the lock: the CPU's timer calls at a time, and at no other. */
LX_GLOBAL_FN u32 lx_start_timer(struct lx_cpu *c __arg_nonnull, u64 at)
{
	struct lx_cpu_timer *timer = bpf_map_lookup_elem(&timers, &c->cpu);

	c->armed = at;
	/* Kernels may need memory for it; the next decision tries again. */
	if (timer && bpf_timer_start(&timer->bpf, at, BPF_F_TIMER_ABS))
		c->armed = 0;
	return 0;
}

/* Under the lock: the CPU looks again at a time. Its timer is set again only if it would call later,
 * or should have called: a timer that is about to may have looked before. */
LX_INLINE void lx_arm_timer(struct lx_cpu *c, u64 now, u64 due)
{
	c->due = due;
	due = lx_max(due, now + LX_MIN_DELAY_NS);
	if (due != LX_NEVER && (c->armed <= now || c->armed > due))
		lx_start_timer(c, due);
}

/* All CPUs that are active look again. */
LX_INLINE void lx_kick_active_cpus(void)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero)
		if (lx_is_active(k))
			scx_bpf_kick_cpu(k, SCX_KICK_PREEMPT);
}

/* Whether a task is a CPU's thread to which the kernel leaves soft interrupts when there are many. */
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

/* At the end of an interrupt the kernel does all soft interrupts that are to be done. This makes one, where
 * the CPU's run queue is locked. The running task is not asked to stop: the kernel would be brief then. */
LX_INLINE void lx_raise_interrupt(u32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The thread for soft interrupts waits, as others do, and our timers may be among what it is to do. */
LX_INLINE void lx_ksoftirqd_enqueued(struct lx_cpu *c, u32 slot)
{
	c->ksoftirqd = slot;
	lx_raise_interrupt(c->cpu);
}

/* Who runs next was decided, on this CPU. If the thread waits still, more may have been left to it: all
 * that is raised while a switch is due. With timers among that the kernel sets the clock for no other of
 * their kind before they are done. Other kinds wait for the thread, which is there for loads that would
 * leave nobody else a turn. */
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
