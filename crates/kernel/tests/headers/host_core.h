/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * A model of the kernel around the programs of the CPU scheduler: run queues, sched_ext, a higher class,
 * ticks and timers. Programs are called in the order of kernel/sched/ext.c: of Linux 6.18 without run
 * hooks, of 7.x with them.
 */
#ifndef LAXITY_TESTS_HOST_CORE_H
#define LAXITY_TESTS_HOST_CORE_H

#define HOST_TICK_NS 4000000ULL
/* SCX_SLICE_DFL */
#define HOST_SLICE_NS 20000000ULL
/* Execution of a worker thread that a CPU woke which stops, until it waits for the next step. */
#define HOST_WORKER_NS 20000ULL

static u32 host_timer_cpu(const struct bpf_timer *timer)
{
	u32 cpu;

	for (cpu = 0; cpu < HOST_CPUS; cpu++)
		if (bpf_map_lookup_elem(&timers, &cpu)->bpf.opaque == timer->opaque)
			return cpu;
	abort();
}

static void host_count(u32 cpu, s32 tasks)
{
	host.rq[cpu].nr_running += tasks;
	host.rq[cpu].scx.nr_running += tasks;
}

static int host_is_active(u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, &host.active);
}

static int host_is_online(u32 cpu)
{
	return host.cpu[cpu].stage == HOST_UP || host.cpu[cpu].stage == HOST_INACTIVE;
}

/* is_cpu_allowed() */
static int host_may_be_on(const struct task_struct *p, u32 cpu)
{
	return cpu < host.cpus && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) &&
	       (p->migration_disabled || host_is_active(cpu));
}

static void host_set_affinity(struct host_task *t, unsigned long allowed)
{
	t->allowed.bits[0] = allowed;
	t->p.nr_cpus_allowed = __builtin_popcountl(allowed);
}

/* select_fallback_rq() of a task that is not on a run queue. */
static u32 host_fallback(struct host_task *t)
{
	if (!(t->p.cpus_ptr->bits[0] & host.active.bits[0])) {
		host_set_affinity(t, (1UL << host.cpus) - 1);
		t->p.cpus_ptr = &t->allowed;
	}
	return __builtin_ctzl(t->p.cpus_ptr->bits[0] & host.active.bits[0]);
}

/* --- Calls of programs --- */

static void host_begin(u32 cpu, u32 in_interrupt)
{
	host.program.on = cpu;
	host.program.in_interrupt = in_interrupt;
}

/* update_curr_scx() */
static void host_update(struct host_task *t)
{
	struct task_struct *p = &t->p;
	u64 ran = host.now - p->se.exec_start;

	p->se.exec_start = host.now;
	p->se.sum_exec_runtime += ran;
	p->scx.slice -= lx_min(p->scx.slice, ran);
}

static void host_local_remove(struct host_cpu *c, u32 task)
{
	u32 i, left = 0;

	for (i = 0; i < c->nr_local; i++)
		if (c->local[i] != task)
			c->local[left++] = c->local[i];
	c->nr_local = left;
}

/* A task comes to the local DSQ of a CPU (local_dsq_post_enq()). */
static void host_insert_local(u32 cpu, u32 task, u64 slice, u64 flags)
{
	struct host_cpu *c = &host.cpu[cpu];
	struct task_struct *p = &host.task[task].p;
	u32 at_head = !!(flags & (SCX_ENQ_HEAD | SCX_ENQ_PREEMPT)), i;

	p->scx.slice = slice ? slice : 1;
	if (at_head)
		for (i = c->nr_local; i; i--)
			c->local[i] = c->local[i - 1];
	c->local[at_head ? 0 : c->nr_local] = task;
	c->nr_local++;
	if (c->current == HOST_HIGHER)
		return;
	if (c->current == HOST_IDLE)
		c->resched = 1;
	else if (flags & SCX_ENQ_PREEMPT && c->current != task) {
		host.task[c->current].p.scx.slice = 0;
		c->resched = 1;
	}
}

