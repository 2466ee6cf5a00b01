/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * A CPU's timer calls. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_CALLED_H
#define LAXITY_SCX_CALLED_H

/* While another class has the CPU, it is looked so often whether it still has. */
#define LX_TAKEN 50000

/* From the timer, where somebody waits in the kernel's queue: a budget may end, or a release be due, or who
 * had the CPU sleep since. Tells whether the CPU is to be asked. */
LX_INLINE u32 lx_look_below(struct lx_cpu *c)
{
	u64 now = bpf_ktime_get_ns();
	struct lx_outcome o;

	o.preempt = 0;
	if (!lx_lock(&c->lock))
		return 1;
	lx_notice(c, now);
	now = lx_charge(c, now);
	lx_release_now(c, now);
	lx_conclude(c, now, &o);
	lx_unlock(&c->lock);
	return o.preempt;
}

/* Whether another class has the CPU, while one of ours would go on: it would not be asked to choose. */
LX_INLINE int lx_is_taken(const struct lx_cpu *c)
{
	u32 slot = LX_SEEN(c->current);
	const struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);

	return !machine.told && t && t->at && lx_is_awake(slot) && !lx_seen(t)->on_cpu;
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
	if (lx_is_taken(c)) {
		LX_SEEN(c->armed) = now + LX_TAKEN;
		bpf_timer_start(timer, now + LX_TAKEN, BPF_F_TIMER_ABS);
	}
	if (lx_is_shut(c))
		lx_call_active();
	else
		scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	return 0;
}

#endif
