/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * CPU hotplug.
 *
 * A CPU that goes offline first leaves the active mask, and the kernel waits until all CPUs see
 * that. Later it stops calling `dispatch` there, and waits until the run queue is empty. So from
 * the change of the mask on nothing is decided on that CPU: no task enters its servers and no task is
 * preempted, because `dispatch` might not be called to pick another. Runnable tasks run in order of
 * arrival, and the kernel migrates each one as soon as it runs. Tasks that wait in the servers are
 * dispatched to the same end: by the CPU itself while `dispatch` is called, then by the others. The last
 * programs on a CPU that stops may not cause interrupts (lx_is_stopping). A CPU that comes online is active some
 * time before `dispatch` is called.
 */
#ifndef LAXITY_SCX_HOTPLUG_H
#define LAXITY_SCX_HOTPLUG_H

#include "join.h"

/* Slots to scan per call: one call may dispatch as many tasks, and one more. */
#ifndef LX_EVACUATION_BATCH
#define LX_EVACUATION_BATCH 16
#endif

/* Longest time until the timer of an offline CPU kicks again, in ns. While the machine is suspended `dispatch`
 * is not called on any CPU. */
#define LX_MAX_KICK_AGAIN_NS 10000000

/* Words of 64 CPUs. */
#define LX_CPUMASK_WORDS 128

struct {
	/* Slots below this remain to be scanned for tasks on offline CPUs. */
	u32 slots;
	u32 padding;
	/* Active mask at the last check. */
	u64 active[LX_CPUMASK_WORDS];
} sweep SEC(".data.sweep");

enum { LX_NOT_EVICTED, LX_EVICTED, LX_EVICTED_TO_WAIT };

/* Removes a task whose servers, or whose reservation's, are on an offline CPU. If it waits, it joins the
 * servers of the CPU on whose run queue it is, since it must not precede them there; or it has to be
 * dispatched, if that one is offline too. */
LX_INLINE u32 lx_evict(struct lx_task *t, u32 slot)
{
	struct lx_cpu *c = lx_lock_home(t);
	u64 now = bpf_ktime_get_ns();
	u32 found = LX_NOT_EVICTED;

	if (!c)
		return LX_NOT_EVICTED;
	if (!lx_is_active(c->cpu)) {
		now = lx_charge_current(c, now);
		lx_task_detach(c, t, lx_reservation_of(t), slot, now);
		t->reservation = 0;
		if (t->queued) {
			struct task_struct *p = t->task;
			u32 cpu = p ? (u32)scx_bpf_task_cpu(p) : c->cpu;

			if (lx_is_active(cpu)) {
				found = LX_EVICTED_TO_WAIT;
				t->home_cpu = cpu;
				t->arrived = now;
			} else {
				found = LX_EVICTED;
				t->queued = 0;
			}
		}
	}
	lx_unlock(&c->lock);
	return found;
}

/* Moves a task off an offline CPU. Returns true if it has to join the servers of another one. */
LX_GLOBAL_FN u32 lx_evacuate(u32 slot)
{
	struct lx_task *t = lx_task_at(slot);
	struct task_struct *p;
	struct lx_cpu *c;
	u32 evicted = LX_NOT_EVICTED;

	if (!t || !t->pid)
		return 0;
	if (!lx_is_active(READ_ONCE(t->home_cpu)))
		evicted = lx_evict(t, slot);
	if (evicted == LX_EVICTED_TO_WAIT)
		return 1;
	/* It was enqueued again elsewhere. */
	if (evicted == LX_EVICTED && READ_ONCE(t->queued))
		return 0;
	p = t->task;
	/* Another CPU may have stolen it and not dispatched it yet. */
	if (!p || (evicted == LX_NOT_EVICTED && (!t->queued || lx_is_active(scx_bpf_task_cpu(p)))))
		return 0;
	if (!lx_dispatch_task(t, LX_NONE, LX_UNCHARGED_SLICE_NS))
		return 0;
	c = lx_cpu(READ_ONCE(t->home_cpu));
	if (c && lx_is_active(c->cpu))
		lx_discard_stale_pick(c, t, slot);
	return 0;
}

LX_INLINE void lx_evacuation_start(void)
{
	u32 zero = 0;
	struct lx_pool *free = bpf_map_lookup_elem(&pool, &zero);

	if (free)
		WRITE_ONCE(sweep.slots, free->nr_used);
}

