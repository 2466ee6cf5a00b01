/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Checks the invariant behind hard deadlines after every step, as crates/cpu/src/servers/promises
 * does in Rust, where the proof is. A promise is a server's share at each future instant. It is
 * computed from execution, independently of budgets, periods and their ends, which are what is
 * checked.
 *
 * Includes laxity/servers.h. Call promises_expect() before each step and promises_keep() after it.
 * A violation is printed to standard error with the clause it violates, and ends the program.
 */
#ifndef PROMISES_H
#define PROMISES_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <laxity/types.h>

struct lx_server;
static void promise_begins(u32 i);
static void promise_executes(const struct lx_server *s, u64 ran);
static void promise_competes(u32 i, u64 at);
static void promises_reset_lag(u64 now);
static void promises_advance(u64 now);
static void promises_move_back(u64 now, u64 excess);

#define LX_TEST_CREATED(i) promise_begins(i)
#define LX_TEST_EXECUTED(s, ran) promise_executes(s, ran)
#define LX_TEST_READY(i, at) promise_competes(i, at)
#define LX_TEST_LAG_RESET(now) promises_reset_lag(now)
#define LX_TEST_RELEASES_ADVANCED(now) promises_advance(now)
#define LX_TEST_DEADLINES_REANCHORED(now, excess) promises_move_back(now, excess)

#include <laxity/policy_change.h>

/* A share of the CPU in units of 2^-56, and work in units of 2^-56 ns. */
typedef unsigned __int128 fine;

#define ALL ((fine)1 << 56)
/* Rounding moves instants by at most this, in ns. */
#define ROUNDING 8
/* Rounding reduces the budget of a period by at most this, in ns. */
#define ROUNDED 2
/* Shorter steps are artefacts of rounding. */
#define SHORTEST 200
#define STEPS 128

struct step {
	u64 until;
	fine share;
};

/* A promise from some instant on: steps, of which any may be in the past, and the share after
 * them. */
struct tail {
	struct step step[3];
	fine rest;
};

struct promise {
	int there;
	/* The server is ready, with this deadline. */
	int due;
	u64 deadline;
	/* Shares with the ends of their intervals, in order; the share after them; time up to which
	 * all of it is used, and the work executed beyond. */
	u32 steps;
	struct step step[STEPS];
	fine rest;
	u64 zero_lag;
	fine carry;
};

static struct lx_servers *promised;
static struct promise promises[LX_MAX_SERVERS];
/* A promise changed since the last check of the sum; the driver violated its own contract, so that
 * nothing is checked any more. */
static int promises_changed, promises_void;
static u64 promises_last, promises_unreported;
/* Number of this system in the input. */
static u64 promises_system;

static void broken(const char *part, u32 i, u64 now, const char *how, ...)
{
	va_list values;

	fprintf(stderr, "system %llu: promises: %s: server %u, now %llu: ", promises_system, part,
		i, now);
	va_start(values, how);
	vfprintf(stderr, how, values);
	va_end(values);
	fprintf(stderr, "\n");
	fflush(NULL);
	abort();
}

static fine promise_at(const struct promise *p, u64 t)
{
	u32 k;

	for (k = 0; k < p->steps; k++)
		if (p->step[k].until > t)
			return p->step[k].share;
	return p->rest;
}

static fine tail_at(const struct tail *to, u64 t)
{
	u32 k;

	for (k = 0; k < 3; k++)
		if (to->step[k].until > t)
			return to->step[k].share;
	return to->rest;
}

static void promise_push(struct promise *p, u64 until, fine share)
{
	if (p->steps == STEPS) {
		fprintf(stderr, "a promise of more than %u steps\n", STEPS);
		abort();
	}
	p->step[p->steps++] = (struct step){ until, share };
}

static void promise_extend(struct promise *p, u64 from, const struct tail *to)
{
	u64 last = from;
	u32 k;

	for (k = 0; k < 3; k++)
		if (to->step[k].until > last) {
			last = to->step[k].until;
			promise_push(p, last, to->step[k].share);
		}
	p->rest = to->rest;
}

/* Changes the promise from `from` on. Returns the first instant at which it differs, or
 * LX_NEVER. */
