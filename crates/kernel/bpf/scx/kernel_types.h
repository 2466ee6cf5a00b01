/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Kernel types and constants of the CPU scheduler. Only the fields in use are declared; libbpf
 * relocates them against the running kernel's BTF, so one object serves Linux 6.18 to 7.3.
 */
#ifndef LAXITY_SCX_KERNEL_TYPES_H
#define LAXITY_SCX_KERNEL_TYPES_H

#include <laxity/types.h>

typedef signed int s32;
typedef _Bool bool;

/* As in the kernel. */
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile typeof(x) *)&(x) = (value))

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

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

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

#ifdef __bpf__
#pragma clang attribute pop
#endif

#endif
