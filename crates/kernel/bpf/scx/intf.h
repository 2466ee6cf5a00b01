/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The interface to the loader: structures in maps, in the arguments of requests and in the trace.
 */
#ifndef LAXITY_SCX_INTF_H
#define LAXITY_SCX_INTF_H

#include <laxity/layout.h>
#include <laxity/nearness.h>
#include <laxity/servers_state.h>

#define LX_MAX_RESERVATIONS 256

/* Written by the loader. */
struct lx_setup {
	struct lxc_policy_params rules;
	/* Share of each CPU that reservations leave to best effort. */
	u64 best_effort_bw_min;
	/* Address of __cpu_active_mask; zero if the kernel does not export it. */
	u64 cpu_active_mask;
	/* Index in the loader's list of policies. */
	u32 policy;
	u32 padding;
	/* Costs of a switch and of a release, in ns, which user space adds to the budgets of
	 * reservations. The scheduler only keeps them. */
	u64 switch_overhead;
	u64 release_overhead;
};

/* Constants of this machine. The verifier removes code that they make unreachable. */
struct lx_machine {
	u32 cpus;
	/* Whether the `running` and `stopping` hooks are loaded (cpu_run.h). */
	u32 has_run_hooks;
};

/* Why the kernel ended the scheduler. */
struct lx_ended {
	u64 kind;
	char reason[64];
	char message[256];
};

struct lx_totals {
	/* Tasks without a slot, reserved tasks that ran on another CPU than their reservation's,
	 * picked tasks that could not be dispatched, failed acquisitions of locks. */
	u64 unaccounted;
	u64 elsewhere;
	u64 absent;
	u64 unlocked;
	/* Longest wait for a lock, in ns. */
	u64 waited;
};

struct lx_recording {
	/* End of the recording, so that it ends if the reader dies. */
	u64 until;
	/* Events dropped for lack of space. */
	u64 lost;
};

/* As in laxity_kernel::cpu::record. The comments give `a` and `b`, and `slot` if it is not a
 * task. */
enum lx_event_kind {
	/* A task gets a server of its own: weight, learnt average. */
	LX_JOINED,
	/* A task joins the server of a reservation: number. */
	LX_BOUND,
	/* A reservation gets a server without members: slot = number, budget, period. */
	LX_RESERVED,
	LX_LEFT,
	/* New weight. */
	LX_WEIGHED,
	LX_WOKE,
	LX_BLOCKED_NOW,
	/* Execution time. */
	LX_RAN,
	LX_TIMER,
	/* A task or LX_NONE was picked: remaining budget, deadline. */
	LX_CHOSEN,
	/* A best-effort or reserved task started: budget, period. */
	LX_STARTED,
	LX_STARTED_RESERVED,
	LX_STOPPED,
	/* A preempted task goes on without a decision. */
	LX_RESUMED,
	/* As LX_CHOSEN while a higher class waited: reservations preceded best effort. */
	LX_CHOSEN_RESERVED_FIRST,
	/* A reservation ends whose last task never joined its server: slot = number. */
	LX_RESERVATION_ENDED,
};

struct lx_event {
	u64 at;
	u32 what;
	u32 cpu;
	u32 slot;
	u32 pid;
	u64 a;
	u64 b;
};

struct lx_reservation {
	/* With the overhead, in ns. */
	u64 budget;
	u64 period;
	u32 cpu;
	/* Server on that CPU. Tasks that are moving to it count as members. */
	u32 server;
	u32 in_use;
	/* Children of its tasks join it. */
	u32 inherit;
	/* First task, for display. */
	u32 pid;
	/* User whose quota it counts against. */
	u32 owner;
	/* The part of the budget that was added for switches and the release. */
	u64 overhead;
};

struct lx_request {
	u64 budget;
	u64 period;
	u64 overhead;
	/* Result: time until the reservation is in force, in ns, when best effort has given up its
	 * lead. */
	u64 delay;
	u32 pid;
	u32 cpu;
	u32 inherit;
	u32 owner;
	/* Result: reservation of the task, counted from one; zero for none. */
	u32 number;
	/* Result: zero or an error number. */
	u32 error;
	/* The reservation may begin later if it cannot begin at once. */
	u32 deferrable;
	u32 padding;
};

