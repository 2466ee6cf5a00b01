/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * The flow that a packet belongs to, and its hashes. Reads headers as FlowIdentity in
 * crates/trace/src/identity.rs, where the rules stand.
 */
#ifndef LAXITY_FLOW_IDENTITY_H
#define LAXITY_FLOW_IDENTITY_H

#include "flow_key.h"
#include "siphash.h"

enum {
	LX_ETH_IPV4 = 0x0800,
	LX_ETH_IPV6 = 0x86dd,
	LX_ETH_8021Q = 0x8100,
	LX_ETH_8021AD = 0x88a8,
	/* Stacks of tags before 802.1ad. */
	LX_ETH_QINQ = 0x9100,
	LX_ETH_PPPOE_SESSION = 0x8864,
	/* Below, it is the length of an LLC frame. */
	LX_ETH_MIN_TYPE = 0x600,
	/* Protocols and extension headers of IP. */
	LX_HOP_BY_HOP = 0,
	LX_ICMP = 1,
	LX_IPIP = 4,
	LX_TCP = 6,
	LX_UDP = 17,
	LX_DCCP = 33,
	LX_IPV6_IN_IP = 41,
	LX_ROUTING = 43,
	LX_FRAGMENT = 44,
	LX_GRE = 47,
	LX_ESP = 50,
	LX_AUTHENTICATION = 51,
	LX_ICMPV6 = 58,
	LX_DESTINATION_OPTIONS = 60,
	LX_SCTP = 132,
	LX_MOBILITY = 135,
	LX_UDP_LITE = 136,
	LX_HOST_IDENTITY = 139,
	LX_SHIM6 = 140,
};

#define LX_MAX_VLAN_TAGS 2
#define LX_MAX_EXTENSIONS 6

/* Variants of what distinguishes flows of a protocol between two addresses. */
enum lx_subflow { LX_NO_SUBFLOW, LX_PORTS, LX_FLOW_LABEL, LX_SPI, LX_ICMP_ID };

/* FlowIdentity::to_bytes, as words in little endian order. */
struct lx_flow_identity {
	u64 source[2];
	u64 destination[2];
	/* version | protocol << 8 | subflow << 16 | value in network order << 32 */
	u64 rest;
};

#define LX_IDENTITY_WORDS (sizeof(struct lx_flow_identity) / sizeof(u64))

/* A packet's bytes. */
struct lx_packet_bytes {
	void *packet;
	u32 length;
};

/* `n` bytes from `at` on, in place or copied to the buffer; NULL beyond the end. Defined by the
 * program. */
LX_INLINE const u8 *lx_packet_slice(void *packet, u32 at, u8 *buffer, u32 n);

/* An IP header and its extension headers. */
struct lx_ip {
	u64 source[2];
	u64 destination[2];
	/* Where the header above IP is, if it was reached. */
	u32 at;
	/* IPv6 flow label; 0 for none. */
	u32 label;
	u8 version;
	u8 protocol;
	u8 fragment;
	u8 reached;
};

LX_INLINE u16 lx_be16(const u8 *p)
{
	return p[0] << 8 | p[1];
}

LX_INLINE u32 lx_le32(const u8 *p)
{
#ifdef __bpf__
	/* The verifier does not ask for alignment. */
	return *(const u32 *)p;
#else
	return p[0] | p[1] << 8 | p[2] << 16 | (u32)p[3] << 24;
#endif
}

LX_INLINE u64 lx_le64(const u8 *p)
{
	return (u64)lx_le32(p + 4) << 32 | lx_le32(p);
}

/* ::ffff:a.b.c.d (RFC 4291 section 2.5.5.2). */
LX_INLINE void lx_mapped_ipv4(u64 *address, const u8 *p)
{
	address[0] = 0;
	address[1] = (u64)lx_le32(p) << 32 | 0xffff0000;
}

LX_INLINE u8 lx_is_tag(u16 type)
{
	return type == LX_ETH_8021Q || type == LX_ETH_8021AD || type == LX_ETH_QINQ;
}

