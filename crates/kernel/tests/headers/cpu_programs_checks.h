/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What the programs of the CPU scheduler promise, checked when all CPUs have done what they were asked
 * to.
 */
#ifndef LAXITY_TESTS_CPU_PROGRAMS_CHECKS_H
#define LAXITY_TESTS_CPU_PROGRAMS_CHECKS_H

/* Timers and their minimum delays may cost a reservation this much of its budgets, in ns. */
#define SUPPLY_TOLERANCE_NS 50000
/* A lost kick is repeated within this time, in ns. */
#define SOON_NS 120000

/* Tasks have left a CPU that went offline within this time, in ns. */
#define SWEEP_NS 300000

static const char left_behind[] = "a task waits on a CPU that is offline";

/* What has to become true soon. */
static const char *soon;

static void expect_soon(int as_expected, const char *what)
{
	if (!as_expected && !soon)
		soon = what;
}

static struct lx_task *task_of(u32 task)
{
	return host.task[task].ref ? lx_task_at(host.task[task].ref - 1) : NULL;
}

static int is_runnable(u32 task)
{
	return host.task[task].state == HOST_ALIVE &&
	       host.task[task].p.scx.flags & SCX_TASK_QUEUED;
}

static int is_in_local_queue(u32 task)
{
	u32 cpu, i;

	for (cpu = 0; cpu < host.cpus; cpu++)
		for (i = 0; i < host.cpu[cpu].nr_local; i++)
			if (host.cpu[cpu].local[i] == task)
				return 1;
	return 0;
}

/* --- Supply of reservations --- */

struct supply {
	/* When the reservation is in force. */
	u64 effective;
	/* Since when it is, and its task on its CPU and runnable; execution before. */
	u64 since, executed;
	u32 valid;
};

static struct supply supplies[HOST_TASKS];

static void ran(u32 task, u64 length)
{
	host.task[task].executed += length;
}

/* A reservation executes its budget in each period while its task is runnable and no higher class has
 * the CPU, but for the period in which that begins and the last one. */
static void check_supply(void)
{
	u32 i;

	for (i = 0; i < HOST_TASKS; i++) {
		const struct host_task *h = &host.task[i];
		struct supply *s = &supplies[i];
		u64 periods;

		if (!h->period || !is_runnable(i) || host.cpu[h->reserved_cpu].disturbed ||
		    host.now < s->effective || task_of(i)->pending || h->p.migration_disabled ||
		    /* A higher class has the CPU where it waits. */
		    (!h->queued && h->p.thread_info.cpu != h->reserved_cpu)) {
			s->valid = 0;
			continue;
		}
		if (!s->valid) {
			s->since = host.now;
			s->executed = h->executed;
			s->valid = 1;
		}
		periods = (host.now - s->since) / h->period;
		if (periods > 1)
			expect(h->executed - s->executed + SUPPLY_TOLERANCE_NS >=
				       (periods - 1) * h->budget,
			       "a reservation gets less than its budget");
	}
}

/* --- Tasks --- */

/* A task that may not migrate to its reservation's CPU takes turns before all others where it is. The
 * kernel disables migration for a few instructions only, without PREEMPT_RT. A thread that was woken by a CPU
 * which stops does so for less than the tolerance. */
static void note_confined(void)
{
	u32 i;

	for (i = 0; i < host.cpus; i++)
		host.cpu[i].confines = 0;
	for (i = 0; i < HOST_TASKS; i++) {
		const struct host_task *h = &host.task[i];
		struct host_cpu *c = &host.cpu[h->p.thread_info.cpu];

		if (!is_runnable(i) || h->queued || h->p.scx.slice > LX_UNCHARGED_SLICE_NS)
			continue;
		c->confines |= h->by_stopping && !machine.has_run_hooks;
		if (!h->was_confined)
			continue;
		c->disturbed = c->confines = 1;
		if (lx_bound_reservation(task_of(i)))
			host.cpu[lx_bound_cpu(task_of(i))].disturbed = 1;
	}
}

/* No active CPU calls `dispatch`. */
static int nobody_decides(void)
{
	u32 cpu;

	for (cpu = 0; cpu < host.cpus; cpu++)
		if (host_is_active(cpu) && !host.cpu[cpu].higher && !host.cpu[cpu].confines)
			return 0;
	return 1;
}

static void check_waiting(const struct host_task *h, const struct lx_task *t)
{
	u32 slot = h->ref - 1, server = lx_member(slot)->server;
	u32 stage = host.cpu[t->home_cpu].stage;

	expect(t->queued && t->task == &h->p, "a waiting task is lost");
	expect(server != LX_NONE && lx_member(slot)->runnable, "a waiting task has no server");
	expect_soon(host_is_online(t->home_cpu) || stage == HOST_COMING || nobody_decides(),
		    left_behind);
	if (server != LX_NONE && stage == HOST_UP)
		expect_soon(host.cpu[t->home_cpu].current != HOST_IDLE ||
				    lx_server(&lx_cpu(t->home_cpu)->servers, server)->state !=
					    LX_READY,
			    "a CPU idles while a ready task waits");
}

/* The CPU runs a task that was there before it came online. With run hooks, one that starts meanwhile has
 * a short slice. */
static int runs_uncounted(u32 cpu)
{
	u32 current = host.cpu[cpu].current;

	return current < HOST_TASKS && host.task[current].bypasses &&
	       (!machine.has_run_hooks || host.task[current].was_confined ||
		host.task[current].p.scx.slice <= LX_UNCHARGED_SLICE_NS);
}

