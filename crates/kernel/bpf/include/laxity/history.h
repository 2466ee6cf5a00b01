/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The deadline of Algorithm 1 (Chakraborty, Gries, Thiele, RTAS 2002) per packet: D_n = max over i
 * <= n of r_i + Einv(W_n - P_i), with W_n the work up to packet n, P_i the work before packet i and
 * r_i its release. One monotone queue per linear piece of Einv finds it at constant amortised cost
 * (see crates/link/src/assign/history.rs).
 *
 * Einv has up to LX_MAX_PIECES pieces (w_k, w_k+1] -> (w - c_k) / s_k. Keys r_i s_k - P_i are kept
 * modulo 2^64: only differences are used, and those within a piece are in LX_RANGE, except for
 * packets older than `horizon`, for which the result is known.
 */
#ifndef LAXITY_HISTORY_H
#define LAXITY_HISTORY_H

#include "line.h"

#define LX_MAX_PIECES 16
/* Packets remembered within the last corner. Beyond that the newest two are merged, which only
 * postpones deadlines. */
#define LX_HISTORY_PACKETS 1024

struct lx_piece {
	/* Lower end of the piece, in bytes of work. */
	u64 above;
	/* bit/s. */
	u64 slope;
	/* Value of the line at time 0, in nanobits. */
	s64 intercept;
	/* Time in which the line rises by LX_RANGE, in ns. */
	u64 horizon;
};

struct lx_service {
	struct lx_piece piece[LX_MAX_PIECES];
	/* Work beyond which there is no deadline, in bytes. */
	u64 max_work;
	u32 nr_pieces;
	/* Number of packets remembered minus one; a power of two minus one, below
	 * LX_HISTORY_PACKETS. */
	u32 mask;
};

struct lx_window {
	/* First packet that is too new for this piece. */
	u32 newer;
	/* Ends of the monotone queue in `place`. */
	u32 head, tail;
	u32 place[LX_HISTORY_PACKETS];
};

struct lx_history {
	struct {
		u64 release;
		u64 before;
	} ring[LX_HISTORY_PACKETS];
	struct lx_window window[LX_MAX_PIECES];
	/* The last piece, which packets never leave, and the work before the newest packet on
	 * it. */
	struct lx_line last;
	u64 last_before;
	/* W_n in bytes, and the latest release. */
	u64 work;
	u64 latest;
	/* How much less of W_n was sent. Lowering `work` would move packets back over corners that
	 * they have passed, so it stays until later packets have caught up. */
	u64 debt;
	u32 next;
	/* Length on the wire of a first packet that is not in the history yet, and its release. */
	u32 first;
	/* Bytes on the wire that may replace the history if the next packet gains by it, and their
	 * release. */
	u32 replacement;
	u64 first_release;
	u64 replacement_release;
};

LX_INLINE void lx_history_reset(struct lx_history *h, const struct lx_service *e)
{
	u32 k;

	for (k = lx_zero; k < e->nr_pieces && can_loop; k++) {
		struct lx_window *w = lx_at(h->window, k);

		w->newer = 0;
		w->head = 0;
		w->tail = 0;
	}
	lx_line_reset(&h->last);
	h->last_before = 0;
	h->first = 0;
	h->replacement = 0;
	h->work = 0;
	h->debt = 0;
	h->latest = 0;
	h->next = 0;
}

/* Adds packet `i` to piece k, which is not the last. */
LX_INLINE void lx_window_enter(struct lx_history *h, const struct lx_piece *p, struct lx_window *w,
			       u32 i)
{
	u64 release = lx_at(h->ring, i & (LX_HISTORY_PACKETS - 1))->release;
	u64 before = lx_at(h->ring, i & (LX_HISTORY_PACKETS - 1))->before;

	while (w->tail != w->head && can_loop) {
		u32 back = *lx_at(w->place, (w->tail - 1) & (LX_HISTORY_PACKETS - 1));
		u64 age = release - lx_at(h->ring, back & (LX_HISTORY_PACKETS - 1))->release;
		u64 lead = (before - lx_at(h->ring, back & (LX_HISTORY_PACKETS - 1))->before) *
			   NANOBITS_PER_BYTE;

		/* The previous packet dominates for good, unless this one was released later. */
		if (age <= p->horizon && lead > age * p->slope)
			break;
		w->tail--;
	}
	*lx_at(w->place, w->tail & (LX_HISTORY_PACKETS - 1)) = i;
	w->tail++;
}

LX_INLINE void lx_history_last(struct lx_history *h, const struct lx_piece *p, u64 release,
			       u64 before)
{
	lx_line_enter(&h->last, p->slope, p->horizon, release,
		      (before - h->last_before) * NANOBITS_PER_BYTE);
	h->last_before = before;
}

