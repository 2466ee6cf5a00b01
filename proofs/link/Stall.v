(** * What a stall of the link costs

    A stall is time in which the link sends nothing although packets wait (a forwarder that is not run,
    a device queue that is stopped). Here it occupies the link like a packet that is sent at once. If
    the demand condition holds for the packets alone, a packet is late by no more than all stalls
    together: stalls do not multiply, whatever the deadlines were computed from.
    Code: crates/link/src/pipeline/mod.rs, [handle_stall]. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf.
Import ListNotations.

Section Stall.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Notation fin := (Edf.fin size start).
Variables (pk stalls : list packet) (is_stall : packet -> bool).
Hypothesis packets_are_none : forall p, In p pk -> is_stall p = false.
Hypothesis stalls_are : forall p, In p stalls -> is_stall p = true.

(** The link is legal with stalls as occupied time; EDF is asked of packets only. *)
Record stalled_run : Prop := {
  st_link : Edf.link_run arr size start (pk ++ stalls);
  st_non_idling : Edf.non_idling arr size start pk (pk ++ stalls);
  st_order : Edf.edf_among arr dl start pk pk;
  st_at_once : forall p, In p stalls -> start p = arr p
}.

Definition lost : nat := sumf size stalls.

Theorem late_by_at_most_the_lost_time p :
  stalled_run -> In p pk -> (forall q, In q pk -> arr q <= dl q) ->
  (forall a, a <= arr p -> Edf.fits arr size dl pk a (dl p)) ->
  fin p <= dl p + lost.
Proof.
  intros [LR NI EO SO] Hp Due Fits. pose proof (Due p Hp) as AD.
  destruct (le_lt_dec (fin p) (dl p + lost)) as [|Late]; [assumption|exfalso].
  set (dl' := fun q => if is_stall q then 0 else dl q + lost).
  assert (Dp : dl' p = dl p + lost) by (unfold dl'; rewrite (packets_are_none p Hp); reflexivity).
  assert (Run : Edf.edf_run arr size dl' start (pk ++ stalls)).
  { constructor; [assumption| |].
    - intros x t Hx Ht. apply in_app_or in Hx. destruct Hx as [Hx|Hx]; [apply (NI x t Hx Ht)|].
      rewrite (SO x Hx) in Ht. lia.
    - intros x q Hx Hq H. apply in_app_or in Hx, Hq. destruct Hx as [Hx|Hx].
      + destruct Hq as [Hq|Hq]; unfold dl'.
        * rewrite (packets_are_none x Hx), (packets_are_none q Hq). specialize (EO x q Hx Hq H). lia.
        * rewrite (stalls_are q Hq). lia.
      + rewrite (SO x Hx) in H. lia. }
  destruct (late_packet_overload arr size dl' start (pk ++ stalls) p Run
              ltac:(apply in_or_app; left; assumption) ltac:(lia) ltac:(lia))
    as (a & b & Ha & _ & _ & Hb & Over).
  destruct (Fits a Ha) as [F0 F1].
  assert (Dem : Edf.demand arr size dl' (pk ++ stalls) a (dl' p) <= Edf.demand arr size dl pk a (dl p) + lost).
  { unfold Edf.demand. rewrite sumf_app. apply Nat.add_le_mono.
    - apply sumf_le. intros q Hq. rewrite Dp. unfold dl'. rewrite (packets_are_none q Hq).
      specialize (Due q Hq).
      destruct (a <=? arr q), (Nat.leb_spec (max (arr q) (dl q + lost)) (dl p + lost)),
        (Nat.leb_spec (max (arr q) (dl q)) (dl p)); cbn; lia.
    - apply sumf_le. intros q Hq. destruct (_ && _); cbn; lia. }
  rewrite Dp in *. destruct Hb as [->|(x & Hx & Ax & Dx & Bx)]; [lia|].
  apply in_app_or in Hx. destruct Hx as [Hx|Hx]; unfold dl' in Dx.
  - rewrite (packets_are_none x Hx) in Dx. specialize (F1 x Hx ltac:(lia) ltac:(lia)). lia.
  - rewrite (stalls_are x Hx) in Dx. lia.
Qed.
End Stall.
