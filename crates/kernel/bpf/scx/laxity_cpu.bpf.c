// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * The CPU scheduler as a sched_ext scheduler. <laxity/servers.h> decides; this code deals with the
 * kernel's tasks, one set of servers per CPU, timers and migration.
 *
 * Tasks wait in the servers, and `dispatch` moves the picked one to the local DSQ. The local DSQ
 * holds only tasks that preempt the current one, and preempted tasks parked behind it (cpu_run.h).
 * The lock in struct lx_cpu protects the servers and all other fields of that struct; nothing that
 * may wait for a run queue is called under it. The kernel serialises operations on one task, except
 * that an idle CPU or a request may move a waiting task to other servers; so code that looks up a
 * task's CPU checks it again under the lock (lx_lock_home).
 */
#include "timer_callback.h"
#include "balance.h"
#include "hotplug.h"
#include "control.h"
#include "cgroup.h"
#include "run_hooks.h"

/* Takes an idle CPU for a task, negative if there is none. The kernel prefers a core without other
 * tasks, and among such CPUs the last one, then those that share its cache, then its node. It is not
 * told of SCX_WAKE_SYNC, for which it would leave the task to the waker's CPU while others idle. */
LX_INLINE s32 lx_idle_near(struct task_struct *p, s32 before)
{
	bool is_idle = 0;
	s32 cpu;

	if (bpf_ksym_exists(scx_bpf_select_cpu_dfl)) {
		cpu = scx_bpf_select_cpu_dfl(p, before, 0, &is_idle);
		return is_idle ? cpu : -1;
	}
	if (scx_bpf_test_and_clear_cpu_idle(before))
		return before;
	return scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
}

/* Also called on a CPU that stops (lx_is_stopping), so it neither kicks nor sets a timer. */
SEC("struct_ops/select_cpu")
int laxity_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 before = ctx[1];
	u32 least = ~0U;
	struct lx_task *t;
	s32 cpu;

	if (machine.cpus == 1)
		return before;
	t = lx_task_of(p, NULL);
	if (t && lx_bound_reservation(t))
		return lx_bound_cpu(t);
	cpu = lx_idle_near(p, before);
	if (cpu >= 0)
		return cpu;
	if (!(ctx[2] & SCX_WAKE_FORK))
		return before;
	/* A new task starts on the CPU with the fewest tasks. */
	cpu = before;
	for (u32 k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero) {
		struct lx_cpu *c = lx_cpu(k);

		if (!c || !bpf_cpumask_test_cpu(k, p->cpus_ptr) || !lx_is_active(k))
			continue;
		if (lx_nr_ready(c) < least) {
			least = lx_nr_ready(c);
			cpu = k;
		}
	}
	return cpu;
}

/* Returns true if a preempted task waits only because another one was picked, and nothing else
 * changed. */
LX_INLINE int lx_preempted_for_next(const struct lx_cpu *c, u32 slot, u64 flags)
{
	return c->run.next != slot && c->run.next != LX_NONE && !(flags & SCX_ENQ_LAST) &&
	       lx_next_timer(&c->servers) >= c->due &&
	       lx_heap_top(&c->servers.ready) != lx_member(slot)->server;
}

/* Returns true if an enqueued task is being preempted on the CPU of its servers: the kernel has
 * chosen another task for that CPU already. A task that was moved while it ran elsewhere leaves that
 * other CPU. */
LX_INLINE int lx_is_preempted(const struct lx_cpu *c, const struct task_struct *p, u64 flags)
{
	return !(flags & (SCX_ENQ_WAKEUP | SCX_ENQ_LAST)) && !machine.has_run_hooks && p->on_cpu &&
	       c->cpu == lx_cpu_of(p);
}

/* Returns true if an enqueued task may preempt the CPU: it is not being preempted itself. While
 * ksoftirqd waits, every switch must go through `dispatch`. */
LX_INLINE int lx_may_run_first(const struct lx_cpu *c, const struct task_struct *p, u64 flags)
{
	return c->run.nr_local < LX_MAX_LOCAL && c->ksoftirqd == LX_NONE &&
	       !lx_is_preempted(c, p, flags);
}

