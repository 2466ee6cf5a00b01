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
 *     its CPU next decides (lx_update_blocked). Until then it counts as one who has something to do.
 *   - A task is booked by the kernel's count of its execution, so a task that had the CPU between (real-time
 *     classes, those below) is not booked to it. Between two of the kernel's counts that is completed by
 *     what has passed since the last one, if the task has the CPU.
 *   - A timer that calls while another class has the CPU calls again (timer_callback.h).
 *
 * Where that is not to be relied on (7.0 lets a task wait, 7.3 counts too little), `machine.has_run_hooks` is set, both
 * programs are there, and none of this is used: `lx_starts` and `lx_stops`.
 */
#ifndef LAXITY_SCX_CPU_RUN_H
#define LAXITY_SCX_CPU_RUN_H

/* A task that has not ended: where it is goes before the task does. */
LX_INLINE const struct task_struct *lx_task_struct(const struct lx_task *t)
{
	return bpf_rdonly_cast((const void *)t->task_addr,
			       bpf_core_type_id_kernel(struct task_struct));
}

/* Whether it has something to do, by the kernel's own word. */
LX_INLINE int lx_is_runnable(u32 slot)
{
	const struct lx_task *t = lx_task_at(slot);

	return t && t->task_addr && lx_task_struct(t)->scx.flags & SCX_TASK_QUEUED;
}

/* What a task that does not run has executed since that was booked. */
LX_INLINE u64 lx_uncharged(struct lx_task *t, u64 executed)
{
	u64 ran = executed - lx_min(t->charged_runtime, executed);

	t->charged_runtime = executed;
	return ran;
}

/* What the running task has used and is booked now. */
LX_GLOBAL_FN u64 lx_current_runtime(struct lx_cpu *c __arg_nonnull, u64 now)
{
	struct lx_task *t = lx_task_at(c->current);
	const struct task_struct *p;
	u64 executed, since, ran;

	if (machine.has_run_hooks)
		return now - c->current_since;
	if (!t || !t->task_addr)
		return 0;
	p = lx_task_struct(t);
	since = READ_ONCE(p->se.exec_start);
	executed = p->se.sum_exec_runtime;
	/* From elsewhere than its CPU the kernel may be seen at its count. */
	if (p->on_cpu && READ_ONCE(p->se.exec_start) == since)
		executed += now - lx_min(now, since + c->clock_offset);
	ran = executed - lx_min(t->charged_runtime, executed);
	t->charged_runtime += ran;
	return ran;
}

/* A task is on the CPU. */
LX_INLINE void lx_set_current(struct lx_cpu *c, u64 now, u32 slot)
{
	u32 server = lx_member(slot)->server;

	c->current = slot;
	c->current_since = now;
	c->switches++;
	if (c->ksoftirqd == slot)
		c->ksoftirqd = LX_NONE;
	if (now < READ_ONCE(recording.until) && server != LX_NONE) {
		const struct lx_server *s = lx_server(&c->servers, server);

		lx_record(s->kind == LX_HARD ? LX_STARTED_RESERVED : LX_STARTED, c, now, slot,
			  s->budget, s->period);
	}
}

LX_INLINE int lx_run_contains(const struct lx_cpu *c, u32 slot)
{
	u32 i;

	if (c->current == slot)
		return 1;
	for (i = lx_zero; i < c->nr_local && i < LX_MAX_LOCAL && can_loop; i += 1 + lx_zero)
		if (*lx_at(c->local_queue, i) == slot)
			return 1;
	return 0;
}

/* The current task stopped: the one below goes on. */
LX_INLINE void lx_pop_local(struct lx_cpu *c, u64 now)
{
	lx_record(LX_STOPPED, c, now, c->current, 0, 0);
	if (c->next == c->current)
		c->next = LX_NONE;
	c->current = LX_NONE;
	if (c->nr_local) {
		c->nr_local--;
		lx_set_current(c, now, *lx_at(c->local_queue, c->nr_local));
		if (c->next == LX_NONE)
			c->next = c->current;
	}
}

LX_GLOBAL_FN u32 lx_local_remove(struct lx_cpu *c __arg_nonnull, u32 slot)
{
	u32 i, left = 0;

	for (i = lx_zero; i < c->nr_local && i < LX_MAX_LOCAL && can_loop; i += 1 + lx_zero) {
		u32 at = *lx_at(c->local_queue, i);

		if (at == slot)
			continue;
		*lx_at(c->local_queue, left) = at;
		left += 1 + lx_zero;
	}
	c->nr_local = left;
	return 0;
}

