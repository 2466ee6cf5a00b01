// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * The CPUs' scheduler as a sched_ext scheduler. What it decides is in <laxity/servers.h>; here are
 * the kernel's tasks, one set of servers for each CPU, timers, and tasks that move.
 *
 * Tasks wait here, and `dispatch` hands over the one that the servers choose. In the kernel's own queues are
 * only those that come before the running task, and those that go on when these do not (here.h). A CPU's servers
 * and all that is in struct lx_cpu are protected by its lock, under which nothing of the kernel is called that
 * could wait for a run queue. What concerns one task is serialised by
 * the kernel, except that a waiting task may be taken to other servers by an idle CPU or a
 * reservation; so code that looks for its servers looks again once it has the lock (lx_enter).
 */
#include "kernel.h"

#include <laxity/server.h>

#define LX_TASKS 16384
/* What the kernel's tick may end; budgets are ended by the timer. */
#define LX_SLICE 100000000ULL
/* A task runs for so long at a time where it is not counted. */
#define LX_UNCOUNTED (LX_SLICE / 100)
/* How often a CPU looks again, when who was chosen is not there or was taken from elsewhere. */
#define LX_ROUNDS 8

/* By slot, beside the tasks of that slot. */
struct lx_member members[LX_TASKS] SEC(".bss.members");

LX_INLINE struct lx_member *lx_member(u32 task)
{
	return lx_at(members, task);
}

#include <laxity/servers.h>

#include "state.h"
#include "reservations.h"
#include "move.h"
#include "notice.h"
#include "called.h"
#include "balance.h"
#include "hotplug.h"
#include "requests.h"
#include "groups.h"
#include "told.h"

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
	if (t && lx_is_bound(t))
		return lx_bound_to(t);
	if (scx_bpf_test_and_clear_cpu_idle(before))
		return before;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		return cpu;
	if (!(ctx[2] & SCX_WAKE_FORK))
		return before;
	/* A new task starts where the fewest are. */
	cpu = before;
	for (u32 k = lx_zero; k < machine.cpus && lx_may_loop; k += 1 + lx_zero) {
		struct lx_cpu *c = lx_cpu(k);

		if (!c || !bpf_cpumask_test_cpu(k, p->cpus_ptr) || !lx_is_active(k))
			continue;
		if (lx_ready_on(c) < least) {
			least = lx_ready_on(c);
			cpu = k;
		}
	}
	return cpu;
}

/* Whether a task that is put aside waits because another was chosen, and nothing else is new. */
LX_INLINE int lx_steps_aside(const struct lx_cpu *c, u32 slot, u64 flags)
{
	return c->chosen != slot && c->chosen != LX_NONE && !(flags & SCX_ENQ_LAST) &&
	       lx_due(&c->servers) >= c->due &&
	       lx_heap_first(&c->servers.ready) != lx_member(slot)->server;
}

/* Whether a task that comes to wait has a CPU until now, for which the kernel has somebody else already. */
LX_INLINE int lx_is_put_aside(const struct task_struct *p, u64 flags)
{
	return !(flags & (SCX_ENQ_WAKEUP | SCX_ENQ_LAST)) && !machine.told && p->on_cpu;
}

/* Whether a task that comes to wait may have the CPU at once: not one that is put aside just now. While the thread for
 * soft interrupts waits, `dispatch` is to see each switch. */
LX_INLINE int lx_may_go_first(const struct lx_cpu *c, const struct task_struct *p, u64 flags)
{
	return c->depth < LX_BELOW && c->soft == LX_NONE && !lx_is_put_aside(p, flags);
}

