(** * A link under non-preemptive earliest deadline first, and what a late packet implies

    The model. Time is counted in ticks, and the unit of work is what the link sends in one tick: the
    size of a packet is the time for which it occupies the link. A run is finite. It is the list of
    all packets of the run, real time and best effort, with

    - [arr]: the arrival; of real-time packets the conformance, of best effort the release,
    - [dl]: the absolute deadline; of best effort the one that was assigned,
    - [start]: the tick at which the transmission begins.

    Nothing is said about how a scheduler finds its decisions, only about the run that results.
    Code: crates/link/src/pipeline, crates/link/src/edf. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums.
Import ListNotations.

Section Edf.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).

(** End of transmission: the packet occupies the ticks of [start p, fin p). *)
Definition fin p := start p + size p.

(** What the link does, whatever the scheduler. *)
Record link_run (pk : list packet) : Prop := {
  positive : forall p, In p pk -> 0 < size p;
  causal : forall p, In p pk -> arr p <= start p;
  exclusive : forall p q, In p pk -> In q pk -> p <> q -> fin p <= start q \/ fin q <= start p
}.

(** While any packet of [waiting] waits, something is sent. *)
Definition non_idling (waiting pk : list packet) : Prop :=
  forall p t, In p waiting -> arr p <= t < start p -> exists q, In q pk /\ start q <= t < fin q.

(** A packet of [among] only starts if no packet of [waiting] that waits then is due earlier. *)
Definition edf_among (waiting among : list packet) : Prop :=
  forall p q, In p waiting -> In q among -> arr p <= start q < start p -> dl q <= dl p.

(** Non-idling, non-preemptive EDF over all packets; ties may be broken in any way. *)
Record edf_run (pk : list packet) : Prop := {
  edf_link : link_run pk;
  edf_non_idling : non_idling pk pk;
  edf_order : edf_among pk pk
}.

(** Work that arrives in [a, D] and is due in it. *)
Definition demand (pk : list packet) (a D : nat) : nat :=
  sumf (fun q => on ((a <=? arr q) && (max (arr q) (dl q) <=? D)) (size q)) pk.

Lemma demand_app l m a D : demand (l ++ m) a D = demand l a D + demand m a D.
Proof. apply sumf_app. Qed.

(** An instant at which the link is idle: all that arrived before it has been sent by then. *)
Definition idle_at (pk : list packet) (t : nat) : Prop :=
  forall q, In q pk -> arr q < t -> fin q <= t.

(** ** Where the overload of a late packet begins *)

(** For a class [S] of packets and one of it that is not finished at [D], there is an arrival [a]
    of a packet of the class such that all earlier ones of the class are finished at [a], and at
    every tick from [a] to [D] one of the class is there and will not be finished at its end. *)
Lemma busy_from (pk : list packet) (S : packet -> bool) p D :
  In p pk -> S p = true -> D < fin p ->
  exists a, a <= arr p /\
    (forall q, In q pk -> S q = true -> arr q < a -> fin q <= a) /\
    (forall t, a <= t < D -> exists q, In q pk /\ S q = true /\ arr q <= t /\ t + 1 < fin q).
Proof.
  intros Hp Sp Late.
  set (P := fun t => forallb (fun q => negb (S q && (arr q <? t)) || (fin q <=? t)) pk).
  assert (P0 : P 0 = true).
  { unfold P. apply forallb_forall. intros q _. rewrite (proj2 (Nat.ltb_ge (arr q) 0)) by lia.
    rewrite andb_false_r. reflexivity. }
  destruct (last_such P 0 (arr p) ltac:(lia) P0) as (a & Ha & Pa & Later).
  exists a. split; [lia|]. split.
  - intros q Hq Sq Lt. unfold P in Pa. rewrite forallb_forall in Pa. specialize (Pa q Hq).
    rewrite Sq in Pa. simpl in Pa. rewrite (proj2 (Nat.ltb_lt _ _) Lt) in Pa. simpl in Pa.
    apply Nat.leb_le. assumption.
  - intros t Ht. destruct (le_lt_dec (arr p) t) as [L|L].
    + exists p. repeat split; try assumption; lia.
    + specialize (Later (t + 1) ltac:(lia)). unfold P in Later.
      assert (E : exists q, In q pk /\ negb (S q && (arr q <? t + 1)) || (fin q <=? t + 1) = false).
      { clear -Later. induction pk as [|x r IH]; simpl in *; [discriminate|].
        apply andb_false_iff in Later. destruct Later as [H|H].
        - exists x. split; [left; reflexivity|assumption].
        - destruct (IH H) as (q & Hq & Eq). exists q. split; [right|]; assumption. }
      destruct E as (q & Hq & E). apply orb_false_iff in E. destruct E as [E1 E2].
      apply negb_false_iff, andb_true_iff in E1. destruct E1 as [Sq E1].
      apply Nat.ltb_lt in E1. apply Nat.leb_gt in E2.
      exists q. repeat split; try assumption; lia.
