(** * The lower bound with which [slack] avoids most searches

    A search at [t0] finds that [L] more could be sent before what waits and what may come. Afterwards the
    scheduler only subtracts: best effort that it sends, time for which the link idles, and real-time packets
    that start although they are due later than the least relative deadline from then. What is left is still
    a lower bound, so a packet that fits into it needs no search. Code: [lower_bound] in
    crates/link/src/slack/mod.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Slack.
Import ListNotations.

Section Bound.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Variables (rt be : list packet) (F : nat -> nat -> nat) (least : nat).

(** Real-time work that waits at a decision instant, due by [D]; its transmission begins then or later. *)
Definition waiting (t D : nat) : nat :=
  sumf (fun q => on ((arr q <=? t) && (t <=? start q) && (dl q <=? D)) (size q)) rt.

(** Deadlines that a search looks at: of what waits, and all that are d_min away or more. *)
Definition looked_at (t D : nat) : Prop :=
  (exists q, In q rt /\ arr q <= t <= start q /\ dl q = D) \/ t + least <= D.

(** [L] more may be sent at [t]. *)
Definition slack_at_least (t L : nat) : Prop :=
  forall D, looked_at t D -> t + L + waiting t D + F t D <= D.

(** A best-effort packet that fits passes the check of Slack.v. *)
Lemma fits_without_search x :
  slack_at_least (start x) (size x) -> check arr size dl start rt F (waiting_or_later arr dl start rt least) (start x) (size x).
Proof.
  intros S D Known. assert (K : looked_at (start x) D).
  { destruct Known as [(q & Hq & A & E)|L]; [left|right; assumption]. exists q. repeat split; try assumption; lia. }
  specialize (S D K).
  assert (queued arr size dl start rt (start x) D <= waiting (start x) D).
  { unfold queued, waiting. apply sumf_le. intros q _.
    destruct (arr q <=? start x), (Nat.ltb_spec (start x) (start q)), (Nat.leb_spec (start x) (start q)),
      (dl q <=? D); cbn [on andb]; lia. }
  lia.
Qed.

(** What is subtracted from [t0] to [t1]. *)
Definition best_effort_sent (t0 t1 : nat) : nat :=
  sumf (fun q => on ((t0 <=? start q) && (start q <? t1)) (size q)) be.
Definition real_time_sent (t0 t1 : nat) : nat :=
  sumf (fun q => on ((t0 <=? start q) && (start q <? t1)) (size q)) rt.
Definition sent_though_due_late (t0 t1 : nat) : nat :=
  sumf (fun q => on ((t0 <=? start q) && (start q <? t1) && (start q + least <? dl q)) (size q)) rt.

(** What of real time arrives after [t0] and up to [t1], due by [D]. *)
Definition arrives (t0 t1 D : nat) : nat :=
  sumf (fun q => on ((t0 <? arr q) && (arr q <=? t1) && (dl q <=? D)) (size q)) rt.

(** ** Theorem: after subtracting, it is still a lower bound

    [t0] and [t1] are decision instants: between them the link sent what started between them, and idled for
    [idle]. Arrivals move work from what may come to what waits. *)
Theorem lower_bound_lasts t0 t1 L idle :
  t0 <= t1 -> slack_run arr size dl start rt be -> least_deadline arr dl rt least ->
  t1 = t0 + real_time_sent t0 t1 + best_effort_sent t0 t1 + idle ->
  (forall D, F t1 D + arrives t0 t1 D <= F t0 D) ->
  slack_at_least t0 L ->
  forall rest, rest + best_effort_sent t0 t1 + idle + sent_though_due_late t0 t1 <= L ->
  slack_at_least t1 rest.
Proof.
  intros T [LR NI EO] Least Time Moves S0 rest Sub D Known.
  assert (InL : forall q, In q rt -> In q (rt ++ be)) by (intros; apply in_or_app; left; assumption).
  assert (K0 : looked_at t0 D).
  { destruct Known as [(q & Hq & A & E)|K]; [|right; lia].
    destruct (le_lt_dec (arr q) t0) as [Q|Q].
    - left. exists q. repeat split; try assumption; lia.
    - right. pose proof (Least q Hq). lia. }
  specialize (S0 D K0). specialize (Moves D).
  set (served := sumf (fun q => on ((t0 <=? start q) && (start q <? t1) && (dl q <=? D)) (size q)) rt).
  (* Served work leaves what waits, arrivals join it. *)
  assert (Flow : waiting t1 D + served <= waiting t0 D + arrives t0 t1 D).
  { unfold waiting, served, arrives. rewrite <- !sumf_plus. apply sumf_le. intros q Hq.
    pose proof (causal arr size start _ LR q (InL q Hq)) as C.
    destruct (Nat.leb_spec (arr q) t1), (Nat.leb_spec t1 (start q)), (Nat.leb_spec t0 (start q)),
      (Nat.ltb_spec (start q) t1), (Nat.leb_spec (arr q) t0), (Nat.ltb_spec t0 (arr q)), (dl q <=? D);
      cbn [on andb]; lia. }
  (* What else of real time was sent is due after [D]; it was subtracted, or something due by [D] waited. *)
  assert (Rest : real_time_sent t0 t1 <= served + sent_though_due_late t0 t1).
  { unfold real_time_sent, served, sent_though_due_late. rewrite <- sumf_plus. apply sumf_le. intros q Hq.
    destruct (Nat.leb_spec t0 (start q)) as [S1|S1], (Nat.ltb_spec (start q) t1) as [S2|S2]; cbn [on andb]; try lia.
    destruct (Nat.leb_spec (dl q) D) as [Q|Q]; cbn [on andb]; [lia|].
    destruct (Nat.ltb_spec (start q + least) (dl q)) as [Z|Z]; cbn [on andb]; [lia|exfalso].
    destruct Known as [(p & Hp & A & E)|K]; [|lia].
    pose proof (Least p Hp).
    pose proof (EO p q Hp Hq ltac:(lia)). lia. }
  lia.
Qed.
End Bound.
