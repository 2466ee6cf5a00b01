/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Kernel functions of the CPU scheduler.
 */
#ifndef LAXITY_SCX_KERNEL_H
#define LAXITY_SCX_KERNEL_H

#include <laxity/bpf.h>
#include "kernel_types.h"

#define __weak __attribute__((weak))

/* As in libbpf and in the kernel. */
#define bpf_ksym_exists(sym) (!!(sym))
#define bpf_core_field_exists(field) __builtin_preserve_field_info(field, BPF_FIELD_EXISTS)
#define bpf_core_enum_value(type, value)                                                           \
	__builtin_preserve_enum_value(*(typeof(type) *)value, BPF_ENUMVAL_VALUE)

enum { BPF_FIELD_EXISTS = 2, BPF_ENUMVAL_VALUE = 1 };

static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static const void *(*const bpf_per_cpu_ptr)(const void *of, u32 cpu) = (void *)153;
static const void *(*const bpf_this_cpu_ptr)(const void *of) = (void *)154;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *task, void *value,
					   u64 flags) = (void *)156;
static void *(*const bpf_cgrp_storage_get)(void *map, struct cgroup *cgroup, void *value,
					   u64 flags) = (void *)210;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *fn) = (void *)170;
static long (*const bpf_kallsyms_lookup_name)(const char *name, int size, int flags,
					      u64 *at) = (void *)179;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;

/* Pending soft interrupts of this CPU, one bit each. Not on all architectures. */
extern const u16 __softirq_pending __ksym __weak;
/* Nesting of interrupts on this CPU (include/linux/preempt.h). Not on all architectures. */
extern const int __preempt_count __ksym __weak;

extern const struct rq runqueues __ksym __weak;

struct task_struct *bpf_task_acquire(struct task_struct *p) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
struct task_struct *bpf_task_from_vpid(s32 pid) __ksym;
void bpf_local_irq_save(unsigned long *flags) __ksym;
void bpf_local_irq_restore(unsigned long *flags) __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgroup, int level) __ksym;
void bpf_cgroup_release(struct cgroup *cgroup) __ksym;
struct cgroup *scx_bpf_task_cgroup(struct task_struct *p) __ksym;
void bpf_task_release(struct task_struct *p) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym;
void scx_bpf_dispatch_cancel(void) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *mask) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
s32 scx_bpf_pick_idle_cpu(const struct cpumask *allowed, u64 flags) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 before, u64 wake_flags, bool *is_idle) __ksym
		__weak;
void scx_bpf_exit_bstr(s64 code, const char *format, u64 *data, u32 data__sz) __ksym;
void *bpf_rdonly_cast(const void *at, u32 type) __ksym;
/* Since 6.19; replaces direct writes to the task. */
bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) __ksym __weak;
bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime) __ksym __weak;

/* Returns true unless a task is certainly executing outside of interrupts. */
LX_INLINE int lx_in_interrupt(void)
{
	/* Soft interrupts served, and the counts of hard and non-maskable ones: in bits 16 to 23 up
	 * to 6.18, from bit 24 on on 7.3, where those below count how often interrupts were disabled,
	 * which wake-ups do not do there. Bit 31 asks for a reschedule, up to 6.18. */
	const int interrupts = 0x100 | 0x7fff0000;
	const int *count;

	if (!bpf_ksym_exists(&__preempt_count))
		return 1;
	count = bpf_this_cpu_ptr(&__preempt_count);
	return *count & interrupts;
}

#endif