/* Called from `dispatch`: scans the next few slots, and reschedules if some remain. */
LX_INLINE void lx_evacuate_batch(u32 cpu)
{
	u32 from = READ_ONCE(sweep.slots),
	    to = from > LX_EVACUATION_BATCH ? from - LX_EVACUATION_BATCH : 0, slot;

	if (!from || __sync_val_compare_and_swap(&sweep.slots, from, to) != from)
		return;
	/* Here, since calls nest at most eight deep. */
	for (slot = to + lx_zero; slot < from && can_loop; slot += 1 + lx_zero)
		if (lx_evacuate(slot))
			lx_join_home(slot, bpf_ktime_get_ns());
	if (to)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Returns true if the active mask changed since the last call. */
LX_INLINE int lx_active_mask_changed(void)
{
	u32 i, other = 0;

	for (i = lx_zero; i < LX_CPUMASK_WORDS && i * 64 < machine.cpus && can_loop;
	     i += 1 + lx_zero) {
		u64 active = lx_active_word(i);

		if (READ_ONCE(sweep.active[i]) != active) {
			sweep.active[i] = active;
			other = 1;
		}
	}
	return other;
}

/* Called from `dispatch`. Returns true if the CPU goes offline, so that there is nothing to pick.
 * Every CPU checks for all, since `dispatch` is not called on an idle CPU. */
LX_INLINE int lx_check_offline(u32 cpu)
{
	struct lx_cpu *c;

	if (machine.cpus == 1)
		return 0;
	c = lx_cpu(cpu);
	if (!c)
		return 0;
	c->offline = !lx_is_active(cpu);
	if (lx_active_mask_changed())
		lx_evacuation_start();
	if (READ_ONCE(sweep.slots))
		lx_evacuate_batch(cpu);
	return c->offline;
}

/* Called from `enqueue`. Returns true on a CPU whose local APIC is off already, where the kernel wakes who waits
 * for the CPU to stop: a worker thread, in 7.x the task that asked for it. Kicks, and in 7.x starts of timers, are
 * interrupts of the CPU by itself: they would stay pending, and keep all later ones of that CPU, once it is back,
 * from being raised. So nothing is decided there, and the task preempts whatever its CPU runs. */
LX_INLINE int lx_is_stopping(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	const struct cpumask *online;
	int is_online;

	if (lx_is_active(cpu))
		return 0;
	online = scx_bpf_get_online_cpumask();
	is_online = bpf_cpumask_test_cpu(cpu, online);
	scx_bpf_put_cpumask(online);
	return !is_online;
}

/* Requires the lock. The servers know of the task; the decision follows where it starts. */
LX_INLINE void lx_wake_undecided(struct lx_cpu *c, const struct lx_task *t, u32 slot)
{
	u64 now = lx_sync_clock(c, bpf_ktime_get_ns(), slot);

	lx_task_attach(c, t, slot, now);
	lx_on_wake(c, now, slot);
}

/* Called from `enqueue` on a CPU that goes offline: it has no servers any more. */
LX_INLINE void lx_leave_servers(struct task_struct *p, struct lx_task *t, u32 slot)
{
	if (lx_bound_reservation(t) && lx_is_active(lx_bound_cpu(t)))
		lx_task_blocks(p);
	else
		lx_task_exit(t, slot);
}

/* Called after a task left a CPU from outside. If the CPU goes offline, this may be the last task
 * it waits for, and the kernel checks that only when the CPU schedules. */
LX_INLINE void lx_kick_if_offline(u32 cpu)
{
	if (!lx_is_active(cpu))
		scx_bpf_kick_cpu(cpu, 0);
}

/* The timer of an offline CPU, which another CPU has once it is gone. A kick may be lost where a CPU is about
 * to start a task; one that comes online calls `dispatch` only when it is. So they are repeated, less and less
 * often, except while a higher class has the CPU that comes online (as in lx_timer_fired). */
LX_INLINE void lx_offline_timer_fired(struct lx_cpu *c, struct bpf_timer *timer, u64 now)
{
	u32 is_active = lx_is_active(c->cpu);
	u64 again = LX_NEVER, due;

	if (READ_ONCE(sweep.slots) || is_active) {
		/* Zero until the first poll. */
		if (!c->kick_again_ns || (is_active && lx_has_higher_class(c)))
			c->kick_again_ns = LX_HIGHER_CLASS_POLL_NS;
		again = now + c->kick_again_ns;
		c->kick_again_ns = lx_min(2 * c->kick_again_ns, LX_MAX_KICK_AGAIN_NS);
		bpf_timer_start(timer, again, BPF_F_TIMER_ABS);
	}
	if (is_active)
		scx_bpf_kick_cpu(c->cpu, SCX_KICK_PREEMPT);
	else
		lx_kick_active_cpus();
	/* It has come online since, and a decision may have set an earlier time. */
	due = READ_ONCE(c->due);
	if (!lx_is_offline(c) && due < again)
		bpf_timer_start(timer, due, BPF_F_TIMER_ABS);
}

/* Makes the timer of a CPU that goes, or comes back, fire soon. */
LX_INLINE void lx_arm_hotplug_poll(struct lx_cpu *c)
{
	unsigned long flags;

	bpf_local_irq_save(&flags);
	if (lx_lock(&c->lock)) {
		lx_arm_poll(c, bpf_ktime_get_ns());
		lx_unlock(&c->lock);
	}
	bpf_local_irq_restore(&flags);
}

/* Runs before the scheduler starts. A lookup of the symbol in user space takes a hundred times as
 * long. */
SEC("syscall")
int laxity_locate(void *ctx)
{
	(void)ctx;

	bpf_kallsyms_lookup_name("__cpu_active_mask", sizeof("__cpu_active_mask"), 0,
				 &setup.cpu_active_mask);
	return 0;
}

/* The kernel has closed the run queue; the other CPUs migrate its tasks. If the active mask cannot
 * be read, the scheduler exits, as it would without this hook. */
SEC("struct_ops.s/cpu_offline")
void laxity_cpu_offline(u64 *ctx)
{
	struct lx_cpu *c = lx_cpu(ctx[0]);
	char why[] = "CPUs may not go without CONFIG_KALLSYMS_ALL";
	u64 none = 0;

	if (!setup.cpu_active_mask) {
		scx_bpf_exit_bstr(0, why, &none, 0);
		return;
	}
	lx_evacuation_start();
	if (c) {
		c->offline = 1;
		lx_arm_hotplug_poll(c);
	}
	lx_kick_active_cpus();
}

/* The CPU is active, and its run queue open, or about to be: `dispatch` and `enqueue` notice. Its timer may have
 * been set for long after that. */
SEC("struct_ops/cpu_online")
void laxity_cpu_online(u64 *ctx)
{
	struct lx_cpu *c = lx_cpu(ctx[0]);

	if (c)
		lx_arm_hotplug_poll(c);
}

#endif
