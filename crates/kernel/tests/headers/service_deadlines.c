/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Runs the deadlines of service curves in user space. Input: steps of four u64.
 *   0 now wire starts     a packet; prints its deadline
 *   1 0 0 0               the link was idle
 *   2 bytes 0 0           another flow: so many bytes of struct lx_served_flow follow
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <laxity/service_deadlines.h>

static struct lx_served_flow flow;

int main(void)
{
	u64 step[4], idle_periods = 1;

	while (fread(step, sizeof(step), 1, stdin) == 1) {
		switch (step[0]) {
		case 0:
			printf("%llu\n",
			       lx_served_push(&flow, step[1], step[2], step[3], idle_periods));
			break;
		case 1:
			idle_periods++;
			break;
		case 2:
			/* What the former flow left is not read. */
			memset(&flow, 0xa5, sizeof(flow));
			flow.idle_periods = 0;
			if (step[1] > sizeof(flow) || fread(&flow, step[1], 1, stdin) != 1)
				return 2;
			idle_periods++;
			break;
		default:
			return 2;
		}
	}
	return 0;
}
