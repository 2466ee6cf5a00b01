/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Callback of the CPU timers.
 */
#ifndef LAXITY_SCX_TIMER_CALLBACK_H
#define LAXITY_SCX_TIMER_CALLBACK_H

#include "blocked.h"
#include "decide.h"
#include "hotplug.h"

/* Returns true if a higher class has the CPU while a task of ours would continue: `dispatch` would
 * not be called then. */
LX_INLINE int lx_higher_class_runs(const struct lx_cpu *c)
{
	u32 slot = READ_ONCE(c->run.current);
	const struct lx_task *t = slot == LX_NONE ? NULL : lx_task_at(slot);

	return !machine.has_run_hooks && t && t->task_addr && lx_is_runnable(slot) &&
	       !lx_task_struct(t)->on_cpu;
}

/* Requires the lock. A waiting task should preempt the CPU. While a higher class runs, a kick has no
 * effect, and the task below would resume without a decision; so the timer kicks again. A kick that
 * arrives before the picked task has started has no effect either; with run hooks, there is a decision
 * then unless it is the picked one. Nor has a kick while the CPU comes online. */
LX_GLOBAL_FN u32 lx_request_preempt(struct lx_cpu *c __arg_nonnull)
{
	if (machine.has_run_hooks && c->run.next != c->run.current)
		lx_run_pick(&c->run, LX_NONE);
	if (lx_higher_class_runs(c) || lx_is_offline(c))
		lx_arm_poll(c, c->clock);
	return 0;
}

/* Returns true if more servers precede the first parked task than there are tasks before it in the
 * run state. */
LX_GLOBAL_FN u32 lx_local_queue_overtaken(struct lx_cpu *c __arg_nonnull)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 i, before = 0, last = lx_member(c->run.local_queue[0])->server;
	u64 key;

	if (last == LX_NONE || !lx_heap_contains(h, last))
		return 0;
	key = lx_heap_key(h, last);
	for (i = lx_zero; i < h->count && can_loop; i += 1 + lx_zero)
		before += lx_at(h->node, i)->key < key ? 1 + lx_zero : 0;
	return before > c->run.nr_local;
}

/* Called by the timer while tasks are parked: a budget may have ended, a release may be due, or a
 * task of the run state may have blocked. Returns true if the CPU must reschedule, also if the
 * right task is not on the CPU because a higher class has it or because the kernel resumed tasks in
 * another order. */
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
	if (lx_process_due(c, now) && c->run.nr_local && lx_local_queue_overtaken(c))
		lx_run_drain(&c->run);
	lx_decide(c, now, &o);
	/* A timer that kicks again must not find that it is needed later. */
	if (o.preempt)
		c->due = lx_min(c->due, now + LX_HIGHER_CLASS_POLL_NS);
	lx_unlock(&c->lock);
	/* The kernel may be about to switch. */
	return o.preempt || (now > since + LX_HIGHER_CLASS_POLL_NS && lx_higher_class_runs(c));
}

/* Returns true if the timer's CPU is another one: it may switch to a higher class before the kick
 * arrives, which then has no effect. */
LX_INLINE int lx_is_remote(u32 cpu)
{
	return machine.cpus > 1 && !machine.has_run_hooks && bpf_get_smp_processor_id() != cpu;
}

/* Fires at the end of a budget or at a release, and makes the CPU reschedule. Interrupts are
 * enabled here, so the lock is taken only if tasks are parked; a timer that two CPUs set fires once
 * too often, which is harmless. */
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
	if (lx_is_offline(c)) {
		lx_offline_timer_fired(c, timer, now);
		return 0;
	}
	due = READ_ONCE(c->due);
	if (due == LX_NEVER)
		return 0;
	if (due > now + LX_MIN_DELAY_NS) {
		WRITE_ONCE(c->armed, due);
		/* Another CPU may have set an earlier time meanwhile. */
		for (round = lx_zero; round < LX_MAX_RETRIES && can_loop; round += 1 + lx_zero) {
			bpf_timer_start(timer, due, BPF_F_TIMER_ABS);
			if (READ_ONCE(c->due) >= due)
				break;
			due = READ_ONCE(c->due);
		}
		return 0;
	}
	if (READ_ONCE(c->run.nr_local)) {
		u32 other;

		bpf_local_irq_save(&flags);
		other = lx_timer_check_local(c);
		bpf_local_irq_restore(&flags);
		if (!other)
			return 0;
	}
	if (lx_higher_class_runs(c) || lx_is_remote(*key)) {
		u64 again = now + LX_HIGHER_CLASS_POLL_NS;

		/* Unless an earlier time is due anyway. */
		due = READ_ONCE(c->due);
		if (due > now)
			again = lx_min(again, lx_max(due, now + LX_MIN_DELAY_NS));
		WRITE_ONCE(c->armed, again);
		bpf_timer_start(timer, again, BPF_F_TIMER_ABS);
	}
	scx_bpf_kick_cpu(*key, SCX_KICK_PREEMPT);
	return 0;
}

#endif
