/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Kernel types and functions of the CPU scheduler. Only the fields in use are declared; libbpf
 * relocates them against the running kernel's BTF, so one object serves Linux 6.18 to 7.3.
 */
#ifndef LAXITY_SCX_KERNEL_H
#define LAXITY_SCX_KERNEL_H

#include <laxity/bpf.h>

typedef signed int s32;
typedef _Bool bool;

#define __weak __attribute__((weak))

/* As in libbpf and in the kernel. */
#define bpf_ksym_exists(sym) (!!(sym))
#define bpf_core_field_exists(field) __builtin_preserve_field_info(field, BPF_FIELD_EXISTS)
#define bpf_core_enum_value(type, value)                                                           \
	__builtin_preserve_enum_value(*(typeof(type) *)value, BPF_ENUMVAL_VALUE)
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

enum { BPF_FIELD_EXISTS = 2, BPF_ENUMVAL_VALUE = 1 };

enum {
	ENOENT = 2,
	ESRCH = 3,
	EAGAIN = 11,
	ENOMEM = 12,
	ENOSPC = 28,
};

enum { BPF_MAP_TYPE_RINGBUF = 27, BPF_RB_NO_WAKEUP = 1 };
enum { BPF_MAP_TYPE_TASK_STORAGE = 29, BPF_MAP_TYPE_CGRP_STORAGE = 32, BPF_F_NO_PREALLOC = 1 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1, BPF_F_TIMER_ABS = 1, CLOCK_MONOTONIC = 1 };

enum {
	SCX_OPS_ENQ_LAST = 1 << 1,
	SCX_OPS_ENQ_EXITING = 1 << 2,
	SCX_OPS_ENQ_MIGRATION_DISABLED = 1 << 4,
	TASK_DEAD = 0x80,
	PF_KTHREAD = 0x00200000,
	SCX_TASK_QUEUED = 1 << 0,
	SCX_OPSS_QSEQ_SHIFT = 2,
	SCX_WAKE_FORK = 1 << 2,
	SCX_KICK_IDLE = 1 << 0,
	SCX_KICK_PREEMPT = 1 << 1,
	HRTIMER_SOFTIRQ = 8,
	SCHED_IDLE = 5,
	MAX_RT_PRIO = 100,
};

#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_WAKEUP (1ULL << 0)
/* No other task is runnable: the scheduler must reschedule the CPU if this one is to run. */
#define SCX_ENQ_LAST (1ULL << 41)
/* Its value differs between kernels: read it with bpf_core_enum_value(). */
enum scx_enq_flags { SCX_ENQ_HEAD = 1 << 4 };
#define SCX_DSQ_GLOBAL (1ULL << 63 | 1)
#define SCX_DSQ_LOCAL (1ULL << 63 | 2)
/* Plus the number of the CPU. */
#define SCX_DSQ_LOCAL_ON (3ULL << 62)

/* Opaque; only for helpers, inside map values. */
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct cpumask {
	unsigned long bits[1];
} cpumask_t;

typedef struct {
	s64 counter;
} atomic_long_t;

struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 flags;
	/* State bits, and above them the sequence number of enqueue operations. */
	atomic_long_t ops_state;
};

struct thread_info {
	u32 cpu;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	/* One per level. */
	struct upid numbers[1];
};

struct task_struct {
	struct sched_entity se;
	struct thread_info thread_info;
	int pid;
	/* Effective priority, priority of the task's own class, and priority from its nice
	 * value. */
	int prio;
	int normal_prio;
	int static_prio;
	/* Highest-priority task among those that wait for a lock it holds. */
	struct task_struct *pi_top_task;
	unsigned int policy;
	unsigned int __state;
	/* int before 7.3, then a byte; only an unsigned field may change its size. */
	unsigned int on_cpu;
	unsigned int flags;
	struct pid *thread_pid;
	char comm[16];
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	/* Only with preemptible RCU. */
	int rcu_read_lock_nesting;
	const cpumask_t *cpus_ptr;
	struct sched_ext_entity scx;
};

struct cgroup {
	int level;
};

struct scx_rq {
	u32 nr_running;
};

struct sched_dl_entity {
	/* What is left of the runtime of this period. */
	s64 runtime;
};

struct rq {
	/* Tasks of all classes, without deadline servers. */
	unsigned int nr_running;
	struct scx_rq scx;
	/* Only where sched_ext has a deadline server. */
	struct sched_dl_entity ext_server;
};

struct scx_cgroup_init_args {
	u32 weight;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_exit_task_args;
struct scx_enable_args;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	const char *reason;
	char *msg;
};

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#pragma clang attribute pop

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
