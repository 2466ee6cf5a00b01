(** * Sums of lines that begin at given instants, and a sweep that bounds them

    Demand over the length of an interval is a sum of curves that are lines between corner points. An
    [event] adds a line from an instant on, so a curve is a list of events, a sum of curves the list of
    all of them, in any order. [below] passes over the sorted list once and decides at corner points
    alone whether the sum is at most zero everywhere. Links: link/Certificate.v; CPUs:
    cpu/Certificate.v. Nothing here is about scheduling. *)
From Coq Require Import List ZArith Lia Bool Sorting.Sorted Sorting.Mergesort Sorting.Permutation Orders.
Import ListNotations.
Open Scope Z_scope.

(** From [at] on: [rise * t + level] more. *)
Record event := { at_ : Z; rise : Z; level : Z }.

Fixpoint value (l : list event) (t : Z) : Z :=
  match l with
  | [] => 0
  | e :: r => (if at_ e <=? t then rise e * t + level e else 0) + value r t
  end.

Lemma value_app l m t : value (l ++ m) t = value l t + value m t.
Proof. induction l; simpl; lia. Qed.

Lemma value_permutation l m t : Permutation l m -> value l t = value m t.
Proof. induction 1; simpl; lia. Qed.

Lemma value_before l t : (forall e, In e l -> t < at_ e) -> value l t = 0.
Proof.
  induction l as [|e r IH]; simpl; intros H; [reflexivity|].
  rewrite IH by (intros; apply H; right; assumption).
  destruct (Z.leb_spec (at_ e) t); [specialize (H e (or_introl eq_refl)); lia|lia].
Qed.

Module EventOrder <: TotalLeBool.
  Definition t := event.
  Definition leb (a b : event) : bool := at_ a <=? at_ b.
  Theorem leb_total : forall a b, leb a b = true \/ leb b a = true.
  Proof. unfold leb. intros a b. rewrite !Z.leb_le. lia. Qed.
End EventOrder.
Module EventSort := Sort EventOrder.

Definition sorted (l : list event) : Prop := StronglySorted (fun a b => at_ a <= at_ b) l.

Lemma sort_sorted l : sorted (EventSort.sort l).
Proof.
  assert (T : RelationClasses.Transitive (fun a b => is_true (EventOrder.leb a b))).
  { intros a b c. unfold EventOrder.leb, is_true. rewrite !Z.leb_le. lia. }
  pose proof (EventSort.StronglySorted_sort l T) as S. unfold sorted.
  induction S as [|a r S IH F]; constructor; [assumption|].
  eapply Forall_impl; [|exact F]. intros b. unfold EventOrder.leb, is_true. rewrite Z.leb_le. trivial.
Qed.

(** Whether [m * t + b] and the events of a sorted list add up to at most 0 from [lo] on. *)
Fixpoint below (lo m b : Z) (l : list event) : bool :=
  match l with
  | [] => (m <=? 0) && (m * lo + b <=? 0)
  | e :: r =>
      if at_ e <=? lo then below lo (m + rise e) (b + level e) r
      else (m * lo + b <=? 0) && (m * (at_ e - 1) + b <=? 0) && below (at_ e) (m + rise e) (b + level e) r
  end.

Lemma below_sorted l : sorted l -> forall lo m b,
  below lo m b l = true -> forall t, lo <= t -> m * t + b + value l t <= 0.
Proof.
  induction 1 as [|e r S IH F]; intros lo m b C t Le; cbn [below value] in *.
  - apply andb_true_iff in C. rewrite !Z.leb_le in C. nia.
  - destruct (Z.leb_spec (at_ e) lo) as [L|L].
    + specialize (IH _ _ _ C t Le). destruct (Z.leb_spec (at_ e) t); [nia|lia].
    + rewrite !andb_true_iff, !Z.leb_le in C. destruct C as [[C1 C2] C3].
      destruct (Z.leb_spec (at_ e) t) as [M|M].
      * specialize (IH _ _ _ C3 t M). nia.
      * rewrite value_before; [destruct (Z.le_gt_cases m 0); nia|].
        rewrite Forall_forall in F. intros x Hx. specialize (F x Hx). lia.
Qed.

