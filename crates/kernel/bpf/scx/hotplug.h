/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * CPUs that go and come back. Part of laxity_cpu.bpf.c.
 *
 * One that goes is first no longer active; before the kernel goes on, all have seen that. Later
 * `dispatch` is not called there any more, and the kernel waits until nobody is left in its run
 * queue. So from the beginning nothing is decided there: nobody enters its servers, no timer is set
 * and nobody preempted, as nobody would come to choose another. Who becomes ready runs in the order
 * of arrival until the kernel takes it elsewhere, which it does as soon as it runs. Those that wait in
 * the servers are handed over for the same end: by the CPU itself as long as it is asked, then by the
 * others. One that comes back is active some time before it is asked again.
 */
#ifndef LAXITY_SCX_HOTPLUG_H
#define LAXITY_SCX_HOTPLUG_H

/* So many slots are looked at in one turn: as many tasks may be handed over in one, and one more. */
#define LX_EVACUATION_BATCH 16

/* Of 64 CPUs each. */
#define LX_CPUMASK_WORDS 128

struct {
	/* Slots below this are still to be looked at for tasks on CPUs that have gone. */
	u32 slots;
	u32 padding;
	/* CPUs that were active when somebody looked last. */
	u64 active[LX_CPUMASK_WORDS];
} sweep SEC(".data.sweep");

/* Its servers, or those of its reservation, are on a CPU that goes: it leaves them for good. Tells
 * whether it waited there. */
LX_INLINE u32 lx_evict(struct lx_task *t, u32 slot)
{
	struct lx_cpu *c = lx_lock_home(t);
	u64 now = bpf_ktime_get_ns();
	u32 waited = 0;

	if (!c)
		return 0;
	if (!lx_is_active(c->cpu)) {
		now = lx_charge_current(c, now);
		lx_task_detach(c, t, lx_reservation_of(t), slot, now);
		t->reservation = 0;
		waited = t->queued;
		t->queued = 0;
	}
	lx_unlock(&c->lock);
	return waited;
}

/* Takes a task off a CPU that goes. */
LX_INLINE void lx_evacuate(u32 slot)
{
	struct lx_task *t = lx_task_at(slot);
	struct task_struct *p;
	struct lx_cpu *c;
	u32 waited = 0;

	if (!t || !t->pid)
		return;
	if (!lx_is_active(READ_ONCE(t->home_cpu)))
		waited = lx_evict(t, slot);
	p = t->task;
	/* Another CPU may have taken it over, and not have come to it yet. */
	if (!p || (!waited && (!t->queued || lx_is_active(scx_bpf_task_cpu(p)))))
		return;
	if (!lx_dispatch_task(t, LX_NONE, LX_UNCHARGED_SLICE_NS))
		return;
	c = lx_cpu(READ_ONCE(t->home_cpu));
	if (c && lx_is_active(c->cpu))
		lx_discard_stale_pick(c, t, slot);
}

LX_INLINE void lx_evacuation_start(void)
{
	u32 zero = 0;
	struct lx_pool *free = bpf_map_lookup_elem(&pool, &zero);

	if (free)
		WRITE_ONCE(sweep.slots, free->nr_used);
}

/* From `dispatch`: the next few slots, and again soon. */
LX_GLOBAL_FN u32 lx_evacuate_batch(u32 cpu)
{
	u32 from = READ_ONCE(sweep.slots),
	    to = from > LX_EVACUATION_BATCH ? from - LX_EVACUATION_BATCH : 0, slot;

	if (!from || __sync_val_compare_and_swap(&sweep.slots, from, to) != from)
		return 0;
	for (slot = to + lx_zero; slot < from && can_loop; slot += 1 + lx_zero)
		lx_evacuate(slot);
	if (to)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 1;
}

/* Whether CPUs have gone or come since this was asked last. */
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

/* From `dispatch`; tells whether the CPU goes, so that there is nothing to choose. Any CPU looks for all:
 * one that goes may have nothing to do, and is not asked then. */
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

/* From `enqueue`, for a CPU that goes: it has no servers any more. */
LX_INLINE void lx_leave_servers(struct task_struct *p, struct lx_task *t, u32 slot)
{
	if (lx_bound_reservation(t) && lx_is_active(lx_bound_cpu(t)))
		lx_task_blocks(p);
	else
		lx_task_exit(t, slot);
}

/* A task was taken off a CPU from outside. It may be the last one that a CPU that goes has waited
 * for, and there the kernel looks only when that CPU schedules. */
LX_INLINE void lx_kick_if_offline(u32 cpu)
{
	if (!lx_is_active(cpu))
		scx_bpf_kick_cpu(cpu, 0);
}

/* Called before anything is scheduled. Libraries look such names up in user space, which takes them a
 * hundred times as long. */
SEC("syscall")
int laxity_locate(void *ctx)
{
	(void)ctx;

	bpf_kallsyms_lookup_name("__cpu_active_mask", sizeof("__cpu_active_mask"), 0,
				 &setup.cpu_active_mask);
	return 0;
}

/* The kernel has closed its run queue: the others look after its tasks. Where it cannot be seen
 * that a CPU goes, the kernel's own scheduler is to take over, as it would without this program. */
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
	if (c)
		c->offline = 1;
	lx_evacuation_start();
	lx_kick_active_cpus();
}

/* The kernel wants to tell somebody. It opens the run queue later, and `dispatch` and `enqueue` are the
 * first to know. */
SEC("struct_ops/cpu_online")
void laxity_cpu_online(u64 *ctx)
{
	(void)ctx;
}

#endif
