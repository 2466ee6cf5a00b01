(** * Four rules that differ from the slot's in one point, each with a packet that is late

    An executable model of a link with a slot (one byte a tick, one flow queue of best effort, an AQM
    that follows a script), and for each alternative a small admitted link with conforming traffic on
    which it makes a real-time packet late, while the slot's rule does not. Everything is computed. The
    links are those of crates/link/src/slot/alternatives.rs. *)
From Coq Require Import List Arith Lia Bool ZArith.
From Laxity Require Import common.Sums link.Assigner link.Exact.
Import ListNotations.

Inductive rule :=
  | The_rule
  | Keeps_when_larger     (** a larger candidate keeps the deadline *)
  | Unasked               (** after a drop the next candidate goes without another question *)
  | Forgets_on_drop       (** a drop of the last best-effort packet resets the history *)
  | Lowers_when_smaller.  (** a smaller candidate lowers the deadline *)

(** ** The link: flows with a token bucket (burst, 1/den bytes a tick), a deadline, a largest packet *)
Record token_flow := { burst : nat; den : nat; due : nat; packet : nat }.
Record link := { flows : list token_flow; largest : nat }.

(** The demand of the flows in an interval of length [t] and [extra] bytes fit into it, in exact
    fractions. *)
Definition fits (l : link) (extra t : nat) : bool :=
  let scale := fold_right (fun f n => (Z.of_nat (den f) * n)%Z) 1%Z (flows l) in
  let one f := if due f <=? t
    then (scale * Z.of_nat (burst f) + scale / Z.of_nat (den f) * Z.of_nat (t - due f))%Z else 0%Z in
  (fold_right (fun f n => one f + n) (scale * Z.of_nat extra) (flows l) <=? scale * Z.of_nat t)%Z.

(** The largest packet of flows due later than [t], which may block. *)
Definition blocker (l : link) (t : nat) : nat :=
  fold_right (fun f n => if t <? due f then max (packet f) n else n) 0 (flows l).

Definition least_due (l : link) : nat := fold_right (fun f n => min (due f) n) 1000 (flows l).

Definition horizon : nat := 100.

(** R(t) >= 0 from the least deadline on, up to the horizon, with [blocking = "exact"]. *)
Definition link_admitted (l : link) : bool :=
  forallb (fun t => (t <? least_due l) || fits l (max (largest l) (blocker l t)) t) (seq 0 horizon).

(** E(t) >= w, where the residual only falls at deadlines: it is enough to look at them and at [t]. *)
Definition leaves (l : link) (w t : nat) : bool :=
  let t := max t (least_due l) in
  forallb (fun u => (u <? t) || fits l (w + blocker l u) u) (t :: map due (flows l)).

Fixpoint first_from (p : nat -> bool) (t fuel : nat) : nat :=
  match fuel with 0 => t | S n => if p t then t else first_from p (S t) n end.

Definition inverse (l : link) (w : nat) : nat := first_from (leaves l w) 0 horizon.

(** ** What happens at the link, in order of time *)
Inductive happening :=
  | Realtime (at_time flow size : nat)
  | Best_effort (at_time size : nat)
  | Discard (at_time : nat).  (** the candidate is dropped, as by push-out *)

Definition time (h : happening) : nat :=
  match h with Realtime t _ _ | Best_effort t _ | Discard t => t end.

(** Real-time arrivals keep the envelopes: in each interval between two of them no more than burst and
    rate. *)
Definition conforms (l : link) (hs : list happening) : bool :=
  forallb (fun k =>
    match nth_error (flows l) k with None => false | Some f =>
      let mine := flat_map (fun h => match h with
        | Realtime t k' s => if k' =? k then [(t, s)] else [] | _ => [] end) hs in
      forallb (fun x => snd x <=? packet f) mine &&
      forallb (fun x => forallb (fun y =>
        den f * sumf (fun z => on ((fst x <=? fst z) && (fst z <=? fst y)) (snd z)) mine
          <=? den f * burst f + (fst y - fst x)) mine) mine
    end) (seq 0 (length (flows l))).

