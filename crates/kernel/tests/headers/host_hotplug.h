/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Tasks that may not migrate for some time, and CPUs that go offline and come online, in the model of the
 * kernel (host_core.h).
 */
#ifndef LAXITY_TESTS_HOST_HOTPLUG_H
#define LAXITY_TESTS_HOST_HOTPLUG_H

#include "host_core.h"

/* migrate_disable() and migrate_enable(), by the current task. */
static void host_disable_migration(u32 task)
{
	host.task[task].p.migration_disabled = host.task[task].was_confined = 1;
}

static void host_enable_migration(u32 task, u32 cpu)
{
	struct host_task *t = &host.task[task];

	if (t->p.cpus_ptr != &t->allowed) {
		t->p.cpus_ptr = &t->allowed;
		host_renew(task, cpu, t->allowed.bits[0]);
	}
	t->p.migration_disabled = 0;
	if (t->allowed.bits[0] >> cpu & 1)
		return;
	if (t->allowed.bits[0] & host.active.bits[0])
		host_change_affinity(task, cpu, t->allowed.bits[0]);
	else
		host_change_affinity(task, cpu, (1UL << host.cpus) - 1);
}

/* __balance_push_cpu_stop() */
static void host_push(u32 cpu)
{
	struct host_cpu *c = &host.cpu[cpu];
	u32 task = c->current;
	struct task_struct *p;

	c->pushes = 0;
	if (task >= HOST_TASKS || host_is_active(cpu))
		return;
	p = &host.task[task].p;
	if (p->migration_disabled)
		return;
	if (!(p->cpus_ptr->bits[0] & host.active.bits[0]))
		host_renew(task, cpu, (1UL << host.cpus) - 1);
	host_move_away(task, cpu, __builtin_ctzl(p->cpus_ptr->bits[0] & host.active.bits[0]));
}

static int host_has_confined(u32 cpu)
{
	u32 i;

	for (i = 0; i < HOST_TASKS; i++)
		if (host.task[i].state == HOST_ALIVE && host.task[i].p.migration_disabled &&
		    host.task[i].p.thread_info.cpu == cpu)
			return 1;
	return 0;
}

/* The next step of a CPU that goes, or returns: sched_cpu_deactivate() and sched_cpu_activate(). While one
 * is offline that may fail. */
static int host_hotplug(u32 cpu, u32 fails, u32 is_within)
{
	struct host_cpu *c = &host.cpu[cpu];
	u64 context[1] = { cpu };
	u32 k;

	/* One at a time. */
	for (k = 0; k < host.cpus; k++)
		if (k != cpu && host.cpu[k].stage != HOST_UP && host.cpu[k].stage != HOST_DOWN)
			return 0;
	host_begin(cpu, 0);
	switch (c->stage) {
	case HOST_UP:
		if (__builtin_popcountl(host.active.bits[0]) == 1)
			return 0;
		host.active.bits[0] &= ~(1UL << cpu);
		c->stage = HOST_INACTIVE;
		c->disturbed = 1;
		break;
	case HOST_INACTIVE:
		/* All programs have ended since. */
		if (is_within)
			return 0;
		c->stage = HOST_OFFLINE;
		for (k = 0; k < HOST_TASKS; k++)
			host.task[k].bypasses |= host.task[k].p.thread_info.cpu == cpu;
		laxity_cpu_offline(context);
		break;
	case HOST_OFFLINE:
		if (!fails) {
			if (host.rq[cpu].nr_running || c->current != HOST_IDLE ||
			    host_has_confined(cpu))
				return 0;
			c->stage = HOST_DOWN;
			c->kick = c->kick_preempt = c->resched = 0;
			for (k = 0; k < host.cpus; k++)
				if (host.cpu[k].timer_on == cpu)
					host.cpu[k].timer_on = __builtin_ctzl(host.active.bits[0]);
			return 1;
		}
		/* fallthrough */
	case HOST_DOWN:
		host.active.bits[0] |= 1UL << cpu;
		c->stage = HOST_COMING;
		break;
	case HOST_COMING:
		c->stage = HOST_UP;
		laxity_cpu_online(context);
		break;
	}
	c->resched = 1;
	return 1;
}

#endif
