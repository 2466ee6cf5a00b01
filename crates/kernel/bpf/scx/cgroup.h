/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Weights of cgroups. A task's weight is that of its nice value, times the weight of each of its
 * cgroups over the default of 100. So weights determine how tasks of different cgroups divide a
 * CPU, not cgroups as a whole: a cgroup with twice the tasks gets twice as much.
 */
#ifndef LAXITY_SCX_CGROUP_H
#define LAXITY_SCX_CGROUP_H

#include "accounting.h"
#include "decide.h"

/* Deeper levels are ignored. */
#define LX_MAX_CGROUP_DEPTH 16
#define LX_DEFAULT_WEIGHT 100
#define LX_MAX_WEIGHT 400

struct lx_cgroup {
	u32 weight;
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lx_cgroup);
} groups SEC(".maps");

/* Incremented by each change of a weight; tasks then recompute theirs. */
struct {
	u32 changes;
	u32 padding;
} grouping SEC(".data.grouping") = { .changes = 1 };

/* Product of the weights of a task's cgroups in percent. Allowed only where the kernel has the
 * task's run queue locked. */
LX_INLINE u32 lx_cgroup_scale(struct task_struct *p)
{
	struct cgroup *own = scx_bpf_task_cgroup(p);
	u64 scale = LX_DEFAULT_WEIGHT;
	s32 level;

	for (level = 1 + lx_zero; level <= own->level && level < LX_MAX_CGROUP_DEPTH && can_loop;
	     level += 1 + lx_zero) {
		struct cgroup *group = bpf_cgroup_ancestor(own, level);
		struct lx_cgroup *g;

		if (!group)
			break;
		g = bpf_cgrp_storage_get(&groups, group, NULL, 0);
		if (g)
			scale = lx_min(scale * g->weight / LX_DEFAULT_WEIGHT,
				       LX_DEFAULT_WEIGHT * LX_MAX_WEIGHT);
		bpf_cgroup_release(group);
	}
	bpf_cgroup_release(own);
	return scale;
}

LX_INLINE u32 lx_scaled_weight(struct task_struct *p, u32 scale)
{
	u64 weight = lx_weight_of(p) * (u64)scale / LX_DEFAULT_WEIGHT;

	return lx_min(lx_max(weight, 1), LX_MAX_WEIGHT);
}

/* Changes the weight of a task. */
LX_INLINE void lx_set_task_weight(struct lx_task *t, u32 slot, u32 weight, u64 now)
{
	struct lx_member *m = lx_member(slot);
	struct lx_cpu *c;

	if (t->weight == weight)
		return;
	t->weight = weight;
	if (t->reservation)
		return;
	c = lx_lock_home(t);
	if (!c)
		return;
	now = lx_charge_current(c, now);
	lx_record(LX_WEIGHED, c, now, slot, weight, 0);
	if (m->server != LX_NONE && m->server != c->overflow_server)
		lx_renice(&c->servers, now, m->server, weight);
	lx_arm_at_budget_end(c, now);
	lx_unlock(&c->lock);
}

/* Called from `enqueue` after a change of cgroup weights. */
LX_INLINE void lx_refresh_weight(struct lx_task *t, struct task_struct *p, u32 slot, u64 now)
{
	t->cgroup_gen = READ_ONCE(grouping.changes);
	t->cgroup_scale = lx_cgroup_scale(p);
	lx_set_task_weight(t, slot, lx_scaled_weight(p, t->cgroup_scale), now);
}

LX_INLINE void lx_set_cgroup_weight(struct cgroup *group, u32 weight)
{
	struct lx_cgroup *g =
		bpf_cgrp_storage_get(&groups, group, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (g)
		g->weight = weight;
}

SEC("struct_ops.s/cgroup_init")
int laxity_cgroup_init(u64 *ctx)
{
	struct cgroup *group = (void *)ctx[0];
	struct scx_cgroup_init_args *args = (void *)ctx[1];

	lx_set_cgroup_weight(group, args->weight);
	return 0;
}

SEC("struct_ops/cgroup_move")
void laxity_cgroup_move(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_task *t = lx_task_of(p, NULL);

	if (t)
		t->cgroup_gen = 0;
}

SEC("struct_ops/cgroup_set_weight")
void laxity_cgroup_set_weight(u64 *ctx)
{
	struct cgroup *group = (void *)ctx[0];

	lx_set_cgroup_weight(group, ctx[1]);
	__sync_fetch_and_add(&grouping.changes, 1);
}

#endif
