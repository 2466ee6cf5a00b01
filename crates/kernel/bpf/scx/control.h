/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Requests of the loader: reserve, release, report, change of policy.
 */
#ifndef LAXITY_SCX_CONTROL_H
#define LAXITY_SCX_CONTROL_H

#include <laxity/policy_change.h>

#include "blocked.h"
#include "join.h"
#include "timer_callback.h"

/* Tolerance for shares that are rounded up one by one. */
#define LX_SHARE_ROUNDING 4096

/* A PID namespace and a number in it. */
struct lx_ns_pid {
	u64 space;
	u32 nr;
	u32 padding;
};

/* Number of a task at a level of the namespace hierarchy; its own namespace has the highest
 * level. */
LX_INLINE struct lx_ns_pid lx_ns_pid_at(const struct task_struct *p, u32 level)
{
	const struct pid *pid = p->thread_pid;
	struct lx_ns_pid number = {};
	const char *at = (const char *)&pid->numbers[0];

	at += level * __builtin_preserve_type_info(*(struct upid *)0, 1);
	bpf_probe_read_kernel(&number.nr, sizeof(number.nr), &((const struct upid *)at)->nr);
	bpf_probe_read_kernel(&number.space, sizeof(number.space), &((const struct upid *)at)->ns);
	return number;
}

/* Number of a task in the PID namespace of the caller, which may run in a container; zero if the
 * task is not visible there. */
LX_INLINE u32 lx_pid_for_caller(u32 pid)
{
	struct task_struct *asks = bpf_get_current_task_btf(), *p;
	struct lx_ns_pid own, its = {};
	u32 level = asks->thread_pid->level;

	/* The root namespace sees all tasks by their global numbers. */
	if (!level)
		return pid;
	p = bpf_task_from_pid(pid);
	if (!p)
		return 0;
	own = lx_ns_pid_at(asks, level);
	if (p->thread_pid->level >= level)
		its = lx_ns_pid_at(p, level);
	bpf_task_release(p);
	return its.space == own.space ? its.nr : 0;
}

/* Moves a waiting or blocked task now, a running one as soon as it stops. */
LX_INLINE void lx_move_now(struct lx_task *t, u32 slot)
{
	u64 now = bpf_ktime_get_ns();
	struct lx_cpu *c = lx_lock_home(t);
	u32 runs;

	if (!c)
		return;
	/* It may have blocked while tasks were parked below it. */
	if (!machine.has_run_hooks)
		lx_update_blocked(c, lx_max(now, c->clock));
	runs = lx_apply_unless_runs(c, slot, now);
	if (runs)
		lx_reschedule(c, now);
	lx_unlock(&c->lock);
	if (!runs)
		lx_join_home(slot, now);
}

/* Assigns a task to a reservation if it still exists; its slot may belong to another task by
 * now. */
LX_INLINE u32 lx_bind_task(struct task_struct *p, struct lx_task *t, u32 number)
{
	struct lx_cpu *c = lx_lock_home(t);
	u32 there;

	if (!c)
		return 0;
	there = lx_task_of(p, NULL) == t && !t->reservation && !t->pending;
	if (there)
		t->pending = number;
	lx_unlock(&c->lock);
	return there;
}

/* Makes a reservation for a task that has none. User space checks admission, since it can explain a
 * refusal; this is a safety check. */
