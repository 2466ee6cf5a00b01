/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * A CPU's timer calls. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_CALLED_H
#define LAXITY_SCX_CALLED_H

/* While another class has the CPU, it is looked so often whether it still has. */
#define LX_TAKEN 50000

/* Whether another class has the CPU, while one of ours would go on: it would not be asked to choose. */
LX_INLINE int lx_is_taken(const struct lx_cpu *c)
{
	u32 slot = LX_SEEN(c->current);
	const struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);

	return !machine.told && t && t->at && lx_is_awake(slot) && !lx_seen(t)->on_cpu;
}

/* Under the lock: the task that wakes goes before all, and the CPU is asked. While another class has it that is in vain,
 * and the one that class took it from goes on by itself: so it is asked again. */
LX_CALLED u32 lx_insist(struct lx_cpu *c LX_GIVEN)
{
	if (lx_is_taken(c))
		lx_arm(c, c->clock, lx_min(c->due, c->clock + LX_TAKEN));
	return 0;
}

/* Whether more come before the last one in the kernel's queue than those who have the CPU before it. */
LX_CALLED u32 lx_are_passed(struct lx_cpu *c LX_GIVEN)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 i, before = 0, last = lx_member(c->below[0])->server;
	u64 key;

	if (last == LX_NONE || !lx_heap_has(h, last))
		return 0;
	key = lx_heap_key(h, last);
	for (i = lx_zero; i < h->count && lx_may_loop; i += 1 + lx_zero)
		before += lx_at(h->node, i)->key < key ? 1 + lx_zero : 0;
	return before > c->depth;
}

/* From the timer, where somebody waits in the kernel's queue: a budget may end, or a release be due, or who
 * had the CPU sleep since. Tells whether the CPU is to be asked: also where the task that should have it does not,
 * since another class has, or since the kernel took them in another order. */
LX_INLINE u32 lx_look_below(struct lx_cpu *c)
{
	u64 now = bpf_ktime_get_ns(), since;
	struct lx_outcome o;

	o.preempt = 0;
	if (!lx_lock(&c->lock))
		return 1;
	since = c->since;
	lx_notice(c, now);
	now = lx_charge(c, now);
	if (lx_release_now(c, now) && c->depth && lx_are_passed(c))
		c->draining = 1;
	lx_conclude(c, now, &o);
	o.preempt |= c->draining;
	lx_unlock(&c->lock);
	/* The kernel may just be about to switch. */
	return o.preempt || (now > since + LX_TAKEN && lx_is_taken(c));
}

/* Whether the CPU that is asked is another than this one: it may switch to another class meanwhile, and
 * would not hear. */
LX_INLINE int lx_is_elsewhere(u32 cpu)
{
	return machine.cpus > 1 && !machine.told && bpf_get_smp_processor_id() != cpu;
}

/* A budget ends or a release is due: the CPU looks again. Interrupts are on here, so without need the lock
 * is left alone; a timer that is set twice calls once too often. */
static int lx_alarm(void *map, u32 *key, struct bpf_timer *timer)
{
	struct lx_cpu *c = lx_cpu(*key);
	u64 due, now = bpf_ktime_get_ns();
	unsigned long flags;
	u32 round;
	(void)map;

	if (!c)
		return 0;
	LX_SEEN(c->armed) = 0;
	due = LX_SEEN(c->due);
	if (due == LX_NEVER)
		return 0;
	if (due > now + LX_SOON) {
		LX_SEEN(c->armed) = due;
		/* Somebody may have wanted it earlier in between. */
		for (round = lx_zero; round < LX_ROUNDS && lx_may_loop; round += 1 + lx_zero) {
			bpf_timer_start(timer, due, BPF_F_TIMER_ABS);
			if (LX_SEEN(c->due) >= due)
				break;
			due = LX_SEEN(c->due);
		}
		return 0;
	}
	if (LX_SEEN(c->depth)) {
		u32 other;

		bpf_local_irq_save(&flags);
		other = lx_look_below(c);
		bpf_local_irq_restore(&flags);
		if (!other)
			return 0;
	}
	if (lx_is_taken(c) || lx_is_elsewhere(*key)) {
		u64 again = now + LX_TAKEN;

		/* Unless it is to be looked earlier anyway. */
		due = LX_SEEN(c->due);
		if (due > now)
			again = lx_min(again, lx_max(due, now + LX_SOON));
		LX_SEEN(c->armed) = again;
		bpf_timer_start(timer, again, BPF_F_TIMER_ABS);
	}
	if (lx_is_shut(c))
		lx_call_active();
	else
		scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	return 0;
}

#endif
