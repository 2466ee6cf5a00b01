(** * The simpler assigners: a line below the residual curve, and Algorithm 3 as corrected

    [tbs] and [shifted-line] need one number as history, [algorithm-3] two. Each is safe for its own
    line, so by [safe_below] for every residual curve above it. Work is counted in whole units of 1/Q
    of a tick of the link, so that slopes are whole numbers; deadlines are rounded up to ticks.
    Code: crates/link/src/assign/tbs.rs, shifted_line.rs, algorithm_3.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Assigner link.Exact.
Import ListNotations.

(** Division rounded up. *)
Definition div_up (a b : nat) : nat := (a + (b - 1)) / b.

Lemma div_up_enough a b : 0 < b -> a <= b * div_up a b.
Proof.
  intros B. unfold div_up. pose proof (Nat.div_mod (a + (b - 1)) b ltac:(lia)).
  pose proof (Nat.mod_upper_bound (a + (b - 1)) b ltac:(lia)). nia.
Qed.

Lemma div_up_mono a a' b : 0 < b -> a <= a' -> div_up a b <= div_up a' b.
Proof. intros B L. unfold div_up. apply Nat.div_le_mono; lia. Qed.

(** ** A shifted line: D = w/g + max(r + delta, D_prev)

    [tbs] has delta = 0. The deadline times [g] is kept exactly ([crossing]), and only what is returned
    is rounded, so rounding does not accumulate. *)
Section ShiftedLine.
Variables (Q g delta : nat).
Hypothesis Q_positive : 0 < Q.
Hypothesis g_positive : 0 < g.

Definition line (t : nat) : nat := g * (t - delta) / Q.

Fixpoint crossing (h : history) : nat :=
  match h with
  | [] => 0
  | (r, s) :: older => max (g * (r + delta)) (crossing older) + Q * s
  end.

Definition shifted_line (h : history) : nat := div_up (crossing h) g.

Lemma crossing_covers newer r s older :
  g * (r + delta) + Q * (work newer + s) <= crossing (newer ++ (r, s) :: older).
Proof.
  induction newer as [|[r' s'] l IH]; unfold work in *; cbn [app crossing sumf snd] in *; lia.
Qed.

(** *** Theorem: [tbs] and [shifted-line] are safe *)
Theorem shifted_line_is_safe : safe_assigner line shifted_line.
Proof.
  constructor.
  - intros newer r s older _. pose proof (crossing_covers newer r s older) as C.
    pose proof (div_up_enough (crossing (newer ++ (r, s) :: older)) g g_positive) as U.
    fold (shifted_line (newer ++ (r, s) :: older)) in U.
    set (D := shifted_line _) in *. unfold line.
    apply Nat.div_le_lower_bound; [lia|].
    destruct (le_lt_dec D (r + delta)) as [L|L]; [|replace (D - r - delta) with (D - (r + delta)) by lia; nia].
    assert (work newer + s = 0) as -> by nia. lia.
  - intros r s older. pose proof (div_up_enough (crossing ((r, s) :: older)) g g_positive) as U.
    fold (shifted_line ((r, s) :: older)) in U. cbn [crossing] in U. nia.
  - intros r s s' older L. unfold shifted_line. apply div_up_mono; [assumption|]. simpl. nia.
Qed.
End ShiftedLine.

(** ** Algorithm 3, corrected: the demand so far is taken to touch the line everywhere

    D_n = max(r_n + Vinv(w), D + Vinv(V(x) + w) - x), with the deadline D of the packet before and its
    distance x from the release. Of the line [V] only this is used: that it is convex, so that a step to
    the right is worth the more the further right it begins. *)
Section Algorithm3.
Variables (Q : nat) (V Vinv : nat -> nat).
Hypothesis Q_positive : 0 < Q.

Definition convex : Prop := forall x y step, x <= y -> V (x + step) + V y <= V (y + step) + V x.

Fixpoint algorithm_3 (h : history) : nat :=
  match h with
  | [] => 0
  | (r, s) :: older =>
      let alone := r + Vinv (Q * s) in
      match older with
      | [] => alone
      | (r', _) :: _ =>
          let D := algorithm_3 older in
          let x := D - r' in
          max alone (D + (Vinv (V x + Q * s) - x))
      end
  end.

Lemma algorithm_3_after r s older : r + Vinv (Q * s) <= algorithm_3 ((r, s) :: older).
Proof. simpl. destruct older as [|[r' s'] o]; lia. Qed.

Lemma algorithm_3_covers newer r s older :
  monotone V -> convex -> (forall v, v <= V (Vinv v)) -> (forall e, In e newer -> r <= fst e) ->
  Q * (work newer + s) <= V (algorithm_3 (newer ++ (r, s) :: older) - r).
Proof.
  intros Mono Cx Inv. induction newer as [|[rn sn] l IH]; intros Ord.
  - eapply Nat.le_trans; [apply Inv|]. apply Mono.
    pose proof (algorithm_3_after r s older). cbn [app]. unfold work. cbn [sumf].
    rewrite Nat.add_0_l. lia.
  - specialize (IH (fun e He => Ord e (or_intror He))).
    set (rest := l ++ (r, s) :: older) in *.
    assert (Step : exists r' s' o, rest = (r', s') :: o /\ r <= r').
    { destruct l as [|[r' s'] l']; cbn [app] in rest.
      - exists r, s, older. split; [reflexivity|lia].
      - exists r', s', (l' ++ (r, s) :: older). split; [reflexivity|].
        apply (Ord (r', s')). right. left. reflexivity. }
    destruct Step as (r' & s' & o & Er & Lr).
    pose proof (algorithm_3_after r' s' o) as After. rewrite <- Er in After.
    set (D := algorithm_3 rest) in *.
    assert (New : D + (Vinv (V (D - r') + Q * sn) - (D - r')) <= algorithm_3 ((rn, sn) :: rest)).
    { unfold D. rewrite Er. cbn [algorithm_3]. lia. }
    cbn [app]. set (Dn := algorithm_3 ((rn, sn) :: rest)) in *.
    set (x := D - r') in *. set (y := D - r).
    set (step := Vinv (V x + Q * sn) - x) in *.
    (* The step adds the new work at x, so at least as much at y. *)
    assert (At : V x + Q * sn <= V (x + step)).
    { eapply Nat.le_trans; [apply Inv|]. apply Mono. unfold step. lia. }
    pose proof (Cx x y step ltac:(unfold x, y; lia)) as C.
    pose proof (Mono (y + step) (Dn - r) ltac:(unfold y; lia)) as M.
    change (D - r) with y in IH. unfold work in *. cbn [sumf snd] in *.
    rewrite !Nat.mul_add_distr_l in *.
    change (algorithm_3 ((rn, sn) :: l ++ (r, s) :: older)) with Dn. lia.
Qed.

(** *** Theorem: Algorithm 3 as corrected is safe *)
Theorem algorithm_3_is_safe :
  monotone V -> convex -> monotone Vinv -> (forall v, v <= V (Vinv v)) ->
  safe_assigner (fun t => V t / Q) algorithm_3.
Proof.
  intros Mono Cx MI Inv. constructor.
  - intros newer r s older Ord. apply Nat.div_le_lower_bound; [lia|].
    apply algorithm_3_covers; assumption.
  - intros r s older. pose proof (algorithm_3_after r s older). lia.
  - intros r s s' older L. pose proof (MI (Q * s) (Q * s') ltac:(nia)).
    destruct older as [|[r' z] o]; [simpl; lia|].
    set (rest := (r', z) :: o). set (D := algorithm_3 rest).
    pose proof (MI (V (D - r') + Q * s) (V (D - r') + Q * s') ltac:(nia)).
    change (max (r + Vinv (Q * s)) (D + (Vinv (V (D - r') + Q * s) - (D - r')))
            <= max (r + Vinv (Q * s')) (D + (Vinv (V (D - r') + Q * s') - (D - r')))).
    lia.
Qed.

End Algorithm3.

(** ** Two segments through the origin, the second no flatter than the first *)
Section TwoSegments.
Variables (Q first second corner : nat).
Hypothesis Q_positive : 0 < Q.
Hypothesis first_positive : 0 < first.
Hypothesis convex_corner : first <= second.

Definition two_segments (t : nat) : nat := first * min t corner + second * (t - corner).
Definition two_segments_inverse (v : nat) : nat :=
  if v <=? first * corner then div_up v first else corner + div_up (v - first * corner) second.

Lemma two_segments_are_convex : convex two_segments.
Proof.
  intros x y step Hxy. unfold two_segments.
  destruct (le_lt_dec corner x), (le_lt_dec corner y), (le_lt_dec corner (x + step)),
           (le_lt_dec corner (y + step));
    rewrite ?Nat.min_l, ?Nat.min_r by lia; nia.
Qed.

Lemma two_segments_are_monotone : monotone two_segments.
Proof.
  intros s t L. unfold two_segments.
  destruct (le_lt_dec corner s), (le_lt_dec corner t); rewrite ?Nat.min_l, ?Nat.min_r by lia; nia.
Qed.

Lemma two_segments_inverse_is_enough v : v <= two_segments (two_segments_inverse v).
Proof.
  unfold two_segments_inverse. destruct (Nat.leb_spec v (first * corner)) as [L|L].
  - pose proof (div_up_enough v first first_positive) as U.
    eapply Nat.le_trans; [exact U|]. unfold two_segments.
    destruct (le_lt_dec corner (div_up v first)); rewrite ?Nat.min_l, ?Nat.min_r by lia; nia.
  - pose proof (div_up_enough (v - first * corner) second ltac:(lia)).
    unfold two_segments. rewrite Nat.min_r by lia.
    replace (corner + div_up (v - first * corner) second - corner)
      with (div_up (v - first * corner) second) by lia. lia.
Qed.

Lemma two_segments_inverse_is_monotone : monotone two_segments_inverse.
Proof.
  intros v w L. unfold two_segments_inverse.
  destruct (Nat.leb_spec v (first * corner)), (Nat.leb_spec w (first * corner)); try lia.
  - apply div_up_mono; assumption.
  - assert (div_up v first <= corner); [|lia]. unfold div_up.
    apply Nat.lt_succ_r. apply Nat.div_lt_upper_bound; [lia|]. nia.
  - apply Nat.add_le_mono_l. apply div_up_mono; lia.
Qed.

Definition two_segment_line (t : nat) : nat := two_segments t / Q.

(** *** Theorem: [two-segment] is safe *)
Theorem two_segment_is_safe :
  safe_assigner two_segment_line (exact (fun w => two_segments_inverse (Q * w))).
Proof.
  apply exact_is_safe.
  - intros s t L. apply Nat.div_le_mono; [lia|]. apply two_segments_are_monotone. assumption.
  - intros v w L. apply two_segments_inverse_is_monotone. nia.
  - intros w. apply Nat.div_le_lower_bound; [lia|]. apply two_segments_inverse_is_enough.
Qed.

(** *** Theorem: and [algorithm-3] on the same line *)
Theorem algorithm_3_on_two_segments_is_safe :
  safe_assigner two_segment_line (algorithm_3 Q two_segments two_segments_inverse).
Proof.
  apply (algorithm_3_is_safe Q two_segments two_segments_inverse Q_positive).
  - apply two_segments_are_monotone.
  - apply two_segments_are_convex.
  - apply two_segments_inverse_is_monotone.
  - apply two_segments_inverse_is_enough.
Qed.
End TwoSegments.

(** Four packets of 5, released together, on a line of slope 1 up to 4 and slope 2 beyond: each has a
    deadline of its own, as the work of all before needs. (The paper's pseudo-code loses the dependence
    on the deadline before; crates/link/src/assign/algorithm_3_printed.rs.) *)
Example algorithm_3_spreads_packets :
  map (fun n => algorithm_3 1 (two_segments 1 2 4) (two_segments_inverse 1 2 4) (repeat (0, 5) n))
    [1; 2; 3; 4] = [5; 8; 11; 14].
Proof. vm_compute. reflexivity. Qed.
