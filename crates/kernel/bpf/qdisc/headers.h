/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Parses a packet into the key that rules match: IPv4 and IPv6, with or without VLAN tags. Reads
 * the packet only if a rule needs it.
 */
#ifndef LAXITY_QDISC_HEADERS_H
#define LAXITY_QDISC_HEADERS_H

#include <laxity/classify.h>
#include <laxity/flow_identity.h>
#include <laxity/flow_key.h>

#include "own.h"

#define LX_IN_HEADERS (LX_DSCP | LX_PROTOCOL | LX_SOURCE | LX_DESTINATION | LX_SPORT | LX_DPORT)

#define ETHERNET_LENGTH 14
#define IPV4_LENGTH 20
#define IPV6_LENGTH 40

LX_INLINE const u8 *lx_packet_slice(void *packet, u32 at, u8 *buffer, u32 n)
{
	return bpf_dynptr_slice(packet, at, buffer, n);
}

LX_INLINE u8 lx_has_ports(u8 protocol)
{
	return protocol == LX_UDP || protocol == LX_TCP || protocol == LX_DCCP || protocol == LX_SCTP ||
	       protocol == LX_UDP_LITE;
}

LX_INLINE void lx_ports(struct lxl_packet_key *k, struct bpf_dynptr *packet, u32 at)
{
	u8 buffer[4];
	const u8 *p;

	if (!lx_has_ports(k->protocol))
		return;
	p = bpf_dynptr_slice(packet, at, buffer, sizeof(buffer));
	if (!p)
		return;
	k->sport = lx_be16(p);
	k->dport = lx_be16(p + 2);
	k->fields |= LX_SPORT | LX_DPORT;
}

LX_INLINE void lx_ipv4(struct lxl_packet_key *k, struct bpf_dynptr *packet, u32 at, u32 wanted)
{
	u8 buffer[IPV4_LENGTH];
	const u8 *p = bpf_dynptr_slice(packet, at, buffer, sizeof(buffer));

	if (!p || p[0] >> 4 != 4)
		return;
	k->dscp = p[1] >> 2;
	k->protocol = p[9];
	k->source.half[0] = lx_le32(p + 12);
	k->destination.half[0] = lx_le32(p + 16);
	k->fields |= LX_DSCP | LX_PROTOCOL | LX_SOURCE | LX_DESTINATION;
	/* Only the first fragment has ports. */
	if ((wanted & (LX_SPORT | LX_DPORT)) && !(lx_be16(p + 6) & 0x1fff))
		lx_ports(k, packet, at + (p[0] & 15) * 4);
}

LX_INLINE void lx_ipv6(struct lxl_packet_key *k, struct bpf_dynptr *packet, u32 at, u32 wanted)
{
	u8 buffer[IPV6_LENGTH];
	const u8 *p = bpf_dynptr_slice(packet, at, buffer, sizeof(buffer));
	u32 i;
	u8 next;

	if (!p || p[0] >> 4 != 6)
		return;
	k->dscp = (p[0] & 15) << 2 | p[1] >> 6;
	k->source.half[0] = lx_le64(p + 8);
	k->source.half[1] = lx_le64(p + 16);
	k->destination.half[0] = lx_le64(p + 24);
	k->destination.half[1] = lx_le64(p + 32);
	k->fields |= LX_DSCP | LX_SOURCE | LX_DESTINATION | LX_IPV6;
	if (!(wanted & (LX_PROTOCOL | LX_SPORT | LX_DPORT)))
		return;
	next = p[6];
	at += IPV6_LENGTH;
	for (i = 0; i < LX_MAX_EXTENSIONS; i++) {
		u8 extension[8];
		const u8 *e;

		if (next != LX_HOP_BY_HOP && next != LX_ROUTING && next != LX_FRAGMENT &&
		    next != LX_DESTINATION_OPTIONS)
			break;
		e = bpf_dynptr_slice(packet, at, extension, sizeof(extension));
		if (!e)
			return;
		if (next == LX_FRAGMENT && (lx_be16(e + 2) & 0xfff8)) {
			k->protocol = e[0];
			k->fields |= LX_PROTOCOL;
			return;
		}
		at += next == LX_FRAGMENT ? 8 : (e[1] + 1) * 8;
		next = e[0];
	}
	k->protocol = next;
	k->fields |= LX_PROTOCOL;
	if (wanted & (LX_SPORT | LX_DPORT))
		lx_ports(k, packet, at);
}

/* Parses an IPv4 packet whose headers are linear, `at` bytes from skb->data. Locally sent packets
 * are. */