struct lx_report {
	/* Arguments: a CPU, or a reservation counted from one. */
	u32 cpu;
	u32 reservation;
	/* Results for the CPU. */
	u64 reserved_bw;
	u64 total_weight;
	u64 servers;
	u64 switches;
	u64 steals;
	u64 max_overrun_ns;
	u64 max_release_lateness_ns;
	/* Results for the reservation. The last two describe all past and present reservations of
	 * the CPU if none is given. */
	u64 members;
	u64 deadline_misses;
	u64 max_lateness_ns;
	/* Argument, set to 0 when done: resets the deadline misses and the maxima of the CPU. Takes
	 * no lock, so events at the same time may be lost. */
	u64 reset;
	/* Result for the reservation: its first task, in the caller's PID namespace. */
	u64 pid;
};

struct lxc_policy_change {
	struct lxc_policy_params rules;
	u64 best_effort_bw_min;
	u64 switch_overhead;
	u64 release_overhead;
	u32 policy;
	/* Result: number of CPUs changed. */
	u32 changed;
};

struct lx_task_report {
	/* Argument. */
	u32 slot;
	/* Result: slots ever used. */
	u32 slots;
	/* Result: zero if nothing is inferred for the task, or if it has slept for long. */
	u32 pid;
	u32 cpu;
	u64 budget;
	u64 period;
};

LX_FIELD(lxc_policy_params, initial_budget, 0, 8);
LX_FIELD(lxc_policy_params, min_budget, 8, 8);
LX_FIELD(lxc_policy_params, max_budget, 16, 8);
LX_FIELD(lxc_policy_params, margin_permille, 24, 8);
LX_FIELD(lxc_policy_params, drift_permille, 32, 8);
LX_FIELD(lxc_policy_params, max_period, 40, 8);
LX_FIELD(lxc_policy_params, max_ahead, 48, 8);
LX_FIELD(lxc_policy_params, slice, 56, 8);
LX_FIELD(lxc_policy_params, wakeup_granularity, 64, 8);
LX_FIELD(lxc_policy_params, quantum, 72, 8);
LX_FIELD(lxc_policy_params, inactive_after, 80, 8);
LX_FIELD(lxc_policy_params, recharge, 88, 4);
LX_FIELD(lxc_policy_params, advance_on_idle, 92, 4);
LX_FIELD(lxc_policy_params, sample_per_job, 96, 4);
LX_FIELD(lxc_policy_params, exclude_sleepers, 100, 4);
LX_SIZE(lxc_policy_params, 104);

LX_FIELD(lx_setup, rules, 0, 104);
LX_FIELD(lx_setup, best_effort_bw_min, 104, 8);
LX_FIELD(lx_setup, cpu_active_mask, 112, 8);
LX_FIELD(lx_setup, policy, 120, 4);
LX_FIELD(lx_setup, switch_overhead, 128, 8);
LX_FIELD(lx_setup, release_overhead, 136, 8);
LX_SIZE(lx_setup, 144);

LX_FIELD(lx_machine, cpus, 0, 4);
LX_FIELD(lx_machine, has_run_hooks, 4, 4);
LX_SIZE(lx_machine, 8);

LX_FIELD(lx_place, cpu, 0, 4);
LX_FIELD(lx_place, first, 4, 20);
LX_FIELD(lx_place, end, 24, 20);
LX_SIZE(lx_place, 44);
LX_VALUE(LX_LEVELS, 5);

LX_FIELD(lx_ended, kind, 0, 8);
LX_FIELD(lx_ended, reason, 8, 64);
LX_FIELD(lx_ended, message, 72, 256);
LX_SIZE(lx_ended, 328);

LX_FIELD(lx_totals, unaccounted, 0, 8);
LX_FIELD(lx_totals, elsewhere, 8, 8);
LX_FIELD(lx_totals, absent, 16, 8);
LX_FIELD(lx_totals, unlocked, 24, 8);
LX_FIELD(lx_totals, waited, 32, 8);
LX_SIZE(lx_totals, 40);

LX_FIELD(lx_recording, until, 0, 8);
LX_FIELD(lx_recording, lost, 8, 8);
LX_SIZE(lx_recording, 16);

LX_FIELD(lx_event, at, 0, 8);
LX_FIELD(lx_event, what, 8, 4);
LX_FIELD(lx_event, cpu, 12, 4);
LX_FIELD(lx_event, slot, 16, 4);
LX_FIELD(lx_event, pid, 20, 4);
LX_FIELD(lx_event, a, 24, 8);
LX_FIELD(lx_event, b, 32, 8);
LX_SIZE(lx_event, 40);

