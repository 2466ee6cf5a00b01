/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * EDF over servers on one CPU: the integer part of crates/cpu/src/servers, where the proof is that
 * no reservation misses a deadline. Bandwidth is transferred at zero-lag times; reservations have
 * implicit deadlines.
 *
 * This code does not depend on the kernel: time is an argument, tasks are numbers. In BPF it runs
 * under the lock of the CPU's servers.
 */
#ifndef LAXITY_SERVERS_H
#define LAXITY_SERVERS_H

#include "bandwidth.h"
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

/* Slots that only reservations may use. */
#define LX_RESERVED_PLACES 256

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
	u32 padding;
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

#include "reclaim.h"
#include "berate.h"
#include "transition.h"

/* Average on which the next budget is based. */
LX_INLINE u64 lx_budget_basis(const struct lxc_policy_params *r, const struct lx_server *s)
{
	u64 used = s->average_used;
	u64 drift = (s->average > used ? s->average - used : used - s->average) * 1000;

	return !used || drift > used * r->drift_permille ? s->average : used;
}

/* Budget for an average (rules.rs, `Adaptation::budget`). */
LX_INLINE u64 lx_budget(const struct lxc_policy_params *r, u64 average)
{
	return lx_min(lx_max(average + average * r->margin_permille / 1000, r->min_budget),
		      r->max_budget);
}

/* Starts a new period at `release`; `original` is the nominal release, without idle-time
 * advance. */
LX_GLOBAL_FN u32 lx_replenish(struct lx_servers *q __arg_nonnull, u32 i, u64 release, u64 original)
{
	struct lx_server *s = lx_server(q, i);
	u64 budget = s->declared_budget, period = s->declared_period;

	if (s->kind == LX_BEST_EFFORT) {
		s->average_used = lx_budget_basis(&q->rules, s);
		budget = lx_budget(&q->rules, s->average_used);
		period = lx_period_for(&q->bandwidth, budget, s->weight);
		if (period > q->rules.max_period) {
			budget = lx_max(lx_mul_div(budget, q->rules.max_period, period, 0), 1);
			period = lx_period_for(&q->bandwidth, budget, s->weight);
		}
		if (release < s->limited_until) {
			/* Waiting for the full share may give an earlier deadline. */
			u64 slower = lx_max(lx_time_for_work(s->limited_rate, budget), period);

			if (slower < LX_NEVER - release &&
			    release + slower <= s->limited_until + period)
				period = slower;
			else
				release = s->limited_until;
		}
	}
	s->budget = budget;
	s->remaining_budget = budget;
	s->period = period;
	s->period_end = release + period;
	s->deadline = (q->rules.advance_on_idle ? lx_max(original, release) : release) + period;
	lx_rotate_members(s);
	return 0;
}

/* The server competes from time `at` on. */
LX_INLINE void lx_enter_ready(struct lx_servers *q, u64 at, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (s->state != LX_READY) {
		s->state = LX_READY;
		if (!q->rules.sample_per_job)
			s->execution = 0;
		LX_TEST_READY(i, at);
	}
	if (lx_heap_contains(&q->ready, i))
		lx_heap_rekey(&q->ready, i, lx_ready_key(s));
	else
		lx_heap_insert(&q->ready, i, lx_ready_key(s), ++q->ready_seq);
}

LX_INLINE void lx_leave_ready(struct lx_servers *q, u32 i)
{
	lx_heap_remove(&q->ready, i);
	if (q->running == i)
		q->running = LX_NONE;
	if (q->running_rate_based == i)
		q->running_rate_based = LX_NONE;
}

LX_INLINE void lx_enter_expired(struct lx_servers *q, u32 i, u64 release)
{
	struct lx_server *s = lx_server(q, i);

	lx_leave_ready(q, i);
	s->state = LX_EXPIRED;
	s->nominal_release = release;
	if (s->kind == LX_HARD)
		lx_heap_upsert(&q->suspended, i, release, ++q->wait_seq);
	else
		lx_heap_upsert(&q->expired, i, release + q->release_advance, ++q->wait_seq);
}

