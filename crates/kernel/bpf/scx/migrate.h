/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Moves tasks between servers: to another CPU, into or out of a reservation, and out of the
 * scheduler.
 */
#ifndef LAXITY_SCX_MIGRATE_H
#define LAXITY_SCX_MIGRATE_H

#include "accounting.h"
#include "local_queue.h"
#include "dispatch.h"
#include "reservations.h"

/* Returns true if a task cannot leave its CPU now. With preemptible RCU the kernel disables
 * migration of the task in whose context a program runs, in the same counter; that count is
 * subtracted, otherwise every preempted task would look pinned. */
LX_INLINE int lx_is_migration_disabled(struct task_struct *p)
{
	u32 ours = bpf_core_field_exists(p->rcu_read_lock_nesting) &&
		   bpf_get_current_task_btf() == p;

	return p->migration_disabled > ours;
}

/* Returns true if a waiting task cannot be dispatched to a CPU yet, because its own CPU has not
 * switched to the next task. Until then programs that run in its context raise its
 * migration-disable counter, and sched_ext ejects a scheduler that moves such a task. Makes the CPU
 * try again soon. */
LX_INLINE int lx_still_on_cpu(const struct task_struct *p, u32 cpu)
{
	if (!READ_ONCE(p->on_cpu) || scx_bpf_task_cpu(p) == (s32)cpu)
		return 0;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 1;
}

/* Requires the lock. A task leaves its server. */
LX_INLINE void lx_task_detach(struct lx_cpu *c, struct lx_task *t, struct lx_reservation *r,
			      u32 slot, u64 now)
{
	struct lx_member *m = lx_member(slot);

	lx_cpu_remove_task(c, slot, now);
	if (c->ksoftirqd == slot)
		c->ksoftirqd = LX_NONE;
	if (m->server == LX_NONE) {
		/* The task belonged to a reservation and was still moving to it. */
		if (r)
			lx_reservation_put(c, r, t->reservation, now);
		return;
	}
	lx_record(LX_LEFT, c, now, slot, 0, 0);
	if (m->server != c->overflow_server && !r)
		t->learnt_average = lx_learnt_average(lx_server(&c->servers, m->server));
	lx_leave(&c->servers, now, slot, 0);
	if (r && !lx_server(&c->servers, r->server)->nr_members)
		r->in_use = 0;
}

/* Requires the lock. A task without a server gets one. Only the lock makes `reservation` and
 * `home_cpu` consistent. */
LX_INLINE void lx_task_attach(struct lx_cpu *c, const struct lx_task *t, u32 slot, u64 now)
{
	const struct lx_reservation *r = lx_reservation_of(t);
	struct lx_member *m = lx_member(slot);
	u32 server;

	if (m->server != LX_NONE)
		return;
	if (r) {
		/* It has counted as a member since the request. */
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

/* Leaves the servers of its CPU for those of another, unless it has a reservation. */
LX_INLINE void lx_leave_cpu(struct lx_task *t, u32 slot, u64 now, u32 to)
{
	struct lx_cpu *c = lx_lock_home(t);

	if (!c)
		return;
	if (!t->reservation && !t->pending) {
		now = lx_charge_current(c, now);
		lx_task_detach(c, t, NULL, slot, now);
		t->home_cpu = to;
		t->arrived = now;
	}
	lx_unlock(&c->lock);
}

/* Requires the lock. Carries out a pending request: the task leaves its server, for a reservation or for
 * best effort. */
LX_INLINE void lx_apply_locked(struct lx_cpu *c, struct lx_task *t, u32 slot, u64 now)
{
	u32 number = lx_bound_reservation(t), to = lx_bound_cpu(t);

	now = lx_charge_current(c, now);
	lx_task_detach(c, t, lx_reservation_of(t), slot, now);
	t->reservation = number;
	t->pending = 0;
	if (number)
		t->home_cpu = to;
}

/* The same without the lock, if a request is pending. A global function, because the stacks of its
 * callers are full. */
LX_GLOBAL_FN u32 lx_apply_pending(u32 slot, u64 now)
{
	struct lx_task *t = lx_task_at(slot);
	struct lx_cpu *c = t ? lx_lock_home(t) : NULL;

	if (!c)
		return 0;
	if (t->pending)
		lx_apply_locked(c, t, slot, now);
	lx_unlock(&c->lock);
	return 0;
}

/* The same for a requester, unless the task is in the run state of its CPU, or dispatched there and about
 * to start: in one hold of the lock, since it may be picked at any time. Returns true if it is. */
LX_GLOBAL_FN u32 lx_apply_unless_runs(struct lx_cpu *c __arg_nonnull, u32 slot, u64 now)
{
	struct lx_task *t = lx_task_at(slot);

	if (!t)
		return 0;
	if (lx_run_contains(&c->run, slot) || (c->run.next == slot && !READ_ONCE(t->queued)))
		return 1;
	if (t->pending)
		lx_apply_locked(c, t, slot, now);
	return 0;
}

/* The task leaves the scheduler. Returns false if the lock was not acquired. */
LX_INLINE int lx_task_exit(struct lx_task *t, u32 slot)
{
	u64 now = bpf_ktime_get_ns();
	struct lx_cpu *c = lx_lock_home(t);
	u32 pending = 0;

	if (!c)
		return 0;
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
	return 1;
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
	lx_cpu_remove_task(c, slot, now);
	lx_on_block(c, now, slot);
	lx_unlock(&c->lock);
}

/* Returns true if a task leaves its class because it inherits the priority of a waiter, not by its
 * own request. Kernels differ in whether they call this before or after the change of priority. */
LX_INLINE int lx_is_priority_boosted(const struct task_struct *p)
{
	const struct task_struct *waits = p->pi_top_task;

	return waits && waits->prio < MAX_RT_PRIO && p->normal_prio >= MAX_RT_PRIO;
}

/* The picked task could not be dispatched; blocks it unless it was enqueued or moved meanwhile. */
LX_INLINE void lx_discard_stale_pick(struct lx_cpu *c, const struct lx_task *t, u32 slot)
{
	u64 now = bpf_ktime_get_ns();

	if (!lx_lock(&c->lock))
		return;
	now = lx_charge_current(c, now);
	lx_cpu_remove_task(c, slot, now);
	if (READ_ONCE(t->home_cpu) == c->cpu && !READ_ONCE(t->queued))
		lx_on_block(c, now, slot);
	lx_unlock(&c->lock);
}

/* Slot of the previous task if it may continue on this CPU; carries out a pending move first. */
LX_INLINE u32 lx_prev_slot(struct task_struct *prev, u32 cpu)
{
	u32 slot = 0;
	struct lx_task *t = lx_task_of(prev, &slot);

	if (!t)
		return LX_NONE;
	if (!t->pending)
		return t->home_cpu == cpu ? slot : LX_NONE;
	lx_apply_pending(slot, bpf_ktime_get_ns());
	return LX_NONE;
}

#endif
