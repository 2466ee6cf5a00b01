/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * References to waiting tasks, and their transfer to the kernel's queues.
 */
#ifndef LAXITY_SCX_DISPATCH_H
#define LAXITY_SCX_DISPATCH_H

#include "limits.h"
#include "state.h"

/* Take and drop the reference to a task that waits in the servers. */
LX_INLINE void lx_task_hold(struct lx_task *t, struct task_struct *p)
{
	struct task_struct *held = bpf_task_acquire(p);

	if (held)
		held = bpf_kptr_xchg(&t->task, held);
	if (held)
		bpf_task_release(held);
}

LX_INLINE void lx_task_unhold(struct lx_task *t)
{
	struct task_struct *held = bpf_kptr_xchg(&t->task, NULL);

	if (held)
		bpf_task_release(held);
}

/* Sequence number of a task's enqueue operations. */
LX_INLINE u64 lx_enqueue_seq(const struct task_struct *p)
{
	return (u64)READ_ONCE(p->scx.ops_state.counter) >> SCX_OPSS_QSEQ_SHIFT;
}

/* Called from `dispatch`: moves a queued task to the local DSQ of a CPU. Returns false if the task
 * was not queued any more. Meanwhile a change of affinity may dequeue the task and enqueue it
 * again, which sets the fields cleared here; sched_ext ejects a scheduler that dispatches a task to
 * a CPU outside its affinity. */
LX_INLINE int lx_dispatch_task(struct lx_task *t, u32 cpu, u64 slice)
{
	u64 coming, queue = SCX_DSQ_LOCAL;
	struct task_struct *p;
	int there = 1;

	t->queued = 0;
	p = bpf_kptr_xchg(&t->task, NULL);
	if (!p)
		return 0;
	coming = machine.cpus > 1 ? lx_enqueue_seq(p) : 0;
	/* It was enqueued elsewhere since it was picked. */
	if (machine.cpus > 1 && READ_ONCE(t->home_cpu) != cpu)
		slice = LX_UNCHARGED_SLICE_NS;
	/* Its affinity changed while it was moved to the servers of a CPU, or no CPU is given: it runs where it
	 * is, which no servers account for, until it is enqueued again. */
	if (machine.cpus > 1 && !bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
		queue = SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p);
		slice = LX_UNCHARGED_SLICE_NS;
	}
	scx_bpf_dsq_insert(p, queue, slice, 0);
	if (machine.cpus > 1 && lx_enqueue_seq(p) != coming) {
		scx_bpf_dispatch_cancel();
		there = 0;
	}
	bpf_task_release(p);
	return there;
}

LX_INLINE void lx_set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

/* Called from `enqueue`: bypasses the servers. */
LX_INLINE void lx_insert_direct(struct task_struct *p, u64 queue, u64 slice, u64 flags)
{
	scx_bpf_dsq_insert(p, queue, slice, flags);
	if (flags & SCX_ENQ_LAST)
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), 0);
}

#endif
