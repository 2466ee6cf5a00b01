/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Runs the per-CPU run state in user space through all states that the sched_ext hooks can reach, or
 * those within a number of events, and compares it with a reference model after each event.
 *
 * Input: five u32, the number of tasks, how many of them have a reservation, from task 0, whether the `running` and
 * `stopping` hooks are loaded, how many tasks wake first, in the order from the latest deadline, and
 * the largest number of events after these. Prints `STATES EVENTS`, or a line that starts with `E`
 * with the shortest sequence of events that leads to the difference.
 *
 * Deadlines are ranks: at first higher tasks have later ones. The task whose budget ends gets the
 * latest, and a reservation waits for its release.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <laxity/cpu_run.h>

#include "cpu_run_model.h"

#define HASH_SIZE (1U << 21)
#define MAX_STATES (HASH_SIZE / 2)

/* The argument of an event is a task or a flag; LATER is added if the budget of the current task ends
 * first. */
#define LATER 100
enum event {
	/* A task wakes: the hooks preempt, park or queue it. */
	WAKE,
	/* A task blocks, leaves or is stolen, and a program sees it. */
	BLOCK,
	/* The task on the CPU blocks, and the kernel resumes a parked one without a call. */
	BLOCK_UNSEEN,
	/* A task of the run state is enqueued again, since a higher class or another task preempts
	 * it; the same while a timer is due. */
	PREEMPTED,
	PREEMPTED_LATE,
	/* `dispatch`, by what the previous task does: 0, it is runnable; 1, it has blocked; 2, it is
	 * no task of this CPU. */
	DISPATCH,
	/* The timer decides while tasks are parked; N at the release of the Nth reservation. */
	TIMER,
	/* A request moves a task, so parked tasks are drained. */
	DRAIN,
	/* The CPU goes offline: its tasks leave. */
	OFFLINE,
	/* With run hooks: a task starts; the current task stops, 1 if it blocks. */
	START,
	STOP,
	NR_EVENTS,
};

static const char *const names[NR_EVENTS] = {
	"wake",	 "block", "block-unseen", "preempted", "preempted-late", "dispatch",
	"timer", "drain", "offline",	  "start",     "stop",
};

struct state {
	struct lx_cpu_run run;
	struct model model;
	u32 parent, event, argument, depth;
};

static u32 run_hooks, nr_states, *hash;
static struct state *states;
/* The result of the state machine that the model did not expect. */
static const char *wrong;

static void expect(int as_expected, const char *what)
{
	if (!as_expected && !wrong)
		wrong = what;
}

static void drop(struct state *s, u32 task)
{
	struct model *m = &s->model;
	u32 left = ~(1U << task);

	lx_run_remove(&s->run, task);
	model_remove(m, task);
	m->waiting &= left;
	m->runnable &= left;
	m->gone &= left;
	m->preempted &= left;
}

/* Returns true if the decision preempts. */
static int decide(struct state *s)
{
	struct model *m = &s->model;
	u32 picked = pick(m);
	int preempts = picked != m->next;

	expect(!!lx_run_must_preempt(&s->run, picked) == preempts, "lx_run_must_preempt");
	if (m->length > 1) {
		u32 after = m->list[m->length - 2];

		expect(lx_run_decide(&s->run, picked, preempts) == after, "lx_run_decide");
		m->drain |= preempts && picked != after;
	}
	return preempts;
}

/* The hooks find tasks that blocked unseen from the current one on. */
static void update_blocked(struct state *s)
{
	while (s->model.length && s->model.gone >> model_current(&s->model) & 1)
		drop(s, model_current(&s->model));
}

