/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * EDF over servers on one CPU: the integer part of crates/cpu/src/servers, where it is proved why
 * no deadline of a reservation is missed. Bandwidth changes hands at zero-lag times; deadlines of
 * reservations are their periods.
 *
 * Nothing here knows of a kernel: time is an argument, tasks are numbers. In BPF all of it runs
 * under the lock of the CPU's servers.
 */
#ifndef LAXITY_SERVERS_H
#define LAXITY_SERVERS_H

#include "bandwidth.h"
#include "server.h"

/* What policies made of servers differ in (rules.rs). */
struct lx_rules {
	/* Budgets: the average before anything was sampled, bounds, and in thousandths of the
	 * average the margin and the drift below which it is not taken over. */
	u64 first;
	u64 least;
	u64 most;
	u64 margin;
	u64 lazy;
	/* Budgets are cut so that no period is longer. Not a rule of the papers: the kernel takes
	 * a scheduler away that lets a task wait for too long. LX_NEVER for no limit. */
	u64 longest;
	/* How far deadlines may run ahead; LX_NEVER for no limit. */
	u64 ahead;
	/* Of BeRate, zero for the others: the quantum of the least weight. */
	u64 quantum;
	/* After sleeping for how long a task is not part of the load. */
	u64 lapse;
	/* A budget used up comes back at once (CBS) instead of at the next release (BEBS). */
	u32 recharge;
	/* Idle time advances releases, under the deadlines they would have had. */
	u32 slack;
	/* A sample is what is executed from wake-up to sleep, instead of until blocked or expired. */
	u32 job;
	/* Servers that sleep do not divide the bandwidth. */
	u32 unblocked;
};

/* Places that best effort leaves to reservations. */
#define LX_SPARED 256

/* So much work takes so long with a share. */
struct lx_round {
	u64 work;
	u64 share;
	u64 time;
};

struct lx_servers {
	struct lx_rules rules;
	struct lx_bandwidth bandwidth;
	/* What reservations need together. */
	u64 need;
	/* By how much idle time has advanced all releases so far. */
	u64 advanced;
	/* Sum of the quanta of BeRate's tasks, and how long a sum took that was asked for last. */
	u64 load;
	struct lx_round round;
	/* When all shares given away are free. */
	u64 settled;
	/* When best effort's shares last rose: no release of theirs is dated back beyond it. */
	u64 risen;
	/* When it was last looked how far deadlines ran ahead. */
	u64 looked;
	/* Of those who became ready, and of those who began to wait. */
	u64 turns;
	u64 waits;
	/* Chosen last, if it still competes; and of BeRate's. */
	u32 running;
	u32 running_rated;
	/* Places ever used, the first vacant one, those in use. */
	u32 used;
	u32 vacant;
	u32 living;
	u32 actives;
	u32 leaving;
	u32 padding;
	/* Those that count in the load and have not left. */
	u32 active[LX_SERVERS];
	struct lx_heap ready;
	/* By next release plus `advanced` as it was then. */
	struct lx_heap expired;
	/* Reservations that wait for their next release. */
	struct lx_heap suspended;
	/* Shares that come back later. */
	struct lx_heap returns;
	struct lx_server server[LX_SERVERS];
	/* Shared ones that have left, and whose shares come back later. */
	u32 gone[LX_SERVERS];
	/* Periods of reservations, whether these are still there or not, in which what was promised came after
	 * the end, and by how much at most. */
	u64 late;
	u64 latest;
};

LX_INLINE struct lx_server *lx_server(struct lx_servers *q, u32 s)
{
	return lx_at(q->server, s);
}

LX_INLINE void lx_servers_start(struct lx_servers *q, const struct lx_rules *rules)
{
	q->rules = *rules;
	q->running = LX_NONE;
	q->running_rated = LX_NONE;
	q->vacant = LX_NONE;
	lx_bandwidth_set(&q->bandwidth, LX_ONE, 0);
}

/* What tests follow beside the servers (tests/headers/promises.h); nothing elsewhere. */
#ifndef LX_SERVER_BEGINS
#define LX_SERVER_BEGINS(i) ((void)0)
#define LX_SERVER_EXECUTES(s, ran) ((void)0)
#define LX_SERVER_COMPETES(i, at) ((void)(at))
#define LX_SERVERS_BEGIN_ANEW(now) ((void)0)
#define LX_SERVERS_ADVANCE(now) ((void)0)
#define LX_SERVERS_MOVE_BACK(now, excess) ((void)0)
#endif

