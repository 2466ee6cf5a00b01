(** * How long a task waits: a ready server executes its remaining budget by its deadline

    The argument for hard jobs holds for servers as well. So no server starves: one that becomes ready with
    a budget has executed it by its deadline, whatever the others do within their shares.
    Code: the bound is stated in crates/cpu/src/servers/promises/mod.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares cpu.Changes cpu.Machine.
Import ListNotations.

Section Waiting.
Variables (servers jobs : list nat).
Variables (ready : nat -> nat -> bool) (dl : nat -> nat -> nat) (run : nat -> option nat).
Variables (rel cost due : nat -> nat) (N : nat).
Hypothesis N_positive : 0 < N.
Notation edf_run := (Shares.edf_run servers jobs ready dl run rel cost due).
Notation runs := (Shares.runs run).

(** What a server has used up by [D] is its entitlement before [a] and all that it executed since under
    deadlines up to [D]. *)
Lemma used_up_since s X from till e a D t0 :
  edf_run -> keeps_share ready dl run N s X from till e ->
  from <= a -> D <= till -> (a = from \/ ready e (a - 1) = false \/ D < dl e (a - 1)) ->
  a <= t0 < D -> ready e t0 = true -> dl e t0 <= D ->
  level s a + N * over a D (fun t => on (runs e t && (dl e t <=? D)) 1) <= X D.
Proof.
  intros R K Fa Dt Ha H0 R0 D0.
  set (P := fun t => ready e t && (dl e t <=? D)).
  assert (Runs : forall t, runs e t && (dl e t <=? D) = true -> P t = true).
  { intros t H. apply andb_true_iff in H. destruct H as [H1 H2]. unfold P. rewrite H2, andb_true_r.
    unfold Shares.runs in H1. destruct (run t) as [x|] eqn:E; [|discriminate].
    apply Nat.eqb_eq in H1. subst x. apply (only_ready _ _ _ _ _ _ _ _ R t e E). }
  destruct (first_last P a D) as [None|(u & v & Hu & Hv & Pu & _ & Early & _)].
  { specialize (None t0 H0). unfold P in None. rewrite R0, (proj2 (Nat.leb_le _ _) D0) in None. discriminate. }
  apply andb_true_iff in Pu. destruct Pu as [Ru Du]. apply Nat.leb_le in Du.
  pose proof (used_up_before ready dl run N N_positive s X from till e a D K Fa Dt Ha u ltac:(lia) Ru Du) as Begin.
  pose proof (uses_all ready dl run N N_positive s X from till e u D K ltac:(lia) ltac:(lia) Dt) as U.
  assert (C : over a D (fun t => on (runs e t && (dl e t <=? D)) 1) <= over u D (fun t => on (runs e t) 1)).
  { rewrite (over_split a u D) by lia. rewrite (over_zero a u).
    - apply over_le. intros t Ht. destruct (runs e t), (dl e t <=? D); cbn; lia.
    - intros t Ht. destruct (runs e t && (dl e t <=? D)) eqn:E; [|reflexivity].
      apply Runs in E. rewrite (Early t) in E; [discriminate|lia]. }
  nia.
Qed.

(** ** Theorem: no server is late

    If a server is ready from [t0] to [D] under deadlines up to [D], then at [D] it has used up all that
    its share gave it by [D], but for less than a tick. *)
Theorem no_server_is_late (s X : nat -> nat -> nat) (h : nat -> nat) (from till e t0 D : nat) :
  edf_run -> no_hard_job_pending jobs run rel cost from ->
  (forall e, In e servers -> keeps_share ready dl run N (s e) (X e) from till e) ->
  (forall a D, from <= a -> a <= D -> D <= till -> N * hard_demand jobs rel cost due a D <= over a D h) ->
  (forall t, from <= t < till -> sumf (fun e => s e t) servers + h t <= N) ->
  In e servers -> from <= t0 -> t0 < D -> D <= till ->
  (forall t, t0 <= t < D -> ready e t = true /\ dl e t <= D) ->
  level (s e) D < X e D + N.
Proof.
  intros R NP Keeps Hard Sum He F0 TD DT Waits.
  destruct (le_lt_dec (X e D + N) (level (s e) D)) as [Behind|]; [exfalso|assumption].
  destruct (busy_interval servers jobs ready dl run rel cost due N N_positive from e t0 D R
              ltac:(apply in_or_app; left; assumption) F0 Waits) as (a & Ha & Free & Busy).
  set (g := fun e t => on (runs e t && (dl e t <=? D)) 1).
  assert (All : D - a <= sumf (fun e => over a D (g e)) (servers ++ jobs))
    by exact (busy_interval_is_filled servers jobs ready dl run rel cost due N N_positive a D R Busy).
  rewrite sumf_app in All.
  assert (Each : forall x, In x servers -> N * over a D (g x) <= over a D (s x)).
  { intros x Hx. apply (demand_within_share servers jobs ready dl run rel cost due N N_positive (s x) (X x) from till x a D
                         R (Keeps x Hx)); try lia. apply Free. apply in_or_app. left. assumption. }
  assert (Own : N * over a D (g e) + N <= over a D (s e)).
  { destruct (Waits t0 ltac:(lia)) as [R0 D0].
    pose proof (used_up_since (s e) (X e) from till e a D t0 R (Keeps e He) ltac:(lia) DT
                  (Free e ltac:(apply in_or_app; left; assumption)) ltac:(lia) R0 D0) as U.
    pose proof (level_interval (s e) a D ltac:(lia)). change (fun t => on (runs e t && (dl e t <=? D)) 1) with (g e) in U. lia. }
  assert (Srv : N * sumf (fun e => over a D (g e)) servers + N
                <= over a D (fun t => sumf (fun e => s e t) servers)).
  { rewrite (over_sumf a D s), <- sumf_mult.
    clear -Each Own He. induction servers as [|x r IH]; [destruct He|].
    cbn [sumf]. destruct He as [->|He].
    - pose proof (sumf_le (fun e => N * over a D (g e)) (fun e => over a D (s e)) r
                    (fun y Hy => Each y (or_intror Hy))). lia.
    - specialize (IH He (fun y Hy => Each y (or_intror Hy))). pose proof (Each x (or_introl eq_refl)). lia. }
  assert (Job : sumf (fun e => over a D (g e)) jobs <= hard_demand jobs rel cost due a D).
  { unfold hard_demand. apply sumf_le. intros j Hj.
    assert (Up : over a D (g j) <= served run j D).
    { unfold served. eapply Nat.le_trans; [|apply (over_within a D 0 D); lia].
      apply over_le. intros t Ht. unfold g. destruct (runs j t), (dl j t <=? D); cbn; lia. }
    pose proof (served_le_cost servers jobs ready dl run rel cost due N N_positive j D R Hj).
    destruct (Nat.leb_spec a (rel j)) as [L|L]; destruct (Nat.leb_spec (due j) D) as [M|M]; cbn [on andb];
      [lia| | |]; rewrite over_zero; try lia; intros t Ht; unfold g;
      destruct (runs j t) eqn:Ru; cbn [andb on]; try reflexivity;
      rewrite (job_due _ _ _ _ _ _ _ _ R j t Hj).
    - rewrite (proj2 (Nat.leb_gt _ _) M). reflexivity.
    - exfalso. unfold Shares.runs in Ru. destruct (run t) as [x|] eqn:E; [|discriminate].
      apply Nat.eqb_eq in Ru. subst x. destruct (only_ready _ _ _ _ _ _ _ _ R t j E) as [_ Rt].
      apply (job_ready _ _ _ _ _ _ _ _ R j t Hj) in Rt.
      destruct (Free j (in_or_app _ _ _ (or_intror Hj))) as [->|[F|F]].
      + pose proof (NP j Hj L). pose proof (served_mono run N N_positive j from t ltac:(lia)). lia.
      + assert (ready j (a - 1) = true); [|congruence].
        apply (job_ready _ _ _ _ _ _ _ _ R j (a - 1) Hj). split; [lia|].
        pose proof (served_mono run N N_positive j (a - 1) t ltac:(lia)). lia.
      + rewrite (job_due _ _ _ _ _ _ _ _ R j (a - 1) Hj) in F. lia.
    - rewrite (proj2 (Nat.leb_gt _ _) M). reflexivity. }
  assert (Total : over a D (fun t => sumf (fun e => s e t) servers + h t) <= N * (D - a)).
  { rewrite <- (over_one a D), <- over_mult. apply over_le. intros t Ht. specialize (Sum t ltac:(lia)). lia. }
  rewrite over_plus in Total. specialize (Hard a D ltac:(lia) ltac:(lia) ltac:(lia)). nia.
Qed.

(** ** Theorem: a server never has budget left at its deadline

    Servers as the state machines of Machine.v, whichever events they have. While a server is ready under a
    deadline [D], its remaining budget is executed by [D]: with a fresh budget within a period, and after a
    suspension that ends with its period within two. *)
Theorem remaining_budget_is_executed_by_the_deadline
    (at_instant : nat -> nat -> server) (events : nat -> nat -> list event)
    (h : nat -> nat) (from till e t0 D : nat) :
  edf_run -> no_hard_job_pending jobs run rel cost from ->
  (forall e t, In e servers -> ready e t = is_ready (at_instant e) t) ->
  (forall e t, In e servers -> dl e t = deadline (at_instant e t)) ->
  (forall e, In e servers -> server_run N (at_instant e) (events e) (runs e) from till) ->
  (forall a D, from <= a -> a <= D -> D <= till -> N * hard_demand jobs rel cost due a D <= over a D h) ->
  (forall t, from <= t < till -> sumf (fun e => promise (at_instant e t) t) servers + h t <= N) ->
  In e servers -> from <= t0 -> t0 < D -> D <= till ->
  (forall t, t0 <= t <= D -> state (at_instant e t) = Ready /\ deadline (at_instant e t) = D) ->
  left (at_instant e D) = 0.
Proof.
  intros R NP Rdy Dl Srv Hard Sum He F0 TD DT Waits.
  assert (Keeps : forall x, In x servers ->
            zero_lag_rule (fun t => promise (at_instant x t)) (fun t => used (at_instant x t)) from till /\
            keeps_promises ready dl run N (fun t => promise (at_instant x t)) (fun t => used (at_instant x t))
              from till x).
  { intros x Hx. apply (server_run_keeps_promises N (at_instant x) (events x) (runs x)); auto. }
  pose proof (no_server_is_late (fun x => promise (at_instant x till)) (fun x t => used (at_instant x t)) h
                from till e t0 D R NP) as L.
  cbv beta in L.
  assert (L' : level (promise (at_instant e till)) D < used (at_instant e D) + N).
  { apply L; try assumption.
    - intros x Hx. destruct (Keeps x Hx) as [Z K].
      apply (zero_lag_rule_is_safe ready dl run N _ _ from till x Z K).
    - intros t Ht. specialize (Sum t Ht).
      rewrite (sumf_ext (fun x => promise (at_instant x till) t) (fun x => promise (at_instant x t) t));
        [assumption|].
      intros x Hx. destruct (Keeps x Hx) as [Z _].
      apply (in_force (fun t => promise (at_instant x t)) (fun t => used (at_instant x t)) from till t Z). lia.
    - intros t Ht. destruct (Waits t ltac:(lia)) as [W1 W2]. rewrite Rdy, Dl by assumption. split; [|lia].
      apply is_ready_spec. assumption. }
  destruct (always_kept N (at_instant e) (events e) (runs e) from till D (Srv e He) ltac:(lia)) as (was & [G _] & _).
  destruct (Waits D ltac:(lia)) as [W1 W2]. specialize (G W1). unfold gives in G. rewrite W2 in G.
  destruct (Keeps e He) as [Z _].
  rewrite (past_level_stays (fun t => promise (at_instant e t)) (fun t => used (at_instant e t)) from till D till D Z)
    in L' by lia.
  nia.
Qed.
End Waiting.
