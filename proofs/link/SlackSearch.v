(** * The search of [slack] at finitely many points

    The check asks something of every deadline [D] that a search must look at. What waits and may come by [D] is
    below a line between two neighbouring corners: what waits only grows at deadlines of what waits, and what may
    come lies below the buckets' lines. So it is enough to look at both ends of each piece, the right one just
    before the next piece begins, and at the slope of the last. Work is counted in 1/[Q].
    Code: crates/link/src/slack/search.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Slack.
Import ListNotations.

(** A piece: where it begins, its value there, and its slope. *)
Record piece := { from : nat; value : nat; slope : nat }.

Section Search.
Variables (Q t w : nat).

(** The packet of [w] fits at [D] beside work [v]. *)
Definition fits_at (v D : nat) : bool := Q * (t + w) + v <=? Q * D.

Fixpoint search (p : piece) (rest : list piece) : bool :=
  fits_at (value p) (from p) &&
  match rest with
  | [] => slope p <=? Q
  | next :: rest' =>
      (from p <=? from next) && fits_at (value p + slope p * (from next - from p)) (from next) &&
      search next rest'
  end.

(** The pieces bound [G] from the first on. *)
Fixpoint bounded_by (G : nat -> nat) (p : piece) (rest : list piece) : Prop :=
  (forall D, from p <= D -> match rest with [] => True | next :: _ => D < from next end ->
     Q * G D <= value p + slope p * (D - from p)) /\
  match rest with [] => True | next :: rest' => bounded_by G next rest' end.

Lemma search_is_enough (G : nat -> nat) rest : forall p,
  0 < Q -> bounded_by G p rest -> search p rest = true ->
  forall D, from p <= D -> t + w + G D <= D.
Proof.
  induction rest as [|next rest IH]; intros p QP [Here Later] S D L; cbn [search] in S.
  - apply andb_true_iff in S. destruct S as [S1 S2]. apply Nat.leb_le in S1, S2.
    specialize (Here D L I).
    assert (slope p * (D - from p) <= Q * (D - from p)) by (apply Nat.mul_le_mono_r; assumption).
    enough (Q * (t + w + G D) <= Q * D) by nia. nia.
  - rewrite !andb_true_iff in S. destruct S as [S1 [[S2 S3] S4]]. apply Nat.leb_le in S1, S2, S3.
    destruct (le_lt_dec (from next) D) as [M|M]; [apply (IH next QP Later S4 D M)|].
    specialize (Here D L M).
    enough (Q * (t + w + G D) <= Q * D) by nia.
    destruct (le_lt_dec (slope p) Q) as [Z|Z].
    + assert (slope p * (D - from p) <= Q * (D - from p)) by (apply Nat.mul_le_mono_r; assumption). nia.
    + (* The line is steepest at the end of the piece, where it was looked at. *)
      assert (E : slope p * (from next - from p) = slope p * (D - from p) + slope p * (from next - D)).
      { rewrite <- Nat.mul_add_distr_l. f_equal. lia. }
      assert (Q * (from next - D) <= slope p * (from next - D)) by (apply Nat.mul_le_mono_r; lia). nia.
Qed.
End Search.

(** ** Theorem: a search that finds no refusal proves the check *)
Theorem search_proves_the_check {packet : Type}
    (arr size dl start : packet -> nat) (rt : list packet)
    (F : nat -> nat -> nat) (known : nat -> nat -> Prop) Q t w p rest :
  0 < Q ->
  (forall D, known t D -> from p <= D) ->
  bounded_by Q (fun D => queued arr size dl start rt t D + F t D) p rest ->
  search Q t w p rest = true ->
  check arr size dl start rt F known t w.
Proof.
  intros QP Known Bound S D K.
  pose proof (search_is_enough Q t w _ rest p QP Bound S D (Known D K)). cbv beta in H. lia.
Qed.
