(** * Shares that change: the zero-lag rule

    Code: crates/cpu/src/servers/transition.rs; asserted by crates/cpu/src/servers/promises after every
    event in debug builds. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares cpu.Reservations.
Import ListNotations.

(** ** Shares that change: the zero-lag rule

    At every instant a server has a promise: its share now and at all later ticks, as known then.
    The rule: what the server has used up already stays as it was promised. That is, at instant
    [t + 1] the promise may only change for ticks [tau > t] that begin at a level of at least
    [X (t + 1)]: from its zero-lag time on. *)
Section ZeroLag.
Variables (ready : nat -> nat -> bool) (dl : nat -> nat -> nat) (run : nat -> option nat) (N : nat).
Variables (promise : nat -> nat -> nat) (X : nat -> nat) (from till e : nat).

Definition zero_lag_rule : Prop :=
  forall t tau, from <= t < till ->
    tau <= t \/ level (promise t) tau < X (t + 1) -> promise (t + 1) tau = promise t tau.

(** The rules of a server, each with the promise as it is at that instant. *)
Record keeps_promises : Prop := {
  p_uses : forall t, from <= t < till -> X t + on (runs run e t) N <= X (t + 1);
  p_within : forall t, from <= t < till -> runs run e t = true -> X t + N <= level (promise t) (dl e t);
  p_wakes : forall t, from <= t < till -> ready e t = true -> t = from \/ ready e (t - 1) = false ->
    level (promise t) t <= X t;
  p_keeps_deadline : forall t, from <= t -> t + 1 < till -> ready e t = true -> ready e (t + 1) = true ->
    dl e t <= dl e (t + 1) \/ level (promise (t + 1)) (t + 1) <= X (t + 1)
}.

Lemma level_ext f g t : (forall u, u < t -> f u = g u) -> level f t = level g t.
Proof.
  intros H. unfold level. apply Nat.le_antisymm; apply over_le; intros u Hu; rewrite H; lia.
Qed.

(** One change takes nothing away below the level that is used up. *)
Lemma change_keeps t x D :
  zero_lag_rule -> from <= t < till -> x <= X (t + 1) -> x <= level (promise t) D ->
  x <= level (promise (t + 1)) D.
Proof.
  intros Z Ht Hx HD.
  destruct (first_last (fun tau => negb (promise (t + 1) tau =? promise t tau)) 0 D)
    as [Same|(u & v & Hu & Hv & Pu & _ & Before & _)].
  - rewrite (level_ext (promise (t + 1)) (promise t)); [assumption|].
    intros w Hw. specialize (Same w ltac:(lia)). apply negb_false_iff, Nat.eqb_eq in Same. assumption.
  - apply negb_true_iff, Nat.eqb_neq in Pu.
    assert (X (t + 1) <= level (promise t) u).
    { destruct (le_lt_dec (X (t + 1)) (level (promise t) u)) as [|L]; [assumption|].
      exfalso. apply Pu. apply Z; [assumption|right; assumption]. }
    rewrite <- (level_ext (promise (t + 1)) (promise t)) in H.
    + pose proof (level_mono (promise (t + 1)) u D ltac:(lia)). lia.
    + intros w Hw. specialize (Before w ltac:(lia)). apply negb_false_iff, Nat.eqb_eq in Before. assumption.
Qed.

Definition never_falls : Prop := forall t, from <= t < till -> X t <= X (t + 1).

Lemma changes_keep t u x D :
  zero_lag_rule -> never_falls -> from <= t -> t < u -> u <= till ->
  x <= X (t + 1) -> x <= level (promise t) D -> x <= level (promise u) D.
Proof.
  intros Z K Ft Tu Ut Hx HD. induction u as [|u IH]; [lia|].
  replace (S u) with (u + 1) by lia.
  destruct (Nat.eq_dec t u) as [->|]; [apply change_keeps; assumption || lia|].
  apply change_keeps; try assumption; [lia| |apply IH; lia].
  assert (M : forall v, t + 1 <= v <= u + 1 -> X (t + 1) <= X v).
  { intros v. induction v as [|v IHv]; intros Hv; [lia|].
    destruct (Nat.eq_dec (t + 1) (S v)) as [->|]; [lia|].
    pose proof (K v ltac:(lia)). replace (v + 1) with (S v) in * by lia.
    specialize (IHv ltac:(lia)). lia. }
  specialize (M (u + 1) ltac:(lia)). lia.
Qed.

(** The past does not change, so the last promise tells what was in force at every tick. *)
Lemma past_stays t u tau :
  zero_lag_rule -> from <= t -> t <= u -> u <= till -> tau <= t -> promise u tau = promise t tau.
Proof.
  intros Z Ft Tu Ut Tau. induction u as [|u IH]; [replace t with 0 by lia; reflexivity|].
  destruct (Nat.eq_dec t (S u)) as [->|]; [reflexivity|].
  replace (S u) with (u + 1) by lia. rewrite Z; [apply IH; lia|lia|left; lia].
Qed.

Lemma past_level_stays t u D :
  zero_lag_rule -> from <= t -> t <= u -> u <= till -> D <= t + 1 -> level (promise u) D = level (promise t) D.
Proof. intros. apply level_ext. intros tau Ht. apply past_stays; assumption || lia. Qed.

(** *** The zero-lag rule is safe: the server keeps the share that was in force. *)
Theorem zero_lag_rule_is_safe :
  zero_lag_rule -> keeps_promises -> keeps_share ready dl run N (promise till) X from till e.
Proof.
  intros Z K. constructor.
  - apply (p_uses K).
  - intros t Ht R. pose proof (p_within K t Ht R) as W. pose proof (p_uses K t Ht) as U.
    rewrite R in U. cbn [on] in U.
    assert (M : never_falls) by (intros v Hv; pose proof (p_uses K v Hv); lia).
    apply (changes_keep t till (X t + N) (dl e t) Z M); lia.
  - intros t Ht R F. pose proof (p_wakes K t Ht R F).
    rewrite (past_level_stays t till t Z); lia.
  - intros t Ft Ht R R'. destruct (p_keeps_deadline K t Ft Ht R R') as [H|H]; [left; assumption|right].
    rewrite (past_level_stays (t + 1) till (t + 1) Z); lia.