LX_INLINE void lx_history_remember(struct lx_history *h, const struct lx_service *e, u64 release)
{
	u32 oldest = e->nr_pieces ? lx_at(h->window, e->nr_pieces - 1)->newer : h->next;
	u32 newest, k;

	h->latest = lx_max(h->latest, release);
	if (h->next - oldest <= e->mask) {
		lx_at(h->ring, h->next & (LX_HISTORY_PACKETS - 1))->release = release;
		lx_at(h->ring, h->next & (LX_HISTORY_PACKETS - 1))->before =
			h->work - h->debt;
		h->next++;
		return;
	}
	newest = h->next - 1;
	lx_at(h->ring, newest & (LX_HISTORY_PACKETS - 1))->release = release;
	for (k = lx_zero; k < e->nr_pieces && can_loop; k++) {
		const struct lx_piece *p = lx_at(e->piece, k);
		struct lx_window *w = lx_at(h->window, k);

		if ((int)(newest - w->newer) >= 0)
			continue;
		if (k + 1 == e->nr_pieces) {
			/* As if it had been released now: the work before it does not change. */
			lx_line_advance(&h->last, p->slope, p->horizon, release);
			continue;
		}
		if ((int)(newest - lx_at(h->window, k + 1)->newer) < 0)
			continue;
		if (w->tail != w->head &&
		    *lx_at(w->place, (w->tail - 1) & (LX_HISTORY_PACKETS - 1)) == newest)
			w->tail--;
		lx_window_enter(h, p, w, newest);
	}
}

/* Moves each packet whose work has passed a corner to the next piece. */
LX_INLINE void lx_history_advance(struct lx_history *h, const struct lx_service *e)
{
	u32 older = 0;
	u32 k = e->nr_pieces;

	while (k > 0 && can_loop) {
		const struct lx_piece *p;
		struct lx_window *w;

		k--;
		p = lx_at(e->piece, k);
		w = lx_at(h->window, k);
		while (w->newer != h->next && can_loop) {
			u64 before = lx_at(h->ring, w->newer & (LX_HISTORY_PACKETS - 1))->before;

			if (h->work - before <= p->above)
				break;
			if (k + 1 == e->nr_pieces)
				lx_history_last(
					h, p,
					lx_at(h->ring, w->newer & (LX_HISTORY_PACKETS - 1))->release,
					before);
			else if ((int)(w->newer - older) >= 0)
				lx_window_enter(h, p, w, w->newer);
			w->newer++;
		}
		if (k + 1 < e->nr_pieces)
			while (w->head != w->tail && can_loop) {
				u32 first = *lx_at(w->place, w->head & (LX_HISTORY_PACKETS - 1));

				if ((int)(first - older) >= 0)
					break;
				w->head++;
			}
		older = w->newer;
	}
}

/* Deadline of the newest packet, released at `release`. */
LX_INLINE u64 lx_history_deadline(struct lx_history *h, const struct lx_service *e, u64 release)
{
	u64 relative = 0;
	u32 k;

	if (h->work > e->max_work || h->last.out_of_range)
		return LX_NEVER;
	for (k = lx_zero; k < e->nr_pieces && can_loop; k++) {
		const struct lx_piece *p = lx_at(e->piece, k);
		struct lx_window *w = lx_at(h->window, k);
		u64 then, before, age;
		s64 ahead;

		if (k + 1 == e->nr_pieces) {
			if (!h->last.begun)
				break;
			then = h->last.release;
			before = h->last_before;
			ahead = h->last.ahead;
		} else {
			u32 first;

			if (w->head == w->tail)
				continue;
			first = *lx_at(w->place, w->head & (LX_HISTORY_PACKETS - 1));
			then = lx_at(h->ring, first & (LX_HISTORY_PACKETS - 1))->release;
			before = lx_at(h->ring, first & (LX_HISTORY_PACKETS - 1))->before;
			ahead = 0;
		}
		age = release - then;
		if (age > p->horizon) {
			if (k + 1 < e->nr_pieces)
				continue;
			/* As if released now, which only postpones the deadline. */
			lx_line_advance(&h->last, p->slope, p->horizon, release);
			ahead = h->last.ahead;
			age = 0;
		}
		ahead += (h->work - before) * NANOBITS_PER_BYTE;
		ahead -= p->intercept;
		ahead -= age * p->slope;
		if (ahead > 0)
			relative = lx_max(relative, lx_div_ceil(ahead, p->slope));
	}
	return lx_max(h->latest, release + relative);
}

