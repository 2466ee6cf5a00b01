/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Runs a link whose rate changes, with the plan change of the qdisc, in user space.
 *
 * Input: u32 policy, slots, managed, flow queues, flow orders, tables of hosts, number of plans, flows
 * with service curves; the curves; for each plan struct lx_config and u64 shed;
 * then runs, each u64 number of events and for each event three u64, by time:
 *   time flow<<32|bytes 0    a packet arrives
 *   time plan 1              a plan is requested
 * After the last event of a run the link sends what waits. Prints `p NUMBER` for a packet dropped later,
 * `x NUMBER` for one refused, `d NUMBER REALTIME END LATE SLOWED` for one sent, `t TIME PLAN` for each
 * takeover, and `r MISSES LATE_RATE_CHANGE` at the end of a run.
 */
#include <string.h>

#define LX_PACKET unsigned long long
#include "link_memory.h"

static unsigned policy, managed;

#define LX_POLICY policy
#define LX_MANAGED managed
#define LX_SERVED served_count

static void lx_drop(void *ctx, struct lx_slot *slot, unsigned reason)
{
	(void)reason;
	printf("p %llu\n", slot->packet);
	--*(unsigned *)ctx;
}

static unsigned char lx_mark(void *ctx, struct lx_slot *slot)
{
	(void)ctx;
	(void)slot;
	return 1;
}

#include <laxity/classify.h>
#include <laxity/counts.h>
#include <laxity/pace.h>
#include <laxity/pipeline.h>

/* Declarations of state.h for the kernel. */
#define LAXITY_QDISC_STATE_H
#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, type) type *name
#define BPF_MAP_TYPE_ARRAY 2

static struct lx_config config;
static struct lxl_match_rules rules;
static struct lx_counts counts[128];
static struct lx_pipeline pipeline;
static struct { u32 slots; } own;
static struct {
	struct lx_pace pace;
	u64 shed;
	u64 plan_rate;
	u64 slowed;
} link;
static struct {
	u32 applied;
	u64 late_rate_change;
} state;

static void *bpf_map_lookup_elem(void *map, const void *key);

#include "../../bpf/qdisc/plan_change.h"

static struct lxl_plan_change *plans;
static unsigned plan_count, requested;

/* The plan requested last, whatever its number in the map. */
static void *bpf_map_lookup_elem(void *map, const void *key)
{
	(void)map;
	(void)key;
	return &plans[requested];
}

static void print_change(u32 before, u64 now)
{
	if (state.applied != before)
		printf("t %llu %u\n", now, requested);
}

static void take_over(u64 now)
{
	u32 before = state.applied;

	if (lx_plan_change_pending() && !lx_apply_plan_change(now))
		lx_yield_to_realtime(now);
	print_change(before, now);
}

static void arrive(unsigned *waiting, u64 now, u64 number, u32 flow, u32 bytes)
{
	struct lx_flow_key key = {};
	struct lx_slot *packet;
	u32 slot, reason;

	if (!*waiting && now > link.pace.clock.free) {
		take_over(now);
		lx_link_idle(&pipeline, &config);
	}
	packet = lx_enqueue_unless_shed(&pipeline, &config, lx_follow_rate(), waiting, now, flow,
					bytes, &key, &slot, &reason);
	if (!packet) {
		printf("x %llu\n", number);
		return;
	}
	packet->packet = number;
	++*waiting;
	/* The kernel asks for a packet after each arrival, also while one is being sent. */
	if (now < link.pace.clock.free)
		take_over(now);
}

/* Sends a packet. Returns false if all that wait are delayed. */
static int send(unsigned *waiting, u64 now, u64 *misses)
{
	struct lx_slot *packet;
	u32 slot, before = state.applied;
	u64 end;
	int late;

	if (lx_plan_change_pending() || link.shed)
		lx_follow_change(now);
	print_change(before, now);
	packet = lx_dequeue(&pipeline, &config, waiting, now, &slot);
	if (!packet) {
		lx_link_idle(&pipeline, &config);
		return 0;
	}
	end = lx_clock_transmit(&link.pace.clock, config.rate, now, packet->wire);
	late = !packet->best_effort && end > packet->deadline;
	*misses += late && !link.slowed;
	state.late_rate_change += late && link.slowed;
	printf("d %llu %d %llu %d %d\n", packet->packet, !packet->best_effort, end, late,
	       (int)link.slowed);
	lx_packet_departed(&pipeline, &config, slot, packet);
	return 1;
}

static void start(void)
{
	u64 idle_periods = pipeline.idle_periods;

	memset(&pipeline, 0, sizeof(pipeline));
	/* Flows keep the starts of the former run until then. */
	pipeline.idle_periods = idle_periods;
	memset(&link, 0, sizeof(link));
	memset(&state, 0, sizeof(state));
	wanted = 0;
	requested = 0;
	lx_install_plan(&plans[0]);
	lx_pipeline_reset(&pipeline, &config);
}

static void run(u64 events)
{
	u64 now = 0, number = 0, misses = 0, event[3] = { LX_NEVER };
	unsigned waiting = 0;

	start();
	if (events)
		must(fread(event, sizeof(event), 1, stdin), 1);
	for (;;) {
		u64 at = lx_max(now, link.pace.clock.free);

		/* Arrivals of an instant precede the decision. */
		if (waiting && at < event[0]) {
			now = at;
			if (send(&waiting, now, &misses))
				waiting--;
			else
				now = lx_min(lx_next_event(&pipeline, &config), event[0]);
			continue;
		}
		if (!events)
			break;
		now = event[0];
		if (event[2]) {
			requested = event[1];
			wanted++;
		} else {
			arrive(&waiting, now, number++, event[1] >> 32, event[1]);
		}
		event[0] = LX_NEVER;
		if (--events)
			must(fread(event, sizeof(event), 1, stdin), 1);
	}
	printf("r %llu %llu\n", misses, state.late_rate_change);
}

int main(void)
{
	unsigned head[8], i;
	u64 events;

	must(fread(head, sizeof(head), 1, stdin), 1);
	policy = head[0];
	slot_count = head[1];
	own.slots = slot_count;
	managed = head[2];
	queue_count = head[3];
	order_count = head[4];
	table_count = head[5];
	plan_count = head[6];
	served_count = head[7];
	allocate_memory();
	read_curves();
	plans = calloc(plan_count, sizeof(*plans));
	must(plans != NULL, 1);
	for (i = 0; i < plan_count; i++) {
		must(fread(&plans[i].config, sizeof(plans[i].config), 1, stdin), 1);
		must(fread(&plans[i].shed, sizeof(u64), 1, stdin), 1);
		plans[i].rate_only = 1;
	}
	while (fread(&events, sizeof(events), 1, stdin) == 1)
		run(events);
	return 0;
}
