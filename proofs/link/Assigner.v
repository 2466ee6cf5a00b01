(** * Assigners: what is asked of a rule, and how it works on a link

    A rule computes a deadline from the history of the best-effort packets so far. The history is a
    list of (release, bytes sent), the newest packet first. Three rules that differ in nothing but
    this function are in Exact.v and Lines.v. Code: the trait in crates/link/src/assign/mod.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines.
Import ListNotations.

Definition history : Type := list (nat * nat).

Definition work (h : history) : nat := sumf snd h.

Lemma work_app g h : work (g ++ h) = work g + work h.
Proof. apply sumf_app. Qed.

Lemma work_rev l : work (rev l) = work l.
Proof.
  induction l as [|x l IH]; [reflexivity|]. simpl. rewrite work_app, IH. unfold work. simpl. lia.
Qed.

(** ** What makes a rule safe

    Releases never decrease. The work from any packet [(r, s)] of the history to the newest fits into
    the residual capacity [E] of the time from its release to the newest deadline; no deadline is
    before its release; and a larger packet has no earlier deadline. *)
Record safe_assigner (E : nat -> nat) (assign : history -> nat) : Prop := {
  covers : forall newer r s older, (forall e, In e newer -> r <= fst e) ->
    work newer + s <= E (assign (newer ++ (r, s) :: older) - r);
  after_release : forall r s older, r <= assign ((r, s) :: older);
  larger_later : forall r s s' older, s <= s' -> assign ((r, s) :: older) <= assign ((r, s') :: older)
}.

(** A rule that is safe for a curve is safe for each curve above: lines below [E] will do. *)
Lemma safe_below (L E : nat -> nat) assign :
  (forall t, L t <= E t) -> safe_assigner L assign -> safe_assigner E assign.
Proof.
  intros LE [C A G]. constructor; [|exact A|exact G]. intros newer r s older O.
  eapply Nat.le_trans; [apply (C newer r s older O)|apply LE].
Qed.

(** ** A rule at work on a link *)
Section Assigned.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat) (rt be : list packet).
Variable assign : history -> nat.
(** The packets before which all earlier ones were forgotten. *)
Variable resets : packet -> bool.

Definition entry (p : packet) : nat * nat := (arr p, size p).

(** Deadlines of the packets of [l], which follow each other after history [h] and a packet with the
    deadline [floor]: not earlier than the rule says, and not earlier than the deadline before. (A
    rule that gives later deadlines than needed is as safe; a slot does so when it counts a candidate
    that is larger than what is sent in the end.) *)
Fixpoint assigned (h : history) (floor : nat) (l : list packet) : Prop :=
  match l with
  | [] => True
  | n :: rest =>
      let h' := entry n :: (if resets n then [] else h) in
      assign h' <= dl n /\ (resets n = false -> floor <= dl n) /\ assigned h' (dl n) rest
  end.

(** Packets are released in the order in which they stand. *)
Definition released_in_order : Prop :=
  forall u i v n w, be = u ++ i :: v ++ n :: w -> arr i <= arr n.

(** The history is only forgotten if the link was idle after the last packet in it came. *)
Definition resets_when_idle : Prop :=
  forall u n v, be = u ++ n :: v -> resets n = true ->
    exists t, t <= arr n /\ idle_at arr size start (rt ++ be) t /\ forall i, In i u -> arr i < t.

Lemma assigned_suffix l m h f : assigned h f (l ++ m) -> exists h' f', assigned h' f' m.
Proof.
  revert h f. induction l as [|x l IH]; intros h f; simpl; [eauto|].
  intros (_ & _ & H). eapply IH. exact H.
Qed.

Lemma assigned_prefix l m h f : assigned h f (l ++ m) -> assigned h f l.
Proof.
  revert h f. induction l as [|x l IH]; intros h f; simpl; [trivial|].
  intros (H1 & H2 & H3). eauto.
Qed.

Lemma assigned_last m i h f :
  assigned h f (i :: m) -> (forall y, In y m -> resets y = false) ->
  dl i <= dl (last m i) /\
  assign (rev (map entry m) ++ entry i :: (if resets i then [] else h)) <= dl (last m i).
Proof.
  simpl. intros (Hi & _ & Hm) NR. generalize dependent (if resets i then [] else h). clear h f.
  revert i. induction m as [|y m IH]; intros i h Hi Hm; [split; [simpl; lia|exact Hi]|].
  simpl in Hm. rewrite (NR y (or_introl eq_refl)) in Hm. destruct Hm as (Hy & Fy & Hm).
  rewrite last_cons. specialize (Fy eq_refl).
  destruct (IH (fun z Hz => NR z (or_intror Hz)) y _ Hy Hm) as [H1 H2].
  split; [lia|]. simpl. rewrite <- app_assoc. exact H2.
Qed.

Lemma work_entries l : work (map entry l) = sumf size l.
Proof. unfold work. induction l; simpl; [reflexivity|]. rewrite IHl. reflexivity. Qed.

(** Nothing is forgotten between packets without an idle instant between them. *)
Lemma not_reset u i m w :
  be = u ++ (i :: m) ++ w -> released_in_order -> resets_when_idle ->
  no_idle_between arr size start rt be (arr i) (arr (last m i)) ->
  forall y, In y m -> resets y = false.
Proof.
  intros Eq Ord RI NI y Hy. destruct (resets y) eqn:Ry; [exfalso|reflexivity].
  destruct (in_split y m Hy) as (m1 & m2 & ->).
  destruct (RI (u ++ i :: m1) y (m2 ++ w)) as (t & Ht & It & Before); [|assumption|].
  { rewrite Eq. repeat (rewrite <- !app_assoc; simpl). reflexivity. }
  assert (Hi : arr i < t) by (apply Before; apply in_or_app; right; left; reflexivity).
  assert (Hl : arr y <= arr (last (m1 ++ y :: m2) i)).
  { assert (L : last (m1 ++ y :: m2) i = last m2 y).
    { clear. revert i. induction m1 as [|z m1 IH]; intros i; cbn [app]; rewrite last_cons;
        [reflexivity|apply IH]. }
    rewrite L. destruct (last_in m2 y) as [<-|Hin]; [lia|].
    destruct (in_split _ _ Hin) as (v1 & v2 & Ev).
    apply (Ord (u ++ i :: m1) y v1 (last m2 y) (v2 ++ w)).
    rewrite Eq. rewrite Ev at 1. repeat (rewrite <- !app_assoc; simpl). reflexivity. }
  apply (NI t); [lia|assumption].
Qed.

Lemma later_in_order u i m w :
  be = u ++ (i :: m) ++ w -> released_in_order -> forall e, In e (rev (map entry m)) -> arr i <= fst e.
Proof.
  intros Eq Ord e He. apply in_rev, in_map_iff in He. destruct He as (y & <- & Hy). simpl.
  destruct (in_split y m Hy) as (m1 & m2 & ->). apply (Ord u i m1 y (m2 ++ w)).
  rewrite Eq. simpl. rewrite <- app_assoc. reflexivity.
Qed.

(** ** Theorem: a safe rule makes safe deadlines, in order *)
Theorem safe_assigner_makes_safe_deadlines E :
  safe_assigner E assign -> monotone E ->
  released_in_order -> resets_when_idle -> assigned [] 0 be ->
  safe_deadlines arr size dl start rt be E /\ ordered arr size dl start rt be.
Proof.
  intros [Cov After _] ME Ord RI As.
  assert (Dl : forall u i m w, be = u ++ (i :: m) ++ w ->
             no_idle_between arr size start rt be (arr i) (arr (last m i)) ->
             exists h, dl i <= dl (last m i) /\
               assign (rev (map entry m) ++ entry i :: h) <= dl (last m i)).
  { intros u i m w Eq NI. pose proof (not_reset u i m w Eq Ord RI NI) as NR.
    rewrite Eq in As. destruct (assigned_suffix _ _ _ _ As) as (h & f & Ah).
    apply assigned_prefix in Ah. exists (if resets i then [] else h).
    eapply assigned_last; eassumption. }
  split; [|constructor].
  - intros u i m w Eq NI. destruct (Dl u i m w Eq NI) as (h & _ & H).
    pose proof (Cov (rev (map entry m)) (arr i) (size i) h) as S.
    specialize (S (later_in_order u i m w Eq Ord)).
    rewrite work_rev, work_entries in S. cbn [sumf]. unfold entry at 2 in H.
    eapply Nat.le_trans; [|apply ME; apply Nat.sub_le_mono_r; exact H]. lia.
  - intros p q Hp Hq Lt NI.
    destruct (in_split q be Hq) as (u & w & Eq).
    assert (Hpu : In p u).
    { rewrite Eq in Hp. apply in_app_or in Hp. destruct Hp as [|[->|Hp]]; [assumption|lia|].
      destruct (in_split p w Hp) as (w1 & w2 & ->). pose proof (Ord u q w1 p w2 Eq). lia. }
    destruct (in_split p u Hpu) as (u1 & u2 & ->).
    assert (L : last (u2 ++ [q]) p = q) by apply last_last.
    destruct (Dl u1 p (u2 ++ [q]) w) as (h & H & _).
    + rewrite Eq. repeat (rewrite <- !app_assoc; simpl). reflexivity.
    + rewrite L. assumption.
    + rewrite L in H. exact H.
  - intros p Hp. destruct (in_split p be Hp) as (u & w & Eq).
    destruct (Dl u p [] w Eq) as (h & _ & H).
    + simpl. intros t Ht. lia.
    + simpl in H. pose proof (After (arr p) (size p) h). unfold entry in H. lia.
Qed.

(** ** Theorem: links with a safe rule keep every real-time deadline

    All premises in one place: the run, the flows, admission and the effective residual curve, and
    the rule. *)
Theorem safe_assigner_keeps_real_time (E bound : nat -> nat) (least s_be : nat) (s_rt : nat -> nat) :
  edf_run arr size dl start (rt ++ be) ->
  rt_bounded arr size dl start rt be bound ->
  rt_blocking arr size dl start rt be bound s_rt -> be_blocking size be s_be ->
  rt_least arr size dl start rt be least ->
  admitted bound s_be s_rt least -> residual bound s_rt E least -> monotone E ->
  safe_assigner E assign -> released_in_order -> resets_when_idle -> assigned [] 0 be ->
  forall p, In p rt -> arr p <= dl p -> fin size start p <= dl p.
Proof.
  intros. destruct (safe_assigner_makes_safe_deadlines E) as [Safe Ordered]; try assumption.
  eapply (safe_deadlines_keep_real_time arr size dl start rt be bound s_be s_rt E least); eassumption.
Qed.

(** And with [guarantee = "all"] every best-effort one. *)
Theorem safe_assigner_keeps_best_effort (E bound : nat -> nat) (s_be : nat) (s_rt : nat -> nat) :
  edf_run arr size dl start (rt ++ be) ->
  rt_bounded arr size dl start rt be bound ->
  rt_blocking arr size dl start rt be bound s_rt -> be_blocking size be s_be ->
  residual bound s_rt E 0 -> monotone E ->
  safe_assigner E assign -> released_in_order -> resets_when_idle -> assigned [] 0 be ->
  forall p, In p be -> fin size start p <= dl p.
Proof.
  intros. destruct (safe_assigner_makes_safe_deadlines E) as [Safe Ordered]; try assumption.
  eapply (safe_deadlines_keep_best_effort arr size dl start rt be bound s_be s_rt E 0); try eassumption.
  reflexivity.
Qed.
End Assigned.
