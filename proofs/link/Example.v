(** * The premises can be met: a small link to which the theorem about [exact] applies

    One flow sends a packet of 2 within any interval, due 6 after its arrival. A best-effort packet of 2 comes
    just before; it gets the deadline 0 and goes first, and the real-time packet is in time. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Envelopes link.Assigner link.Exact.
Import ListNotations.

(** Packet 0 is real time, packet 1 best effort. *)
Definition arr (p : nat) : nat := match p with 0 => 1 | _ => 0 end.
Definition size (p : nat) : nat := 2.
Definition start (p : nat) : nat := match p with 0 => 2 | _ => 0 end.
Definition dl (p : nat) : nat := match p with 0 => 7 | _ => 0 end.

(** R(t) = t - 2 from 6 on; E is constant before, since only real-time deadlines are to be kept. *)
Definition E (t : nat) : nat := max t 6 - 2.
Definition Einv (w : nat) : nat := if w <=? 4 then 0 else w + 2.
Definition blocking (t : nat) : nat := if t <? 6 then 2 else 0.

Lemma is_edf : edf_run arr size dl start ([0] ++ [1]).
Proof.
  assert (Two : forall p, In p ([0] ++ [1]) -> p = 0 \/ p = 1) by (simpl; lia).
  constructor; [constructor| |].
  - intros p _. unfold size. lia.
  - intros p Hp. destruct (Two p Hp) as [->| ->]; simpl; lia.
  - intros p q Hp Hq N. destruct (Two p Hp) as [->| ->], (Two q Hq) as [->| ->];
      unfold fin; simpl; unfold size; lia.
  - intros p t Hp Ht. exists 1. split; [simpl; auto|].
    destruct (Two p Hp) as [->| ->]; simpl in *; unfold fin, size; simpl; lia.
  - intros p q Hp Hq H. destruct (Two p Hp) as [->| ->], (Two q Hq) as [->| ->]; simpl in *; lia.
Qed.

Lemma is_conforming : conforming arr size dl [0] [0] (fun _ => 0) (fun _ _ => 2) (fun _ => 6).
Proof.
  constructor.
  - intros p _. left. reflexivity.
  - intros p [<-|[]]. reflexivity.
  - intros k a b _ _. simpl. unfold size. destruct (_ && _); cbn [on]; lia.
Qed.

Example the_real_time_packet_is_in_time : fin size start 0 <= dl 0.
Proof.
  apply (exact_keeps_real_time arr size dl start [0] [1] (fun _ => false) [0] (fun _ => 0)
           (fun _ _ => 2) (fun _ => 6) E Einv 6 2 blocking is_edf is_conforming).
  - intros k _. lia.
  - intros p _. unfold size. lia.
  - intros p t _ L. unfold blocking. rewrite (proj2 (Nat.ltb_lt t 6)) by lia. unfold size. lia.
  - intros t L. change (rt_demand [0] (fun _ _ => 2) (fun _ => 6) t) with (on (6 <=? t) 2 + 0). unfold blocking.
    rewrite (proj2 (Nat.leb_le 6 t)) by lia. rewrite (proj2 (Nat.ltb_ge t 6)) by lia. cbn [on]. lia.
  - intros t L _. change (rt_demand [0] (fun _ _ => 2) (fun _ => 6) t) with (on (6 <=? t) 2 + 0). unfold blocking, E.
    rewrite (proj2 (Nat.leb_le 6 t)) by lia. rewrite (proj2 (Nat.ltb_ge t 6)) by lia. cbn [on]. lia.
  - intros s t L. unfold E. lia.
  - intros v w L. unfold Einv. destruct (Nat.leb_spec v 4), (Nat.leb_spec w 4); lia.
  - intros w. unfold E, Einv. destruct (Nat.leb_spec w 4); lia.
  - intros u i v n w Eq. exfalso. assert (L : length [1] = length (u ++ i :: v ++ n :: w)) by (rewrite Eq; reflexivity).
    rewrite app_length in L. simpl in L. rewrite app_length in L. simpl in L. lia.
  - intros u n v _ [=].
  - cbn [assigned]. unfold exact, entry, arr, size, dl. simpl. repeat split; intros; lia.
  - left. reflexivity.
Qed.
