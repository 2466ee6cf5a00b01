(** * What a flow can still send, from the present state of its policer

    [slack] needs a bound F on what may still come. Here it is for the two kinds of state that policers
    keep, and put together for all flows. Code: crates/link/src/slack/flow.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Envelopes link.Slack.
Import ListNotations.

(** ** A token bucket

    Tokens are counted in 1/[Q] of a byte. In each tick [rate] of them arrive, up to [burst] bytes in
    all; then what the flow sends in the tick, [sent t] bytes, is taken. *)
Section Bucket.
Variables (Q burst rate : nat) (sent : nat -> nat).

(** Tokens left after tick [t]. *)
Fixpoint level (t : nat) : nat :=
  match t with
  | 0 => Q * burst - Q * sent 0
  | S n => min (Q * burst) (level n + rate) - Q * sent (S n)
  end.

(** What the policer lets through. *)
Definition conforms : Prop :=
  Q * sent 0 <= Q * burst /\ forall t, Q * sent (S t) <= min (Q * burst) (level t + rate).

(** *** Theorem: tokens at [t] bound all that is sent after [t] *)
Theorem tokens_bound_what_comes t y :
  conforms -> Q * over (t + 1) (t + 1 + y) sent <= level t + rate * y.
Proof.
  intros [_ C]. enough (level (t + y) + Q * over (t + 1) (t + 1 + y) sent <= level t + rate * y) by lia.
  induction y as [|y IH].
  - rewrite over_empty by lia. rewrite Nat.add_0_r. lia.
  - replace (t + 1 + S y) with (S (t + 1 + y)) by lia. rewrite over_last by lia.
    replace (t + S y) with (S (t + y)) by lia. cbn [level].
    specialize (C (t + y)). replace (t + 1 + y) with (S (t + y)) in * by lia. nia.
Qed.

(** *** Theorem: and it is reached

    If the bucket holds more than a byte and what arrives in a tick, a flow that sends each byte as soon
    as there are tokens for it sends all that the bound leaves, up to a part of a byte. *)
Definition greedy_from (t0 : nat) : Prop :=
  forall t, t0 <= t -> sent (S t) = (level t + rate) / Q.

Theorem greedy_flow_reaches_the_bound t y :
  0 < Q -> Q + rate <= Q * burst -> level t + rate <= Q * burst -> greedy_from t ->
  over (t + 1) (t + 1 + S y) sent = (level t + rate * S y) / Q /\
  forall u, t <= u <= t + y -> Q * sent (S u) <= min (Q * burst) (level u + rate).
Proof.
  intros QP Cap First G.
  assert (Step : forall u, t <= u -> level u + rate <= Q * burst ->
            level (S u) + Q * sent (S u) = level u + rate /\ level (S u) < Q).
  { intros u Hu Hc. cbn [level]. rewrite (G u Hu).
    pose proof (Nat.div_mod (level u + rate) Q ltac:(lia)).
    pose proof (Nat.mod_upper_bound (level u + rate) Q ltac:(lia)). lia. }
  assert (Below : forall n, level (t + n) + rate <= Q * burst).
  { induction n as [|n IH]; [rewrite Nat.add_0_r; assumption|].
    destruct (Step (t + n) ltac:(lia) IH) as [_ L]. replace (t + S n) with (S (t + n)) by lia. lia. }
  assert (Sum : forall n, level (t + n) + Q * over (t + 1) (t + 1 + n) sent = level t + rate * n).
  { induction n as [|n IH]; [rewrite over_empty by lia; rewrite Nat.add_0_r; lia|].
    replace (t + 1 + S n) with (S (t + 1 + n)) by lia. rewrite over_last by lia.
    destruct (Step (t + n) ltac:(lia) (Below n)) as [E _].
    replace (t + S n) with (S (t + n)) by lia. replace (t + 1 + n) with (S (t + n)) in * by lia. nia. }
  split.
  - specialize (Sum (S y)). destruct (Step (t + y) ltac:(lia) (Below y)) as [_ L].
    replace (S (t + y)) with (t + S y) in L by lia.
    apply (Nat.div_unique _ _ _ (level (t + S y))); lia.
  - intros u Hu. rewrite (G u) by lia. specialize (Below (u - t)). replace (t + (u - t)) with u in Below by lia.
    pose proof (Nat.div_mod (level u + rate) Q ltac:(lia)). lia.
Qed.
End Bucket.

(** ** Remembered arrivals, for any envelope *)
Section Remembered.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Variables (rt : list packet) (flows : list nat) (flow : packet -> nat).
Variables (A : nat -> nat -> nat) (d : nat -> nat).

(** What flow [k] sent in [a, t]. *)
Definition sent_in (k a t : nat) : nat :=
  sumf (fun p => on ((flow p =? k) && ((a <=? arr p) && (arr p <=? t))) (size p)) rt.

(** *** Theorem: what flow [k] sends after [t] and up to [u] is at most A(u - a) less what it has sent
    since [a], for any remembered instant [a] *)
Theorem remembered_arrivals_bound k a t u :
  conforming arr size dl rt flows flow A d -> In k flows -> a <= t + 1 -> t <= u ->
  sent_in k (t + 1) u + sent_in k a t <= A k (u - a).
Proof.
  intros Conf Hk At Tu. destruct (le_lt_dec a u) as [L|L].
  - eapply Nat.le_trans; [|apply (envelope _ _ _ _ _ _ _ _ Conf k a u Hk L)].
    unfold sent_in. rewrite <- sumf_plus. apply sumf_le. intros p _.
    destruct (flow p =? k), (Nat.leb_spec (t + 1) (arr p)), (Nat.leb_spec (arr p) u),
      (Nat.leb_spec a (arr p)), (Nat.leb_spec (arr p) t); cbn [on andb]; lia.
  - unfold sent_in. rewrite <- sumf_plus. rewrite sumf_zero; [lia|]. intros p _.
    destruct (flow p =? k), (Nat.leb_spec (t + 1) (arr p)), (Nat.leb_spec (arr p) u),
      (Nat.leb_spec a (arr p)), (Nat.leb_spec (arr p) t); cbn [on andb]; lia.
Qed.

(** ** All flows together: F for [slack] *)

(** [Fk k t u]: a bound, known at [t], on what flow [k] sends after [t] and up to [u]. *)
Variable Fk : nat -> nat -> nat -> nat.
Definition still_to_come (t D : nat) : nat := sumf (fun k => on (t + d k <? D) (Fk k t (D - d k))) flows.

Theorem policers_bound_arrivals :
  conforming arr size dl rt flows flow A d ->
  (forall k t u, In k flows -> t <= u -> sent_in k (t + 1) u <= Fk k t u) ->
  forall t D, to_come arr size dl rt t D <= still_to_come t D.
Proof.
  intros [Fl Dl Env] HF t D. unfold to_come, still_to_come.
  apply Nat.le_trans with
    (sumf (fun p => sumf (fun k => on (flow p =? k) (on ((t <? arr p) && (max (arr p) (dl p) <=? D)) (size p))) flows) rt).
  - apply sumf_le. intros p Hp.
    set (g := fun k => on (flow p =? k) (on ((t <? arr p) && (max (arr p) (dl p) <=? D)) (size p))).
    apply Nat.le_trans with (g (flow p)); [|apply (sumf_member g); apply Fl; assumption].
    unfold g. rewrite Nat.eqb_refl. simpl. lia.
  - rewrite sumf_swap. apply sumf_le. intros k Hk.
    destruct (Nat.ltb_spec (t + d k) D) as [L|L]; cbn [on].
    + eapply Nat.le_trans; [|apply (HF k t (D - d k) Hk); lia]. unfold sent_in.
      apply sumf_le. intros p Hp. rewrite (Dl p Hp). destruct (Nat.eqb_spec (flow p) k) as [->|]; [|simpl; lia].
      destruct (Nat.ltb_spec t (arr p)), (Nat.leb_spec (max (arr p) (arr p + d k)) D), (Nat.leb_spec (t + 1) (arr p)),
        (Nat.leb_spec (arr p) (D - d k)); cbn [on andb]; lia.
    + rewrite sumf_zero; [lia|]. intros p Hp. rewrite (Dl p Hp).
      destruct (Nat.eqb_spec (flow p) k) as [->|]; [|reflexivity].
      destruct (Nat.ltb_spec t (arr p)), (Nat.leb_spec (max (arr p) (arr p + d k)) D); cbn [on andb]; lia.
Qed.
End Remembered.

(** ** Theorem: [slack] keeps every real-time deadline of flows with envelopes, premises in one place *)
Theorem slack_keeps_conforming_flows {packet : Type}
    (arr size dl start : packet -> nat) (rt be : list packet)
    (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat)
    (Fk : nat -> nat -> nat -> nat) (least s_be : nat) (s_rt : nat -> nat) :
  (forall p, In p rt -> In p be -> False) ->
  slack_run arr size dl start rt be ->
  conforming arr size dl rt flows flow A d ->
  (forall k t u, In k flows -> t <= u -> sent_in arr size rt flow k (t + 1) u <= Fk k t u) ->
  (forall k, In k flows -> least <= d k) ->
  (forall p, In p be -> size p <= s_be) ->
  (forall p t, In p rt -> t < d (flow p) -> size p <= s_rt t) ->
  admitted (rt_demand flows A d) s_be s_rt least ->
  checked arr size dl start rt be (still_to_come flows d Fk) (waiting_or_later arr dl start rt least) ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros Apart Run Conf HF Least SB SR Adm Ck.
  assert (Dem : forall a D, demand arr size dl rt a D <= rt_demand flows A d (D - a)).
  { intros a D. apply (conforming_flows_are_bounded _ _ _ _ _ flow). assumption. }
  apply (slack_keeps_real_time arr size dl start rt be Apart (still_to_come flows d Fk) least Run); try assumption.
  - intros t D _. eapply policers_bound_arrivals; eassumption.
  - intros p Hp. rewrite (deadline_is _ _ _ _ _ _ _ _ Conf p Hp).
    specialize (Least (flow p) (of_a_flow _ _ _ _ _ _ _ _ Conf p Hp)). lia.
  - intros a D (LD & BS & Pos).
    pose proof (conforming_flows_least arr size dl start rt [] flows flow A d least Conf Least a D LD BS Pos) as L.
    specialize (Adm (D - a) L). specialize (Dem a D).
    split; [lia|]. intros x Hx Ax Dx. rewrite (deadline_is _ _ _ _ _ _ _ _ Conf x Hx) in Dx.
    specialize (SR x (D - a) Hx ltac:(lia)). lia.
  - intros a D x (LD & BS & Pos) Hx.
    pose proof (conforming_flows_least arr size dl start rt [] flows flow A d least Conf Least a D LD BS Pos) as L.
    specialize (Adm (D - a) L). specialize (Dem a D). specialize (SB x Hx). lia.
Qed.
