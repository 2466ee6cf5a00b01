(** * A server as a state machine, and what each of its events keeps

    A server is blocked, ready, expired or leaving. It has a promise (its share at each instant from now
    on, as known now), the level that it has used up (its zero-lag time is where the promise reaches this
    level), a remaining budget and a deadline. Its events are those of crates/cpu/src/servers: recharge,
    suspension at exhaustion, release, block, wake-up, and change of its share (another one joins, leaves,
    or is given another weight). The conditions on the events are the rule of
    crates/cpu/src/servers/promises/mod.rs, one event at a time. Whatever happens in whatever order, the
    server keeps its promises (Changes.v), so hard deadlines are kept as long as shares add up. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares cpu.Reservations cpu.Changes.
Import ListNotations.

Inductive phase := Blocked | Ready | Expired | Leaving.

Record server := {
  state : phase;
  used : nat;               (** the level that is used up *)
  left : nat;               (** ticks of budget that remain *)
  deadline : nat;
  promise : nat -> nat;     (** its share at each tick *)
  entered : bool            (** it has become ready at this instant *)
}.

Inductive event :=
  | Recharge (budget later : nat)   (** the budget is used up and comes back with a deadline no earlier *)
  | Suspend                         (** the budget is used up: wait for the next release *)
  | Release (budget D : nat)        (** the next release of a suspended server *)
  | Block
  | Wake_with_rest                  (** what is left of budget and deadline goes on *)
  | Wake_afresh (budget D : nat)
  | Change (share : nat -> nat) (D : nat)  (** the share changes, the deadline moves no earlier *)
  | Leave.

Section Machine.
Variable N : nat.

(** The deadline [D] gives [budget] ticks beyond what is used up: rule 3. *)
Definition gives (P : nat -> nat) (level_used budget D : nat) : Prop :=
  level_used + N * budget <= level P D.

(** One event at instant [now]. *)
Inductive step (now : nat) (s : server) : event -> server -> Prop :=
  | step_recharge budget D :
      state s = Ready -> left s = 0 -> deadline s <= D -> gives (promise s) (used s) budget D ->
      step now s (Recharge budget D)
        {| state := Ready; used := used s; left := budget; deadline := D; promise := promise s;
           entered := entered s |}
  | step_suspend :
      state s = Ready -> left s = 0 ->
      step now s Suspend
        {| state := Expired; used := used s; left := 0; deadline := deadline s; promise := promise s;
           entered := false |}
  | step_release budget D :
      state s = Expired -> gives (promise s) (max (used s) (level (promise s) now)) budget D ->
      step now s (Release budget D)
        {| state := Ready; used := max (used s) (level (promise s) now); left := budget; deadline := D;
           promise := promise s; entered := true |}
  | step_block :
      step now s Block
        {| state := Blocked; used := used s; left := left s; deadline := deadline s;
           promise := promise s; entered := false |}
  | step_wake_with_rest :
      state s = Blocked -> level (promise s) now <= used s ->
      gives (promise s) (used s) (left s) (deadline s) ->
      step now s Wake_with_rest
        {| state := Ready; used := used s; left := left s; deadline := deadline s; promise := promise s;
           entered := true |}
  | step_wake_afresh budget D :
      state s = Blocked -> gives (promise s) (max (used s) (level (promise s) now)) budget D ->
      step now s (Wake_afresh budget D)
        {| state := Ready; used := max (used s) (level (promise s) now); left := budget; deadline := D;
           promise := promise s; entered := true |}
  | step_change P D :
      (* only later: from now and from the zero-lag time on *)
      (forall tau, tau < now \/ level (promise s) tau < used s -> P tau = promise s tau) ->
      deadline s <= D -> (state s = Ready -> gives P (used s) (left s) D) ->
      step now s (Change P D)
        {| state := state s; used := used s; left := left s; deadline := D; promise := P;
           entered := entered s |}
  | step_leave :
      step now s Leave
        {| state := Leaving; used := used s; left := 0; deadline := deadline s; promise := promise s;
           entered := false |}.

(** What always holds at an instant [now]; [was_ready]: the server was ready just before. *)
Record kept (now : nat) (was_ready : bool) (s : server) : Prop := {
  (** The deadline gives the rest of the budget. *)
  k_gives : state s = Ready -> gives (promise s) (used s) (left s) (deadline s);
  (** When it becomes ready its zero-lag time is not past. *)
  k_enters : state s = Ready -> was_ready = false \/ entered s = true -> level (promise s) now <= used s
}.

(** ** Theorem: each event keeps what always holds *)
Theorem each_event_keeps_the_rule now was s e s' :
  kept now was s -> step now s e s' -> kept now was s'.
Proof.
  intros [G En] St. destruct St; constructor; cbn [state used left deadline promise entered]; intros; try discriminate;
    try assumption; auto; try (apply Nat.le_max_r).
  rewrite (level_ext P (promise s)); [apply En; assumption|]. intros u Hu. apply H. left. assumption.
Qed.

(** Events of one instant, in their order. *)
Inductive steps (now : nat) : server -> list event -> server -> Prop :=
  | no_step s : steps now s [] s
  | one_more s e s1 es s2 : step now s e s1 -> steps now s1 es s2 -> steps now s (e :: es) s2.

(** The past of the promise does not change, the level only rises to where the promise is now, and the
    promise only changes from the zero-lag time on. *)
Lemma steps_change_only_later now s es s' :
  steps now s es s' ->
  (used s' = used s \/ used s <= used s' /\ used s' = level (promise s) now) /\
  (forall tau, tau < now \/ level (promise s) tau < used s' -> promise s' tau = promise s tau).
Proof.
  induction 1 as [s|s e s1 es s2 St _ [U P]]; [split; [left; reflexivity|reflexivity]|].
  destruct St; cbn [used promise] in *;
    try (split; [destruct U as [->|[U1 U2]]; [left; reflexivity|right; split; assumption]|assumption]);
    try (split; [|assumption]; destruct (Nat.max_spec (used s) (level (promise s) now)) as [[L M]|[L M]];
         rewrite M in U; destruct U as [U|[U1 U2]];
         [right; split; lia|right; split; lia|left; lia|right; split; lia]).
  (* A change. *)
  rename P0 into P'.
  assert (Past : level P' now = level (promise s) now).
  { apply level_ext. intros u Hu. apply H. left. assumption. }
  split.
  - destruct U as [->|[U1 U2]]; [left; reflexivity|right]. rewrite <- Past. split; assumption.
  - intros tau Ht.
    assert (Same : forall u, u <= tau -> u < now \/ level (promise s) u < used s).
    { intros u Hu. destruct (le_lt_dec now u) as [L|L]; [right|left; assumption].
      destruct Ht as [Ht|Ht]; [lia|]. pose proof (level_mono (promise s) u tau Hu).
      destruct U as [U|[U1 U2]]; [lia|]. rewrite Past in U2.
      pose proof (level_mono (promise s) now u L). lia. }
    rewrite P.
    + apply H. apply Same. lia.
    + destruct Ht as [Ht|Ht]; [left; assumption|right].
      rewrite (level_ext P' (promise s)); [assumption|]. intros u Hu. apply H. apply Same. lia.
Qed.

Lemma steps_keep now was s es s' : kept now was s -> steps now s es s' -> kept now was s'.
Proof.
  intros K St. induction St as [s|s e s1 es s2 St _ IH]; [assumption|].
  apply IH. eapply each_event_keeps_the_rule; eassumption.
Qed.

(** If a server is ready before and after and was never not, its deadline has not moved back. *)
Lemma steps_keep_deadline now s es s' :
  steps now s es s' -> state s = Ready -> entered s = false -> state s' = Ready ->
  deadline s <= deadline s' \/ entered s' = true.
Proof.
  assert (G : steps now s es s' -> (state s = Ready -> entered s = false -> True) ->
            forall d, (state s = Ready -> d <= deadline s \/ entered s = true) ->
            state s' = Ready -> d <= deadline s' \/ entered s' = true).
  { intros St _. induction St as [s|s e s1 es s2 St _ IH]; intros d Hd R; [apply Hd; assumption|].
    apply IH; [|assumption]. intros R1.
    destruct St; cbn [state deadline entered] in *; try discriminate; try (right; reflexivity).
    - destruct (Hd ltac:(assumption)) as [L|L]; [left; lia|right; assumption].
    - destruct (Hd R1) as [L|L]; [left; lia|right; assumption]. }
  intros St R E R'. apply (G St ltac:(trivial) (deadline s)); [|assumption].
  intros _. left. lia.
Qed.

(** ** A whole run of one server

    [at_instant t]: the server after all events of instant [t]. In the tick from [t] on it runs or not; then
    the events of [t + 1] happen. *)
Definition after_tick (ran : bool) (s : server) : server :=
  {| state := state s; used := used s + on ran N; left := left s - on ran 1; deadline := deadline s;
     promise := promise s; entered := false |}.

Section Run.
Variables (at_instant : nat -> server) (events : nat -> list event) (ran : nat -> bool).
Variables (from till e : nat).

Record server_run : Prop := {
  begins : kept from false (at_instant from);
  runs_on_budget : forall t, from <= t < till -> ran t = true ->
    state (at_instant t) = Ready /\ 0 < left (at_instant t);
  follows : forall t, from <= t < till ->
    steps (t + 1) (after_tick (ran t) (at_instant t)) (events (t + 1)) (at_instant (t + 1))
}.

Definition is_ready (t : nat) : bool := match state (at_instant t) with Ready => true | _ => false end.

Lemma is_ready_spec t : is_ready t = true <-> state (at_instant t) = Ready.
Proof. unfold is_ready. destruct (state (at_instant t)); split; intros; congruence. Qed.

Lemma tick_keeps t was :
  server_run -> from <= t < till -> kept t was (at_instant t) ->
  kept (t + 1) (is_ready t) (after_tick (ran t) (at_instant t)).
Proof.
  intros R Ht [G _]. constructor; cbn [after_tick state used left deadline promise entered].
  - intros Rd. specialize (G Rd). unfold gives in *. destruct (ran t) eqn:Ra; cbn [on]; [|rewrite Nat.sub_0_r; lia].
    destruct (runs_on_budget R t Ht Ra) as [_ L]. nia.
  - intros Rd [Nr|F]; [|discriminate]. apply is_ready_spec in Rd. congruence.
Qed.

Lemma always_kept t : server_run -> from <= t <= till ->
  exists was, kept t was (at_instant t) /\
    (t = from /\ was = false \/ from < t /\ was = is_ready (t - 1)).
Proof.
  intros R. induction t as [|t IH]; intros Ht.
  - assert (E0 : from = 0) by lia. exists false. rewrite <- E0.
    split; [apply (begins R)|left; split; reflexivity].
  - destruct (Nat.eq_dec from (S t)) as [E0|N'].
    + exists false. rewrite <- E0. split; [apply (begins R)|left; split; reflexivity].
    + destruct (IH ltac:(lia)) as (was & K & _). exists (is_ready t). split.
      * replace (S t) with (t + 1) by lia. eapply steps_keep; [|apply (follows R); lia].
        eapply tick_keeps; [assumption|lia|eassumption].
      * right. replace (S t - 1) with t by lia. split; [lia|reflexivity].
Qed.

(** *** Theorem: a server whose events follow the rule keeps its promises *)
Theorem server_run_keeps_promises (ready : nat -> nat -> bool) (dl : nat -> nat -> nat) (run : nat -> option nat) :
  (forall t, ready e t = is_ready t) -> (forall t, dl e t = deadline (at_instant t)) ->
  (forall t, Shares.runs run e t = ran t) ->
  server_run ->
  zero_lag_rule (fun t => promise (at_instant t)) (fun t => used (at_instant t)) from till /\
  keeps_promises ready dl run N (fun t => promise (at_instant t)) (fun t => used (at_instant t)) from till e.
Proof.
  intros Rdy Dl Run R.
  assert (Step : forall t, from <= t < till ->
            used (at_instant t) + on (ran t) N <= used (at_instant (t + 1)) /\
            (forall tau, tau < t + 1 \/ level (promise (at_instant t)) tau < used (at_instant (t + 1)) ->
               promise (at_instant (t + 1)) tau = promise (at_instant t) tau)).
  { intros t Ht. destruct (steps_change_only_later _ _ _ _ (follows R t Ht)) as [U P].
    cbn [after_tick used promise] in U, P. split; [lia|]. intros tau Htau. apply P. assumption. }
  split; [|constructor].
  - intros t tau Ht Htau. apply (Step t Ht). destruct Htau as [L|L]; [left; lia|right; assumption].
  - intros t Ht. rewrite Run. apply (Step t Ht).
  - intros t Ht Ra. rewrite Run in Ra. destruct (runs_on_budget R t Ht Ra) as [Rd L].
    destruct (always_kept t R ltac:(lia)) as (was & [G _] & _). specialize (G Rd). unfold gives in G.
    rewrite Dl. nia.
  - intros t Ht Rd Fresh. rewrite Rdy in *. apply is_ready_spec in Rd.
    destruct (always_kept t R ltac:(lia)) as (was & [_ En] & Was). apply En; [assumption|left].
    destruct Was as [[-> ->]|[L ->]]; [reflexivity|].
    destruct Fresh as [->|F]; [lia|assumption].
  - intros t Ft Ht Rd Rd'. rewrite Rdy in *. rewrite !Dl. apply is_ready_spec in Rd, Rd'.
    pose proof (follows R t ltac:(lia)) as St.
    destruct (steps_keep_deadline _ _ _ _ St Rd eq_refl Rd') as [L|En]; [left; exact L|right].
    destruct (always_kept (t + 1) R ltac:(lia)) as (was & [_ K] & _). apply K; [assumption|right; assumption].
Qed.
End Run.
End Machine.

(** ** Theorem: servers that follow the rule keep every hard deadline

    Any number of servers, each with its own events in any order; hard jobs with any demand bound [h]. What
    is left to check is that at every tick the shares in force add up to at most the whole. *)
Theorem machines_keep_hard_deadlines
    (servers jobs : list nat) (ready : nat -> nat -> bool) (dl : nat -> nat -> nat)
    (run : nat -> option nat) (rel cost due : nat -> nat) (N : nat)
    (at_instant : nat -> nat -> server) (events : nat -> nat -> list event) (h : nat -> nat) (from till : nat) :
  0 < N ->
  edf_run servers jobs ready dl run rel cost due ->
  no_hard_job_pending jobs run rel cost from ->
  (forall e t, In e servers -> ready e t = is_ready (at_instant e) t) ->
  (forall e t, In e servers -> dl e t = deadline (at_instant e t)) ->
  (forall e, In e servers -> server_run N (at_instant e) (events e) (runs run e) from till) ->
  (forall a D, from <= a -> a <= D -> D <= till -> N * hard_demand jobs rel cost due a D <= over a D h) ->
  (forall t, from <= t < till -> sumf (fun e => promise (at_instant e t) t) servers + h t <= N) ->
  forall j, In j jobs -> from <= rel j -> rel j <= due j -> due j <= till ->
  served run j (due j) = cost j.
Proof.
  intros NP R NJ Rdy Dl Srv Hard Sum.
  apply (zero_lag_changes_keep_hard_deadlines servers jobs ready dl run rel cost due N
           (fun e t => promise (at_instant e t)) (fun e t => used (at_instant e t)) h from till NP R NJ);
    try assumption.
  - intros e He. apply (server_run_keeps_promises N (at_instant e) (events e) (runs run e) from till e ready dl run);
      auto.
  - intros e He. apply (server_run_keeps_promises N (at_instant e) (events e) (runs run e) from till e ready dl run);
      auto.
Qed.