static u64 promise_change(struct promise *p, u64 from, const struct tail *to)
{
	u64 at = promise_at(p, from) != tail_at(to, from) ? from : LX_NEVER;
	u32 k, kept = 0;
	fine before;

	for (k = 0; k < p->steps + 3; k++) {
		u64 t = k < p->steps ? p->step[k].until : to->step[k - p->steps].until;

		if (t > from && t < at && promise_at(p, t) != tail_at(to, t))
			at = t;
	}
	if (at == LX_NEVER)
		return at;
	before = promise_at(p, from ? from - 1 : 0);
	while (kept < p->steps && p->step[kept].until < from)
		kept++;
	p->steps = kept;
	promise_push(p, from, before);
	promise_extend(p, from, to);
	return at;
}

/* Drops steps before `t`. */
static void promise_forget(struct promise *p, u64 t)
{
	u32 k = 0;

	while (k < p->steps && p->step[k].until <= t)
		k++;
	memmove(p->step, p->step + k, (p->steps - k) * sizeof(*p->step));
	p->steps -= k;
}

/* No execution before `t` was ahead of the promise. */
static void promise_waited(struct promise *p, u64 t)
{
	if (t > p->zero_lag) {
		p->zero_lag = t;
		p->carry = 0;
	}
}

/* Work that the promise gives from `from` to `until`. */
static u64 promise_work_between(const struct promise *p, u64 from, u64 until)
{
	fine sum = 0;
	u32 k;

	for (k = 0; k <= p->steps; k++) {
		u64 end = lx_min(k < p->steps ? p->step[k].until : LX_NEVER, until);

		if (end <= from)
			continue;
		sum += (fine)(end - from) * (k < p->steps ? p->step[k].share : p->rest);
		from = end;
	}
	return sum >> 56;
}

/* Time at which this much more work uses the promise up, and the work beyond it. */
static u64 promise_reach(const struct promise *p, u64 more, fine *beyond)
{
	fine need = p->carry + ((fine)more << 56);
	u64 t = p->zero_lag;
	u32 k;

	for (k = 0; k < p->steps; k++) {
		u64 until = p->step[k].until;
		fine share = p->step[k].share, room;

		if (until <= t)
			continue;
		room = (fine)(until - t) * share;
		if (need < room) {
			*beyond = need % share;
			return t + (u64)(need / share);
		}
		t = until;
		need -= room;
	}
	*beyond = 0;
	if (!need)
		return t;
	if (!p->rest || need / p->rest > LX_NEVER - t)
		return LX_NEVER;
	*beyond = need % p->rest;
	return t + (u64)(need / p->rest);
}

/* Time at which the promise provides `left` beyond the used time. */
static u64 promise_gives(const struct promise *p, u64 left)
{
	fine beyond;
	u64 t = promise_reach(p, left, &beyond);

	return t + (beyond > 0 && t != LX_NEVER);
}

/* Time in which the least share around the zero-lag time provides this work. */
static u64 promise_time_of(const struct promise *p, u64 work)
{
	fine about[] = { promise_at(p, p->zero_lag ? p->zero_lag - 1 : 0),
			 promise_at(p, p->zero_lag), p->rest };
	fine least = ALL, time;
	u32 k;

	for (k = 0; k < 3; k++)
		if (about[k] && about[k] < least)
			least = about[k];
	time = ((fine)work << 56) / least;
	return time > LX_RANGE ? LX_RANGE : (u64)time;
}

/* --- Events of servers --- */

static void promise_begins(u32 i)
{
	promises_changed |= promises[i].there;
	promises[i].there = 0;
}

static void promise_executes(const struct lx_server *s, u64 ran)
{
	struct promise *p = &promises[s - promised->server];

	if (s->kind == LX_RATE_BASED || !ran)
		return;
	promises_void |= ran > s->remaining_budget || ran > promises_unreported;
	promises_unreported -= lx_min(ran, promises_unreported);
	if (p->there)
		p->zero_lag = promise_reach(p, lx_min(ran, s->remaining_budget), &p->carry);
}

static void promise_competes(u32 i, u64 at)
{
	promise_waited(&promises[i], at);
	promises[i].due = 0;
}

/* Next release of an expired server. */
static u64 released_at(const struct lx_servers *q, u32 i)
{
	if (lx_heap_contains(&q->expired, i))
		return lx_heap_key(&q->expired, i) - q->release_advance;
	return lx_heap_contains(&q->suspended, i) ? lx_heap_key(&q->suspended, i) : LX_NEVER;
}

