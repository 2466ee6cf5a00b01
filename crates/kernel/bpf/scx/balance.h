/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Load balancing of best-effort tasks: an idle CPU steals at once, a busy one periodically if the
 * task would get a larger share. Reserved tasks stay.
 */
#ifndef LAXITY_SCX_BALANCE_H
#define LAXITY_SCX_BALANCE_H

#include "migrate.h"

/* Maximum number of servers to scan per CPU. */
#define LX_BALANCE_SCAN 32
/* Interval between comparisons on a busy CPU, in ns. */
#define LX_BALANCE_INTERVAL_NS 50000000ULL

/* Requires the lock. Finds a task that waits on CPU c and may migrate to `cpu`. */
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
		    slot == c->run.next || slot == c->run.current || lx_member(slot)->pinned)
			continue;
		t = lx_task_at(slot);
		p = t && t->queued && !t->pending ? t->task : NULL;
		if (p && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && !lx_still_on_cpu(p, cpu))
			return slot;
	}
	return LX_NONE;
}

/* Number of ready and expired servers; approximate without the lock. */
LX_INLINE u32 lx_nr_ready(const struct lx_cpu *c)
{
	return READ_ONCE(c->servers.ready.count) + READ_ONCE(c->servers.expired.count);
}

/* Steals a waiting task from CPU k; returns true if it found one. */
LX_GLOBAL_FN u32 lx_steal_from(u32 cpu, u32 k)
{
	struct lx_cpu *c = lx_cpu(cpu), *h = lx_cpu(k);
	u64 now = bpf_ktime_get_ns();
	struct lx_task *t;
	u32 slot;

	/* The kernel migrates the tasks of a CPU that goes offline, and counts them. */
	if (!c || !h || lx_nr_ready(h) <= (READ_ONCE(h->run.next) != LX_NONE) || !lx_is_active(k) ||
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
	/* It may have moved or blocked meanwhile. */
	if (t->home_cpu == cpu && t->queued) {
		lx_task_attach(c, t, slot, now);
		lx_on_wake(c, now, slot);
	}
	lx_unlock(&c->lock);
	return 1;
}

/* Called on a CPU that would idle. */
LX_INLINE int lx_steal(u32 cpu)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero)
		if (k != cpu && lx_steal_from(cpu, k))
			return 1;
	return 0;
}

/* Bandwidth that reservations leave on a CPU; at least 1. */
LX_INLINE u64 lx_capacity_of(const struct lx_cpu *c)
{
	return ((LX_FULL_SHARE - lx_min(READ_ONCE(c->servers.reserved_bw), LX_FULL_SHARE)) >> 20) +
	       1;
}

/* Called from `dispatch`: steals from the CPU with the most tasks per best-effort bandwidth, if
 * that CPU still has at least as many afterwards. On a CPU that is half reserved, one task counts
 * like two elsewhere. */
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
