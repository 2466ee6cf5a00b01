(** * A server of constant bandwidth that is recharged at once (CBS) keeps its share

    Budget [b] every period [p]; the deadline moves by a period whenever the budget is used up; a wake-up
    begins afresh if no more was used than the bandwidth gives. Code: crates/cpu/src/cbs.rs,
    [starts_afresh] in crates/cpu/src/servers/server.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares.
Import ListNotations.

(** ** A constant share: budget [b] every period [p], recharged at once (CBS) *)
Section Cbs.
Variables (ready : nat -> nat -> bool) (run : nat -> option nat) (N : nat).
(** The share [u] is [b / p = s / N]; that the scheduler's fixed-point shares are at least as large is in
    Rounding.v. *)
Variables (b p s : nat).
Hypothesis share_is : s * p = N * b.
(** Budget left and deadline of server [e], as they are at each tick. *)
Variables (e : nat) (left dl : nat -> nat).

Record cbs (from till : nat) : Prop := {
  (** It begins with a fresh budget, or with one that wakes a fresh one. *)
  cbs_begin : ready e from = true -> left from = b /\ dl from = from + p;
  cbs_begin_within : N * left from <= s * dl from;
  cbs_runs : forall t, from <= t < till -> runs run e t = true -> ready e t = true /\ 0 < left t;
  (** Running uses budget; a budget used up comes back with a deadline one period later. *)
  cbs_after : forall t, from <= t < till -> ready e t = true ->
    let used := left t - on (runs run e t) 1 in
    (0 < used /\ left (t + 1) = used /\ dl (t + 1) = dl t) \/
    (used = 0 /\ left (t + 1) = b /\ dl (t + 1) = dl t + p);
  (** Asleep it stays; at a wake-up it begins afresh if the period is over or no more was used than
      the share gives: c >= (d - t) u. *)
  cbs_asleep : forall t, from <= t < till -> ready e t = false -> ready e (t + 1) = false ->
    left (t + 1) = left t /\ dl (t + 1) = dl t;
  cbs_wakes : forall t, from <= t < till -> ready e t = false -> ready e (t + 1) = true ->
    if s * (dl t - (t + 1)) <=? N * left t
    then left (t + 1) = b /\ dl (t + 1) = t + 1 + p
    else left (t + 1) = left t /\ dl (t + 1) = dl t
}.

(** What it has used up: the level at its deadline less what its budget still stands for. *)
Definition used_up (t : nat) : nat := s * dl t - N * left t.

Lemma cbs_within from till : cbs from till ->
  forall t, from <= t <= till -> N * left t <= s * dl t.
Proof.
  intros C t. induction t as [|t IH]; intros Ht.
  - assert (from = 0) by lia. subst from. apply (cbs_begin_within _ _ C).
  - destruct (Nat.eq_dec from (S t)) as [E|]; [subst from; apply (cbs_begin_within _ _ C)|].
    specialize (IH ltac:(lia)). replace (S t) with (t + 1) by lia.
    destruct (ready e t) eqn:R.
    + destruct (cbs_after _ _ C t ltac:(lia) R) as [(U & -> & ->)|(U & -> & ->)]; nia.
    + destruct (ready e (t + 1)) eqn:R'.
      * pose proof (cbs_wakes _ _ C t ltac:(lia) R R') as W.
        destruct (s * (dl t - (t + 1)) <=? N * left t); destruct W as [-> ->]; nia.
      * destruct (cbs_asleep _ _ C t ltac:(lia) R R') as [-> ->]. assumption.
Qed.

Theorem cbs_keeps_share from till :
  cbs from till -> keeps_share ready (fun _ => dl) run N (fun _ => s) used_up from till e.
Proof.
  intros C. pose proof (cbs_within from till C) as In.
  constructor; intros t Ht; unfold used_up.
  - pose proof (In t ltac:(lia)). pose proof (In (t + 1) ltac:(lia)).
    destruct (ready e t) eqn:R.
    + destruct (runs run e t) eqn:Ru; cbn [on].
      * destruct (cbs_runs _ _ C t Ht Ru) as [_ P].
        pose proof (cbs_after _ _ C t Ht R) as A. rewrite Ru in A. cbn [on] in A.
        destruct A as [(U & EL & ED)|(U & EL & ED)]; rewrite EL, ED in *; nia.
      * pose proof (cbs_after _ _ C t Ht R) as A. rewrite Ru in A. cbn [on] in A.
        destruct A as [(U & EL & ED)|(U & EL & ED)]; rewrite EL, ED in *; nia.
    + assert (runs run e t = false) as ->.
      { destruct (runs run e t) eqn:Ru; [|reflexivity]. destruct (cbs_runs _ _ C t Ht Ru). congruence. }
      cbn [on]. destruct (ready e (t + 1)) eqn:R'.
      * pose proof (cbs_wakes _ _ C t Ht R R') as W.
        destruct (Nat.leb_spec (s * (dl t - (t + 1))) (N * left t)); destruct W as [EL ED]; rewrite EL, ED in *; nia.
      * destruct (cbs_asleep _ _ C t Ht R R') as [EL ED]. rewrite EL, ED. lia.
  - intros Ru. rewrite level_const. destruct (cbs_runs _ _ C t Ht Ru) as [_ P].
    pose proof (In t ltac:(lia)). nia.
  - intros R Fresh. rewrite level_const.
    destruct (Nat.eq_dec t from) as [->|NF].
    { destruct (cbs_begin _ _ C R) as [-> ->]. nia. }
    destruct Fresh as [->|R']; [lia|].
    pose proof (cbs_wakes _ _ C (t - 1) ltac:(lia) R') as W. replace (t - 1 + 1) with t in W by lia.
    specialize (W R). pose proof (In (t - 1) ltac:(lia)).
    destruct (Nat.leb_spec (s * (dl (t - 1) - t)) (N * left (t - 1))); destruct W as [-> ->]; nia.
  - intros Ht' R R'. left.
    destruct (cbs_after _ _ C t ltac:(lia) R) as [(_ & _ & ->)|(_ & _ & ->)]; lia.
Qed.
End Cbs.