Qed.

Lemma over_running a b s e : over a b (fun t => on ((s <=? t) && (t <? e)) 1) = min b e - max a s.
Proof.
  destruct (le_lt_dec b a) as [L|L]; [rewrite over_empty; lia|].
  induction b as [|b IH]; [lia|]. rewrite over_last by lia.
  destruct (Nat.eq_dec a b) as [->|N].
  - rewrite over_empty by lia. unfold on.
    destruct (Nat.leb_spec s b), (Nat.ltb_spec b e); cbn [andb]; lia.
  - rewrite IH by lia. unfold on. destruct (Nat.leb_spec s b), (Nat.ltb_spec b e); cbn [andb]; lia.
Qed.

(** If packets of a class fill [from, D) and one of them is not finished at [D], then their sizes
    add up to more than [D - from]. *)
Lemma filled (pk : list packet) (Q : packet -> bool) from D p :
  link_run pk -> from <= D -> In p pk -> Q p = true -> D < fin p ->
  (forall t, from <= t < D -> exists q, In q pk /\ Q q = true /\ start q <= t < fin q) ->
  D - from < sumf (fun q => on (Q q) (size q)) pk.
Proof.
  intros LR Le Hp Qp Late Fill. rewrite <- over_one.
  set (run := fun q t => on (Q q) (on ((start q <=? t) && (t <? fin q)) 1)).
  apply Nat.le_lt_trans with (over from D (fun t => sumf (fun q => run q t) pk)).
  - apply over_le. intros t Ht. destruct (Fill t Ht) as (q & Hq & Qq & St & Ft).
    apply Nat.le_trans with (run q t); [|exact (sumf_member (fun q => run q t) pk q Hq)].
    unfold run. rewrite Qq. simpl.
    rewrite (proj2 (Nat.leb_le _ _) St), (proj2 (Nat.ltb_lt _ _) Ft). simpl. lia.
  - rewrite over_sumf.
    assert (B : forall q, Q q = true -> over from D (run q) = min D (fin q) - max from (start q)).
    { intros q Qq. unfold run. rewrite Qq. simpl. apply over_running. }
    apply sumf_lt with p; [|assumption|].
    + intros q Hq. destruct (Q q) eqn:Qq; [rewrite (B q Qq); simpl; unfold fin; lia|].
      simpl. unfold run. rewrite Qq. rewrite over_zero; [lia|reflexivity].
    + rewrite (B p Qp), Qp. simpl. pose proof (positive pk LR p Hp). unfold fin in *. lia.
Qed.

(** Two packets are not on the wire in the same tick. *)
Lemma one_at_a_time (pk : list packet) p q t :
  link_run pk -> In p pk -> In q pk -> p <> q -> start p <= t < fin p -> start q <= t < fin q -> False.
Proof. intros LR Hp Hq N H1 H2. destruct (exclusive pk LR p q Hp Hq N); lia. Qed.

(** What is sent while a packet of the class is there and goes on beyond this tick, but is not of
    the class, started before: the packet of the class waits for its end. *)
Lemma waits (pk : list packet) p x t :
  link_run pk -> In p pk -> In x pk -> p <> x -> start x <= t < fin x -> t + 1 < fin p -> arr p <= t ->
  t < start p.
Proof.
  intros LR Hp Hx N Hr Ht _. destruct (le_lt_dec (start p) t) as [L|]; [exfalso|assumption].
  apply (one_at_a_time pk p x t); try assumption. lia.
Qed.

(** ** Theorem: a late packet implies an overloaded interval *)

(** Let [p] miss its deadline [D]. From some arrival [a] on, no later than that of [p], work that is
    due by [D] is pending in every tick before [D]; all such work from before [a] is finished at [a].
    So in each tick of [a, D) the link sends either such work that arrived at [a] or later, or a
    packet due after [D] that started before [a]. *)
Lemma overload_interval (pk : list packet) p :
  edf_run pk -> In p pk -> arr p <= dl p -> dl p < fin p ->
  exists a, a <= arr p /\
    (forall q, In q pk -> dl q <= dl p -> arr q < a -> fin q <= a) /\
    (forall t, a <= t < dl p ->
       exists q, In q pk /\ dl q <= dl p /\ arr q <= t /\ t + 1 < fin q) /\
    (forall t, a <= t < dl p -> exists x, In x pk /\ start x <= t < fin x /\
       ((dl x <= dl p /\ a <= arr x) \/ (dl p < dl x /\ start x < a))).
