/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Best effort goes to CPUs that have less of it: at once where there is none, now and then where a
 * task would have more of the CPU. Reserved tasks stay. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_BALANCE_H
#define LAXITY_SCX_BALANCE_H

/* Of another CPU's tasks so many are looked at. */
#define LX_LOOKED_AT 32
/* So often, in ns, a CPU that has work compares itself with the others. */
#define LX_EVENED 50000000ULL

/* Under its lock: somebody who waits on CPU c, need not wait there, and may run on another. */
LX_CALLED u32 lx_spare(struct lx_cpu *c LX_GIVEN, struct lx_heap *h LX_GIVEN, u32 cpu)
{
	u32 i;

	for (i = lx_zero; i < h->count && i < LX_LOOKED_AT && lx_may_loop; i += 1 + lx_zero) {
		struct lx_server *s = lx_server(&c->servers, lx_at(h->node, i)->entry);
		u32 slot = s->head;
		struct task_struct *p;
		struct lx_task *t;

		if (s->kind == LX_HARD || s->members != 1 || slot == LX_NONE ||
		    slot == c->chosen || slot == c->current || lx_member(slot)->pinned)
			continue;
		t = lx_task_at(slot);
		p = t && t->queued && !t->pending ? t->task : NULL;
		if (p && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && !lx_is_late(p, cpu))
			return slot;
	}
	return LX_NONE;
}

/* How many wait or run; a guess, without the lock. */
LX_INLINE u32 lx_ready_on(const struct lx_cpu *c)
{
	return LX_SEEN(c->servers.ready.count) + LX_SEEN(c->servers.expired.count);
}

/* Takes a task that waits on CPU k; tells whether there was one. */
LX_CALLED u32 lx_take_from(u32 cpu, u32 k)
{
	struct lx_cpu *c = lx_cpu(cpu), *h = lx_cpu(k);
	u64 now = bpf_ktime_get_ns();
	struct lx_task *t;
	u32 slot;

	/* Of a CPU that goes the kernel takes care, which counts who is left there. */
	if (!c || !h || lx_ready_on(h) <= (LX_SEEN(h->chosen) != LX_NONE) || !lx_is_active(k) ||
	    !lx_lock(&h->lock))
		return 0;
	slot = lx_spare(h, &h->servers.ready, cpu);
	if (slot == LX_NONE)
		slot = lx_spare(h, &h->servers.expired, cpu);
	t = slot == LX_NONE ? NULL : lx_task_at(slot);
	if (t) {
		now = lx_charge(h, now);
		lx_go(h, t, NULL, slot, now);
		h->taken++;
		t->home = cpu;
	}
	lx_unlock(&h->lock);
	if (!t)
		return 0;
	if (!lx_lock(&c->lock)) {
		lx_hand_over(t, cpu, LX_UNCOUNTED);
		return 0;
	}
	now = lx_charge(c, now);
	/* It may have been sent elsewhere meanwhile, or not wait any more. */
	if (t->home == cpu && t->queued) {
		lx_settle_in(c, t, slot, now);
		lx_wakes(c, now, slot);
	}
	lx_unlock(&c->lock);
	return 1;
}

/* A CPU that would idle takes a task that waits elsewhere. */
LX_INLINE int lx_steal(u32 cpu)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && lx_may_loop; k += 1 + lx_zero)
		if (k != cpu && lx_take_from(cpu, k))
			return 1;
	return 0;
}

/* What reservations leave of a CPU; never none. */
LX_INLINE u64 lx_room_on(const struct lx_cpu *c)
{
	return ((LX_ONE - lx_min(LX_SEEN(c->servers.need), LX_ONE)) >> 20) + 1;
}

/* From `dispatch`: takes a task from the CPU that has most for its room, if it then still has as many:
 * of a CPU that is reserved by half, one task has as much as each of two on another. */
LX_INLINE void lx_even(u32 cpu)
{
	struct lx_cpu *c = machine.cpus > 1 ? lx_cpu(cpu) : NULL;
	u64 now, most = 0, room = 1;
	u32 k, from = LX_NONE;

	if (!c)
		return;
	now = bpf_ktime_get_ns();
	if (now - c->evened < LX_EVENED)
		return;
	c->evened = now;
	for (k = lx_zero; k < machine.cpus && lx_may_loop; k += 1 + lx_zero) {
		struct lx_cpu *h = lx_cpu(k);

		if (!h || k == cpu || lx_ready_on(h) * room <= most * lx_room_on(h))
			continue;
		most = lx_ready_on(h);
		room = lx_room_on(h);
		from = k;
	}
	if (from != LX_NONE && (lx_ready_on(c) + 1) * room < most * lx_room_on(c))
		lx_take_from(cpu, from);
}

#endif
