/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Layout of the structures that the loader reads and writes.
 */
#ifndef LAXITY_QDISC_INTF_H
#define LAXITY_QDISC_INTF_H

#include "plan_change.h"

#include <laxity/layout.h>

LX_FIELD(lx_bucket, burst, 0, 8);
LX_FIELD(lx_bucket, rate, 8, 8);
LX_FIELD(lx_bucket, fill, 16, 8);
LX_SIZE(lx_bucket, 24);

LX_FIELD(lx_envelope, bucket, 0, 96);
LX_FIELD(lx_envelope, period, 96, 8);
LX_FIELD(lx_envelope, jitter, 104, 8);
LX_FIELD(lx_envelope, nr_buckets, 112, 4);
LX_FIELD(lx_envelope, max_packet, 116, 4);
LX_FIELD(lx_envelope, min_packet, 120, 4);
LX_SIZE(lx_envelope, 128);

LX_FIELD(lx_limit, limit, 0, 8);
LX_FIELD(lx_limit, reserved, 8, 8);
LX_FIELD(lx_limit, reserved_packets, 16, 8);
LX_FIELD(lx_limit, smallest, 24, 8);
LX_SIZE(lx_limit, 32);

LX_FIELD(lx_limits, total, 0, 8);
LX_FIELD(lx_limits, best_effort, 8, 8);
LX_FIELD(lx_limits, realtime_slots, 16, 8);
LX_FIELD(lx_limits, best_effort_slots, 24, 8);
LX_FIELD(lx_limits, committed, 32, 8);
LX_FIELD(lx_limits, committed_packets, 40, 8);
LX_SIZE(lx_limits, 48);

LX_FIELD(lx_flow, envelope, 0, 128);
LX_FIELD(lx_flow, limit, 128, 32);
LX_FIELD(lx_flow, deadline, 160, 8);
LX_FIELD(lx_flow, class, 168, 4);
LX_FIELD(lx_flow, excess, 172, 4);
LX_SIZE(lx_flow, 176);

LX_FIELD(lx_piece, above, 0, 8);
LX_FIELD(lx_piece, slope, 8, 8);
LX_FIELD(lx_piece, intercept, 16, 8);
LX_FIELD(lx_piece, horizon, 24, 8);
LX_SIZE(lx_piece, 32);

LX_FIELD(lx_service, piece, 0, 512);
LX_FIELD(lx_service, max_work, 512, 8);
LX_FIELD(lx_service, nr_pieces, 520, 4);
LX_FIELD(lx_service, mask, 524, 4);
LX_SIZE(lx_service, 528);

LX_FIELD(lx_curve_line, above, 0, 8);
LX_FIELD(lx_curve_line, rise, 8, 8);
LX_FIELD(lx_curve_line, per_byte, 16, 8);
LX_FIELD(lx_curve_line, offset, 24, 8);
LX_FIELD(lx_curve_line, horizon, 32, 8);
LX_SIZE(lx_curve_line, 40);

LX_FIELD(lx_served_flow, line, 0, 640);
LX_FIELD(lx_served_flow, nr_lines, 640, 4);
LX_FIELD(lx_served_flow, smallest, 644, 4);
LX_FIELD(lx_served_flow, last_at, 648, 8);
LX_SIZE(lx_served_flow, 33648);

LX_FIELD(lx_share, limit, 0, 32);
LX_FIELD(lx_share, cost, 32, 8);
LX_FIELD(lx_share, weight, 40, 8);
LX_SIZE(lx_share, 48);

LX_FIELD(lx_shares, class, 0, 768);
LX_FIELD(lx_shares, common, 768, 8);
LX_FIELD(lx_shares, kind, 776, 4);
LX_FIELD(lx_shares, nr_classes, 780, 4);
LX_FIELD(lx_shares, size, 784, 4);
LX_SIZE(lx_shares, 792);

LX_FIELD(lx_slack_flow, line, 0, 48);
LX_FIELD(lx_slack_flow, wire, 48, 8);
LX_FIELD(lx_slack_flow, counted, 56, 8);
LX_FIELD(lx_slack_flow, period, 64, 8);
LX_FIELD(lx_slack_flow, jitter, 72, 8);
LX_FIELD(lx_slack_flow, smallest, 80, 4);
LX_FIELD(lx_slack_flow, class, 84, 4);
LX_SIZE(lx_slack_flow, 88);

LX_FIELD(lx_slack_class, deadline, 0, 8);
LX_FIELD(lx_slack_class, rate, 8, 16);
LX_SIZE(lx_slack_class, 24);

LX_FIELD(lx_slack_config, flow, 0, 5632);
LX_FIELD(lx_slack_config, class, 5632, 768);
LX_FIELD(lx_slack_config, min_deadline, 6400, 8);
LX_FIELD(lx_slack_config, horizon, 6408, 8);
LX_FIELD(lx_slack_config, max_rate, 6416, 8);
LX_FIELD(lx_slack_config, downstream_backlog, 6424, 8);
LX_FIELD(lx_slack_config, shift, 6432, 4);
LX_FIELD(lx_slack_config, classes, 6436, 4);
LX_SIZE(lx_slack_config, 6440);

