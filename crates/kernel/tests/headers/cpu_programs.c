/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Runs the programs of the CPU scheduler in user space, beside a model of the kernel, and checks what
 * they promise after each event: in random sequences of events, or in all short ones. While a program
 * runs, another CPU may act each time a lock is released.
 *
 * Input: struct lxc_policy_params, then seven u32: the number of CPUs, whether the run hooks are loaded,
 * whether the kernel has a deadline server, the first seed, the number of sequences, the number of
 * events in each (0: all sequences of a length instead of that number), and whether to show the state
 * after the last events that lead to a violation.
 * Prints for each kind of event how often it happened, and how many events happened within a program;
 * or a line that starts with `E`, with a sequence that leads to a violation, from which no event can be
 * left out.
 */
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"

#include "host_kernel.h"

#include "../../bpf/scx/laxity_cpu.bpf.c"

#include "host_hotplug.h"

#include "cpu_programs_checks.h"

enum kind {
	/* Time passes. */
	TIME,
	/* A blocked task wakes, by an interrupt on a CPU or by its current task. */
	WAKE,
	WAKE_BY_CURRENT,
	/* The current task of a CPU blocks. */
	BLOCK,
	/* A task of a higher class wakes or blocks on a CPU. */
	HIGHER,
	/* Requests, made on a CPU: for a task; other rules. */
	RESERVE,
	RELEASE,
	CHANGE,
	/* A kick arrives at a CPU; a CPU reschedules. */
	KICK,
	SCHEDULE,
	/* Attributes of a task change; its affinity does. */
	RENEW,
	AFFINITY,
	/* A task leaves the class, by request or boosted by a waiter, blocks and returns. */
	LEAVE,
	/* The current task of a CPU exits; a task begins. */
	EXIT,
	CREATE,
	/* The current task of a CPU may not migrate, or may again; a CPU goes offline or comes online, by a
	 * step. */
	PIN,
	HOTPLUG,
	/* All kicks arrive, and all CPUs reschedule. */
	SETTLE,
	NR_KINDS,
};

static const char *const names[NR_KINDS] = {
	"time",	  "wake", "wake-by-current", "block", "higher", "reserve", "release",
	"change", "kick", "schedule",	     "renew", "affinity", "leave",   "exit",
	"create", "pin", "hotplug", "settle",
};

/* How often the kinds occur in random sequences. */
static const u32 weights[NR_KINDS] = { 20, 20, 6, 24, 4, 6, 5, 1, 12, 12, 2, 2, 1, 1, 2, 2, 2, 10 };

struct event {
	/* A kind; a CPU; a task, a length of time or a choice. */
	u32 kind, cpu, what;
};

struct step {
	struct event event;
	/* The release of a lock at which another event happens within the program; 0 for none. */
	u32 window;
	struct event within;
};

#define MAX_STEPS 200

static struct step steps[MAX_STEPS];
static u32 nr_steps;

static struct lxc_policy_params rules;
static u32 nr_cpus, run_hooks, has_deadline_server, shown, shows;
static u64 happened[NR_KINDS], happened_within;

/* The step whose program runs, and the releases of locks left until its second event. */
static const struct step *running;
static u32 releases;

static const u64 lengths[] = { 20000, 300000, 1000000, 3000000, 11000000, 47000000 };
#define NR_LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

/* --- Events --- */

static void reserve(u32 cpu, u32 task)
{
	struct host_task *h = &host.task[task];
	struct lx_request q = {
		.budget = 1000000 + 700000 * (task % 3),
		.period = 10000000,
		.pid = h->p.pid,
		.cpu = (task + cpu) % nr_cpus,
		.deferrable = task & 1,
	};

	laxity_reserve(&q);
	/* It may have left the class or the CPU meanwhile. */
	if (q.error || !task_of(task) || !lx_bound_reservation(task_of(task)) ||
	    !(h->allowed.bits[0] >> q.cpu & 1) || !host_is_active(q.cpu))
		return;
	h->budget = q.budget;
	h->period = q.period;
	h->reserved_cpu = q.cpu;
	supplies[task].valid = 0;
	supplies[task].effective = host.now + q.delay;
}

static void release(u32 task)
{
	struct lx_request q = { .pid = host.task[task].p.pid };

	laxity_release(&q);
	if (!q.error)
		host.task[task].period = 0;
}