/* The CPU of a local DSQ. */
static u32 host_queue_cpu(u64 queue, u32 cpu)
{
	return (queue & SCX_DSQ_LOCAL_ON) == SCX_DSQ_LOCAL_ON ? (u32)queue : cpu;
}

/* do_enqueue_task() */
static void host_enqueue(u32 task, u64 flags)
{
	struct host_task *t = &host.task[task];
	u64 context[2] = { (u64)&t->p, flags };

	t->was_confined &= t->p.migration_disabled;
	t->bypasses = !host_is_online(t->p.thread_info.cpu);
	t->by_stopping = host.cpu[host.program.on].stage == HOST_DOWN;
	if (t->bypasses) {
		host_insert_local(t->p.thread_info.cpu, task, HOST_SLICE_NS, flags);
		return;
	}
	t->seq++;
	t->p.scx.ops_state.counter = (s64)(t->seq << SCX_OPSS_QSEQ_SHIFT | 1);
	host.program.nr_inserts = 0;
	host.program.in_enqueue = t->enqueueing = 1;
	laxity_enqueue(context);
	host.program.in_enqueue = t->enqueueing = 0;
	if (host.program.nr_inserts) {
		struct host_insert in = host.program.insert[0];

		expect(host.program.nr_inserts == 1 && in.task == task, "another task is inserted");
		host.program.nr_inserts = 0;
		t->p.scx.ops_state.counter = (s64)(t->seq << SCX_OPSS_QSEQ_SHIFT);
		host_insert_local(host_queue_cpu(in.queue, t->p.thread_info.cpu), task, in.slice,
				  in.flags);
		return;
	}
	t->queued = 1;
}

/* ops_dequeue() and dispatch_dequeue(): the task is in no queue any more. */
static void host_take_back(u32 task)
{
	struct host_task *t = &host.task[task];
	u64 context[2] = { (u64)&t->p, 0 };

	if (t->queued)
		laxity_dequeue(context);
	t->queued = 0;
	t->p.scx.ops_state.counter = (s64)(t->seq << SCX_OPSS_QSEQ_SHIFT);
	host_local_remove(&host.cpu[t->p.thread_info.cpu], task);
}

static void host_stopping(u32 task, u32 runnable)
{
	u64 context[2] = { (u64)&host.task[task].p, runnable };

	if (machine.has_run_hooks)
		laxity_stopping(context);
}

/* The tasks that `dispatch` inserted come to local DSQs. */
static void host_flush(u32 cpu)
{
	u32 i;

	for (i = 0; i < host.program.nr_inserts; i++) {
		struct host_insert in = host.program.insert[i];
		struct host_task *t = &host.task[in.task];
		u32 to = host_queue_cpu(in.queue, cpu);

		/* The kernel waits for the end of `enqueue`, which runs on another CPU. */
		if (t->enqueueing && t->seq == in.seq)
			host.abandoned = 1;
		if (!t->queued || t->seq != in.seq)
			continue;
		t->queued = 0;
		t->p.scx.ops_state.counter = (s64)(t->seq << SCX_OPSS_QSEQ_SHIFT);
		/* Otherwise the kernel ejects the scheduler. */
		expect(t->p.thread_info.cpu == to ||
			       (!t->p.on_cpu && host_may_be_on(&t->p, to) &&
				!t->p.migration_disabled),
		       "a task goes to a CPU where it must not be");
		host_count(t->p.thread_info.cpu, -1);
		host_count(to, 1);
		t->p.thread_info.cpu = to;
		host_insert_local(to, in.task, in.slice, in.flags);
	}
	host.program.nr_inserts = 0;
}

/* balance_one(). Returns true if the previous task goes on. */
static int host_balance(u32 cpu, u32 prev)
{
	struct host_cpu *c = &host.cpu[cpu];
	struct host_task *t = prev < HOST_TASKS ? &host.task[prev] : NULL;
	int runnable = t && t->p.scx.flags & SCX_TASK_QUEUED;
	u64 context[2] = { cpu, t ? (u64)&t->p : 0 };
	u32 inserted;

	if (t) {
		if (runnable)
			host_update(t);
		if (runnable && t->p.scx.slice)
			return 1;
	}
	if (c->nr_local || !host_is_online(cpu))
		return 0;
	do {
		host.program.nr_inserts = 0;
		host.program.in_dispatch = 1;
		laxity_dispatch(context);
		host.program.in_dispatch = 0;
		inserted = host.program.nr_inserts;
		host_flush(cpu);
		if (runnable && t->p.scx.slice)
			return 1;
	} while (inserted && !c->nr_local && !host.abandoned);
	return 0;
}