LX_INLINE u32 lx_reserve_for(const struct lx_request *q, struct task_struct *p, u64 *delay)
{
	u32 slot = 0, server, number = 0, error = ENOSPC;
	struct lx_task *t = lx_task_of(p, &slot);
	struct lx_cpu *c = lx_cpu(q->cpu);
	struct lx_reservation *r = NULL;
	u64 share, now;
	int allowed;

	if (!t || !c)
		return ESRCH;
	if (t->reservation || t->pending)
		return EBUSY;
	/* The caller has compared with the affinity. The mask is that of one CPU while migration is
	 * disabled, as for a task that reserves for itself and was preempted within this program. */
	bpf_rcu_read_lock();
	allowed = p->migration_disabled || bpf_cpumask_test_cpu(q->cpu, p->cpus_ptr);
	bpf_rcu_read_unlock();
	if (!allowed || !lx_is_active(q->cpu))
		return EINVAL;
	while (number < LX_MAX_RESERVATIONS && can_loop) {
		number++;
		r = lx_reservation_at(number);
		if (r && !__sync_val_compare_and_swap(&r->in_use, 0, 1))
			break;
		r = NULL;
	}
	if (!r)
		return ENOMEM;
	now = bpf_ktime_get_ns();
	if (!lx_lock(&c->lock)) {
		r->in_use = 0;
		return EBUSY;
	}
	now = lx_charge_current(c, now);
	lx_reclaim_up_to(&c->servers, now);
	share = lx_share(q->budget, q->period, 1);
	server = LX_NONE;
	if (!q->deferrable && lx_reservation_pending(&c->servers))
		error = EAGAIN;
	else if (c->servers.reserved_bw + share <=
		 LX_FULL_SHARE - setup.best_effort_bw_min + LX_SHARE_ROUNDING)
		server = lx_server_create(&c->servers, now, 20, q->budget, q->period);
	if (server == LX_NONE) {
		r->in_use = 0;
		lx_unlock(&c->lock);
		return error;
	}
	lx_record(LX_RESERVED, c, now, number, q->budget, q->period);
	lx_server(&c->servers, server)->nr_members = 1;
	*delay = lx_server(&c->servers, server)->period_end;
	*delay -= lx_min(*delay, now);
	r->budget = q->budget;
	r->period = q->period;
	r->overhead = q->overhead;
	r->cpu = q->cpu;
	r->server = server;
	r->inherit = q->inherit;
	r->pid = p->pid;
	r->owner = q->owner;
	lx_reschedule(c, now);
	lx_unlock(&c->lock);
	if (!lx_bind_task(p, t, number)) {
		lx_reservation_cancel(number);
		return ESRCH;
	}
	lx_move_now(t, slot);
	return 0;
}

SEC("syscall")
int laxity_reserve(struct lx_request *q)
{
	struct task_struct *p = bpf_task_from_vpid(q->pid);
	unsigned long flags;
	u64 delay = 0;
	u32 error;

	q->error = ESRCH;
	if (!p)
		return 0;
	bpf_local_irq_save(&flags);
	error = lx_reserve_for(q, p, &delay);
	bpf_local_irq_restore(&flags);
	q->error = error;
	q->delay = delay;
	bpf_task_release(p);
	return 0;
}

/* Makes a task leave its reservation. What is pending for it is carried out now, if it is not
 * running. */
LX_INLINE u32 lx_release_from(struct task_struct *p)
{
	u32 slot = 0, error = ESRCH, pending = 0;
	struct lx_task *t = lx_task_of(p, &slot);
	struct lx_cpu *c = t ? lx_lock_home(t) : NULL;

	if (!c)
		return error;
	/* Its slot may belong to another task by now. */
	if (lx_task_of(p, NULL) == t) {
		pending = t->pending;
		if (pending && pending != LX_PENDING_RELEASE) {
			error = EBUSY;
		} else if (t->reservation) {
			error = 0;
			pending = t->pending = LX_PENDING_RELEASE;
		} else {
			error = ENOENT;
		}
	}
	lx_unlock(&c->lock);
	if (pending)
		lx_move_now(t, slot);
	return error;
}

SEC("syscall")
int laxity_release(struct lx_request *q)
{
	struct task_struct *p = bpf_task_from_vpid(q->pid);
	unsigned long flags;
	u32 error;

	q->error = ESRCH;
	if (!p)
		return 0;
	bpf_local_irq_save(&flags);
	error = lx_release_from(p);
	bpf_local_irq_restore(&flags);
	q->error = error;
	bpf_task_release(p);
	return 0;
}

