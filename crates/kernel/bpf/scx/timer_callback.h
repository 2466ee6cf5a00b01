/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * A CPU's timer calls. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_TIMER_CALLBACK_H
#define LAXITY_SCX_TIMER_CALLBACK_H

/* While another class has the CPU, it is looked so often whether it still has. */
#define LX_HIGHER_CLASS_POLL_NS 50000

/* Whether another class has the CPU, while one of ours would go on: it would not be asked to choose. */
LX_INLINE int lx_higher_class_runs(const struct lx_cpu *c)
{
	u32 slot = READ_ONCE(c->current);
	const struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);

	return !machine.has_run_hooks && t && t->task_addr && lx_is_runnable(slot) &&
	       !lx_task_struct(t)->on_cpu;
}

/* Under the lock: the task that wakes goes before all, and the CPU is asked. While another class has it that is in vain,
 * and the one that class took it from goes on by itself: so it is asked again. */
LX_GLOBAL_FN u32 lx_request_preempt(struct lx_cpu *c __arg_nonnull)
{
	if (lx_higher_class_runs(c))
		lx_arm_timer(c, c->clock, lx_min(c->due, c->clock + LX_HIGHER_CLASS_POLL_NS));
	return 0;
}

/* Whether more come before the last one in the kernel's queue than those who have the CPU before it. */
LX_GLOBAL_FN u32 lx_local_queue_overtaken(struct lx_cpu *c __arg_nonnull)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 i, before = 0, last = lx_member(c->local_queue[0])->server;
	u64 key;

	if (last == LX_NONE || !lx_heap_contains(h, last))
		return 0;
	key = lx_heap_key(h, last);
	for (i = lx_zero; i < h->count && can_loop; i += 1 + lx_zero)
		before += lx_at(h->node, i)->key < key ? 1 + lx_zero : 0;
	return before > c->nr_local;
}

/* From the timer, where somebody waits in the kernel's queue: a budget may end, or a release be due, or who
 * had the CPU sleep since. Tells whether the CPU is to be asked: also where the task that should have it does not,
 * since another class has, or since the kernel took them in another order. */
LX_INLINE u32 lx_timer_check_local(struct lx_cpu *c)
{
	u64 now = bpf_ktime_get_ns(), since;
	struct lx_decision o;

	o.preempt = 0;
	if (!lx_lock(&c->lock))
		return 1;
	since = c->current_since;
	lx_update_blocked(c, now);
	now = lx_charge_current(c, now);
	if (lx_process_due(c, now) && c->nr_local && lx_local_queue_overtaken(c))
		c->drain_local = 1;
	lx_decide(c, now, &o);
	o.preempt |= c->drain_local;
	lx_unlock(&c->lock);
	/* The kernel may just be about to switch. */
	return o.preempt || (now > since + LX_HIGHER_CLASS_POLL_NS && lx_higher_class_runs(c));
}

/* Whether the CPU that is asked is another than this one: it may switch to another class meanwhile, and
 * would not hear. */
LX_INLINE int lx_is_remote(u32 cpu)
{
	return machine.cpus > 1 && !machine.has_run_hooks && bpf_get_smp_processor_id() != cpu;
}

/* A budget ends or a release is due: the CPU looks again. Interrupts are on here, so without need the lock
 * is left alone; a timer that is set twice calls once too often. */
static int lx_timer_fired(void *map, u32 *key, struct bpf_timer *timer)
{
	struct lx_cpu *c = lx_cpu(*key);
	u64 due, now = bpf_ktime_get_ns();
	unsigned long flags;
	u32 round;
	(void)map;

	if (!c)
		return 0;
	WRITE_ONCE(c->armed, 0);
	due = READ_ONCE(c->due);
	if (due == LX_NEVER)
		return 0;
	if (due > now + LX_MIN_DELAY_NS) {
		WRITE_ONCE(c->armed, due);
		/* Somebody may have wanted it earlier in between. */
		for (round = lx_zero; round < LX_MAX_RETRIES && can_loop; round += 1 + lx_zero) {
			bpf_timer_start(timer, due, BPF_F_TIMER_ABS);
			if (READ_ONCE(c->due) >= due)
				break;
			due = READ_ONCE(c->due);
		}
		return 0;
	}
	if (READ_ONCE(c->nr_local)) {
		u32 other;

		bpf_local_irq_save(&flags);
		other = lx_timer_check_local(c);
		bpf_local_irq_restore(&flags);
		if (!other)
			return 0;
	}
	if (lx_higher_class_runs(c) || lx_is_remote(*key)) {
		u64 again = now + LX_HIGHER_CLASS_POLL_NS;

		/* Unless it is to be looked earlier anyway. */
		due = READ_ONCE(c->due);
		if (due > now)
			again = lx_min(again, lx_max(due, now + LX_MIN_DELAY_NS));
		WRITE_ONCE(c->armed, again);
		bpf_timer_start(timer, again, BPF_F_TIMER_ABS);
	}
	if (lx_is_offline(c))
		lx_kick_active_cpus();
	else
		scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	return 0;
}

#endif
