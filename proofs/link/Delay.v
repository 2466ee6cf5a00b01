(** * Bounds of delay: the horizontal deviation

    [h] is a horizontal deviation of [A] from a curve if [Einv (A t) <= t + h] for all [t]: the curve has
    reached what [A] may have sent within [t] no later than [h] after. Code: crates/curve/src/deviation.rs,
    crates/curve/src/service/best_effort.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Assigner link.Exact.
Import ListNotations.

Definition deviation (A Einv : nat -> nat) (h : nat) : Prop := forall t, Einv (A t) <= t + h.

(** A history whose packets keep an envelope: from any of them to the newest, which was released at [r], at
    most A(r - r_i) is sent. *)
Definition history_conforms (A : nat -> nat) (r : nat) (h : history) : Prop :=
  forall newer ri s older, h = newer ++ (ri, s) :: older ->
    ri <= r /\ work newer + s <= A (r - ri).

(** ** Theorem: the deadlines of Algorithm 1 are at most the deviation after the release

    With [guarantee = "all"] each packet meets its deadline ([exact_keeps_best_effort]), so this bounds its
    delay. *)
Theorem deadlines_within_the_deviation A Einv dev r s older :
  monotone Einv -> deviation A Einv dev -> history_conforms A r ((r, s) :: older) ->
  exact Einv ((r, s) :: older) <= r + dev.
Proof.
  intros MI Dev Conf.
  assert (G : forall l newer, (r, s) :: older = newer ++ l -> latest Einv (work newer) l <= r + dev).
  { induction l as [|[ri si] l IH]; intros newer Eq; simpl; [lia|].
    destruct (Conf newer ri si l Eq) as [L W].
    pose proof (MI _ _ W) as M. pose proof (Dev (r - ri)) as D.
    specialize (IH (newer ++ [(ri, si)])). rewrite <- app_assoc in IH. specialize (IH Eq).
    rewrite work_app in IH. unfold work at 2 in IH. simpl in IH. rewrite Nat.add_0_r in IH. lia. }
  apply (G _ []). reflexivity.
Qed.

(** ** Theorem: the same for a flow with a service curve and an envelope

    [starts]: of each start before the packet its instant, and the bytes from it to the end of the packet. The
    deadline is the latest that a start gives. *)
Theorem curve_deadlines_within_the_deviation A Sinv dev at_time D (starts : list (nat * nat)) :
  monotone Sinv -> deviation A Sinv dev ->
  (forall a w, In (a, w) starts -> a <= at_time /\ w <= A (at_time - a)) ->
  (exists a w, In (a, w) starts /\ D = a + Sinv w) ->
  D <= at_time + dev.
Proof.
  intros MI Dev Conf (a & w & Hin & ->). destruct (Conf a w Hin) as [L W].
  pose proof (MI _ _ W). pose proof (Dev (at_time - a)). lia.
Qed.