/* Counts periods of a reservation that ended late, by `by` at most. */
LX_INLINE void lx_note_deadline_miss(struct lx_servers *q, struct lx_server *s, u64 periods, u64 by)
{
	s->deadline_misses += periods;
	s->max_lateness_ns = lx_max(s->max_lateness_ns, by);
	q->deadline_misses += periods;
	q->max_lateness_ns = lx_max(q->max_lateness_ns, by);
}

/* Next release after a nominal release at `at`. A reservation that lost a whole period restarts at
 * `now`; a best-effort server is not released before its last share increase
 * (crates/cpu/src/servers/mod.rs). */
LX_INLINE u64 lx_next_release(struct lx_servers *q, struct lx_server *s, u64 at, u64 now)
{
	u64 lost = now - lx_min(at, now);

	if (s->kind == LX_BEST_EFFORT)
		return lx_max(at, lx_min(lx_max(q->share_raised_at, s->share_raised_at), now));
	if (s->kind != LX_HARD || lost < s->period)
		return at;
	lx_note_deadline_miss(q, s, lost / lx_max(s->period, 1), lost);
	return now;
}

/* The budget is used up. */
LX_GLOBAL_FN u32 lx_on_budget_exhausted(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	u64 end = s->period_end, deadline = s->deadline;

	if (s->kind == LX_RATE_BASED) {
		lx_rate_next(q, now, i);
		lx_enter_ready(q, now, i);
		return 0;
	}
	if (s->kind == LX_HARD && now > deadline)
		lx_note_deadline_miss(q, s, 1, now - deadline);
	if (!q->rules.sample_per_job)
		lx_sample(s);
	if ((s->kind == LX_HARD || !q->rules.recharge) && end > now) {
		lx_enter_expired(q, i, end);
		return 0;
	}
	/* The period is over already: the next one starts at its end, not at `now`, and must not
	 * have an earlier deadline. */
	end = lx_next_release(q, s, end, now);
	lx_replenish(q, i, end, end);
	s->deadline = lx_max(s->deadline, deadline);
	lx_enter_ready(q, now, i);
	return 0;
}

/* A blocked server has a runnable member again. */
LX_GLOBAL_FN u32 lx_activate(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (s->kind == LX_RATE_BASED) {
		lx_rate_activate(q, i);
		lx_rate_assign(q, i, now);
		lx_enter_ready(q, now, i);
		return 0;
	}
	if (s->kind == LX_BEST_EFFORT && s->active_weight < s->weight)
		lx_weight_activate(q, now, i);
	if (q->rules.exclude_sleepers)
		lx_reclaim_cancel(q, i);
	s->execution = 0;
	if (lx_release_is_void(s, now)) {
		lx_replenish(q, i, now, now);
		lx_enter_ready(q, now, i);
	} else if (!s->remaining_budget && (s->kind == LX_HARD || !q->rules.recharge)) {
		lx_enter_expired(q, i, s->period_end);
	} else {
		/* The server blocked just as its budget was used up. Replenish it as if it had not
		 * blocked; otherwise it would wait for the period's end while the CPU idles. */
		if (!s->remaining_budget)
			lx_replenish(q, i, s->period_end, s->period_end);
		lx_enter_ready(q, now, i);
	}
	/* Its weight was lowered, and it blocked before the old weight was reclaimed. */
	if (q->rules.exclude_sleepers && s->kind == LX_BEST_EFFORT && s->active_weight > s->weight)
		lx_weight_deactivate(q, now, now, i);
	return 0;
}

/* No member is runnable any more. */
LX_GLOBAL_FN u32 lx_deactivate(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (s->kind == LX_RATE_BASED) {
		lx_rate_block(q, now, i);
	} else if (s->state == LX_READY) {
		lx_sample(s);
		if (s->kind == LX_HARD && now > s->deadline)
			lx_note_deadline_miss(q, s, 1, now - s->deadline);
	}
	if (s->state == LX_READY) {
		lx_leave_ready(q, i);
	} else {
		lx_heap_remove(&q->expired, i);
		lx_heap_remove(&q->suspended, i);
	}
	s->state = LX_BLOCKED;
	if (q->rules.exclude_sleepers && s->kind == LX_BEST_EFFORT)
		lx_weight_deactivate(q, now, now + q->rules.inactive_after, i);
	return 0;
}

