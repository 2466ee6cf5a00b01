/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Reservations: servers to which requests assign tasks, and which end with their last task.
 */
#ifndef LAXITY_SCX_RESERVATIONS_H
#define LAXITY_SCX_RESERVATIONS_H

#include "accounting.h"

/* Tasks of a reservation take turns, one budget each, so a CPU-bound task of n waits for n periods.
 * sched_ext ejects a scheduler that lets a task wait for 30 s; this bound, in ns, limits the number
 * of tasks. */
#define LX_MAX_ROTATION_NS 20000000000ULL
/* Value of `pending` for a task that leaves its reservation. */
#define LX_PENDING_RELEASE (~0U)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LX_MAX_RESERVATIONS);
	__type(key, u32);
	__type(value, struct lx_reservation);
} reservations SEC(".maps");

/* Numbers count from one. */
LX_INLINE struct lx_reservation *lx_reservation_at(u32 number)
{
	u32 at = number - 1;

	return bpf_map_lookup_elem(&reservations, &at);
}

LX_INLINE struct lx_reservation *lx_reservation_of(const struct lx_task *t)
{
	return t->reservation ? lx_reservation_at(t->reservation) : NULL;
}

/* Reservation that a task belongs to or is moving to; zero for none. */
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

/* Requires the lock of its CPU. Drops one task that has not joined the server; the reservation ends
 * with the last one. */
LX_INLINE void lx_reservation_put(struct lx_cpu *c, struct lx_reservation *r, u32 number, u64 now)
{
	struct lx_server *s = lx_server(&c->servers, r->server);

	if (s->nr_members && !--s->nr_members) {
		lx_reclaim_up_to(&c->servers, now);
		lx_record(LX_RESERVATION_ENDED, c, now, number, 0, 0);
		lx_server_destroy(&c->servers, now, r->server);
		r->in_use = 0;
	}
}

/* A task that was moving to the reservation does not join it. */
LX_INLINE void lx_reservation_cancel(u32 number)
{
	struct lx_reservation *r = lx_reservation_at(number);
	u64 now = bpf_ktime_get_ns();
	struct lx_cpu *c;

	c = r ? lx_cpu(r->cpu) : NULL;
	if (!c || !lx_lock(&c->lock))
		return;
	lx_reservation_put(c, r, number, lx_charge_current(c, now));
	lx_unlock(&c->lock);
}

/* A child joins the reservation of its parent if that is inherited and has room for another
 * task. */
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
	/* Before the lock was acquired the reservation may have ended, and its number be in use again. */
	if (lx_bound_reservation(from) == number && r->cpu == c->cpu && s->nr_members &&
	    (s->nr_members + 1) * r->period <= LX_MAX_ROTATION_NS) {
		s->nr_members++;
		t->pending = number;
	}
	lx_unlock(&c->lock);
}

#endif
