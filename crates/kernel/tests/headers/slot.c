/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Plays traces on a link of a byte a nanosecond whose classes have flow queues, with drops by a script
 * of the AQM and drops at any instant. LX_SLOT_RULE chooses another rule of the best-effort slot.
 *
 * Input: u32 policy, slots, managed, flow queues, flow orders, tables of hosts, flows with service
 * curves, struct lx_config, the curves, then traces: u64 steps, u64 script, and for each step four u64, in order of time:
 *   0 at flow<<32|bytes hash   a packet arrives
 *   1 at 0 0                   the candidate of best effort is pushed out
 * The AQM drops the packets whose bits are set in the script, the first by the least. Prints for each
 * trace by how much a real-time packet was late at most, 0 for none, and how many packets left.
 */

#define LX_PACKET unsigned long long
#include "link_memory.h"
#include <laxity/slot.h>

static unsigned policy;
static unsigned long long script, gone;

#define LX_POLICY policy
#define LX_MANAGED 1
#define LX_SERVED served_count
#define LX_JUDGE(queues, config, class, now) scripted_judge()

static unsigned scripted_judge(void)
{
	unsigned drop = script & 1;

	script >>= 1;
	return drop ? 2 : 0;
}

static void lx_drop(void *ctx, struct lx_slot *slot, unsigned reason)
{
	(void)ctx;
	(void)slot;
	(void)reason;
	gone++;
}

static unsigned char lx_mark(void *ctx, struct lx_slot *slot)
{
	(void)ctx;
	(void)slot;
	return 1;
}

#include <laxity/pipeline.h>

_Static_assert(LX_VERDICT_DROP == 2 && LX_VERDICT_SEND == 0, "verdicts of the script");

static struct lx_config config;
static struct lx_pipeline pipeline;

static void arrives(u64 now, const u64 *step)
{
	struct lx_flow_key key = { .hash = step[3] };
	u32 reason = 0, slot;

	if (lx_enqueue(&pipeline, &config, NULL, now, step[2] >> 32, step[2], &key, &slot, &reason))
		return;
	fprintf(stderr, "refused for reason %u\n", reason);
	exit(2);
}

static void discard(void)
{
	u32 class = lx_managed_select(&pipeline, &config), slot;
	struct lx_slot *packet = lx_managed_candidate(&pipeline, class, &slot);

	if (!packet)
		return;
	gone++;
	lx_managed_remove(&pipeline, &config, class);
	lx_packet_departed(&pipeline, &config, slot, packet);
	lx_managed_pushed_out(&pipeline, &config);
}

/* Steps of an instant come before its decision. */
static u64 play(const u64 (*steps)[4], u64 count)
{
	u64 next = 0, now = 0, free = 0, late = 0;

	for (;;) {
		while (next < count && steps[next][1] <= now) {
			if (steps[next][0])
				discard();
			else
				arrives(now, steps[next]);
			next++;
		}
		if (now >= free) {
			u32 slot;
			struct lx_slot *packet = lx_dequeue(&pipeline, &config, NULL, now, &slot);

			if (packet) {
				free = now + packet->wire;
				gone++;
				if (!packet->best_effort && free > packet->deadline)
					late = lx_max(late, free - packet->deadline);
				lx_packet_departed(&pipeline, &config, slot, packet);
			} else {
				lx_link_idle(&pipeline, &config);
			}
		}
		if (free > now)
			now = next < count ? lx_min(steps[next][1], free) : free;
		else if (next < count)
			now = steps[next][1];
		else
			return late;
	}
}

int main(void)
{
	static u64 steps[64][4];
	unsigned head[7];
	u64 trace[2];

	must(fread(head, sizeof(head), 1, stdin), 1);
	must(fread(&config, sizeof(config), 1, stdin), 1);
	policy = head[0];
	slot_count = head[1];
	queue_count = head[3];
	order_count = head[4];
	table_count = head[5];
	served_count = head[6];
	allocate_memory();
	read_curves();
	while (fread(trace, sizeof(trace), 1, stdin) == 1) {
		must(trace[0] <= 64, 1);
		must(fread(steps, sizeof(steps[0]), trace[0], stdin), trace[0]);
		script = trace[1];
		gone = 0;
		lx_pipeline_start(&pipeline, &config);
		lx_pipeline_reset(&pipeline, &config);
		printf("%llu", play(steps, trace[0]));
		printf(" %llu\n", gone);
	}
	return 0;
}
