/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Who has a CPU: the current one, and below it those who were put aside in the kernel's own queue and go
 * on there one by one, without a word to anybody. Part of laxity_cpu.bpf.c.
 *
 * To be told of each start and each stop takes two programs a switch, for what is known anyway: `dispatch`
 * says who stopped, `enqueue` who was put aside, and how long each executed the kernel itself counts. So
 * nobody is told. What follows from that:
 *
 *   - Who sleeps while somebody waits in the kernel's queue is found out later: when it wakes, or when
 *     its CPU next decides (lx_notice). Until then it counts as one who has something to do.
 *   - A task is booked by the kernel's count of its execution, so a task that had the CPU between (real-time
 *     classes, those below) is not booked to it. Between two of the kernel's counts that is completed by
 *     what has passed since the last one, if the task has the CPU.
 *   - A timer that calls while another class has the CPU calls again (called.h).
 *
 * Where that is not to be relied on (7.0 lets a task wait, 7.3 counts too little), `machine.told` is set, both
 * programs are there, and none of this is used: `lx_starts` and `lx_stops`.
 */
#ifndef LAXITY_SCX_HERE_H
#define LAXITY_SCX_HERE_H

/* A task that has not ended: where it is goes before the task does. */
LX_INLINE const struct task_struct *lx_seen(const struct lx_task *t)
{
	return bpf_rdonly_cast((const void *)t->at, bpf_core_type_id_kernel(struct task_struct));
}

/* Whether it has something to do, by the kernel's own word. */
LX_INLINE int lx_is_awake(u32 slot)
{
	const struct lx_task *t = lx_task_at(slot);

	return t && t->at && lx_seen(t)->scx.flags & SCX_TASK_QUEUED;
}

/* What a task that does not run has executed since that was booked. */
LX_INLINE u64 lx_unbooked(struct lx_task *t, u64 executed)
{
	u64 ran = executed - lx_min(t->booked, executed);

	t->booked = executed;
	return ran;
}

/* What the running task has used and is booked now. */
LX_CALLED u64 lx_used(struct lx_cpu *c LX_GIVEN, u64 now)
{
	struct lx_task *t = lx_task_at(c->current);
	const struct task_struct *p;
	u64 executed, since, ran;

	if (machine.told)
		return now - c->since;
	if (!t || !t->at)
		return 0;
	p = lx_seen(t);
	since = LX_SEEN(p->se.exec_start);
	executed = p->se.sum_exec_runtime;
	/* From elsewhere than its CPU the kernel may be seen at its count. */
	if (p->on_cpu && LX_SEEN(p->se.exec_start) == since)
		executed += now - lx_min(now, since + c->ahead);
	ran = executed - lx_min(t->booked, executed);
	t->booked += ran;
	return ran;
}

/* A task is on the CPU. */
LX_INLINE void lx_runs(struct lx_cpu *c, u64 now, u32 slot)
{
	u32 server = lx_member(slot)->server;

	c->current = slot;
	c->since = now;
	c->switches++;
	if (c->soft == slot)
		c->soft = LX_NONE;
	if (now < LX_SEEN(recording.until) && server != LX_NONE) {
		const struct lx_server *s = lx_server(&c->servers, server);

		lx_record(s->kind == LX_HARD ? LX_STARTED_RESERVED : LX_STARTED, c, now, slot,
			  s->budget, s->period);
	}
}

LX_INLINE int lx_is_here(const struct lx_cpu *c, u32 slot)
{
	u32 i;

	if (c->current == slot)
		return 1;
	for (i = lx_zero; i < c->depth && i < LX_BELOW && lx_may_loop; i += 1 + lx_zero)
		if (*lx_at(c->below, i) == slot)
			return 1;
	return 0;
}

/* The current task stopped: the one below goes on. */
LX_INLINE void lx_goes_on_below(struct lx_cpu *c, u64 now)
{
	lx_record(LX_STOPPED, c, now, c->current, 0, 0);
	if (c->chosen == c->current)
		c->chosen = LX_NONE;
	c->current = LX_NONE;
	if (c->depth) {
		c->depth--;
		lx_runs(c, now, *lx_at(c->below, c->depth));
		if (c->chosen == LX_NONE)
			c->chosen = c->current;
	}
}