static void change(u32 choice)
{
	struct lxc_policy_change q = { .rules = rules, .best_effort_bw_min = LX_FULL_SHARE / 20 };

	if (choice & 1 && q.rules.slice != LX_NEVER)
		q.rules.slice /= 3;
	laxity_change(&q);
}

static void create(u32 cpu, u32 task, u32 is_pinned)
{
	struct host_task *h = &host.task[task];
	u64 context[2] = { (u64)&h->p, 0 };

	if (h->state == HOST_DEAD) {
		laxity_exit_task(context);
		expect(!h->held, "a reference to a dead task is kept");
	}
	memset(h, 0, sizeof(*h));
	supplies[task].valid = 0;
	host_reset_task(task);
	host_create(task, cpu, is_pinned ? 1UL << cpu : (1UL << nr_cpus) - 1);
}

/* The current task of a CPU blocks or exits. */
static int stop(u32 cpu, u32 state)
{
	struct host_cpu *c = &host.cpu[cpu];
	u32 current = c->current;

	if (current >= HOST_TASKS || c->locked || c->resched ||
	    (state == TASK_DEAD && host.task[current].p.migration_disabled))
		return 0;
	host.task[current].p.__state = state;
	if (state == TASK_DEAD)
		host.task[current].period = 0;
	host_schedule(cpu, 1);
	return 1;
}

/* No task can come to a run queue now, whichever it is. */
static int any_locked(void)
{
	u32 k;

	for (k = 0; k < nr_cpus; k++)
		if (host.cpu[k].locked)
			return 1;
	return 0;
}

static int wake(u32 cpu, u32 task, u32 by_current)
{
	struct host_task *h = &host.task[task];
	/* Or by the thread that stops the CPU. */
	int has_current = host.cpu[cpu].current < HOST_TASKS || host.cpu[cpu].stage == HOST_DOWN;

	if (h->state != HOST_ALIVE || is_runnable(task) || h->p.on_cpu ||
	    (by_current && !has_current) || any_locked())
		return 0;
	host_wake(task, cpu, !by_current);
	return 1;
}

static int switch_higher(u32 cpu)
{
	struct host_cpu *c = &host.cpu[cpu];

	if (c->locked)
		return 0;
	c->higher = !c->higher;
	host.rq[cpu].nr_running += c->higher ? 1 : -1;
	if (c->higher && c->current < HOST_TASKS)
		c->resched = 1;
	else
		host_schedule(cpu, 0);
	return 1;
}

/* Other attributes or, if it is not zero, affinity. */
static int renew(u32 cpu, u32 task, unsigned long allowed)
{
	struct host_task *h = &host.task[task];

	allowed &= (1UL << nr_cpus) - 1;
	if (h->state != HOST_ALIVE || (allowed && !(allowed & host.active.bits[0])))
		return 0;
	if (!allowed) {
		if (!is_runnable(task) || host.cpu[h->p.thread_info.cpu].locked)
			return 0;
		host_renew(task, cpu, h->allowed.bits[0]);
		return 1;
	}
	if (any_locked())
		return 0;
	host_change_affinity(task, cpu, allowed);
	/* The reservation ends when the task is enqueued. */
	if (!(allowed >> h->reserved_cpu & 1))
		h->period = 0;
	return 1;
}

/* The current task of a CPU may not migrate, or may again. */
static int pin(u32 cpu)
{
	u32 task = host.cpu[cpu].current;

	if (task >= HOST_TASKS || any_locked())
		return 0;
	if (host.task[task].p.migration_disabled)
		host_enable_migration(task, cpu);
	else
		host_disable_migration(task);
	return 1;
}

static int hotplug(u32 cpu, u32 what, u32 is_within)
{
	u32 i;

	if (host.cpu[cpu].locked || !host_hotplug(cpu, what & 8, is_within))
		return 0;
	/* The last that a CPU does: in 6.18 for a worker thread, which has no reservation. */
	if (host.cpu[cpu].stage == HOST_DOWN &&
	    (run_hooks || !host.task[what % HOST_TASKS].period))
		wake(cpu, what % HOST_TASKS, 1);
	/* The reservations on a CPU end when it goes. */
	for (i = 0; i < HOST_TASKS && !host_is_active(cpu); i++)
		if (host.task[i].reserved_cpu == cpu)
			host.task[i].period = 0;
	return 1;
}