/* set_next_task_scx() */
static void host_set_next(u32 cpu, u32 task)
{
	struct host_cpu *c = &host.cpu[cpu];
	struct host_task *t = &host.task[task];
	u64 context[1] = { (u64)&t->p };

	host_take_back(task);
	t->p.se.exec_start = host.now;
	c->current = task;
	if (machine.has_run_hooks)
		laxity_running(context);
}

/* migrate_disable_switch(): a task that may not migrate leaves its CPU. */
static void host_confine(u32 task, u32 cpu)
{
	struct host_task *t = &host.task[task];
	u32 runnable = t->p.scx.flags & SCX_TASK_QUEUED;

	if (!t->p.migration_disabled || t->p.cpus_ptr != &t->allowed)
		return;
	if (runnable)
		host_take_back(task);
	t->confined.bits[0] = 1UL << cpu;
	t->p.cpus_ptr = &t->confined;
	if (runnable)
		host_enqueue(task, 0);
}

/* __schedule(): the current task goes on, or has blocked. */
static void host_schedule(u32 cpu, int blocks)
{
	struct host_cpu *c = &host.cpu[cpu];
	u32 prev = c->current, next, keep = 0;
	struct host_task *t = prev < HOST_TASKS ? &host.task[prev] : NULL;

	host_begin(cpu, 0);
	c->locked = 1;
	c->resched = 0;
	if (blocks && t) {
		host_update(t);
		host_stopping(prev, 0);
		t->p.scx.flags &= ~SCX_TASK_QUEUED;
		host_count(cpu, -1);
	}
	if (!c->higher || !machine.has_run_hooks)
		keep = host_balance(cpu, prev);
	if (c->higher)
		next = HOST_HIGHER;
	else if (keep)
		next = prev;
	else
		next = c->nr_local ? c->local[0] : HOST_IDLE;
	if (next != prev) {
		if (t && t->p.scx.flags & SCX_TASK_QUEUED) {
			host_update(t);
			host_stopping(prev, 1);
			if (t->p.scx.slice) {
				u32 resched = c->resched;

				host_insert_local(cpu, prev, t->p.scx.slice, SCX_ENQ_HEAD);
				c->resched = resched;
			} else {
				host_enqueue(prev, next == HOST_IDLE ? SCX_ENQ_LAST : 0);
			}
		}
		if (next < HOST_TASKS)
			host_set_next(cpu, next);
		c->current = next;
		if (t) {
			host_confine(prev, cpu);
			t->p.on_cpu = 0;
		}
		if (next < HOST_TASKS)
			host.task[next].p.on_cpu = 1;
		c->claimed = 0;
	} else if (t && !t->p.scx.slice) {
		t->p.scx.slice = LX_SLICE_NS;
	}
	if (next == HOST_HIGHER)
		c->disturbed = 1;
	/* balance_push() */
	c->pushes = !host_is_active(cpu) && next < HOST_TASKS &&
		    !host.task[next].p.migration_disabled;
	c->locked = 0;
	if (blocks && t && t->p.__state & TASK_DEAD)
		t->state = HOST_DEAD;
}

/* A kick arrives (kick_cpus_irq_workfn()). */
static void host_deliver_kick(u32 cpu)
{
	struct host_cpu *c = &host.cpu[cpu];

	if (c->current != HOST_HIGHER) {
		if (c->kick_preempt && c->current < HOST_TASKS)
			host.task[c->current].p.scx.slice = 0;
		c->resched = 1;
	}
	c->kick = c->kick_preempt = 0;
}