Record state := {
  realtime : list (nat * nat);      (** waiting: deadline and size *)
  waiting : list (nat * nat);       (** best effort: arrival and size *)
  past : history; floor : nat; released : nat;
  slot : option (nat * nat)         (** largest candidate and deadline *)
}.

Section Run.
Variables (l : link) (r : rule).

Definition label (st : state) (w : nat) : nat :=
  let D := exact (inverse l) ((released st, w) :: past st) in
  match r with Lowers_when_smaller => D | _ => max (floor st) D end.

(** A slot opens as soon as best effort waits. *)
Definition opened (st : state) : state :=
  match slot st, waiting st with
  | None, (a, w) :: _ =>
      let st' := {| realtime := realtime st; waiting := waiting st; past := past st; floor := floor st;
                    released := max (released st) a; slot := None |} in
      {| realtime := realtime st'; waiting := waiting st'; past := past st'; floor := floor st';
         released := released st'; slot := Some (w, label st' w) |}
  | _, _ => st
  end.

Definition with_waiting (st : state) (q : list (nat * nat)) : state :=
  {| realtime := realtime st; waiting := q; past := past st; floor := floor st;
     released := released st; slot := slot st |}.

Definition happens (st : state) (h : happening) : state :=
  match h with
  | Realtime t k s =>
      let D := t + match nth_error (flows l) k with Some f => due f | None => 0 end in
      {| realtime := realtime st ++ [(D, s)]; waiting := waiting st; past := past st; floor := floor st;
         released := released st; slot := slot st |}
  | Best_effort t s => opened (with_waiting st (waiting st ++ [(t, s)]))
  | Discard _ => with_waiting st (tl (waiting st))
  end.

