/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Releases of servers: new periods, exhausted budgets, wake-ups and blocks
 * (crates/cpu/src/servers/mod.rs).
 */
#ifndef LAXITY_RELEASE_H
#define LAXITY_RELEASE_H

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
	u64 budget = s->declared_budget, period = s->declared_period, later = 0;

	if (s->kind == LX_BEST_EFFORT) {
		s->average_used = lx_budget_basis(&q->rules, s);
		budget = lx_budget(&q->rules, s->average_used);
		period = lx_period_for(&q->bandwidth, budget, s->weight);
		if (s->compute_bound && q->rules.slice != LX_NEVER) {
			later = q->rules.max_budget;
			budget = lx_min(q->rules.slice, q->rules.max_budget);
			period = lx_period_for(&q->bandwidth, budget, s->weight);
		}
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
	s->deadline = (q->rules.advance_on_idle ? lx_max(original, release) : release) + period +
		      later;
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
	/* The first release is the end of no period. */
	if (s->period)
		lx_note_deadline_miss(q, s, lost / s->period, lost);
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
	if (q->rules.slice != LX_NEVER && s->execution >= 4 * s->average + q->rules.slice)
		s->compute_bound = 1;
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

/* First release of a best-effort server: where deadlines may run ahead, a task that has just begun
 * is as far ahead as the one with the earliest deadline (crates/cpu/src/servers/mod.rs). */
LX_GLOBAL_FN u64 lx_first_release(struct lx_servers *q __arg_nonnull, u64 now)
{
	const struct lx_server *running;

	if (q->rules.max_ahead == LX_NEVER || q->rules.slice == LX_NEVER || !q->ready.count)
		return now;
	running = lx_server(q, lx_heap_top(&q->ready));
	return running->kind == LX_BEST_EFFORT ? lx_zero_lag(running, now) : now;
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
		u64 release = s->kind == LX_BEST_EFFORT && !s->period ? lx_first_release(q, now) :
									now;

		lx_replenish(q, i, release, release);
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
	s->compute_bound = 0;
	s->defers = 0;
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

#endif