static void enqueue(struct state *s, u32 task, int preempted, int late)
{
	struct model *m = &s->model;
	u32 current, drain_before;
	int preempts = 0, is_head;

	if (m->length > 1 && !preempted)
		update_blocked(s);
	m->runnable |= 1U << task;
	is_head = pick(m) == task;
	/* Another task was picked, and nothing else changed: no decision. */
	if (!preempted || late || m->next == LX_NONE || is_head) {
		u32 no_pick = m->next == LX_NONE;

		drain_before = m->drain;
		preempts = decide(s);
		if (preempts && is_head && !preempted &&
		    (run_hooks ? !drain_before : m->length <= LX_MAX_LOCAL)) {
			lx_run_preempt_now(&s->run, task, drain_before);
			m->drain = drain_before;
			m->next = task;
			if (run_hooks)
				return;
			lx_run_preempt(&s->run, task);
			if (on_cpu(m) != LX_NONE)
				m->preempted = 1U << on_cpu(m);
			m->list[m->length++] = task;
			return;
		}
		if (is_head && no_pick && preempted)
			preempts = 0;
	}
	current = model_current(m);
	/* It runs after the current one, which is the only earlier task. */
	if (!run_hooks && !reserved && !preempts && !m->drain && m->length &&
	    m->length <= LX_MAX_LOCAL && earlier(m, ready(m), task) == 1U << current &&
	    (preempted || current == on_cpu(m))) {
		lx_run_park(&s->run, task);
		m->list[m->length - 1] = task;
		m->list[m->length++] = current;
		return;
	}
	m->waiting |= 1U << task;
	if (m->length > 1 && m->rank[task] < m->rank[m->list[0]]) {
		lx_run_drain(&s->run);
		m->drain = 1;
	}
	m->kicked |= preempts || m->drain;
}

static void dispatch(struct state *s, u32 last, int blocked)
{
	struct model *m = &s->model;
	u32 i, picked;
	int stays = last != LX_NONE && model_current(m) == last;

	expect(!!lx_run_is_stale(&s->run, last) == (m->length != (u32)stays), "lx_run_is_stale");
	for (i = 0, stays = 0; i < m->length; i++)
		stays |= last != LX_NONE && m->list[i] == last;
	for (i = 0; i <= LX_MAX_LOCAL && lx_run_is_stale(&s->run, last); i++) {
		u32 stale = lx_run_stale_slot(&s->run, last);

		expect(stale == (model_current(m) == last ? m->list[m->length - 2] :
							    model_current(m)),
		       "lx_run_stale_slot");
		if (m->gone >> stale & 1) {
			drop(s, stale);
		} else {
			/* It is runnable elsewhere, so it will be enqueued. */
			lx_run_remove(&s->run, stale);
			model_remove(m, stale);
			m->preempted &= ~(1U << stale);
			m->waiting |= 1U << stale;
		}
	}
	expect(m->length == (u32)stays, "a stale task is left");
	lx_run_drained(&s->run);
	m->drain = 0;
	if (blocked)
		drop(s, last);
	decide(s);
	picked = pick(m);
	if (m->length)
		m->waiting |= 1U << m->list[0];
	lx_run_switch_to(&s->run, picked);
	lx_run_pick(&s->run, picked);
	m->length = picked != LX_NONE;
	m->list[0] = picked;
	m->next = picked;
	m->preempted = 0;
	if (picked != LX_NONE)
		m->waiting &= ~(1U << picked);
	m->kicked = 0;
}