SEC("struct_ops/enqueue")
void laxity_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 flags = ctx[1], now;
	u32 slot = 0, cpu = lx_cpu_of(p);
	struct lx_task *t = lx_task_noted(p, &slot);
	struct lx_outcome o;
	struct lx_cpu *c;
	/* Read once, as each reading is an instruction or two. */
	const u32 told = machine.told, several = machine.cpus > 1;
	int aside, first, stays = 0;
	u32 drained = 0, chosen;

	if (!t) {
		/* More tasks than there are places: they take turns before all others. */
		__sync_fetch_and_add(&totals.unaccounted, 1);
		lx_pass(p, SCX_DSQ_GLOBAL, LX_SLICE, flags);
		return;
	}
	if (t->weighed != LX_SEEN(grouping.changes))
		lx_weigh_again(t, p, slot, bpf_ktime_get_ns());
	if (several && !lx_is_active(cpu)) {
		lx_leave_servers(p, t, slot);
		lx_pass(p, SCX_DSQ_LOCAL, LX_UNCOUNTED, flags);
		return;
	}
	if (lx_is_bound(t) && lx_bound_to(t) != cpu) {
		u32 home = lx_bound_to(t);

		if (lx_is_pinned(p)) {
			/* For now it cannot go where its reservation is. */
			__sync_fetch_and_add(&totals.elsewhere, 1);
			lx_pass(p, SCX_DSQ_LOCAL, LX_UNCOUNTED, flags);
			return;
		}
		/* With its CPU a reservation goes, and with the wish never to run there again. */
		if (!lx_is_active(home) || !bpf_cpumask_test_cpu(home, p->cpus_ptr))
			lx_quit(t, slot);
	}
	/* First, since a reservation that is given back counts on its own CPU. */
	if (t->pending)
		lx_adopt(t, slot, bpf_ktime_get_ns());
	if (!lx_is_bound(t) && t->home != cpu)
		lx_depart(t, slot, bpf_ktime_get_ns(), cpu);
	if (several)
		lx_member(slot)->pinned = p->nr_cpus_allowed == 1 || lx_is_pinned(p);
	c = lx_enter(t);
	if (!c) {
		/* The lock was not to be had: nobody is lost for that. */
		lx_pass(p, SCX_DSQ_LOCAL, LX_UNCOUNTED, flags);
		return;
	}
	c->shut = 0;
	aside = lx_member(slot)->runnable;
	/* Read once: to read the clock is much of the work. */
	now = aside && !(flags & SCX_ENQ_WAKEUP) ? 0 : bpf_ktime_get_ns();
	if (!told && aside)
		aside = lx_comes(c, t, p, slot, flags, now);
	t->booked = p->se.sum_exec_runtime;
	if (aside && lx_steps_aside(c, slot, flags)) {
		first = o.preempt = 0;
		o.cpu = c->cpu;
	} else {
		now = now ? now : bpf_ktime_get_ns();
		if (c->depth && !aside)
			lx_notice(c, now);
		now = lx_look(c, now, slot);
		lx_settle_in(c, t, slot, now);
		lx_wakes(c, now, slot);
		drained = c->draining;
		chosen = c->chosen;
		lx_conclude(c, now, &o);
		first = o.preempt && o.slot == slot && c->cpu == cpu && (told || lx_may_go_first(c, p, flags));
		/* Put aside for one that is not of the servers here, or of another class: that one has its turn. */
		if (!first && o.slot == slot && chosen == LX_NONE && lx_is_put_aside(p, flags))
			o.preempt = 0;
	}
	if (first) {
		c->draining = drained;
		c->chosen = slot;
		o.preempt = 0;
		if (!told)
			lx_goes_first(c, slot, now);
	} else if (!told && !o.preempt && cpu == c->cpu && lx_may_stay(c, t, slot, aside)) {
		stays = 1;
		lx_goes_below(c, slot);
	} else {
		lx_hold(t, p);
		t->queued = 1;
		if (lx_is_passed(c, slot))
			c->draining = 1;
		o.preempt |= c->draining;
		if (o.preempt && !lx_is_put_aside(p, flags))
			lx_insist(c);
	}
	lx_unlock(&c->lock);
	if (stays) {
		lx_pass(p, SCX_DSQ_LOCAL, LX_SLICE, flags | lx_enq_head);
		return;
	}
	if (t->soft && (told || !first))
		lx_soft_waits(c, slot);
	else if (!told)
		lx_finish_timers(c);
	lx_act(&o);
	if (first) {
		/* Before the task that runs there, without a word from `dispatch`. */
		lx_pass(p, SCX_DSQ_LOCAL, LX_SLICE, flags | SCX_ENQ_PREEMPT);
		return;
	}
	if (several && !o.preempt && !t->reservation && !lx_member(slot)->pinned) {
		s32 idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);

		/* It will look for work elsewhere. */
		if (idle >= 0)
			scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	}
}