/* Returns false if the event cannot happen now. */
static int apply(const struct event *e, int is_within)
{
	u32 cpu = e->cpu % nr_cpus, task = e->what % HOST_TASKS;
	struct host_cpu *c = &host.cpu[cpu];
	struct host_task *h = &host.task[task];
	u64 length;
	u32 k, allowed;

	if (c->stage == HOST_DOWN && e->kind != TIME && e->kind != HOTPLUG && e->kind != SETTLE)
		return 0;
	host_begin(cpu, 0);
	switch (e->kind) {
	case TIME:
		/* No CPU takes long to come online. */
		length = lengths[e->what % NR_LENGTHS];
		for (k = 0; k < nr_cpus; k++)
			if (host.cpu[k].stage == HOST_COMING)
				length = lengths[0];
		host_advance(length, ran);
		return 1;
	case WAKE:
	case WAKE_BY_CURRENT:
		return wake(cpu, task, e->kind == WAKE_BY_CURRENT);
	case BLOCK:
		return stop(cpu, 1);
	case EXIT:
		return stop(cpu, TASK_DEAD);
	case HIGHER:
		return switch_higher(cpu);
	case RESERVE:
		if (h->state != HOST_ALIVE)
			return 0;
		reserve(cpu, task);
		return 1;
	case RELEASE:
		if (h->state != HOST_ALIVE)
			return 0;
		release(task);
		return 1;
	case CHANGE:
		change(e->what);
		return 1;
	case KICK:
		if (!(c->kick || c->kick_preempt) || c->locked)
			return 0;
		host_deliver_kick(cpu);
		return 1;
	case SCHEDULE:
		if (c->pushes && !any_locked()) {
			host_push(cpu);
			return 1;
		}
		if (!c->resched || c->locked)
			return 0;
		host_schedule(cpu, 0);
		return 1;
	case PIN:
		return pin(cpu);
	case HOTPLUG:
		return hotplug(cpu, e->what, is_within);
	case RENEW:
	case AFFINITY:
		allowed = 1 + e->what / HOST_TASKS % ((1U << nr_cpus) - 1);
		return renew(cpu, task, e->kind == AFFINITY ? allowed : 0);
	case LEAVE:
		if (h->state != HOST_ALIVE || host.cpu[h->p.thread_info.cpu].locked)
			return 0;
		host_leave_class(task, e->what & 8);
		if (!(e->what & 8))
			h->period = 0;
		return 1;
	case CREATE:
		if (h->state == HOST_ALIVE || h->p.on_cpu || is_within || !host_is_active(cpu))
			return 0;
		create(cpu, task, e->what & 8);
		return 1;
	default:
		host_settle();
		return 1;
	}
}

static void host_window(void)
{
	const struct step *s = running;
	struct host_program outer;

	if (!s || --releases)
		return;
	running = NULL;
	/* Interrupts are off on the CPU of the program. */
	if (s->within.cpu % nr_cpus == host.program.on)
		return;
	outer = host.program;
	memset(&host.program, 0, sizeof(host.program));
	happened_within += apply(&s->within, 1);
	host.program = outer;
}

/* --- Runs --- */

static void print_event(const struct event *e)
{
	printf("%s(%u,%u)", names[e->kind], e->cpu % nr_cpus, e->what);
}

static void print_step(const struct step *s)
{
	printf(" ");
	print_event(&s->event);
	if (s->window) {
		printf("[%u:", s->window);
		print_event(&s->within);
		printf("]");
	}
}