/* A task that waits moves to the run queue of another CPU. */
static void host_move(u32 task, u32 from, u32 to)
{
	host_begin(from, 0);
	host.cpu[from].locked = host.cpu[to].locked = 1;
	host_take_back(task);
	host_count(from, -1);
	host_count(to, 1);
	host.task[task].p.thread_info.cpu = to;
	host_enqueue(task, 0);
	host.cpu[from].locked = host.cpu[to].locked = 0;
	if (host.cpu[to].current == HOST_IDLE)
		host.cpu[to].resched = 1;
}

static void host_push(u32 cpu);

/* All kicks arrive, and all CPUs reschedule that were asked to. */
static void host_settle(void)
{
	u32 round, cpu, left = 1;

	for (round = 0; left && !wrong; round++) {
		if (round > 60) {
			expect(0, "CPUs reschedule for ever");
			return;
		}
		for (cpu = 0; cpu < host.cpus; cpu++) {
			struct host_cpu *c = &host.cpu[cpu];

			if (c->kick || c->kick_preempt)
				host_deliver_kick(cpu);
			if (c->resched)
				host_schedule(cpu, 0);
			if (c->pushes)
				host_push(cpu);
		}
		for (left = cpu = 0; cpu < host.cpus; cpu++)
			left |= host.cpu[cpu].kick | host.cpu[cpu].kick_preempt |
				host.cpu[cpu].resched | host.cpu[cpu].pushes;
	}
}

/* A tick of the current task of each CPU. */
static void host_tick(void)
{
	u32 cpu;

	for (cpu = 0; cpu < host.cpus; cpu++) {
		struct host_cpu *c = &host.cpu[cpu];

		if (c->current >= HOST_TASKS)
			continue;
		host_update(&host.task[c->current]);
		if (!host.task[c->current].p.scx.slice)
			c->resched = 1;
	}
}

static void host_fire_timer(u32 cpu)
{
	struct host_cpu *c = &host.cpu[cpu];
	u32 key = cpu;

	host_begin(c->timer_on, 1);
	c->timer = LX_NEVER;
	lx_timer_fired(&timers, &key, &bpf_map_lookup_elem(&timers, &key)->bpf);
}

/* The current task is such a thread. In 7.x it is the task that asked for the CPU to stop, whatever that does. */
static int host_runs_worker(const struct host_cpu *c)
{
	return c->current < HOST_TASKS && host.task[c->current].by_stopping && !machine.has_run_hooks;
}

/* Time passes, with timers and ticks on the way. Reports what ran. */
static void host_advance(u64 length, void (*ran)(u32 task, u64 ran))
{
	u64 end = host.now + length;

	host_settle();
	while (!wrong) {
		u64 next = lx_min(end, (host.now / HOST_TICK_NS + 1) * HOST_TICK_NS);
		u32 cpu, fired = 0, passed;

		for (cpu = 0; cpu < host.cpus; cpu++) {
			next = lx_min(next, lx_max(host.cpu[cpu].timer, host.now));
			if (host_runs_worker(&host.cpu[cpu]))
				next = lx_min(next, host.now + HOST_WORKER_NS);
		}
		for (cpu = 0; cpu < host.cpus; cpu++)
			if (host.cpu[cpu].current < HOST_TASKS && next > host.now)
				ran(host.cpu[cpu].current, next - host.now);
		passed = next > host.now;
		host.now = next;
		for (cpu = 0; passed && cpu < host.cpus; cpu++)
			if (host_runs_worker(&host.cpu[cpu])) {
				host.task[host.cpu[cpu].current].p.__state = 1;
				host_schedule(cpu, 1);
			}
		for (cpu = 0; cpu < host.cpus; cpu++)
			if (host.cpu[cpu].timer <= host.now) {
				host_fire_timer(cpu);
				fired = 1;
			}
		if (host.now % HOST_TICK_NS == 0)
			host_tick();
		host_settle();
		if (host.now == end && !fired)
			return;
	}
}

