(** * Hard reservations: what their jobs ask for

    Code: crates/cpu/src/admission.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares.
Import ListNotations.

(** ** Hard reservations: what the jobs of one ask for

    [L j] is the level at which job [j] begins. A job begins at a level that is not past
    ([level s (rel j) <= L j]), after the jobs before it, and is due no earlier than its share gives
    it its cost. With a constant share s = N b / p, L j = s (rel j) these are the usual conditions:
    costs up to [b], releases [p] apart, deadlines [p] later; see [sporadic]. *)
Section Reservation.
Variables (rel cost due L : nat -> nat) (N : nat) (s : nat -> nat).

Fixpoint reserved (from : nat) (jobs : list nat) : Prop :=
  match jobs with
  | [] => True
  | j :: rest =>
      from <= L j /\ level s (rel j) <= L j /\ L j + N * cost j <= level s (due j) /\
      reserved (L j + N * cost j) rest
  end.

Lemma reservation_demand_from jobs : forall from a D,
  reserved from jobs ->
  let m := max (level s a) from in
  N * hard_demand jobs rel cost due a D + m <= max m (level s D).
Proof.
  induction jobs as [|j r IH]; intros from a D H m; unfold hard_demand in *; cbn [sumf].
  - lia.
  - destruct H as (H1 & H2 & H3 & H4). specialize (IH _ a D H4). cbv zeta in IH.
    set (rest := sumf (fun j => on ((a <=? rel j) && (due j <=? D)) (cost j)) r) in *.
    destruct (Nat.leb_spec a (rel j)) as [A|A]; destruct (Nat.leb_spec (due j) D) as [B|B]; cbn [on andb];
      try (destruct (Nat.eq_dec (N * rest) 0); subst m; nia).
    pose proof (level_mono s _ _ A). pose proof (level_mono s _ _ B). subst m.
    destruct (Nat.eq_dec (N * rest) 0); nia.
Qed.

(** The demand of a reservation is at most the integral of its share. *)
Theorem reservation_demand jobs a D :
  reserved 0 jobs -> a <= D -> N * hard_demand jobs rel cost due a D <= over a D s.
Proof.
  intros H Le. pose proof (reservation_demand_from jobs 0 a D H) as B. cbv zeta in B.
  pose proof (level_interval s a D Le). pose proof (level_mono s a D Le). lia.
Qed.
End Reservation.

(** Several reservations together. *)
Theorem reservations_demand (rel cost due L : nat -> nat) (N : nat)
    (all : list ((nat -> nat) * list nat)) a D :
  (forall s jobs, In (s, jobs) all -> reserved rel cost due L N s 0 jobs) -> a <= D ->
  N * hard_demand (flat_map snd all) rel cost due a D
    <= over a D (fun t => sumf (fun r => fst r t) all).
Proof.
  intros H Le. induction all as [|[s jobs] r IH]; simpl.
  - unfold hard_demand. simpl. lia.
  - rewrite over_plus. unfold hard_demand in *. rewrite sumf_app.
    pose proof (reservation_demand rel cost due L N s jobs a D (H s jobs (or_introl eq_refl)) Le) as B.
    unfold hard_demand in B.
    specialize (IH (fun s' j' Hin => H s' j' (or_intror Hin))). lia.
Qed.

(** Sporadic jobs with deadlines equal to periods. *)
Fixpoint sporadic (rel cost due : nat -> nat) (b p from : nat) (jobs : list nat) : Prop :=
  match jobs with
  | [] => True
  | j :: rest => from <= rel j /\ cost j <= b /\ due j = rel j + p /\ sporadic rel cost due b p (rel j + p) rest
  end.

Theorem sporadic_is_reserved rel cost due b p s N from jobs :
  N * b <= s * p -> sporadic rel cost due b p from jobs ->
  reserved rel cost due (fun j => s * rel j) N (fun _ => s) (s * from) jobs.
Proof.
  intros E. revert from. induction jobs as [|j r IH]; intros from; simpl; [trivial|].
  intros (H1 & H2 & H3 & H4). rewrite !level_const. repeat split; try nia.
  specialize (IH _ H4). clear -IH E H2.
  assert (Le : s * rel j + N * cost j <= s * (rel j + p)) by nia.
  destruct r as [|k r]; simpl in *; [trivial|].
  destruct IH as (A & B & C & D). repeat split; try assumption. lia.
Qed.