LX_GLOBAL_FN u32 lx_release_due(struct lx_servers *q __arg_nonnull, u64 now)
{
	u32 i;

	while (lx_heap_min_key(&q->suspended) <= now && can_loop) {
		u64 at = lx_heap_min_key(&q->suspended);

		i = lx_heap_top(&q->suspended);
		lx_heap_remove(&q->suspended, i);
		at = lx_next_release(q, lx_server(q, i), at, now);
		lx_replenish(q, i, at, at);
		lx_enter_ready(q, at, i);
	}
	while (q->expired.count && can_loop) {
		u64 at = lx_heap_min_key(&q->expired) - q->release_advance;

		if (at > now)
			break;
		i = lx_heap_top(&q->expired);
		lx_heap_remove(&q->expired, i);
		at = lx_next_release(q, lx_server(q, i), at, now);
		lx_replenish(q, i, at, lx_server(q, i)->nominal_release);
		lx_enter_ready(q, at, i);
	}
	return 0;
}

#include "admit.h"

/* Samples a job longer than the maximum budget as several jobs of that length. */
LX_GLOBAL_FN u32 lx_sample_long_job(struct lx_server *s __arg_nonnull, u64 most)
{
	u64 rest = s->execution % most;
	u64 times = lx_min(s->execution / most, 64);

	while (times && can_loop) {
		s->execution = most;
		lx_sample(s);
		times--;
	}
	s->execution = rest;
	return 0;
}

/* Charges execution to a server. */
LX_INLINE void lx_consume_budget(const struct lxc_policy_params *r, struct lx_server *s, u64 ran)
{
	LX_TEST_EXECUTED(s, ran);
	s->remaining_budget -= lx_min(ran, s->remaining_budget);
	s->execution += ran;
	if (r->sample_per_job && s->execution >= r->max_budget)
		lx_sample_long_job(s, lx_max(r->max_budget, 1));
}

/* If every ready server is ahead of its share by more than the limit, moves all deadlines back by
 * the least excess (crates/cpu/src/servers/reanchor.rs). */
LX_GLOBAL_FN u32 lx_reanchor_deadlines(struct lx_servers *q __arg_nonnull, u64 now)
{
	u64 excess = LX_NEVER, latest = now + q->rules.max_ahead;
	u32 i;

	if (!q->ready.count || lx_zero_lag(lx_server(q, lx_heap_top(&q->ready)), now) <= latest)
		return 0;
	q->ahead_checked_at = now;
	for (i = lx_zero; i < q->ready.count && can_loop; i += 1 + lx_zero) {
		const struct lx_server *s = lx_server(q, lx_at(q->ready.node, i)->entry);
		u64 zero_lag = lx_zero_lag(s, now);

		if (s->kind == LX_HARD)
			return 0;
		excess = lx_min(excess, zero_lag > latest ? zero_lag - latest : 0);
	}
	if (!excess)
		return 0;
	for (i = lx_zero; i < q->nr_used && can_loop; i += 1 + lx_zero) {
		struct lx_server *s = lx_server(q, i);

		if (s->kind == LX_HARD || s->state == LX_VACANT)
			continue;
		s->period_end -= lx_min(s->period_end, excess);
		s->deadline -= lx_min(s->deadline, excess);
		lx_heap_rekey(&q->ready, i, s->deadline);
		if (s->state != LX_EXPIRED)
			continue;
		/* The next release moves with the end of the period; otherwise the share would be
		 * used twice. */
		s->period_end = lx_max(s->period_end, now);
		s->nominal_release = s->period_end;
		lx_heap_rekey(&q->expired, i, s->period_end + q->release_advance);
	}
	LX_TEST_DEADLINES_REANCHORED(now, excess);
	return 0;
}