#include "returns.h"
#include "berate.h"
#include "transition.h"

/* The average that the next budget is made of. */
LX_INLINE u64 lx_basis(const struct lx_rules *r, const struct lx_server *s)
{
	u64 used = s->average_used;
	u64 drift = (s->average > used ? s->average - used : used - s->average) * 1000;

	return !used || drift > used * r->lazy ? s->average : used;
}

/* The budget that an average makes (rules.rs, `Adaptation::budget`). */
LX_INLINE u64 lx_budget(const struct lx_rules *r, u64 average)
{
	return lx_min(lx_max(average + average * r->margin / 1000, r->least), r->most);
}

/* A new period begins at `release`; `original` is when it would have begun without slack. */
LX_CALLED u32 lx_renew(struct lx_servers *q LX_GIVEN, u32 i, u64 release, u64 original)
{
	struct lx_server *s = lx_server(q, i);
	u64 budget = s->declared_budget, period = s->declared_period;

	if (s->kind == LX_SHARED) {
		s->average_used = lx_basis(&q->rules, s);
		budget = lx_budget(&q->rules, s->average_used);
		period = lx_period(&q->bandwidth, budget, s->weight);
		if (period > q->rules.longest) {
			budget = lx_max(lx_mul_div(budget, q->rules.longest, period, 0), 1);
			period = lx_period(&q->bandwidth, budget, s->weight);
		}
		if (release < s->limited_until) {
			/* Waiting for the full share may give the earlier deadline. */
			u64 slower = lx_max(lx_time_for(s->limited_rate, budget), period);

			if (slower < LX_NEVER - release &&
			    release + slower <= s->limited_until + period)
				period = slower;
			else
				release = s->limited_until;
		}
	}
	s->budget = budget;
	s->left = budget;
	s->period = period;
	s->end = release + period;
	s->deadline = (q->rules.slack ? lx_max(original, release) : release) + period;
	lx_turn(s);
	return 0;
}

/* A server competes from `at` on. */
LX_INLINE void lx_enter_ready(struct lx_servers *q, u64 at, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (s->state != LX_READY) {
		s->state = LX_READY;
		if (!q->rules.job)
			s->execution = 0;
		LX_SERVER_COMPETES(i, at);
	}
	if (lx_heap_has(&q->ready, i))
		lx_heap_rekey(&q->ready, i, lx_key(s));
	else
		lx_heap_enter(&q->ready, i, lx_key(s), ++q->turns);
}

LX_INLINE void lx_leave_ready(struct lx_servers *q, u32 i)
{
	lx_heap_remove(&q->ready, i);
	if (q->running == i)
		q->running = LX_NONE;
	if (q->running_rated == i)
		q->running_rated = LX_NONE;
}

LX_INLINE void lx_enter_expired(struct lx_servers *q, u32 i, u64 release)
{
	struct lx_server *s = lx_server(q, i);

	lx_leave_ready(q, i);
	s->state = LX_EXPIRED;
	s->original = release;
	if (s->kind == LX_HARD)
		lx_heap_set(&q->suspended, i, release, ++q->waits);
	else
		lx_heap_set(&q->expired, i, release + q->advanced, ++q->waits);
}

/* What was promised comes later than its period's end, in so many periods. */
LX_INLINE void lx_is_late_by(struct lx_servers *q, struct lx_server *s, u64 periods, u64 by)
{
	s->late += periods;
	s->latest = lx_max(s->latest, by);
	q->late += periods;
	q->latest = lx_max(q->latest, by);
}

/* The release after one that would have been at `at`: a reservation that has lost a whole period since
 * starts again from now, and a share that rose since counts from then on (crates/cpu/src/servers/mod.rs). */
LX_INLINE u64 lx_next_release(struct lx_servers *q, struct lx_server *s, u64 at, u64 now)
{
	u64 lost = now - lx_min(at, now);

	if (s->kind == LX_SHARED)
		return lx_max(at, lx_min(lx_max(q->risen, s->risen), now));
	if (s->kind != LX_HARD || lost < s->period)
		return at;
	lx_is_late_by(q, s, lost / lx_max(s->period, 1), lost);
	return now;
}

