/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Constants of one copy of the programs, and how they configure the algorithm headers.
 */
#ifndef LAXITY_QDISC_OWN_H
#define LAXITY_QDISC_OWN_H

#include <laxity/siphash.h>

#include "kernel.h"

#define LX_PACKET struct sk_buff __kptr *
#define LX_POLICY own.policy
#define LX_MANAGED own.managed
#define LX_SERVED own.served

/* The verifier removes the code of other policies. */
struct lx_own {
	u32 policy;
	/* The interface of this copy: network namespace, index, and the qdisc's handle. */
	u32 net;
	u32 ifindex;
	u32 handle;
	/* Maximum number of waiting packets under any plan. */
	u32 slots;
	/* A class has flow queues or an AQM. */
	u32 managed;
	/* Secrets drawn at random: of the flows' hashes, and of the notes on packets (mark.h). */
	struct lx_sip_key hash_key;
	u64 note_secret;
	/* Number of flows with service curves. */
	u32 served;
};

const volatile struct lx_own own SEC(".rodata.own");

#endif
