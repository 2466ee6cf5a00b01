/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Key of a packet within its class: keyed hashes of its flow, source and destination, and its ECN
 * field (crates/link/src/packet.rs, crates/link/src/ecn.rs). All zero where no class has flow queues
 * or an AQM.
 */
#ifndef LAXITY_FLOW_KEY_H
#define LAXITY_FLOW_KEY_H

#include "types.h"

/* ECN field (RFC 3168, section 5). */
enum lx_ecn { LX_NOT_ECT, LX_ECT1, LX_ECT0, LX_CE };

/* Identity of a flow: QueueBy in crates/link/src/config.rs, or nothing. */
enum lx_queue_by {
	LX_BY_FLOW,
	LX_BY_SOURCE,
	LX_BY_DESTINATION,
	LX_BY_HOST_AND_FLOW,
	LX_BY_NONE,
};

struct lx_flow_key {
	u32 hash;
	u16 source;
	u16 destination;
	/* As the packet arrived. */
	u8 ecn;
	/* The program has set CE since, for a mark that the packet's queue owed. */
	u8 marked;
};

/* ECN-capable, or marked already. */
LX_INLINE u8 lx_ecn_capable(u8 ecn)
{
	return ecn != LX_NOT_ECT;
}

/* Belongs in the low-latency queue (RFC 9331, section 5.1). */
LX_INLINE u8 lx_ecn_l4s(u8 ecn)
{
	return ecn == LX_ECT1 || ecn == LX_CE;
}

#endif