/* The promise according to the server's state, and the instant from which on it holds. */
static u64 promise_tail(u64 now, u32 i, struct tail *to)
{
	const struct lx_servers *q = promised;
	const struct lx_server *s = &q->server[i];
	const struct promise *p = &promises[i];
	u64 used = lx_max(p->zero_lag, now), from;
	fine share, limit;

	memset(to, 0, sizeof(*to));
	if (s->state == LX_LEAVING) {
		from = lx_heap_contains(&q->reclaims, i) ? lx_max(s->reclaim_at, now) : now;
		return p->there ? lx_min(from, used) : now;
	}
	if (s->kind == LX_HARD) {
		to->rest = (((fine)s->declared_budget << 56) + s->declared_period - 1) /
			   s->declared_period;
		return lx_max(s->period_end, now);
	}
	from = !s->period ? now : lx_zero_lag(s, now);
	if (s->state == LX_EXPIRED)
		from = lx_max(released_at(q, i), now);
	if (s->active_weight) {
		/* A server that does not compete executes nothing before that. */
		to->step[0].until = from;
		if (s->state != LX_EXPIRED && s->period) {
			to->step[1].until = s->period_end;
			to->step[1].share = ((fine)s->budget << 56) / s->period;
		}
		share = ((fine)q->bandwidth.best_effort_bw << 16) * lx_sharing_weight(s) /
			lx_max(q->bandwidth.total_weight, 1);
		limit = (fine)s->limited_rate << 16;
		to->step[2].until = s->limited_until;
		to->step[2].share = limit < share ? limit : share;
		to->rest = share;
	}
	return s->state != LX_READY && p->there ? lx_min(from, used) : from;
}

/* --- The invariant --- */

static int are_checked(const struct lx_servers *q)
{
	return !promises_void && q->bandwidth.best_effort_bw >= LX_MIN_SHARE &&
	       q->bandwidth.total_weight < 1 << 20;
}

/* 4. Clean instants. */
static void assert_clean(u64 now)
{
	u32 i;

	for (i = 0; are_checked(promised) && i < promised->nr_used; i++)
		if (promised->server[i].state == LX_READY && promised->server[i].kind == LX_HARD)
			broken("clean instants", i, now, "is pending while promises are set again");
}

static void promises_restart(u64 now, int expired)
{
	u32 i;

	assert_clean(now);
	for (i = 0; i < promised->nr_used; i++) {
		const struct lx_server *s = &promised->server[i];
		struct promise *p = &promises[i];
		struct tail to;
		u64 from;

		if (s->kind != LX_BEST_EFFORT || s->state == LX_VACANT || s->state == LX_LEAVING ||
		    !p->there)
			continue;
		if (expired ? s->state != LX_EXPIRED : !s->active_weight)
			continue;
		from = promise_tail(now, i, &to);
		if (s->state != LX_READY) {
			from = now;
			p->due = 0;
		}
		p->steps = 0;
		promise_push(p, from, 0);
		promise_extend(p, from, &to);
		p->zero_lag = from;
		p->carry = 0;
	}
	promises_changed = 1;
}

static void promises_reset_lag(u64 now)
{
	promises_restart(now, 0);
}

static void promises_advance(u64 now)
{
	promises_restart(now, 1);
}

static void promises_move_back(u64 now, u64 excess)
{
	u32 i, k;

	assert_clean(now);
	for (i = 0; i < promised->nr_used; i++) {
		const struct lx_server *s = &promised->server[i];
		struct promise *p = &promises[i];

		if (s->kind == LX_HARD || s->state == LX_VACANT || !p->there)
			continue;
		for (k = 0; k < p->steps; k++)
			p->step[k].until -= lx_min(p->step[k].until, excess);
		p->zero_lag -= lx_min(p->zero_lag, excess);
		if (s->state == LX_READY) {
			promise_waited(p, now);
			p->due = 1;
			p->deadline = s->deadline;
		}
		if (are_checked(promised) && released_at(promised, i) < now)
			broken("clean instants", i, now, "is to be released at %llu",
			       released_at(promised, i));
	}
	promises_changed = 1;
}