static void check_running(u32 cpu, const struct host_task *h, const struct lx_task *t)
{
	u32 slot = h->ref - 1;

	/* A tick ends such a slice, and then the task moves. A CPU that goes offline has no servers. */
	if (h->p.scx.slice <= LX_UNCHARGED_SLICE_NS || host.cpu[cpu].stage != HOST_UP ||
	    runs_uncounted(cpu))
		return;
	expect_soon(t->home_cpu == cpu, "a task runs on another CPU than its servers'");
	if (t->home_cpu != cpu)
		return;
	expect_soon(lx_run_contains(&lx_cpu(cpu)->run, slot), "a task runs unknown");
	expect_soon(lx_member(slot)->runnable, "a task runs, but counts as blocked");
}

static void check_tasks(void)
{
	u32 i;

	for (i = 0; i < HOST_TASKS; i++) {
		const struct host_task *h = &host.task[i];
		const struct lx_task *t = task_of(i);
		u32 cpu = h->p.thread_info.cpu, has_cpu = host.cpu[cpu].current == i;

		if (!t || h->state != HOST_ALIVE)
			continue;
		expect(h->held == (t->task != NULL), "a reference is lost, or kept");
		/* A higher class leaves no kick an effect. */
		expect_soon(!t->pending || host.cpu[cpu].higher || host.cpu[cpu].stage != HOST_UP ||
				    h->p.migration_disabled || h->bypasses,
			    "a request is pending");
		if (!is_runnable(i)) {
			expect(!t->queued && !h->queued, "a blocked task waits");
			continue;
		}
		if (h->queued)
			check_waiting(h, t);
		else
			expect(has_cpu || is_in_local_queue(i), "a task is lost");
		if (has_cpu && !host.cpu[cpu].higher)
			check_running(cpu, h, t);
	}
}

/* --- Reservations and CPUs --- */

static u64 clocks[HOST_CPUS];

static void check_reservations(void)
{
	u64 shares[HOST_CPUS] = { 0 };
	u32 number, k;

	for (number = 1; number <= 2 * HOST_TASKS; number++) {
		const struct lx_reservation *r = lx_reservation_at(number);
		u32 bound = 0;

		for (k = 0; k < HOST_TASKS; k++) {
			const struct lx_task *t = host.task[k].state ? task_of(k) : NULL;

			bound += t && (t->reservation == number || t->pending == number);
		}
		expect(!r->in_use == !bound, "a reservation has no task, or a task no reservation");
		if (!r->in_use)
			continue;
		expect(lx_server(&lx_cpu(r->cpu)->servers, r->server)->nr_members == bound,
		       "a reservation has another number of members");
		shares[r->cpu] += lx_share(r->budget, r->period, 1);
	}
	/* The rest is bandwidth of reservations that have ended, until it is free. */
	for (k = 0; k < host.cpus; k++)
		expect(shares[k] <= lx_cpu(k)->servers.reserved_bw, "less bandwidth is reserved");
}

/* The CPU runs the reservation that is first, and does not idle. */
static void check_first(u32 cpu)
{
	const struct lx_servers *q = &lx_cpu(cpu)->servers;
	const struct lx_heap *h = &q->ready;
	u32 first = lx_heap_top(h), current = host.cpu[cpu].current, server;

	/* A task that blocked while others were parked is found later. */
	if (first == LX_NONE || host.cpu[cpu].higher || host.cpu[cpu].confines ||
	    host.cpu[cpu].stage != HOST_UP || !lx_is_runnable(lx_at(q->server, first)->head))
		return;
	expect_soon(current != HOST_IDLE, "a CPU idles while a server is ready");
	if (current >= HOST_TASKS || lx_at(q->server, first)->kind != LX_HARD)
		return;
	server = lx_member(host.task[current].ref - 1)->server;
	expect_soon(server == first || (server != LX_NONE && lx_heap_contains(h, server) &&
					lx_heap_key(h, server) == lx_heap_min_key(h)),
		    "a CPU does not run its first reservation");
}

static void check_cpus(void)
{
	u32 cpu;

	for (cpu = 0; cpu < host.cpus; cpu++) {
		const struct lx_cpu *c = lx_cpu(cpu);

		expect(!c->lock.held, "a lock is held");
		/* While a higher class has the CPU, it is asked again and again. */
		expect_soon(!c->run.drain_local || host.cpu[cpu].higher || host.cpu[cpu].confines ||
				    host.cpu[cpu].stage != HOST_UP || runs_uncounted(cpu),
			    "a CPU is asked to reschedule for ever");
		expect(c->clock >= clocks[cpu], "a clock goes back");
		clocks[cpu] = c->clock;
		expect(host.cpu[cpu].disturbed || !c->servers.deadline_misses,
		       "a deadline is missed");
		check_first(cpu);
	}
	expect(!totals.unlocked && !totals.unaccounted, "a task is not accounted");
}

static void check_all(void)
{
	soon = NULL;
	note_confined();
	check_tasks();
	check_reservations();
	check_cpus();
	check_supply();
}

/* Kicks are repeated less and less often while no CPU calls `dispatch`. */
static u64 longest_kick_again(void)
{
	u64 longest = 0;
	u32 cpu;

	for (cpu = 0; cpu < host.cpus; cpu++)
		if (host.cpu[cpu].stage == HOST_OFFLINE)
			longest = lx_max(longest, lx_cpu(cpu)->kick_again_ns);
	return longest;
}

static void check(void)
{
	check_all();
	if (!soon)
		return;
	host_advance(SOON_NS, ran);
	check_all();
	if (soon == left_behind) {
		host_advance(SWEEP_NS + longest_kick_again(), ran);
		check_all();
	}
	expect(!soon, soon);
}

#endif
