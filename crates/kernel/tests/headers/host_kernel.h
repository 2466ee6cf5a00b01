/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Kernel types and functions for the programs of the CPU scheduler in user space, instead of
 * <laxity/bpf.h>, scx/kernel.h and scx/lock.h. The functions act on the model of the kernel in host_core.h.
 */
#ifndef LAXITY_TESTS_HOST_KERNEL_H
#define LAXITY_TESTS_HOST_KERNEL_H

#define LAXITY_BPF_H
#define LAXITY_SCX_KERNEL_H
#define LAXITY_SCX_LOCK_H

#include "../../bpf/scx/kernel_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEC(name) __attribute__((used))
#define __ksym
#define __kptr
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#define bpf_core_type_id_kernel(type) 0
#define bpf_core_enum_value(type, value) (value)
#define bpf_core_field_exists(field) host_has(#field)
#define bpf_ksym_exists(symbol) host_has(#symbol)
#define __builtin_preserve_type_info(type, kind) sizeof(type)

enum { EBUSY = 16, EINVAL = 22, BPF_MAP_TYPE_ARRAY = 2 };

/* Several for each sweep of the tasks of a CPU that goes offline. */
#define LX_EVACUATION_BATCH 2

#define HOST_CPUS 3
#define HOST_TASKS 6
#define HOST_INSERTS 32
/* As a task: no task of this class; a task of a higher class. */
#define HOST_IDLE (~0U)
#define HOST_HIGHER (~1U)

struct host_task {
	struct task_struct p;
	/* Slot of the scheduler, from one: the storage of the task. */
	u32 ref;
	u32 state;
	/* The scheduler has it; its `enqueue` has not ended. */
	u32 queued, enqueueing;
	/* It was enqueued on a CPU that was offline, and no program was called. */
	u32 bypasses;
	/* It was woken by a CPU that stops. */
	u32 by_stopping;
	/* Migration has been disabled since its last `enqueue` without that. */
	u32 was_confined;
	/* Number of its last `enqueue`. */
	u64 seq;
	/* References that the scheduler holds. */
	s32 held;
	/* Its affinity, and the CPU to which it is confined while migration is disabled. */
	cpumask_t allowed, confined;
	/* Execution, in ns, and the reservation that was granted; no period without one. */
	u64 executed;
	u64 budget;
	u64 period;
	u32 reserved_cpu;
};

enum { HOST_ABSENT, HOST_ALIVE, HOST_DEAD };

/* A CPU leaves the mask of active CPUs, its run queue goes offline, and it stops; then it returns. */
enum { HOST_UP, HOST_INACTIVE, HOST_OFFLINE, HOST_DOWN, HOST_COMING };

struct host_cpu {
	u32 current;
	/* A task of a higher class is runnable; has ever had the CPU, or the CPU has been offline. */
	u32 higher, disturbed;
	/* The local DSQ, its head first. */
	u32 local[HOST_TASKS + 1];
	u32 nr_local;
	/* Requests to reschedule: kicks that have not arrived, and TIF_NEED_RESCHED. */
	u32 kick_preempt, kick, resched;
	/* Idle, but chosen for a task. */
	u32 claimed;
	/* Its run queue lock is held. */
	u32 locked;
	/* A task is there that may not migrate to its reservation's CPU. */
	u32 confines;
	/* Hotplug, and whether its current task has to leave for that. */
	u32 stage, pushes;
	/* Timer of its scheduler, and the CPU on which it was set. */
	u64 timer;
	u32 timer_on;
};

/* A call of scx_bpf_dsq_insert by the program that runs. */
struct host_insert {
	u32 task;
	u64 queue, slice, flags, seq;
};

/* The program that runs: its CPU, whether in an interrupt, which hook it is, and what it inserted. */
struct host_program {
	u32 on, in_interrupt, in_enqueue, in_dispatch;
	u32 nr_inserts;
	struct host_insert insert[HOST_INSERTS];
};

struct host {
	u64 now;
	struct host_task task[HOST_TASKS];
	struct host_cpu cpu[HOST_CPUS];
	struct rq rq[HOST_CPUS];
	cpumask_t active;
	struct host_program program;
	/* Features of the kernel. */
	u32 has_deadline_server, has_set_slice;
	u32 cpus;
	/* The events so far cannot be modelled: a CPU would wait for another one within a program. */
	u32 abandoned;
};

static struct host host;

/* The first violation. */
static const char *wrong;