(** The candidate [w] is offered. *)
Definition offered (st : state) (w : nat) : state :=
  match slot st with
  | None => st
  | Some (most, D) =>
      let slot' := match r with
        | Keeps_when_larger => (max most w, D)
        | Lowers_when_smaller => (w, label st w)
        | _ => if most <? w then (w, max D (label st w)) else (most, D)
        end in
      {| realtime := realtime st; waiting := waiting st; past := past st; floor := floor st;
         released := released st; slot := Some slot' |}
  end.

Definition closed (st : state) : state :=
  let D := match slot st with Some (_, D) => D | None => floor st end in
  match r, slot st with
  | Forgets_on_drop, Some _ =>
      {| realtime := realtime st; waiting := waiting st; past := []; floor := 0;
         released := released st; slot := None |}
  | _, _ =>
      {| realtime := realtime st; waiting := waiting st; past := past st; floor := max (floor st) D;
         released := released st; slot := None |}
  end.

Fixpoint earliest (q : list (nat * nat)) : option (nat * nat) :=
  match q with
  | [] => None
  | x :: rest => match earliest rest with
                 | Some y => if fst y <? fst x then Some y else Some x
                 | None => Some x end
  end.

Fixpoint without (x : nat * nat) (q : list (nat * nat)) : list (nat * nat) :=
  match q with
  | [] => []
  | y :: rest => if (fst x =? fst y) && (snd x =? snd y) then rest else y :: without x rest
  end.

(** What is sent: whether real time, deadline and size. *)
Definition choice : Type := bool * nat * nat.

Definition realtime_goes (st : state) : option choice * state :=
  match earliest (realtime st) with
  | None => (None, st)
  | Some (D, s) => (Some (true, D, s),
      {| realtime := without (D, s) (realtime st); waiting := waiting st; past := past st;
         floor := floor st; released := released st; slot := slot st |})
  end.

(** A decision. [script]: which of the candidates that get a yes the AQM drops. *)
Fixpoint decide (fuel : nat) (asked : bool) (st : state) (script : list bool)
    : option choice * state * list bool :=
  match fuel with 0 => (None, st, script) | S n =>
    match waiting st with
    | [] => let (c, st) := realtime_goes (closed st) in (c, st, script)
    | (a, w) :: rest =>
        let st := offered (opened st) w in
        let D := match slot st with Some (_, D) => D | None => 0 end in
        let yes := match earliest (realtime st) with Some (first, _) => D <=? first | None => true end in
        if asked || yes then
          match script with
          | true :: script =>
              decide n (match r with Unasked => true | _ => false end) (with_waiting st rest) script
          | _ =>
              (Some (false, D, w),
               opened {| realtime := realtime st; waiting := rest; past := (released st, w) :: past st;
                         floor := max (floor st) D; released := released st; slot := None |},
               tl script)
          end
        else let (c, st) := realtime_goes st in (c, st, script)
    end
  end.

(** Whether a real-time packet is late. *)
Fixpoint late_from (fuel now : nat) (st : state) (hs : list happening) (script : list bool) : bool :=
  match fuel with 0 => false | S n =>
    let st := fold_left happens (filter (fun h => time h <=? now) hs) st in
    let later := filter (fun h => now <? time h) hs in
    match decide 40 false st script with
    | (Some (is_rt, D, s), st, script) =>
        (is_rt && (D <? now + s)) || late_from n (now + s) st later script
    | (None, st, script) =>
        match later with
        | [] => false
        | h :: _ => late_from n (time h)
                      {| realtime := []; waiting := []; past := []; floor := 0; released := 0; slot := None |}
                      later script
        end
    end
  end.

Definition late (hs : list happening) (script : list bool) : bool :=
  late_from 60 0 {| realtime := []; waiting := []; past := []; floor := 0; released := 0; slot := None |}
    hs script.
End Run.

(** An admitted link with conforming traffic, on which the slot's rule is in time and the other late. *)
Definition refuted (l : link) (r : rule) (hs : list happening) (script : list bool) : bool :=
  link_admitted l && conforms l hs && negb (late l The_rule hs script) && late l r hs script.

(** ** The four alternatives *)

(** At 2 the candidate of 3 bytes is dropped for one of 4. *)
Theorem larger_candidates_must_raise :
  refuted {| flows := [{| burst := 2; den := 4; due := 6; packet := 2 |}]; largest := 4 |}
    Keeps_when_larger
    [Best_effort 1 1; Best_effort 1 3; Best_effort 1 4; Realtime 1 0 2; Discard 2] [] = true.
Proof. vm_compute. reflexivity. Qed.

(** The AQM drops 2 bytes after a yes, and 5 bytes follow. *)
Theorem successors_of_drops_must_be_asked_for :
  refuted {| flows := [{| burst := 2; den := 6; due := 7; packet := 2 |}]; largest := 5 |}
    Unasked
    [Best_effort 0 1; Best_effort 0 2; Best_effort 0 5; Realtime 0 0 2] [false; true] = true.
Proof. vm_compute. reflexivity. Qed.

(** The drop of the only best-effort packet at 1. *)
Theorem drops_must_not_reset_the_history :
  refuted {| flows := [{| burst := 8; den := 2; due := 9; packet := 4 |}]; largest := 1 |}
    Forgets_on_drop
    [Best_effort 0 1; Realtime 0 0 4; Realtime 0 0 4; Best_effort 1 1; Discard 1; Best_effort 5 1] []
    = true.
Proof. vm_compute. reflexivity. Qed.

(** Pending work whose deadline is lowered, at 21. *)
Theorem smaller_candidates_must_not_lower :
  refuted {| flows := [{| burst := 7; den := 29; due := 10; packet := 3 |};
                       {| burst := 4; den := 66; due := 21; packet := 2 |};
                       {| burst := 7; den := 38; due := 23; packet := 3 |}]; largest := 3 |}
    Lowers_when_smaller
    [Realtime 5 1 2; Realtime 5 1 2; Realtime 9 2 3; Realtime 9 2 3;
     Best_effort 10 2; Best_effort 10 2; Best_effort 10 3; Best_effort 10 2; Discard 14;
     Realtime 15 0 3; Realtime 15 0 2; Realtime 15 0 2; Discard 21] [] = true.
Proof. vm_compute. reflexivity. Qed.
