/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The memory of a link in user space: slots and flow queues, of the numbers that the input names. A
 * driver defines LX_PACKET before it includes this header.
 */
#ifndef LAXITY_TESTS_LINK_MEMORY_H
#define LAXITY_TESTS_LINK_MEMORY_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <laxity/buffer.h>
#include <laxity/flow_queue.h>
#include <laxity/service_deadlines.h>

static struct lx_slot *slots;
static struct lx_flow_queue *queues;
static struct lx_flow_order *orders;
static struct lx_host_counts *hosts;
static struct lx_served_flow *served;
static unsigned slot_count, queue_count, order_count, table_count, served_count;

static struct lx_slot *lx_slot(unsigned i)
{
	return i < slot_count ? &slots[i] : NULL;
}

static struct lx_flow_queue *lx_flow_queue(unsigned i)
{
	return i < queue_count ? &queues[i] : NULL;
}

static struct lx_flow_order *lx_flow_order(unsigned i)
{
	return i < order_count ? &orders[i] : NULL;
}

static struct lx_host_counts *lx_host_counts(unsigned i)
{
	return i < table_count ? &hosts[i] : NULL;
}

static struct lx_served_flow *lx_served_flow(unsigned i)
{
	return i < served_count ? &served[i] : NULL;
}

static void must(size_t got, size_t wanted)
{
	if (got != wanted) {
		fprintf(stderr, "input ends early\n");
		exit(2);
	}
}

static void allocate_memory(void)
{
	slots = calloc(slot_count, sizeof(*slots));
	queues = calloc(queue_count + 1, sizeof(*queues));
	orders = calloc(order_count + 1, sizeof(*orders));
	hosts = calloc(table_count + 1, sizeof(*hosts));
	served = calloc(served_count + 1, sizeof(*served));
	must(slots && queues && orders && hosts && served, 1);
}

/* Reads the curves of flows that have one. */
static void read_curves(void)
{
	unsigned i;

	for (i = 0; i < served_count; i++)
		must(fread(&served[i], offsetof(struct lx_served_flow, last_at), 1, stdin), 1);
}

#endif
