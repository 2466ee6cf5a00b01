/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * State of CPUs and tasks, allocation of task slots, and access to the servers of a CPU. Part of
 * laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_STATE_H
#define LAXITY_SCX_STATE_H

/* Written by the loader. */
struct {
	struct lxc_policy_params rules;
	/* Share of each CPU that reservations leave to best effort. */
	u64 best_effort_bw_min;
	/* Address of __cpu_active_mask; zero if the kernel does not export it. */
	u64 cpu_active_mask;
	/* Index in the loader's list of policies. */
	u32 policy;
	u32 padding;
} setup SEC(".data.setup");

/* Constants of this machine. The verifier removes code that they make unreachable. */
const volatile struct {
	u32 cpus;
	/* Whether the `running` and `stopping` hooks are loaded (cpu_run.h). */
	u32 has_run_hooks;
} machine SEC(".rodata.machine");

/* Why the kernel ended the scheduler. */
struct {
	u64 kind;
	char reason[64];
	char message[256];
} ended SEC(".data.ended");

struct {
	/* Tasks without a slot, reserved tasks that ran on another CPU than their reservation's,
	 * picked tasks that could not be dispatched, failed acquisitions of locks. */
	u64 unaccounted;
	u64 elsewhere;
	u64 absent;
	u64 unlocked;
	/* Longest wait for a lock, in ns. */
	u64 waited;
} totals SEC(".data.totals");

/*
 * A spin lock of our own, since programs must not call global functions while they hold a
 * bpf_spin_lock. Holders have interrupts disabled, as the kernel has while it holds a run queue
 * lock, so a holder is never preempted.
 */
struct lx_lock {
	u32 held;
};

/* Returns true if the lock was acquired. The bound satisfies the verifier; acquisition does not
 * fail in practice. */
LX_INLINE int lx_lock(struct lx_lock *lock)
{
	u64 since;

	if (!__sync_val_compare_and_swap(&lock->held, 0, 1))
		return 1;
	since = bpf_ktime_get_ns();
	while (can_loop) {
		if (READ_ONCE(lock->held) || __sync_val_compare_and_swap(&lock->held, 0, 1))
			continue;
		totals.waited = lx_max(totals.waited, bpf_ktime_get_ns() - since);
		return 1;
	}
	__sync_fetch_and_add(&totals.unlocked, 1);
	return 0;
}

LX_INLINE void lx_unlock(struct lx_lock *lock)
{
	__sync_lock_test_and_set(&lock->held, 0);
}

/* Maximum number of preempted tasks parked on the local DSQ. */
#define LX_MAX_LOCAL 8

/* Without reservations the timer lets a task overrun its budget by this time, in ns: most tasks
 * block before, and are charged then. */
#define LX_TIMER_SLACK_NS 100000

/* Arguments and result of the last call of lx_coalesced_length. */
struct lx_coalesced {
	u32 server;
	u32 padding;
	u64 period_end;
	u64 budget;
	u64 total_weight;
	u64 next_deadline;
	u64 length;
};

struct lx_cpu {
	struct lx_lock lock;
	u32 cpu;
	/* Slots of the current task, which has been running since `current_since`, and of the task
	 * picked last. */
	u32 current;
	u32 next;
	u64 current_since;
	/* Time of the last event. It never decreases, whichever CPU reads the clock. */
	u64 clock;
	/* Value of the run queue clock, which stands still during a switch, when a task stopped at
	 * `clock`; and the offset of bpf_ktime_get_ns() from that clock at the last switch. Both
	 * wrap around. */
	u64 stopped_at;
	u64 clock_offset;
	/* Time for which the timer is set, and time at which it is needed. */
	u64 armed;
	u64 due;
	u32 overflow_server;
	/* Set when the CPU goes offline, cleared when `dispatch` or `enqueue` runs there again. */
	u32 offline;
	/* Slot of ksoftirqd while that thread waits for the CPU. */
	u32 ksoftirqd;
	/* Slots of the tasks parked on the local DSQ; the last one runs next (cpu_run.h). */
	u32 nr_local;
	u32 local_queue[LX_MAX_LOCAL];
	/* Parked tasks must not resume by themselves: the CPU has to call `dispatch`. */
	u32 drain_local;
	u32 padding;
	struct lx_coalesced coalesced;
	/* Time of the last comparison with other CPUs. */
	u64 last_balance;
	/* Statistics: counts, and maxima in ns. */
	u64 switches;
	u64 steals;
	u64 overrun;
	u64 late_release;
	struct lx_servers servers;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	/* The loader sets the number of entries. */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_cpu);
} cpus SEC(".maps");