/* EtherType behind VLAN tags, with `*at` moved there; that of a tag if there are too many. */
LX_INLINE u16 lx_pass_tags(const struct lx_packet_bytes *p, u16 type, u32 *at)
{
	u8 buffer[4];
	u32 tags;

	for (tags = 0; tags < LX_MAX_VLAN_TAGS && lx_is_tag(type); tags++) {
		const u8 *b = lx_packet_slice(p->packet, *at, buffer, 4);

		if (!b)
			break;
		type = lx_be16(b + 2);
		*at += 4;
	}
	return type;
}

/* Passes over VLAN tags, SNAP and PPPoE. */
LX_INLINE u16 lx_network_type(const struct lx_packet_bytes *p, u16 type, u32 *at)
{
	u8 buffer[8];
	const u8 *b;

	type = lx_pass_tags(p, type, at);
	if (type < LX_ETH_MIN_TYPE) {
		b = lx_packet_slice(p->packet, *at, buffer, 8);
		if (!b || b[0] != 0xaa || b[1] != 0xaa || b[2] != 3 || b[3] || b[4] || b[5])
			return 0;
		type = lx_be16(b + 6);
		*at += 8;
	}
	if (type == LX_ETH_PPPOE_SESSION) {
		b = lx_packet_slice(p->packet, *at, buffer, 8);
		if (!b)
			return 0;
		*at += 8;
		switch (lx_be16(b + 6)) {
		case 0x0021:
			return LX_ETH_IPV4;
		case 0x0057:
			return LX_ETH_IPV6;
		}
		return 0;
	}
	return type;
}

/* Returns true unless an extension header follows that is to be passed over. */
LX_INLINE u8 lx_at_payload(const struct lx_ip *ip)
{
	if (ip->fragment)
		return 1;
	switch (ip->protocol) {
	case LX_AUTHENTICATION:
		return 0;
	case LX_HOP_BY_HOP:
	case LX_ROUTING:
	case LX_FRAGMENT:
	case LX_DESTINATION_OPTIONS:
	case LX_MOBILITY:
	case LX_HOST_IDENTITY:
	case LX_SHIM6:
		return ip->version == 4;
	}
	return 1;
}

/* Moves on by a header's size; false beyond the end. */
LX_INLINE u8 lx_pass_over(const struct lx_packet_bytes *p, u32 *at, u32 size)
{
	if (*at > p->length || size > p->length - *at)
		return 0;
	*at += size;
	return 1;
}

/* Passes over extension headers, as far as a fragment's; returns false if they are cut off or too
 * many. */
LX_INLINE u8 lx_pass_extensions(const struct lx_packet_bytes *p, struct lx_ip *ip)
{
	u32 i;

	for (i = lx_zero; i < LX_MAX_EXTENSIONS && can_loop; i++) {
		u8 buffer[4];
		const u8 *b;
		u32 size;
		u8 next;

		if (lx_at_payload(ip))
			return 1;
		b = lx_packet_slice(p->packet, ip->at, buffer, 2);
		if (!b)
			return 0;
		next = b[0];
		size = (b[1] + 1) * 8;
		if (ip->protocol == LX_AUTHENTICATION) {
			size = (b[1] + 2) * 4;
		} else if (ip->protocol == LX_FRAGMENT) {
			size = 8;
			b = lx_packet_slice(p->packet, ip->at, buffer, 4);
			if (!b || ip->at + 8 > p->length)
				return 0;
			/* An offset, or more fragments. Others are whole packets (RFC 6946). */
			ip->fragment = (lx_be16(b + 2) & 0xfff9) != 0;
		}
		if (!lx_pass_over(p, &ip->at, size))
			return 0;
		ip->protocol = next;
	}
	return lx_at_payload(ip);
}