/* The budget is used up. */
LX_CALLED u32 lx_exhaust(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);
	u64 end = s->end, deadline = s->deadline;

	if (s->kind == LX_RATED) {
		lx_rate_again(q, now, i);
		lx_enter_ready(q, now, i);
		return 0;
	}
	if (s->kind == LX_HARD && now > deadline)
		lx_is_late_by(q, s, 1, now - deadline);
	if (!q->rules.job)
		lx_sample(s);
	if ((s->kind == LX_HARD || !q->rules.recharge) && end > now) {
		lx_enter_expired(q, i, end);
		return 0;
	}
	/* A period that is over already is followed by the one that starts at its end, not now, and
	 * must not be due before it. */
	end = lx_next_release(q, s, end, now);
	lx_renew(q, i, end, end);
	s->deadline = lx_max(s->deadline, deadline);
	lx_enter_ready(q, now, i);
	return 0;
}

/* A server has something to run again. */
LX_CALLED u32 lx_activate(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (s->kind == LX_RATED) {
		lx_load(q, i);
		lx_rate(q, i, now);
		lx_enter_ready(q, now, i);
		return 0;
	}
	if (s->kind == LX_SHARED && s->counted < s->weight)
		lx_count(q, now, i);
	if (q->rules.unblocked)
		lx_will_not_return(q, i);
	s->execution = 0;
	if (lx_starts_afresh(s, now)) {
		lx_renew(q, i, now, now);
		lx_enter_ready(q, now, i);
	} else if (!s->left && (s->kind == LX_HARD || !q->rules.recharge)) {
		lx_enter_expired(q, i, s->end);
	} else {
		/* It went to sleep just as its budget was used up. It is recharged as if it had not slept,
		 * or it would wait for a period's end beside idle time. */
		if (!s->left)
			lx_renew(q, i, s->end, s->end);
		lx_enter_ready(q, now, i);
	}
	/* Its weight was lowered, and it slept before that one was all that counts. */
	if (q->rules.unblocked && s->kind == LX_SHARED && s->counted > s->weight)
		lx_uncount(q, now, now, i);
	return 0;
}

/* Nothing of a server is runnable any more. */
LX_CALLED u32 lx_deactivate(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (s->kind == LX_RATED) {
		lx_rate_sleeps(q, now, i);
	} else if (s->state == LX_READY) {
		lx_sample(s);
		if (s->kind == LX_HARD && now > s->deadline)
			lx_is_late_by(q, s, 1, now - s->deadline);
	}
	if (s->state == LX_READY) {
		lx_leave_ready(q, i);
	} else {
		lx_heap_remove(&q->expired, i);
		lx_heap_remove(&q->suspended, i);
	}
	s->state = LX_BLOCKED;
	if (q->rules.unblocked && s->kind == LX_SHARED)
		lx_uncount(q, now, now + q->rules.lapse, i);
	return 0;
}

LX_CALLED u32 lx_release_due(struct lx_servers *q LX_GIVEN, u64 now)
{
	u32 i;

	while (lx_heap_least(&q->suspended) <= now && lx_may_loop) {
		u64 at = lx_heap_least(&q->suspended);

		i = lx_heap_first(&q->suspended);
		lx_heap_remove(&q->suspended, i);
		at = lx_next_release(q, lx_server(q, i), at, now);
		lx_renew(q, i, at, at);
		lx_enter_ready(q, at, i);
	}
	while (q->expired.count && lx_may_loop) {
		u64 at = lx_heap_least(&q->expired) - q->advanced;

		if (at > now)
			break;
		i = lx_heap_first(&q->expired);
		lx_heap_remove(&q->expired, i);
		at = lx_next_release(q, lx_server(q, i), at, now);
		lx_renew(q, i, at, lx_server(q, i)->original);
		lx_enter_ready(q, at, i);
	}
	return 0;
}

#include "take.h"

/* A job longer than the greatest budget is sampled as several of that length. */
LX_CALLED u32 lx_cut(struct lx_server *s LX_GIVEN, u64 most)
{
	u64 rest = s->execution % most;
	u64 times = lx_min(s->execution / most, 64);

	while (times && lx_may_loop) {
		s->execution = most;
		lx_sample(s);
		times--;
	}
	s->execution = rest;
	return 0;
}

/* Books execution of a server. */
LX_INLINE void lx_account(const struct lx_rules *r, struct lx_server *s, u64 ran)
{
	LX_SERVER_EXECUTES(s, ran);
	s->left -= lx_min(ran, s->left);
	s->execution += ran;
	if (r->job && s->execution >= r->most)
		lx_cut(s, lx_max(r->most, 1));
}

/* When all that is pending ran ahead of its share by more than the limit, all deadlines move back
 * by the excess of the one least ahead (crates/cpu/src/servers/reanchor.rs). */
