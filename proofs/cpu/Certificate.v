(** * A certificate that a CPU admits its reservations

    Reservations with deadlines equal to periods have their shares at every instant; those with shorter
    deadlines demand whole jobs, and together stay below the line of one share, [short]. Best effort may
    have all that is left. [sound] decides this on the instants at which jobs are due, up to the one from
    which the lines above all demand are below it (common/Sweep.v).

    Times are nanoseconds, shares whole numbers of a CPU's [parts]. Code: crates/certify/src/cpu.rs,
    crates/cpu/src/admission.rs. *)
From Coq Require Import List ZArith Lia Bool.
From Laxity Require Import common.Sums common.Sweep cpu.Shares cpu.Reservations cpu.Constrained.
Import ListNotations.
Open Scope Z_scope.

Record asked := { id : nat; run_time : Z; every : Z; within : Z }.
Record cpu := { unit_ : Z; keeps : Z; all_asked : list asked }.
Record certificate := { parts : Z; short : Z; followed : list Z; horizon : Z }.

Definition is_short (r : asked) : bool := within r <? every r.

Section Cpu.
Variables (f : cpu) (c : certificate).

(** The share of a reservation, rounded up to whole parts. *)
Definition share (r : asked) : Z := up (parts c * run_time r) (every r).
Definition fluid : list asked := filter (fun r => negb (is_short r)) (all_asked f).
Definition short_ones : list asked := filter is_short (all_asked f).
Definition fluid_share : Z := fold_right (fun r sum => share r + sum) 0 fluid.

Fixpoint job_events (rs : list asked) (ns : list Z) : list event :=
  match rs, ns with
  | r :: rs', n :: ns' =>
      stair_events (within r) (parts c * run_time r) (every r) 0 (Z.to_nat n) ++ job_events rs' ns'
  | _, _ => []
  end.

Definition fits (share : Z) : bool :=
  below 0 (- share) 0 (EventSort.sort (job_events short_ones (followed c))).

Definition sound : bool :=
  (0 <? unit_ f) && (0 <=? keeps f) && (0 <? parts c) && (parts c mod unit_ f =? 0) && (0 <=? short c) &&
  (keeps f * (parts c / unit_ f) + fluid_share + short c <=? parts c) &&
  forallb (fun r => (0 <=? run_time r) && (0 <? every r) && (0 <=? within r) && (within r <=? every r)) (all_asked f) &&
  (length (followed c) =? length short_ones)%nat && fits (short c).

(** What best effort may have: the rest, at least what it keeps. *)
Definition rest : Z := parts c - fluid_share - short c.

Lemma job_events_above rs : forall ns t, 0 < parts c ->
  (forall r, In r rs -> 0 <= run_time r /\ 0 < every r /\ 0 <= within r) -> length ns = length rs ->
  parts c * Z.of_nat (sumf (fun r =>
    demand_bound (Z.to_nat (run_time r)) (Z.to_nat (every r)) (Z.to_nat (within r)) t) rs)
  <= value (job_events rs ns) (Z.of_nat t).
Proof.
  induction rs as [|r rs IH]; intros [|n ns] t P V L; try discriminate; [cbn; lia|].
  cbn [job_events sumf]. rewrite value_app.
  specialize (IH ns t P (fun x Hx => V x (or_intror Hx)) ltac:(injection L; trivial)).
  destruct (V r (or_introl eq_refl)) as (B & E & W).
  destruct (stair_events_above (within r) (parts c * run_time r) (every r) 0 E ltac:(nia) (Z.to_nat n)
              (Z.of_nat t) ltac:(lia)) as [V1 V2].
  enough (parts c * Z.of_nat (demand_bound (Z.to_nat (run_time r)) (Z.to_nat (every r)) (Z.to_nat (within r)) t)
          <= value (stair_events (within r) (parts c * run_time r) (every r) 0 (Z.to_nat n)) (Z.of_nat t)) by lia.
  unfold demand_bound. destruct (Nat.leb_spec (Z.to_nat (within r)) t) as [T|T]; cbn [on].
  - specialize (V1 ltac:(lia)). eapply Z.le_trans; [|exact V1].
    rewrite Nat2Z.inj_mul, Nat2Z.inj_add, Nat2Z.inj_div, Nat2Z.inj_sub, !Z2Nat.id by lia.
    rewrite Z.add_0_r. change (Z.of_nat 1) with 1. nia.
  - rewrite V2 by lia. lia.
Qed.