LX_INLINE void lx_limit_ahead(struct lx_servers *q, u64 now)
{
	if (!q->rules.quantum && q->rules.max_ahead != LX_NEVER &&
	    now >= q->ahead_checked_at + q->rules.max_ahead / 16)
		lx_reanchor_deadlines(q, now);
}

/* --- Events, named as in crates/cpu/src/policy.rs --- */

/* Initialises a best-effort server that has executed nothing; it is blocked. */
LX_GLOBAL_FN u32 lx_server_init_best_effort(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (q->rules.quantum) {
		s->kind = LX_RATE_BASED;
		s->is_new = 1;
		s->average = lx_quantum(&q->rules, s->weight);
		s->budget = s->average;
		lx_rate_activate(q, i);
		lx_rate_block(q, now, i);
		return 0;
	}
	s->kind = LX_BEST_EFFORT;
	s->is_new = 0;
	s->average = q->rules.initial_budget;
	if (!q->rules.exclude_sleepers)
		lx_weight_activate(q, now, i);
	return 0;
}

/* Creates a server without members; returns LX_NONE if no slot is free. A reservation takes its
 * bandwidth from best effort now and is first released when that bandwidth is free. The caller has
 * checked that it fits. */
LX_GLOBAL_FN u32 lx_server_create(struct lx_servers *q __arg_nonnull, u64 now, u32 weight,
				  u64 budget, u64 period)
{
	struct lx_server *s;
	u32 i;

	lx_reclaim_up_to(q, now);
	if (!period && q->nr_servers >= LX_MAX_SERVERS - LX_RESERVED_PLACES)
		return LX_NONE;
	i = q->first_vacant;
	if (i != LX_NONE)
		q->first_vacant = lx_server(q, i)->next_vacant;
	else if (q->nr_used < LX_MAX_SERVERS)
		i = q->nr_used++;
	else
		return LX_NONE;
	q->nr_servers++;
	LX_TEST_CREATED(i);
	s = lx_server(q, i);
	__builtin_memset(s, 0, sizeof(*s));
	s->state = LX_BLOCKED;
	s->head = LX_NONE;
	s->tail = LX_NONE;
	s->weight = weight;
	if (!period) {
		lx_server_init_best_effort(q, now, i);
		return i;
	}
	s->kind = LX_HARD;
	s->declared_budget = budget;
	s->declared_period = period;
	lx_set_reserved_bw(q, s, lx_share(budget, period, 1));
	s->period_end = lx_reservation_admit(q, now);
	if (s->period_end <= now)
		s->period_end = 0;
	return i;
}

LX_INLINE void lx_member_attach(struct lx_servers *q, u32 i, u32 task)
{
	struct lx_member *m = lx_member(task);

	m->server = i;
	m->runnable = 0;
	m->next = LX_NONE;
	lx_server(q, i)->nr_members++;
}

/* Called when the last member leaves. */
LX_GLOBAL_FN u32 lx_server_destroy(struct lx_servers *q __arg_nonnull, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	s->state = LX_LEAVING;
	lx_active_list_remove(q, 0, s);
	if (s->kind == LX_BEST_EFFORT)
		lx_active_list_add(q, 1, s, i);
	lx_weight_deactivate(q, now, now, i);
	return 0;
}

/* A task leaves after executing for `ran` since the last report. */
LX_GLOBAL_FN u32 lx_leave(struct lx_servers *q __arg_nonnull, u64 now, u32 task, u64 ran)
{
	struct lx_member *m = lx_member(task);
	struct lx_server *s;
	u32 i = m->server;

	if (i == LX_NONE)
		return 0;
	s = lx_server(q, i);
	lx_reclaim_up_to(q, now);
	lx_consume_budget(&q->rules, s, ran);
	if (m->runnable)
		lx_member_unlink(s, task);
	m->server = LX_NONE;
	s->nr_members--;
	if (s->head == LX_NONE && s->state != LX_BLOCKED)
		lx_deactivate(q, now, i);
	if (!s->nr_members)
		lx_server_destroy(q, now, i);
	if (s->state == LX_READY && !s->remaining_budget)
		lx_on_budget_exhausted(q, now, i);
	return 0;
}

