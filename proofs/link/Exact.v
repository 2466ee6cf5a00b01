(** * Algorithm 1, the assigner [exact]: D_n = max over i <= n of (r_i + Einv(W_n - P_i))

    From nothing but w <= E(Einv w) it is safe, and where Einv is the least inverse no shorter deadline
    is. The assigner [two-segment] is the same with two line segments below [E] in place of [E].
    Code: crates/link/src/assign/exact.rs, history.rs, two_segment.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Envelopes link.Assigner.
Import ListNotations.

Section Exact.
Variables (E Einv : nat -> nat).

(** The maximum over a history, newest first; [w] is the work of packets that are newer still. *)
Fixpoint latest (w : nat) (h : history) : nat :=
  match h with
  | [] => 0
  | (r, s) :: older => max (r + Einv (w + s)) (latest (w + s) older)
  end.

(** The deadline of the newest packet of a history. *)
Definition exact (h : history) : nat := latest 0 h.

Lemma latest_covers newer r s older w :
  r + Einv (w + work newer + s) <= latest w (newer ++ (r, s) :: older).
Proof.
  revert w. induction newer as [|[r' s'] l IH]; intros w; simpl.
  - unfold work. simpl. rewrite Nat.add_0_r. lia.
  - specialize (IH (w + s')). unfold work in *. simpl.
    replace (w + (s' + sumf snd l) + s) with (w + s' + sumf snd l + s) by lia. lia.
Qed.

Lemma latest_mono l : monotone Einv -> forall v w, v <= w -> latest v l <= latest w l.
Proof.
  intros Mono. induction l as [|[r' s'] l IH]; intros v w Hvw; simpl; [lia|].
  specialize (IH (v + s') (w + s') ltac:(lia)).
  pose proof (Mono (v + s') (w + s') ltac:(lia)). lia.
Qed.

(** ** Theorem 1 of the paper: deadlines never fall *)
Theorem exact_in_order newer h : monotone Einv -> exact h <= exact (newer ++ h).
Proof.
  intros Mono. induction newer as [|[r s] l IH]; [simpl; lia|].
  eapply Nat.le_trans; [exact IH|]. simpl app. unfold exact. simpl.
  apply Nat.le_trans with (latest s (l ++ h)); [|lia]. apply latest_mono; [assumption|lia].
Qed.

(** ** Theorem: Algorithm 1 is safe *)
Theorem exact_is_safe :
  monotone E -> monotone Einv -> (forall w, w <= E (Einv w)) -> safe_assigner E exact.
Proof.
  intros ME MI Inv. constructor.
  - intros newer r s older _. pose proof (latest_covers newer r s older 0) as H. simpl in H.
    eapply Nat.le_trans; [apply Inv|]. apply ME. unfold exact. lia.
  - intros r s older. unfold exact. simpl. lia.
  - intros r s s' older L. unfold exact. simpl.
    pose proof (MI s s' L). pose proof (latest_mono older MI s s' L). lia.
Qed.

(** ** Theorem: no shorter deadline is safe

    If [Einv w] is the first instant at which E reaches [w], then a deadline for which the work from
    each packet on fits is not before that of [exact]. *)
Theorem exact_is_least h D :
  (forall w t, w <= E t -> Einv w <= t) ->
  (forall newer r s older, h = newer ++ (r, s) :: older ->
     r <= D /\ work newer + s <= E (D - r)) ->
  exact h <= D.
Proof.
  intros Least Fits. unfold exact.
  assert (G : forall l newer, h = newer ++ l -> latest (work newer) l <= D).
  { induction l as [|[r s] l IH]; intros newer Eq; simpl; [lia|].
    destruct (Fits newer r s l Eq) as [L F]. apply Least in F.
    specialize (IH (newer ++ [(r, s)])). rewrite <- app_assoc in IH. specialize (IH Eq).
    rewrite work_app in IH. unfold work at 2 in IH. simpl in IH. rewrite Nat.add_0_r in IH. lia. }
  apply (G h []). reflexivity.
Qed.

(** ** Theorem: joining two neighbours of a history only delays

    A bounded ring that is full joins two neighbours: the work of both, with the later release. Deadlines are
    no earlier by that, so they stay safe ([assigned] asks for no more). *)
Theorem joining_only_delays newer r1 s1 r2 s2 older :
  monotone Einv -> r1 <= r2 ->
  exact (newer ++ (r2, s2) :: (r1, s1) :: older) <= exact (newer ++ (r2, s1 + s2) :: older).
Proof.
  intros MI R. unfold exact. generalize 0 as w. induction newer as [|[r s] l IH]; intros w.
  - cbn [app latest]. pose proof (MI (w + s2) (w + (s1 + s2)) ltac:(lia)).
    replace (w + s2 + s1) with (w + (s1 + s2)) by lia. lia.
  - cbn [app latest]. specialize (IH (w + s)). lia.
Qed.
End Exact.

(** ** Theorem: [exact] keeps every real-time deadline of flows with envelopes

    All premises in one place: the run, the flows, admission and the effective residual curve with its
    inverse, and the rule with a history that may be forgotten whenever the link was idle. *)
Theorem exact_keeps_real_time {packet : Type}
    (arr size dl start : packet -> nat) (rt be : list packet) (resets : packet -> bool)
    (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat)
    (E Einv : nat -> nat) (least s_be : nat) (s_rt : nat -> nat) :
  edf_run arr size dl start (rt ++ be) ->
  conforming arr size dl rt flows flow A d ->
  (forall k, In k flows -> least <= d k) ->
  (forall p, In p be -> size p <= s_be) ->
  (forall p t, In p rt -> t < d (flow p) -> size p <= s_rt t) ->
  admitted (rt_demand flows A d) s_be s_rt least ->
  residual (rt_demand flows A d) s_rt E least ->
  monotone E -> monotone Einv -> (forall w, w <= E (Einv w)) ->
  released_in_order arr be -> resets_when_idle arr size start rt be resets ->
  assigned arr size dl (exact Einv) resets [] 0 be ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros Run Conf Least SB SR Adm Res ME MI Inv Ord RI As p Hp.
  apply (safe_assigner_keeps_real_time arr size dl start rt be (exact Einv) resets
           E (rt_demand flows A d) least s_be s_rt); try assumption.
  - intros a D _ _. apply (conforming_flows_are_bounded _ _ _ _ _ flow). assumption.
  - eapply conforming_flows_block; eassumption.
  - eapply conforming_flows_least; eassumption.
  - apply exact_is_safe; assumption.
  - rewrite (deadline_is _ _ _ _ _ _ _ _ Conf p Hp). lia.
Qed.

(** And with [guarantee = "all"] every best-effort one. *)
Theorem exact_keeps_best_effort {packet : Type}
    (arr size dl start : packet -> nat) (rt be : list packet) (resets : packet -> bool)
    (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat)
    (E Einv : nat -> nat) (s_be : nat) (s_rt : nat -> nat) :
  edf_run arr size dl start (rt ++ be) ->
  conforming arr size dl rt flows flow A d ->
  (forall p, In p be -> size p <= s_be) ->
  (forall p t, In p rt -> t < d (flow p) -> size p <= s_rt t) ->
  residual (rt_demand flows A d) s_rt E 0 ->
  monotone E -> monotone Einv -> (forall w, w <= E (Einv w)) ->
  released_in_order arr be -> resets_when_idle arr size start rt be resets ->
  assigned arr size dl (exact Einv) resets [] 0 be ->
  forall p, In p be -> fin size start p <= dl p.
Proof.
  intros Run Conf SB SR Res ME MI Inv Ord RI As.
  apply (safe_assigner_keeps_best_effort arr size dl start rt be (exact Einv) resets
           E (rt_demand flows A d) s_be s_rt); try assumption.
  - intros a D _ _. apply (conforming_flows_are_bounded _ _ _ _ _ flow). assumption.
  - eapply conforming_flows_block; eassumption.
  - apply exact_is_safe; assumption.
Qed.
