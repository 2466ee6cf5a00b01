/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Active queue management of best-effort classes: what happens to the packet that is about to start
 * (crates/link/src/aqm/mod.rs). CoDel has a state for each queue, PI2 one for the class; the dual
 * queue of RFC 9332, or a step for ECT(1) in flow queues.
 */
#ifndef LAXITY_AQM_H
#define LAXITY_AQM_H

#include "flow_key.h"
#include "flow_state.h"
#include "l4s.h"

enum lx_aqm_kind {
	LX_AQM_NONE,
	LX_AQM_CODEL,
	LX_AQM_PI2,
	/* CoDel in flow queues, and a step for ECT(1). */
	LX_AQM_STEP,
	LX_AQM_DUAL,
};

enum lx_verdict {
	LX_VERDICT_SEND,
	/* It is sent, and its queue owes a mark. */
	LX_VERDICT_MARK,
	LX_VERDICT_DROP,
};

struct lx_aqm_config {
	u32 kind;
	/* Marks take the place of drops. */
	u32 ecn;
	/* The delay does not count the time in which real-time packets were sent. */
	u32 link_sojourn;
	/* Dropped packets are charged. */
	u32 ingress;
	struct lx_codel_config codel;
	/* In ns. */
	u64 pi2_target;
	u64 step;
	/* Of the random numbers; not 0. */
	u64 seed;
};

/* The packet that is about to start. */
struct lx_leaving {
	u64 now;
	/* Time since its arrival, and what of it real-time packets took. */
	u64 raw;
	u64 realtime;
	/* The longest raw delay at the head of a queue of the class, for the dual queue. */
	u64 longest;
	/* Packets of the class. */
	u32 packets;
	/* Index of its queue in the class. */
	u32 queue;
	u8 ecn;
	/* Its flow has used its first quantum; always in a class without flow queues. */
	u8 bulk;
};

LX_INLINE u64 lx_without(u64 delay, u64 away)
{
	return delay > away ? delay - away : 0;
}

LX_GLOBAL_FN u32 lx_aqm_judge(const struct lx_aqm_config *c __arg_nonnull,
			      struct lx_pi2 *pi2 __arg_nonnull,
			      struct lx_flow_queue *queue __arg_nonnull,
			      const struct lx_leaving *p __arg_nonnull)
{
	u64 away = c->link_sojourn ? p->realtime : 0;
	u64 sojourn = lx_without(p->raw, away);
	u8 marks = c->ecn && lx_ecn_capable(p->ecn);
	u32 signal = LX_NO_SIGNAL;

	if (c->kind == LX_AQM_NONE)
		return LX_VERDICT_SEND;
	if (c->kind == LX_AQM_STEP && lx_ecn_l4s(p->ecn))
		return sojourn > c->step && queue->nr_packets > 1 ? LX_VERDICT_MARK
								  : LX_VERDICT_SEND;
	if (c->kind == LX_AQM_PI2 || c->kind == LX_AQM_DUAL) {
		u8 dual = c->kind == LX_AQM_DUAL;
		u64 delay = dual ? lx_without(p->longest, away) : sojourn;
		u64 probability = lx_pi2_probability(pi2, c->pi2_target, p->now, delay);
		struct lx_rolls rolls = lx_pi2_rolls(pi2);

		if (dual) {
			marks |= p->queue == LX_LOW_LATENCY;
			signal = lx_dual_signal(probability, rolls, p->queue, sojourn, c->step,
						p->packets < 2);
		} else if (p->bulk && p->packets >= 2) {
			signal = lx_classic_signal(probability, rolls);
		}
	} else if (lx_codel_signals(&queue->codel, &c->codel, p->now, sojourn, queue->nr_packets,
				    queue->bytes)) {
		signal = LX_SIGNAL_MARK;
	}
	if (signal == LX_NO_SIGNAL)
		return LX_VERDICT_SEND;
	return signal == LX_SIGNAL_MARK && marks ? LX_VERDICT_MARK : LX_VERDICT_DROP;
}

#endif
