/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What the command asks: reserve, release, report. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_REQUESTS_H
#define LAXITY_SCX_REQUESTS_H

/* Shares are rounded up one by one; this much of that is forgiven. */
#define LX_ROUNDED 4096

/* A name space of task numbers, and a task's number there. */
struct lx_number {
	u64 space;
	u32 nr;
	u32 padding;
};

/* The number of a task at a level of nested name spaces, its own at the lowest. */
LX_INLINE struct lx_number lx_number_at(const struct task_struct *p, u32 level)
{
	const struct pid *pid = p->thread_pid;
	struct lx_number number = {};
	const char *at = (const char *)&pid->numbers[0];

	at += level * __builtin_preserve_type_info(*(struct upid *)0, 1);
	bpf_probe_read_kernel(&number.nr, sizeof(number.nr), &((const struct upid *)at)->nr);
	bpf_probe_read_kernel(&number.space, sizeof(number.space), &((const struct upid *)at)->ns);
	return number;
}

/* A task's number in the PID namespace of the program that asks: programs ask from name spaces of their own, as those of
 * containers, and are not to be told of another task. Zero where it is not seen. */
LX_INLINE u32 lx_number_here(u32 pid)
{
	struct task_struct *asks = bpf_get_current_task_btf(), *p;
	struct lx_number own, its = {};
	u32 level = asks->thread_pid->level;

	/* In the first of them all are seen, and the numbers are the kernel's. */
	if (!level)
		return pid;
	p = bpf_task_from_pid(pid);
	if (!p)
		return 0;
	own = lx_number_at(asks, level);
	if (p->thread_pid->level >= level)
		its = lx_number_at(p, level);
	bpf_task_release(p);
	return its.space == own.space ? its.nr : 0;
}

struct lx_request {
	u64 budget;
	u64 period;
	/* Answer: in so many ns it is in force, when best effort has given back what it used ahead. */
	u64 delay;
	u32 pid;
	u32 cpu;
	u32 inherit;
	u32 owner;
	/* The reservation that a task is of, counted from one; zero for none. */
	u32 number;
	/* Zero, or an error number. */
	u32 error;
	/* If it cannot begin at once, it shall begin later. */
	u32 patient;
	u32 padding;
};

/* Under the lock: those that would go on by themselves do not, and the CPU is asked. */
LX_INLINE void lx_drain(struct lx_cpu *c)
{
	if (c->depth) {
		c->draining = 1;
		scx_bpf_kick_cpu(c->cpu, SCX_KICK_PREEMPT);
	}
}

/* A task that waits or sleeps moves now, one that runs as soon as it stops. */
LX_INLINE void lx_nudge(struct lx_task *t, u32 slot)
{
	u64 now = bpf_ktime_get_ns();
	struct lx_outcome o;
	struct lx_cpu *c = lx_enter(t);
	u32 runs;

	if (!c)
		return;
	runs = lx_is_here(c, slot) || c->chosen == slot;
	if (runs)
		lx_drain(c);
	lx_unlock(&c->lock);
	if (runs) {
		scx_bpf_kick_cpu(LX_SEEN(t->home), SCX_KICK_PREEMPT);
		return;
	}
	lx_adopt(t, slot, now);
	c = lx_enter(t);
	if (!c)
		return;
	now = lx_charge(c, now);
	if (t->queued) {
		lx_settle_in(c, t, slot, now);
		lx_wakes(c, now, slot);
	}
	lx_conclude(c, now, &o);
	lx_unlock(&c->lock);
	lx_act(&o);
}

/* A task shall be of a reservation, if it is still there: its slot may be another's by now. */
LX_INLINE u32 lx_promise(struct task_struct *p, struct lx_task *t, u32 number)
{
	struct lx_cpu *c = lx_enter(t);
	u32 there;

	if (!c)
		return 0;
	there = lx_task_of(p, NULL) == t && !t->reservation && !t->pending;
	if (there)
		t->pending = number;
	lx_unlock(&c->lock);
	return there;
}

/* A reservation for a task that has none. Whether it fits was asked before, in user space, which knows what to
 * answer; here it is only made sure. */
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
	bpf_rcu_read_lock();
	allowed = bpf_cpumask_test_cpu(q->cpu, p->cpus_ptr);
	bpf_rcu_read_unlock();
	if (!allowed || !lx_is_active(q->cpu))
		return EINVAL;
	while (number < LX_RESERVATIONS && lx_may_loop) {
		number++;
		r = lx_reservation_at(number);
		if (r && !__sync_val_compare_and_swap(&r->used, 0, 1))
			break;
		r = NULL;
	}
	if (!r)
		return ENOMEM;
	now = bpf_ktime_get_ns();
	if (!lx_lock(&c->lock)) {
		r->used = 0;
		return EBUSY;
	}
	now = lx_charge(c, now);
	lx_catch_up(&c->servers, now);
	share = lx_share(q->budget, q->period, 1);
	server = LX_NONE;
	if (!q->patient && lx_pressed(&c->servers))
		error = EAGAIN;
	else if (c->servers.need + share <= LX_ONE - setup.kept + LX_ROUNDED)
		server = lx_found(&c->servers, now, 20, q->budget, q->period);
	if (server == LX_NONE) {
		r->used = 0;
		lx_unlock(&c->lock);
		return error;
	}
	lx_record(LX_RESERVED, c, now, number, q->budget, q->period);
	lx_server(&c->servers, server)->members = 1;
	*delay = lx_server(&c->servers, server)->end;
	*delay -= lx_min(*delay, now);
	r->budget = q->budget;
	r->period = q->period;
	r->cpu = q->cpu;
	r->server = server;
	r->inherit = q->inherit;
	r->pid = p->pid;
	r->owner = q->owner;
	lx_drain(c);
	lx_unlock(&c->lock);
	if (!lx_promise(p, t, number)) {
		lx_drop(number);
		return ESRCH;
	}
	lx_nudge(t, slot);
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