/* Reads an IP header and passes over its extension headers; returns false without addresses. */
LX_INLINE u8 lx_read_ip(const struct lx_packet_bytes *p, u16 type, u32 at, struct lx_ip *ip)
{
	u8 buffer[40];
	const u8 *b;

	if (type == LX_ETH_IPV4) {
		b = lx_packet_slice(p->packet, at, buffer, 20);
		if (!b || b[0] >> 4 != 4 || (b[0] & 15) < 5)
			return 0;
		lx_mapped_ipv4(ip->source, b + 12);
		lx_mapped_ipv4(ip->destination, b + 16);
		ip->version = 4;
		ip->protocol = b[9];
		ip->label = 0;
		/* More fragments, or an offset. */
		ip->fragment = (lx_be16(b + 6) & 0x3fff) != 0;
		ip->at = at;
		ip->reached = lx_pass_over(p, &ip->at, (b[0] & 15) * 4);
	} else if (type == LX_ETH_IPV6) {
		b = lx_packet_slice(p->packet, at, buffer, 40);
		if (!b || b[0] >> 4 != 6)
			return 0;
		ip->source[0] = lx_le64(b + 8);
		ip->source[1] = lx_le64(b + 16);
		ip->destination[0] = lx_le64(b + 24);
		ip->destination[1] = lx_le64(b + 32);
		ip->version = 6;
		ip->protocol = b[6];
		ip->label = (b[1] & 15) << 16 | lx_be16(b + 2);
		ip->fragment = 0;
		ip->at = at + 40;
		ip->reached = 1;
	} else {
		return 0;
	}
	if (ip->reached)
		ip->reached = lx_pass_extensions(p, ip);
	return 1;
}

/* EtherType of the inner packet of a tunnel, at `*at`; 0 without a tunnel. */
LX_INLINE u16 lx_tunnelled(const struct lx_packet_bytes *p, const struct lx_ip *ip, u32 *at)
{
	u8 buffer[4];
	const u8 *b;

	*at = ip->at;
	if (ip->fragment || !ip->reached)
		return 0;
	switch (ip->protocol) {
	case LX_IPIP:
		return LX_ETH_IPV4;
	case LX_IPV6_IN_IP:
		return LX_ETH_IPV6;
	case LX_GRE:
		/* Version 0 without checksum, key and sequence number (RFC 2784, RFC 2890). */
		b = lx_packet_slice(p->packet, ip->at, buffer, 4);
		*at += 4;
		return b && !b[0] && !b[1] ? lx_be16(b + 2) : 0;
	}
	return 0;
}

/* Whether an ICMP message has an identifier: queries and replies of RFC 792, 950, 4443, 8335. */
LX_INLINE u8 lx_icmp_has_id(u8 version, u8 kind)
{
	if (version == 6)
		return kind == 128 || kind == 129 || kind == 160 || kind == 161;
	return kind == 0 || kind == 8 || (kind >= 13 && kind <= 18) || kind == 42 || kind == 43;
}

/* Reads the fields of the header above IP; LX_NO_SUBFLOW if there are none or they are out of
 * reach. */
LX_INLINE enum lx_subflow lx_upper(const struct lx_packet_bytes *p, const struct lx_ip *ip,
				   u32 *value)
{
	u8 buffer[8], kind;
	const u8 *b;

	switch (ip->protocol) {
	case LX_TCP:
	case LX_UDP:
	case LX_DCCP:
	case LX_SCTP:
	case LX_UDP_LITE:
	case LX_ESP:
		b = lx_packet_slice(p->packet, ip->at, buffer, 4);
		if (!b)
			return LX_NO_SUBFLOW;
		*value = lx_le32(b);
		return ip->protocol == LX_ESP ? LX_SPI : LX_PORTS;
	case LX_ICMP:
	case LX_ICMPV6:
		if ((ip->protocol == LX_ICMPV6) != (ip->version == 6))
			return LX_NO_SUBFLOW;
		b = lx_packet_slice(p->packet, ip->at, buffer, 1);
		if (!b)
			return LX_NO_SUBFLOW;
		kind = b[0];
		*value = kind;
		if (!lx_icmp_has_id(ip->version, kind))
			return LX_ICMP_ID;
		b = lx_packet_slice(p->packet, ip->at, buffer, 6);
		if (!b)
			return LX_NO_SUBFLOW;
		*value = kind | b[4] << 16 | (u32)b[5] << 24;
		return LX_ICMP_ID;
	}
	return LX_NO_SUBFLOW;
}

