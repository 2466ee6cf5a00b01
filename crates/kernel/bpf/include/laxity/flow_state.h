/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The queues of best-effort classes, one for each flow where a class has flow queues, and the memory
 * that the program provides for them.
 */
#ifndef LAXITY_FLOW_STATE_H
#define LAXITY_FLOW_STATE_H

#include "codel.h"
#include "queue.h"

enum lx_flow_phase {
	LX_FLOW_IDLE,
	/* In its first quantum. */
	LX_FLOW_NEW,
	/* In rounds. */
	LX_FLOW_OLD,
};

struct lx_flow_queue {
	struct lx_queue packets;
	u32 nr_packets;
	/* ECN marks that it owes; at most its packets, and lx_spare_marks more. */
	u32 owed;
	/* On the wire. */
	u64 bytes;
	/* Deficit of DRR++, in bytes on the wire. */
	s64 deficit;
	/* The hash of the flow that had it last. */
	u32 tag;
	/* Next queue in the same round. */
	u32 next;
	/* Neighbours in its list by size, and the list (lx_fattest). */
	u32 list_next;
	u32 list_prev;
	u16 list;
	/* Fraction of a byte of quantum that it has left, in 2^-16. */
	u16 carry;
	u16 source;
	u16 destination;
	/* enum lx_flow_phase. */
	u8 state;
	/* Counts as a flow of its hosts. */
	u8 bulk;
	u8 padding[6];
	struct lx_codel codel;
};

/* Numbers of bulk flows by host. Hosts are distinguished by 16 bits of their hash. */
#define LX_HOSTS 65536

struct lx_host_counts {
	u16 flows[LX_HOSTS];
};

/* Queue i of all classes, and table i of hosts; NULL beyond the last one. Defined by the program. */
LX_INLINE struct lx_flow_queue *lx_flow_queue(u32 i);
LX_INLINE struct lx_host_counts *lx_host_counts(u32 i);

#endif
