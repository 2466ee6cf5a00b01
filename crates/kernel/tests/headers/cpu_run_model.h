/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The reference model of `cpu_run.c`: one list, and deadlines as ranks.
 */
#ifndef LAXITY_TESTS_CPU_RUN_MODEL_H
#define LAXITY_TESTS_CPU_RUN_MODEL_H

#include <laxity/types.h>

#define MAX_TASKS 10

static u32 nr_tasks, reserved;

/* The reference model: the tasks of the run state as one list, the current task last, and what the
 * kernel knows of tasks, as masks. */
struct model {
	u32 list[MAX_TASKS];
	u32 length;
	u32 next;
	u32 drain;
	u32 runnable;
	/* Runnable, and queued in the servers. */
	u32 waiting;
	/* Blocked, but no program has seen it. */
	u32 gone;
	/* The task on the CPU that was preempted at once, and that the kernel enqueues as it
	 * switches. */
	u32 preempted;
	/* A kick is pending, so the current task will be preempted. */
	u32 kicked;
	/* Reservations without a budget. */
	u32 exhausted;
	/* Order of deadlines. */
	u32 rank[MAX_TASKS];
};

static u32 model_current(const struct model *m)
{
	return m->length ? m->list[m->length - 1] : LX_NONE;
}

static int model_contains(const struct model *m, u32 task)
{
	u32 i;

	for (i = 0; i < m->length; i++)
		if (m->list[i] == task)
			return 1;
	return 0;
}

/* The task that the kernel runs: the last one of the list that has not blocked, unless the kernel is
 * about to switch to that. */
static u32 on_cpu(const struct model *m)
{
	u32 i = m->length;

	if (m->preempted)
		return (u32)__builtin_ctz(m->preempted);
	while (i--)
		if (!(m->gone >> m->list[i] & 1))
			return m->list[i];
	return LX_NONE;
}

static void model_remove(struct model *m, u32 task)
{
	u32 i, left = 0, was_current = model_current(m) == task;

	for (i = 0; i < m->length; i++)
		if (m->list[i] != task)
			m->list[left++] = m->list[i];
	m->length = left;
	if (m->next == task)
		m->next = LX_NONE;
	if (was_current && m->next == LX_NONE)
		m->next = model_current(m);
}

/* Runnable tasks that have a budget. */
static u32 ready(const struct model *m)
{
	return m->runnable & ~m->exhausted;
}

/* Tasks of a mask with an earlier deadline. */
static u32 earlier(const struct model *m, u32 tasks, u32 than)
{
	u32 task, found = 0;

	for (task = 0; task < nr_tasks; task++)
		if (tasks >> task & 1 && m->rank[task] < m->rank[than])
			found |= 1U << task;
	return found;
}

/* The ready task with the earliest deadline. */
static u32 pick(const struct model *m)
{
	u32 task;

	for (task = 0; task < nr_tasks; task++)
		if (ready(m) >> task & 1 && !earlier(m, ready(m), task))
			return task;
	return LX_NONE;
}

/* The budget of a task ends. */
static void end_budget(struct model *m, u32 task)
{
	u32 i;

	if (task < reserved)
		m->exhausted |= 1U << task;
	for (i = 0; i < nr_tasks; i++)
		if (m->rank[i] > m->rank[task])
			m->rank[i]--;
	m->rank[task] = nr_tasks - 1;
}

#endif
