(** * Real-time flows with envelopes and relative deadlines

    Flow [k] sends, in each interval of length [t], at most [A k t], and its packets are due [d k]
    after their conformance. Any envelope will do: token buckets, a staircase of whole packets, a
    minimum of several. Code: crates/curve/src/envelope.rs, crates/link/src/police. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines.
Import ListNotations.

Section Envelopes.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Variables (rt be : list packet).
Variables (flows : list nat) (flow : packet -> nat).
Variables (A : nat -> nat -> nat) (d : nat -> nat).

(** What flow [k] may have due in an interval of length [t]: A_k(t - d_k), nothing if t < d_k. *)
Definition flow_demand (t k : nat) : nat := on (d k <=? t) (A k (t - d k)).
(** The same for all flows. *)
Definition rt_demand (t : nat) : nat := sumf (flow_demand t) flows.

(** The flows keep within their envelopes and have their deadlines: what the policers enforce. *)
Record conforming : Prop := {
  of_a_flow : forall p, In p rt -> In (flow p) flows;
  deadline_is : forall p, In p rt -> dl p = arr p + d (flow p);
  envelope : forall k a b, In k flows -> a <= b ->
    sumf (fun p => on ((flow p =? k) && ((a <=? arr p) && (arr p <=? b))) (size p)) rt <= A k (b - a)
}.

(** ** Theorem: conforming flows have no more due in an interval than admission counts *)
Theorem conforming_flows_are_bounded a D :
  conforming -> Edf.demand arr size dl rt a D <= rt_demand (D - a).
Proof.
  intros [Fl Dl Env]. unfold Edf.demand, rt_demand.
  apply Nat.le_trans with
    (sumf (fun p => sumf (fun k => on (flow p =? k) (on ((a <=? arr p) && (max (arr p) (dl p) <=? D)) (size p))) flows) rt).
  - apply sumf_le. intros p Hp.
    set (g := fun k => on (flow p =? k) (on ((a <=? arr p) && (max (arr p) (dl p) <=? D)) (size p))).
    apply Nat.le_trans with (g (flow p)); [|apply (sumf_member g); apply Fl; assumption].
    unfold g. rewrite Nat.eqb_refl. simpl. lia.
  - rewrite sumf_swap. apply sumf_le. intros k Hk. unfold flow_demand.
    assert (None : D - a < d k \/ D < a ->
              sumf (fun p => on (flow p =? k) (on ((a <=? arr p) && (max (arr p) (dl p) <=? D)) (size p))) rt = 0).
    { intros L. apply sumf_zero. intros p Hp. rewrite (Dl p Hp).
      destruct (Nat.eqb_spec (flow p) k) as [->|]; cbn [on andb]; [|reflexivity].
      destruct (Nat.leb_spec a (arr p)), (Nat.leb_spec (max (arr p) (arr p + d k)) D); cbn [on andb]; lia. }
    destruct (Nat.leb_spec (d k) (D - a)) as [L|L]; cbn [on]; [|rewrite None; lia].
    destruct (le_lt_dec a D) as [LD|LD]; [|rewrite None; lia].
    specialize (Env k a (D - d k)).
    destruct (Nat.eq_dec (D - a) 0) as [Z|NZ].
    + assert (d k = 0) by lia. specialize (Env Hk ltac:(lia)).
      replace (D - a - d k) with (D - d k - a) by lia.
      eapply Nat.le_trans; [|exact Env]. apply sumf_le. intros p Hp. rewrite (Dl p Hp).
      destruct (Nat.eqb_spec (flow p) k) as [->|]; cbn [on andb]; [|lia].
      destruct (Nat.leb_spec a (arr p)), (Nat.leb_spec (max (arr p) (arr p + d k)) D),
               (Nat.leb_spec (arr p) (D - d k)); cbn [on andb]; lia.
    + specialize (Env Hk ltac:(lia)). replace (D - a - d k) with (D - d k - a) by lia.
      eapply Nat.le_trans; [|exact Env]. apply sumf_le. intros p Hp. rewrite (Dl p Hp).
      destruct (Nat.eqb_spec (flow p) k) as [->|]; cbn [on andb]; [|lia].
      destruct (Nat.leb_spec a (arr p)), (Nat.leb_spec (max (arr p) (arr p + d k)) D),
               (Nat.leb_spec (arr p) (D - d k)); cbn [on andb]; lia.
Qed.

(** A flow whose deadline is longer than an interval may block it with one of its packets, and no
    interval shorter than all deadlines has work due in it. *)
Lemma conforming_flows_block (s_rt : nat -> nat) :
  conforming -> (forall p t, In p rt -> t < d (flow p) -> size p <= s_rt t) ->
  rt_blocking arr size dl start rt be rt_demand s_rt.
Proof.
  intros Conf SR x a D Hx LD _ [Ax _] Dx.
  pose proof (conforming_flows_are_bounded a D Conf).
  rewrite (deadline_is Conf x Hx) in Dx. specialize (SR x (D - a) Hx ltac:(lia)). lia.
Qed.

Lemma conforming_flows_least least :
  conforming -> (forall k, In k flows -> least <= d k) ->
  rt_least arr size dl start rt be least.
Proof.
  intros Conf Least a D LD _ Pos.
  destruct (le_lt_dec least (D - a)) as [|L]; [assumption|exfalso].
  unfold Edf.demand in Pos. rewrite sumf_zero in Pos; [lia|]. intros p Hp.
  rewrite (deadline_is Conf p Hp). specialize (Least (flow p) (of_a_flow Conf p Hp)).
  destruct (Nat.leb_spec a (arr p)), (Nat.leb_spec (max (arr p) (arr p + d (flow p))) D); cbn [on andb]; lia.
Qed.

(** ** Whole packets: the staircase

    A flow all of whose packets have size [s] sends whole multiples of [s]; so an envelope may be
    rounded down to them, in admission ([sends_whole_packets] with the arrivals of an interval) and in
    [slack]. *)
Lemma whole_packets (s : nat) (c : packet -> bool) (l : list packet) b :
  (forall p, In p l -> c p = true -> size p = s) ->
  sumf (fun p => on (c p) (size p)) l <= b ->
  sumf (fun p => on (c p) (size p)) l <= s * (b / s).
Proof.
  intros Sz Le.
  assert (M : exists n, sumf (fun p => on (c p) (size p)) l = s * n).
  { clear Le. induction l as [|x r IH]; [exists 0; simpl; lia|].
    destruct IH as (n & IH); [intros; apply Sz; [right|]; assumption|]. simpl. rewrite IH.
    destruct (c x) eqn:C; cbn [on].
    - rewrite (Sz x (or_introl eq_refl) C). exists (S n). lia.
    - exists n. lia. }
  destruct M as (n & M). rewrite M in *.
  destruct (Nat.eq_dec s 0) as [->|NZ]; [simpl; lia|].
  apply Nat.mul_le_mono_l. apply Nat.div_le_lower_bound; lia.
Qed.
End Envelopes.

(** ** Theorem: flows of one packet size keep the staircase below their envelopes *)
Theorem staircase_is_an_envelope {packet : Type}
    (arr size dl : packet -> nat) (rt : list packet)
    (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d s : nat -> nat) :
  conforming arr size dl rt flows flow A d ->
  (forall p, In p rt -> size p = s (flow p)) ->
  conforming arr size dl rt flows flow (fun k t => s k * (A k t / s k)) d.
Proof.
  intros [Fl Dl Env] Sz. constructor; try assumption.
  intros k a b Hk Le. apply whole_packets; [|apply Env; assumption].
  intros p Hp C. apply andb_true_iff in C. destruct C as [C _]. apply Nat.eqb_eq in C.
  rewrite (Sz p Hp), C. reflexivity.
Qed.