LX_INLINE void lx_identify(const struct lx_packet_bytes *p, const struct lx_ip *ip,
			   struct lx_flow_identity *id)
{
	enum lx_subflow subflow = LX_NO_SUBFLOW;
	u32 value = 0;

	if (!ip->fragment) {
		if (ip->reached)
			subflow = lx_upper(p, ip, &value);
		if (subflow == LX_NO_SUBFLOW) {
			value = __builtin_bswap32(ip->label);
			subflow = ip->label ? LX_FLOW_LABEL : LX_NO_SUBFLOW;
		}
	}
	id->source[0] = ip->source[0];
	id->source[1] = ip->source[1];
	id->destination[0] = ip->destination[0];
	id->destination[1] = ip->destination[1];
	id->rest = (u64)value << 32 | subflow << 16 | ip->protocol << 8 | ip->version;
}

/*
 * The flow of a packet whose EtherType is `type` and whose headers behind it start at `at`. Without
 * readable addresses it is all zero. Where the inner packet of a tunnel cannot be read, the protocol
 * is the tunnel's.
 */
LX_INLINE void lx_flow_identity(const struct lx_packet_bytes *p, u16 type, u32 at,
				struct lx_flow_identity *id)
{
	struct lx_ip ip = {}, inner = {};

	*id = (struct lx_flow_identity){};
	type = lx_network_type(p, type, &at);
	if (!lx_read_ip(p, type, at, &ip))
		return;
	type = lx_tunnelled(p, &ip, &at);
	if (type && lx_read_ip(p, type, at, &inner))
		lx_identify(p, &inner, id);
	else
		lx_identify(p, &ip, id);
}

/* ECN field of a packet of IP behind VLAN tags at most, of which the kernel can set CE; else that of
 * packets that are not ECN-capable. */
LX_INLINE u8 lx_ecn_field(const struct lx_packet_bytes *p, u16 type, u32 at)
{
	u8 buffer[2];
	const u8 *b;

	type = lx_pass_tags(p, type, &at);
	if (type != LX_ETH_IPV4 && type != LX_ETH_IPV6)
		return LX_NOT_ECT;
	b = lx_packet_slice(p->packet, at, buffer, 2);
	if (!b || b[0] >> 4 != (type == LX_ETH_IPV4 ? 4 : 6))
		return LX_NOT_ECT;
	return (type == LX_ETH_IPV4 ? b[1] : b[1] >> 4) & 3;
}

/* Hash of a host: 17 bytes, the version and the address, so that an IPv4 host differs from the IPv6
 * host of its mapped address. */
LX_INLINE u64 lx_hash_host(const struct lx_sip_key *key, u8 version, const u64 *address)
{
	u64 words[2] = { address[0] << 8 | version, address[1] << 8 | address[0] >> 56 };

	return lx_siphash(key, words, 2, address[1] >> 56, 1);
}

/* Key of a flow: its hash, and from bit 32 and 48 on those of its source and destination host. See
 * `flow_key` in crates/link/src/packet.rs. */
LX_INLINE u64 lx_flow_hash(const struct lx_sip_key *key, u32 by, const struct lx_flow_identity *id)
{
	u8 version = id->rest;
	u64 flow;

	if (by == LX_BY_SOURCE)
		return (u32)lx_hash_host(key, version, id->source);
	if (by == LX_BY_DESTINATION)
		return (u32)lx_hash_host(key, version, id->destination);
	flow = (u32)lx_siphash(key, (const u64 *)id, LX_IDENTITY_WORDS, 0, 0);
	if (by == LX_BY_HOST_AND_FLOW)
		flow |= (lx_hash_host(key, version, id->source) & 0xffff) << 32 |
			lx_hash_host(key, version, id->destination) << 48;
	return flow;
}

#endif