Lemma sound_parts : sound = true ->
  0 < parts c /\ 0 <= short c /\ 0 <= keeps f * (parts c / unit_ f) /\
  keeps f * (parts c / unit_ f) + fluid_share + short c <= parts c /\
  (forall r, In r (all_asked f) -> 0 <= run_time r /\ 0 < every r /\ 0 <= within r /\ within r <= every r) /\
  length (followed c) = length short_ones /\ fits (short c) = true.
Proof.
  unfold sound. rewrite !andb_true_iff. intros [[[[[[[[U K] P] M] S] Sum] V] L] F].
  apply Z.ltb_lt in U, P. apply Z.leb_le in K, S, Sum. apply Nat.eqb_eq in L. rewrite forallb_forall in V.
  repeat split; try assumption.
  - pose proof (Z.div_pos (parts c) (unit_ f)). nia.
  - apply V in H. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in H. lia.
  - apply V in H. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in H. lia.
  - apply V in H. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in H. lia.
  - apply V in H. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in H. lia.
Qed.

(** ** Theorem: demand stays below the share of short deadlines *)
Theorem certified_demand t : sound = true ->
  (Z.to_nat (parts c) * sumf (fun r =>
     demand_bound (Z.to_nat (run_time r)) (Z.to_nat (every r)) (Z.to_nat (within r)) t) short_ones
   <= Z.to_nat (short c) * t)%nat.
Proof.
  intros S. destruct (sound_parts S) as (P & S0 & _ & _ & V & L & F).
  pose proof (sweep_bounds_the_sum _ _ _ _ F (Z.of_nat t) ltac:(lia)) as B.
  pose proof (job_events_above short_ones (followed c) t P) as A.
  assert (short_valid : forall r, In r short_ones -> 0 <= run_time r /\ 0 < every r /\ 0 <= within r).
  { intros r Hr. apply filter_In in Hr. destruct (V r (proj1 Hr)). lia. }
  specialize (A short_valid L). nia.
Qed.

(** ** Theorem: a CPU with a sound certificate keeps all hard deadlines

    [released r]: the jobs of a reservation, each within its budget, a period apart, due a deadline later.
    Best-effort servers have at most the rest together. *)
Theorem certified_cpu_keeps_hard_deadlines
    (servers : list nat) (released : asked -> list nat)
    (ready : nat -> nat -> bool) (dl : nat -> nat -> nat) (run : nat -> option nat)
    (rel cost due : nat -> nat) (s X : nat -> nat -> nat) (till : nat) :
  sound = true ->
  let N := Z.to_nat (parts c) in
  let jobs := (flat_map released short_ones ++ flat_map released fluid)%list in
  edf_run servers jobs ready dl run rel cost due ->
  (forall e, In e servers -> keeps_share ready dl run N (s e) (X e) 0 till e) ->
  (forall r, In r (all_asked f) ->
     constrained rel cost due (Z.to_nat (run_time r)) (Z.to_nat (every r)) (Z.to_nat (within r)) 0 (released r)) ->
  (forall t, (t < till)%nat -> (sumf (fun e => s e t) servers <= Z.to_nat rest)%nat) ->
  forall j, In j jobs -> (rel j <= due j)%nat -> (due j <= till)%nat -> served run j (due j) = cost j.
