/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The deadlines that a service curve S gives the packets of a flow (SCED: Sariowan, Cruz, Polyzos
 * 1999): the packet that ends at byte w is due at D(w) = max over starts i of a_i + Sinv(w - R_i). A
 * start (a, R) is recorded when a packet arrives and none of the flow waits or is being sent; R are
 * the bytes of the flow before it. crates/curve/src/service/deadlines.rs has the same deadlines.
 *
 * Sinv has up to LX_CURVE_LINES lines (above_k, above_k+1] -> (per_byte_k w + offset_k) / rise_k. Of
 * the starts on a line the one with the largest rise_k a - per_byte_k R decides, so each line but
 * the last has a monotone queue of starts. No start leaves the last line, so one number suffices
 * there: the instant at which that line is reached, which moves by per_byte / rise with each byte.
 *
 * 64 bits suffice without a loss, since no product reaches back beyond the last corner: the loader
 * refuses curves whose products could leave LX_RANGE, and curves for which more than LX_CURVE_STARTS
 * starts could lie within the last corner.
 */
#ifndef LAXITY_SERVICE_DEADLINES_H
#define LAXITY_SERVICE_DEADLINES_H

#include "types.h"

#define LX_CURVE_LINES 16
#define LX_CURVE_STARTS 1024

struct lx_curve_line {
	/* Valid for more bytes than this. */
	u64 above;
	/* The slope rise / per_byte in bit/s, in bytes per 8e9 ns; per_byte is 0 and rise 1 at a jump
	 * of the curve. */
	u64 rise;
	u64 per_byte;
	s64 offset;
	/* Time in which the line rises by LX_RANGE, in ns. */
	u64 horizon;
};

struct lx_curve_start {
	u64 at;
	/* Bytes of the flow before it. */
	u64 before;
	/* Neighbours on its line, and that line; LX_NONE for none. */
	u32 older, newer;
	u32 line;
	u32 padding;
};

/* The starts on a line that no newer one outdoes, by their places; keys fall from front to back. */
struct lx_curve_window {
	/* First start that is too new for this line. */
	u32 newer;
	u32 front, back;
};

/* A flow: its curve, which the loader writes, and its starts. */
struct lx_served_flow {
	struct lx_curve_line line[LX_CURVE_LINES];
	u32 nr_lines;
	/* Bytes on the wire as which shorter packets count. */
	u32 smallest;
	/* The last line is reached `last_rest / rise` after `last_at`, if a start is on it (`begun`). */
	u64 last_at;
	u64 last_rest;
	/* Bytes of the flow, and number of its starts, since it forgot them. */
	u64 work;
	u32 next;
	u32 begun;
	/* Number of the link's idle periods up to then. */
	u64 idle_periods;
	struct lx_curve_window window[LX_CURVE_LINES];
	struct lx_curve_start start[LX_CURVE_STARTS];
};

#define lx_start_at(f, i) lx_at((f)->start, (i) & (LX_CURVE_STARTS - 1))

LX_INLINE void lx_served_forget(struct lx_served_flow *f)
{
	u32 k;

	for (k = lx_zero; k < f->nr_lines && can_loop; k++) {
		struct lx_curve_window *w = lx_at(f->window, k);

		w->newer = 0;
		w->front = LX_NONE;
		w->back = LX_NONE;
	}
	f->last_at = 0;
	f->last_rest = 0;
	f->work = 0;
	f->next = 0;
	f->begun = 0;
}

/* A start reaches the last line. */
LX_INLINE void lx_curve_enter_last(struct lx_served_flow *f, const struct lx_curve_line *l,
				   const struct lx_curve_start *start)
{
	u64 ahead = l->per_byte * (f->work - start->before) + l->offset;
	u64 whole = ahead / l->rise;
	u64 rest = ahead - whole * l->rise;
	u64 at = start->at + whole;

	if (f->begun && (at < f->last_at || (at == f->last_at && rest <= f->last_rest)))
		return;
	f->begun = 1;
	f->last_at = at;
	f->last_rest = rest;
}

/* Adds start `place` to line k, which is not the last, in place of older ones with keys no larger. */
LX_GLOBAL_FN u32 lx_curve_enter(struct lx_served_flow *f __arg_nonnull, u32 k, u32 place)
{
	const struct lx_curve_line *l = lx_at(f->line, k & (LX_CURVE_LINES - 1));
	struct lx_curve_start *start = lx_start_at(f, place);
	struct lx_curve_window *w = lx_at(f->window, k & (LX_CURVE_LINES - 1));
	struct lx_curve_start *back;

	while (w->back != LX_NONE && can_loop) {
		u64 age, lead;

		back = lx_start_at(f, w->back);
		age = start->at - back->at;
		lead = (start->before - back->before) * l->per_byte;
		if (age <= l->horizon && lead > age * l->rise)
			break;
		w->back = back->older;
		back->line = LX_NONE;
	}
	start->older = w->back;
	start->newer = LX_NONE;
	start->line = k;
	if (w->back == LX_NONE)
		w->front = place;
	else
		lx_start_at(f, w->back)->newer = place;
	w->back = place;
	return 0;
}