/* try_to_wake_up() by a CPU, in an interrupt or by its current task. */
static void host_wake(u32 task, u32 by, u32 in_interrupt)
{
	struct host_task *t = &host.task[task];
	u64 context[3] = { (u64)&t->p, t->p.thread_info.cpu, SCX_ENQ_WAKEUP };
	u32 cpu = t->p.thread_info.cpu;

	host_begin(by, in_interrupt);
	t->p.__state = 0;
	if (t->p.nr_cpus_allowed > 1 && !t->p.migration_disabled)
		cpu = laxity_select_cpu(context);
	else
		cpu = __builtin_ctzl(t->p.cpus_ptr->bits[0]);
	if (!host_may_be_on(&t->p, cpu))
		cpu = host_fallback(t);
	t->p.thread_info.cpu = cpu;
	host.cpu[cpu].locked = 1;
	t->p.scx.flags |= SCX_TASK_QUEUED;
	host_count(cpu, 1);
	host_enqueue(task, SCX_ENQ_WAKEUP);
	host.cpu[cpu].locked = 0;
	if (host.cpu[cpu].current == HOST_IDLE)
		host.cpu[cpu].resched = 1;
}

/* dequeue_task_scx() of a task that does not block: it goes on, moves or changes its class. */
static void host_dequeue(u32 task)
{
	struct host_task *t = &host.task[task];

	if (!(t->p.scx.flags & SCX_TASK_QUEUED))
		return;
	if (host.cpu[t->p.thread_info.cpu].current == task) {
		host_update(t);
		host_stopping(task, 0);
	}
	host_take_back(task);
}

/* A change of attributes: the task is dequeued and enqueued again. */
static void host_renew(u32 task, u32 by, unsigned long allowed)
{
	struct host_task *t = &host.task[task];
	u32 cpu = t->p.thread_info.cpu, runs = host.cpu[cpu].current == task;
	u32 runnable = t->p.scx.flags & SCX_TASK_QUEUED;

	host_begin(by, 0);
	host.cpu[cpu].locked = 1;
	host_dequeue(task);
	host_set_affinity(t, allowed);
	if (!t->p.migration_disabled)
		t->p.cpus_ptr = &t->allowed;
	if (runnable)
		host_enqueue(task, 0);
	if (runs)
		host_set_next(cpu, task);
	host.cpu[cpu].locked = 0;
}

/* A task of a higher class moves a runnable task off its CPU. */
static void host_move_away(u32 task, u32 from, u32 to)
{
	struct host_cpu *c = &host.cpu[from];
	u32 higher = c->higher;

	if (c->current == task) {
		c->higher = 1;
		host_schedule(from, 0);
	}
	if (host.task[task].p.thread_info.cpu == from)
		host_move(task, from, to);
	c->higher = higher;
	if (c->current == HOST_HIGHER && !higher)
		host_schedule(from, 0);
}

/* The affinity of a task changes, and may exclude its CPU. */
static void host_change_affinity(u32 task, u32 by, unsigned long allowed)
{
	struct host_task *t = &host.task[task];
	u32 from = t->p.thread_info.cpu, to = __builtin_ctzl(allowed & host.active.bits[0]);

	host_renew(task, by, allowed);
	if (allowed >> from & 1 || !(t->p.scx.flags & SCX_TASK_QUEUED) || t->p.migration_disabled)
		return;
	host_move_away(task, from, to);
}

/* A task changes to a higher class, or is boosted to it, blocks there, and returns to this one. */
static void host_leave_class(u32 task, u32 is_boosted)
{
	static struct task_struct waiter = { .prio = 10 };
	struct host_task *t = &host.task[task];
	struct host_cpu *c = &host.cpu[t->p.thread_info.cpu];
	u64 context[1] = { (u64)&t->p };

	c->locked = 1;
	if (t->p.scx.flags & SCX_TASK_QUEUED) {
		host_dequeue(task);
		t->p.scx.flags &= ~SCX_TASK_QUEUED;
		host_count(t->p.thread_info.cpu, -1);
	}
	t->p.pi_top_task = is_boosted ? &waiter : NULL;
	laxity_disable(context);
	t->p.pi_top_task = NULL;
	if (c->current == task) {
		c->current = HOST_HIGHER;
		c->disturbed = c->resched = 1;
		host_confine(task, t->p.thread_info.cpu);
		t->p.on_cpu = 0;
	}
	laxity_enable(context);
	c->locked = 0;
}

