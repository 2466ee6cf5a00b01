/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What is kept: CPUs, tasks, places for them; entering a CPU's servers and acting on what they say.
 * Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_STATE_H
#define LAXITY_SCX_STATE_H

/* Set by the loader. */
struct {
	struct lxc_policy_params rules;
	/* The share that reservations leave. */
	u64 best_effort_bw_min;
	/* Where the kernel keeps which CPUs tasks may use; zero where it does not say. */
	u64 cpu_active_mask;
	/* Its place in the loader's list. */
	u32 policy;
	u32 padding;
} setup SEC(".data.setup");

/* The same, and never changed: what is not for this machine the kernel leaves out of the programs. */
const volatile struct {
	u32 cpus;
	/* Whether the kernel tells who starts and who stops (cpu_run.h). */
	u32 has_run_hooks;
} machine SEC(".rodata.machine");

/* Why the kernel ended it. */
struct {
	u64 kind;
	char reason[64];
	char message[256];
} ended SEC(".data.ended");

struct {
	/* Tasks without a place, reserved tasks that ran where their reservation is not, tasks that
	 * were chosen and not there, locks that could not be got. */
	u64 unaccounted;
	u64 elsewhere;
	u64 absent;
	u64 unlocked;
	/* The longest wait for a lock, in ns. */
	u64 waited;
} totals SEC(".data.totals");

/*
 * A lock of our own, since under the kernel's no global function may be called. Its holder has
 * switched interrupts off, as the kernel has wherever it holds a run queue, so nobody waits for one
 * that cannot go on.
 */
struct lx_lock {
	u32 held;
};

/* Tells whether it was got; it always is, the verifier wants an end. */
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

/* So many may have been put aside in the kernel's own queue, one by the next. */
#define LX_MAX_LOCAL 8

/* Where nothing is promised, the timer gives a task so long, in ns, beyond its budget: most stop by themselves
 * before, and are charged then. */
#define LX_TIMER_SLACK_NS 100000

/* What lx_coalesced_length answered, and to what. */
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
	/* Slots: who is charged since `since`, and who was chosen last. */
	u32 current;
	u32 next;
	u64 current_since;
	/* Time never goes back for the servers, whichever CPU reads the clock. */
	u64 clock;
	/* The kernel's clock, which stands still while it switches, when a task stopped at `clock`; and how far
	 * ours was ahead of it when it counted last, or behind: as numbers that wrap around. */
	u64 stopped_at;
	u64 clock_offset;
	/* When the timer will call, if it will; when it should. */
	u64 armed;
	u64 due;
	u32 overflow_server;
	/* Since it was seen to leave the machine, until it is asked to choose again. */
	u32 offline;
	/* The slot of its thread for soft interrupts, while that waits for its turn. */
	u32 ksoftirqd;
	/* Slots of those who go on when the current one does not, the last one first (cpu_run.h). */
	u32 nr_local;
	u32 local_queue[LX_MAX_LOCAL];
	/* Those below shall not go on by themselves: the CPU is to be asked. */
	u32 drain_local;
	u32 padding;
	struct lx_coalesced coalesced;
	/* When it compared itself with the others last. */
	u64 last_balance;
	/* What happened: counts, and the worst in ns. */
	u64 switches;
	u64 steals;
	u64 overrun;
	u64 late_release;
	struct lx_servers servers;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	/* The loader sets the length. */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_cpu);
} cpus SEC(".maps");

struct lx_task {
	/* While it waits here; held for longer it could never end. */
	struct task_struct __kptr *task;
	/* Average execution, for the next servers. */
	u64 learnt_average;
	/* The CPU in whose servers it is. */
	u32 home_cpu;
	/* Waits here. */
	u32 queued;
	u32 weight;
	/* What groups make of a hundred, and as of which change of them. */
	u32 cgroup_scale;
	u32 cgroup_gen;
	/* Counted from one: the reservation it is of, and the one that it shall be of. */
	u32 reservation;
	u32 pending;
	/* For people; zero when there is no task. */
	u32 pid;
	/* A CPU's thread for soft interrupts. */
	u32 is_ksoftirqd;
	/* Where the task is, and what of its execution is booked. */
	u64 task_addr;
	u64 charged_runtime;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LX_MAX_TASKS);
	__type(key, u32);
	__type(value, struct lx_task);
} tasks SEC(".maps");

/* A task's slot, counted from one. */
struct lx_ref {
	u32 slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lx_ref);
} refs SEC(".maps");

/* Slots that nobody has: those given back, counted from one, then those never used. */
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

/* Notes a task's slot, counted from one, where the kernel keeps its place in queues ordered by time,
 * of which there are none here: quicker to find than what is stored for it. */
LX_INLINE void lx_cache_slot(struct task_struct *p, u64 number)
{
	if (bpf_ksym_exists(scx_bpf_task_set_dsq_vtime))
		scx_bpf_task_set_dsq_vtime(p, number);
	else
		p->scx.dsq_vtime = number;
}

