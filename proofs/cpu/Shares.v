(** * One CPU under preemptive EDF: hard jobs beside servers whose shares change

    Time is counted in ticks. In every tick at most one entity runs: a server (of best-effort or
    soft tasks) or a hard job. The ready entity with the least deadline runs. A server's deadline is
    whatever it is at that tick: servers may move deadlines.

    Shares are whole numbers of [N]: a server whose share in tick [t] is [s t] is entitled to the
    fraction [s t / N] of that tick. Sums of shares over ticks are levels; executing one tick costs
    [N]. So no fractions arise, and a share that changes is as simple as one that does not.
    Code: crates/cpu/src/servers; the argument is the comment of mod.rs there. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums.
Import ListNotations.

(** The entitlement up to [t], of a share [s]: its integral. *)
Definition level (s : nat -> nat) (t : nat) : nat := over 0 t s.

Lemma level_interval s a b : a <= b -> level s b = level s a + over a b s.
Proof. intros. unfold level. apply over_split; lia. Qed.

Lemma level_mono s a b : a <= b -> level s a <= level s b.
Proof. intros H. rewrite (level_interval s a b H). lia. Qed.

Lemma level_const s t : level (fun _ => s) t = s * t.
Proof. unfold level, over. rewrite ticks_const. lia. Qed.

Section Cpu.
Variables (servers jobs : list nat).
Variables (ready : nat -> nat -> bool) (dl : nat -> nat -> nat) (run : nat -> option nat).
Variables (rel cost due : nat -> nat).

Definition runs (e t : nat) : bool := match run t with Some x => x =? e | None => false end.
(** How many ticks before [t] were given to [e]. *)
Definition served (e t : nat) : nat := over 0 t (fun t => on (runs e t) 1).

Record edf_run : Prop := {
  (** Only what is ready runs. *)
  only_ready : forall t x, run t = Some x -> In x (servers ++ jobs) /\ ready x t = true;
  (** If anything is ready then something runs that is due no later. *)
  edf : forall t e, In e (servers ++ jobs) -> ready e t = true ->
    exists x, run t = Some x /\ dl x t <= dl e t;
  (** A hard job is ready from its release until it has had its cost, and keeps its deadline. *)
  job_ready : forall j t, In j jobs -> (ready j t = true <-> rel j <= t /\ served j t < cost j);
  job_due : forall j t, In j jobs -> dl j t = due j
}.

Variable N : nat.
Hypothesis N_positive : 0 < N.

(** ** What a server promises, from [from] to [till]

    [X t] is the level that the server has used up at [t]: the zero-lag time of the scheduler is
    the instant at which the entitlement reaches [X t]. *)
Record keeps_share (s X : nat -> nat) (from till e : nat) : Prop := {
  (** Executing a tick uses [N]; a server may give up more. *)
  uses : forall t, from <= t < till -> X t + on (runs e t) N <= X (t + 1);
  (** It runs only for what its share gives it by its deadline. *)
  within : forall t, from <= t < till -> runs e t = true -> X t + N <= level s (dl e t);
  (** When it becomes ready what it has not used before is void: its zero-lag time is not past. *)
  wakes : forall t, from <= t < till -> ready e t = true -> t = from \/ ready e (t - 1) = false ->
    level s t <= X t;
  (** While it is ready its deadline moves back only if its zero-lag time is not past. *)
  keeps_deadline : forall t, from <= t -> t + 1 < till -> ready e t = true -> ready e (t + 1) = true ->
    dl e t <= dl e (t + 1) \/ level s (t + 1) <= X (t + 1)
}.

(** Demand of hard jobs that are released in [a, D] and due in it. *)
Definition hard_demand (a D : nat) : nat :=
  sumf (fun j => on ((a <=? rel j) && (due j <=? D)) (cost j)) jobs.

(** No hard job that was released before [t] is unfinished. *)
Definition no_hard_job_pending (t : nat) : Prop :=
  forall j, In j jobs -> rel j < t -> cost j <= served j t.

Lemma served_le_cost j t : edf_run -> In j jobs -> served j t <= cost j.
Proof.
  intros R Hj. induction t as [|t IH]; [unfold served; rewrite over_empty; lia|].
  unfold served in *. rewrite over_last by lia. unfold runs at 2.
  destruct (run t) as [x|] eqn:E; cbn [on]; [|lia].
  destruct (Nat.eqb_spec x j) as [->|]; cbn [on]; [|lia].
  destruct (only_ready R t j E) as [_ Rj]. apply (job_ready R) in Rj; [|assumption].
  unfold served in Rj. lia.
Qed.

Lemma served_mono e t u : t <= u -> served e t <= served e u.
Proof. intros. unfold served. apply over_within; lia. Qed.

Lemma uses_all s X from till e u v :
  keeps_share s X from till e -> from <= u -> u <= v -> v <= till ->
  X u + N * over u v (fun t => on (runs e t) 1) <= X v.
Proof.
  intros K Hu Hv Ht. induction v as [|v IH].
  - rewrite over_empty by lia. replace u with 0 by lia. lia.
  - destruct (Nat.eq_dec u (S v)) as [->|]; [rewrite over_empty by lia; lia|].
    rewrite over_last by lia. specialize (IH ltac:(lia) ltac:(lia)).
    pose proof (uses _ _ _ _ _ K v ltac:(lia)) as U. replace (v + 1) with (S v) in U by lia.
    destruct (runs e v); cbn [on] in *; lia.
Qed.

(** [a] is an instant before which the server was not ready or due later than [D], or the begin of the
    promise. Whenever it is ready later and due by [D], it has used up its entitlement before [a]. *)
Lemma used_up_before s X from till e a D :
  keeps_share s X from till e -> from <= a -> D <= till ->
  (a = from \/ ready e (a - 1) = false \/ D < dl e (a - 1)) ->
  forall t, a <= t < D -> ready e t = true -> dl e t <= D -> level s a <= X t.
Proof.
  intros K Fa Dt Ha.
  intros t. induction t as [|t IH]; intros Ht Rt Dl.
  - assert (a = 0) by lia. subst a. unfold level. rewrite over_empty; lia.
  - destruct (Nat.eq_dec a (S t)) as [->|].
    + destruct Ha as [Ef|[Nr|Dn]]; [subst from| |].
      * apply (wakes _ _ _ _ _ K); [lia|assumption|left; reflexivity].
      * apply (wakes _ _ _ _ _ K); [lia|assumption|right; assumption].
      * replace (S t - 1) with t in Dn by lia.
        destruct (Nat.eq_dec from (S t)) as [Ef|].
        { subst from. apply (wakes _ _ _ _ _ K); [lia|assumption|left; reflexivity]. }
        destruct (ready e t) eqn:Rp.
        -- pose proof (keeps_deadline _ _ _ _ _ K t ltac:(lia) ltac:(lia) Rp) as H.
           replace (t + 1) with (S t) in H by lia. destruct (H Rt); lia.
        -- apply (wakes _ _ _ _ _ K); [lia|assumption|right].
           replace (S t - 1) with t by lia. assumption.
    + destruct (ready e t) eqn:Rp.
      * pose proof (keeps_deadline _ _ _ _ _ K t ltac:(lia) ltac:(lia) Rp) as H.
        replace (t + 1) with (S t) in H by lia. destruct (H Rt) as [H'|H'].
        -- specialize (IH ltac:(lia) eq_refl ltac:(lia)).
           pose proof (uses _ _ _ _ _ K t ltac:(lia)) as U. replace (t + 1) with (S t) in U by lia. lia.
        -- pose proof (level_mono s a (S t) ltac:(lia)). lia.
      * pose proof (level_mono s a (S t) ltac:(lia)).
        enough (level s (S t) <= X (S t)) by lia.
        apply (wakes _ _ _ _ _ K); [lia|assumption|right].
        replace (S t - 1) with t by lia. assumption.
Qed.

(** ** The main lemma: a server demands no more than the integral of its share

    [a] is an instant before which the server was not ready or due later than [D] (or the begin of
    the promise). What it executes in [a, D) under deadlines up to [D] is at most the integral of
    its share over [a, D). *)
Lemma demand_within_share s X from till e a D :
  edf_run -> keeps_share s X from till e ->
  from <= a -> a <= D -> D <= till ->
  (a = from \/ ready e (a - 1) = false \/ D < dl e (a - 1)) ->
  N * over a D (fun t => on (runs e t && (dl e t <=? D)) 1) <= over a D s.
Proof.
  intros R K Fa Le Dt Ha.
  assert (RunReady : forall t, runs e t = true -> ready e t = true).
  { intros t Ht. unfold runs in Ht. destruct (run t) as [x|] eqn:E; [|discriminate].
    apply Nat.eqb_eq in Ht. subst x. apply (only_ready R t e E). }
  set (P := fun t => runs e t && (dl e t <=? D)).
  destruct (first_last P a D) as [None|(u & v & Hu & Hv & Pu & Pv & Early & Late)].
  { rewrite over_zero; [lia|]. intros t Ht. fold (P t). rewrite (None t Ht). reflexivity. }
  apply andb_true_iff in Pu, Pv. destruct Pu as [Ru Du], Pv as [Rv Dv].
  apply Nat.leb_le in Du, Dv.
  (* Whenever it is ready and due by [D] it has used up the entitlement before [a]. *)
  pose proof (used_up_before s X from till e a D K Fa Dt Ha) as Behind.
  assert (Xu : level s a <= X u) by (apply Behind; [lia|apply RunReady; assumption|assumption]).
  pose proof (uses_all s X from till e u v K ltac:(lia) ltac:(lia) ltac:(lia)) as U.
  pose proof (within _ _ _ _ _ K v ltac:(lia) Rv) as W.
  pose proof (level_mono s (dl e v) D Dv) as M.
  pose proof (level_interval s a D Le) as I.
  assert (Count : over a D (fun t => on (runs e t && (dl e t <=? D)) 1)
                  <= over u v (fun t => on (runs e t) 1) + 1).
  { rewrite (over_split a u D) by lia. rewrite (over_split u (S v) D) by lia.
    rewrite (over_last u v) by lia.
    rewrite (over_zero a u), (over_zero (S v) D).
    - pose proof (over_le u v (fun t => on (runs e t && (dl e t <=? D)) 1) (fun t => on (runs e t) 1)) as O.
      assert (O' : forall t, u <= t < v -> on (runs e t && (dl e t <=? D)) 1 <= on (runs e t) 1)
        by (intros t Ht; destruct (runs e t), (dl e t <=? D); cbn; lia).
      specialize (O O').
      destruct (runs e v && (dl e v <=? D)); cbn [on]; lia.
    - intros t Ht. fold (P t). rewrite (Late t); [reflexivity|lia].
    - intros t Ht. fold (P t). rewrite (Early t); [reflexivity|lia]. }
  nia.
Qed.

(** ** The interval before a deadline in which the CPU has no time to spare

    Let [e0] be ready and due by [D] from [t0] to [D]. From some instant [a] on, no later than [t0], the CPU
    always executes something due by [D]; and at [a] the promises begin, or just before it nothing was
    ready and due by [D]. *)
Lemma busy_interval from e0 t0 D :
  edf_run -> In e0 (servers ++ jobs) -> from <= t0 ->
  (forall t, t0 <= t < D -> ready e0 t = true /\ dl e0 t <= D) ->
  exists a, from <= a <= t0 /\
    (forall e, In e (servers ++ jobs) -> a = from \/ ready e (a - 1) = false \/ D < dl e (a - 1)) /\
    (forall t, a <= t < D -> exists x, run t = Some x /\ dl x t <= D).
Proof.
  intros R H0 F0 Waits.
  set (P := fun t => (t =? from) ||
    forallb (fun e => negb (ready e (t - 1)) || (D <? dl e (t - 1))) (servers ++ jobs)).
  assert (P0 : P from = true) by (unfold P; rewrite Nat.eqb_refl; reflexivity).
  destruct (last_such P from t0 F0 P0) as (a & Ha & Pa & Later).
  exists a. split; [assumption|]. split.
  - intros e He. unfold P in Pa. apply orb_true_iff in Pa. destruct Pa as [E|E].
    + left. apply Nat.eqb_eq. assumption.
    + right. rewrite forallb_forall in E. specialize (E e He). apply orb_true_iff in E.
      destruct E as [E|E]; [left; apply negb_true_iff; assumption|right; apply Nat.ltb_lt; assumption].
  - intros t Ht.
    assert (Ex : exists e, In e (servers ++ jobs) /\ ready e t = true /\ dl e t <= D).
    { destruct (le_lt_dec t0 t) as [L|L].
      - exists e0. split; [assumption|]. apply Waits. lia.
      - specialize (Later (t + 1) ltac:(lia)). unfold P in Later.
        apply orb_false_iff in Later. destruct Later as [_ Later].
        replace (t + 1 - 1) with t in Later by lia.
        assert (G : exists e, In e (servers ++ jobs) /\ negb (ready e t) || (D <? dl e t) = false).
        { clear -Later. induction (servers ++ jobs) as [|x r IH]; simpl in *; [discriminate|].
          apply andb_false_iff in Later. destruct Later as [H|H].
          - exists x. split; [left; reflexivity|assumption].
          - destruct (IH H) as (e & He & E). exists e. split; [right|]; assumption. }
        destruct G as (e & He & E). apply orb_false_iff in E. destruct E as [E1 E2].
        exists e. split; [assumption|]. split; [apply negb_false_iff; assumption|].
        apply Nat.ltb_ge. assumption. }
    destruct Ex as (e & He & Re & De). destruct (edf R t e He Re) as (x & Hx & Dx).
    exists x. split; [assumption|lia].
Qed.

(** Then its length is no more than all that is executed in it under deadlines up to [D]. *)
Lemma busy_interval_is_filled a D :
  edf_run -> (forall t, a <= t < D -> exists x, run t = Some x /\ dl x t <= D) ->
  D - a <= sumf (fun e => over a D (fun t => on (runs e t && (dl e t <=? D)) 1)) (servers ++ jobs).
Proof.
  intros R Busy. set (g := fun e t => on (runs e t && (dl e t <=? D)) 1).
  rewrite <- (over_one a D), <- (over_sumf a D g). apply over_le. intros t Ht.
  destruct (Busy t Ht) as (x & Hx & Dx). destruct (only_ready R t x Hx) as [Ix _].
  apply Nat.le_trans with (g x t); [|exact (sumf_member (fun e => g e t) _ x Ix)].
  unfold g, runs. rewrite Hx, Nat.eqb_refl, (proj2 (Nat.leb_le _ _) Dx). cbn. lia.
Qed.

(** ** Theorem: no hard job is late

    From an instant at which no hard job is pending: if every server keeps its share, the hard jobs
    released since ask of each interval no more than the integral of their share [h], and at every
    tick the shares add up to at most the whole, then every hard job released since then has had
    its cost by its deadline. *)
Theorem no_hard_job_late (s X : nat -> nat -> nat) (h : nat -> nat) (from till : nat) :
  edf_run ->
  no_hard_job_pending from ->
  (forall e, In e servers -> keeps_share (s e) (X e) from till e) ->
  (forall a D, from <= a -> a <= D -> D <= till -> N * hard_demand a D <= over a D h) ->
  (forall t, from <= t < till -> sumf (fun e => s e t) servers + h t <= N) ->
  forall j, In j jobs -> from <= rel j -> rel j <= due j -> due j <= till ->
  served j (due j) = cost j.
Proof.
  intros R NP Keeps Hard Sum J HJ FJ RJ TJ.
  destruct (Nat.eq_dec (served J (due J)) (cost J)) as [|Ne]; [assumption|exfalso].
  pose proof (served_le_cost J (due J) R HJ) as SC.
  set (D := due J) in *.
  destruct (busy_interval from J (rel J) D R ltac:(apply in_or_app; right; assumption) FJ) as (a & Ha & Free & Busy).
  { intros t Ht. rewrite (job_due R J t HJ). split; [|unfold D; lia].
    apply (job_ready R J t HJ). split; [lia|]. pose proof (served_mono J t D ltac:(lia)). lia. }
  set (g := fun e t => on (runs e t && (dl e t <=? D)) 1).
  assert (All : D - a <= sumf (fun e => over a D (g e)) (servers ++ jobs))
    by exact (busy_interval_is_filled a D R Busy).
  rewrite sumf_app in All.
  assert (Srv : N * sumf (fun e => over a D (g e)) servers <= over a D (fun t => sumf (fun e => s e t) servers)).
  { rewrite (over_sumf a D (fun e t => s e t)), <- sumf_mult. apply sumf_le. intros e He.
    apply (demand_within_share (s e) (X e) from till e a D R (Keeps e He)); try lia.
    apply Free. apply in_or_app. left. assumption. }
  assert (Job : forall j, In j jobs ->
            over a D (g j) <= on ((a <=? rel j) && (due j <=? D)) (cost j) /\
            (j = J -> over a D (g j) < on ((a <=? rel j) && (due j <=? D)) (cost j))).
  { intros j Hj.
    assert (Up : over a D (g j) <= served j D).
    { unfold served. eapply Nat.le_trans; [|apply (over_within a D 0 D); lia].
      apply over_le. intros t Ht. unfold g. destruct (runs j t), (dl j t <=? D); cbn; lia. }
    pose proof (served_le_cost j D R Hj).
    assert (Z : due j <= D -> rel j < a -> over a D (g j) = 0).
    { intros Dj Rj. apply over_zero. intros t Ht. unfold g, runs.
      destruct (run t) as [x|] eqn:E; [|reflexivity].
      destruct (Nat.eqb_spec x j) as [->|]; [exfalso|reflexivity].
      destruct (only_ready R t j E) as [_ Rt]. apply (job_ready R j t Hj) in Rt.
      destruct (Free j (in_or_app _ _ _ (or_intror Hj))) as [->|[F|F]].
      - pose proof (NP j Hj Rj). pose proof (served_mono j from t ltac:(lia)). lia.
      - assert (ready j (a - 1) = true); [|congruence].
        apply (job_ready R j (a - 1) Hj). split; [lia|].
        pose proof (served_mono j (a - 1) t ltac:(lia)). lia.
      - rewrite (job_due R j (a - 1) Hj) in F. lia. }
    destruct (Nat.leb_spec a (rel j)) as [L|L]; destruct (Nat.leb_spec (due j) D) as [M|M]; cbn [on andb].
    - split; [lia|]. intros ->. lia.
    - assert (over a D (g j) = 0).
      { apply over_zero. intros t Ht. unfold g. rewrite (job_due R j t Hj).
        rewrite (proj2 (Nat.leb_gt _ _) M), andb_false_r. reflexivity. }
      split; [lia|]. intros ->. lia.
    - rewrite (Z M L). split; [lia|]. intros ->. lia.
    - assert (over a D (g j) = 0).
      { apply over_zero. intros t Ht. unfold g. rewrite (job_due R j t Hj).
        rewrite (proj2 (Nat.leb_gt _ _) M), andb_false_r. reflexivity. }
      split; [lia|]. intros ->. lia. }
  assert (Jobs : sumf (fun e => over a D (g e)) jobs < hard_demand a D).
  { unfold hard_demand. apply sumf_lt with J; [intros j Hj; apply (Job j Hj)|assumption|].
    apply (Job J HJ). reflexivity. }
  assert (Total : over a D (fun t => sumf (fun e => s e t) servers + h t) <= N * (D - a)).
  { rewrite <- (over_one a D), <- over_mult. apply over_le. intros t Ht.
    specialize (Sum t ltac:(lia)). lia. }
  rewrite over_plus in Total.
  specialize (Hard a D ltac:(lia) ltac:(lia) ltac:(lia)). nia.
Qed.

(** ** Clean instants

    At a clean instant no hard job is pending, and everything may be reset: levels and shares may
    be set as one likes, if the ready servers are not behind ([wakes] at [t = from]). This covers
    the idle instants at which releases are advanced, and the move of deadlines of [limit_ahead].
    It is enough that between two clean instants every server keeps some share. *)
Corollary no_hard_job_late_between_clean_instants (clean : nat -> bool) (h : nat -> nat -> nat) :
  edf_run ->
  clean 0 = true ->
  (forall t, clean t = true -> no_hard_job_pending t) ->
  (forall from till, clean from = true -> (forall t, from < t < till -> clean t = false) ->
     exists s X : nat -> nat -> nat,
       (forall e, In e servers -> keeps_share (s e) (X e) from till e) /\
       (forall a D, from <= a -> a <= D -> D <= till -> N * hard_demand a D <= over a D (h from)) /\
       (forall t, from <= t < till -> sumf (fun e => s e t) servers + h from t <= N)) ->
  forall j, In j jobs -> rel j <= due j -> served j (due j) = cost j.
Proof.
  intros R C0 CN Era j Hj RD.
  destruct (last_such clean 0 (rel j) ltac:(lia) C0) as (from & Hf & Cf & Later).
  (* Up to the next clean instant, if there is one before the deadline. *)
  destruct (first_last clean (rel j + 1) (due j)) as [None|(u & v & Hu & Hv & Cu & _ & Early & _)].
  - destruct (Era from (due j) Cf) as (s & X & K & H & S).
    { intros t Ht. destruct (le_lt_dec t (rel j)); [apply Later; lia|apply None; lia]. }
    apply (no_hard_job_late s X (h from) from (due j) R (CN from Cf) K H S j Hj); lia.
  - (* The job was finished at that one. *)
    pose proof (CN u Cu j Hj ltac:(lia)). pose proof (served_mono j u (due j) ltac:(lia)).
    pose proof (served_le_cost j (due j) R Hj). lia.
Qed.

End Cpu.
