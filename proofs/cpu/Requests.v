(** * Requests that change a reservation: they stay within what the others leave free

    A request may follow before the one before it is in force. The scheduler keeps, beside the share of the
    current period, four things: the share that was asked for last ([declared]), the share of releases until
    it is in force ([held], until [limited_until]), and the row of the ledger: the greatest share promised
    from now on ([row]), and from when on the others leave all of it free ([row_from]). A request is compared
    with the row, to see whether others must shrink, and with the share that a release would get now, to see
    whether it may be used at once; never with what was asked for last. The row falls later, when nothing
    larger is promised any more. Code: [change_reservation] in crates/cpu/src/servers/policy.rs, [reclaim] in
    crates/cpu/src/servers/transition.rs, [size] in crates/cpu/src/servers/mod.rs. *)
From Coq Require Import List Arith Lia Bool.
Import ListNotations.

Record reservation := {
  current : nat;              (** share of the current period *)
  period_end : nat;
  held : nat; declared : nat; limited_until : nat;
  row : nat; row_from : nat;
  reclaim_at : option nat;    (** when the row falls to what is declared *)
  room : nat -> nat           (** what the others leave free at each instant *)
}.

(** The share of a release at [t]. *)
Definition in_force (t : nat) (r : reservation) : nat :=
  if t <? limited_until r then held r else declared r.

(** The promise: its share at each instant, as known now. *)
Definition promise (r : reservation) (t : nat) : nat :=
  if t <? period_end r then current r else in_force t r.

Inductive event :=
  | Asks (share : nat) | Releases (at_time length : nat) | Reclaims | Others_change.