static void expect(int as_expected, const char *what)
{
	if (!as_expected && !wrong)
		wrong = what;
}

static int host_has(const char *what)
{
	if (strstr(what, "ext_server"))
		return host.has_deadline_server;
	if (strstr(what, "rcu_read_lock_nesting"))
		return 0;
	if (strstr(what, "task_set"))
		return host.has_set_slice;
	return 1;
}

/* --- Maps --- */

struct host_map {
	const void *map;
	u32 size, entries;
	char *data;
};

static struct host_map host_maps[16];

static void *host_lookup(const void *map, u32 size, u32 entries, u32 key)
{
	struct host_map *m = host_maps;

	/* Its size is that of the machine. */
	if (entries == 1)
		entries = HOST_CPUS;
	while (m->map && m->map != map)
		m++;
	if (!m->map) {
		m->map = map;
		m->size = size;
		m->entries = entries;
		m->data = calloc(entries, size);
		if (!m->data)
			exit(2);
	}
	return key < m->entries ? m->data + (size_t)key * size : NULL;
}

#define bpf_map_lookup_elem(map, key)                                                              \
	((typeof((map)->value))host_lookup((map), sizeof(*(map)->value),                           \
					   sizeof(*(map)->max_entries) / sizeof(int), *(key)))

/* --- Helpers --- */

static struct host_task *host_task_of(const struct task_struct *p)
{
	return (struct host_task *)p;
}

static u32 host_index(const struct task_struct *p)
{
	return host_task_of(p) - host.task;
}

static u64 bpf_ktime_get_ns(void)
{
	return host.now;
}

static void *bpf_kptr_xchg(void *at, void *pointer)
{
	void **place = at, *before = *place;

	*place = pointer;
	return before;
}

static long bpf_probe_read_kernel(void *to, u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

#define bpf_probe_read_kernel_str bpf_probe_read_kernel

static u32 bpf_get_smp_processor_id(void)
{
	return host.program.on;
}

static const struct rq runqueues;
static const u16 __softirq_pending;

static const void *bpf_per_cpu_ptr(const void *of, u32 cpu)
{
	(void)of;
	return &host.rq[cpu];
}

static const void *bpf_this_cpu_ptr(const void *of)
{
	return of;
}

#define bpf_task_storage_get(map, p, value, flags) ((struct lx_ref *)&host_task_of(p)->ref)
#define bpf_cgrp_storage_get(map, group, value, flags) ((struct lx_cgroup *)NULL)

static struct task_struct host_other;
static struct cgroup host_root;

static struct task_struct *bpf_get_current_task_btf(void)
{
	u32 current = host.cpu[host.program.on].current;

	return current < HOST_TASKS ? &host.task[current].p : &host_other;
}

static void *bpf_ringbuf_reserve(void *ring, u64 size, u64 flags)
{
	(void)ring, (void)size, (void)flags;
	return NULL;
}

static void bpf_ringbuf_submit(void *data, u64 flags)
{
	(void)data, (void)flags;
}

static long bpf_kallsyms_lookup_name(const char *name, int size, int flags, u64 *at)
{
	(void)name, (void)size, (void)flags, (void)at;
	return 0;
}

static long bpf_timer_init(struct bpf_timer *timer, void *map, u64 flags)
{
	(void)timer, (void)map, (void)flags;
	return 0;
}

#define bpf_timer_set_callback(timer, function) ((void)(function), 0)

static u32 host_timer_cpu(const struct bpf_timer *timer);

/* irq_work_queue(): kicks, and in 7.x starts of timers. Where the local APIC is off the work stays queued, and
 * all later work of that CPU behind it. */
static int host_interrupts_itself(void)
{
	int does = host.cpu[host.program.on].stage != HOST_DOWN;

	expect(does, "a CPU that stops kicks, or sets a timer");
	return does;
}

static long bpf_timer_start(struct bpf_timer *timer, u64 at, u64 flags)
{
	struct host_cpu *c = &host.cpu[host_timer_cpu(timer)];

	(void)flags;
	if (!host_interrupts_itself())
		return 0;
	c->timer = at;
	c->timer_on = host.program.on;
	return 0;
}

static struct task_struct *bpf_task_acquire(struct task_struct *p)
{
	host_task_of(p)->held++;
	return p;
}

static void bpf_task_release(struct task_struct *p)
{
	host_task_of(p)->held--;
	expect(host_task_of(p)->held >= 0, "a reference is dropped twice");
}

static struct task_struct *bpf_task_from_pid(s32 pid)
{
	u32 i;

	for (i = 0; i < HOST_TASKS; i++)
		if (host.task[i].state == HOST_ALIVE && host.task[i].p.pid == pid)
			return bpf_task_acquire(&host.task[i].p);
	return NULL;
}

#define bpf_task_from_vpid bpf_task_from_pid
#define bpf_local_irq_save(flags) (*(flags) = 0)
#define bpf_local_irq_restore(flags) ((void)*(flags))
#define bpf_rcu_read_lock() ((void)0)
#define bpf_rcu_read_unlock() ((void)0)
#define bpf_cgroup_ancestor(group, level) ((struct cgroup *)NULL)
#define bpf_cgroup_release(group) ((void)(group))
#define bpf_rdonly_cast(at, type) ((const void *)(at))

static struct cgroup *scx_bpf_task_cgroup(struct task_struct *p)
{
	(void)p;
	return &host_root;
}

static bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return cpu < HOST_CPUS && mask->bits[0] >> cpu & 1;
}