/* A waiting task is taken away, by a change of its attributes for example. Later kernels, 7.3 for
 * one, call this for those that `dispatch` hands over, too. */
SEC("struct_ops/dequeue")
void laxity_dequeue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_task *t = lx_task_of(p, NULL);

	if (t && LX_SEEN(t->queued))
		lx_sleeps(p);
	if (machine.cpus > 1)
		lx_look_again(scx_bpf_task_cpu(p));
}

enum lx_choice {
	/* Handed over, or not possible. */
	LX_DONE,
	/* The task that ran goes on. */
	LX_KEEP,
	LX_AGAIN,
	/* Nobody is there. */
	LX_IDLE,
};

/* Hands over whom the servers of a CPU choose. */
LX_CALLED u32 lx_choose(u32 cpu, struct lx_last *last LX_GIVEN)
{
	struct lx_cpu *c = lx_cpu(cpu);
	struct lx_outcome o;
	struct task_struct *p;
	struct lx_task *t;
	u32 slot;
	u64 now;

	if (!c || !lx_lock(&c->lock))
		return LX_DONE;
	if (machine.told)
		now = lx_charge(c, lx_resume(c, last->awake ? 0 : last->counted));
	else
		now = lx_again(c, last);
	lx_release_now(c, now);
	lx_conclude(c, now, &o);
	slot = o.slot;
	if (!machine.told)
		lx_takes_over(c, slot, now);
	c->chosen = slot;
	lx_unlock(&c->lock);
	o.preempt = 0;
	lx_act(&o);
	if (slot == LX_NONE)
		return LX_IDLE;
	if (slot == last->slot || !machine.told)
		lx_finish_timers(c);
	if (slot == last->slot)
		return LX_KEEP;
	t = lx_task_at(slot);
	if (!t)
		return LX_DONE;
	p = t->queued ? t->task : NULL;
	if (p) {
		u32 from = machine.cpus > 1 ? (u32)scx_bpf_task_cpu(p) : cpu;

		if (lx_is_late(p, cpu)) {
			lx_forget(c, t, slot);
			return LX_DONE;
		}
		if (lx_hand_over(t, cpu, LX_SLICE)) {
			if (from != cpu)
				lx_look_again(from);
			return LX_DONE;
		}
	}
	/* It is on its way to or from somewhere: it will come back and wake. */
	__sync_fetch_and_add(&totals.absent, 1);
	lx_forget(c, t, slot);
	return LX_AGAIN;
}