Qed.

(** What is in force at a tick is what was promised for it then. *)
Lemma in_force t : zero_lag_rule -> from <= t <= till -> promise till t = promise t t.
Proof. intros. apply past_stays; assumption || lia. Qed.

(** *** The same for a hard reservation

    Its jobs keep their deadlines, so a job uses up its whole cost when it is released: [X] is at
    least L j + N cost j from then on. Hence a change takes effect at the end of the current period
    at the earliest, whether the share rises or falls. *)
Variables (rel cost due L : nat -> nat).

Fixpoint released_as_promised (below : nat) (jobs : list nat) : Prop :=
  match jobs with
  | [] => True
  | j :: rest =>
      (from <= rel j < till /\ below <= L j) /\
      level (promise (rel j)) (rel j) <= L j /\
      L j + N * cost j <= level (promise (rel j)) (due j) /\
      L j + N * cost j <= X (rel j + 1) /\
      released_as_promised (L j + N * cost j) rest
  end.

Theorem reservation_changes_are_safe below jobs :
  zero_lag_rule -> never_falls -> released_as_promised below jobs ->
  reserved rel cost due L N (promise till) below jobs.
Proof.
  intros Z M. revert below. induction jobs as [|j r IH]; intros below; simpl; [trivial|].
  intros ((H1 & H2) & H3 & H4 & H5 & H6). repeat split.
  - assumption.
  - rewrite (past_level_stays (rel j) till (rel j) Z); lia.
  - apply (changes_keep (rel j) till _ (due j) Z M); lia.
  - apply IH. assumption.
Qed.
End ZeroLag.

(** ** Theorem: changing shares by the zero-lag rule keeps hard deadlines

    Servers with promises and reservations with shares, from an instant without pending hard jobs.
    What must be checked at a change is the last premise alone: at every tick the shares in force
    add up to at most the whole. *)