/* Applies an event; returns false if it cannot happen now. */
static int apply(struct state *s, u32 event, u32 argument)
{
	struct model *m = &s->model;
	u32 current = model_current(m), running = on_cpu(m), later = argument >= LATER;
	u32 task, bit, i;

	if (later) {
		argument -= LATER;
		/* These are the events at which the hooks charge it and decide. */
		if (current == LX_NONE || current != running ||
		    (event != WAKE && event != PREEMPTED_LATE &&
					   event != DISPATCH && event != TIMER))
			return 0;
		end_budget(m, current);
	}
	task = argument;
	bit = 1U << task;
	switch (event) {
	case WAKE:
		if (m->runnable & bit && !(m->gone & bit))
			return 0;
		if (m->gone & bit)
			drop(s, task);
		enqueue(s, task, 0, 1);
		return 1;
	case BLOCK:
		if (!(m->runnable & bit) || m->gone & bit)
			return 0;
		drop(s, task);
		return 1;
	case BLOCK_UNSEEN:
		/* Without another task of the list the kernel would call `dispatch`. */
		if (argument || running == LX_NONE || m->length < 2)
			return 0;
		m->gone |= 1U << running;
		m->preempted = 0;
		if (on_cpu(m) == LX_NONE)
			return 0;
		return 1;
	case PREEMPTED:
	case PREEMPTED_LATE:
		if (run_hooks || !model_contains(m, task) || m->gone & bit ||
		    m->preempted & ~bit)
			return 0;
		drop(s, task);
		/* The kernel resumes a parked task if it may, otherwise it calls `dispatch`. */
		if (task == current && !m->drain)
			m->kicked = 0;
		enqueue(s, task, 1, event == PREEMPTED_LATE);
		return 1;
	case DISPATCH:
		if (run_hooks && argument == 0) {
			decide(s);
			lx_run_pick(&s->run, pick(m));
			m->next = pick(m);
			return 1;
		}
		if (run_hooks || argument > 2 || (argument < 2 && running == LX_NONE))
			return 0;
		dispatch(s, argument < 2 ? running : LX_NONE, argument == 1);
		return 1;
	case TIMER:
		if (argument > reserved ||
		    (argument ? !(m->exhausted >> (argument - 1) & 1) : m->length < 2))
			return 0;
		if (argument)
			m->exhausted &= ~(1U << (argument - 1));
		if (m->length < 2) {
			m->kicked = 1;
			return 1;
		}
		update_blocked(s);
		/* More tasks are earlier than the last parked one than run before it. */
		if ((later || argument) && m->length > 1 &&
		    __builtin_popcount(earlier(m, ready(m), m->list[0])) >= (int)m->length) {
			lx_run_drain(&s->run);
			m->drain = 1;
		}
		m->kicked |= decide(s) || m->drain;
		return 1;
	case DRAIN:
		if (argument || m->length < 2)
			return 0;
		lx_run_drain(&s->run);
		m->drain = m->kicked = 1;
		return 1;
	case OFFLINE:
		if (argument)
			return 0;
		for (i = 0; i < nr_tasks; i++)
			drop(s, i);
		return 1;
	case START:
		if (!run_hooks || !(m->runnable & bit) || current != LX_NONE)
			return 0;
		lx_run_pick(&s->run, task);
		lx_run_start(&s->run, task);
		m->next = m->list[0] = task;
		m->length = 1;
		m->waiting &= ~bit;
		decide(s);
		return 1;
	default:
		if (!run_hooks || argument > 1 || current == LX_NONE)
			return 0;
		lx_run_stop(&s->run);
		m->length = 0;
		if (m->next == current)
			m->next = LX_NONE;
		if (argument)
			m->runnable &= ~(1U << current);
		return 1;
	}
}