SEC("struct_ops/enqueue")
void laxity_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1], now;
	u32 slot = 0, cpu = lx_cpu_of(p);
	struct lx_task *t = lx_task_cached(p, &slot);
	struct lx_decision o;
	struct lx_cpu *c;
	/* Read once, since each read costs an instruction or two. */
	const u32 run_hooks = machine.has_run_hooks, smp = machine.cpus > 1;
	int stopping, preempted, run_now, park = 0;
	u32 drain_before = 0, was_next;

	if (!t) {
		/* No free slot: such tasks take turns before all others. */
		__sync_fetch_and_add(&totals.unaccounted, 1);
		lx_insert_direct(p, SCX_DSQ_GLOBAL, LX_SLICE_NS, flags);
		return;
	}
	stopping = smp && lx_is_stopping();
	if (!stopping && t->cgroup_gen != READ_ONCE(grouping.changes))
		lx_refresh_weight(t, p, slot, bpf_ktime_get_ns());
	if (smp && !lx_is_active(cpu)) {
		lx_leave_servers(p, t, slot);
		lx_insert_direct(p, SCX_DSQ_LOCAL, LX_UNCHARGED_SLICE_NS, flags);
		return;
	}
	if (lx_bound_reservation(t) && lx_bound_cpu(t) != cpu) {
		u32 home = lx_bound_cpu(t);

		if (lx_is_migration_disabled(p)) {
			/* Migration to the reservation's CPU is disabled for now. */
			__sync_fetch_and_add(&totals.elsewhere, 1);
			lx_insert_direct(p, SCX_DSQ_LOCAL, LX_UNCHARGED_SLICE_NS, flags);
			return;
		}
		/* The reservation ends with its CPU, or when the task excludes that CPU. */
		if (!lx_is_active(home) || !bpf_cpumask_test_cpu(home, p->cpus_ptr))
			lx_task_exit(t, slot);
	}
	/* First, since a task that leaves a reservation counts on its own CPU. */
	if (t->pending)
		lx_apply_pending(slot, bpf_ktime_get_ns());
	if (!lx_bound_reservation(t) && t->home_cpu != cpu)
		lx_leave_cpu(t, slot, bpf_ktime_get_ns(), cpu);
	if (smp)
		lx_member(slot)->pinned = p->nr_cpus_allowed == 1 || lx_is_migration_disabled(p);
	c = lx_lock_home(t);
	if (!c) {
		/* The lock was not acquired; run the task anyway. */
		lx_insert_direct(p, SCX_DSQ_LOCAL, LX_UNCHARGED_SLICE_NS, flags);
		return;
	}
	if (stopping) {
		if (run_hooks)
			lx_wake_undecided(c, t, slot);
		lx_unlock(&c->lock);
		/* Until the next tick. */
		lx_insert_direct(p, SCX_DSQ_LOCAL, 1, flags | SCX_ENQ_PREEMPT);
		return;
	}
	/* The CPU is online again; another one, of a reservation, may still be coming. The kernel may have
	 * put tasks on its local DSQ meanwhile, which must not start before others. */
	if (c->offline && c->cpu == cpu) {
		c->offline = 0;
		lx_run_drain(&c->run);
	}
	preempted = lx_member(slot)->runnable;
	/* Read once, since reading the clock is a large part of the cost. */
	now = preempted && !(flags & SCX_ENQ_WAKEUP) ? 0 : bpf_ktime_get_ns();
	if (!run_hooks && preempted)
		preempted = lx_requeued(c, t, p, slot, flags, now);
	t->charged_runtime = p->se.sum_exec_runtime;
	if (preempted && lx_preempted_for_next(c, slot, flags)) {
		run_now = o.preempt = 0;
		o.cpu = c->cpu;
	} else {
		now = now ? now : bpf_ktime_get_ns();
		if (c->run.nr_local && !preempted)
			lx_update_blocked(c, now);
		now = lx_sync_clock(c, now, slot);
		lx_task_attach(c, t, slot, now);
		if (flags & SCX_ENQ_WAKEUP && lx_by_current(c))
			lx_on_wake_by_current(c, now, slot);
		else
			lx_on_wake(c, now, slot);
		drain_before = c->run.drain_local;
		was_next = c->run.next;
		lx_decide(c, now, &o);
		/* Where the higher class stops, a task on the local DSQ starts without a decision. With run
		 * hooks a start is one, which asks again for `dispatch` if that has to be called: so no task
		 * comes there then. */
		run_now = o.preempt && o.slot == slot && !o.unbudgeted && c->cpu == cpu &&
			  (run_hooks ? !drain_before : lx_may_run_first(c, p, flags));
		/* Preempted by a task outside the servers, or by another class, which goes
		 * first. */
		if (!run_now && o.slot == slot && was_next == LX_NONE &&
		    lx_is_preempted(c, p, flags))
			o.preempt = 0;
	}
	if (run_now) {
		lx_run_preempt_now(&c->run, slot, drain_before);
		o.preempt = 0;
		if (!run_hooks)
			lx_cpu_preempt(c, slot, now);
	} else if (!run_hooks && !o.preempt && cpu == c->cpu &&
		   lx_may_park(c, t, slot, preempted)) {
		park = 1;
		lx_run_park(&c->run, slot);
	} else {
		lx_task_hold(t, p);
		t->queued = 1;
		if (lx_overtakes_local(c, slot)) {
			lx_run_drain(&c->run);
			lx_arm_poll(c, c->clock);
		}
		o.preempt |= c->run.drain_local;
		if (o.preempt)
			lx_request_preempt(c);
	}
	lx_unlock(&c->lock);
	if (park) {
		lx_insert_direct(p, SCX_DSQ_LOCAL, LX_SLICE_NS,
				 flags | bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_HEAD));
		return;
	}
	if (t->is_ksoftirqd && (run_hooks || !run_now))
		lx_ksoftirqd_enqueued(c, slot);
	else if (!run_hooks)
		lx_run_pending_timers(c);
	lx_kick_on_preempt(&o);
	if (run_now) {
		/* Preempts the current task without a call of `dispatch`. */
		lx_insert_direct(p, SCX_DSQ_LOCAL, LX_SLICE_NS, flags | SCX_ENQ_PREEMPT);
		return;
	}
	if (smp && !o.preempt && !t->reservation && !lx_member(slot)->pinned) {
		s32 idle = lx_idle_near(p, cpu);

		/* It will look for a task to steal. */
		if (idle >= 0)
			scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	}
}