/* As lx_task_of, of one that comes to wait. The scheduler before this one may have left anything in
 * that place. */
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
	/* Threads that execute a program get the number of their process. */
	if (t)
		t->pid = p->pid;
	return t;
}

/* Whether a slot is that of a task which has come to wait here at least once. */
LX_INLINE int lx_slot_is_task(u32 slot, const struct task_struct *p)
{
	return slot != LX_NONE && p->scx.dsq_vtime == (u64)slot + 1;
}

/* The CPU of a task whose run queue is locked. */
LX_INLINE u32 lx_cpu_of(const struct task_struct *p)
{
	if (bpf_core_field_exists(p->thread_info.cpu))
		return p->thread_info.cpu;
	return scx_bpf_task_cpu(p);
}

/* The time at which a task starts, or another is chosen instead: that at which the last one stopped, if
 * the kernel is still at it. To read the clock again would be half of the work. */
LX_INLINE u64 lx_decision_time(const struct lx_cpu *c, u64 kernel_clock)
{
	return kernel_clock && kernel_clock == c->stopped_at ? c->clock : bpf_ktime_get_ns();
}

/* The CPUs that tasks may use, 64 in a word: those that are here and not about to go. */
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

/* Whether nobody would come to choose another task there. */
LX_INLINE int lx_is_offline(const struct lx_cpu *c)
{
	return machine.cpus > 1 && (READ_ONCE(c->offline) || !lx_is_active(c->cpu));
}

/* 20 - nice, from 1 to 40; least for what shall run when nothing else does. */
LX_INLINE u32 lx_weight_of(struct task_struct *p)
{
	u32 weight = 140 - p->static_prio;

	if (p->policy == SCHED_IDLE)
		return 1;
	return weight - 1 < 40 ? weight : 20;
}

/* The CPU in whose servers a task is, locked. */
LX_INLINE struct lx_cpu *lx_lock_home(struct lx_task *t)
{
	u32 i, home = READ_ONCE(t->home_cpu);
	struct lx_cpu *c = lx_cpu(home);

	if (!c || !lx_lock(&c->lock))
		return NULL;
	/* On another by now, as a rule not. */
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

/* Books what a task has executed up to `now`. */
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

/* Books what the running task has used; all that is reported at `now` comes after that. */
LX_INLINE u64 lx_charge_current(struct lx_cpu *c, u64 now)
{
	now = lx_max(now, c->clock);
	c->clock = now;
	if (c->current != LX_NONE)
		lx_charge_task(c, c->current, now, lx_current_runtime(c, now));
	return now;
}

/* Whether a task that wakes takes a share from the others, and something is promised: one without a server,
 * or whose server does not count with all of its weight. */
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

/* The same for a task that wakes: what the running one has used is booked when it matters. That is at the
 * latest when its budget is over, and where shares change hands: what it has used already it cannot give.
 * Until then the limit on what is used ahead (lx_limit_ahead) sees the running one less far ahead than it
 * is, and gives back that much less. */
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

/* Under the lock: what is due is released, and by how much a reservation is late is noted. Tells whether
 * anything was. */
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

/* A task has something to do; it has nothing more to do. */
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

/* What is to be done once the lock is given back. */
struct lx_decision {
	u32 cpu;
	/* Who shall run. */
	u32 slot;
	u32 preempt;
};

/* With other shares other deadlines follow: the running task's present budget is the last for which nobody
 * looks. All it used is booked. */
LX_INLINE void lx_arm_at_budget_end(struct lx_cpu *c, u64 now)
{
	u32 server = c->current == LX_NONE ? LX_NONE : lx_member(c->current)->server;

	if (server != LX_NONE)
		lx_arm_timer(c, now,
			     lx_min(c->due,
				    now + lx_server(&c->servers, server)->remaining_budget));
}

/* The same where somebody waits in the kernel's queue, who goes on when the current task does not. The kernel
 * knows whom to take if that is who was chosen. A budget of the task that waits there ends in time if others wait
 * for that. */
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

/* The last step under the lock. */
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
		/* Asked only where the timer would be set, which is most of the work. */
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

/* A task waits here from now on, or no more. */
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

/* Which time it is that a task has come to wait. */
LX_INLINE u64 lx_enqueue_seq(const struct task_struct *p)
{
	return (u64)READ_ONCE(p->scx.ops_state.counter) >> SCX_OPSS_QSEQ_SHIFT;
}

/* From `dispatch` of a CPU, to which a task that waits here is handed over; tells whether it was
 * there. Until then it can be told to run elsewhere, which takes it back and makes it wait again: who
 * does that sets what is cleared here, and the kernel would end a scheduler that sends the task where
 * it may not run any more. */
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

/* From `enqueue`: past the servers. */
LX_INLINE void lx_insert_direct(struct task_struct *p, u64 queue, u64 slice, u64 flags)
{
	scx_bpf_dsq_insert(p, queue, slice, flags);
	if (flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), 0);
}

#endif
