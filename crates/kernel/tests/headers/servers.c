/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Runs the CPU headers in user space: reads policy parameters and a script, prints the decisions.
 *
 * Input: struct lxc_policy_params, then steps of six u64, `what now a b c d`:
 *   0  task a joins with a server of its own: weight b, or c in every d
 *   1  task a joins the server of task b, or is refused (b = LX_NONE)
 *   2  task a leaves after running for b
 *   3  the server of task a has weight b
 *   4  task a wakes    5  it blocks after running for b    6  it ran for b
 *   7  the timer       8  a pick: `p TASK UNTIL` or `p idle`; a = 1: a higher class waits
 *   9  other parameters, which follow
 *   10 another system; its parameters follow
 * After each step but 8 and 10 prints `s BEST_EFFORT DUE`, and the budget, period and deadline of each
 * present task. Under BeRate bandwidth that is due by then is reclaimed first. The invariant of
 * promises.h is checked after each step.
 */
#include <stdio.h>
#include <stdlib.h>

#include "promises.h"

#define TASKS 32

struct lx_member members[LX_MAX_TASKS];

static struct lx_servers servers;

static void show(void)
{
	u32 task;

	printf("s %llu %llu", servers.bandwidth.best_effort_bw, lx_next_timer(&servers));
	for (task = 0; task < TASKS; task++) {
		const struct lx_server *s;

		if (members[task].server == LX_NONE)
			continue;
		s = lx_server(&servers, members[task].server);
		printf(" %llu %llu %llu", s->budget, s->period, s->deadline);
	}
	printf("\n");
}

static void begin(const struct lxc_policy_params *rules)
{
	u32 i;

	promises_start(&servers);
	for (i = 0; i < TASKS; i++) {
		members[i].server = LX_NONE;
		members[i].runnable = 0;
	}
	memset(&servers, 0, sizeof(servers));
	lx_servers_start(&servers, rules);
}

int main(void)
{
	struct lxc_policy_params rules;
	u64 step[6];
	u32 i;

	if (fread(&rules, sizeof(rules), 1, stdin) != 1)
		return 2;
	begin(&rules);
	while (fread(step, sizeof(step), 1, stdin) == 1) {
		u64 now = step[1], b = step[3];
		u32 task = step[2];

		promises_expect(&servers, now);
		switch (step[0]) {
		case 0:
			lx_member_attach(&servers,
					 lx_server_create(&servers, now, b, step[4], step[5]),
					 task);
			break;
		case 1:
			lx_reclaim_up_to(&servers, now);
			if (b != LX_NONE)
				lx_member_attach(&servers, lx_member(b)->server, task);
			break;
		case 2:
			lx_leave(&servers, now, task, b);
			break;
		case 3:
			lx_renice(&servers, now, lx_member(task)->server, b);
			break;
		case 4:
			if (b)
				lx_wake_by_running(&servers, now, task);
			else
				lx_wake(&servers, now, task);
			break;
		case 5:
			lx_block(&servers, now, task, b);
			break;
		case 6:
			lx_ran(&servers, now, task, b);
			break;
		case 7:
			lx_on_timer(&servers, now);
			break;
		case 8:
			i = task || servers.passed_over ? lx_pick_reserved(&servers, now) : LX_NONE;
			if (i == LX_NONE)
				i = lx_pick(&servers, now);
			promises_keep(now);
			if (i == LX_NONE)
				printf("p idle\n");
			else
				printf("p %u %llu\n", lx_server(&servers, i)->head,
				       now + lx_min(lx_server(&servers, i)->remaining_budget,
						    servers.protected_until ?
							    servers.protected_until - now :
							    LX_NEVER));
			continue;
		case 9:
			if (fread(&rules, sizeof(rules), 1, stdin) != 1)
				return 2;
			lx_change_policy(&servers, now, &rules);
			break;
		case 10:
			if (fread(&rules, sizeof(rules), 1, stdin) != 1)
				return 2;
			begin(&rules);
			continue;
		case 11:
			if (lx_member(task)->server != LX_NONE)
				lx_resume(&servers, now, lx_member(task)->server);
			break;
		default:
			fprintf(stderr, "no such step\n");
			return 2;
		}
		if (rules.quantum)
			lx_reclaim_up_to(&servers, now);
		promises_keep(now);
		show();
	}
	return 0;
}
