/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * One server: budget, period and state within the current period
 * (crates/cpu/src/servers/server.rs), and the list of its tasks (members.rs beside it).
 */
#ifndef LAXITY_SERVER_H
#define LAXITY_SERVER_H

#include "tasks.h"
#include "u128.h"

enum lx_state {
	/* The slot is free. */
	LX_VACANT,
	/* No member is runnable. */
	LX_BLOCKED,
	/* Competes by its deadline. */
	LX_READY,
	/* Runnable members wait for the next release. */
	LX_EXPIRED,
	/* All members left. The share is reclaimed at the zero-lag time. */
	LX_LEAVING,
};

enum lx_kind {
	/* Has a weighted share of the best-effort bandwidth. */
	LX_BEST_EFFORT,
	/* Reservation: has a guaranteed budget, is throttled when the budget is used up (but see
	 * lx_decide beside a higher class), receives no slack. */
	LX_HARD,
	/* BeRate (berate.h): a sequence of deadlines without an enforced budget. */
	LX_RATE_BASED,
};

struct lx_server {
	u64 budget;
	u64 period;
	u64 remaining_budget;
	/* Current release plus period. */
	u64 period_end;
	u64 deadline;
	/* Next release, before idle time advanced it. */
	u64 nominal_release;
	/* Execution since the start of the current sample. */
	u64 execution;
	u64 average;
	u64 average_used;
	/* The share is `limited_rate` until `limited_until`. */
	u64 limited_until;
	u64 limited_rate;
	/* Time of the last increase of this server's share. Releases are never dated back beyond
	 * it. */
	u64 share_raised_at;
	/* Reservations only: declared parameters and the bandwidth they need. */
	u64 declared_budget;
	u64 declared_period;
	u64 reserved_bw;
	/* Reservations only: periods in which the budget was used up after the deadline, and the
	 * maximum lateness. Statistics; no decision depends on them. */
	u64 deadline_misses;
	u64 max_lateness_ns;
	/* Time at which the share is reclaimed, LX_NEVER if none is scheduled (reclaim.h). */
	u64 reclaim_at;
	u32 state;
	u32 kind;
	u32 weight;
	/* Part of the weight that is counted in the total weight. */
	u32 active_weight;
	/* Position in the active list, counted from one. */
	u32 active_pos;
	/* First and last runnable member. */
	u32 head;
	u32 tail;
	u32 nr_members;
	/* Next entry of the free list. */
	u32 next_vacant;
	/* BeRate only: no deadline has been assigned yet. */
	u32 is_new;
	/* Has executed for long without sleep (lx_on_budget_exhausted). */
	u32 compute_bound;
	/* The running task woke it, and it has not been picked since. */
	u32 defers;
};

LX_INLINE void lx_member_append(struct lx_server *s, u32 task)
{
	struct lx_member *m = lx_member(task);
	u32 last = s->tail;

	m->runnable = 1;
	m->next = LX_NONE;
	s->tail = task;
	if (last == LX_NONE)
		s->head = task;
	else
		lx_member(last)->next = task;
}

LX_GLOBAL_FN u32 lx_member_unlink_slow(struct lx_server *s __arg_nonnull, u32 task)
{
	struct lx_member *m = lx_member(task);
	u32 before = LX_NONE, at = s->head;

	m->runnable = 0;
	while (at != task && at != LX_NONE && can_loop) {
		before = at;
		at = lx_member(at)->next;
	}
	if (before == LX_NONE)
		s->head = m->next;
	else
		lx_member(before)->next = m->next;
	if (s->tail == task)
		s->tail = before;
	return 0;
}

LX_INLINE void lx_member_unlink(struct lx_server *s, u32 task)
{
	/* Common case: the only runnable member. */
	if (s->head == task && s->tail == task) {
		lx_member(task)->runnable = 0;
		s->head = LX_NONE;
		s->tail = LX_NONE;
	} else {
		lx_member_unlink_slow(s, task);
	}
}

/* Round robin among members, one budget each. */
LX_INLINE void lx_rotate_members(struct lx_server *s)
{
	u32 first = s->head;

	if (first == s->tail)
		return;
	lx_member_unlink(s, first);
	lx_member_append(s, first);
}

/* Weight on which the current share is based: of a raised weight the part already counted, of a
 * lowered weight all of it. */
LX_INLINE u32 lx_sharing_weight(const struct lx_server *s)
{
	return s->weight < s->active_weight ? s->weight : s->active_weight;
}

/* Returns true if a wake-up at `now` starts a new release: the period is over, or the server used
 * no more than its share since the release (BEBS section 4.1, rule 4). */
LX_INLINE int lx_release_is_void(const struct lx_server *s, u64 now)
{
	u64 used, since;

	if (now >= s->period_end)
		return 1;
	if (now + s->period < s->period_end)
		return 0;
	used = s->budget - s->remaining_budget;
	since = now + s->period - s->period_end;
	/* Common case: products of times below 4 s; `since` does not exceed the period. */
	if (!((used | s->budget | s->period) >> 32))
		return used * s->period <= since * s->budget;
	return lx_u128_le(lx_u128_mul(used, s->period), lx_u128_mul(since, s->budget));
}

/* Time at which the share since the release equals the budget used, at least `now`. */
LX_INLINE u64 lx_zero_lag(const struct lx_server *s, u64 now)
{
	u64 unused = lx_mul_div(s->remaining_budget, s->period, lx_max(s->budget, 1), 0);

	return lx_max(s->period_end - lx_min(unused, s->period_end), now);
}

/* Switches the server to the share of `period` at time `from`; before, it had its old share. */
LX_INLINE void lx_stretch_from(struct lx_server *s, u64 now, u64 from, u64 period)
{
	if (s->period_end > from) {
		u64 rest = s->period_end - from;
		/* A zero-lag time in the future was rounded up: the remaining budget may need 1 ns
		 * more. */
		u64 later = lx_mul_div(rest + (from > now), period, s->period, 1) - rest;

		s->period_end += later;
		s->deadline += later;
	}
	s->period = period;
}

/* Exponential average: the old value weighs three times the new sample. */
LX_INLINE u64 lx_average(const struct lx_server *s)
{
	return (s->average * 3 + s->execution) / 4;
}

LX_INLINE void lx_sample(struct lx_server *s)
{
	s->average = lx_average(s);
	s->execution = 0;
}

/* Average execution to keep for the task's next server; zero if nothing was executed. BeRate would
 * take the last execution into account with the next deadline. */
LX_INLINE u64 lx_learnt_average(const struct lx_server *s)
{
	if (s->is_new)
		return 0;
	return s->kind == LX_RATE_BASED && s->head == LX_NONE ? lx_average(s) : s->average;
}

#endif
