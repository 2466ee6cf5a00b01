/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * State of one link: packets that wait, the plan in force, statistics.
 */
#ifndef LAXITY_QDISC_STATE_H
#define LAXITY_QDISC_STATE_H

/* Before the headers that it configures. */
#include "own.h"

#include <laxity/classify.h>
#include <laxity/counts.h>
#include <laxity/pace.h>
#include <laxity/pipeline.h>

/* The loader sets the number of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_slot);
} slots SEC(".maps");

/* Queues of best-effort classes, their order by class, and their hosts. The loader sets the numbers. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_flow_queue);
} flow_queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_flow_order);
} flow_orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_host_counts);
} host_counts SEC(".maps");

/* Flows with service curves. The loader sets the number and writes the curves. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lx_served_flow);
} served_flows SEC(".maps");

/* Text stored by the loader, so that it lives as long as the instance. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u64));
} about SEC(".maps");

LX_INLINE struct lx_slot *lx_slot(u32 i)
{
	return bpf_map_lookup_elem(&slots, &i);
}

LX_INLINE struct lx_flow_queue *lx_flow_queue(u32 i)
{
	return bpf_map_lookup_elem(&flow_queues, &i);
}

LX_INLINE struct lx_flow_order *lx_flow_order(u32 i)
{
	return bpf_map_lookup_elem(&flow_orders, &i);
}

LX_INLINE struct lx_host_counts *lx_host_counts(u32 i)
{
	return bpf_map_lookup_elem(&host_counts, &i);
}

LX_INLINE struct lx_served_flow *lx_served_flow(u32 i)
{
	return bpf_map_lookup_elem(&served_flows, &i);
}

struct lx_config config SEC(".data.config");
struct lxl_match_rules rules SEC(".data.rules");
struct lx_counts counts[128] SEC(".data.counts");
struct lx_pipeline pipeline SEC(".data.pipeline");

/* Since the link came up. */
struct lx_stalls stalls SEC(".data.stalls");

struct {
	struct lx_pace pace;
	/* Time for which the watchdog is set; zero if it is not. */
	u64 armed;
	/* Transmission time of the last packet. */
	u64 lasted;
	/* Bit i: real-time flow i has no reservation under the plan in force. */
	u64 shed;
	/* Rate of the plan in force; the link's has been lower since then if `slowed`. */
	u64 plan_rate;
	u64 slowed;
} link SEC(".data.link");

/* Read by the loader. */
struct lx_link_state {
	u32 attached;
	/* Number of the plan in force. */
	u32 applied;
	/* Real-time packets late because the rate fell after they were accepted. */
	u64 late_rate_change;
};

struct lx_link_state state SEC(".data.state");

#endif
