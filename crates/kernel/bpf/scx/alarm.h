/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Each CPU's timer, which makes it look again when a budget ends or a release is due. Part of
 * laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_ALARM_H
#define LAXITY_SCX_ALARM_H

/* A timer in the past would not be one. */
#define LX_SOON 1000

struct lx_alarm {
	struct bpf_timer timer;
};

struct {
	__uint(type, MAP_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_alarm);
} alarms SEC(".maps");

/* Under the lock: the CPU's timer calls at a time, and at no other. */
LX_CALLED u32 lx_set_alarm(struct lx_cpu *c LX_GIVEN, u64 at)
{
	struct lx_alarm *alarm = bpf_map_lookup_elem(&alarms, &c->cpu);

	c->armed = at;
	/* Kernels may need memory for it; the next decision tries again. */
	if (alarm && bpf_timer_start(&alarm->timer, at, BPF_F_TIMER_ABS))
		c->armed = 0;
	return 0;
}

/* Under the lock: the CPU looks again at a time. Its timer is set again only if it would call later,
 * or should have called: a timer that is about to may have looked before. */
LX_INLINE void lx_arm(struct lx_cpu *c, u64 now, u64 due)
{
	c->due = due;
	due = lx_max(due, now + LX_SOON);
	if (due != LX_NEVER && (c->armed <= now || c->armed > due))
		lx_set_alarm(c, due);
}

/* All CPUs that are active look again. */
LX_INLINE void lx_call_active(void)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && lx_may_loop; k += 1 + lx_zero)
		if (lx_is_active(k))
			scx_bpf_kick_cpu(k, SCX_KICK_PREEMPT);
}

/* Whether a task is a CPU's thread to which the kernel leaves soft interrupts when there are many. */
LX_INLINE int lx_is_soft(const struct task_struct *p)
{
	static const char name[] = "ksoftirqd/";
	char comm[sizeof(p->comm)] = {};
	u32 i;

	if (!(p->flags & PF_KTHREAD))
		return 0;
	bpf_probe_read_kernel_str(comm, sizeof(comm), p->comm);
	for (i = lx_zero; i < sizeof(name) - 1 && lx_may_loop; i += 1 + lx_zero)
		if (comm[i] != name[i])
			return 0;
	return 1;
}

/* At the end of an interrupt the kernel does all soft interrupts that are to be done. This makes one, where
 * the CPU's run queue is locked. The running task is not asked to stop: the kernel would be brief then. */
LX_INLINE void lx_interrupt(u32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* The thread for soft interrupts waits, as others do, and our timers may be among what it is to do. */
LX_INLINE void lx_soft_waits(struct lx_cpu *c, u32 slot)
{
	c->soft = slot;
	lx_interrupt(c->cpu);
}

/* Who runs next was decided, on this CPU. If the thread waits still, more may have been left to it: all
 * that is raised while a switch is due. With timers among that the kernel sets the clock for no other of
 * their kind before they are done. Other kinds wait for the thread, which is there for loads that would
 * leave nobody else a turn. */
LX_INLINE void lx_finish_timers(const struct lx_cpu *c)
{
	if (c->soft == LX_NONE)
		return;
	if (lx_has(&__softirq_pending)) {
		const u16 *pending = bpf_this_cpu_ptr(&__softirq_pending);

		if (!(*pending & 1 << HRTIMER_SOFTIRQ))
			return;
	}
	lx_interrupt(c->cpu);
}

#endif