SEC("struct_ops/dispatch")
void laxity_dispatch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	u32 round, choice = LX_DONE, cpu = ctx[0];
	struct lx_last last;

	if (lx_goes(cpu)) {
		if (prev && prev->scx.flags & SCX_TASK_QUEUED)
			lx_set_slice(prev, LX_UNCOUNTED);
		else if (prev && !machine.told)
			lx_sleeps_last(prev, LX_NONE);
		return;
	}
	lx_look_at(&last, prev, cpu);
	if (!machine.told) {
		lx_clear(lx_cpu(cpu), last.slot);
		lx_after(cpu, &last);
	}
	lx_even(cpu);
	for (round = lx_zero; round < LX_ROUNDS && lx_may_loop; round += 1 + lx_zero) {
		choice = lx_choose(cpu, &last);
		if (choice == LX_AGAIN || (choice == LX_IDLE && lx_steal(cpu)))
			continue;
		if (choice == LX_KEEP && prev)
			lx_set_slice(prev, LX_SLICE);
		break;
	}
	/* Many at once were not there: it asks again. */
	if (choice == LX_AGAIN)
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
	lx_weigh(t, slot, lx_scaled(p, t->scale), now);
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

	lx_note_slot(p, 0);
	if (!ref)
		return -ENOMEM;
	bpf_local_irq_save(&flags);
	slot = lx_take_slot();
	bpf_local_irq_restore(&flags);
	t = slot == LX_NONE ? NULL : lx_task_at(slot);
	if (!t)
		return 0;
	t->home = 0;
	t->queued = 0;
	t->reservation = 0;
	t->pending = 0;
	t->learnt = 0;
	t->weight = lx_weight_of(p);
	t->scale = LX_USUAL;
	t->weighed = 0;
	t->pid = p->pid;
	t->soft = lx_is_soft(p);
	t->at = (u64)p;
	t->booked = p->se.sum_exec_runtime;
	ref->slot = slot + 1;
	lx_note_slot(p, slot + 1);
	if (args->fork) {
		bpf_local_irq_save(&flags);
		lx_inherit(t);
		bpf_local_irq_restore(&flags);
	}
	return 0;
}

/* It comes from another class. One that has a CPU goes on there without a word: so its CPU is asked. What it
 * executed elsewhere is not booked. */
SEC("struct_ops/enable")
void laxity_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_task *t = lx_task_of(p, NULL);

	if (t)
		t->booked = p->se.sum_exec_runtime;
	if (p->on_cpu)
		scx_bpf_kick_cpu(lx_cpu_of(p), SCX_KICK_PREEMPT);
}

/* It goes to another class, or ends. While somebody of a real-time class waits for a lock that it has, the
 * kernel lends it that one's class, for which it loses no reservation. */
SEC("struct_ops/disable")
void laxity_disable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 slot = 0;
	struct lx_task *t = lx_task_of(p, &slot);

	if (!t)
		return;
	if (lx_is_lent(p))
		lx_sleeps(p);
	else
		lx_quit(t, slot);
}

SEC("struct_ops/exit_task")
void laxity_exit_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct lx_ref *ref = bpf_task_storage_get(&refs, p, NULL, 0);
	struct lx_task *t;
	u32 slot = 0;

	t = lx_task_of(p, &slot);
	if (!ref || !t)
		return;
	/* Before it quits, so that nobody promises it anything after that. */
	ref->slot = 0;
	lx_quit(t, slot);
	t->pid = 0;
	t->at = 0;
	lx_let_go(t);
	lx_give_slot(slot);
}

SEC("struct_ops.s/init")
int laxity_init(u64 *ctx)
{
	u32 k;

	for (k = lx_zero; k < machine.cpus && lx_may_loop; k += 1 + lx_zero) {
		struct lx_cpu *c = lx_cpu(k);
		struct lx_alarm *alarm = bpf_map_lookup_elem(&alarms, &k);

		if (!c || !alarm)
			return -EINVAL;
		/* Where the allocator has no memory for it, no budget would ever end. */
		if (bpf_timer_init(&alarm->timer, &alarms, CLOCK_MONOTONIC) ||
		    bpf_timer_set_callback(&alarm->timer, lx_alarm))
			return -ENOMEM;
		c->cpu = k;
		c->current = LX_NONE;
		c->chosen = LX_NONE;
		c->soft = LX_NONE;
		lx_servers_start(&c->servers, &setup.rules);
		/* Of those for whom there is no place of their own; it never goes. */
		c->crowd = lx_found(&c->servers, 0, 20, 0, 0);
		lx_server(&c->servers, c->crowd)->members = 1;
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

/* Where `machine.told` is set. */
SEC(".struct_ops.link")
struct sched_ext_ops laxity_told = {
	LX_OPS,
	.running = (void *)laxity_running,
	.stopping = (void *)laxity_stopping,
};

char licence[] SEC("license") = "Dual MIT/GPL";
