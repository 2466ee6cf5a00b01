// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0
/*
 * Minimal schedulers for comparison: tasks wait in the kernel's own DSQs. They measure the cost of
 * sched_ext itself, without any program (`none`) and with the programs that a policy with run-time
 * accounting needs (`bare`).
 */
#include "kernel.h"

SEC("struct_ops/select_cpu")
int bare_select_cpu(u64 *ctx)
{
	return ctx[1];
}

SEC("struct_ops/enqueue")
void bare_enqueue(u64 *ctx)
{
	scx_bpf_dsq_insert((void *)ctx[0], SCX_DSQ_LOCAL, 20000000, ctx[1]);
}

SEC("struct_ops/dispatch")
void bare_dispatch(u64 *ctx)
{
	(void)ctx;
}

SEC("struct_ops/running")
void bare_running(u64 *ctx)
{
	(void)ctx;
}

SEC("struct_ops/stopping")
void bare_stopping(u64 *ctx)
{
	(void)ctx;
}

SEC(".struct_ops.link")
struct sched_ext_ops none = {
	.timeout_ms = 30000,
	.name = "none",
};

SEC(".struct_ops.link")
struct sched_ext_ops bare = {
	.select_cpu = (void *)bare_select_cpu,
	.enqueue = (void *)bare_enqueue,
	.dispatch = (void *)bare_dispatch,
	.running = (void *)bare_running,
	.stopping = (void *)bare_stopping,
	.timeout_ms = 30000,
	.name = "bare",
};

char licence[] SEC("license") = "Dual MIT/GPL";
