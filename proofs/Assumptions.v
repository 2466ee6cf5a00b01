(** What each theorem of README.md assumes. scripts/proofs.sh fails unless the answer is always "Closed
    under the global context": no axiom, and nothing admitted. *)
From Laxity Require Import common.Sums
  link.Edf link.Deadlines link.Envelopes link.Assigner link.Exact link.Lines link.Restart link.Slot
  link.SlotAlternatives link.ServiceCurve link.Slack link.Policers link.SlackGreedy link.CurveSlack link.SlackBound
  link.Stall link.Record link.Certificate link.Delay link.Example
  cpu.Shares cpu.Cbs cpu.Reservations cpu.Changes cpu.Machine cpu.Requests cpu.Constrained cpu.Waiting
  cpu.Rounding cpu.Example.

(* Links *)
Print Assumptions late_packet_overload_before.
Print Assumptions late_packet_overload.
Print Assumptions demand_condition_keeps_deadline.
Print Assumptions safe_deadlines_keep_real_time.
Print Assumptions safe_deadlines_keep_best_effort.
Print Assumptions yielding_keeps_real_time.
Print Assumptions conforming_flows_are_bounded.
Print Assumptions staircase_is_an_envelope.
Print Assumptions safe_assigner_makes_safe_deadlines.
Print Assumptions safe_assigner_keeps_real_time.
Print Assumptions safe_assigner_keeps_best_effort.
Print Assumptions exact_in_order.
Print Assumptions exact_is_safe.
Print Assumptions exact_is_least.
Print Assumptions joining_only_delays.
Print Assumptions exact_keeps_real_time.
Print Assumptions exact_keeps_best_effort.
Print Assumptions shifted_line_is_safe.
Print Assumptions two_segment_is_safe.
Print Assumptions algorithm_3_is_safe.
Print Assumptions algorithm_3_on_two_segments_is_safe.
Print Assumptions algorithm_3_spreads_packets.
Print Assumptions restarts_keep_real_time.
Print Assumptions slots_are_assigned.
Print Assumptions rising_deadlines_are_edf.
Print Assumptions slot_keeps_real_time.
Print Assumptions larger_candidates_must_raise.
Print Assumptions successors_of_drops_must_be_asked_for.
Print Assumptions drops_must_not_reset_the_history.
Print Assumptions smaller_candidates_must_not_lower.
Print Assumptions served_flow_is_bounded.
Print Assumptions service_curves_keep_deadlines.
Print Assumptions slack_keeps_known_deadlines.
Print Assumptions always_check_keeps_known_deadlines.
Print Assumptions slack_keeps_real_time.
Print Assumptions always_check_keeps_real_time.
Print Assumptions tokens_bound_what_comes.
Print Assumptions greedy_flow_reaches_the_bound.
Print Assumptions remembered_arrivals_bound.
Print Assumptions policers_bound_arrivals.
Print Assumptions slack_keeps_conforming_flows.
Print Assumptions curve_flow_still_demands.
Print Assumptions idle_curve_flow_still_demands.
Print Assumptions curve_flow_next_deadline.
Print Assumptions slack_keeps_service_curves.
Print Assumptions refused_packets_are_a_risk.
Print Assumptions lower_bound_lasts.
Print Assumptions late_by_at_most_the_lost_time.
Print Assumptions check_run_sound.
Print Assumptions late_in_legal_record.
Print Assumptions certificate_is_sound.
Print Assumptions certificate_admits.
Print Assumptions a_certificate.
Print Assumptions deadlines_within_the_deviation.
Print Assumptions curve_deadlines_within_the_deviation.
Print Assumptions the_real_time_packet_is_in_time.
(* CPUs *)
Print Assumptions demand_within_share.
Print Assumptions no_hard_job_late.
Print Assumptions no_hard_job_late_between_clean_instants.
Print Assumptions cbs_keeps_share.
Print Assumptions reservation_demand.
Print Assumptions reservations_demand.
Print Assumptions sporadic_is_reserved.
Print Assumptions zero_lag_rule_is_safe.
Print Assumptions reservation_changes_are_safe.
Print Assumptions zero_lag_changes_keep_hard_deadlines.
Print Assumptions all_changes_keep_hard_deadlines.
Print Assumptions each_event_keeps_the_rule.
Print Assumptions server_run_keeps_promises.
Print Assumptions machines_keep_hard_deadlines.
Print Assumptions requests_stay_consistent.
Print Assumptions promise_within_room.
Print Assumptions requests_change_only_later.
Print Assumptions a_decrease_in_flight.
Print Assumptions constrained_demand.
Print Assumptions constrained_deadlines_are_kept.
Print Assumptions no_server_is_late.
Print Assumptions remaining_budget_is_executed_by_the_deadline.
Print Assumptions rounded_shares_fit.
Print Assumptions period_from_share_is_safe.
Print Assumptions stretched_deadline_gives_the_rest.
Print Assumptions the_hard_job_is_in_time.