static void promise_keep(u64 now, u32 i)
{
	const struct lx_server *s = &promised->server[i];
	struct promise *p = &promises[i];
	struct tail to;
	u64 from, at, tolerance, gives;

	if (s->state == LX_VACANT || s->kind == LX_RATE_BASED) {
		promise_begins(i);
		return;
	}
	from = promise_tail(now, i, &to);
	if (!p->there) {
		memset(p, 0, sizeof(*p));
		p->there = 1;
		if (from > now)
			promise_push(p, from, 0);
		p->zero_lag = now;
	}
	promise_forget(p, lx_min(now, p->zero_lag));
	tolerance = ROUNDING + promise_time_of(p, ROUNDED);
	at = promise_change(p, from, &to);
	promises_changed |= at != LX_NEVER;
	if (at != LX_NEVER && at + tolerance < p->zero_lag)
		broken("only later", i, now, "changes at %llu, before its zero-lag time %llu", at,
		       p->zero_lag);
	if (s->state != LX_READY)
		p->due = 0;
	/* While its share is limited to zero, a server may be released before its zero-lag time,
	 * with a deadline after it. */
	if (s->state == LX_EXPIRED &&
	    promise_work_between(p, released_at(promised, i) + ROUNDING, p->zero_lag) > ROUNDED)
		broken("keys", i, now, "is released at %llu, before its zero-lag time %llu",
		       released_at(promised, i), p->zero_lag);
	if (s->state != LX_READY)
		return;
	gives = promise_gives(p, s->remaining_budget > ROUNDED ? s->remaining_budget - ROUNDED : 0);
	if (s->deadline + ROUNDING + ((gives - p->zero_lag) >> 28) < gives)
		broken("keys", i, now, "is due at %llu, before its promise gives %llu: %llu",
		       s->deadline, s->remaining_budget, gives);
	if (p->due && s->deadline < p->deadline)
		broken("keys", i, now, "its deadline moves back from %llu to %llu", p->deadline,
		       s->deadline);
	p->due = 1;
	p->deadline = s->deadline;
}

/* Returns true if a step ends soon after `t`. */
static int is_short(u64 t)
{
	u32 i, k;

	for (i = 0; i < promised->nr_used; i++)
		for (k = 0; promises[i].there && k < promises[i].steps; k++)
			if (promises[i].step[k].until > t &&
			    promises[i].step[k].until - t < SHORTEST)
				return 1;
	return 0;
}

static void assert_sum_at(u64 now, u64 t)
{
	fine sum = 0, rows = 2;
	u32 i;

	for (i = 0; i < promised->nr_used; i++)
		if (promises[i].there) {
			sum += promise_at(&promises[i], t);
			rows++;
		}
	/* Shares and limits are rounded to 2^-40. */
	if (sum > ALL + (rows << 17) && !is_short(t))
		broken("sum", promised->nr_used, now, "promises add up to %llu per million at %llu",
		       (u64)(sum * 1000000 / ALL), t);
}

/* Called before a step. The invariant holds only if the driver keeps its contract: time does not
 * decrease, timers are not late, and only picked tasks execute, within their limits. */
static void promises_expect(struct lx_servers *q, u64 now)
{
	promised = q;
	if (now > promises_last)
		promises_unreported = now - promises_last;
	promises_void |= now < promises_last || now > LX_RANGE || lx_next_timer(q) < now;
	promises_last = now;
}

/* Updates the promises after a step, and checks the invariant. */
static void promises_keep(u64 now)
{
	u32 i, k;

	if (!are_checked(promised))
		return;
	for (i = 0; i < promised->nr_used; i++)
		promise_keep(now, i);
	if (!promises_changed)
		return;
	promises_changed = 0;
	assert_sum_at(now, now);
	for (i = 0; i < promised->nr_used; i++)
		for (k = 0; promises[i].there && k < promises[i].steps; k++)
			if (promises[i].step[k].until > now)
				assert_sum_at(now, promises[i].step[k].until);
}

/* Starts another system. */
static void promises_start(struct lx_servers *q)
{
	u32 i;

	for (i = 0; promised && i < LX_MAX_SERVERS && (i < promised->nr_used || promises[i].there);
	     i++)
		promises[i].there = 0;
	promised = q;
	promises_changed = 0;
	promises_void = 0;
	promises_last = 0;
	promises_unreported = 0;
	promises_system++;
}

#endif