LX_GLOBAL_FN u32 lx_wake(struct lx_servers *q __arg_nonnull, u64 now, u32 task)
{
	struct lx_member *m = lx_member(task);
	struct lx_server *s;

	if (m->server == LX_NONE || m->runnable)
		return 0;
	s = lx_server(q, m->server);
	lx_reclaim_up_to(q, now);
	lx_member_append(s, task);
	if (s->state == LX_BLOCKED) {
		lx_limit_ahead(q, now);
		lx_activate(q, now, m->server);
	}
	return 0;
}

LX_GLOBAL_FN u32 lx_block(struct lx_servers *q __arg_nonnull, u64 now, u32 task, u64 ran)
{
	struct lx_member *m = lx_member(task);
	struct lx_server *s;
	u32 i = m->server;

	if (i == LX_NONE)
		return 0;
	s = lx_server(q, i);
	if (ran)
		lx_consume_budget(&q->rules, s, ran);
	if (!m->runnable)
		return 0;
	lx_reclaim_up_to(q, now);
	if (s->kind == LX_RATE_BASED && !s->remaining_budget)
		lx_on_budget_exhausted(q, now, i);
	lx_member_unlink(s, task);
	if (s->head == LX_NONE)
		lx_deactivate(q, now, i);
	else if (s->state == LX_READY && !s->remaining_budget)
		lx_on_budget_exhausted(q, now, i);
	return 0;
}

/* Server i executed for `ran`, whichever member did. */
LX_INLINE void lx_server_ran(struct lx_servers *q, struct lx_server *s, u32 i, u64 now, u64 ran)
{
	lx_consume_budget(&q->rules, s, ran);
	if (s->state == LX_READY && !s->remaining_budget) {
		lx_reclaim_up_to(q, now);
		lx_on_budget_exhausted(q, now, i);
	}
}

LX_INLINE void lx_ran(struct lx_servers *q, u64 now, u32 task, u64 ran)
{
	u32 i = lx_member(task)->server;

	if (i != LX_NONE)
		lx_server_ran(q, lx_server(q, i), i, now, ran);
}

LX_INLINE void lx_on_timer(struct lx_servers *q, u64 now)
{
	lx_reclaim_up_to(q, now);
	lx_release_due(q, now);
}

/* Latest time for the next call of lx_on_timer. */
LX_INLINE u64 lx_next_timer(const struct lx_servers *q)
{
	u64 suspended = lx_heap_min_key(&q->suspended);
	u64 expired = q->expired.count ? lx_heap_min_key(&q->expired) - q->release_advance
				       : LX_NEVER;

	return lx_min(suspended, expired);
}

/* Earliest deadline. Ties go to the server that is running; among BeRate servers, to the one that
 * ran last. */
LX_INLINE u32 lx_pick_ready(struct lx_servers *q)
{
	u64 least = lx_heap_min_key(&q->ready);
	u32 *running = least & LX_RATE_BASED_KEY ? &q->running_rate_based : &q->running;

	if (*running == LX_NONE || lx_heap_key(&q->ready, *running) != least)
		*running = lx_heap_top(&q->ready);
	return *running;
}

/* No server competes: reset lags, and advance the next release to now if the policy allows it. */
LX_GLOBAL_FN u32 lx_on_idle(struct lx_servers *q __arg_nonnull, u64 now)
{
	lx_reclaim_up_to(q, now);
	lx_reset_lag_on_idle(q, now);
	if (q->rules.advance_on_idle && q->expired.count) {
		u64 at = lx_heap_min_key(&q->expired) - q->release_advance;

		q->release_advance += at > now ? at - now : 0;
		LX_TEST_RELEASES_ADVANCED(now);
		lx_release_due(q, now);
	}
	return 0;
}

/* Picks the server to run from now on; LX_NONE if the CPU is idle. */
LX_INLINE u32 lx_pick(struct lx_servers *q, u64 now)
{
	if (!q->ready.count)
		lx_on_idle(q, now);
	return q->ready.count ? lx_pick_ready(q) : LX_NONE;
}

#include "policy_change.h"

#endif