(** ** Theorem: the sweep bounds the sum, at corner points alone *)
Theorem sweep_bounds_the_sum lo m b l :
  below lo m b (EventSort.sort l) = true -> forall t, lo <= t -> m * t + b + value l t <= 0.
Proof.
  intros C t Le. rewrite (value_permutation _ _ t (EventSort.Permuted_sort l)).
  apply (below_sorted _ (sort_sorted l) lo m b C t Le).
Qed.

(** ** Lines that replace each other *)

(** From [at_] on the line [rise * t + level] and no longer the one before. *)
Fixpoint replaced (m b : Z) (l : list event) : list event :=
  match l with
  | [] => []
  | e :: r => {| at_ := at_ e; rise := rise e - m; level := level e - b |} :: replaced (rise e) (level e) r
  end.

Definition ascending (from : Z) (l : list event) : bool :=
  (fix go from l := match l with [] => true | e :: r => (from <=? at_ e) && go (at_ e) r end) from l.

Lemma ascending_from l : forall from, ascending from l = true -> forall e, In e l -> from <= at_ e.
Proof.
  induction l as [|x r IH]; intros from O e He; [destruct He|]. cbn in O.
  apply andb_true_iff in O. destruct O as [O1 O2]. apply Z.leb_le in O1.
  destruct He as [<-|He]; [assumption|]. specialize (IH _ O2 e He). lia.
Qed.

Lemma replaced_from l : forall m b from, ascending from l = true ->
  forall e, In e (replaced m b l) -> from <= at_ e.
Proof.
  induction l as [|x r IH]; intros m b from O e He; [destruct He|]. cbn in O, He.
  apply andb_true_iff in O. destruct O as [O1 O2]. apply Z.leb_le in O1.
  destruct He as [<-|He]; [assumption|]. specialize (IH _ _ _ O2 e He). lia.
Qed.

(** The line in force at an instant. *)
Fixpoint line_at (m b : Z) (l : list event) (t : Z) : Z :=
  match l with
  | [] => m * t + b
  | e :: r => if at_ e <=? t then line_at (rise e) (level e) r t else m * t + b
  end.

Lemma replaced_value l : forall m b from t, ascending from l = true ->
  m * t + b + value (replaced m b l) t = line_at m b l t.
Proof.
  induction l as [|e r IH]; intros m b from t O; [simpl; lia|]. cbn in O.
  apply andb_true_iff in O. destruct O as [O1 O2]. cbn [replaced value line_at at_ rise level].
  destruct (Z.leb_spec (at_ e) t) as [L|L].
  - rewrite <- (IH _ _ _ t O2). lia.
  - rewrite value_before; [lia|]. intros x Hx. pose proof (replaced_from _ _ _ _ O2 x Hx). lia.
Qed.

(** It is one of the lines. *)
Lemma line_at_one l : forall m b t,
  line_at m b l t = m * t + b \/ exists e, In e l /\ at_ e <= t /\ line_at m b l t = rise e * t + level e.
Proof.
  induction l as [|e r IH]; intros m b t; [left; reflexivity|]. cbn [line_at].
  destruct (Z.leb_spec (at_ e) t); [|left; reflexivity].
  destruct (IH (rise e) (level e) t) as [->|(x & Hx & Ax & ->)]; right.
  - exists e. repeat split; auto with zarith. left. reflexivity.
  - exists x. repeat split; auto. right. assumption.
Qed.

(** ** Staircases: [step * ((y + late) / period + 1)], followed step by step, then the line above *)

Definition up (a b : Z) : Z := - (- a / b).

Lemma up_above a b : 0 < b -> a <= b * up a b.
Proof. intros P. unfold up. pose proof (Z.mul_div_le (- a) b P). lia. Qed.

Section Staircase.
(** Up to [count] packets have come before the next step, which is [count * period - late] after [d]. *)
Variables (d step period late : Z).

Definition line_above : event :=
  let m := up step period in
  {| at_ := 0; rise := m; level := up (step * (late + period)) period - m * d |}.

Fixpoint steps (n : nat) (count : Z) : list event :=
  let next := d + count * period - late in
  match n with
  | O => [{| at_ := next; rise := rise line_above; level := level line_above |}]
  | S n' => {| at_ := next; rise := 0; level := step * (count + 1) |} :: steps n' (count + 1)
  end.