LX_FIELD(lx_codel_config, target, 0, 8);
LX_FIELD(lx_codel_config, interval, 8, 8);
LX_FIELD(lx_codel_config, least_bytes, 16, 8);
LX_SIZE(lx_codel_config, 24);

LX_FIELD(lx_aqm_config, kind, 0, 4);
LX_FIELD(lx_aqm_config, ecn, 4, 4);
LX_FIELD(lx_aqm_config, link_sojourn, 8, 4);
LX_FIELD(lx_aqm_config, ingress, 12, 4);
LX_FIELD(lx_aqm_config, codel, 16, 24);
LX_FIELD(lx_aqm_config, pi2_target, 40, 8);
LX_FIELD(lx_aqm_config, step, 48, 8);
LX_FIELD(lx_aqm_config, seed, 56, 8);
LX_SIZE(lx_aqm_config, 64);

LX_FIELD(lx_flow_config, first, 0, 4);
LX_FIELD(lx_flow_config, queues, 4, 4);
LX_FIELD(lx_flow_config, quantum, 8, 4);
LX_FIELD(lx_flow_config, sources, 12, 4);
LX_FIELD(lx_flow_config, destinations, 16, 4);
LX_FIELD(lx_flow_config, by, 20, 4);
LX_SIZE(lx_flow_config, 24);

LX_FIELD(lx_class_config, flows, 0, 24);
LX_FIELD(lx_class_config, order, 24, 4);
LX_FIELD(lx_class_config, flow_order, 28, 4);
LX_FIELD(lx_class_config, pushes_out, 32, 4);
LX_FIELD(lx_class_config, aqm, 40, 64);
LX_SIZE(lx_class_config, 104);

LX_FIELD(lx_config, rate, 0, 8);
LX_FIELD(lx_config, credit, 8, 8);
LX_FIELD(lx_config, limits, 16, 48);
LX_FIELD(lx_config, service, 64, 528);
LX_FIELD(lx_config, shares, 592, 792);
LX_FIELD(lx_config, flow, 1384, 11264);
LX_FIELD(lx_config, slack, 12648, 6440);
LX_FIELD(lx_config, flows, 19088, 4);
LX_FIELD(lx_config, flows_size, 19092, 4);
LX_FIELD(lx_config, classes_size, 19096, 4);
LX_FIELD(lx_config, overhead, 19100, 4);
LX_FIELD(lx_config, min_frame, 19104, 4);
LX_FIELD(lx_config, largest_best_effort, 19108, 4);
LX_FIELD(lx_config, release, 19112, 4);
LX_FIELD(lx_config, slots, 19116, 4);
LX_FIELD(lx_config, restarts, 19120, 4);
LX_FIELD(lx_config, counts_in_flight, 19124, 4);
LX_FIELD(lx_config, first_served, 19128, 4);
LX_FIELD(lx_config, class, 19136, 1664);
LX_SIZE(lx_config, 20800);

LX_FIELD(lxl_match_rule, source, 0, 16);
LX_FIELD(lxl_match_rule, source_mask, 16, 16);
LX_FIELD(lxl_match_rule, destination, 32, 16);
LX_FIELD(lxl_match_rule, destination_mask, 48, 16);
LX_FIELD(lxl_match_rule, fields, 64, 4);
LX_FIELD(lxl_match_rule, flow, 68, 4);
LX_FIELD(lxl_match_rule, mark, 72, 4);
LX_FIELD(lxl_match_rule, priority, 76, 4);
LX_FIELD(lxl_match_rule, sport, 80, 4);
LX_FIELD(lxl_match_rule, dport, 84, 4);
LX_FIELD(lxl_match_rule, dscp, 88, 1);
LX_FIELD(lxl_match_rule, protocol, 89, 1);
LX_SIZE(lxl_match_rule, 96);

LX_FIELD(lxl_match_rules, rule, 0, 12288);
LX_FIELD(lxl_match_rules, by_dscp, 12288, 128);
LX_FIELD(lxl_match_rules, nr_rules, 12416, 4);
LX_FIELD(lxl_match_rules, fields, 12420, 4);
LX_FIELD(lxl_match_rules, default_flow, 12424, 4);
LX_SIZE(lxl_match_rules, 12432);

LX_FIELD(lxl_plan_change, config, 0, 20800);
LX_FIELD(lxl_plan_change, rules, 20800, 12432);
LX_FIELD(lxl_plan_change, to, 33232, 256);
LX_FIELD(lxl_plan_change, shed, 33488, 8);
LX_FIELD(lxl_plan_change, rate_only, 33496, 8);
LX_SIZE(lxl_plan_change, 33504);

