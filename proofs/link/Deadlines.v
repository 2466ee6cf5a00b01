(** * Theorem 2 of the paper for any assigner of best-effort deadlines

    Real-time packets [rt] have deadlines that their flows fix; best-effort packets [be] stand in the
    order in which they are served and have the deadlines that an assigner gave them. This file says
    what the two sides must fulfil so that no deadline is missed. Who fulfils it is said elsewhere:

    - real-time flows with envelopes: Envelopes.v; with service curves: ServiceCurve.v,
    - assigners: Assigner.v, Exact.v, Lines.v; a slot whose packet is chosen late: Slot.v.

    Code: crates/link/src/assign/mod.rs, crates/curve/src/residual.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf.
Import ListNotations.

(** The effective residual curve is the lower bound of the residual capacity over all longer
    intervals, so it is monotone by definition. *)
Definition monotone (f : nat -> nat) : Prop := forall s t, s <= t -> f s <= f t.

Lemma last_cons {T} (m : list T) : forall y i, last (y :: m) i = last m y.
Proof.
  induction m as [|z m IH]; intros y i; [reflexivity|].
  change (last (y :: z :: m) i) with (last (z :: m) i). rewrite !IH. reflexivity.
Qed.

Lemma last_in {T} (m : list T) : forall i, In (last m i) (i :: m).
Proof.
  induction m as [|z m IH]; intros i; [left; reflexivity|]. rewrite last_cons. right. apply IH.
Qed.

(** Of the packets of a list for which [c] holds, all lie between the first and the last of them. *)
Lemma stretch {packet} (size : packet -> nat) (c : packet -> bool) (l : list packet) :
  sumf (fun q => on (c q) (size q)) l = 0 \/
  exists before i m after, l = before ++ (i :: m) ++ after /\ c i = true /\ c (last m i) = true /\
    sumf (fun q => on (c q) (size q)) l <= sumf size (i :: m).
Proof.
  induction l as [|x r IH]; [left; reflexivity|]. simpl.
  destruct (c x) eqn:Cx; simpl.
  - right. destruct IH as [Z|(bf & i & m & af & -> & Ci & Cl & Le)].
    + exists [], x, [], r. simpl. repeat split; try assumption. lia.
    + exists [], x, (bf ++ i :: m), af. simpl. repeat split.
      * rewrite <- app_assoc. reflexivity.
      * assumption.
      * assert (Last : forall (u : list packet) z, last (u ++ i :: m) z = last m i).
        { clear. intros u. induction u as [|y u IHu]; intros z; cbn [app]; rewrite last_cons;
            [reflexivity|apply IHu]. }
        rewrite Last. assumption.
      * rewrite (sumf_app size). cbn [sumf app] in *. lia.
  - destruct IH as [Z|(bf & i & m & af & -> & Ci & Cl & Le)]; [left; assumption|right].
    exists (x :: bf), i, m, af. repeat split; assumption.
Qed.

Section Deadlines.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Notation fin := (Edf.fin size start).
Notation edf_run := (Edf.edf_run arr size dl start).
Notation demand := (Edf.demand arr size dl).
Notation idle_at := (Edf.idle_at arr size start).

Variables (rt be : list packet).

(** ** Two notions of an interval without a pause *)

(** No instant after [first] and up to [last] at which the link is idle. *)
Definition no_idle_between (first last : nat) : Prop :=
  forall t, first < t <= last -> ~ idle_at (rt ++ be) t.

(** The same, and all work from before [a] that is due by [D] is finished at [a]. *)
Definition busy_since (a D : nat) : Prop :=
  no_idle_between a D /\ forall q, In q (rt ++ be) -> dl q <= D -> arr q < a -> fin q <= a.

(** ** What is asked of real time *)

(** [bound t]: the most that real time can have due in an interval of length [t]. *)
Variable bound : nat -> nat.
Definition rt_bounded : Prop :=
  forall a D, a <= D -> busy_since a D -> demand rt a D <= bound (D - a).

(** [s_rt t]: how much more real time can ask of an interval of length [t] with a blocker, a packet
    that came before the interval, is on the link at its begin and due after it. [s_be] bounds
    best-effort packets. With [blocking = "paper"] both are the size of the largest packet. *)
Variables (s_be : nat) (s_rt : nat -> nat).
Definition rt_blocking : Prop :=
  forall x a D, In x rt -> a <= D -> busy_since a D -> arr x < a < fin x -> D < dl x ->
    demand rt a D + size x <= bound (D - a) + s_rt (D - a).
Definition be_blocking : Prop := forall x, In x be -> size x <= s_be.

(** ** What is asked of best effort *)

(** [E t]: the residual capacity that best effort may use of any interval of length [t]. *)
Variable E : nat -> nat.

(** The work W_n - P_i of any packets [i .. n] that follow each other fits into the residual capacity
    from the release of the first to the deadline of the last. It is asked only of packets without
    an idle instant between them, so an assigner may forget its history when the link is idle. *)
Definition safe_deadlines : Prop :=
  forall before i m after,
    be = before ++ (i :: m) ++ after ->
    no_idle_between (arr i) (arr (last m i)) ->
    sumf size (i :: m) <= E (dl (last m i) - arr i).

(** Theorem 1 of the paper, between idle instants; and no deadline before its release. *)
Record ordered : Prop := {
  in_order : forall p q, In p be -> In q be -> arr p < arr q ->
    no_idle_between (arr p) (arr q) -> dl p <= dl q;
  not_before : forall p, In p be -> arr p <= dl p
}.

Lemma be_demand_bounds a D :
  monotone E -> safe_deadlines -> ordered -> no_idle_between a D -> demand be a D <= E (D - a).
Proof.
  intros Mono Safe [Ord Nb] NI. unfold Edf.demand.
  destruct (stretch size (fun q => (a <=? arr q) && (max (arr q) (dl q) <=? D)) be)
    as [->|(bf & i & m & af & Eq & Ci & Cl & Le)]; [lia|].
  apply andb_true_iff in Ci, Cl. destruct Ci as [Ci _], Cl as [_ Cl]. apply Nat.leb_le in Ci, Cl.
  assert (Hl : In (last m i) be).
  { rewrite Eq. apply in_or_app. right. apply in_or_app. left. apply last_in. }
  specialize (Nb _ Hl).
  eapply Nat.le_trans; [exact Le|]. eapply Nat.le_trans.
  - apply (Safe bf i m af Eq). intros t Ht. apply NI. lia.
  - apply Mono. lia.
Qed.

(** ** What is asked of both together *)

(** [least]: no shorter interval has real-time work due in it. For flows with deadlines it is the least
    of them, d_min; 0 with [guarantee = "all"]. *)
Variable least : nat.
Definition rt_least : Prop :=
  forall a D, a <= D -> busy_since a D -> 0 < demand rt a D -> least <= D - a.

(** Admission, R(t) >= 0 from d_min on: real time fits beside any blocker. *)
Definition admitted : Prop := forall t, least <= t -> bound t + max s_be (s_rt t) <= t.
(** Where E is positive it is at most R_be: best effort fits beside real time and beside a real-time
    blocker. Best effort does not block best effort, which has deadlines in the order of service. *)
Definition residual : Prop := forall t, least <= t -> 0 < E t -> E t + bound t + s_rt t <= t.

Lemma interval_fits a D b :
  rt_bounded -> rt_blocking -> be_blocking -> monotone E -> safe_deadlines -> ordered -> residual ->
  busy_since a D -> a <= D -> least <= D - a ->
  (0 < demand be a D \/ admitted) ->
  (b = 0 \/ exists x, In x (rt ++ be) /\ arr x < a < fin x /\ D < dl x /\ b < size x) ->
  demand (rt ++ be) a D + b <= D - a.
Proof.
  intros RB SR SB Mono Safe Ord Res BS LD Least Adm Hb. rewrite demand_app.
  pose proof (RB a D LD BS) as Rt. pose proof BS as [NI Before].
  pose proof (be_demand_bounds a D Mono Safe Ord NI) as Be.
  destruct (Nat.eq_dec (demand be a D) 0) as [Z|NZ].
  - destruct Adm as [|Adm]; [lia|]. specialize (Adm _ Least).
    destruct Hb as [->|(x & Hx & Ax & Dx & Bx)]; [lia|].
    apply in_app_or in Hx. destruct Hx as [Hx|Hx].
    + specialize (SR x a D Hx LD BS Ax Dx). lia.
    + specialize (SB x Hx). lia.
  - specialize (Res _ Least ltac:(lia)).
    destruct Hb as [->|(x & Hx & Ax & Dx & Bx)]; [lia|].
    apply in_app_or in Hx. destruct Hx as [Hx|Hx].
    + specialize (SR x a D Hx LD BS Ax Dx). lia.
    + (* A best-effort packet that came earlier is not due later than one that counts. *)
      exfalso. destruct (stretch size (fun q => (a <=? arr q) && (max (arr q) (dl q) <=? D)) be)
        as [Z|(bf & i & m & af & Eq & Ci & _ & _)]; [apply NZ; exact Z|].
      apply andb_true_iff in Ci. destruct Ci as [Ai Di]. apply Nat.leb_le in Ai, Di.
      assert (Hi : In i be) by (rewrite Eq; apply in_or_app; right; left; reflexivity).
      assert (NB : no_idle_between (arr x) (arr i)).
      { intros t Ht I. destruct (le_lt_dec t a) as [L|L].
        - specialize (I x ltac:(apply in_or_app; right; assumption) ltac:(lia)). lia.
        - apply (NI t); [|assumption]. pose proof (not_before Ord i Hi). lia. }
      pose proof (in_order Ord x i Hx Hi ltac:(lia) NB). lia.
Qed.

Lemma counts l p a D :
  edf_run (rt ++ be) -> (forall q, In q l -> In q (rt ++ be)) -> In p l -> a <= arr p -> arr p <= D ->
  dl p <= D -> 0 < demand l a D.
Proof.
  intros Run In_run Hp Ha Hr Hd. unfold Edf.demand.
  set (g := fun q => on ((a <=? arr q) && (max (arr q) (dl q) <=? D)) (size q)).
  apply Nat.lt_le_trans with (g p); [|apply (sumf_member g); assumption].
  unfold g. rewrite (proj2 (Nat.leb_le _ _) Ha), (proj2 (Nat.leb_le (max (arr p) (dl p)) D)) by lia. simpl.
  apply (positive _ _ _ _ (edf_link _ _ _ _ _ Run) p (In_run p Hp)).
Qed.

(** ** Theorem: no real-time packet is late, whatever assigner made the safe deadlines *)
Theorem safe_deadlines_keep_real_time :
  edf_run (rt ++ be) -> rt_bounded -> rt_blocking -> be_blocking ->
  rt_least -> monotone E -> admitted -> residual -> safe_deadlines -> ordered ->
  forall p, In p rt -> arr p <= dl p -> fin p <= dl p.
Proof.
  intros Run RB SR SB Least Mono Adm Res Safe Ord p Hp AD.
  destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  destruct (late_packet_overload arr size dl start (rt ++ be) p Run
              ltac:(apply in_or_app; left; assumption) ltac:(lia) Late)
    as (a & b & Ha & NI & Before & Hb & Over).
  pose proof (Least a (dl p) ltac:(lia) (conj NI Before) (counts rt p a (dl p) Run ltac:(auto with datatypes)
                Hp Ha ltac:(lia) ltac:(lia))).
  pose proof (interval_fits a (dl p) b RB SR SB Mono Safe Ord Res (conj NI Before)
                ltac:(lia) ltac:(lia) (or_intror Adm) Hb).
  lia.
Qed.

(** ** Theorem: with [guarantee = "all"] each best-effort packet meets its own deadline as well

    For that not even admission is needed. *)
Theorem safe_deadlines_keep_best_effort :
  edf_run (rt ++ be) -> rt_bounded -> rt_blocking -> be_blocking -> least = 0 ->
  monotone E -> residual -> safe_deadlines -> ordered ->
  forall p, In p be -> fin p <= dl p.
Proof.
  intros Run RB SR SB Least Mono Res Safe Ord p Hp.
  destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  assert (Hp' : In p (rt ++ be)) by (apply in_or_app; right; assumption).
  pose proof (not_before Ord p Hp) as Nb.
  destruct (late_packet_overload arr size dl start (rt ++ be) p Run Hp' Nb Late)
    as (a & b & Ha & NI & Before & Hb & Over).
  pose proof (counts be p a (dl p) Run ltac:(auto with datatypes) Hp Ha ltac:(lia) ltac:(lia)) as Counts.
  pose proof (interval_fits a (dl p) b RB SR SB Mono Safe Ord Res (conj NI Before)
                ltac:(lia) ltac:(lia) (or_introl Counts) Hb).
  lia.
Qed.

(** ** Theorem: best effort that goes only while no real-time packet waits

    That is [background], and every policy after a stall until no real-time packet waits. It is EDF with
    best-effort deadlines later than all others, so admission alone keeps real-time deadlines. *)
Theorem yielding_keeps_real_time :
  edf_run (rt ++ be) -> rt_bounded -> rt_blocking -> be_blocking -> rt_least -> admitted ->
  (forall p x, In p rt -> In x be -> dl p < dl x) ->
  forall p, In p rt -> arr p <= dl p -> fin p <= dl p.
Proof.
  intros Run RB SR SB Least Adm Yields p Hp AD.
  destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  destruct (late_packet_overload arr size dl start (rt ++ be) p Run
              ltac:(apply in_or_app; left; assumption) ltac:(lia) Late)
    as (a & b & Ha & NI & Before & Hb & Over).
  pose proof (Least a (dl p) ltac:(lia) (conj NI Before) (counts rt p a (dl p) Run ltac:(auto with datatypes)
                Hp Ha ltac:(lia) ltac:(lia))) as L.
  specialize (Adm _ L). rewrite demand_app in Over.
  assert (Z : demand be a (dl p) = 0).
  { unfold Edf.demand. apply sumf_zero. intros x Hx. specialize (Yields p x Hp Hx).
    rewrite (proj2 (Nat.leb_gt (max (arr x) (dl x)) (dl p))) by lia. rewrite andb_false_r. reflexivity. }
  pose proof (RB a (dl p) ltac:(lia) (conj NI Before)).
  destruct Hb as [->|(x & Hx & Ax & Dx & Bx)]; [lia|].
  apply in_app_or in Hx. destruct Hx as [Hx|Hx].
  - specialize (SR x a (dl p) Hx ltac:(lia) (conj NI Before) Ax Dx). lia.
  - specialize (SB x Hx). lia.
Qed.
End Deadlines.
