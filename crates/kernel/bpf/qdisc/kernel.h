/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Kernel types and functions of the qdisc. Only the fields in use are declared; libbpf relocates
 * them against the running kernel's BTF, so no kernel headers are needed.
 */
#ifndef LAXITY_QDISC_KERNEL_H
#define LAXITY_QDISC_KERNEL_H

#include <laxity/bpf.h>

enum {
	NET_XMIT_SUCCESS = 0,
	NET_XMIT_DROP = 1,
	TCX_NEXT = -1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct netdev_queue {
	struct net_device *dev;
};

struct sk_buff {
	char cb[48];
	u32 len;
	u32 data_len;
	u32 priority;
	u32 mark;
	u16 vlan_tci;
	u16 protocol;
	u16 network_header;
	unsigned char *head;
	unsigned char *data;
};

/* Packet headers. Their first byte is read as a whole. */
struct iphdr {
	u8 tos;
	u16 frag_off;
	u8 protocol;
	u32 saddr;
	u32 daddr;
};

struct udphdr {
	u16 source;
	u16 dest;
};

struct qdisc_skb_head {
	u32 qlen;
};

struct gnet_stats_queue {
	u32 backlog;
	u32 drops;
	u32 overlimits;
};

struct Qdisc {
	u32 limit;
	u32 handle;
	u32 parent;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
};

struct qdisc_skb_cb {
	u32 pkt_len;
	/* __sk_buff.cb of the programs that run before the qdisc. */
	unsigned char data[20];
};

/* Context of programs at tcx. */
struct __sk_buff {
	u32 cb[5];
};

struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};

struct nlattr;
struct netlink_ext_ack;

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *arg, struct netlink_ext_ack *extack);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

#pragma clang attribute pop

/* Opaque; on the stack. */
struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

void bpf_kfree_skb(struct sk_buff *p) __ksym;
void bpf_qdisc_skb_drop(struct sk_buff *p, struct bpf_sk_buff_ptr *to_free) __ksym;
void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire, u64 delta_ns) __ksym;
void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
/* `skb` is the context of a program at tcx. */
int bpf_dynptr_from_skb(struct sk_buff *skb, u64 flags, struct bpf_dynptr *ptr) __ksym;
void *bpf_cast_to_kern_ctx(void *ctx) __ksym;
void *bpf_rdonly_cast(const void *at, u32 type) __ksym;
void *bpf_dynptr_slice(const struct bpf_dynptr *p, u32 offset, void *buffer, u32 size) __ksym;

static s64 (*const bpf_skb_pull_data)(struct __sk_buff *skb, u32 length) = (void *)39;
static s64 (*const bpf_skb_ecn_set_ce)(struct __sk_buff *skb) = (void *)97;

static inline u32 qdisc_pkt_len(const struct sk_buff *skb)
{
	return ((struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

#endif