SEC("syscall")
int laxity_release(struct lx_request *q)
{
	struct task_struct *p = bpf_task_from_vpid(q->pid);
	u32 slot = 0, error = ESRCH;
	unsigned long flags;
	struct lx_task *t;

	q->error = ESRCH;
	if (!p)
		return 0;
	bpf_local_irq_save(&flags);
	t = lx_task_of(p, &slot);
	if (t) {
		error = ENOENT;
		if (t->pending && t->pending != LX_RELEASE) {
			error = EBUSY;
		} else if (t->reservation) {
			error = 0;
			t->pending = LX_RELEASE;
			lx_nudge(t, slot);
		}
	}
	bpf_local_irq_restore(&flags);
	q->error = error;
	bpf_task_release(p);
	return 0;
}

/* Which reservation a task is of, or will be. */
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
		q->number = lx_is_bound(t);
	}
	bpf_task_release(p);
	return 0;
}

struct lx_report {
	/* Asked for: a CPU, or a reservation counted from one. */
	u32 cpu;
	u32 reservation;
	/* Of the CPU. */
	u64 need;
	u64 load;
	u64 servers;
	u64 switches;
	u64 taken;
	u64 overrun;
	u64 late_release;
	/* Of the reservation; the last two, without one, of all that were on the CPU. */
	u64 members;
	u64 late;
	u64 latest;
	/* Asked for, and 0 when done: the counts of what was worst start at zero again. Without the lock, so that what
	 * happens meanwhile may be lost. */
	u64 anew;
	/* Of the reservation: its first task, by its number for the program that asks. */
	u64 pid;
};

SEC("syscall")
int laxity_report(struct lx_report *q)
{
	struct lx_reservation *r = q->reservation ? lx_reservation_at(q->reservation) : NULL;
	u32 cpu = LX_SEEN(q->cpu);
	struct lx_cpu *c;

	if (r)
		cpu = r->cpu;
	c = lx_cpu(cpu);
	if (!c)
		return 0;
	q->need = c->servers.need;
	q->load = c->servers.bandwidth.load;
	q->servers = c->servers.living;
	q->switches = c->switches;
	q->taken = c->taken;
	q->overrun = c->overrun;
	q->late_release = c->late_release;
	q->late = c->servers.late;
	q->latest = c->servers.latest;
	if (q->anew) {
		c->servers.late = 0;
		c->servers.latest = 0;
		c->overrun = 0;
		c->late_release = 0;
		q->anew = 0;
	}
	if (r) {
		struct lx_server *s = lx_server(&c->servers, r->server);

		q->members = s->members;
		q->late = s->late;
		q->latest = s->latest;
		q->pid = lx_number_here(r->pid);
	}
	return 0;
}

struct lx_change {
	struct lx_rules rules;
	u64 kept;
	u32 policy;
	/* How many CPUs have it now. */
	u32 changed;
};

LX_INLINE u32 lx_change_cpu(u32 cpu)
{
	struct lx_cpu *c = lx_cpu(cpu);
	u64 now = bpf_ktime_get_ns();
	struct lx_outcome o;

	if (!c || !lx_lock(&c->lock))
		return 0;
	now = lx_charge(c, now);
	lx_change_rules(&c->servers, now, &setup.rules);
	lx_conclude(c, now, &o);
	lx_drain(c);
	lx_unlock(&c->lock);
	lx_act(&o);
	return 1;
}

/* Another policy for all tasks, where they are. */
SEC("syscall")
int laxity_change(struct lx_change *q)
{
	unsigned long flags;
	u32 k;

	setup.rules = q->rules;
	setup.kept = q->kept;
	setup.policy = q->policy;
	for (k = lx_zero; k < machine.cpus && lx_may_loop; k += 1 + lx_zero) {
		bpf_local_irq_save(&flags);
		q->changed += lx_change_cpu(k);
		bpf_local_irq_restore(&flags);
	}
	return 0;
}

struct lx_task_report {
	/* Asked for. */
	u32 slot;
	/* Slots that there ever were. */
	u32 slots;
	/* Zero for a task of which nothing is inferred, or that has slept for long. */
	u32 pid;
	u32 cpu;
	u64 budget;
	u64 period;
};

/* What best effort's tasks were found to need. */
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
	q->slots = free->used;
	q->cpu = t->home;
	server = lx_member(slot)->server;
	c = lx_cpu(t->home);
	if (!c || server == LX_NONE || server == c->crowd)
		return 0;
	s = lx_server(&c->servers, server);
	if (s->kind == LX_HARD || !s->counted || !s->period)
		return 0;
	q->pid = lx_number_here(t->pid);
	q->budget = s->budget;
	q->period = s->period;
	return 0;
}

#endif
