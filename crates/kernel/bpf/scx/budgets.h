/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Budgets that come back at once: one timer for several of them. Part of laxity_cpu.bpf.c.
 */
#ifndef LAXITY_SCX_BUDGETS_H
#define LAXITY_SCX_BUDGETS_H

/* Budgets of which one timer may call the end of the last. */
#define LX_AT_ONCE 16

/* Whether the end of a budget changes nothing but the deadline: it comes back at once, nobody else is of
 * the server, and nothing is promised that another deadline would be compared with. */
LX_INLINE int lx_goes_on(const struct lx_cpu *c, const struct lx_server *s)
{
	return c->servers.rules.recharge && !c->servers.need && s->kind == LX_SHARED &&
	       s->state == LX_READY && s->head == s->tail;
}

/* A task executed for `ran` up to `until` and used up budgets of which no timer told: each is booked at its
 * end. Answers what it executed after the last. */
LX_CALLED u64 lx_charge_budgets(struct lx_cpu *c LX_GIVEN, u32 slot, u64 until, u64 ran)
{
	u32 server = lx_member(slot)->server;
	struct lx_server *s = lx_server(&c->servers, server);

	while (lx_goes_on(c, s) && s->left && s->left < ran && lx_may_loop) {
		u64 left = s->left;
		u64 end;

		ran -= left;
		end = until - lx_min(ran, until);
		lx_record(LX_RAN, c, end, slot, left, 0);
		lx_served(&c->servers, s, server, end, left);
	}
	return ran;
}

/* For how long a server is first with the budgets that follow the present one, if all stays as it is. */
LX_CALLED u64 lx_first_for(struct lx_cpu *c LX_GIVEN, u32 server)
{
	struct lx_servers *q = &c->servers;
	const struct lx_server *s = lx_server(q, server);
	u64 next = LX_NEVER, executed = s->execution + s->left, period, times;
	struct lx_first *f = &c->first;

	/* Less than the whole share, or another average, makes for other budgets. */
	if (!lx_goes_on(c, s) || !q->rules.job || s->end < s->limited_until ||
	    lx_heap_first(&q->ready) != server || !s->budget ||
	    s->budget != lx_budget(&q->rules, lx_basis(&q->rules, s)))
		return 0;
	if (q->ready.count > 1)
		next = q->ready.node[1].key;
	if (q->ready.count > 2)
		next = lx_min(next, q->ready.node[2].key);
	/* As a rule the same is asked in each wake-up of a budget. */
	if (f->server == server && f->end == s->end && f->budget == s->budget &&
	    f->load == q->bandwidth.load && f->next <= next)
		return f->length;
	period = lx_period(&q->bandwidth, s->budget, s->weight);
	if (period > q->rules.longest || next <= s->end || executed >= q->rules.most)
		return 0;
	times = lx_min((next - s->end - 1) / period, LX_AT_ONCE);
	times = lx_min(times, (q->rules.most - executed - 1) / s->budget);
	f->server = server;
	f->end = s->end;
	f->budget = s->budget;
	f->load = q->bandwidth.load;
	f->next = next;
	f->length = times * s->budget;
	return f->length;
}

#endif