Definition first_count : Z := late / period + 1.
Definition stair_events (n : nat) : list event :=
  let c := first_count in
  {| at_ := d; rise := 0; level := step * c |} :: replaced 0 (step * c) (steps n c).

Hypothesis P : 0 < period.
Hypothesis S0 : 0 <= step.

Lemma steps_ascending n : forall count from, from <= d + count * period - late -> ascending from (steps n count) = true.
Proof.
  induction n as [|n IH]; intros count from L; cbn [steps].
  - cbn. rewrite (proj2 (Z.leb_le _ _)) by assumption. reflexivity.
  - change (ascending from (?e :: ?r)) with ((from <=? at_ e) && ascending (at_ e) r).
    cbn [at_]. rewrite (proj2 (Z.leb_le _ _)) by assumption. apply IH. nia.
Qed.

Lemma line_above_above y : 0 <= y ->
  step * ((y + late) / period + 1) <= rise line_above * (d + y) + level line_above.
Proof.
  intros Y. cbn [line_above rise level].
  pose proof (up_above step period P). pose proof (up_above (step * (late + period)) period P).
  pose proof (Z.mul_div_le (y + late) period P).
  set (m := up step period) in *. set (b := up (step * (late + period)) period) in *.
  set (q := (y + late) / period) in *.
  assert (step * (period * (q + 1)) <= step * (y + late + period)) by nia.
  assert (period * (step * (q + 1)) <= period * (m * y + b)) by nia.
  nia.
Qed.

Lemma steps_above n : forall count y, 0 <= y ->
  (y + late < count * period -> step * ((y + late) / period + 1) <= step * count) ->
  step * ((y + late) / period + 1) <= line_at 0 (step * count) (steps n count) (d + y).
Proof.
  induction n as [|n IH]; intros count y Y B; cbn [steps line_at at_ rise level].
  - destruct (Z.leb_spec (d + count * period - late) (d + y)) as [L|L].
    + cbn [line_at]. apply line_above_above. assumption.
    + specialize (B ltac:(lia)). lia.
  - destruct (Z.leb_spec (d + count * period - late) (d + y)) as [L|L]; [|specialize (B ltac:(lia)); lia].
    apply IH; [assumption|]. intros L2.
    assert ((y + late) / period <= count).
    { assert ((y + late) / period < count + 1); [|lia]. apply Z.div_lt_upper_bound; lia. }
    nia.
Qed.

(** The events of a staircase are above it, whatever the number of steps that are followed. *)
Lemma stair_events_above n t : 0 <= late ->
  (d <= t -> step * ((t - d + late) / period + 1) <= value (stair_events n) t) /\
  (t < d -> value (stair_events n) t = 0).
Proof.
  intros L0. unfold stair_events. set (c := first_count).
  assert (C : late < c * period).
  { unfold c, first_count. pose proof (Z.mod_pos_bound late period P). pose proof (Z.div_mod late period). nia. }
  assert (O : ascending d (steps n c) = true) by (apply steps_ascending; lia).
  cbn [value at_ rise level]. split; intros T.
  - rewrite (proj2 (Z.leb_le d t)) by assumption.
    pose proof (replaced_value (steps n c) 0 (step * c) d t O) as R.
    pose proof (steps_above n c (t - d) ltac:(lia)) as A.
    replace (d + (t - d)) with t in A by lia. rewrite <- R in A. apply A. intros L.
    assert ((t - d + late) / period < c); [|nia]. apply Z.div_lt_upper_bound; lia.
  - rewrite (proj2 (Z.leb_gt d t)) by assumption. rewrite value_before; [reflexivity|].
    intros e He. pose proof (replaced_from _ _ _ _ O e He). lia.
Qed.
End Staircase.

(** ** The lines of a sum, and the largest curve below it that never falls

    For the canonical form of certificates; nothing rests on these definitions. *)

(** The lines of [m * t + b] less the events of a sorted list, from [from] on. *)
Fixpoint remainder (from m b : Z) (l : list event) : list event :=
  match l with
  | [] => [{| at_ := from; rise := m; level := b |}]
  | e :: r =>
      if at_ e <=? from then remainder from (m - rise e) (b - level e) r
      else {| at_ := from; rise := m; level := b |} :: remainder (at_ e) (m - rise e) (b - level e) r
  end.

Definition line (e : event) (t : Z) : Z := rise e * t + level e.