static void show_state(const struct step *s)
{
	u32 i, k;

	printf("%llu", host.now);
	if (s)
		print_step(s);
	printf("\n");
	for (i = 0; i < nr_cpus; i++) {
		const struct host_cpu *h = &host.cpu[i];
		const struct lx_cpu *c = lx_cpu(i);

		printf("  cpu %u: stage %u, current %d, higher %u, resched %u, kick %u %u, timer "
		       "in %lld, local",
		       i, h->stage, (s32)h->current, h->higher, h->resched, h->kick, h->kick_preempt,
		       (s64)(h->timer - host.now));
		for (k = 0; k < h->nr_local; k++)
			printf(" %u", h->local[k]);
		printf("; run state: current %d, next %d, parked %u, drain %u, due in %lld\n",
		       (s32)c->run.current, (s32)c->run.next, c->run.nr_local, c->run.drain_local,
		       (s64)(c->due - host.now));
		for (k = 0; k < c->servers.ready.count; k++)
			printf("    server %u of slot %d: deadline in %lld\n",
			       c->servers.ready.node[k].entry,
			       (s32)c->servers.server[c->servers.ready.node[k].entry].head,
			       (s64)(c->servers.ready.node[k].key - host.now));
	}
	for (i = 0; i < HOST_TASKS; i++) {
		const struct host_task *h = &host.task[i];
		const struct lx_task *t = task_of(i);

		if (h->state != HOST_ALIVE || !t)
			continue;
		printf("  task %u: cpu %u, runnable %d, queued %u, slice %llu; slot %u, home %u, "
		       "queued %u, reservation %u, pending %u, server %d, runnable %u\n",
		       i, h->p.thread_info.cpu, is_runnable(i), h->queued, h->p.scx.slice, h->ref - 1,
		       t->home_cpu, t->queued, t->reservation, t->pending,
		       (s32)lx_member(h->ref - 1)->server, lx_member(h->ref - 1)->runnable);
	}
}

/* Returns true if the steps lead to a violation. */
static int fails(void)
{
	u32 i;

	wrong = NULL;
	memset(supplies, 0, sizeof(supplies));
	memset(clocks, 0, sizeof(clocks));
	host_start(nr_cpus, run_hooks, &rules);
	host.has_deadline_server = has_deadline_server;
	for (i = 0; i < 3; i++)
		host_create(i, i % nr_cpus, (1UL << nr_cpus) - 1);
	for (i = 0; i < nr_steps && !wrong && !host.abandoned; i++) {
		const struct step *s = &steps[i];

		running = s->window ? s : NULL;
		releases = s->window;
		happened[s->event.kind] += apply(&s->event, 0);
		running = NULL;
		if (shows && i + 4 >= nr_steps)
			show_state(s);
		if (s->event.kind == TIME || s->event.kind == SETTLE)
			check();
	}
	if (!wrong && !host.abandoned) {
		host_advance(100000, ran);
		check();
	}
	return wrong && !host.abandoned;
}

/* Leaves out what is not needed for a violation, and prints the rest. */
static void report(void)
{
	static struct step all[MAX_STEPS];
	u32 i, n;

	for (i = nr_steps; i--;) {
		n = nr_steps;
		memcpy(all, steps, sizeof(all));
		memmove(&steps[i], &steps[i + 1], (n - i - 1) * sizeof(steps[0]));
		nr_steps--;
		if (fails())
			continue;
		memcpy(steps, all, sizeof(all));
		nr_steps = n;
		steps[i].window = 0;
		if (!fails())
			steps[i] = all[i];
	}
	shows = shown;
	fails();
	if (shown)
		show_state(NULL);
	printf("E %s:", wrong);
	for (i = 0; i < nr_steps; i++)
		print_step(&steps[i]);
	printf("\n");
	exit(0);
}

/* --- Search --- */

static u64 seed;

static u32 below(u32 n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (u32)(seed >> 33) % n;
}

/* In every second sequence CPUs go and come all the time. */
static u32 weight_of(u32 kind, u32 often)
{
	return kind == HOTPLUG && often ? 20 : weights[kind];
}

static void random_event(struct event *e, u32 first_kind, u32 often)
{
	u32 kind, total = 0, at;

	for (kind = first_kind; kind < NR_KINDS; kind++)
		total += weight_of(kind, often);
	at = below(total);
	for (kind = first_kind; at >= weight_of(kind, often); kind++)
		at -= weight_of(kind, often);
	e->kind = kind;
	/* One CPU after the other. */
	e->cpu = kind == HOTPLUG && often ? nr_cpus - 1 : below(nr_cpus);
	e->what = below(8 * HOST_TASKS);
}

static void search_random(u32 first, u32 sequences, u32 length)
{
	u32 k, i;

	for (k = 0; k < sequences; k++) {
		seed = (first + k) * 0x9e3779b97f4a7c15ULL | 1;
		for (i = 0; i < 5; i++)
			below(2);
		nr_steps = length;
		for (i = 0; i < length; i++) {
			random_event(&steps[i].event, TIME, k & 1);
			steps[i].window = below(2) ? 1 + below(5) : 0;
			random_event(&steps[i].within, WAKE, k & 1);
			/* Neither is part of a program. */
			if (steps[i].within.kind == SETTLE)
				steps[i].window = 0;
		}
		if (fails())
			report();
	}
}