/* Reservation that a task belongs to or is moving to. */
SEC("syscall")
int laxity_find(struct lx_request *q)
{
	struct task_struct *p = bpf_task_from_vpid(q->pid);
	struct lx_task *t;

	q->error = ESRCH;
	q->number = 0;
	if (!p)
		return 0;
	t = lx_task_of(p, NULL);
	if (t) {
		q->error = 0;
		q->number = lx_bound_reservation(t);
	}
	bpf_task_release(p);
	return 0;
}

SEC("syscall")
int laxity_report(struct lx_report *q)
{
	struct lx_reservation *r = q->reservation ? lx_reservation_at(q->reservation) : NULL;
	u32 cpu = READ_ONCE(q->cpu);
	struct lx_cpu *c;

	if (r)
		cpu = r->cpu;
	c = lx_cpu(cpu);
	if (!c)
		return 0;
	q->reserved_bw = c->servers.reserved_bw;
	q->total_weight = c->servers.bandwidth.total_weight;
	q->servers = c->servers.nr_servers;
	q->switches = c->switches;
	q->steals = c->steals;
	q->max_overrun_ns = c->max_overrun_ns;
	q->max_release_lateness_ns = c->max_release_lateness_ns;
	q->deadline_misses = c->servers.deadline_misses;
	q->max_lateness_ns = c->servers.max_lateness_ns;
	if (q->reset) {
		c->servers.deadline_misses = 0;
		c->servers.max_lateness_ns = 0;
		c->max_overrun_ns = 0;
		c->max_release_lateness_ns = 0;
		q->reset = 0;
	}
	if (r) {
		struct lx_server *s = lx_server(&c->servers, r->server);

		q->members = s->nr_members;
		q->deadline_misses = s->deadline_misses;
		q->max_lateness_ns = s->max_lateness_ns;
		q->pid = lx_pid_for_caller(r->pid);
	}
	return 0;
}

LX_INLINE u32 lx_change_cpu(u32 cpu)
{
	struct lx_cpu *c = lx_cpu(cpu);
	u64 now = bpf_ktime_get_ns();

	if (!c || !lx_lock(&c->lock))
		return 0;
	now = lx_charge_current(c, now);
	lx_change_policy(&c->servers, now, &setup.rules);
	lx_reschedule(c, now);
	lx_unlock(&c->lock);
	return 1;
}

/* Changes the policy of all CPUs; tasks stay where they are. */
SEC("syscall")
int laxity_change(struct lxc_policy_change *q)
{
	unsigned long flags;
	u32 k;

	setup.rules = q->rules;
	setup.best_effort_bw_min = q->best_effort_bw_min;
	setup.switch_overhead = q->switch_overhead;
	setup.release_overhead = q->release_overhead;
	setup.policy = q->policy;
	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero) {
		bpf_local_irq_save(&flags);
		q->changed += lx_change_cpu(k);
		bpf_local_irq_restore(&flags);
	}
	return 0;
}

/* Budget and period that were inferred for a best-effort task. */
SEC("syscall")
int laxity_task(struct lx_task_report *q)
{
	u32 zero = 0, slot = q->slot, server;
	struct lx_pool *free = bpf_map_lookup_elem(&pool, &zero);
	struct lx_task *t = lx_task_at(slot);
	struct lx_server *s;
	struct lx_cpu *c;

	q->pid = 0;
	if (!free || !t)
		return 0;
	q->slots = free->nr_used;
	q->cpu = t->home_cpu;
	server = lx_member(slot)->server;
	c = lx_cpu(t->home_cpu);
	if (!c || server == LX_NONE || server == c->overflow_server)
		return 0;
	s = lx_server(&c->servers, server);
	if (s->kind == LX_HARD || !s->active_weight || !s->period)
		return 0;
	q->pid = lx_pid_for_caller(t->pid);
	q->budget = s->budget;
	q->period = s->period;
	return 0;
}

#endif
