/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Deadlines of the best-effort aggregate, and when earlier packets may be forgotten
 * (crates/link/src/assign).
 */
#ifndef LAXITY_ASSIGN_H
#define LAXITY_ASSIGN_H

#include "pipeline_state.h"

LX_INLINE u64 lx_assign(struct lx_pipeline *q, const struct lx_config *c, u64 release, u32 wire)
{
	const struct lx_piece *p = &c->service.piece[0];
	u64 work = wire * NANOBITS_PER_BYTE;

	if (LX_POLICY == LX_HISTORY)
		return lx_history_push(&q->history, &c->service, release, wire, q->head_deadline);
	if (LX_POLICY != LX_LINE)
		return LX_NEVER;
	return lx_line_push(&q->line, p->slope, p->horizon, p->intercept, release, work);
}

/* The newest packet of the aggregate, released at `release` and assigned with `from` bytes, may have
 * `wire` bytes, which are more: its later deadline. */
LX_INLINE u64 lx_raise(struct lx_pipeline *q, const struct lx_config *c, u64 release, u32 from,
		       u32 wire)
{
	if (LX_POLICY == LX_HISTORY)
		return lx_history_raise(&q->history, &c->service, release, wire - from);
	q->line.ahead = q->line.before;
	return lx_assign(q, c, release, wire);
}

/* Of the newest packet only `wire` bytes are sent, 0 if it was dropped. Later packets count with what
 * was sent, but their deadlines are no earlier than the one it had. */
LX_INLINE void lx_settle(struct lx_pipeline *q, const struct lx_config *c, u64 release, u32 from,
			 u32 wire)
{
	if (LX_POLICY == LX_HISTORY)
		lx_history_settle(&q->history, &c->service, from - wire);
	if (LX_POLICY != LX_LINE)
		return;
	q->line.floor = q->head_deadline;
	q->line.ahead = q->line.before;
	if (wire)
		lx_assign(q, c, release, wire);
}

/* Release of the packet that becomes the head of the aggregate now. */
LX_INLINE u64 lx_release(struct lx_pipeline *q, const struct lx_config *c, u64 now, u64 arrival)
{
	if (c->release == LX_ARRIVAL)
		q->last_release = lx_max(q->last_release, arrival);
	else
		q->last_release = now;
	return q->last_release;
}

/* Size of what waits with a deadline, or 0. */
LX_INLINE u32 lx_pending(const struct lx_pipeline *q)
{
	const struct lx_slot *head;

	if (LX_MANAGED)
		return q->best_effort.open ? q->best_effort.largest : 0;
	head = lx_slot(q->head);
	return head ? head->wire : 0;
}

/*
 * A packet of `wire` bytes starts and no other real-time packet waits: the history may be forgotten
 * (see crates/link/src/assign/mod.rs).
 */
LX_INLINE void lx_restart(struct lx_pipeline *q, const struct lx_config *c, u64 now, u32 wire)
{
	const struct lx_piece *p = &c->service.piece[0];
	u32 in_flight = c->counts_in_flight ? wire : 0;
	u32 pending, both;
	u64 earlier;

	if ((LX_POLICY != LX_LINE && LX_POLICY != LX_HISTORY) || c->restarts == LX_RESTART_ON_IDLE)
		return;
	pending = lx_pending(q);
	if (!pending) {
		if (LX_POLICY == LX_LINE)
			lx_line_restart(&q->line, p->slope, p->horizon, p->intercept, now,
					in_flight * NANOBITS_PER_BYTE);
		else
			lx_history_restart(&q->history, &c->service, now, in_flight);
		return;
	}
	if (c->restarts != LX_RESTART_ON_CLEAR)
		return;
	both = in_flight + pending;
	earlier = lx_history_single_deadline(&c->service, now, both);
	if (earlier >= q->head_deadline)
		return;
	q->head_deadline = earlier;
	/* Packets behind the head count as released now as well. */
	q->last_release = lx_max(q->last_release, now);
	q->best_effort.release = q->last_release;
	if (LX_POLICY == LX_LINE) {
		lx_line_begin(&q->line, now, in_flight * NANOBITS_PER_BYTE,
			      pending * NANOBITS_PER_BYTE);
		return;
	}
	lx_history_clear(&q->history, &c->service);
	q->history.first = both;
	q->history.first_release = now;
}

/*
 * The link lost time: packets waited while it sent nothing for longer than the credit. Called
 * before the lx_dequeue that ends the stall. Real time then has strict priority until no real-time
 * packet waits; `slack` runs a new search instead. The proof is in crates/link/src/pipeline/mod.rs.
 */
LX_INLINE void lx_handle_stall(struct lx_pipeline *q)
{
	if (LX_POLICY == LX_SLACK)
		lx_slack_invalidate(&q->slack);
	else
		q->best_effort_yields = 1;
}

/* Ends a stall: recomputes deadlines as if all waiting packets had been released now. */
LX_INLINE void lx_recompute_deadlines(struct lx_pipeline *q, const struct lx_config *c, u64 now)
{
	u32 pending = lx_pending(q);

	q->best_effort_yields = 0;
	lx_forget_best_effort(q, c);
	q->last_release = lx_max(q->last_release, now);
	q->best_effort.release = q->last_release;
	if (!pending)
		return;
	if (LX_POLICY == LX_HISTORY)
		q->head_deadline =
			lx_history_first(&q->history, &c->service, q->last_release, pending);
	else
		q->head_deadline = lx_assign(q, c, q->last_release, pending);
}

/* Returns true if the best-effort head, of `wire` bytes, goes before the first real-time packet, due at
 * `due`. Without a real-time packet the head goes even if it has no deadline. */
LX_INLINE u8 lx_serves_best_effort(struct lx_pipeline *q, const struct lx_config *c, u64 now,
				   u32 wire, u64 due)
{
	if (LX_POLICY != LX_SLACK)
		return q->head_deadline <= due;
	if (due != LX_NEVER &&
	    !lx_slack_allows(&q->slack, &c->slack, c->rate, c->flows, now, wire))
		return 0;
	lx_slack_spend(&q->slack, wire);
	return 1;
}

#endif