LX_CALLED u32 lx_is_not_below(struct lx_cpu *c LX_GIVEN, u32 slot)
{
	u32 i, left = 0;

	for (i = lx_zero; i < c->depth && i < LX_BELOW && lx_may_loop; i += 1 + lx_zero) {
		u32 at = *lx_at(c->below, i);

		if (at == slot)
			continue;
		*lx_at(c->below, left) = at;
		left += 1 + lx_zero;
	}
	c->depth = left;
	return 0;
}

/* A task has not the CPU, nor will it go on there by itself. */
LX_INLINE void lx_is_not_here(struct lx_cpu *c, u32 task, u64 now)
{
	/* Verifiers that follow a number through copies of it trip over one that is held across a call. */
	u32 slot = task + lx_zero;

	if (c->current == slot)
		lx_goes_on_below(c, now);
	else if (c->depth && *lx_at(c->below, c->depth - 1) == slot)
		c->depth--;
	else if (c->depth)
		lx_is_not_below(c, slot);
	if (c->chosen == slot)
		c->chosen = LX_NONE;
}

/* The same, verified once. */
LX_CALLED u32 lx_leaves_here(struct lx_cpu *c LX_GIVEN, u32 slot, u64 now)
{
	lx_is_not_here(c, slot, now);
	return 0;
}

LX_INLINE void lx_goes_below(struct lx_cpu *c, u32 slot)
{
	*lx_at(c->below, c->depth) = slot;
	c->depth++;
}

/* A task has the CPU next, before the one that has it. */
LX_INLINE void lx_goes_first(struct lx_cpu *c, u32 slot, u64 now)
{
	if (c->current != LX_NONE) {
		lx_record(LX_STOPPED, c, now, c->current, 0, 0);
		lx_goes_below(c, c->current);
	}
	lx_runs(c, now, slot);
}

/* Whether an entry of a heap comes right after the first one. */
LX_INLINE int lx_is_second(const struct lx_heap *h, u32 entry)
{
	u32 place = *lx_at(h->place, entry);

	if (place == 2)
		return h->count < 3 || lx_earlier(h->node[1].key, h->node[1].turn, &h->node[2]);
	return place == 3 && lx_earlier(h->node[2].key, h->node[2].turn, &h->node[1]);
}

/* Whether the CPU is really with the task that has it here: not before the kernel has switched to it, nor while another
 * class goes before it. Until then it waits in the kernel's queue itself. */
LX_INLINE int lx_has_it(const struct lx_cpu *c)
{
	const struct lx_task *t = lx_task_at(c->current);

	return t && t->at && lx_seen(t)->on_cpu;
}

/* Whether a task that comes to wait may wait in the kernel's queue, to go on by itself when the task that has the
 * CPU does not: it is the next one by its deadline, no other CPU would take it, and nothing is promised,
 * so that no release may come between. It goes before all that waits there, so the task that has the CPU must not
 * be among these, unless the kernel has just taken it for the one that is put aside. While all is recorded,
 * each decision is asked for. */
LX_INLINE int lx_may_stay(struct lx_cpu *c, const struct lx_task *t, u32 slot, int aside)
{
	const struct lx_member *m = lx_member(slot);
	const struct lx_heap *h = &c->servers.ready;
	const struct lx_server *s;

	if (c->servers.need || c->draining || c->soft != LX_NONE ||
	    c->depth >= LX_BELOW || c->current == LX_NONE || m->server == LX_NONE ||
	    (machine.cpus > 1 && !m->pinned) || t->reservation || t->pending ||
	    t->soft || c->clock < LX_SEEN(recording.until) || (!aside && !lx_has_it(c)))
		return 0;
	s = lx_server(&c->servers, m->server);
	return s->head == s->tail && lx_is_second(h, m->server) &&
	       h->node[0].entry == lx_member(c->current)->server;
}

/* Whether a task that waits here comes before one in the kernel's queue, of which the last is at its
 * end. */
LX_INLINE int lx_is_passed(const struct lx_cpu *c, u32 slot)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 server = lx_member(slot)->server, last;

	if (!c->depth || server == LX_NONE)
		return 0;
	last = lx_member(c->below[0])->server;
	return lx_heap_has(h, server) && last != LX_NONE && lx_heap_has(h, last) &&
	       lx_heap_key(h, server) < lx_heap_key(h, last);
}

/* When a task that does not run was seen to stop, if that is after all that is known. */
LX_INLINE u64 lx_stopped_at(const struct lx_cpu *c, u64 exec_start, u64 now)
{
	return lx_min(lx_max(exec_start + c->ahead, c->clock), now);
}

#endif