LX_FIELD(lx_reservation, budget, 0, 8);
LX_FIELD(lx_reservation, period, 8, 8);
LX_FIELD(lx_reservation, cpu, 16, 4);
LX_FIELD(lx_reservation, server, 20, 4);
LX_FIELD(lx_reservation, in_use, 24, 4);
LX_FIELD(lx_reservation, inherit, 28, 4);
LX_FIELD(lx_reservation, pid, 32, 4);
LX_FIELD(lx_reservation, owner, 36, 4);
LX_FIELD(lx_reservation, overhead, 40, 8);
LX_SIZE(lx_reservation, 48);

LX_FIELD(lx_request, budget, 0, 8);
LX_FIELD(lx_request, period, 8, 8);
LX_FIELD(lx_request, overhead, 16, 8);
LX_FIELD(lx_request, delay, 24, 8);
LX_FIELD(lx_request, pid, 32, 4);
LX_FIELD(lx_request, cpu, 36, 4);
LX_FIELD(lx_request, inherit, 40, 4);
LX_FIELD(lx_request, owner, 44, 4);
LX_FIELD(lx_request, number, 48, 4);
LX_FIELD(lx_request, error, 52, 4);
LX_FIELD(lx_request, deferrable, 56, 4);
LX_SIZE(lx_request, 64);

LX_FIELD(lx_report, cpu, 0, 4);
LX_FIELD(lx_report, reservation, 4, 4);
LX_FIELD(lx_report, reserved_bw, 8, 8);
LX_FIELD(lx_report, total_weight, 16, 8);
LX_FIELD(lx_report, servers, 24, 8);
LX_FIELD(lx_report, switches, 32, 8);
LX_FIELD(lx_report, steals, 40, 8);
LX_FIELD(lx_report, max_overrun_ns, 48, 8);
LX_FIELD(lx_report, max_release_lateness_ns, 56, 8);
LX_FIELD(lx_report, members, 64, 8);
LX_FIELD(lx_report, deadline_misses, 72, 8);
LX_FIELD(lx_report, max_lateness_ns, 80, 8);
LX_FIELD(lx_report, reset, 88, 8);
LX_FIELD(lx_report, pid, 96, 8);
LX_SIZE(lx_report, 104);

LX_FIELD(lxc_policy_change, rules, 0, 104);
LX_FIELD(lxc_policy_change, best_effort_bw_min, 104, 8);
LX_FIELD(lxc_policy_change, switch_overhead, 112, 8);
LX_FIELD(lxc_policy_change, release_overhead, 120, 8);
LX_FIELD(lxc_policy_change, policy, 128, 4);
LX_FIELD(lxc_policy_change, changed, 132, 4);
LX_SIZE(lxc_policy_change, 136);

LX_FIELD(lx_task_report, slot, 0, 4);
LX_FIELD(lx_task_report, slots, 4, 4);
LX_FIELD(lx_task_report, pid, 8, 4);
LX_FIELD(lx_task_report, cpu, 12, 4);
LX_FIELD(lx_task_report, budget, 16, 8);
LX_FIELD(lx_task_report, period, 24, 8);
LX_SIZE(lx_task_report, 32);

LX_VALUE(LX_MAX_RESERVATIONS, 256);
LX_VALUE(LX_JOINED, 0);
LX_VALUE(LX_BOUND, 1);
LX_VALUE(LX_RESERVED, 2);
LX_VALUE(LX_LEFT, 3);
LX_VALUE(LX_WEIGHED, 4);
LX_VALUE(LX_WOKE, 5);
LX_VALUE(LX_BLOCKED_NOW, 6);
LX_VALUE(LX_RAN, 7);
LX_VALUE(LX_TIMER, 8);
LX_VALUE(LX_CHOSEN, 9);
LX_VALUE(LX_STARTED, 10);
LX_VALUE(LX_STARTED_RESERVED, 11);
LX_VALUE(LX_STOPPED, 12);
LX_VALUE(LX_RESUMED, 13);
LX_VALUE(LX_CHOSEN_RESERVED_FIRST, 14);
LX_VALUE(LX_RESERVATION_ENDED, 15);

#endif