/* A waiting task is dequeued, for a change of attributes for example. Newer kernels (7.3) call this
 * for dispatched tasks as well. */
SEC("struct_ops/dequeue")
void laxity_dequeue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_task *t = lx_task_of(p, NULL);

	if (t && READ_ONCE(t->queued)) {
		lx_task_blocks(p);
		/* The task that has the CPU was enqueued and taken back, and goes on. Without a slice
		 * it is enqueued again, or seen by `dispatch`, where it stops next. */
		if (p->on_cpu) {
			lx_set_slice(p, 0);
			scx_bpf_kick_cpu(lx_cpu_of(p), SCX_KICK_PREEMPT);
		}
	}
	if (machine.cpus > 1)
		lx_kick_if_offline(scx_bpf_task_cpu(p));
}

enum lx_pick_result {
	/* Dispatched, or failed. */
	LX_PICK_DONE,
	/* The previous task continues. */
	LX_PICK_KEEP,
	LX_PICK_RETRY,
	/* No task is runnable. */
	LX_PICK_IDLE,
};

/* Dispatches the task that a CPU's servers pick. */
LX_GLOBAL_FN u32 lx_pick_next(u32 cpu, struct lx_prev *last __arg_nonnull)
{
	struct lx_cpu *c = lx_cpu(cpu);
	struct lx_decision o;
	struct task_struct *p;
	struct lx_task *t;
	u32 slot;
	u64 now;

	if (!c || !lx_lock(&c->lock))
		return LX_PICK_DONE;
	if (machine.has_run_hooks)
		now = lx_charge_current(c,
					lx_decision_time(c, last->runnable ? 0 : last->exec_start));
	else
		now = lx_pick_time(c, last);
	/* Without run hooks, lx_charge_prev has done this. */
	if (machine.has_run_hooks)
		lx_run_drained(&c->run);
	lx_process_due(c, now);
	lx_decide(c, now, &o);
	slot = o.slot;
	if (!machine.has_run_hooks)
		lx_cpu_switch_to(c, slot, now);
	lx_run_pick(&c->run, slot);
	/* It started while the CPU was offline, and goes on. */
	if (machine.has_run_hooks && slot != LX_NONE && slot == last->slot && c->run.current != slot) {
		lx_run_start(&c->run, slot);
		lx_on_start(c, slot, now);
	}
	lx_unlock(&c->lock);
	o.preempt = 0;
	lx_kick_on_preempt(&o);
	if (slot == LX_NONE)
		return LX_PICK_IDLE;
	if (slot == last->slot || !machine.has_run_hooks)
		lx_run_pending_timers(c);
	if (slot == last->slot)
		return LX_PICK_KEEP;
	t = lx_task_at(slot);
	if (!t)
		return LX_PICK_DONE;
	p = t->queued ? t->task : NULL;
	if (p) {
		u32 from = machine.cpus > 1 ? (u32)scx_bpf_task_cpu(p) : cpu;

		if (lx_still_on_cpu(p, cpu)) {
			lx_discard_stale_pick(c, t, slot);
			return LX_PICK_DONE;
		}
		if (lx_dispatch_task(t, cpu, LX_SLICE_NS)) {
			if (from != cpu)
				lx_kick_if_offline(from);
			return LX_PICK_DONE;
		}
	}
	/* The task is moving; it will be enqueued again. */
	__sync_fetch_and_add(&totals.absent, 1);
	lx_discard_stale_pick(c, t, slot);
	return LX_PICK_RETRY;
}

