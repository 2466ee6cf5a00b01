/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * One server: budget, period, and where it stands in its current period
 * (crates/cpu/src/servers/server.rs), and the tasks that it serves (members.rs beside it).
 */
#ifndef LAXITY_SERVER_H
#define LAXITY_SERVER_H

#include "heap.h"

enum lx_state {
	/* The place may be given away. */
	LX_VACANT,
	/* No member is runnable. */
	LX_BLOCKED,
	/* Competes with its deadline. */
	LX_READY,
	/* Runnable members wait for the next release. */
	LX_EXPIRED,
	/* All members left; its share is not free before its zero-lag time. */
	LX_LEAVING,
};

enum lx_kind {
	/* Of a share of what best effort has. */
	LX_BEST_EFFORT,
	/* Guaranteed, held to its budget, never given slack. */
	LX_HARD,
	/* Of BeRate (berate.h): one deadline after the other, no budget that it is held to. */
	LX_RATE_BASED,
};

struct lx_server {
	u64 budget;
	u64 period;
	u64 remaining_budget;
	/* Current release plus period. */
	u64 period_end;
	u64 deadline;
	/* The next release before idle time advanced it. */
	u64 nominal_release;
	/* Execution since the last sample began. */
	u64 execution;
	u64 average;
	u64 average_used;
	/* Before `limited_until` the share is `limited_rate`. */
	u64 limited_until;
	u64 limited_rate;
	/* When its own share last rose: no release is dated back beyond it. */
	u64 share_raised_at;
	/* Of a reservation, and the share that it needs. */
	u64 declared_budget;
	u64 declared_period;
	u64 reserved_bw;
	/* Reservations only: periods in which the budget was used up after the deadline, and by how
	 * much at most. Nothing is decided by these. */
	u64 deadline_misses;
	u64 max_lateness_ns;
	/* When its share comes back, LX_NEVER while it does not (reclaim.h). */
	u64 reclaim_at;
	u32 state;
	u32 kind;
	u32 weight;
	/* What of the weight is in the load. */
	u32 active_weight;
	/* Place among those counted, from one. */
	u32 active_pos;
	/* First and last runnable member. */
	u32 head;
	u32 tail;
	u32 nr_members;
	/* The next vacant place. */
	u32 next_vacant;
	/* Of BeRate's: it has had no deadline yet. */
	u32 is_new;
};

/* A task and its place in the list of its server's runnable members. */
struct lx_member {
	/* LX_NONE without one. */
	u32 server;
	u32 runnable;
	u32 next;
	/* For the code that moves tasks: this one may not be moved. */
	u32 pinned;
};

/* Provided by the file that includes this one. */
LX_INLINE struct lx_member *lx_member(u32 task);

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
	/* Nobody else is there, as a rule. */
	if (s->head == task && s->tail == task) {
		lx_member(task)->runnable = 0;
		s->head = LX_NONE;
		s->tail = LX_NONE;
	} else {
		lx_member_unlink_slow(s, task);
	}
}

/* Members take turns, a budget each. */
LX_INLINE void lx_rotate_members(struct lx_server *s)
{
	u32 first = s->head;

	if (first == s->tail)
		return;
	lx_member_unlink(s, first);
	lx_member_append(s, first);
}

/* The weight that its share is of: what of a raised weight counts already, and of a lowered one no more
 * than that. */
LX_INLINE u32 lx_sharing_weight(const struct lx_server *s)
{
	return s->weight < s->active_weight ? s->weight : s->active_weight;
}

/* Whether the current release is void at a wake-up: the period is over, or no more was used than
 * the share since the release (BEBS section 4.1, rule 4). */
LX_INLINE int lx_release_is_void(const struct lx_server *s, u64 now)
{
	u64 used, since;

	if (now >= s->period_end)
		return 1;
	if (now + s->period < s->period_end)
		return 0;
	used = s->budget - s->remaining_budget;
	since = now + s->period - s->period_end;
	/* As a rule: products of times below 4 s, of which `since` is none above the period. */
	if (!((used | s->budget | s->period) >> 32))
		return used * s->period <= since * s->budget;
	return lx_u128_le(lx_u128_mul(used, s->period), lx_u128_mul(since, s->budget));
}

/* When the share since the release comes to what was used, or now if it has. */
LX_INLINE u64 lx_zero_lag(const struct lx_server *s, u64 now)
{
	u64 unused = lx_mul_div(s->remaining_budget, s->period, lx_max(s->budget, 1), 0);

	return lx_max(s->period_end - lx_min(unused, s->period_end), now);
}

/* From `from` on, up to which the server's share was the old one, it has the share of `period`. */
LX_INLINE void lx_stretch_from(struct lx_server *s, u64 now, u64 from, u64 period)
{
	if (s->period_end > from) {
		u64 rest = s->period_end - from;
		/* A zero-lag time to come was rounded up: what is left needs up to 1 ns more. */
		u64 later = lx_mul_div(rest + (from > now), period, s->period, 1) - rest;

		s->period_end += later;
		s->deadline += later;
	}
	s->period = period;
}

/* The average weighs three times as much as what is new. */
LX_INLINE u64 lx_average(const struct lx_server *s)
{
	return (s->average * 3 + s->execution) / 4;
}

LX_INLINE void lx_sample(struct lx_server *s)
{
	s->average = lx_average(s);
	s->execution = 0;
}

/* Average execution, for the next server; zero when nothing was executed. BeRate would take what was
 * executed last with the next deadline. */
LX_INLINE u64 lx_learnt_average(const struct lx_server *s)
{
	if (s->is_new)
		return 0;
	return s->kind == LX_RATE_BASED && s->head == LX_NONE ? lx_average(s) : s->average;
}

#endif