struct lx_task {
	/* Referenced while the task is queued; a longer reference would keep the task from being
	 * freed. */
	struct task_struct __kptr *task;
	/* Average execution, for the task's next server. */
	u64 learnt_average;
	/* CPU whose servers the task belongs to. */
	u32 home_cpu;
	/* The task waits for a CPU in the servers. */
	u32 queued;
	u32 weight;
	/* Product of the weights of its cgroups in percent, and the generation for which it was
	 * computed. */
	u32 cgroup_scale;
	u32 cgroup_gen;
	/* Reservation that the task belongs to, and the one it is moving to; numbers from one. */
	u32 reservation;
	u32 pending;
	/* For display; zero if the slot is free. */
	u32 pid;
	/* The task is a CPU's ksoftirqd thread. */
	u32 is_ksoftirqd;
	/* Address of the task_struct, and the part of its runtime that has been charged. */
	u64 task_addr;
	u64 charged_runtime;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LX_MAX_TASKS);
	__type(key, u32);
	__type(value, struct lx_task);
} tasks SEC(".maps");

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

LX_INLINE struct lx_cpu *lx_cpu(u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

LX_INLINE struct lx_task *lx_task_at(u32 slot)
{
	return bpf_map_lookup_elem(&tasks, &slot);
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

/* Time of a start or of a decision: the time at which the previous task stopped if the run queue
 * clock has not moved since. Another clock read would cost as much as the rest. */
LX_INLINE u64 lx_decision_time(const struct lx_cpu *c, u64 kernel_clock)
{
	return kernel_clock && kernel_clock == c->stopped_at ? c->clock : bpf_ktime_get_ns();
}

/* One word of the mask of active CPUs: those that are online and not going offline. */
LX_INLINE u64 lx_active_word(u32 word)
{
	const void *at = (const void *)(setup.cpu_active_mask + word * sizeof(u64));
	const struct cpumask *active = bpf_rdonly_cast(at, bpf_core_type_id_kernel(struct cpumask));

	return setup.cpu_active_mask ? active->bits[0] : LX_NEVER;
}

LX_INLINE int lx_is_active(u32 cpu)
{
	return lx_active_word(cpu / 64) >> cpu % 64 & 1;
}

/* Returns true if the CPU may not call `dispatch` any more. */
LX_INLINE int lx_is_offline(const struct lx_cpu *c)
{
	return machine.cpus > 1 && (READ_ONCE(c->offline) || !lx_is_active(c->cpu));
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

#include "record.h"
#include "replenish.h"

/* Charges a task's execution up to `now`. */
LX_INLINE void lx_charge_task(struct lx_cpu *c, u32 slot, u64 now, u64 ran)
{
	u32 server = lx_member(slot)->server;
	u64 left = server == LX_NONE ? ran : lx_server(&c->servers, server)->remaining_budget;

	if (ran > left) {
		u64 late = now - lx_min(c->due, now);

		ran = lx_charge_budgets(c, slot, now, ran);
		left = lx_server(&c->servers, server)->remaining_budget;
		c->overrun = lx_max(c->overrun, lx_min(ran - lx_min(left, ran), late));
	}
	c->current_since = now;
	lx_record(LX_RAN, c, now, slot, ran, 0);
	if (server != LX_NONE)
		lx_server_ran(&c->servers, lx_server(&c->servers, server), server, now, ran);
}

#include "cpu_run.h"

/* Charges the current task. Events reported at `now` take effect after that. */
LX_INLINE u64 lx_charge_current(struct lx_cpu *c, u64 now)
{
	now = lx_max(now, c->clock);
	c->clock = now;
	if (c->current != LX_NONE)
		lx_charge_task(c, c->current, now, lx_current_runtime(c, now));
	return now;
}

/* Returns true if a wake-up takes bandwidth from other servers while reservations exist: the task
 * has no server, or its server does not count with its full weight. */
LX_INLINE int lx_wake_takes_share(struct lx_cpu *c, u32 slot)
{
	u32 server = lx_member(slot)->server;
	const struct lx_server *s;

	if (!c->servers.reserved_bw)
		return 0;
	if (server == LX_NONE)
		return 1;
	s = lx_server(&c->servers, server);
	return s->kind == LX_BEST_EFFORT && s->active_weight < s->weight;
}

/* Advances the clock for a wake-up, and charges the current task only if that matters: when its
 * budget is used up, or when bandwidth is transferred, since it cannot give up what it has used.
 * Until then lx_limit_ahead underestimates the lead of the current task and moves deadlines back by
 * less. */
LX_INLINE u64 lx_sync_clock(struct lx_cpu *c, u64 now, u32 slot)
{
	now = lx_max(now, c->clock);
	if (c->current != LX_NONE) {
		u32 server = lx_member(c->current)->server;

		if (server == LX_NONE ||
		    now - c->current_since >= lx_server(&c->servers, server)->remaining_budget ||
		    lx_wake_takes_share(c, slot))
			return lx_charge_current(c, now);
	}
	c->clock = now;
	return now;
}

/* Requires the lock. Processes due releases and records how late a release of a reservation is.
 * Returns true if anything was due. */
LX_INLINE int lx_process_due(struct lx_cpu *c, u64 now)
{
	u64 at;

	if (lx_next_timer(&c->servers) > now)
		return 0;
	at = lx_heap_min_key(&c->servers.suspended);
	if (at < now)
		c->late_release = lx_max(c->late_release, now - at);
	lx_record(LX_TIMER, c, now, LX_NONE, 0, 0);
	lx_on_timer(&c->servers, now);
	return 1;
}

/* Wake-up and block of a task. */
LX_INLINE void lx_on_wake(struct lx_cpu *c, u64 now, u32 slot)
{
	lx_record(LX_WOKE, c, now, slot, 0, 0);
	lx_wake(&c->servers, now, slot);
}

LX_INLINE void lx_on_block(struct lx_cpu *c, u64 now, u32 slot)
{
	lx_record(LX_BLOCKED_NOW, c, now, slot, 0, 0);
	lx_block(&c->servers, now, slot, 0);
}

#include "timer.h"

/* Decision to carry out after the lock is released. */
struct lx_decision {
	u32 cpu;
	/* Task to run. */
	u32 slot;
	u32 preempt;
};

/* A change of shares changes deadlines: disables the coalescing of budgets from the current task's
 * next replenishment on. The current task has been charged. */
LX_INLINE void lx_arm_at_budget_end(struct lx_cpu *c, u64 now)
{
	u32 server = c->current == LX_NONE ? LX_NONE : lx_member(c->current)->server;

	if (server != LX_NONE)
		lx_arm_timer(c, now,
			     lx_min(c->due,
				    now + lx_server(&c->servers, server)->remaining_budget));
}

/* Adjusts the next timer while tasks are parked on the local DSQ. The task parked last runs after
 * the current one; if that is the picked task, no drain is necessary. Its budget must end in time
 * if other tasks wait. */
LX_INLINE u64 lx_due_with_local(struct lx_cpu *c, u64 now, u64 due, const struct lx_decision *o)
{
	u32 next = *lx_at(c->local_queue, c->nr_local - 1);
	u32 server = lx_member(next)->server;

	if (o->preempt && o->slot != next)
		c->drain_local = 1;
	if (server == LX_NONE || c->servers.ready.count < 3)
		return due;
	return lx_min(due, now + lx_server(&c->servers, server)->remaining_budget);
}

/* Last step under the lock: picks a server and arms the timer. */
LX_INLINE void lx_decide(struct lx_cpu *c, u64 now, struct lx_decision *o)
{
	u32 server = lx_pick(&c->servers, now);
	u64 due = lx_next_timer(&c->servers), left = 0, deadline = 0;

	o->cpu = c->cpu;
	o->slot = LX_NONE;
	if (server != LX_NONE) {
		struct lx_server *s = lx_server(&c->servers, server);

		o->slot = s->head;
		left = s->remaining_budget;
		deadline = s->deadline;
	}
	lx_record(LX_CHOSEN, c, now, o->slot, left, deadline);
	if (server != LX_NONE) {
		if (o->slot == c->current)
			left -= lx_min(left, now - c->current_since);
		if (!c->servers.reserved_bw)
			left += LX_TIMER_SLACK_NS;
		/* lx_coalesced_length is called only if the timer would have to be set, which is
		 * most of the cost. */
		if (now + left < due && (c->armed <= now || c->armed > now + left))
			left += lx_coalesced_length(c, server);
		due = lx_min(due, now + left);
	}
	o->preempt = o->slot != LX_NONE && o->slot != c->next;
	if (c->nr_local)
		due = lx_due_with_local(c, now, due, o);
	lx_arm_timer(c, now, due);
}

LX_INLINE void lx_kick_on_preempt(const struct lx_decision *o)
{
	if (o->preempt)
		scx_bpf_kick_cpu(o->cpu, SCX_KICK_PREEMPT);
}

/* Take and drop the reference to a task that waits in the servers. */
LX_INLINE void lx_task_hold(struct lx_task *t, struct task_struct *p)
{
	struct task_struct *held = bpf_task_acquire(p);

	if (held)
		held = bpf_kptr_xchg(&t->task, held);
	if (held)
		bpf_task_release(held);
}

LX_INLINE void lx_task_unhold(struct lx_task *t)
{
	struct task_struct *held = bpf_kptr_xchg(&t->task, NULL);

	if (held)
		bpf_task_release(held);
}

/* Sequence number of a task's enqueue operations. */
LX_INLINE u64 lx_enqueue_seq(const struct task_struct *p)
{
	return (u64)READ_ONCE(p->scx.ops_state.counter) >> SCX_OPSS_QSEQ_SHIFT;
}

/* Called from `dispatch`: moves a queued task to the local DSQ of a CPU. Returns false if the task
 * was not queued any more. Meanwhile a change of affinity may dequeue the task and enqueue it
 * again, which sets the fields cleared here; sched_ext ejects a scheduler that dispatches a task to
 * a CPU outside its affinity. */
LX_INLINE int lx_dispatch_task(struct lx_task *t, u32 cpu, u64 slice)
{
	u64 coming, queue = SCX_DSQ_LOCAL;
	struct task_struct *p;
	int there = 1;

	t->queued = 0;
	p = bpf_kptr_xchg(&t->task, NULL);
	if (!p)
		return 0;
	coming = machine.cpus > 1 ? lx_enqueue_seq(p) : 0;
	if (machine.cpus > 1 && !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
		queue = SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p);
	scx_bpf_dsq_insert(p, queue, slice, 0);
	if (machine.cpus > 1 && lx_enqueue_seq(p) != coming) {
		scx_bpf_dispatch_cancel();
		there = 0;
	}
	bpf_task_release(p);
	return there;
}

LX_INLINE void lx_set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

/* Called from `enqueue`: bypasses the servers. */
LX_INLINE void lx_insert_direct(struct task_struct *p, u64 queue, u64 slice, u64 flags)
{
	scx_bpf_dsq_insert(p, queue, slice, flags);
	if (flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), 0);
}

#endif