/* Takes a start, the oldest on its line, off it. */
LX_INLINE void lx_curve_leave(struct lx_served_flow *f, struct lx_curve_start *start)
{
	struct lx_curve_window *w;

	if (start->line == LX_NONE)
		return;
	w = lx_at(f->window, start->line & (LX_CURVE_LINES - 1));
	start->line = LX_NONE;
	w->front = start->newer;
	if (start->newer == LX_NONE)
		w->back = LX_NONE;
	else
		lx_start_at(f, start->newer)->older = LX_NONE;
}

/* Moves each start whose bytes have passed the corner before line k to it, unless it is older than
 * `older`, the oldest start of the line beyond. Returns the oldest start of line k. */
LX_GLOBAL_FN u32 lx_curve_advance_line(struct lx_served_flow *f __arg_nonnull, u32 k, u32 older)
{
	const struct lx_curve_line *l = lx_at(f->line, k & (LX_CURVE_LINES - 1));
	struct lx_curve_window *w = lx_at(f->window, k & (LX_CURVE_LINES - 1));

	while (w->newer != f->next && can_loop) {
		u32 place = w->newer & (LX_CURVE_STARTS - 1);
		struct lx_curve_start *start = lx_start_at(f, place);

		if (f->work - start->before <= l->above)
			break;
		if ((int)(w->newer - older) >= 0) {
			lx_curve_leave(f, start);
			if (k + 1 == f->nr_lines)
				lx_curve_enter_last(f, l, start);
			else
				lx_curve_enter(f, k, place);
		}
		w->newer++;
	}
	return w->newer;
}

/* Moves each start whose bytes have passed a corner to the line beyond it. */
LX_INLINE void lx_curve_advance(struct lx_served_flow *f)
{
	u32 older = lx_at(f->window, (f->nr_lines - 1) & (LX_CURVE_LINES - 1))->newer;
	u32 k = f->nr_lines;

	while (k > 0 && can_loop)
		older = lx_curve_advance_line(f, --k, older);
}

/* When line k is at `work`, by the start that is the last to be there; 0 without a start. */
LX_GLOBAL_FN u64 lx_curve_line_reaches(const struct lx_served_flow *f __arg_nonnull, u32 k)
{
	const struct lx_curve_line *l = lx_at(f->line, k & (LX_CURVE_LINES - 1));
	u32 front = lx_at(f->window, k & (LX_CURVE_LINES - 1))->front;
	const struct lx_curve_start *start;

	if (front == LX_NONE)
		return 0;
	start = lx_start_at(f, front);
	return start->at + lx_div_ceil(l->per_byte * (f->work - start->before) + l->offset, l->rise);
}

/* The deadline of the packet that ends at `work`. */
LX_INLINE u64 lx_curve_deadline(const struct lx_served_flow *f)
{
	u64 due = f->begun ? f->last_at + (f->last_rest > 0) : 0;
	u32 k;

	for (k = lx_zero; k + 1 < f->nr_lines && can_loop; k++)
		due = lx_max(due, lx_curve_line_reaches(f, k));
	return due;
}

/* The last line is reached later by so many bytes. A flow that is served far beyond its curve is never
 * due, and no deadline wraps. */
LX_INLINE void lx_curve_extend_last(struct lx_served_flow *f, u64 bytes)
{
	const struct lx_curve_line *l = lx_at(f->line, (f->nr_lines - 1) & (LX_CURVE_LINES - 1));
	u64 ahead = f->last_rest + bytes * l->per_byte;
	u64 whole = ahead / l->rise;

	f->last_at = lx_min(f->last_at + whole, LX_RANGE);
	f->last_rest = ahead - whole * l->rise;
}

/*
 * Deadline of the next packet of a flow, of `wire` bytes on the wire, accepted at `now`, which does
 * not decrease. `starts` tells that no packet of the flow waits or is being sent. `idle_periods`
 * counts those of the link, each of which makes all flows forget their starts.
 */
LX_GLOBAL_FN u64 lx_served_push(struct lx_served_flow *f __arg_nonnull, u64 now, u32 wire, u32 starts,
				u64 idle_periods)
{
	u64 bytes = lx_max(wire, f->smallest);

	if (f->idle_periods != idle_periods) {
		lx_served_forget(f);
		f->idle_periods = idle_periods;
	}
	if (starts) {
		struct lx_curve_start *start = lx_start_at(f, f->next);

		start->at = now;
		start->before = f->work;
		start->line = LX_NONE;
		f->next++;
	}
	f->work += bytes;
	if (f->begun)
		lx_curve_extend_last(f, bytes);
	lx_curve_advance(f);
	return lx_curve_deadline(f);
}

#endif
