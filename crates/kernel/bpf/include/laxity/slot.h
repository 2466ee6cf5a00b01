/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* A waiting packet. */
#ifndef LAXITY_SLOT_H
#define LAXITY_SLOT_H

#include "types.h"

/* Type of `packet`; programs define it before they include a header. */
#ifndef LX_PACKET
#define LX_PACKET u64
#endif

struct lx_slot {
	/* The kernel's packet, or the number of a packet in tests. */
	LX_PACKET packet;
	union {
		/* Time at which it conforms while it is shaped, then its deadline. */
		u64 deadline;
		/* While it waits in a class whose packet is chosen at each decision: time for which
		 * real-time packets had been sent when it arrived, in ns. */
		u64 realtime;
	};
	u64 arrival;
	/* Length, and length on the wire. */
	u32 bytes;
	u32 wire;
	/* Neighbours in a queue; `next` also links free slots. */
	u32 next;
	u32 prev;
	u16 flow;
	/* Best effort, or a real-time packet beyond its envelope that is served as such. */
	u8 best_effort;
	u8 demoted;
	/* enum lx_ecn. */
	u8 ecn;
	/* Dropped by the AQM, which charges it: the link counts as busy for its length, and the packet is
	 * gone. */
	u8 dropped;
};

#endif