LX_FIELD(lx_counts, packets, 0, 8);
LX_FIELD(lx_counts, bytes, 8, 8);
LX_FIELD(lx_counts, deadline_misses, 16, 8);
LX_FIELD(lx_counts, demoted, 24, 8);
LX_FIELD(lx_counts, delay_sum, 32, 8);
LX_FIELD(lx_counts, delay_max, 40, 8);
LX_FIELD(lx_counts, demoted_sum, 48, 8);
LX_FIELD(lx_counts, demoted_max, 56, 8);
LX_FIELD(lx_counts, dropped, 64, 128);
LX_FIELD(lx_counts, delay, 192, 1024);
LX_FIELD(lx_counts, ecn_marks, 1216, 8);
LX_SIZE(lx_counts, 1224);

LX_FIELD(lx_stalls, count, 0, 8);
LX_FIELD(lx_stalls, total, 8, 8);
LX_FIELD(lx_stalls, longest, 16, 8);
LX_SIZE(lx_stalls, 24);

LX_FIELD(lx_own, policy, 0, 4);
LX_FIELD(lx_own, net, 4, 4);
LX_FIELD(lx_own, ifindex, 8, 4);
LX_FIELD(lx_own, handle, 12, 4);
LX_FIELD(lx_own, slots, 16, 4);
LX_FIELD(lx_own, managed, 20, 4);
LX_FIELD(lx_own, hash_key, 24, 16);
LX_FIELD(lx_own, note_secret, 40, 8);
LX_FIELD(lx_own, served, 48, 4);
LX_SIZE(lx_own, 56);

LX_FIELD(lx_link_state, attached, 0, 4);
LX_FIELD(lx_link_state, applied, 4, 4);
LX_FIELD(lx_link_state, late_rate_change, 8, 8);
LX_SIZE(lx_link_state, 16);

LX_VALUE(LX_MAX_FLOWS, 64);
LX_VALUE(LX_DEADLINE_CLASSES, 32);
LX_VALUE(LX_BEST_EFFORT_CLASSES, 16);
LX_VALUE(LX_MAX_BUCKETS, 4);
LX_VALUE(LX_MAX_RULES, 128);
LX_VALUE(LX_MAX_PIECES, 16);
LX_VALUE(LX_HISTORY_PACKETS, 1024);
LX_VALUE(LX_CURVE_LINES, 16);
LX_VALUE(LX_CURVE_STARTS, 1024);
LX_VALUE(LX_SLACK_BUCKETS, 64);
LX_VALUE(LX_RANGE, 4611686018427387904);
LX_VALUE(LX_DELAY_BUCKETS, 128);
LX_VALUE(LX_DELAY_SHIFT, 10);
LX_VALUE(LX_FLUSHED, 8);
LX_VALUE(LX_REASONS, 16);
LX_VALUE(LX_PLANS, 4);
LX_VALUE(LX_BACKGROUND, 0);
LX_VALUE(LX_LINE, 1);
LX_VALUE(LX_HISTORY, 2);
LX_VALUE(LX_SLACK, 3);
LX_VALUE(LX_DELAY, 0);
LX_VALUE(LX_DEMOTE, 1);
LX_VALUE(LX_DROP, 2);
LX_VALUE(LX_ARRIVAL, 0);
LX_VALUE(LX_HEAD_OF_LINE, 1);
LX_VALUE(LX_RESTART_ON_IDLE, 0);
LX_VALUE(LX_RESTART_ON_EMPTY, 1);
LX_VALUE(LX_RESTART_ON_CLEAR, 2);
LX_VALUE(LX_SCFQ, 0);
LX_VALUE(LX_WF2Q_PLUS, 1);
LX_VALUE(LX_FIFO, 0);
LX_VALUE(LX_DUAL, 1);
LX_VALUE(LX_FLOWS, 2);
LX_VALUE(LX_AQM_NONE, 0);
LX_VALUE(LX_AQM_CODEL, 1);
LX_VALUE(LX_AQM_PI2, 2);
LX_VALUE(LX_AQM_STEP, 3);
LX_VALUE(LX_AQM_DUAL, 4);
LX_VALUE(LX_DUAL_QUEUES, 2);
LX_VALUE(LX_BY_FLOW, 0);
LX_VALUE(LX_BY_SOURCE, 1);
LX_VALUE(LX_BY_DESTINATION, 2);
LX_VALUE(LX_BY_HOST_AND_FLOW, 3);
LX_VALUE(LX_BY_NONE, 4);
LX_VALUE(LX_DSCP, 1);
LX_VALUE(LX_PROTOCOL, 2);
LX_VALUE(LX_SOURCE, 4);
LX_VALUE(LX_DESTINATION, 8);
LX_VALUE(LX_SPORT, 16);
LX_VALUE(LX_DPORT, 32);
LX_VALUE(LX_MARK, 64);
LX_VALUE(LX_PRIORITY, 128);
LX_VALUE(LX_IPV6, 256);

#endif