LX_CALLED u32 lx_move_back(struct lx_servers *q LX_GIVEN, u64 now)
{
	u64 excess = LX_NEVER, latest = now + q->rules.ahead;
	u32 i;

	if (!q->ready.count || lx_zero_lag(lx_server(q, lx_heap_first(&q->ready)), now) <= latest)
		return 0;
	q->looked = now;
	for (i = lx_zero; i < q->ready.count && lx_may_loop; i += 1 + lx_zero) {
		const struct lx_server *s = lx_server(q, lx_at(q->ready.node, i)->entry);
		u64 zero_lag = lx_zero_lag(s, now);

		if (s->kind == LX_HARD)
			return 0;
		excess = lx_min(excess, zero_lag > latest ? zero_lag - latest : 0);
	}
	if (!excess)
		return 0;
	for (i = lx_zero; i < q->used && lx_may_loop; i += 1 + lx_zero) {
		struct lx_server *s = lx_server(q, i);

		if (s->kind == LX_HARD || s->state == LX_VACANT)
			continue;
		s->end -= lx_min(s->end, excess);
		s->deadline -= lx_min(s->deadline, excess);
		lx_heap_rekey(&q->ready, i, s->deadline);
		if (s->state != LX_EXPIRED)
			continue;
		/* Its next release moves with the end of its period, or the share would be used twice. */
		s->end = lx_max(s->end, now);
		s->original = s->end;
		lx_heap_rekey(&q->expired, i, s->end + q->advanced);
	}
	LX_SERVERS_MOVE_BACK(now, excess);
	return 0;
}

LX_INLINE void lx_limit_ahead(struct lx_servers *q, u64 now)
{
	if (!q->rules.quantum && q->rules.ahead != LX_NEVER &&
	    now >= q->looked + q->rules.ahead / 16)
		lx_move_back(q, now);
}

/* --- What is reported, in the words of crates/cpu/src/policy.rs --- */

/* A server of best effort that has executed nothing begins, asleep. */
LX_CALLED u32 lx_begin(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	if (q->rules.quantum) {
		s->kind = LX_RATED;
		s->fresh = 1;
		s->average = lx_quantum(&q->rules, s->weight);
		s->budget = s->average;
		lx_load(q, i);
		lx_rate_sleeps(q, now, i);
		return 0;
	}
	s->kind = LX_SHARED;
	s->fresh = 0;
	s->average = q->rules.first;
	if (!q->rules.unblocked)
		lx_count(q, now, i);
	return 0;
}

/* A server without members; LX_NONE when there is no place. A reservation is taken from best effort
 * now and first released when it is free; whether it fits was asked before. */
LX_CALLED u32 lx_found(struct lx_servers *q LX_GIVEN, u64 now, u32 weight, u64 budget, u64 period)
{
	struct lx_server *s;
	u32 i;

	lx_catch_up(q, now);
	if (!period && q->living >= LX_SERVERS - LX_SPARED)
		return LX_NONE;
	i = q->vacant;
	if (i != LX_NONE)
		q->vacant = lx_server(q, i)->next;
	else if (q->used < LX_SERVERS)
		i = q->used++;
	else
		return LX_NONE;
	q->living++;
	LX_SERVER_BEGINS(i);
	s = lx_server(q, i);
	__builtin_memset(s, 0, sizeof(*s));
	s->state = LX_BLOCKED;
	s->head = LX_NONE;
	s->tail = LX_NONE;
	s->weight = weight;
	if (!period) {
		lx_begin(q, now, i);
		return i;
	}
	s->kind = LX_HARD;
	s->declared_budget = budget;
	s->declared_period = period;
	lx_reserve(q, s, lx_share(budget, period, 1));
	s->end = lx_take(q, now);
	if (s->end <= now)
		s->end = 0;
	return i;
}

LX_INLINE void lx_attach(struct lx_servers *q, u32 i, u32 task)
{
	struct lx_member *m = lx_member(task);

	m->server = i;
	m->runnable = 0;
	m->next = LX_NONE;
	lx_server(q, i)->members++;
}

/* A server goes when its last member does. */
LX_CALLED u32 lx_dissolve(struct lx_servers *q LX_GIVEN, u64 now, u32 i)
{
	struct lx_server *s = lx_server(q, i);

	s->state = LX_LEAVING;
	lx_unlist(q, 0, s);
	if (s->kind == LX_SHARED)
		lx_list(q, 1, s, i);
	lx_uncount(q, now, now, i);
	return 0;
}