/* Returns the violated invariant of a state, or NULL. */
static const char *check(const struct state *s)
{
	const struct lx_cpu_run *r = &s->run;
	const struct model *m = &s->model;
	u32 i, listed = 0, running = on_cpu(m);

	if (wrong)
		return wrong;
	if (r->current != model_current(m))
		return "another task is current";
	if (m->length ? r->nr_local != m->length - 1 : r->nr_local)
		return "another number of tasks is parked";
	for (i = 0; i < r->nr_local; i++)
		if (r->local_queue[i] != m->list[i])
			return "tasks are parked in another order";
	if (r->next != m->next)
		return "another task is picked";
	if (r->drain_local != m->drain)
		return m->drain ? "parked tasks are not drained" : "parked tasks are drained";
	for (i = 0; i < nr_tasks; i++)
		if (!lx_run_contains(r, i) != !model_contains(m, i))
			return "lx_run_contains";
	if (run_hooks)
		return NULL;
	/* The model itself, so that it is no other scheduler. */
	for (i = 0; i < m->length; i++) {
		if (listed >> m->list[i] & 1)
			return "a task is listed twice";
		listed |= 1U << m->list[i];
	}
	if (listed & m->waiting || (listed | m->waiting) != m->runnable || m->gone & ~listed)
		return "a runnable task is lost, or a blocked one is kept";
	if (m->next != model_current(m))
		return "the current task is not the picked one";
	if (running != LX_NONE && earlier(m, m->waiting & ready(m), running) && !m->kicked &&
	    !m->preempted)
		return "a task runs before an earlier one, and no decision follows";
	if (running != LX_NONE && m->exhausted >> running & 1 && !m->kicked && !m->preempted)
		return "a reservation runs without a budget, and no decision follows";
	return NULL;
}

static void print_path(u32 state)
{
	if (states[state].parent == LX_NONE)
		return;
	print_path(states[state].parent);
	printf(" %s(%u%s)", names[states[state].event], states[state].argument % LATER,
	       states[state].argument >= LATER ? ", later" : "");
}

/* Adds a state unless it is known. */
static void add(const struct state *s)
{
	struct state key = *s;
	const u32 *words = (const u32 *)&key;
	u64 sum = 14695981039346656037ULL;
	const u32 size = sizeof(key.run) + sizeof(key.model);
	const char *why = check(s);
	u32 i, at;

	for (i = key.model.length; i < MAX_TASKS; i++)
		key.model.list[i] = 0;
	for (i = key.run.nr_local; i < LX_MAX_LOCAL; i++)
		key.run.local_queue[i] = 0;
	for (i = 0; i < size / sizeof(*words); i++)
		sum = (sum ^ words[i]) * 1099511628211ULL;
	for (at = (sum ^ sum >> 32) % HASH_SIZE; hash[at]; at = (at + 1) % HASH_SIZE)
		if (!why && !memcmp(&states[hash[at] - 1], &key, size))
			return;
	if (nr_states == MAX_STATES) {
		printf("E too many states\n");
		exit(0);
	}
	states[nr_states++] = key;
	hash[at] = nr_states;
	if (why) {
		printf("E %s:", why);
		print_path(nr_states - 1);
		printf("\n");
		exit(0);
	}
}

int main(void)
{
	u32 input[5], at, event, argument, i;
	u64 events = 0;
	struct state s;

	if (fread(input, sizeof(input), 1, stdin) != 1 || input[0] < 3 || input[0] > MAX_TASKS ||
	    input[1] > input[0] || input[3] > input[0])
		return 2;
	nr_tasks = input[0];
	reserved = input[1];
	run_hooks = input[2];
	states = calloc(MAX_STATES, sizeof(*states));
	hash = calloc(HASH_SIZE, sizeof(*hash));
	if (!states || !hash)
		return 2;
	memset(&s, 0, sizeof(s));
	lx_run_init(&s.run);
	s.model.next = LX_NONE;
	s.parent = LX_NONE;
	for (at = 0; at < nr_tasks; at++)
		s.model.rank[at] = at;
	for (at = 0; at < input[3]; at++)
		apply(&s, WAKE, nr_tasks - 1 - at);
	add(&s);
	for (at = 0; at < nr_states && states[at].depth < input[4]; at++) {
		for (event = 0; event < NR_EVENTS; event++) {
			for (i = 0; i < 2 * nr_tasks; i++) {
				argument = i < nr_tasks ? i : i - nr_tasks + LATER;
				s = states[at];
				if (!apply(&s, event, argument))
					continue;
				s.parent = at;
				s.event = event;
				s.argument = argument;
				s.depth++;
				add(&s);
				events++;
			}
		}
	}
	printf("%u %llu\n", nr_states, events);
	return 0;
}