Proof.
  intros [LR NI EO] Hp Hdl Late. set (D := dl p) in *.
  destruct (busy_from pk (fun q => dl q <=? D) p D Hp (proj2 (Nat.leb_le _ _) (Nat.le_refl _)) Late)
    as (a & Ha & Before & Busy).
  assert (Before' : forall q, In q pk -> dl q <= D -> arr q < a -> fin q <= a).
  { intros q Hq Dq Aq. apply Before; try assumption. apply Nat.leb_le. assumption. }
  exists a. split; [assumption|]. split; [assumption|]. split.
  { intros t Ht. destruct (Busy t Ht) as (q & Hq & Sq & Aq & Fq). apply Nat.leb_le in Sq.
    exists q. repeat split; assumption. }
  intros t Ht. destruct (Busy t Ht) as (q & Hq & Sq & Aq & Fq). apply Nat.leb_le in Sq.
  assert (Ex : exists x, In x pk /\ start x <= t < fin x).
  { destruct (le_lt_dec (start q) t) as [L|L]; [exists q; repeat split; try assumption; lia|].
    apply (NI q t); [assumption|lia]. }
  destruct Ex as (x & Hx & Rx). exists x. split; [assumption|]. split; [assumption|].
  destruct (le_lt_dec (dl x) D) as [L|L].
  - left. split; [assumption|]. destruct (le_lt_dec a (arr x)) as [|A]; [assumption|exfalso].
    specialize (Before' x Hx L A). lia.
  - right. split; [assumption|]. destruct (le_lt_dec a (start x)) as [A|]; [exfalso|assumption].
    destruct (Busy (start x) ltac:(lia)) as (r & Hr & Sr & Ar & Fr). apply Nat.leb_le in Sr.
    assert (N : r <> x) by (intros ->; lia).
    pose proof (positive pk LR x Hx).
    pose proof (waits pk r x (start x) LR Hr Hx N ltac:(unfold fin; lia) Fr Ar) as W.
    specialize (EO r x Hr Hx ltac:(lia)). lia.
Qed.

(** The same, of packets that start no later than [p]. *)
Definition demand_before (pk : list packet) (p : packet) (a D : nat) : nat :=
  sumf (fun q => on (((a <=? arr q) && (max (arr q) (dl q) <=? D)) && (start q <=? start p)) (size q)) pk.

(** If a packet [p] misses its deadline [D] under EDF, there is an interval [a, D], beginning with an
    arrival and without an idle instant, whose demand by packets that start no later than [p], together
    with what at most one blocker still sends in it, exceeds its length. The blocker started before [a]
    and is due after [D]. Work due by [D] from before [a] is finished at [a]. *)
Theorem late_packet_overload_before (pk : list packet) p :
  edf_run pk -> In p pk -> arr p <= dl p -> dl p < fin p ->
  exists a b, a <= arr p /\
    (forall t, a < t <= dl p -> ~ idle_at pk t) /\
    (forall q, In q pk -> dl q <= dl p -> arr q < a -> fin q <= a) /\
    (forall t, a <= t < dl p -> exists x, In x pk /\ start x <= t < fin x /\
       ((dl x <= dl p /\ a <= arr x) \/ (dl p < dl x /\ start x < a))) /\
    (b = 0 \/ exists x, In x pk /\ start x < a < fin x /\ dl p < dl x /\ b + (a - start x) <= size x) /\
    dl p - a < demand_before pk p a (dl p) + b.
Proof.
  intros Run Hp Hdl Late. pose proof Run as [LR NI EO].
  destruct (overload_interval pk p Run Hp Hdl Late) as (a & Ha & Before & Busy & Sent).
  set (D := dl p) in *.
  assert (NonIdle : forall t, a < t <= D -> ~ idle_at pk t).
  { intros t Ht I. destruct (Busy (t - 1) ltac:(lia)) as (q & Hq & _ & Aq & Fq).
    specialize (I q Hq ltac:(lia)). lia. }
  set (Q := fun q => ((a <=? arr q) && (max (arr q) (dl q) <=? D)) && (start q <=? start p)).
  assert (QS : forall y t, In y pk -> dl y <= D -> a <= arr y -> start y <= t < fin y -> t < D -> Q y = true).
  { intros y t Hy Dy Ay Ry Ht. pose proof (causal pk LR y Hy).
    assert (start y <= start p).
    { destruct (le_lt_dec (start y) (start p)) as [|L]; [assumption|exfalso].
      assert (N : y <> p) by (intros ->; lia).
      destruct (exclusive pk LR y p Hy Hp N) as [H'|H']; [unfold fin in *; lia|].
      unfold D in *. lia. }
    unfold Q. rewrite !andb_true_iff, !Nat.leb_le. lia. }
  assert (Qp : Q p = true) by (unfold Q; rewrite !andb_true_iff, !Nat.leb_le; unfold D in *; lia).
  exists a.
  (* The blocker, if any, is what is on the link in tick [a]. *)
  destruct (le_lt_dec D a) as [LD|LD].
  - exists 0. repeat split; try assumption; [left; reflexivity|].
    pose proof (filled pk Q a D p LR ltac:(lia) Hp Qp Late ltac:(intros; lia)).
    unfold demand_before. fold Q. unfold Q in *. lia.
  - destruct (Sent a ltac:(lia)) as (x & Hx & Rx & [[Dx Ax]|[Dx Sx]]).
    + exists 0. repeat split; try assumption; [left; reflexivity|].
      enough (D - a < sumf (fun q => on (Q q) (size q)) pk) by (unfold demand_before, Q in *; lia).
      apply (filled pk Q a D p); try assumption; [lia|].
      intros t Ht. destruct (Sent t Ht) as (y & Hy & Ry & [[Dy Ay]|[Dy Sy]]).
      * exists y. split; [assumption|]. split; [|assumption]. apply (QS y t); try assumption. lia.
      * exfalso. apply (one_at_a_time pk y x a); try assumption; [intros ->; lia|lia].
    + exists (min (fin x) D - a). repeat split; try assumption.
      * destruct (le_lt_dec (fin x) a) as [L|L]; [left; lia|]. right. exists x.
        repeat split; try assumption. unfold fin in *. lia.
      * enough (D - min (fin x) D < sumf (fun q => on (Q q) (size q)) pk) by (unfold demand_before, Q in *; lia).
        apply (filled pk Q (min (fin x) D) D p); try assumption; [lia|].
        intros t Ht. destruct (Sent t ltac:(lia)) as (y & Hy & Ry & [[Dy Ay]|[Dy Sy]]).
        -- exists y. split; [assumption|]. split; [|assumption]. apply (QS y t); try assumption. lia.
        -- exfalso. apply (one_at_a_time pk y x a); try assumption; [intros ->; lia|lia].
Qed.

(** The form that most theorems need: the demand of all packets, and of the blocker that at least one
    tick of it was over. *)
Theorem late_packet_overload (pk : list packet) p :
  edf_run pk -> In p pk -> arr p <= dl p -> dl p < fin p ->
  exists a b, a <= arr p /\
    (forall t, a < t <= dl p -> ~ idle_at pk t) /\
    (forall q, In q pk -> dl q <= dl p -> arr q < a -> fin q <= a) /\
    (b = 0 \/ exists x, In x pk /\ arr x < a < fin x /\ dl p < dl x /\ b < size x) /\
    dl p - a < demand pk a (dl p) + b.
Proof.
  intros Run Hp Hdl Late.
  destruct (late_packet_overload_before pk p Run Hp Hdl Late) as (a & b & Ha & NI & Before & _ & Hb & Over).
  exists a, b. repeat split; try assumption.
  - destruct Hb as [->|(x & Hx & Sx & Dx & Bx)]; [left; reflexivity|right]. exists x.
    pose proof (causal pk (edf_link _ Run) x Hx). repeat split; try assumption; lia.
  - eapply Nat.lt_le_trans; [exact Over|]. apply Nat.add_le_mono_r. apply sumf_le. intros q _.
    destruct (_ && (max _ _ <=? _)), (start q <=? start p); cbn [on andb]; lia.
Qed.

(** ** Theorem 2 of the paper: the demand condition keeps deadlines

    [fits a D]: the demand of the interval fits into it, alone and beside each packet that may
    block it. A blocker started at least one tick earlier, hence [size x - 1]. *)
Definition fits (pk : list packet) (a D : nat) : Prop :=
  demand pk a D <= D - a /\
  forall x, In x pk -> arr x < a -> D < dl x -> demand pk a D + (size x - 1) <= D - a.

Theorem demand_condition_keeps_deadline (pk : list packet) p :
  edf_run pk -> In p pk -> arr p <= dl p ->
  (forall a, a <= arr p -> fits pk a (dl p)) ->
  fin p <= dl p.
Proof.
  intros R Hp Hdl F. destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  destruct (late_packet_overload pk p R Hp Hdl Late) as (a & b & Ha & _ & _ & Hb & Over).
  destruct (F a Ha) as [F0 F1]. destruct Hb as [->|(x & Hx & Ax & Dx & Bx)]; [lia|].
  specialize (F1 x Hx ltac:(lia) Dx). lia.
Qed.

End Edf.