SEC("struct_ops/dispatch")
void laxity_dispatch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	u32 round, blocked, choice = LX_PICK_DONE, cpu = ctx[0];
	struct lx_prev last;

	if (lx_check_offline(cpu)) {
		if (prev && prev->scx.flags & SCX_TASK_QUEUED)
			lx_set_slice(prev, LX_UNCHARGED_SLICE_NS);
		else if (prev && !machine.has_run_hooks)
			lx_prev_blocked(prev, LX_NONE);
		return;
	}
	lx_read_prev(&last, prev, cpu);
	if (!machine.has_run_hooks) {
		lx_drop_stale(lx_cpu(cpu), last.slot);
		blocked = lx_charge_prev(cpu, &last);
		/* Requested since lx_read_prev. */
		if (blocked != LX_NONE)
			lx_apply_pending(blocked, bpf_ktime_get_ns());
	}
	lx_load_balance(cpu);
	for (round = lx_zero; round < LX_MAX_RETRIES && can_loop; round += 1 + lx_zero) {
		choice = lx_pick_next(cpu, &last);
		if (choice == LX_PICK_RETRY || (choice == LX_PICK_IDLE && lx_steal(cpu)))
			continue;
		if (choice == LX_PICK_KEEP && prev)
			lx_set_slice(prev, LX_SLICE_NS);
		break;
	}
	/* Many picked tasks were gone, or the last round found one to steal: try again. */
	if (choice == LX_PICK_RETRY || round == LX_MAX_RETRIES)
		scx_bpf_kick_cpu(cpu, 0);
}

SEC("struct_ops/set_weight")
void laxity_set_weight(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 now = bpf_ktime_get_ns();
	u32 slot = 0;
	struct lx_task *t = lx_task_of(p, &slot);

	if (!t)
		return;
	lx_set_task_weight(t, slot, lx_scaled_weight(p, t->cgroup_scale), now);
}

SEC("struct_ops.s/init_task")
int laxity_init_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct scx_init_task_args *args = (void *)ctx[1];
	struct lx_ref *ref = bpf_task_storage_get(&refs, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	unsigned long flags;
	struct lx_task *t;
	u32 slot = 0;

	lx_cache_slot(p, 0);
	if (!ref)
		return -ENOMEM;
	bpf_local_irq_save(&flags);
	slot = lx_slot_alloc();
	bpf_local_irq_restore(&flags);
	t = slot == LX_NONE ? NULL : lx_task_at(slot);
	if (!t)
		return 0;
	t->home_cpu = 0;
	t->arrived = bpf_ktime_get_ns();
	t->queued = 0;
	t->reservation = 0;
	t->pending = 0;
	t->learnt_average = 0;
	t->weight = lx_weight_of(p);
	t->cgroup_scale = LX_DEFAULT_WEIGHT;
	t->cgroup_gen = 0;
	t->pid = p->pid;
	t->is_ksoftirqd = lx_is_ksoftirqd(p);
	t->task_addr = (u64)p;
	t->charged_runtime = p->se.sum_exec_runtime;
	ref->slot = slot + 1;
	lx_cache_slot(p, slot + 1);
	if (args->fork) {
		bpf_local_irq_save(&flags);
		lx_reservation_inherit(t);
		bpf_local_irq_restore(&flags);
	}
	return 0;
}

