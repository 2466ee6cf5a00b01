/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Classifies packets: the first rule, in the order of the scenario, all of whose conditions hold. A
 * condition on a field that the packet lacks does not hold. See crates/link/src/classify.rs.
 */
#ifndef LAXITY_CLASSIFY_H
#define LAXITY_CLASSIFY_H

#include "types.h"

#define LX_MAX_RULES 128

/* Conditions of a rule, and known fields of a packet. */
enum lx_field {
	LX_DSCP = 1 << 0,
	LX_PROTOCOL = 1 << 1,
	LX_SOURCE = 1 << 2,
	LX_DESTINATION = 1 << 3,
	LX_SPORT = 1 << 4,
	LX_DPORT = 1 << 5,
	LX_MARK = 1 << 6,
	LX_PRIORITY = 1 << 7,
	/* With an address: it is an IPv6 address. */
	LX_IPV6 = 1 << 8,
};

/* The 16 bytes of an address in network order; IPv4 uses the first four. */
struct lx_address {
	u64 half[2];
};

struct lxl_match_rule {
	struct lx_address source, source_mask;
	struct lx_address destination, destination_mask;
	u32 fields;
	u32 flow;
	u32 mark;
	u32 priority;
	u16 sport[2];
	u16 dport[2];
	u8 dscp;
	u8 protocol;
	u8 padding[6];
};

struct lxl_packet_key {
	struct lx_address source, destination;
	u32 fields;
	u32 mark;
	u32 priority;
	u16 sport, dport;
	u8 dscp;
	u8 protocol;
};

struct lxl_match_rules {
	struct lxl_match_rule rule[LX_MAX_RULES];
	/* Flow by code point, if rules match only these; `nr_rules` is 0 then. */
	u16 by_dscp[64];
	u32 nr_rules;
	/* Union of the conditions of all rules. */
	u32 fields;
	/* Flow of packets that match no rule. */
	u32 default_flow;
	u32 padding;
};

LX_INLINE u8 lx_prefix_matches(const struct lx_address *a, const struct lx_address *mask,
			       const struct lx_address *prefix)
{
	return (a->half[0] & mask->half[0]) == prefix->half[0] &&
	       (a->half[1] & mask->half[1]) == prefix->half[1];
}

LX_INLINE u8 lx_rule_matches(const struct lxl_match_rule *r, const struct lxl_packet_key *k)
{
	u32 f = r->fields;

	if (f & ~LX_IPV6 & ~k->fields)
		return 0;
	if ((f & LX_DSCP) && r->dscp != k->dscp)
		return 0;
	if ((f & LX_PROTOCOL) && r->protocol != k->protocol)
		return 0;
	if ((f & LX_MARK) && r->mark != k->mark)
		return 0;
	if ((f & LX_PRIORITY) && r->priority != k->priority)
		return 0;
	if ((f & LX_SPORT) && (k->sport < r->sport[0] || k->sport > r->sport[1]))
		return 0;
	if ((f & LX_DPORT) && (k->dport < r->dport[0] || k->dport > r->dport[1]))
		return 0;
	if ((f & (LX_SOURCE | LX_DESTINATION)) && ((f ^ k->fields) & LX_IPV6))
		return 0;
	if ((f & LX_SOURCE) && !lx_prefix_matches(&k->source, &r->source_mask, &r->source))
		return 0;
	if ((f & LX_DESTINATION) &&
	    !lx_prefix_matches(&k->destination, &r->destination_mask, &r->destination))
		return 0;
	return 1;
}

LX_INLINE u32 lx_classify(const struct lxl_match_rules *rules, const struct lxl_packet_key *k)
{
	u32 i;

	if (!rules->nr_rules)
		return k->fields & LX_DSCP ? *lx_at(rules->by_dscp, k->dscp & 63)
					   : rules->default_flow;
	for (i = lx_zero; i < rules->nr_rules && can_loop; i++)
		if (lx_rule_matches(lx_at(rules->rule, i), k))
			return lx_at(rules->rule, i)->flow;
	return rules->default_flow;
}

#endif
