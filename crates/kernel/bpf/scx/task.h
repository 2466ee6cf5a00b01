/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Slots of tasks, and reading of the kernel's tasks.
 */
#ifndef LAXITY_SCX_TASK_H
#define LAXITY_SCX_TASK_H

#include "state.h"

/* Slot of a task, counted from one. */
struct lx_ref {
	u32 slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lx_ref);
} refs SEC(".maps");

/* Free slots: a list of freed ones, counted from one, and those never used. */
struct lx_pool {
	struct lx_lock lock;
	u32 first_free;
	u32 nr_used;
	u32 padding;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_pool);
} pool SEC(".maps");

LX_INLINE u32 lx_slot_alloc(void)
{
	u32 zero = 0, slot = LX_NONE;
	struct lx_pool *free = bpf_map_lookup_elem(&pool, &zero);

	if (!free || !lx_lock(&free->lock))
		return LX_NONE;
	if (free->first_free) {
		slot = free->first_free - 1;
		free->first_free = lx_member(slot)->next;
	} else if (free->nr_used < LX_MAX_TASKS) {
		slot = free->nr_used++;
	}
	lx_unlock(&free->lock);
	if (slot != LX_NONE) {
		lx_member(slot)->server = LX_NONE;
		lx_member(slot)->runnable = 0;
	}
	return slot;
}

LX_INLINE void lx_slot_free(u32 slot)
{
	u32 zero = 0;
	struct lx_pool *free = bpf_map_lookup_elem(&pool, &zero);

	if (!free || !lx_lock(&free->lock))
		return;
	lx_member(slot)->next = free->first_free;
	free->first_free = slot + 1;
	lx_unlock(&free->lock);
}

LX_INLINE struct lx_task *lx_task_of(struct task_struct *p, u32 *slot)
{
	struct lx_ref *ref = bpf_task_storage_get(&refs, p, NULL, 0);
	u32 at = ref ? ref->slot : 0;

	if (!at)
		return NULL;
	at--;
	if (slot)
		*slot = at;
	return lx_task_at(at);
}

/* Caches a task's slot, counted from one, in `dsq_vtime`, which this scheduler does not use
 * otherwise. Reading it is faster than task storage. */
LX_INLINE void lx_cache_slot(struct task_struct *p, u64 number)
{
	if (bpf_ksym_exists(scx_bpf_task_set_dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, number);
	else
		p->scx.dsq_vtime = number;
}

/* Like lx_task_of, for tasks in `enqueue`. A previous scheduler may have left any value in the
 * cache. */
LX_INLINE struct lx_task *lx_task_cached(struct task_struct *p, u32 *slot)
{
	u64 at = p->scx.dsq_vtime - 1;
	struct lx_task *t = at < LX_MAX_TASKS ? lx_task_at(at) : NULL;

	if (t && t->pid == p->pid) {
		*slot = at;
		return t;
	}
	t = lx_task_of(p, slot);
	lx_cache_slot(p, t ? *slot + 1 : 0);
	/* execve in a thread other than the leader changes the thread's number to that of the
	 * process. */
	if (t)
		t->pid = p->pid;
	return t;
}

/* Returns true if the slot belongs to the task; requires that the slot is cached. */
LX_INLINE int lx_slot_is_task(u32 slot, const struct task_struct *p)
{
	return slot != LX_NONE && p->scx.dsq_vtime == (u64)slot + 1;
}

/* CPU of a task whose run queue is locked. */
LX_INLINE u32 lx_cpu_of(const struct task_struct *p)
{
	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	return scx_bpf_task_cpu(p);
}

/* 20 - nice, from 1 to 40; 1 for SCHED_IDLE. */
LX_INLINE u32 lx_weight_of(struct task_struct *p)
{
	u32 weight = 140 - p->static_prio;

	if (p->policy == SCHED_IDLE)
		return 1;
	return weight - 1 < 40 ? weight : 20;
}

/* Locks the CPU whose servers a task belongs to. */
LX_INLINE struct lx_cpu *lx_lock_home(struct lx_task *t)
{
	u32 i, home = READ_ONCE(t->home_cpu);
	struct lx_cpu *c = lx_cpu(home);

	if (!c || !lx_lock(&c->lock))
		return NULL;
	/* Rare: the task moved to another CPU meanwhile. */
	for (i = lx_zero; READ_ONCE(t->home_cpu) != home && can_loop; i += 1 + lx_zero) {
		lx_unlock(&c->lock);
		home = READ_ONCE(t->home_cpu);
		c = lx_cpu(home);
		if (i >= 16 || !c || !lx_lock(&c->lock))
			return NULL;
	}
	return c;
}

/* task_addr is cleared before the task_struct is freed. */
LX_INLINE const struct task_struct *lx_task_struct(const struct lx_task *t)
{
	return bpf_rdonly_cast((const void *)t->task_addr,
			       bpf_core_type_id_kernel(struct task_struct));
}

/* Whether the kernel has the task on a run queue. */
LX_INLINE int lx_is_runnable(u32 slot)
{
	const struct lx_task *t = lx_task_at(slot);

	return t && t->task_addr && lx_task_struct(t)->scx.flags & SCX_TASK_QUEUED;
}

/* Execution of a task that is not running and has not been charged yet. */
LX_INLINE u64 lx_uncharged(struct lx_task *t, u64 executed)
{
	u64 ran = executed - lx_min(t->charged_runtime, executed);

	t->charged_runtime = executed;
	return ran;
}

#endif