(** From each instant on the least value that still comes, as lines, and the first value of it. *)
Fixpoint least_to_come (l : list event) : list event * Z :=
  match l with
  | [] => ([], 0)
  | [e] => ([e], line e (at_ e))
  | e :: (next :: _) as r =>
      let (curve, bound) := least_to_come r in
      let last := line e (at_ next - 1) in
      let flat at_ low := {| at_ := at_; rise := 0; level := low |} in
      if rise e <=? 0 then (flat (at_ e) (Z.min bound last) :: curve, Z.min bound last)
      else if bound <=? line e (at_ e) then (flat (at_ e) bound :: curve, bound)
      else if last <=? bound then (e :: curve, line e (at_ e))
      else (e :: flat ((bound - level e) / rise e + 1) bound :: curve, line e (at_ e))
  end.

(** Lines that go on are one. *)
Fixpoint joined (l : list event) : list event :=
  match l with
  | a :: r =>
      match joined r with
      | b :: r' => if (rise a =? rise b) && (level a =? level b) then a :: r' else a :: b :: r'
      | [] => [a]
      end
  | [] => []
  end.

(** At each instant from [t] on the lesser of two curves, of which [x] and [y] are in force; [fuel] steps. *)
Definition begun (t : Z) (l : list event) : bool := match l with e :: _ => at_ e <=? t | [] => false end.
Definition earlier (a b : option Z) : option Z :=
  match a, b with Some x, Some y => Some (Z.min x y) | Some x, None => Some x | None, _ => b end.
Definition begin_of (l : list event) : option Z := match l with e :: _ => Some (at_ e) | [] => None end.
Definition is_before (t : Z) (until : option Z) : bool := match until with Some u => t <? u | None => true end.
Definition from_on (t : Z) (e : event) : event := {| at_ := t; rise := rise e; level := level e |}.

Fixpoint lesser (fuel : nat) (t : Z) (x : event) (xs : list event) (y : event) (ys : list event) : list event :=
  match fuel with
  | O => []
  | S k =>
      if begun t xs then match xs with n :: r => lesser k t n r y ys | [] => [] end
      else if begun t ys then match ys with n :: r => lesser k t x xs n r | [] => [] end
      else
        let until := earlier (begin_of xs) (begin_of ys) in
        let low := if line x t <=? line y t then x else y in
        let high := if line x t <=? line y t then y else x in
        let cross := (level high - level low) / (rise low - rise high) + 1 in
        let crossed := if (rise high <? rise low) && is_before cross until then [from_on cross high] else [] in
        from_on t low :: crossed ++ match until with Some u => lesser k u x xs y ys | None => [] end
  end.

Definition least_of (a b : list event) : list event :=
  match a, b with
  | x :: xs, y :: ys => joined (lesser (2 * (length xs + length ys) + 2) 0 x xs y ys)
  | [], _ => b
  | _, [] => a
  end.

(** Where the lines are least from [from] on, and the value there; [best] if that is as low. *)
Definition lower (from : Z) (e : event) (t : Z) (best : option (Z * Z)) : option (Z * Z) :=
  if t <? from then best
  else match best with
       | Some (_, v) => if line e t <? v then Some (t, line e t) else best
       | None => Some (t, line e t)
       end.

Fixpoint lowest (from : Z) (best : option (Z * Z)) (l : list event) : option (Z * Z) :=
  match l with
  | [] => best
  | [e] => lower from e (Z.max from (at_ e)) best
  | e :: (next :: _) as r =>
      let first := Z.max from (at_ e) in
      let best := if first <? at_ next then lower from e first best else best in
      lowest from (lower from e (at_ next - 1) best) r
  end.

Fixpoint same_events (a b : list event) : bool :=
  match a, b with
  | [], [] => true
  | x :: a', y :: b' =>
      (at_ x =? at_ y) && (rise x =? rise y) && (level x =? level y) && same_events a' b'
  | _, _ => false
  end.

(** How many steps of a staircase come before [horizon]. *)
Definition steps_before (d period late horizon : Z) : Z :=
  Z.max 0 (up (horizon - d + late) period - first_count period late).

(** Whether a step comes at the tick before [horizon]. *)
Definition steps_at (d period late horizon : Z) : bool := ((horizon - 1 - d + late) mod period =? 0).
