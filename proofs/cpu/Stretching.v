(** * Why bandwidth changes hands at zero-lag times: a counterexample

    A best-effort server and a reservation have half of a CPU each, 5 ticks in every 10. The server has used
    its 5 ticks at once, so it is ahead until 10, its zero-lag time. At 5 it is to give its half to another
    reservation, 1 tick in every 2. If that one begins at once, as when the server's period is stretched, the
    half is used twice in [5, 10), and the first reservation's job is late. If it begins at 10, all are in
    time. Computed; crates/sim/tests/cpu_transitions.rs has such systems for the code. *)
From Coq Require Import List Arith Bool.
Import ListNotations.

(** Release, deadline, and ticks that it still needs. *)
Definition job : Type := nat * nat * nat.

(** The pending job that is due first; of equal ones the first in the list. *)
Fixpoint first_due (now : nat) (jobs : list job) : option nat :=
  match jobs with
  | [] => None
  | (rel, due, needs) :: rest =>
      let later := first_due now rest in
      if (rel <=? now) && (0 <? needs)
      then match later with Some d => Some (min due d) | None => Some due end
      else later
  end.

(** It runs for a tick. *)
Fixpoint run_one (now due : nat) (jobs : list job) : list job :=
  match jobs with
  | [] => []
  | (rel, d, needs) :: rest =>
      if (rel <=? now) && (0 <? needs) && (d =? due) then (rel, d, needs - 1) :: rest
      else (rel, d, needs) :: run_one now due rest
  end.

(** EDF from [now] on; whether a job is unfinished at its deadline. *)
Fixpoint late_from (fuel now : nat) (jobs : list job) : bool :=
  match fuel with
  | 0 => false
  | S n =>
      existsb (fun j => match j with (_, due, needs) => (due <=? now) && (0 <? needs) end) jobs ||
      late_from n (now + 1) (match first_due now jobs with Some due => run_one now due jobs | None => jobs end)
  end.

(** The server's budget and the jobs of the first reservation; jobs of the second from [begin] on. *)
Definition jobs_with (begin : nat) : list job :=
  [(0, 10, 5); (0, 10, 5); (10, 20, 5); (20, 30, 5)] ++
  map (fun k => (begin + 2 * k, begin + 2 * k + 2, 1)) (seq 0 10).

(** Every job that is due in 40 ticks is seen to its deadline. *)
Theorem bandwidth_must_wait_for_the_zero_lag_time :
  late_from 40 0 (jobs_with 5) = true /\ late_from 40 0 (jobs_with 10) = false.
Proof. vm_compute. split; reflexivity. Qed.