/* States from which all short sequences begin; no time ends one. */
static const struct event beginnings[][5] = {
	{ { SETTLE, 0, 0 } },
	{ { WAKE, 0, 0 }, { WAKE, 1, 1 }, { SETTLE, 0, 0 } },
	/* Two tasks on the first CPU, one of them parked or waiting. */
	{ { WAKE, 0, 0 }, { TIME, 0, 2 }, { HIGHER, 1, 0 }, { WAKE, 0, 2 }, { SETTLE, 0, 0 } },
	/* A reservation that has begun, beside best effort. */
	{ { RESERVE, 0, 0 }, { WAKE, 0, 0 }, { WAKE, 0, 2 }, { TIME, 0, 1 } },
	/* Best effort far ahead of its share, beside a reservation: the next one begins later. */
	{ { WAKE, 1, 1 }, { TIME, 0, 5 }, { WAKE, 0, 2 }, { RESERVE, 1, 2 }, { SETTLE, 0, 0 } },
	/* The second CPU goes offline, with a task that waits; it comes online. */
	{ { WAKE, 1, 1 }, { RESERVE, 1, 0 }, { WAKE, 1, 0 }, { HOTPLUG, 1, 0 }, { SETTLE, 0, 0 } },
	{ { HOTPLUG, 1, 0 }, { HOTPLUG, 1, 0 }, { SETTLE, 0, 0 }, { HOTPLUG, 1, 0 },
	  { HOTPLUG, 1, 0 } },
	/* Tasks on the local DSQ of a CPU that a higher class has. */
	{ { WAKE, 0, 0 }, { WAKE, 1, 1 }, { SETTLE, 0, 0 }, { HIGHER, 0, 0 }, { SETTLE, 0, 0 } },
};
#define NR_BEGINNINGS (sizeof(beginnings) / sizeof(beginnings[0]))

/* Few random sequences come to these. */
static const struct {
	u32 cpus, length;
	struct event events[20];
} seldom[] = {
	/* A reservation is parked below best effort while a higher class has the CPU, and precedes it as another
	 * task wakes. */
	{ 1, 18,
	  { { HIGHER, 0, 0 }, { WAKE, 0, 1 }, { HIGHER, 0, 0 }, { TIME, 0, 2 }, { SETTLE, 0, 0 },
	    { BLOCK, 0, 0 }, { CREATE, 0, 3 }, { RESERVE, 0, 2 }, { WAKE, 0, 3 }, { TIME, 0, 0 },
	    { BLOCK, 0, 0 }, { HIGHER, 0, 0 }, { WAKE, 0, 2 }, { CREATE, 0, 4 }, { WAKE, 0, 0 },
	    { WAKE, 0, 4 }, { TIME, 0, 1 }, { HIGHER, 0, 0 } } },
	/* A CPU that stops wakes a reservation's task, and another task wakes before that has started. */
	{ 2, 10,
	  { { HOTPLUG, 1, 0 }, { HOTPLUG, 1, 0 }, { WAKE, 0, 0 }, { TIME, 0, 3 }, { RESERVE, 0, 2 },
	    { BLOCK, 0, 0 }, { HOTPLUG, 1, 2 }, { WAKE, 0, 0 }, { SETTLE, 0, 0 }, { TIME, 0, 5 } } },
	/* A CPU comes online whose timer is set for much later, since it has been offline for long. */
	{ 2, 17,
	  { { HOTPLUG, 1, 0 }, { HOTPLUG, 1, 0 }, { WAKE, 0, 2 }, { HOTPLUG, 1, 8 }, { TIME, 0, 5 },
	    { HOTPLUG, 1, 0 }, { HIGHER, 0, 0 }, { RESERVE, 1, 2 }, { WAKE, 0, 1 }, { KICK, 0, 0 },
	    { SCHEDULE, 0, 0 }, { HOTPLUG, 1, 0 }, { SCHEDULE, 1, 0 }, { HOTPLUG, 1, 0 },
	    { TIME, 0, 5 }, { HOTPLUG, 1, 8 }, { HOTPLUG, 1, 0 } } },
	/* One comes online that a higher class has for some time. */
	{ 2, 11,
	  { { WAKE, 0, 2 }, { AFFINITY, 0, 7 }, { HOTPLUG, 1, 0 }, { HOTPLUG, 1, 0 }, { HOTPLUG, 1, 8 },
	    { HIGHER, 1, 0 }, { WAKE, 0, 1 }, { RESERVE, 1, 2 }, { HOTPLUG, 1, 0 }, { TIME, 0, 2 },
	    { HIGHER, 1, 0 } } },
};

