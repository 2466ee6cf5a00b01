/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * State of the servers of one CPU, and the parameters of their policy.
 */
#ifndef LAXITY_SERVERS_STATE_H
#define LAXITY_SERVERS_STATE_H

#include "bandwidth.h"
#include "heap.h"
#include "server.h"

/* Parameters that distinguish the policies built on servers (rules.rs). */
struct lxc_policy_params {
	/* Budgets: initial average, bounds, safety margin, and the drift of the average below which
	 * the budget stays. Margin and drift are in thousandths of the average. */
	u64 initial_budget;
	u64 min_budget;
	u64 max_budget;
	u64 margin_permille;
	u64 drift_permille;
	/* Limits budgets so that no period is longer; LX_NEVER for no limit. Not part of the
	 * papers: sched_ext ejects a scheduler that lets a runnable task starve. */
	u64 max_period;
	/* Maximum lead of a server over its share; LX_NEVER for no limit. */
	u64 max_ahead;
	/* Budget of tasks that execute for long without sleep (rules.rs); LX_NEVER for no limit. */
	u64 slice;
	/* Time on the CPU before another best-effort task preempts (lx_protect_running). */
	u64 wakeup_granularity;
	/* BeRate only, otherwise zero: quantum of the lowest weight. */
	u64 quantum;
	/* BeRate: time without execution after which a task does not count in the load. */
	u64 inactive_after;
	/* Replenish an exhausted budget at once (CBS) instead of at the next release (BEBS). */
	u32 recharge;
	/* Idle time advances releases; deadlines stay those of the nominal releases. */
	u32 advance_on_idle;
	/* A sample spans from wake-up to block, instead of ending with the budget as well. */
	u32 sample_per_job;
	/* Blocked servers do not divide the bandwidth. */
	u32 exclude_sleepers;
};

/* Result of the last call of lx_round_time. */
struct lx_round_time {
	u64 work;
	u64 share;
	u64 time;
};

struct lx_servers {
	struct lxc_policy_params rules;
	struct lx_bandwidth bandwidth;
	/* Bandwidth of all reservations. */
	u64 reserved_bw;
	/* Total time by which idle time has advanced releases. */
	u64 release_advance;
	/* Sum of the quanta of BeRate tasks, and the last conversion of such a sum to time. */
	u64 total_quanta;
	struct lx_round_time round_cache;
	/* Time at which all bandwidth given up so far is free. */
	u64 bw_free_at;
	/* Time of the last increase of best-effort shares. Releases are never dated back beyond
	 * it. */
	u64 share_raised_at;
	/* Time of the last check of `max_ahead`. */
	u64 ahead_checked_at;
	/* Time at which `running` was picked, or started. */
	u64 turn_began_at;
	/* End of the turn of `running` while it is not preempted; zero otherwise. */
	u64 protected_until;
	/* Sequence numbers for ties in `ready` and in `expired` and `suspended`. */
	u64 ready_seq;
	u64 wait_seq;
	/* Server picked last if it still competes, and the same among BeRate servers. */
	u32 running;
	u32 running_rate_based;
	/* Slots ever used, head of the free list, servers in existence. */
	u32 nr_used;
	u32 first_vacant;
	u32 nr_servers;
	u32 nr_active;
	u32 nr_departed;
	/* A reservation was picked before best effort with an earlier deadline (lx_pick_reserved). */
	u32 passed_over;
	/* Servers that count in the total weight and have not left. */
	u32 active[LX_MAX_SERVERS];
	struct lx_heap ready;
	/* Key: next release plus `release_advance` at insertion. */
	struct lx_heap expired;
	/* Reservations that wait for their next release. */
	struct lx_heap suspended;
	/* Shares to be reclaimed, by time. */
	struct lx_heap reclaims;
	struct lx_server server[LX_MAX_SERVERS];
	/* Best-effort servers that have left and whose shares are not reclaimed yet. */
	u32 departed[LX_MAX_SERVERS];
	/* Periods of all reservations, past and present, whose work ended after the period's end,
	 * and the maximum lateness. */
	u64 deadline_misses;
	u64 max_lateness_ns;
};

LX_INLINE struct lx_server *lx_server(struct lx_servers *q, u32 s)
{
	return lx_at(q->server, s);
}

LX_INLINE void lx_servers_start(struct lx_servers *q, const struct lxc_policy_params *rules)
{
	q->rules = *rules;
	q->running = LX_NONE;
	q->running_rate_based = LX_NONE;
	q->first_vacant = LX_NONE;
	lx_bandwidth_set(&q->bandwidth, LX_FULL_SHARE, 0);
}

/* Hooks for the invariant checker of the tests (tests/headers/promises.h); empty otherwise. */
#ifndef LX_TEST_CREATED
#define LX_TEST_CREATED(i) ((void)0)
#define LX_TEST_EXECUTED(s, ran) ((void)0)
#define LX_TEST_READY(i, at) ((void)(at))
#define LX_TEST_LAG_RESET(now) ((void)0)
#define LX_TEST_RELEASES_ADVANCED(now) ((void)0)
#define LX_TEST_DEADLINES_REANCHORED(now, excess) ((void)0)
#endif

#endif