LX_INLINE u8 lx_linear_ipv4(struct lxl_packet_key *k, struct sk_buff *skb, u32 at, u32 wanted)
{
	u32 end = skb->len - skb->data_len;
	const unsigned char *start = skb->data + at;
	const struct iphdr *ip;
	const struct udphdr *ports;
	u8 first;
	u32 length;

	if (at + IPV4_LENGTH > end)
		return 0;
	ip = bpf_rdonly_cast(start, bpf_core_type_id_kernel(struct iphdr));
	first = *(const volatile u8 *)ip;
	if (first >> 4 != 4)
		return 1;
	k->dscp = ip->tos >> 2;
	k->fields |= LX_DSCP;
	if (!(wanted & (LX_IN_HEADERS & ~LX_DSCP)))
		return 1;
	k->protocol = ip->protocol;
	k->source.half[0] = ip->saddr;
	k->destination.half[0] = ip->daddr;
	k->fields |= LX_PROTOCOL | LX_SOURCE | LX_DESTINATION;
	/* Only the first fragment has ports. */
	if (!(wanted & (LX_SPORT | LX_DPORT)) || !lx_has_ports(k->protocol) ||
	    (ip->frag_off & __builtin_bswap16(0x1fff)))
		return 1;
	length = (first & 15) * 4;
	if (at + length + sizeof(u32) > end)
		return 0;
	ports = bpf_rdonly_cast(start + length, bpf_core_type_id_kernel(struct udphdr));
	k->sport = __builtin_bswap16(ports->source);
	k->dport = __builtin_bswap16(ports->dest);
	k->fields |= LX_SPORT | LX_DPORT;
	return 1;
}

/* EtherType of a packet, and where what follows it starts. VLAN tags precede the network header. */
LX_INLINE u16 lx_ether_type(struct sk_buff *skb, u32 *at)
{
	u16 type = __builtin_bswap16(skb->protocol);

	*at = skb->network_header - (u32)((u64)skb->data - (u64)skb->head);
	if (type == LX_ETH_8021Q || type == LX_ETH_8021AD)
		*at = ETHERNET_LENGTH;
	return type;
}

/* Flow or class of a packet. `ctx` is what dynptrs are made from: the packet itself, or the context
 * of a program at tcx. */
LX_INLINE u32 lx_flow_of(const struct lxl_match_rules *rules, struct sk_buff *skb, void *ctx)
{
	struct lxl_packet_key key = {};
	struct bpf_dynptr packet;
	struct lx_packet_bytes bytes = { &packet, skb->len };
	u16 type;
	u32 at;

	key.mark = skb->mark;
	key.priority = skb->priority;
	key.fields = LX_MARK | LX_PRIORITY;
	if (!(rules->fields & LX_IN_HEADERS))
		return lx_classify(rules, &key);
	type = lx_ether_type(skb, &at);
	if (type == LX_ETH_IPV4 && lx_linear_ipv4(&key, skb, at, rules->fields))
		return lx_classify(rules, &key);
	if (bpf_dynptr_from_skb(ctx, 0, &packet))
		return lx_classify(rules, &key);
	type = lx_pass_tags(&bytes, type, &at);
	if (type == LX_ETH_IPV4)
		lx_ipv4(&key, &packet, at, rules->fields);
	else if (type == LX_ETH_IPV6)
		lx_ipv6(&key, &packet, at, rules->fields);
	return lx_classify(rules, &key);
}

/* Hashes the flow and hosts of a packet by an enum lx_queue_by, and reads its ECN field. Has a stack
 * frame of its own. */
static __attribute__((noinline)) int lx_hash_packet(struct lx_packet_bytes *bytes, u32 type, u32 at, u32 by,
						    struct lx_flow_key *key)
{
	struct lx_flow_identity id;
	u64 hash;

	key->ecn = lx_ecn_field(bytes, type, at);
	if (by == LX_BY_NONE)
		return 0;
	lx_flow_identity(bytes, type, at, &id);
	hash = lx_flow_hash((const struct lx_sip_key *)&own.hash_key, by, &id);
	key->hash = hash;
	key->source = hash >> 32;
	key->destination = hash >> 48;
	return 0;
}

/* Key of a packet within its class. */
LX_INLINE void lx_flow_key_of(struct sk_buff *skb, void *ctx, u32 by, struct lx_flow_key *key)
{
	struct bpf_dynptr packet;
	struct lx_packet_bytes bytes = { &packet, skb->len };
	u32 at;
	u16 type = lx_ether_type(skb, &at);

	if (!bpf_dynptr_from_skb(ctx, 0, &packet))
		lx_hash_packet(&bytes, type, at, by, key);
}

#endif