/* A task has not the CPU, nor will it go on there by itself. */
LX_INLINE void lx_run_remove(struct lx_cpu *c, u32 task, u64 now)
{
	/* Verifiers that follow a number through copies of it trip over one that is held across a call. */
	u32 slot = task + lx_zero;

	if (c->current == slot)
		lx_pop_local(c, now);
	else if (c->nr_local && *lx_at(c->local_queue, c->nr_local - 1) == slot)
		c->nr_local--;
	else if (c->nr_local)
		lx_local_remove(c, slot);
	if (c->next == slot)
		c->next = LX_NONE;
}

/* The same, verified once. */
LX_GLOBAL_FN u32 lx_run_remove_task(struct lx_cpu *c __arg_nonnull, u32 slot, u64 now)
{
	lx_run_remove(c, slot, now);
	return 0;
}

LX_INLINE void lx_push_local(struct lx_cpu *c, u32 slot)
{
	*lx_at(c->local_queue, c->nr_local) = slot;
	c->nr_local++;
}

/* A task has the CPU next, before the one that has it. */
LX_INLINE void lx_preempt_current(struct lx_cpu *c, u32 slot, u64 now)
{
	if (c->current != LX_NONE) {
		lx_record(LX_STOPPED, c, now, c->current, 0, 0);
		lx_push_local(c, c->current);
	}
	lx_set_current(c, now, slot);
}

/* Whether an entry of a heap comes right after the first one. */
LX_INLINE int lx_heap_is_second(const struct lx_heap *h, u32 entry)
{
	u32 place = *lx_at(h->position, entry);

	if (place == 2)
		return h->count < 3 || lx_node_before(h->node[1].key, h->node[1].seq, &h->node[2]);
	return place == 3 && lx_node_before(h->node[2].key, h->node[2].seq, &h->node[1]);
}

/* Whether the CPU is really with the task that has it here: not before the kernel has switched to it, nor while another
 * class goes before it. Until then it waits in the kernel's queue itself. */
LX_INLINE int lx_current_on_cpu(const struct lx_cpu *c)
{
	const struct lx_task *t = lx_task_at(c->current);

	return t && t->task_addr && lx_task_struct(t)->on_cpu;
}

/* Whether a task that comes to wait may wait in the kernel's queue, to go on by itself when the task that has the
 * CPU does not: it is the next one by its deadline, no other CPU would take it, and nothing is promised,
 * so that no release may come between. It goes before all that waits there, so the task that has the CPU must not
 * be among these, unless the kernel has just taken it for the one that is put aside. While all is recorded,
 * each decision is asked for. */
LX_INLINE int lx_may_park(struct lx_cpu *c, const struct lx_task *t, u32 slot, int aside)
{
	const struct lx_member *m = lx_member(slot);
	const struct lx_heap *h = &c->servers.ready;
	const struct lx_server *s;

	if (c->servers.reserved_bw || c->drain_local || c->ksoftirqd != LX_NONE ||
	    c->nr_local >= LX_MAX_LOCAL || c->current == LX_NONE || m->server == LX_NONE ||
	    (machine.cpus > 1 && !m->pinned) || t->reservation || t->pending || t->is_ksoftirqd ||
	    c->clock < READ_ONCE(recording.until) || (!aside && !lx_current_on_cpu(c)))
		return 0;
	s = lx_server(&c->servers, m->server);
	return s->head == s->tail && lx_heap_is_second(h, m->server) &&
	       h->node[0].entry == lx_member(c->current)->server;
}

/* Whether a task that waits here comes before one in the kernel's queue, of which the last is at its
 * end. */
LX_INLINE int lx_overtakes_local(const struct lx_cpu *c, u32 slot)
{
	const struct lx_heap *h = &c->servers.ready;
	u32 server = lx_member(slot)->server, last;

	if (!c->nr_local || server == LX_NONE)
		return 0;
	last = lx_member(c->local_queue[0])->server;
	return lx_heap_contains(h, server) && last != LX_NONE && lx_heap_contains(h, last) &&
	       lx_heap_key(h, server) < lx_heap_key(h, last);
}

/* When a task that does not run was seen to stop, if that is after all that is known. */
LX_INLINE u64 lx_stopped_at(const struct lx_cpu *c, u64 exec_start, u64 now)
{
	return lx_min(lx_max(exec_start + c->clock_offset, c->clock), now);
}

#endif