Inductive step (now : nat) (r : reservation) : event -> reservation -> Prop :=
  | asks_beyond_the_row asked from room' :
      (* others shrink; all of it is free from [from] on *)
      row r <= asked -> period_end r <= from -> now <= from ->
      (forall t, room r t <= room' t) -> (forall t, from <= t -> asked <= room' t) ->
      step now r (Asks asked)
        {| current := current r; period_end := period_end r; held := in_force now r; declared := asked;
           limited_until := from; row := asked; row_from := from; reclaim_at := None; room := room' |}
  | asks_within_the_row asked :
      let from := max (max (period_end r) now) (row_from r) in
      in_force now r < asked -> asked < row r ->
      step now r (Asks asked)
        {| current := current r; period_end := period_end r; held := in_force now r; declared := asked;
           limited_until := from; row := row r; row_from := row_from r; reclaim_at := Some from;
           room := room r |}
  | asks_for_less asked :
      asked <= in_force now r ->
      step now r (Asks asked)
        {| current := current r; period_end := period_end r; held := in_force now r; declared := asked;
           limited_until := 0; row := row r; row_from := row_from r;
           reclaim_at := Some (max (period_end r) now); room := room r |}
  | releases at_time length :
      (* a release may be dated back *)
      period_end r <= now -> at_time <= now ->
      step now r (Releases at_time length)
        {| current := in_force at_time r; period_end := at_time + length; held := held r;
           declared := declared r; limited_until := limited_until r; row := row r; row_from := row_from r;
           reclaim_at := reclaim_at r; room := room r |}
  | reclaims at_time room' :
      (* the others may use all but what is declared *)
      reclaim_at r = Some at_time -> at_time <= now -> (forall t, now <= t -> declared r <= room' t) ->
      step now r Reclaims
        {| current := current r; period_end := period_end r; held := declared r; declared := declared r;
           limited_until := limited_until r; row := declared r; row_from := row_from r; reclaim_at := None;
           room := room' |}
  | others_change room' :
      (* they may take what lies above the row, where all of it is free, and above the promise before *)
      (forall t, now <= t -> min (room r t) (row r) <= room' t) ->
      step now r Others_change
        {| current := current r; period_end := period_end r; held := held r; declared := declared r;
           limited_until := limited_until r; row := row r; row_from := row_from r;
           reclaim_at := reclaim_at r; room := room' |}.

(** What always holds. *)
Record consistent (now : nat) (r : reservation) : Prop := {
  c_current : forall t, now <= t < period_end r -> current r <= room r t /\ current r <= row r;
  c_held : limited_until r = 0 \/
    held r <= declared r /\ forall t, now <= t -> held r <= room r t;
  c_declared : forall t, now <= t -> limited_until r <= t -> declared r <= room r t;
  c_row : forall t, now <= t -> row_from r <= t -> row r <= room r t;
  c_greatest : declared r <= row r;
  (** A period that goes on when the row falls has no more than what is declared. *)
  c_reclaim : forall at_time, reclaim_at r = Some at_time -> now < period_end r ->
    period_end r <= at_time \/ current r <= declared r
}.

Lemma in_force_fits now t r : consistent now r -> now <= t ->
  in_force now r <= room r t /\ in_force now r <= row r.
Proof.
  intros [_ H D _ G _] L. unfold in_force. destruct (Nat.ltb_spec now (limited_until r)) as [Lim|Lim].
  - destruct H as [H|[H1 H2]]; [lia|]. specialize (H2 t L). lia.
  - specialize (D t L ltac:(lia)). lia.
Qed.

(** ** Theorem: requests, releases and reclaims keep it, in any order *)
Theorem requests_stay_consistent now r e r' : consistent now r -> step now r e r' -> consistent now r'.
Proof.
  intros C St. pose proof (fun t L => in_force_fits now t r C L) as F.
  pose proof (F now (Nat.le_refl _)) as Fn.
  destruct C as [Cu H D R G Re].
  destruct St as [asked from room' A1 A2 A3 A4 A5|asked from A1 A2|asked A1|at_time length A1 A2
                 |at_time room' A1 A2 A3|room' A1];
    constructor; cbn [current period_end held declared limited_until row row_from reclaim_at room].
  (* It asks for more than the row. *)
  - intros t L. specialize (Cu t L). specialize (A4 t). lia.
  - right. split; [lia|]. intros t L. specialize (F t L). specialize (A4 t). lia.
  - intros t L M. apply A5. assumption.
  - intros t L M. apply A5. assumption.
  - lia.
  - discriminate.
  (* Less than the row, more than a release gets now. *)
  - exact Cu.
  - right. split; [lia|]. intros t L. apply F. assumption.
  - intros t L M. specialize (R t L ltac:(subst from; lia)). lia.
  - exact R.
  - lia.
  - intros a [= <-] L. left. subst from. lia.
  (* No more than a release gets now. *)
  - exact Cu.
  - left. reflexivity.
  - intros t L _. specialize (F t L). lia.
  - exact R.
  - lia.
  - intros a [= <-] L. left. lia.
  (* A release. *)
  - intros t L. unfold in_force. destruct (Nat.ltb_spec at_time (limited_until r)).
    + destruct H as [H|[H' H'']]; [lia|]. specialize (H'' t ltac:(lia)). lia.
    + specialize (D t ltac:(lia)).
      destruct (Nat.le_gt_cases (limited_until r) t) as [M|M]; [specialize (D M); lia|lia].
  - exact H.
  - exact D.
  - exact R.
  - exact G.
  - intros a E L. right. unfold in_force. destruct (Nat.ltb_spec at_time (limited_until r)); [|lia].
    destruct H as [H|[H' _]]; lia.
  (* The row falls. *)
  - intros t L. specialize (A3 t ltac:(lia)).
    destruct (Re at_time A1 ltac:(lia)) as [E|E]; lia.
  - right. split; [lia|]. intros t L. apply A3. assumption.
  - intros t L _. apply A3. assumption.
  - intros t L _. apply A3. assumption.
  - lia.
  - discriminate.
  (* The others change. *)
  - intros t L. specialize (A1 t ltac:(lia)). specialize (Cu t L). lia.
  - destruct H as [H|[H' H'']]; [left; assumption|right]. split; [assumption|].
    intros t L. specialize (A1 t L). specialize (H'' t L). lia.
  - intros t L M. specialize (A1 t L). specialize (D t L M). lia.
  - intros t L M. specialize (A1 t L). specialize (R t L M). lia.
  - exact G.
  - exact Re.
Qed.

(** As time passes it goes on to hold. *)
Lemma consistency_lasts now later r : now <= later -> consistent now r -> consistent later r.
Proof.
  intros L [Cu H D R G Re]. constructor; try assumption.
  - intros t T. apply Cu. lia.
  - destruct H as [H|[H1 H2]]; [left; assumption|right]. split; [assumption|]. intros t T. apply H2. lia.
  - intros t T. apply D. lia.
  - intros t T. apply R. lia.
  - intros a E T. apply Re; [assumption|lia].
Qed.

(** ** Theorem: so the promise stays within the room that the others leave

    This is the second rule of promises: if at every instant the rooms of all add up to at most the whole,
    so do the promises. *)
Theorem promise_within_room now r t : consistent now r -> now <= t -> promise r t <= room r t.
Proof.
  intros [Cu H D R G Re] L. unfold promise, in_force.
  destruct (Nat.ltb_spec t (period_end r)); [apply Cu; lia|].
  destruct (Nat.ltb_spec t (limited_until r)) as [Lim|Lim].
  - destruct H as [H|[_ H]]; [lia|]. apply H. assumption.
  - apply D; assumption.
Qed.

(** ** Theorem: a request changes the promise from the end of the current period on

    This is the first rule: a hard reservation has used its promise up to there. *)
Theorem requests_change_only_later now r asked r' t :
  step now r (Asks asked) r' -> t < period_end r -> promise r' t = promise r t.
Proof.
  intros St L. inversion St; subst; unfold promise; cbn [period_end current];
    destruct (Nat.ltb_spec t (period_end r)); lia.
Qed.

(** ** Why the row: comparing with the last request is not enough

    50 % of 100 are in the current period, 20 were asked for, then 40: the row is still 50, which is due to the
    end of the period, so nobody need shrink. If the row had fallen to 40 at once, the others would use 10
    that are still promised. *)
Example a_decrease_in_flight :
  let start := {| current := 50; period_end := 10; held := 50; declared := 50; limited_until := 0;
                  row := 50; row_from := 0; reclaim_at := None; room := fun _ => 50 |} in
  exists middle last, step 1 start (Asks 20) middle /\ step 2 middle (Asks 40) last /\
    consistent 2 last /\ row last = 50 /\ promise last 9 = 50 /\ promise last 10 = 40.
Proof.
  intros start.
  assert (C : consistent 1 start) by (constructor; simpl; intros; try lia; try discriminate; auto).
  pose proof (asks_for_less 1 start 20 ltac:(simpl; unfold in_force; simpl; lia)) as S1.
  pose proof (requests_stay_consistent 1 _ _ _ C S1) as C1.
  apply (consistency_lasts 1 2) in C1; [|lia].
  match type of S1 with step _ _ _ ?m =>
    pose proof (asks_within_the_row 2 m 40 ltac:(unfold in_force; simpl; lia) ltac:(simpl; lia)) as S2 end.
  eexists _, _. split; [exact S1|]. split; [exact S2|].
  split; [exact (requests_stay_consistent 2 _ _ _ C1 S2)|]. repeat split; reflexivity.
Qed.