Theorem zero_lag_changes_keep_hard_deadlines
    (servers jobs : list nat) (ready : nat -> nat -> bool) (dl : nat -> nat -> nat)
    (run : nat -> option nat) (rel cost due : nat -> nat) (N : nat)
    (promise : nat -> nat -> nat -> nat) (X : nat -> nat -> nat) (h : nat -> nat) (from till : nat) :
  0 < N ->
  edf_run servers jobs ready dl run rel cost due ->
  no_hard_job_pending jobs run rel cost from ->
  (forall e, In e servers -> zero_lag_rule (promise e) (X e) from till) ->
  (forall e, In e servers -> keeps_promises ready dl run N (promise e) (X e) from till e) ->
  (forall a D, from <= a -> a <= D -> D <= till -> N * hard_demand jobs rel cost due a D <= over a D h) ->
  (forall t, from <= t < till -> sumf (fun e => promise e t t) servers + h t <= N) ->
  forall j, In j jobs -> from <= rel j -> rel j <= due j -> due j <= till ->
  served run j (due j) = cost j.
Proof.
  intros NP R Clean Z K H Sum.
  apply (no_hard_job_late servers jobs ready dl run rel cost due N NP
           (fun e => promise e till) X h from till R Clean); try assumption.
  - intros e He. apply zero_lag_rule_is_safe; [apply Z|apply K]; assumption.
  - intros t Ht. specialize (Sum t Ht).
    rewrite (sumf_ext (fun e => promise e till t) (fun e => promise e t t)); [assumption|].
    intros e He. apply (in_force (promise e) (X e) from till t (Z e He)). lia.
Qed.

(** ** Theorem: the same with reservations that change too

    A reservation is a promise, its used-up level, the levels of its jobs, and its jobs. All shares,
    of servers and of reservations, change by the zero-lag rule. Then one thing is left to check at
    every change: that at every tick the shares in force add up to at most the whole. *)
Record reservation := {
  r_promise : nat -> nat -> nat;
  r_used : nat -> nat;
  r_level : nat -> nat;
  r_jobs : list nat
}.

Theorem all_changes_keep_hard_deadlines
    (servers : list nat) (reservations : list reservation)
    (ready : nat -> nat -> bool) (dl : nat -> nat -> nat)
    (run : nat -> option nat) (rel cost due : nat -> nat) (N : nat)
    (promise : nat -> nat -> nat -> nat) (X : nat -> nat -> nat) (till : nat) :
  0 < N ->
  edf_run servers (flat_map r_jobs reservations) ready dl run rel cost due ->
  (forall e, In e servers ->
     zero_lag_rule (promise e) (X e) 0 till /\ keeps_promises ready dl run N (promise e) (X e) 0 till e) ->
  (forall r, In r reservations ->
     zero_lag_rule (r_promise r) (r_used r) 0 till /\ never_falls (r_used r) 0 till /\
     released_as_promised N (r_promise r) (r_used r) 0 till rel cost due (r_level r) 0 (r_jobs r)) ->
  (forall t, t < till ->
     sumf (fun e => promise e t t) servers + sumf (fun r => r_promise r t t) reservations <= N) ->
  forall j, In j (flat_map r_jobs reservations) -> rel j <= due j -> due j <= till ->
  served run j (due j) = cost j.
Proof.
  intros NP R Srv Res Sum j Hj RD DT.
  apply (zero_lag_changes_keep_hard_deadlines servers (flat_map r_jobs reservations) ready dl run
           rel cost due N promise X (fun t => sumf (fun r => r_promise r till t) reservations) 0 till NP R);
    try assumption; try lia.
  - intros k _ H. lia.
  - intros e He. apply (Srv e He).
  - intros e He. apply (Srv e He).
  - intros a D _ Le _.
    clear -Res Le. induction reservations as [|r rest IH]; simpl.
    + unfold hard_demand. simpl. lia.
    + rewrite over_plus. unfold hard_demand in *. rewrite sumf_app.
      destruct (Res r (or_introl eq_refl)) as (Z & M & Rel).
      pose proof (reservation_demand rel cost due (r_level r) N (r_promise r till) (r_jobs r) a D
        (reservation_changes_are_safe N (r_promise r) (r_used r) 0 till rel cost due (r_level r) 0 (r_jobs r) Z M Rel) Le) as B.
      unfold hard_demand in B.
      specialize (IH (fun r' Hr => Res r' (or_intror Hr))). lia.
  - intros t Ht. specialize (Sum t ltac:(lia)).
    rewrite (sumf_ext (fun r => r_promise r till t) (fun r => r_promise r t t)); [assumption|].
    intros r Hr. destruct (Res r Hr) as (Z & _). apply (in_force (r_promise r) (r_used r) 0 till t Z). lia.
Qed.