static void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice, u64 flags)
{
	struct host_insert *in = &host.program.insert[host.program.nr_inserts++];

	expect(host.program.nr_inserts < HOST_INSERTS, "a program inserts too many tasks");
	host.program.nr_inserts %= HOST_INSERTS;
	expect(host.program.in_enqueue || host.program.in_dispatch, "a task is inserted outside of the hooks");
	in->task = host_index(p);
	in->queue = queue;
	in->slice = slice;
	in->flags = flags;
	in->seq = host_task_of(p)->seq;
}

static void scx_bpf_dispatch_cancel(void)
{
	host.program.nr_inserts--;
}

static void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	struct host_cpu *c = &host.cpu[cpu];

	if (!host_interrupts_itself() || c->stage == HOST_DOWN)
		return;
	if (flags & SCX_KICK_PREEMPT)
		c->kick_preempt = 1;
	else if (!(flags & SCX_KICK_IDLE) || c->current == HOST_IDLE)
		c->kick = 1;
}

static const struct cpumask *scx_bpf_get_online_cpumask(void)
{
	static cpumask_t online;
	u32 cpu;

	online.bits[0] = 0;
	for (cpu = 0; cpu < host.cpus; cpu++)
		if (host.cpu[cpu].stage != HOST_DOWN)
			online.bits[0] |= 1UL << cpu;
	return &online;
}

static void scx_bpf_put_cpumask(const struct cpumask *mask)
{
	(void)mask;
}

static s32 scx_bpf_task_cpu(const struct task_struct *p)
{
	return p->thread_info.cpu;
}

static int host_claim(u32 cpu)
{
	struct host_cpu *c = &host.cpu[cpu];

	if (c->current != HOST_IDLE || c->claimed)
		return 0;
	c->claimed = 1;
	return 1;
}

static bool scx_bpf_test_and_clear_cpu_idle(s32 cpu)
{
	return host_claim(cpu);
}

static s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags)
{
	u32 cpu;

	(void)flags;
	for (cpu = 0; cpu < host.cpus; cpu++)
		if (bpf_cpumask_test_cpu(cpu, allowed) && host_claim(cpu))
			return cpu;
	return -1;
}

static s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 before, u64 flags, bool *is_idle)
{
	s32 cpu;

	(void)flags;
	*is_idle = 1;
	if (bpf_cpumask_test_cpu(before, p->cpus_ptr) && host_claim(before))
		return before;
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (cpu >= 0)
		return cpu;
	*is_idle = 0;
	return before;
}

static void scx_bpf_exit_bstr(s64 code, const char *format, u64 *data, u32 size)
{
	(void)code, (void)format, (void)data, (void)size;
}

static bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice)
{
	p->scx.slice = slice;
	return 1;
}

static bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	p->scx.dsq_vtime = vtime;
	return 1;
}

static int lx_in_interrupt(void)
{
	return host.program.in_interrupt;
}

/* --- The lock --- */

#include "../../bpf/scx/intf.h"

struct lx_totals totals;

struct lx_lock {
	u32 held;
};

/* Called each time a lock is released: another CPU may act. */
static void host_window(void);

static int lx_lock(struct lx_lock *lock)
{
	expect(!lock->held, "a lock is acquired twice");
	lock->held = 1;
	return 1;
}

static void lx_unlock(struct lx_lock *lock)
{
	lock->held = 0;
	host_window();
}

#endif