/* A task is gone, after running for `ran` since the last report. */
LX_CALLED u32 lx_leave(struct lx_servers *q LX_GIVEN, u64 now, u32 task, u64 ran)
{
	struct lx_member *m = lx_member(task);
	struct lx_server *s;
	u32 i = m->server;

	if (i == LX_NONE)
		return 0;
	s = lx_server(q, i);
	lx_catch_up(q, now);
	lx_account(&q->rules, s, ran);
	if (m->runnable)
		lx_unlink(s, task);
	m->server = LX_NONE;
	s->members--;
	if (s->head == LX_NONE && s->state != LX_BLOCKED)
		lx_deactivate(q, now, i);
	if (!s->members)
		lx_dissolve(q, now, i);
	if (s->state == LX_READY && !s->left)
		lx_exhaust(q, now, i);
	return 0;
}

LX_CALLED u32 lx_wake(struct lx_servers *q LX_GIVEN, u64 now, u32 task)
{
	struct lx_member *m = lx_member(task);
	struct lx_server *s;

	if (m->server == LX_NONE || m->runnable)
		return 0;
	s = lx_server(q, m->server);
	lx_catch_up(q, now);
	lx_append(s, task);
	if (s->state == LX_BLOCKED) {
		lx_limit_ahead(q, now);
		lx_activate(q, now, m->server);
	}
	return 0;
}

LX_CALLED u32 lx_block(struct lx_servers *q LX_GIVEN, u64 now, u32 task, u64 ran)
{
	struct lx_member *m = lx_member(task);
	struct lx_server *s;
	u32 i = m->server;

	if (i == LX_NONE)
		return 0;
	s = lx_server(q, i);
	if (ran)
		lx_account(&q->rules, s, ran);
	if (!m->runnable)
		return 0;
	lx_catch_up(q, now);
	if (s->kind == LX_RATED && !s->left)
		lx_exhaust(q, now, i);
	lx_unlink(s, task);
	if (s->head == LX_NONE)
		lx_deactivate(q, now, i);
	else if (s->state == LX_READY && !s->left)
		lx_exhaust(q, now, i);
	return 0;
}

/* Server i was served for `ran`, for any of its members. */
LX_INLINE void lx_served(struct lx_servers *q, struct lx_server *s, u32 i, u64 now, u64 ran)
{
	lx_account(&q->rules, s, ran);
	if (s->state == LX_READY && !s->left) {
		lx_catch_up(q, now);
		lx_exhaust(q, now, i);
	}
}

LX_INLINE void lx_ran(struct lx_servers *q, u64 now, u32 task, u64 ran)
{
	u32 i = lx_member(task)->server;

	if (i != LX_NONE)
		lx_served(q, lx_server(q, i), i, now, ran);
}

LX_INLINE void lx_timer(struct lx_servers *q, u64 now)
{
	lx_catch_up(q, now);
	lx_release_due(q, now);
}

/* When lx_timer wants to be called, at the latest. */
LX_INLINE u64 lx_due(const struct lx_servers *q)
{
	u64 suspended = lx_heap_least(&q->suspended);
	u64 expired = q->expired.count ? lx_heap_least(&q->expired) - q->advanced : LX_NEVER;

	return lx_min(suspended, expired);
}

/* The earliest deadline; among equals the running task goes on, of BeRate's the one that ran last. */
LX_INLINE u32 lx_stays(struct lx_servers *q)
{
	u64 least = lx_heap_least(&q->ready);
	u32 *running = least & LX_BEHIND ? &q->running_rated : &q->running;

	if (*running == LX_NONE || lx_heap_key(&q->ready, *running) != least)
		*running = lx_heap_first(&q->ready);
	return *running;
}

/* Nobody competes: the next release comes now, where idle time may advance it. */
LX_CALLED u32 lx_advance(struct lx_servers *q LX_GIVEN, u64 now)
{
	lx_catch_up(q, now);
	lx_forget_all(q, now);
	if (q->rules.slack && q->expired.count) {
		u64 at = lx_heap_least(&q->expired) - q->advanced;

		q->advanced += at > now ? at - now : 0;
		LX_SERVERS_ADVANCE(now);
		lx_release_due(q, now);
	}
	return 0;
}

/* The server that runs from now on; LX_NONE when there is none. */
LX_INLINE u32 lx_pick(struct lx_servers *q, u64 now)
{
	if (!q->ready.count)
		lx_advance(q, now);
	return q->ready.count ? lx_stays(q) : LX_NONE;
}

#include "change.h"

#endif