Proof.
  intros So N jobs R Keeps Rel Sum j Hj RD DT.
  destruct (sound_parts So) as (P & S0 & K0 & Fit & V & L & F).
  assert (Share : forall r, In r (all_asked f) -> 0 <= share r).
  { intros r Hr. destruct (V r Hr) as (B & E & _). unfold share.
    pose proof (up_above (parts c * run_time r) (every r) E). nia. }
  assert (Fluid : forall r, In r fluid -> In r (all_asked f) /\ within r = every r).
  { intros r Hr. apply filter_In in Hr. destruct Hr as [Hr S]. split; [assumption|].
    apply negb_true_iff, Z.ltb_ge in S. destruct (V r Hr). lia. }
  assert (FS : forall l, (forall r, In r l -> 0 <= share r) ->
            Z.of_nat (sumf (fun r => Z.to_nat (share r)) l) = fold_right (fun r sum => share r + sum) 0 l).
  { induction l as [|r l IH]; intros H; [reflexivity|]. cbn [sumf fold_right].
    rewrite Nat2Z.inj_add, IH, Z2Nat.id; [reflexivity|apply H; left; reflexivity|intros; apply H; right; assumption]. }
  specialize (FS fluid (fun r Hr => Share r (proj1 (Fluid r Hr)))). fold fluid_share in FS.
  set (h := (Z.to_nat (short c) + sumf (fun r => Z.to_nat (share r)) fluid)%nat).
  apply (no_hard_job_late servers jobs ready dl run rel cost due N ltac:(unfold N; lia) s X (fun _ => h) 0 till R);
    try assumption; try lia.
  - intros k _ H. lia.
  - intros a D _ Le _.
    assert (Const : forall x, over a D (fun _ => x) = (x * (D - a))%nat).
    { intros x. rewrite <- (over_one a D), <- over_mult. apply Nat.le_antisymm; apply over_le; intros; lia. }
    rewrite Const. unfold h. unfold jobs, hard_demand. rewrite sumf_app, Nat.mul_add_distr_l, Nat.mul_add_distr_r.
    apply Nat.add_le_mono.
    + eapply Nat.le_trans; [|apply certified_demand; assumption]. apply Nat.mul_le_mono_l.
      assert (Hs : forall r, In r short_ones -> In r (all_asked f)) by (intros r Hr; apply filter_In in Hr; tauto).
      clear -Hs Rel V Le. induction short_ones as [|r l IH]; [simpl; lia|]. cbn [flat_map sumf]. rewrite sumf_app.
      pose proof (Rel r (Hs r (or_introl eq_refl))) as C. destruct (V r (Hs r (or_introl eq_refl))) as (_ & E & _).
      assert (EP : (0 < Z.to_nat (every r))%nat) by lia.
      pose proof (constrained_demand rel cost due _ _ _ (released r) EP 0 a D C Le) as B. unfold hard_demand in B.
      specialize (IH (fun x Hx => Hs x (or_intror Hx))). lia.
    + clear -Fluid Rel V Le P Share. rewrite (Nat.mul_comm (sumf _ fluid)).
      induction fluid as [|r l IH]; [simpl; lia|]. cbn [flat_map sumf]. rewrite sumf_app.
      destruct (Fluid r (or_introl eq_refl)) as [Hr W]. pose proof (Rel r Hr) as C. destruct (V r Hr) as (B & E & _).
      rewrite W in C.
      assert (Sp : sporadic rel cost due (Z.to_nat (run_time r)) (Z.to_nat (every r)) 0 (released r)).
      { revert C. generalize 0%nat. induction (released r) as [|j js IHj]; intros from C; [trivial|].
        destruct C as (C1 & C2 & C3 & C4). repeat split; try assumption. apply IHj. assumption. }
      assert (Ns : (N * Z.to_nat (run_time r) <= Z.to_nat (share r) * Z.to_nat (every r))%nat).
      { pose proof (up_above (parts c * run_time r) (every r) E). fold (share r) in H.
        pose proof (Share r Hr). unfold N. nia. }
      pose proof (sporadic_is_reserved _ _ _ _ _ _ _ 0 _ Ns Sp) as Reserved. rewrite Nat.mul_0_r in Reserved.
      pose proof (reservation_demand rel cost due _ N _ (released r) a D Reserved Le) as RdB.
      assert (Const : over a D (fun _ => Z.to_nat (share r)) = (Z.to_nat (share r) * (D - a))%nat).
      { rewrite <- (over_one a D), <- over_mult. apply Nat.le_antisymm; apply over_le; intros; lia. }
      rewrite Const in RdB. unfold hard_demand in RdB.
      specialize (IH (fun x Hx => Fluid x (or_intror Hx))). nia.
  - intros t Ht. specialize (Sum t ltac:(lia)). unfold rest in Sum. unfold h, N. lia.
Qed.

(** ** The canonical form

    Each number of a certificate follows from the facts and the others. No theorem needs this. *)

(** The fewest parts in which the shares are whole; units if these are too many. *)
Definition fewest_parts : Z :=
  let most := 18446744073709551616 in
  let multiple a r := match a with
    | Some a => let m := a / Z.gcd a (every r) * every r in if m <=? most then Some m else None
    | None => None
    end in
  match fold_left multiple fluid (Some (unit_ f)) with Some m => m | None => unit_ f end.

Fixpoint steps_are (rs : list asked) (ns : list Z) : bool :=
  match rs, ns with
  | r :: rs', n :: ns' => (n =? steps_before (within r) (every r) 0 (horizon c)) && steps_are rs' ns'
  | _, _ => true
  end.

Fixpoint horizon_is (rs : list asked) (ns : list Z) : bool :=
  match rs, ns with
  | r :: rs', n :: ns' => ((0 <? n) && steps_at (within r) (every r) 0 (horizon c)) || horizon_is rs' ns'
  | _, _ => false
  end.

Definition canonical : bool :=
  (parts c =? fewest_parts) && steps_are short_ones (followed c) &&
  ((horizon c =? 0) || horizon_is short_ones (followed c)) &&
  match short_ones with
  | [] => (short c =? 0) && (horizon c =? 0)
  | _ => negb (fits (short c - 1))
  end.

Definition accepts : bool := sound && canonical.
End Cpu.
