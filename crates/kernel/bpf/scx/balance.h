/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Load balancing of best-effort tasks: an idle CPU steals at once, the nearest task first; a busy one
 * pulls a task that would get a larger share (nearness.h). Reserved tasks stay.
 */
#ifndef LAXITY_SCX_BALANCE_H
#define LAXITY_SCX_BALANCE_H

#include <laxity/nearness.h>
#include "migrate.h"

/* Maximum number of servers to scan per CPU. */
#define LX_BALANCE_SCAN 32

/* Written by the loader before the scheduler is attached. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	/* The loader sets the number of entries. */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_place);
} places SEC(".maps");

LX_INLINE struct lx_place *lx_place(u32 i)
{
	return bpf_map_lookup_elem(&places, &i);
}

/* Returns true if a task waits on CPU c and may migrate to `cpu`. */
LX_INLINE int lx_is_migratable(const struct lx_cpu *c, u32 slot, u32 cpu)
{
	const struct lx_task *t;
	struct task_struct *p;

	if (slot == c->run.next || slot == c->run.current)
		return 0;
	t = lx_task_at(slot);
	p = t && t->queued && !t->pending ? t->task : NULL;
	return p && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && !lx_still_on_cpu(p, cpu);
}

/* The only task of a best-effort server on CPU c, unless it is pinned. */
LX_INLINE u32 lx_unpinned(struct lx_cpu *c, const struct lx_heap *h, u32 i)
{
	const struct lx_server *s = lx_server(&c->servers, lx_at(h->node, i)->entry);
	u32 slot = s->head;

	if (s->kind == LX_HARD || s->nr_members != 1 || slot == LX_NONE || lx_member(slot)->pinned)
		return LX_NONE;
	return slot;
}

/* Requires the lock. Finds a task that waits on CPU c and may migrate to `cpu`. */
LX_GLOBAL_FN u32 lx_find_migratable(struct lx_cpu *c __arg_nonnull, struct lx_heap *h __arg_nonnull,
				    u32 cpu)
{
	u32 i;

	for (i = lx_zero; i < h->count && i < LX_BALANCE_SCAN && can_loop; i += 1 + lx_zero) {
		u32 slot = lx_unpinned(c, h, i);

		if (slot != LX_NONE && lx_is_migratable(c, slot, cpu))
			return slot;
	}
	return LX_NONE;
}

