/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Best effort goes to CPUs that have less of it: at once where there is none, now and then where a
 * task would have more of the CPU. Reserved tasks stay. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_BALANCE_H
#define LAXITY_SCX_BALANCE_H

/* Of another CPU's tasks so many are looked at. */
#define LX_BALANCE_SCAN 32
/* So often, in ns, a CPU that has work compares itself with the others. */
#define LX_BALANCE_INTERVAL_NS 50000000ULL

/* Under its lock: somebody who waits on CPU c, need not wait there, and may run on another. */
LX_GLOBAL_FN u32 lx_find_migratable(struct lx_cpu *c __arg_nonnull, struct lx_heap *h __arg_nonnull,
				    u32 cpu)
{
	u32 i;

	for (i = lx_zero; i < h->count && i < LX_BALANCE_SCAN && can_loop; i += 1 + lx_zero) {
		struct lx_server *s = lx_server(&c->servers, lx_at(h->node, i)->entry);
		u32 slot = s->head;
		struct task_struct *p;
		struct lx_task *t;

		if (s->kind == LX_HARD || s->nr_members != 1 || slot == LX_NONE ||
		    slot == c->next || slot == c->current || lx_member(slot)->pinned)
			continue;
		t = lx_task_at(slot);
		p = t && t->queued && !t->pending ? t->task : NULL;
		if (p && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && !lx_still_on_cpu(p, cpu))
			return slot;
	}
	return LX_NONE;
}

/* How many wait or run; a guess, without the lock. */
LX_INLINE u32 lx_nr_ready(const struct lx_cpu *c)
{
	return READ_ONCE(c->servers.ready.count) + READ_ONCE(c->servers.expired.count);
}

/* Takes a task that waits on CPU k; tells whether there was one. */
LX_GLOBAL_FN u32 lx_steal_from(u32 cpu, u32 k)
{
	struct lx_cpu *c = lx_cpu(cpu), *h = lx_cpu(k);
	u64 now = bpf_ktime_get_ns();
	struct lx_task *t;
	u32 slot;

	/* Of a CPU that goes the kernel takes care, which counts who is left there. */
	if (!c || !h || lx_nr_ready(h) <= (READ_ONCE(h->next) != LX_NONE) || !lx_is_active(k) ||
	    !lx_lock(&h->lock))
		return 0;
	slot = lx_find_migratable(h, &h->servers.ready, cpu);
	if (slot == LX_NONE)
		slot = lx_find_migratable(h, &h->servers.expired, cpu);
	t = slot == LX_NONE ? NULL : lx_task_at(slot);
	if (t) {
		now = lx_charge_current(h, now);
		lx_task_detach(h, t, NULL, slot, now);
		h->steals++;
		t->home_cpu = cpu;
	}
	lx_unlock(&h->lock);
	if (!t)
		return 0;
	if (!lx_lock(&c->lock)) {
		lx_dispatch_task(t, cpu, LX_UNCHARGED_SLICE_NS);
		return 0;
	}
	now = lx_charge_current(c, now);
	/* It may have been sent elsewhere meanwhile, or not wait any more. */
	if (t->home_cpu == cpu && t->queued) {
		lx_task_attach(c, t, slot, now);
		lx_on_wake(c, now, slot);
	}
	lx_unlock(&c->lock);
	return 1;
}

/* A CPU that would idle takes a task that waits elsewhere. */
LX_INLINE int lx_steal(u32 cpu)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero)
		if (k != cpu && lx_steal_from(cpu, k))
			return 1;
	return 0;
}

/* What reservations leave of a CPU; never none. */
LX_INLINE u64 lx_capacity_of(const struct lx_cpu *c)
{
	return ((LX_FULL_SHARE - lx_min(READ_ONCE(c->servers.reserved_bw), LX_FULL_SHARE)) >> 20) +
	       1;
}

/* From `dispatch`: takes a task from the CPU that has most for its room, if it then still has as many:
 * of a CPU that is reserved by half, one task has as much as each of two on another. */
LX_INLINE void lx_load_balance(u32 cpu)
{
	struct lx_cpu *c = machine.cpus > 1 ? lx_cpu(cpu) : NULL;
	u64 now, most = 0, room = 1;
	u32 k, from = LX_NONE;

	if (!c)
		return;
	now = bpf_ktime_get_ns();
	if (now - c->last_balance < LX_BALANCE_INTERVAL_NS)
		return;
	c->last_balance = now;
	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero) {
		struct lx_cpu *h = lx_cpu(k);

		if (!h || k == cpu || lx_nr_ready(h) * room <= most * lx_capacity_of(h))
			continue;
		most = lx_nr_ready(h);
		room = lx_capacity_of(h);
		from = k;
	}
	if (from != LX_NONE && (lx_nr_ready(c) + 1) * room < most * lx_capacity_of(c))
		lx_steal_from(cpu, from);
}

#endif