/* A task enters this class. If it is on a CPU, it would continue without a call of a program, so
 * that CPU reschedules. Execution in the other class is not charged. */
SEC("struct_ops/enable")
void laxity_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_task *t = lx_task_of(p, NULL);

	if (t)
		t->charged_runtime = p->se.sum_exec_runtime;
	if (p->on_cpu)
		scx_bpf_kick_cpu(lx_cpu_of(p), SCX_KICK_PREEMPT);
}

/* A task leaves this class or exits. If it leaves only because it inherits a real-time priority, it
 * keeps its reservation. */
SEC("struct_ops/disable")
void laxity_disable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 slot = 0;
	struct lx_task *t = lx_task_of(p, &slot);

	if (!t)
		return;
	if (!lx_is_priority_boosted(p)) {
		lx_task_exit(t, slot);
		return;
	}
	lx_task_blocks(p);
	if (t->pending)
		lx_apply_pending(slot, bpf_ktime_get_ns());
}

SEC("struct_ops/exit_task")
void laxity_exit_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_ref *ref = bpf_task_storage_get(&refs, p, NULL, 0);
	struct lx_task *t;
	u32 slot = 0, left;

	t = lx_task_of(p, &slot);
	if (!ref || !t)
		return;
	/* Before lx_task_exit, so that no reservation is assigned to it after that. */
	ref->slot = 0;
	left = lx_task_exit(t, slot);
	t->pid = 0;
	t->task_addr = 0;
	lx_task_unhold(t);
	/* A slot that is still in a server is lost. */
	if (left)
		lx_slot_free(slot);
}

SEC("struct_ops.s/init")
int laxity_init(u64 *ctx)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && can_loop; k += 1 + lx_zero) {
		struct lx_cpu *c = lx_cpu(k);
		struct lx_cpu_timer *timer = bpf_map_lookup_elem(&timers, &k);

		if (!c || !timer)
			return -EINVAL;
		/* Without memory for the timer no budget would ever end. */
		if (bpf_timer_init(&timer->bpf, &timers, CLOCK_MONOTONIC) ||
		    bpf_timer_set_callback(&timer->bpf, lx_timer_fired))
			return -ENOMEM;
		c->cpu = k;
		lx_run_init(&c->run);
		c->ksoftirqd = LX_NONE;
		lx_servers_start(&c->servers, &setup.rules);
		/* Shared by tasks for which no server is free; never destroyed. */
		c->overflow_server = lx_server_create(&c->servers, 0, 20, 0, 0);
		lx_server(&c->servers, c->overflow_server)->nr_members = 1;
	}
	return 0;
}

SEC("struct_ops/exit")
void laxity_exit(u64 *ctx)
{
	struct scx_exit_info *info = (void *)ctx[0];

	ended.kind = info->kind;
	bpf_probe_read_kernel_str(ended.reason, sizeof(ended.reason), info->reason);
	bpf_probe_read_kernel_str(ended.message, sizeof(ended.message), info->msg);
}

#define LX_OPS                                                                                     \
	.select_cpu = (void *)laxity_select_cpu, .enqueue = (void *)laxity_enqueue,                \
	.dequeue = (void *)laxity_dequeue, .dispatch = (void *)laxity_dispatch,                    \
	.set_weight = (void *)laxity_set_weight, .cpu_online = (void *)laxity_cpu_online,          \
	.cpu_offline = (void *)laxity_cpu_offline, .cgroup_init = (void *)laxity_cgroup_init,      \
	.cgroup_move = (void *)laxity_cgroup_move,                                                 \
	.cgroup_set_weight = (void *)laxity_cgroup_set_weight,                                     \
	.init_task = (void *)laxity_init_task, .exit_task = (void *)laxity_exit_task,              \
	.enable = (void *)laxity_enable, .disable = (void *)laxity_disable,                        \
	.init = (void *)laxity_init, .exit = (void *)laxity_exit,                                  \
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_ENQ_MIGRATION_DISABLED,          \
	.timeout_ms = 30000, .name = "laxity"

SEC(".struct_ops.link")
struct sched_ext_ops laxity = { LX_OPS };

/* Used if `machine.has_run_hooks` is set. */
SEC(".struct_ops.link")
struct sched_ext_ops laxity_run_hooks = {
	LX_OPS,
	.running = (void *)laxity_running,
	.stopping = (void *)laxity_stopping,
};

char licence[] SEC("license") = "Dual MIT/GPL";
