(** * Recorded runs: an executable check that a record is a legal run of non-idling EDF

    [check_run] reads packets in the order of their starts. If it says yes, the record is an
    [edf_run], so every theorem about links speaks about it: either all deadlines are kept, or a
    premise (envelope, admission, assigned deadlines) fails. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf.
Import ListNotations.

Record sent := { arrival : nat; duration : nat; deadline : nat; started : nat }.
Definition ended (p : sent) : nat := started p + duration p.

(** [free] is when the link became free. Each packet has arrived and a duration, starts when the link
    is free; if the link idled before it, nothing that is sent later had arrived before; and of
    what is sent later nothing that had arrived was due earlier. *)
Fixpoint check_from (free : nat) (l : list sent) : bool :=
  match l with
  | [] => true
  | p :: later =>
      (0 <? duration p) && (arrival p <=? started p) && (free <=? started p) &&
      ((free =? started p) || forallb (fun q => started p <=? arrival q) (p :: later)) &&
      forallb (fun q => (started p <? arrival q) || (deadline p <=? deadline q)) later &&
      check_from (ended p) later
  end.

Definition check_run (l : list sent) : bool := check_from 0 l.

(** The packets that are late. *)
Definition late (l : list sent) : list sent := filter (fun p => deadline p <? ended p) l.

Lemma check_later free l : check_from free l = true -> forall q, In q l -> free <= started q.
Proof.
  revert free. induction l as [|p r IH]; simpl; intros free C q Hq; [tauto|].
  rewrite !andb_true_iff in C. destruct C as [[[[[P A] F] G] E] C].
  apply Nat.leb_le in F. destruct Hq as [->|Hq]; [assumption|].
  specialize (IH _ C q Hq). unfold ended in IH. lia.
Qed.

Lemma check_each free l : check_from free l = true ->
  forall p, In p l -> 0 < duration p /\ arrival p <= started p.
Proof.
  revert free. induction l as [|x r IH]; simpl; intros free C p Hp; [tauto|].
  rewrite !andb_true_iff in C. destruct C as [[[[[P A] F] G] E] C].
  destruct Hp as [->|Hp]; [split; [apply Nat.ltb_lt|apply Nat.leb_le]; assumption|eauto].
Qed.

Lemma check_exclusive free l : check_from free l = true ->
  forall p q, In p l -> In q l -> p <> q -> ended p <= started q \/ ended q <= started p.
Proof.
  revert free. induction l as [|x r IH]; intros free C p q Hp Hq N; [destruct Hp|].
  cbn [check_from] in C. rewrite !andb_true_iff in C. destruct C as [[[[[P A] F] G] E] C].
  pose proof (check_later _ _ C) as L.
  destruct Hp as [<-|Hp], Hq as [<-|Hq].
  - congruence.
  - left. apply L. assumption.
  - right. apply L. assumption.
  - eapply IH; eassumption.
Qed.

Lemma check_non_idling free l : check_from free l = true ->
  forall p t, In p l -> free <= t -> arrival p <= t < started p ->
  exists q, In q l /\ started q <= t < ended q.
Proof.
  revert free. induction l as [|x r IH]; intros free C p t Hp Ft Ht; [destruct Hp|].
  cbn [check_from] in C. rewrite !andb_true_iff in C. destruct C as [[[[[P A] F] G] E] C].
  apply Nat.leb_le in F.
  destruct (le_lt_dec (ended x) t) as [L|L].
  - destruct Hp as [<-|Hp]; [unfold ended in L; lia|].
    destruct (IH _ C p t Hp L Ht) as (q & Hq & Rq). exists q. split; [right|]; assumption.
  - exists x. split; [left; reflexivity|]. split; [|assumption].
    apply orb_true_iff in G. destruct G as [G|G]; [apply Nat.eqb_eq in G; lia|].
    rewrite forallb_forall in G. specialize (G p Hp). apply Nat.leb_le in G. lia.
Qed.

Lemma check_edf free l : check_from free l = true ->
  forall p q, In p l -> In q l -> arrival p <= started q < started p -> deadline q <= deadline p.
Proof.
  revert free. induction l as [|x r IH]; intros free C p q Hp Hq H; [destruct Hp|].
  cbn [check_from] in C. rewrite !andb_true_iff in C. destruct C as [[[[[P A] F] G] E] C].
  pose proof (check_later _ _ C) as L.
  destruct Hq as [<-|Hq].
  - destruct Hp as [<-|Hp]; [lia|]. rewrite forallb_forall in E. specialize (E p Hp).
    apply orb_true_iff in E. destruct E as [E|E]; [apply Nat.ltb_lt in E; lia|apply Nat.leb_le; assumption].
  - destruct Hp as [<-|Hp]; [specialize (L q Hq); unfold ended in L; lia|].
    eapply IH; eassumption.
Qed.

(** What passes the check is a legal run. *)
Theorem check_run_sound (l : list sent) :
  check_run l = true -> Edf.edf_run arrival duration deadline started l.
Proof.
  intros C. constructor; [constructor| |].
  - intros p Hp. apply (check_each 0 l C p Hp).
  - intros p Hp. apply (check_each 0 l C p Hp).
  - intros p q. apply (check_exclusive 0 l C).
  - intros p t Hp Ht. apply (check_non_idling 0 l C p t Hp); lia.
  - intros p q. apply (check_edf 0 l C).
Qed.

(** A late packet in a legal record means that an interval was asked for more than it holds. *)
Corollary late_in_legal_record (l : list sent) p :
  check_run l = true -> In p (late l) -> arrival p <= deadline p ->
  exists a, a <= arrival p /\ ~ Edf.fits arrival duration deadline l a (deadline p).
Proof.
  intros C Hp AD. apply filter_In in Hp. destruct Hp as [Hp L]. apply Nat.ltb_lt in L.
  destruct (late_packet_overload arrival duration deadline started l p (check_run_sound l C) Hp AD L)
    as (a & b & Ha & _ & _ & Hb & Over).
  exists a. split; [assumption|]. intros [F0 F1].
  destruct Hb as [->|(x & Hx & Ax & Dx & Bx)]; [lia|].
  specialize (F1 x Hx ltac:(lia) Dx). lia.
Qed.
