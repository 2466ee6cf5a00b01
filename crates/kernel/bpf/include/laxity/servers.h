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
	if (r->sample_per_job && s->execution >= r->max_budget) {
		lx_sample_long_job(s, lx_max(r->max_budget, 1));
		s->compute_bound |= r->slice != LX_NEVER;
	}
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

/* The running task woke this one. */
LX_INLINE void lx_wake_by_running(struct lx_servers *q, u64 now, u32 task)
{
	u32 i = lx_member(task)->server;
	u32 blocked = i != LX_NONE && lx_server(q, i)->state == LX_BLOCKED;

	lx_wake(q, now, task);
	if (blocked)
		lx_server(q, i)->defers = 1;
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

/* Notes until when the running best-effort server goes on although another one has an earlier
 * deadline (crates/cpu/src/servers/protection.rs). */
LX_GLOBAL_FN u32 lx_protect_running(struct lx_servers *q __arg_nonnull, u64 now)
{
	u64 until = q->turn_began_at + q->rules.wakeup_granularity;
	u32 first = lx_heap_top(&q->ready);
	const struct lx_server *s;

	if (q->reserved_bw || q->running == LX_NONE || first == q->running || now >= until)
		return 0;
	s = lx_server(q, first);
	if (s->defers || s->budget > q->rules.wakeup_granularity / 8)
		q->protected_until = until;
	return 0;
}

/* Server i, which did not run before, is the one to run from now on. */
LX_INLINE void lx_begin_turn(struct lx_servers *q, u64 now, u32 i)
{
	q->turn_began_at = now;
	lx_server(q, i)->defers = 0;
}

/* Earliest deadline. Ties go to the server that is running; among BeRate servers, to the one that
 * ran last. */
LX_INLINE u32 lx_pick_ready(struct lx_servers *q, u64 now)
{
	u64 least = lx_heap_min_key(&q->ready);
	u32 *running = least & LX_RATE_BASED_KEY ? &q->running_rate_based : &q->running;

	if (*running == LX_NONE || lx_heap_key(&q->ready, *running) != least) {
		*running = lx_heap_top(&q->ready);
		lx_begin_turn(q, now, *running);
	}
	return *running;
}

/* Picks among ready reservations alone, with ties as in lx_pick_ready; LX_NONE if none is ready. Used
 * while a higher class leaves only a part of the CPU, where earliest deadlines would not isolate
 * reservations from best effort, and from there on until no reservation is ready: then best effort
 * that was passed over forgets what it is behind, or it would demand that from later jobs
 * (crates/cpu/src/servers/precedence.rs). Takes time in proportion to the ready servers. */
LX_GLOBAL_FN u32 lx_pick_reserved(struct lx_servers *q __arg_nonnull, u64 now)
{
	const struct lx_heap *h = &q->ready;
	u64 key = LX_NEVER, seq = LX_NEVER;
	u32 i, first = LX_NONE;

	for (i = lx_zero; i < h->count && can_loop; i += 1 + lx_zero) {
		const struct lx_node *n = lx_at(h->node, i);
		/* Sequence numbers begin at one. */
		u64 turn = n->entry == q->running ? 0 : n->seq;

		if (lx_server(q, n->entry)->kind != LX_HARD ||
		    n->key > key || (n->key == key && turn > seq))
			continue;
		first = n->entry;
		key = n->key;
		seq = turn;
	}
	if (first == LX_NONE) {
		if (q->passed_over)
			lx_reset_lag(q, now);
		q->passed_over = 0;
		return first;
	}
	q->passed_over |= lx_server(q, lx_heap_top(h))->kind == LX_BEST_EFFORT;
	q->protected_until = 0;
	if (first != q->running) {
		q->running = first;
		lx_begin_turn(q, now, first);
	}
	return first;
}

/* A preempted task of server i goes on without a pick: its turn begins. Returns true if that changed
 * anything. */
LX_INLINE int lx_resume(struct lx_servers *q, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (q->running == i || s->state != LX_READY || s->kind != LX_BEST_EFFORT)
		return 0;
	q->running = i;
	q->turn_began_at = now;
	s->defers = 0;
	return 1;
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
	if (!q->ready.count)
		return LX_NONE;
	q->protected_until = 0;
	if (q->rules.wakeup_granularity) {
		lx_protect_running(q, now);
		if (q->protected_until)
			return q->running;
	}
	return lx_pick_ready(q, now);
}

#endif