/* Kinds in short sequences, by CPU and by task. */
static const struct {
	u32 kind, by_cpu, by_task;
} short_kinds[] = {
	{ WAKE, 1, 1 },	   { BLOCK, 1, 0 }, { HIGHER, 1, 0 },	{ RESERVE, 1, 1 },
	{ RELEASE, 0, 1 }, { KICK, 1, 0 },  { SCHEDULE, 1, 0 }, { RENEW, 0, 1 }, { AFFINITY, 0, 1 },
	{ LEAVE, 0, 1 },   { CHANGE, 0, 0 }, { EXIT, 1, 0 },	{ PIN, 1, 0 },
	{ HOTPLUG, 1, 0 }, { TIME, 0, 0 },
};

static struct event alphabet[64];
static u32 nr_letters;

static void write_alphabet(void)
{
	u32 k, cpu, task;

	nr_letters = 0;
	for (k = 0; k < sizeof(short_kinds) / sizeof(short_kinds[0]); k++)
		for (cpu = 0; cpu < (short_kinds[k].by_cpu ? nr_cpus : 1); cpu++)
			for (task = 0; task < (short_kinds[k].by_task ? 3 : 1); task++)
				alphabet[nr_letters++] =
					(struct event){ short_kinds[k].kind, cpu, task };
}

/* Runs the steps, and what shows whether they lost anything. */
static void run_short(u32 length)
{
	nr_steps = length;
	steps[nr_steps++] = (struct step){ .event = { SETTLE, 0, 0 } };
	steps[nr_steps++] = (struct step){ .event = { TIME, 0, 1 } };
	steps[nr_steps++] = (struct step){ .event = { TIME, 0, 4 } };
	if (fails())
		report();
}

/* Runs the steps with each event within each of their programs. */
static void run_within(u32 from, u32 length)
{
	u32 i, window, k;

	for (i = from; i < length; i++) {
		for (window = 1; window <= 5; window++)
			/* The last letter is time. */
			for (k = 0; k + 1 < nr_letters; k++) {
				steps[i].window = window;
				steps[i].within = alphabet[k];
				run_short(length);
			}
		steps[i].window = 0;
	}
}

static void extend(u32 from, u32 length, u32 left)
{
	u32 k;

	if (left == 1)
		run_within(from, length);
	run_short(length);
	for (k = 0; left && k < nr_letters; k++) {
		steps[length] = (struct step){ .event = alphabet[k] };
		extend(from, length + 1, left - 1);
	}
}

/* All sequences of so many events after each beginning, and those of one less with another event within
 * one of them. */
static void search_all(u32 length)
{
	u32 k, i;

	write_alphabet();
	for (k = 0; k < sizeof(seldom) / sizeof(seldom[0]); k++) {
		if (seldom[k].cpus != nr_cpus)
			continue;
		for (i = 0; i < seldom[k].length; i++)
			steps[i] = (struct step){ .event = seldom[k].events[i] };
		run_short(i);
	}
	for (k = 0; k < NR_BEGINNINGS; k++) {
		for (i = 0; i < 5 && (i == 0 || beginnings[k][i].kind != TIME ||
				      beginnings[k][i].what); i++)
			steps[i] = (struct step){ .event = beginnings[k][i] };
		extend(i, i, length);
	}
}

int main(void)
{
	u32 input[7], i;

	if (fread(&rules, sizeof(rules), 1, stdin) != 1 ||
	    fread(input, sizeof(input), 1, stdin) != 1 || !input[0] || input[0] > HOST_CPUS ||
	    input[5] > MAX_STEPS)
		return 2;
	nr_cpus = input[0];
	run_hooks = input[1];
	has_deadline_server = input[2];
	shown = input[6];
	if (input[5])
		search_random(input[3], input[4], input[5]);
	else
		search_all(input[4]);
	for (i = 0; i < NR_KINDS; i++)
		printf("%s %llu ", names[i], happened[i]);
	printf("within %llu\n", happened_within);
	return 0;
}