/* Requires the lock. The task that came to CPU c first, of those in a heap and the given one. */
LX_GLOBAL_FN u32 lx_older(struct lx_cpu *c __arg_nonnull, struct lx_heap *h __arg_nonnull, u32 cpu,
			  u32 oldest)
{
	u64 arrived = LX_NEVER;
	const struct lx_task *t = oldest == LX_NONE ? NULL : lx_task_at(oldest);
	u32 i;

	if (t)
		arrived = t->arrived;
	for (i = lx_zero; i < h->count && i < LX_BALANCE_SCAN && can_loop; i += 1 + lx_zero) {
		u32 slot = lx_unpinned(c, h, i);
		struct task_struct *p;

		t = slot == LX_NONE ? NULL : lx_task_at(slot);
		if (!t || t->arrived >= arrived)
			continue;
		/* The affinity of a task that has the CPU is seen when it waits. */
		p = t->task;
		if (p && !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		arrived = t->arrived;
		oldest = slot;
	}
	return oldest;
}

/* Requires the lock. The task that has been longest on CPU c, if it waits; else another look may find
 * it waiting. */
LX_INLINE u32 lx_find_oldest(struct lx_cpu *c, u32 cpu)
{
	u32 slot = lx_older(c, &c->servers.ready, cpu, LX_NONE);

	slot = lx_older(c, &c->servers.expired, cpu, slot);
	return slot != LX_NONE && lx_is_migratable(c, slot, cpu) ? slot : LX_NONE;
}

/* Number of ready and expired servers; approximate without the lock. */
LX_INLINE u32 lx_nr_ready(const struct lx_cpu *c)
{
	return READ_ONCE(c->servers.ready.count) + READ_ONCE(c->servers.expired.count);
}

/* Steals a waiting task from CPU k, or only the one that has been longest there; returns true if it
 * found one. */
LX_GLOBAL_FN u32 lx_steal_from(u32 cpu, u32 k, u32 only_oldest)
{
	struct lx_cpu *c = lx_cpu(cpu), *h = lx_cpu(k);
	u64 now = bpf_ktime_get_ns();
	struct lx_task *t;
	u32 slot;

	/* The kernel migrates the tasks of a CPU that goes offline, and counts them. */
	if (!c || !h || lx_nr_ready(h) <= (READ_ONCE(h->run.next) != LX_NONE) || !lx_is_active(k) ||
	    !lx_lock(&h->lock))
		return 0;
	slot = only_oldest ? lx_find_oldest(h, cpu) :
			     lx_find_migratable(h, &h->servers.ready, cpu);
	if (slot == LX_NONE && !only_oldest)
		slot = lx_find_migratable(h, &h->servers.expired, cpu);
	t = slot == LX_NONE ? NULL : lx_task_at(slot);
	if (t) {
		now = lx_charge_current(h, now);
		lx_task_detach(h, t, NULL, slot, now);
		h->steals++;
		t->home_cpu = cpu;
		t->arrived = now;
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

/* Called on a CPU that would idle: no task waits anywhere unless all CPUs were looked at. */
LX_INLINE int lx_steal(u32 cpu)
{
	const struct lx_place *own = lx_place(cpu);
	u32 i;

	for (i = 1 + lx_zero; own && i < machine.cpus && can_loop; i += 1 + lx_zero) {
		const struct lx_place *place = lx_place(lx_place_to_look(own, i));

		if (place && lx_steal_from(cpu, place->cpu, 0))
			return 1;
	}
	return 0;
}

/* Bandwidth that reservations leave on a CPU; at least 1. */
LX_INLINE u64 lx_capacity_of(const struct lx_cpu *c)
{
	return ((LX_FULL_SHARE - lx_min(READ_ONCE(c->servers.reserved_bw), LX_FULL_SHARE)) >> 20) +
	       1;
}

LX_INLINE void lx_read_load(struct lx_load *load, const struct lx_cpu *c, u32 cpu)
{
	load->cpu = cpu;
	load->tasks = lx_nr_ready(c);
	load->capacity = lx_capacity_of(c);
}

/* Reads the loads of all CPUs, without their locks. On a CPU that is half reserved, one task counts
 * like two elsewhere. */
LX_GLOBAL_FN u32 lx_survey_cpus(u32 cpu, struct lx_survey *s __arg_nonnull, u64 now)
{
	const struct lx_place *own = lx_place(cpu);
	struct lx_cpu *c = lx_cpu(cpu);
	struct lx_load load;
	u32 k;

	if (!c || !own)
		return 0;
	lx_read_load(&load, c, cpu);
	lx_survey_start(s, &load, &c->balance, now);
	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero) {
		const struct lx_place *place = lx_place(k);
		const struct lx_cpu *h = lx_cpu(k);

		if (!h || !place || k == cpu)
			continue;
		lx_read_load(&load, h, k);
		lx_survey_add(s, &load, lx_level_of(own, place->first[LX_SELF]), &h->balance);
	}
	return 1;
}

/* Looks at the others: writes to `sources` the CPUs from which to take a task, the nearest first, and
 * that of a turn. Apart from taking them, since calls nest at most eight deep. */
LX_GLOBAL_FN u32 lx_look_at_others(u32 cpu, u64 now)
{
	struct lx_cpu *c = lx_cpu(cpu);
	struct lx_survey s;

	if (!c || !lx_survey_cpus(cpu, &s, now))
		return 0;
	c->sources.in_cache = lx_pulls_in_cache(&s) ? s.in_cache.cpu : LX_NONE;
	c->sources.in_node = lx_pulls_in_node(&s, &c->balance) ? s.in_node.cpu : LX_NONE;
	c->sources.beyond = lx_pulls_from_beyond(&s, &c->balance) ? s.beyond.cpu : LX_NONE;
	c->sources.giver = lx_takes_turn(&s, &c->balance) ? s.giver.cpu : LX_NONE;
	return 1;
}

/* Called from `dispatch`: pulls a task that gets more here, or takes a turn. */
LX_INLINE void lx_load_balance(u32 cpu)
{
	struct lx_cpu *c = machine.cpus > 1 ? lx_cpu(cpu) : NULL;
	u64 now;

	if (!c)
		return;
	now = bpf_ktime_get_ns();
	if (now - c->balance.looked < LX_LOOK_NS)
		return;
	if (!lx_look_at_others(cpu, now))
		return;
	if (c->sources.in_cache != LX_NONE && lx_steal_from(cpu, c->sources.in_cache, 0))
		return;
	if (c->sources.in_node != LX_NONE && lx_steal_from(cpu, c->sources.in_node, 0)) {
		c->balance.cache_since = 0;
	} else if (c->sources.beyond != LX_NONE && lx_steal_from(cpu, c->sources.beyond, 0)) {
		c->balance.node_since = 0;
	} else if (c->sources.giver != LX_NONE) {
		struct lx_cpu *h = lx_cpu(c->sources.giver);

		if (h)
			lx_turn_tried(&c->balance, &h->balance,
				      lx_steal_from(cpu, c->sources.giver, 1), now);
	}
}

#endif
