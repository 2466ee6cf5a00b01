/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Tasks go from servers to servers: to another CPU, into a reservation, away. Part of
 * laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_MIGRATE_H
#define LAXITY_SCX_MIGRATE_H

/* Whether a task cannot leave its CPU now. Where read sections can be preempted the kernel keeps
 * a task that calls a program like this one on its CPU meanwhile, and counts that with the task's own
 * wishes: a task that is put aside would seem to stay for good. */
LX_INLINE int lx_is_migration_disabled(struct task_struct *p)
{
	u32 ours = bpf_core_field_exists(p->rcu_read_lock_nesting) &&
		   bpf_get_current_task_btf() == p;

	return p->migration_disabled > ours;
}

/* Whether a task that waits cannot be handed over to a CPU yet: the one that puts it aside has not
 * gone on to the next. As long as that still calls programs in the task's name, the kernel counts
 * them as its wish to stay, and takes a scheduler away that moves it. The CPU asks again soon. */
LX_INLINE int lx_still_on_cpu(const struct task_struct *p, u32 cpu)
{
	if (!READ_ONCE(p->on_cpu) || scx_bpf_task_cpu(p) == (s32)cpu)
		return 0;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 1;
}

/* Under the lock: a task leaves its server. */
LX_INLINE void lx_task_detach(struct lx_cpu *c, struct lx_task *t, struct lx_reservation *r,
			      u32 slot, u64 now)
{
	struct lx_member *m = lx_member(slot);

	lx_run_remove_task(c, slot, now);
	if (c->ksoftirqd == slot)
		c->ksoftirqd = LX_NONE;
	if (m->server == LX_NONE) {
		/* Of a reservation, and asleep since. */
		if (r)
			lx_reservation_put(c, r, now);
		return;
	}
	lx_record(LX_LEFT, c, now, slot, 0, 0);
	if (m->server != c->overflow_server && !r)
		t->learnt_average = lx_learnt_average(lx_server(&c->servers, m->server));
	lx_leave(&c->servers, now, slot, 0);
	if (r && !lx_server(&c->servers, r->server)->nr_members)
		r->in_use = 0;
}

/* Under the lock: a task without servers gets into some. Only under it what a task is of is the truth: with
 * its reservation it also gets that one's CPU. */
LX_INLINE void lx_task_attach(struct lx_cpu *c, const struct lx_task *t, u32 slot, u64 now)
{
	const struct lx_reservation *r = lx_reservation_of(t);
	struct lx_member *m = lx_member(slot);
	u32 server;

	if (m->server != LX_NONE)
		return;
	if (r) {
		/* It has counted as a member since it was on its way. */
		m->server = r->server;
		m->runnable = 0;
		m->next = LX_NONE;
		lx_record(LX_BOUND, c, now, slot, t->reservation, 0);
		return;
	}
	lx_record(LX_JOINED, c, now, slot, t->weight, t->learnt_average);
	server = lx_server_create(&c->servers, now, t->weight, 0, 0);
	if (server == LX_NONE)
		server = c->overflow_server;
	else if (t->learnt_average)
		lx_server(&c->servers, server)->average = t->learnt_average;
	lx_member_attach(&c->servers, server, slot);
}

/* To the servers of another CPU, which it enters later; unless it has a reservation by now. */
LX_INLINE void lx_leave_cpu(struct lx_task *t, u32 slot, u64 now, u32 to)
{
	struct lx_cpu *c = lx_lock_home(t);

	if (!c)
		return;
	if (!t->reservation && !t->pending) {
		now = lx_charge_current(c, now);
		lx_task_detach(c, t, NULL, slot, now);
		t->home_cpu = to;
	}
	lx_unlock(&c->lock);
}

/* What was asked for a task comes to be: it leaves its servers for those of a reservation, or of
 * none. */
LX_INLINE void lx_apply_pending(struct lx_task *t, u32 slot, u64 now)
{
	struct lx_cpu *c = lx_lock_home(t);

	if (!c)
		return;
	now = lx_charge_current(c, now);
	if (t->pending) {
		u32 number = lx_bound_reservation(t), to = lx_bound_cpu(t);

		lx_task_detach(c, t, lx_reservation_of(t), slot, now);
		t->reservation = number;
		t->pending = 0;
		if (number)
			t->home_cpu = to;
	}
	lx_unlock(&c->lock);
}

/* A task is gone. */
LX_INLINE void lx_task_exit(struct lx_task *t, u32 slot)
{
	u64 now = bpf_ktime_get_ns();
	struct lx_cpu *c = lx_lock_home(t);
	u32 pending = 0;

	if (!c)
		return;
	now = lx_charge_current(c, now);
	lx_task_detach(c, t, lx_reservation_of(t), slot, now);
	if (t->pending && t->pending != LX_PENDING_RELEASE)
		pending = t->pending;
	t->pending = 0;
	t->reservation = 0;
	t->queued = 0;
	lx_unlock(&c->lock);
	if (pending)
		lx_reservation_cancel(pending);
}

LX_INLINE void lx_task_blocks(struct task_struct *p)
{
	u64 now = bpf_ktime_get_ns();
	u32 slot = 0;
	struct lx_task *t = lx_task_of(p, &slot);
	struct lx_cpu *c;

	if (!t)
		return;
	lx_task_unhold(t);
	c = lx_lock_home(t);
	if (!c)
		return;
	now = lx_charge_current(c, now);
	t->queued = 0;
	lx_run_remove_task(c, slot, now);
	lx_on_block(c, now, slot);
	lx_unlock(&c->lock);
}

/* Whether a task that leaves its class gets that of somebody who waits for it: it did not ask for another.
 * Kernels tell before or after its own priorities are changed. */
LX_INLINE int lx_is_priority_boosted(const struct task_struct *p)
{
	const struct task_struct *waits = p->pi_top_task;

	return waits && waits->prio < MAX_RT_PRIO && p->normal_prio >= MAX_RT_PRIO;
}

/* Who was chosen is not there, unless it came or went elsewhere since. */
LX_INLINE void lx_discard_stale_pick(struct lx_cpu *c, const struct lx_task *t, u32 slot)
{
	u64 now = bpf_ktime_get_ns();

	if (!lx_lock(&c->lock))
		return;
	now = lx_charge_current(c, now);
	lx_run_remove_task(c, slot, now);
	if (READ_ONCE(t->home_cpu) == c->cpu && !READ_ONCE(t->queued))
		lx_on_block(c, now, slot);
	lx_unlock(&c->lock);
}

/* The running task would go on: its slot, unless it is to go elsewhere first. */
LX_INLINE u32 lx_prev_slot(struct task_struct *prev, u32 cpu)
{
	u32 slot = 0;
	struct lx_task *t = lx_task_of(prev, &slot);

	if (!t)
		return LX_NONE;
	if (!t->pending)
		return t->home_cpu == cpu ? slot : LX_NONE;
	lx_apply_pending(t, slot, bpf_ktime_get_ns());
	return LX_NONE;
}

#endif
