(** * The slot of best effort: flow queues and AQM drops below the deadlines

    Where flow queues or an AQM choose, best effort owns one slot with a release, a deadline and no
    packet yet; its packet is chosen at each decision. The rule (crates/link/src/slot.rs):

    - a slot opens with a first candidate, whose size gives its deadline;
    - a larger candidate raises the deadline, a smaller one keeps it; a candidate that an AQM dropped is
      simply followed by the next one;
    - when a candidate starts, the history advances by what is sent;
    - a slot whose candidates are all gone closes, and the history is as before;
    - deadlines never fall: no later slot is due before a slot that was open, used or not;
    - all is forgotten only when nothing waits and the link is idle.

    Whatever the flow queues choose and the AQMs drop is an event list here, so the theorem holds for
    all of them. That each half of the rule is necessary is computed in SlotAlternatives.v. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Assigner.
Import ListNotations.

(** A slot that was used: what real time sees of best effort. [number] tells equal ones apart. *)
Record slot := { number : nat; release : nat; sent : nat; deadline : nat; fresh : bool }.

(** What happens to the slot: sizes are of candidates. *)
Inductive event :=
  | Opens (release size : nat)
  | Offers (size : nat)
  | Starts (size : nat)
  | Closes
  | Forgets.

Section Slot.
Variable assign : history -> nat.

Record state := {
  past : history;             (** what was sent, the newest first *)
  floor : nat;                (** the latest deadline so far *)
  released : nat;             (** the latest release so far *)
  forgotten : bool;           (** nothing was sent since all was forgotten *)
  count : nat;                (** slots used so far *)
  open : option (nat * nat)   (** largest candidate and deadline of the slot, if it is open *)
}.

Definition initial : state :=
  {| past := []; floor := 0; released := 0; forgotten := true; count := 0; open := None |}.

(** One event: the next state and the slot that was used, or [None] if the event cannot be. *)
Definition step (st : state) (e : event) : option (state * list slot) :=
  match e, open st with
  | Opens r w, None =>
      if released st <=? r
      then Some ({| past := past st; floor := floor st; released := r; forgotten := forgotten st;
                    count := count st;
                    open := Some (w, max (floor st) (assign ((r, w) :: past st))) |}, [])
      else None
  | Offers w, Some (largest, D) =>
      let slot' := if largest <? w
                   then (w, max D (assign ((released st, w) :: past st))) else (largest, D) in
      Some ({| past := past st; floor := floor st; released := released st;
               forgotten := forgotten st; count := count st; open := Some slot' |}, [])
  | Starts w, Some (largest, D) =>
      if w <=? largest
      then Some ({| past := (released st, w) :: past st; floor := D; released := released st;
                    forgotten := false; count := S (count st); open := None |},
                 [{| number := count st; release := released st; sent := w; deadline := D;
                     fresh := forgotten st |}])
      else None
  | Closes, Some (_, D) =>
      Some ({| past := past st; floor := D; released := released st; forgotten := forgotten st;
               count := count st; open := None |}, [])
  | Forgets, None =>
      Some ({| past := []; floor := 0; released := released st; forgotten := true;
               count := count st; open := None |}, [])
  | _, _ => None
  end.

(** The slots that are used in a list of events. *)
Fixpoint used (st : state) (es : list event) : option (list slot) :=
  match es with
  | [] => Some []
  | e :: rest =>
      match step st e with
      | None => None
      | Some (st', now) => match used st' rest with None => None | Some later => Some (now ++ later) end
      end
  end.

(** ** The deadline of an open slot is what the rule says for its largest candidate, or later *)
Definition sound (st : state) : Prop :=
  (forgotten st = true -> past st = []) /\
  match open st with
  | None => True
  | Some (largest, D) => assign ((released st, largest) :: past st) <= D /\ floor st <= D
  end.

Lemma step_keeps_sound st e st' now : sound st -> step st e = Some (st', now) -> sound st'.
Proof.
  intros [F O] H. unfold step in H.
  destruct e as [r w|w|w| |], (open st) as [[largest D]|] eqn:Op; try discriminate.
  - destruct (released st <=? r); [|discriminate]. injection H as <- <-. split; simpl; [assumption|lia].
  - injection H as <- <-. split; simpl; [assumption|].
    destruct (largest <? w); simpl; lia.
  - destruct (w <=? largest); [|discriminate]. injection H as <- <-. split; simpl; [discriminate|trivial].
  - injection H as <- <-. split; simpl; [assumption|trivial].
  - injection H as <- <-. split; simpl; trivial.
Qed.

(** ** Theorem: used slots have deadlines as an assigner would have given them, or later *)
Theorem slots_are_assigned E :
  safe_assigner E assign -> forall es st l, sound st -> used st es = Some l ->
  (forall h f, (forgotten st = false -> h = past st /\ f <= floor st) ->
     assigned release sent deadline assign fresh h f l) /\
  (forall s, In s l -> released st <= release s) /\
  (forall u i v n w, l = u ++ i :: v ++ n :: w -> release i <= release n).
Proof.
  intros SA. induction es as [|e es IH]; intros st l So U; simpl in U.
  - injection U as <-. repeat split; simpl; try tauto. intros [|? ?]; discriminate.
  - destruct (step st e) as [[st' now]|] eqn:St; [|discriminate].
    destruct (used st' es) as [later|] eqn:Us; [|discriminate]. injection U as <-.
    specialize (IH st' later (step_keeps_sound _ _ _ _ So St) Us). destruct IH as (As & Re & Or).
    destruct So as [F O]. unfold step in St.
    destruct e as [r w|w|w| |], (open st) as [[largest D]|] eqn:Op; try discriminate.
    + destruct (Nat.leb_spec (released st) r); [|discriminate]. injection St as <- <-. simpl in *.
      repeat split; auto. intros s Hs. specialize (Re s Hs). lia.
    + injection St as <- <-. simpl in *. repeat split; auto.
    + destruct (Nat.leb_spec w largest); [|discriminate]. injection St as <- <-. simpl in *.
      destruct O as [O1 O2].
      split; [intros h f Hh; split; [|split]|split].
      * unfold entry. simpl.
        pose proof (larger_later _ _ SA (released st) w largest (past st) ltac:(assumption)) as L.
        destruct (forgotten st) eqn:Fo.
        -- rewrite (F eq_refl) in *. lia.
        -- destruct (Hh eq_refl) as [-> _]. lia.
      * intros Fo. destruct (Hh Fo) as [_ Hf]. lia.
      * unfold entry. simpl. apply As. intros _. split; [|lia].
        destruct (forgotten st) eqn:Fo; [rewrite (F eq_refl); reflexivity|].
        destruct (Hh eq_refl) as [-> _]. reflexivity.
      * intros s [<-|Hs]; [simpl; lia|]. apply Re. assumption.
      * intros u i v n x Eq. destruct u as [|y u]; simpl in Eq; injection Eq as <- Eq.
        -- simpl. apply Re. rewrite Eq. apply in_or_app. right. left. reflexivity.
        -- exact (Or u i v n x Eq).
    + injection St as <- <-. simpl in *. repeat split; auto.
      intros h f H. apply As. intros Fo. destruct (H Fo) as [-> Hf]. split; [reflexivity|lia].
    + injection St as <- <-. simpl in *. repeat split; auto. intros h f H. apply As. discriminate.
Qed.

(** ** A deadline that rises while the slot waits

    The scheduler compares the deadline that the slot has at the instant of a decision. It rises up to
    [deadline s], with which the slot is used; so the run is one of EDF under the final deadlines. *)
Section Run.
Variables (packet : Type) (arr dl start : packet -> nat) (slot_start : slot -> nat).
Variable at_decision : slot -> nat -> nat.
Variables (rt : list packet) (be : list slot).

Definition decided_by_current_deadlines : Prop :=
  (forall p s, In p rt -> In s be -> arr p <= slot_start s < start p ->
     at_decision s (slot_start s) <= dl p) /\
  (forall s p, In s be -> In p rt -> release s <= start p < slot_start s ->
     dl p <= at_decision s (start p)).

Definition rises_to_deadline : Prop := forall s t, In s be ->
  (t < slot_start s -> at_decision s t <= deadline s) /\ at_decision s (slot_start s) = deadline s.

Lemma rising_deadlines_are_edf :
  decided_by_current_deadlines -> rises_to_deadline ->
  (forall p s, In p rt -> In s be -> arr p <= slot_start s < start p -> deadline s <= dl p) /\
  (forall s p, In s be -> In p rt -> release s <= start p < slot_start s -> dl p <= deadline s).
Proof.
  intros [D1 D2] R. split.
  - intros p s Hp Hs H. rewrite <- (proj2 (R s 0 Hs)). apply D1; assumption.
  - intros s p Hs Hp H. specialize (D2 s p Hs Hp H). destruct (R s (start p) Hs) as [R1 _].
    specialize (R1 ltac:(lia)). lia.
Qed.
End Run.
End Slot.

(** ** Theorem: with the slot's rule no real-time packet is late

    [frame] is what the link sends: a real-time packet or a used slot. [events] is all that happened to
    the slot: arrivals, choices of the flow queues, drops by AQMs, push-out. *)
Inductive frame (packet : Type) := Realtime (p : packet) | Best (s : slot).
Arguments Realtime {packet} p.
Arguments Best {packet} s.

Section Link.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat) (slot_start : slot -> nat).

Definition f_arr (f : frame packet) := match f with Realtime p => arr p | Best s => release s end.
Definition f_size (f : frame packet) := match f with Realtime p => size p | Best s => sent s end.
Definition f_dl (f : frame packet) := match f with Realtime p => dl p | Best s => deadline s end.
Definition f_start (f : frame packet) := match f with Realtime p => start p | Best s => slot_start s end.

Lemma assigned_frames assign h f l :
  assigned release sent deadline assign fresh h f l ->
  assigned f_arr f_size f_dl assign (fun x => match x with Best s => fresh s | _ => false end)
    h f (map (@Best packet) l).
Proof.
  revert h f. induction l as [|s l IH]; intros h f; simpl; [trivial|].
  unfold entry. simpl. intros (H1 & H2 & H3). repeat split; try assumption. apply IH. assumption.
Qed.

Theorem slot_keeps_real_time (rt : list packet) (events : list event) (slots : list slot)
    (assign : history -> nat) (E bound : nat -> nat) (least s_be : nat) (s_rt : nat -> nat) :
  let all := map Realtime rt ++ map Best slots in
  let resets f := match f with Best s => fresh s | _ => false end in
  used assign initial events = Some slots ->
  edf_run f_arr f_size f_dl f_start all ->
  rt_bounded f_arr f_size f_dl f_start (map Realtime rt) (map Best slots) bound ->
  rt_blocking f_arr f_size f_dl f_start (map Realtime rt) (map Best slots) bound s_rt ->
  (forall s, In s slots -> sent s <= s_be) ->
  rt_least f_arr f_size f_dl f_start (map Realtime rt) (map Best slots) least ->
  admitted bound s_be s_rt least -> residual bound s_rt E least -> monotone E ->
  safe_assigner E assign ->
  resets_when_idle f_arr f_size f_start (map Realtime rt) (map Best slots) resets ->
  forall p, In p rt -> arr p <= dl p -> start p + size p <= dl p.
Proof.
  intros all resets U Run RB SR SB Least Adm Res ME SA RI p Hp AD.
  destruct (slots_are_assigned assign E SA events initial slots) as (As & _ & Or); [|assumption|].
  { split; simpl; trivial. }
  specialize (As [] 0 ltac:(discriminate)).
  apply (safe_assigner_keeps_real_time f_arr f_size f_dl f_start (map Realtime rt) (map Best slots)
           assign resets E bound least s_be s_rt) with (p := Realtime p); try assumption.
  - intros x Hx. apply in_map_iff in Hx. destruct Hx as (s & <- & Hs). apply SB. assumption.
  - intros u i v n w Eq. apply map_eq_app in Eq. destruct Eq as (u' & r1 & -> & <- & Eq).
    apply map_eq_cons in Eq. destruct Eq as (i' & r2 & -> & <- & Eq).
    apply map_eq_app in Eq. destruct Eq as (v' & r3 & -> & <- & Eq).
    apply map_eq_cons in Eq. destruct Eq as (n' & w' & -> & <- & <-).
    simpl. apply (Or u' i' v' n' w'). reflexivity.
  - apply assigned_frames. assumption.
  - apply in_map. assumption.
Qed.
End Link.