/* Deadline of a packet with an empty history. */
LX_GLOBAL_FN u64 lx_history_single_deadline(const struct lx_service *e __arg_nonnull, u64 release,
					    u32 wire)
{
	u32 k = e->nr_pieces;

	if (wire > e->max_work)
		return LX_NEVER;
	while (k > 0 && can_loop) {
		const struct lx_piece *p;
		s64 ahead;

		k--;
		p = lx_at(e->piece, k);
		if (p->above >= wire)
			continue;
		ahead = (s64)(wire * NANOBITS_PER_BYTE) - p->intercept;
		return ahead > 0 ? release + lx_div_ceil(ahead, p->slope) : release;
	}
	return release;
}

/* Takes the first packet after a reset. Most first packets remain alone, so it enters the history
 * only with the second one. */
LX_INLINE u64 lx_history_first(struct lx_history *h, const struct lx_service *e, u64 release,
			       u32 wire)
{
	h->first = wire;
	h->first_release = release;
	h->replacement = 0;
	return lx_history_single_deadline(e, release, wire);
}

/* Clears the history; cheap if it is empty. */
LX_INLINE void lx_history_clear(struct lx_history *h, const struct lx_service *e)
{
	h->first = 0;
	h->replacement = 0;
	if (h->work)
		lx_history_reset(h, e);
}

/* Replaces the history from the next packet on by `in_flight` bytes released at a time, or by
 * nothing if that is 0, unless the history gives the next packet an earlier deadline. */
LX_INLINE void lx_history_restart(struct lx_history *h, const struct lx_service *e, u64 release,
				  u32 in_flight)
{
	if (!in_flight) {
		lx_history_clear(h, e);
		return;
	}
	h->replacement = in_flight;
	h->replacement_release = release;
}

/* Replaces the history if the next packet gains by it. Deadlines of one history do not decrease, so
 * that is certain if the packet's own deadline is before that of the newest packet, `deadline`. */
LX_INLINE void lx_history_replace(struct lx_history *h, const struct lx_service *e, u64 release,
				  u32 wire, u64 deadline)
{
	u32 in_flight = h->replacement;
	u64 both;

	h->replacement = 0;
	both = lx_history_single_deadline(e, h->replacement_release, in_flight + wire);
	if (lx_max(both, lx_history_single_deadline(e, release, wire)) >= deadline)
		return;
	lx_history_reset(h, e);
	h->first = in_flight;
	h->first_release = h->replacement_release;
}

/* The newest packet has `more` bytes more. */
LX_INLINE void lx_history_grow(struct lx_history *h, const struct lx_service *e, u32 more)
{
	u64 reached = h->work - h->debt + more;

	h->work = lx_max(h->work, reached);
	h->debt = h->work - reached;
	lx_history_advance(h, e);
}

/* Takes the next packet and returns its deadline; `deadline` is that of the newest packet so far.
 * Releases must not decrease. */
LX_GLOBAL_FN u64 lx_history_push(struct lx_history *h __arg_nonnull,
				 const struct lx_service *e __arg_nonnull, u64 release, u32 wire,
				 u64 deadline)
{
	u32 rounds;

	if (!h->work && !h->first)
		return lx_history_first(h, e, release, wire);
	if (h->replacement)
		lx_history_replace(h, e, release, wire, deadline);
	rounds = h->first ? 2 : 1;
	while (rounds > 0 && can_loop) {
		u64 now = rounds == 2 ? h->first_release : release;
		u32 more = rounds == 2 ? h->first : wire;

		lx_history_remember(h, e, now);
		lx_history_grow(h, e, more);
		rounds--;
	}
	h->first = 0;
	return lx_history_deadline(h, e, release);
}

/* The newest packet, released at `release`, takes `by` bytes more than was assigned: its later
 * deadline. */
LX_GLOBAL_FN u64 lx_history_raise(struct lx_history *h __arg_nonnull,
				  const struct lx_service *e __arg_nonnull, u64 release, u32 by)
{
	if (h->first) {
		h->first += by;
		return lx_history_single_deadline(e, release, h->first);
	}
	lx_history_grow(h, e, by);
	return lx_history_deadline(h, e, release);
}

/* Of the newest packet `by` bytes less were sent than was assigned. Its deadline stays, and later
 * ones are no earlier. */
LX_GLOBAL_FN u32 lx_history_settle(struct lx_history *h __arg_nonnull,
				   const struct lx_service *e __arg_nonnull, u32 by)
{
	if (h->first) {
		lx_history_remember(h, e, h->first_release);
		lx_history_grow(h, e, h->first);
		h->first = 0;
	}
	h->debt += by;
	return 0;
}

#endif
