/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Runs the link headers in user space: reads a plan and a script, prints the decisions. A separate
 * program, so that the test needs no unsafe code and sanitizers check the headers.
 *
 * Input: u32 policy, slots, managed, flow queues, flow orders, tables of hosts, flows with service
 * curves, struct lx_config, the curves, then steps of four u64, the last of which is 0 where it is not
 * named:
 *   0 now flow<<32|bytes key   a packet arrives; prints `e NUMBER REASON`, REASON 99 for accepted; the
 *                              key has struct lx_flow_key's first eight bytes
 *   7 ecn 0                    the ECN field of the next packet
 *   1 now 0                 the link is free; prints `d NUMBER DEADLINE` or `n NEXT_EVENT`
 *   2 start wire            the link's clock sends; prints `c END`
 *   3 0 0                   all queues are emptied
 *   4 0 0                   the link has lost time
 *   5 since 0               a waiting packet may be sent from an instant on
 *   6 now wire              the pace sends, under the plan's credit; prints `s START LOST END`
 * A packet pushed out prints `p NUMBER`, one that an AQM drops `a NUMBER`, one that is marked `m
 * NUMBER`. A packet that is sent prints its ECN field too, and `x` instead of `d` if it has been dropped
 * but counts as sent.
 */

#define LX_PACKET unsigned long long
#include "link_memory.h"

static unsigned policy, managed;
static unsigned long long number;

#define LX_POLICY policy
#define LX_MANAGED managed
#define LX_SERVED served_count

static void lx_drop(void *ctx, struct lx_slot *slot, unsigned reason)
{
	(void)ctx;
	printf("%c %llu\n", reason == LX_AQM ? 'a' : 'p', slot->packet);
	if (reason == LX_PUSHED_OUT)
		slot->packet = ~0ULL;
}

static unsigned char lx_mark(void *ctx, struct lx_slot *slot)
{
	(void)ctx;
	(void)slot;
	printf("m %llu\n", number);
	return 1;
}

#include <laxity/classify.h>
#include <laxity/counts.h>
#include <laxity/pace.h>
#include <laxity/pipeline.h>

static struct lx_config config;
static struct lx_pipeline pipeline;
static struct lx_clock link_clock;
static struct lx_pace pace = { .ready = LX_NEVER };
static struct lx_stalls stalls;

int main(void)
{
	struct lx_slot *packet;
	unsigned head[7];
	struct lx_flow_key key = {};
	u64 step[4];

	must(fread(head, sizeof(head), 1, stdin), 1);
	must(fread(&config, sizeof(config), 1, stdin), 1);
	policy = head[0];
	slot_count = head[1];
	managed = head[2];
	queue_count = head[3];
	order_count = head[4];
	table_count = head[5];
	served_count = head[6];
	allocate_memory();
	read_curves();
	lx_pipeline_start(&pipeline, &config);
	lx_pipeline_reset(&pipeline, &config);
	while (fread(step, sizeof(step), 1, stdin) == 1) {
		u64 now = step[1];
		u32 reason = 0, slot;

		switch (step[0]) {
		case 0:
			key.hash = step[3];
			key.source = step[3] >> 32;
			key.destination = step[3] >> 48;
			packet = lx_enqueue(&pipeline, &config, NULL, now, step[2] >> 32, step[2],
					    &key, &slot, &reason);
			if (!packet) {
				printf("e %llu %u\n", number, reason);
			} else {
				packet->packet = number;
				printf("e %llu 99\n", number);
			}
			number++;
			break;
		case 1:
			packet = lx_dequeue(&pipeline, &config, NULL, now, &slot);
			if (!packet) {
				if (pipeline.head == LX_NONE)
					lx_link_idle(&pipeline, &config);
				printf("n %llu\n", lx_next_event(&pipeline, &config));
				break;
			}
			printf("%c %llu %llu %u\n", packet->dropped ? 'x' : 'd', packet->packet,
			       packet->deadline, packet->ecn);
			lx_packet_departed(&pipeline, &config, slot, packet);
			break;
		case 2:
			printf("c %llu\n",
			       lx_clock_transmit(&link_clock, config.rate, now, step[2]));
			break;
		case 3:
			lx_pipeline_reset(&pipeline, &config);
			break;
		case 4:
			lx_handle_stall(&pipeline);
			break;
		case 5:
			lx_pace_waits(&pace, now);
			break;
		case 6:
			now = lx_pace_start(&pace, config.credit, now);
			lx_pace_send(&pace, &stalls, config.rate, now, step[2]);
			printf("s %llu %llu %llu\n", now, stalls.total, pace.clock.free);
			break;
		case 7:
			key.ecn = now;
			break;
		default:
			fprintf(stderr, "no such step\n");
			return 2;
		}
	}
	return 0;
}
