/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Reservations: servers that tasks are put into from outside, and that go with their last task.
 * Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_RESERVATIONS_H
#define LAXITY_SCX_RESERVATIONS_H

#define LX_MAX_RESERVATIONS 256
/* Tasks of a reservation take turns, a budget each, so one of n that compute waits n periods. The kernel
 * takes a scheduler away that lets a task wait for 30 s: nobody shall wait for so long, in ns. */
#define LX_MAX_ROTATION_NS 20000000000ULL
/* In place of a reservation that a task shall be of: none. */
#define LX_PENDING_RELEASE (~0U)

struct lx_reservation {
	u64 budget;
	u64 period;
	u32 cpu;
	/* Its server there. Tasks that are on their way to it count as members. */
	u32 server;
	u32 in_use;
	/* Children are of it too. */
	u32 inherit;
	/* The first task, for people. */
	u32 pid;
	/* The user to whose share it counts. */
	u32 owner;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LX_MAX_RESERVATIONS);
	__type(key, u32);
	__type(value, struct lx_reservation);
} reservations SEC(".maps");

/* Counted from one. */
LX_INLINE struct lx_reservation *lx_reservation_at(u32 number)
{
	u32 at = number - 1;

	return bpf_map_lookup_elem(&reservations, &at);
}

LX_INLINE struct lx_reservation *lx_reservation_of(const struct lx_task *t)
{
	return t->reservation ? lx_reservation_at(t->reservation) : NULL;
}

/* The reservation that a task is of, or will be; zero for none. */
LX_INLINE u32 lx_bound_reservation(const struct lx_task *t)
{
	u32 number = t->pending ? t->pending : t->reservation;

	return number == LX_PENDING_RELEASE ? 0 : number;
}

LX_INLINE u32 lx_bound_cpu(const struct lx_task *t)
{
	struct lx_reservation *r = lx_reservation_at(lx_bound_reservation(t));

	return r ? r->cpu : t->home_cpu;
}

/* Under the lock of its CPU: one task less is of a reservation, or on its way to it. With the last one
 * it ends. */
LX_INLINE void lx_reservation_put(struct lx_cpu *c, struct lx_reservation *r, u64 now)
{
	struct lx_server *s = lx_server(&c->servers, r->server);

	if (s->nr_members && !--s->nr_members) {
		lx_server_destroy(&c->servers, now, r->server);
		r->in_use = 0;
	}
}

/* One that was to come will not. */
LX_INLINE void lx_reservation_cancel(u32 number)
{
	struct lx_reservation *r = lx_reservation_at(number);
	u64 now = bpf_ktime_get_ns();
	struct lx_cpu *c;

	c = r ? lx_cpu(r->cpu) : NULL;
	if (!c || !lx_lock(&c->lock))
		return;
	lx_reservation_put(c, r, lx_charge_current(c, now));
	lx_unlock(&c->lock);
}

/* A child of a task whose reservation passes on, to as many as can take turns. */
LX_INLINE void lx_reservation_inherit(struct lx_task *t)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct lx_task *from = lx_task_of(parent, NULL);
	struct lx_reservation *r;
	struct lx_server *s;
	struct lx_cpu *c;
	u32 number;

	if (!from)
		return;
	number = lx_bound_reservation(from);
	r = number ? lx_reservation_at(number) : NULL;
	c = r ? lx_cpu(r->cpu) : NULL;
	if (!c || !r->inherit || !lx_lock(&c->lock))
		return;
	s = lx_server(&c->servers, r->server);
	if (r->in_use && s->nr_members && (s->nr_members + 1) * r->period <= LX_MAX_ROTATION_NS) {
		s->nr_members++;
		t->pending = number;
	}
	lx_unlock(&c->lock);
}

#endif