/* --- The beginning of a run --- */

/* Entries that a run may have used. */
#define HOST_USED 64

#define HOST_CLEAR(array) memset((array), 0, sizeof((array)[0]) * HOST_USED)

static void host_clear_heap(struct lx_heap *h)
{
	HOST_CLEAR(h->node);
	HOST_CLEAR(h->position);
	h->count = 0;
}

/* Clearing all of a CPU would take most of the time. */
static void host_clear_cpu(struct lx_cpu *c)
{
	struct lx_servers *q = &c->servers;

	memset(c, 0, __builtin_offsetof(struct lx_cpu, servers));
	memset(q, 0, __builtin_offsetof(struct lx_servers, active));
	HOST_CLEAR(q->active);
	host_clear_heap(&q->ready);
	host_clear_heap(&q->expired);
	host_clear_heap(&q->suspended);
	host_clear_heap(&q->reclaims);
	HOST_CLEAR(q->server);
	HOST_CLEAR(q->departed);
	q->deadline_misses = q->max_lateness_ns = 0;
}

static void host_clear_maps(void)
{
	struct host_map *m;

	for (m = host_maps; m->map; m++)
		if (m->map != &cpus)
			memset(m->data, 0, (size_t)m->size * lx_min(m->entries, HOST_USED));
}

static struct pid host_root_pid;

static void host_reset_task(u32 task)
{
	struct task_struct *p = &host.task[task].p;

	p->pid = 100 + task;
	p->static_prio = p->normal_prio = p->prio = 120;
	p->thread_pid = &host_root_pid;
}

/* Loads the scheduler on a machine without tasks. */
static void host_start(u32 cpus, u32 run_hooks, const struct lxc_policy_params *rules)
{
	size_t page = getpagesize();
	struct lx_machine *m = (struct lx_machine *)&machine;
	struct lx_place *place;
	u32 i, level;

	/* The loader writes it before the programs run, to which it is constant. */
	mprotect((void *)((size_t)m / page * page), 2 * page, PROT_READ | PROT_WRITE);
	m->cpus = cpus;
	m->has_run_hooks = run_hooks;
	host_clear_maps();
	for (i = 0; i < HOST_CPUS; i++)
		host_clear_cpu(lx_cpu(i));
	memset(&host, 0, sizeof(host));
	memset(&setup, 0, sizeof(setup));
	setup.rules = *rules;
	setup.best_effort_bw_min = LX_FULL_SHARE / 20;
	host.cpus = cpus;
	host.active.bits[0] = (1UL << cpus) - 1;
	setup.cpu_active_mask = (u64)&host.active;
	host.now = 1000000000;
	host.has_set_slice = run_hooks;
	host_other.thread_pid = &host_root_pid;
	for (i = 0; i < HOST_CPUS; i++) {
		host.cpu[i].current = HOST_IDLE;
		host.cpu[i].timer = LX_NEVER;
		place = bpf_map_lookup_elem(&places, &i);
		place->cpu = i;
		for (level = 0; level < LX_LEVELS; level++) {
			place->first[level] = level < LX_SAME_CACHE ? i : 0;
			place->end[level] = level < LX_SAME_CACHE ? i + 1 : cpus;
		}
	}
	for (i = 0; i < HOST_TASKS; i++) {
		host_reset_task(i);
	}
	HOST_CLEAR(members);
	memset(&sweep, 0, sizeof(sweep));
	memset(&totals, 0, sizeof(totals));
	laxity_init(NULL);
}

/* A new task, blocked. */
static void host_create(u32 task, u32 cpu, unsigned long allowed)
{
	struct host_task *t = &host.task[task];
	struct scx_init_task_args args = { .fork = 0 };
	u64 context[2] = { (u64)&t->p, (u64)&args };

	host_begin(cpu, 0);
	host_set_affinity(t, allowed);
	t->p.cpus_ptr = &t->allowed;
	t->p.thread_info.cpu = cpu;
	laxity_init_task(context);
	laxity_enable(context);
	t->state = HOST_ALIVE;
}

#endif
