(** * A certificate that a link admits its flows

    Admission asks for infinitely many intervals: demand(t) + s(t) <= t for all t >= d_min. A short list of
    numbers shows it: the corner points of each flow's demand, the blocking term, and the residual curve E
    for best effort. Between two corner points everything is a line, so [sound] decides on them alone
    (common/Sweep.v). It does not know how the numbers were found. [canonical] asks besides that each of them
    is the only one possible, so that a certificate with any one changed is refused.

    The facts are those of a scenario: rates in bit/s, packets and bursts in bytes on the wire, deadlines,
    periods and jitters in nanoseconds. A tick is the time in which the link sends a nanobit, so that
    nothing is rounded: a nanosecond has as many ticks as the link's rate is in bit/s. Lines have whole
    numbers of 1/rate nanobit. Code: crates/certify/src/link.rs, crates/curve/src/admission.rs. *)
From Coq Require Import List ZArith Lia Bool.
From Laxity Require Import common.Sums common.Sweep link.Edf link.Deadlines link.Envelopes link.Assigner.
Import ListNotations.
Open Scope Z_scope.

Inductive envelope :=
| Buckets (burst rate : Z) (more : list (Z * Z))
| Periodic (size period jitter : Z).

Record flow := { id : nat; deadline : Z; packet : Z; sends : envelope }.

(** [paper]: the largest packet of all blocks in every interval. *)
Record link := {
  rate : Z; best_effort : Z; backlog : Z; paper : bool; flows : list flow
}.

(** [corners]: for each flow the ticks at which the next bucket binds. [followed]: for each flow how many
    steps of a periodic envelope are followed one by one, all before [horizon]. [blocks]: the largest
    packet that may block and, in order, until when, and the largest then. [curve]: E, from tick to tick. *)
Record certificate := {
  corners : list (list Z); followed : list Z; horizon : Z;
  blocks : Z; then_blocks : list (Z * Z);
  curve : list event;
  binding : Z; residual_there : Z
}.

Definition nanobits (bytes : Z) : Z := 8000000000 * bytes.

Section Link.
Variable l : link.
Let Q := rate l.
Definition due (f : flow) : Z := rate l * deadline f.

(** ** The events of a flow *)

Definition bucket_line (f : flow) (from burst r : Z) : event :=
  {| at_ := from; rise := r; level := rate l * nanobits burst - r * due f |}.

Fixpoint bucket_lines (f : flow) (cs : list Z) (more : list (Z * Z)) : list event :=
  match cs, more with
  | c :: cs', (b, r) :: more' => bucket_line f c b r :: bucket_lines f cs' more'
  | _, _ => []
  end.

Definition flow_events (f : flow) (cs : list Z) (n : Z) : list event :=
  match sends f with
  | Buckets b r more =>
      let first := bucket_line f (due f) b r in
      first :: replaced (rise first) (level first) (bucket_lines f cs more)
  | Periodic size period jitter =>
      stair_events (due f) (rate l * nanobits size) (rate l * period) (rate l * jitter) (Z.to_nat n)
  end.

Definition flow_sound (f : flow) (cs : list Z) : bool :=
  (0 <=? deadline f) &&
  match sends f with
  | Buckets b r more => ascending (due f) (bucket_lines f cs more)
  | Periodic size period jitter => (0 <? period) && (0 <=? size) && (0 <=? jitter)
  end.

Fixpoint all_events (fs : list flow) (cs : list (list Z)) (ns : list Z) : list event :=
  match fs, cs, ns with
  | f :: fs', c :: cs', n :: ns' => flow_events f c n ++ all_events fs' cs' ns'
  | _, _, _ => []
  end.

Fixpoint all_sound (fs : list flow) (cs : list (list Z)) (ns : list Z) : bool :=
  match fs, cs, ns with
  | [], [], [] => true
  | f :: fs', c :: cs', _ :: ns' => flow_sound f c && all_sound fs' cs' ns'
  | _, _, _ => false
  end.

(** ** Blocking *)

Definition block_lines (more : list (Z * Z)) : list event :=
  map (fun p => {| at_ := rate l * fst p; rise := 0; level := rate l * nanobits (snd p) |}) more.

Definition block_events (most : Z) (more : list (Z * Z)) : list event :=
  {| at_ := 0; rise := 0; level := rate l * nanobits most |} ::
  replaced 0 (rate l * nanobits most) (block_lines more).

(** Whether the levels cover the packets of a flow in all intervals shorter than its deadline. *)
Fixpoint covers (f : flow) (most : Z) (more : list (Z * Z)) : bool :=
  (packet f <=? most) &&
  match more with
  | [] => true
  | (until, next) :: r => (deadline f <=? until) || covers f next r
  end.

(** ** The residual curve *)

Definition curve_events (c : list event) : list event :=
  match c with
  | [] => []
  | e :: r => e :: replaced (rise e) (level e) r
  end.

Fixpoint rising (from m b : Z) (c : list event) : bool :=
  (0 <=? m) &&
  match c with
  | [] => true
  | e :: r => (from <? at_ e) && (m * (at_ e - 1) + b <=? rise e * at_ e + level e) &&
              rising (at_ e) (rise e) (level e) r
  end.

Definition curve_sound (c : list event) : bool :=
  match c with
  | [] => false
  | e :: r => (at_ e =? 0) && ascending 0 r && rising 0 (rise e) (level e) r
  end.

(** [E] in whole nanobits. *)
Definition residual_curve (c : certificate) (t : nat) : nat :=
  match curve c with
  | [] => 0
  | e :: r => Z.to_nat (line_at (rise e) (level e) r (Z.of_nat t) / rate l)
  end.

(** ** The check *)

Definition least : Z :=
  match flows l with
  | [] => 0
  | f :: r => fold_right (fun f m => Z.min (due f) m) (due f) r
  end.

Definition demand (c : certificate) : list event := all_events (flows l) (corners c) (followed c).
Definition below_all (c : certificate) (from more : Z) (events : list event) : bool :=
  below from (- rate l) (rate l * (nanobits (backlog l) + more)) (EventSort.sort (demand c ++ events)).

Definition sound (c : certificate) : bool :=
  (0 <? rate l) && (0 <=? backlog l) && (0 <=? best_effort l) &&
  all_sound (flows l) (corners c) (followed c) &&
  ascending 0 (block_lines (then_blocks c)) &&
  (0 <=? blocks c) && forallb (fun p => 0 <=? snd p) (then_blocks c) &&
  forallb (fun f => covers f (blocks c) (then_blocks c)) (flows l) &&
  curve_sound (curve c) &&
  below_all c least (nanobits (best_effort l)) [] &&
  below_all c least 0 (block_events (blocks c) (then_blocks c)) &&
  below_all c 0 0 (block_events (blocks c) (then_blocks c) ++ curve_events (curve c)).

(** ** What the facts say about flows *)

(** [A k]: an envelope in nanobits over ticks. *)
Variable A : nat -> nat -> nat.
Definition bounds (f : flow) : Prop :=
  match sends f with
  | Buckets b r more => forall burst r', In (burst, r') ((b, r) :: more) -> forall y,
      Q * Z.of_nat (A (id f) y) <= Q * nanobits burst + r' * Z.of_nat y
  | Periodic size period jitter => forall y,
      Z.of_nat (A (id f) y) <= nanobits size * ((Z.of_nat y + Q * jitter) / (Q * period) + 1)
  end.

Variable d : nat -> nat.
Definition has_deadline (f : flow) : Prop := d (id f) = Z.to_nat (due f).

Lemma flow_events_above f cs n t :
  0 < Q -> flow_sound f cs = true -> bounds f -> has_deadline f ->
  Q * Z.of_nat (on (d (id f) <=? t)%nat (A (id f) (t - d (id f)))) <= value (flow_events f cs n) (Z.of_nat t).
Proof.
  intros QP S B D. unfold flow_sound in S. apply andb_true_iff in S. destruct S as [S0 S]. apply Z.leb_le in S0.
  assert (D0 : 0 <= due f) by (unfold due; fold Q; nia).
  unfold has_deadline in D. unfold bounds in B. unfold flow_events.
  assert (Cases : (d (id f) <=? t)%nat = (due f <=? Z.of_nat t)).
  { destruct (Nat.leb_spec (d (id f)) t), (Z.leb_spec (due f) (Z.of_nat t)); try reflexivity; lia. }
  destruct (sends f) as [b r more|size period jitter].
  - cbn [value bucket_line at_ rise level]. rewrite Cases.
    destruct (Z.leb_spec (due f) (Z.of_nat t)) as [L|L]; cbn [on].
    + set (b0 := rate l * nanobits b - r * due f).
      rewrite (replaced_value _ r b0 (due f) (Z.of_nat t) S).
      assert (Y : Z.of_nat (t - d (id f)) = Z.of_nat t - due f) by lia.
      destruct (line_at_one (bucket_lines f cs more) r b0 (Z.of_nat t)) as [->|(e & He & _ & ->)].
      * specialize (B b r (or_introl eq_refl) (t - d (id f))%nat). rewrite Y in B. unfold b0, Q in *. lia.
      * assert (exists b' r', In (b', r') more /\ rise e = r' /\ level e = rate l * nanobits b' - r' * due f)
          as (b' & r' & Hin & -> & ->).
        { clear -He. revert cs He. induction more as [|(b', r') more IH]; intros [|c cs] He; cbn in He; try tauto.
          destruct He as [<-|He].
          - exists b', r'. repeat split. left. reflexivity.
          - destruct (IH cs He) as (x & y & Hin & H). exists x, y. split; [right; assumption|assumption]. }
        specialize (B b' r' (or_intror Hin) (t - d (id f))%nat). rewrite Y in B. unfold Q in *. lia.
    + rewrite value_before; [lia|]. intros e He. pose proof (replaced_from _ _ _ _ S e He). lia.
  - rewrite !andb_true_iff in S. destruct S as [[P1 P2] P3]. apply Z.ltb_lt in P1. apply Z.leb_le in P2, P3.
    assert (PP : 0 < rate l * period) by (fold Q; nia).
    assert (SS : 0 <= rate l * nanobits size) by (unfold nanobits; fold Q; nia).
    destruct (stair_events_above (due f) _ _ (rate l * jitter) PP SS (Z.to_nat n) (Z.of_nat t)
                ltac:(fold Q; nia)) as [V1 V2].
    rewrite Cases. destruct (Z.leb_spec (due f) (Z.of_nat t)) as [L|L]; cbn [on].
    + specialize (V1 L). eapply Z.le_trans; [|exact V1].
      specialize (B (t - d (id f))%nat).
      replace (Z.of_nat (t - d (id f))) with (Z.of_nat t - due f) in B by lia. unfold Q in *. nia.
    + rewrite (V2 L). lia.
Qed.

Lemma all_events_above fs : forall cs ns t,
  0 < Q -> all_sound fs cs ns = true -> (forall f, In f fs -> bounds f /\ has_deadline f) ->
  Q * Z.of_nat (rt_demand (map id fs) A d t) <= value (all_events fs cs ns) (Z.of_nat t).
Proof.
  unfold rt_demand. induction fs as [|f fs IH]; intros [|c cs] [|n ns] t QP S H; cbn in S; try discriminate.
  - cbn. lia.
  - apply andb_true_iff in S. destruct S as [S1 S2]. cbn [all_events map sumf]. rewrite value_app.
    destruct (H f (or_introl eq_refl)) as [B D].
    pose proof (flow_events_above f c n t QP S1 B D).
    specialize (IH cs ns t QP S2 (fun f' Hf => H f' (or_intror Hf))).
    unfold flow_demand at 1. lia.
Qed.

(** What may block an interval of length [t], in nanobits. *)
Definition blocking (c : certificate) (t : nat) : nat :=
  Z.to_nat (line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t) / rate l).

Lemma covered f more : forall most t,
  0 < Q -> covers f most more = true -> Z.of_nat t < due f ->
  Q * nanobits (packet f) <= line_at 0 (rate l * nanobits most) (block_lines more) (Z.of_nat t).
Proof.
  induction more as [|(until, next) r IH]; intros most t QP C T; cbn in C;
    apply andb_true_iff in C; destruct C as [C1 C2]; apply Z.leb_le in C1; unfold nanobits in *;
    cbn [block_lines map line_at at_ rise level fst snd].
  - unfold Q in *. nia.
  - destruct (Z.leb_spec (rate l * until) (Z.of_nat t)) as [L|L]; [|unfold Q in *; nia].
    apply orb_true_iff in C2. destruct C2 as [C2|C2]; [|apply IH; assumption].
    apply Z.leb_le in C2. unfold due, Q in *. nia.
Qed.

Lemma block_value c t : ascending 0 (block_lines (then_blocks c)) = true ->
  value (block_events (blocks c) (then_blocks c)) (Z.of_nat t)
  = line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t).
Proof.
  intros O. unfold block_events. cbn [value at_ rise level]. rewrite (proj2 (Z.leb_le 0 _)) by lia.
  rewrite <- (replaced_value _ _ _ 0 (Z.of_nat t) O). lia.
Qed.

Lemma block_not_negative c t :
  0 < Q -> 0 <= blocks c -> forallb (fun p => 0 <=? snd p) (then_blocks c) = true ->
  0 <= line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t).
Proof.
  intros QP M0 Mr. rewrite forallb_forall in Mr. unfold nanobits, Q in *.
  destruct (line_at_one (block_lines (then_blocks c)) 0 (rate l * (8000000000 * blocks c)) (Z.of_nat t))
    as [->|(e & He & _ & ->)]; [nia|].
  apply in_map_iff in He. destruct He as (p & <- & Hp). specialize (Mr p Hp). apply Z.leb_le in Mr.
  cbn [rise level]. unfold nanobits. nia.
Qed.

Lemma rising_monotone c : forall from m b s t,
  rising from m b c = true -> from <= s -> s <= t -> line_at m b c s <= line_at m b c t.
Proof.
  induction c as [|e r IH]; intros from m b s t C F ST; cbn in C; apply andb_true_iff in C; destruct C as [M C];
    apply Z.leb_le in M; cbn [line_at]; [nia|].
  rewrite !andb_true_iff in C. destruct C as [[C1 C2] C3]. apply Z.ltb_lt in C1. apply Z.leb_le in C2.
  destruct (Z.leb_spec (at_ e) s), (Z.leb_spec (at_ e) t); try lia; try nia.
  - eapply IH; try eassumption; lia.
  - specialize (IH (at_ e) (rise e) (level e) (at_ e) t C3 ltac:(lia) ltac:(lia)).
    enough (rise e * at_ e + level e <= line_at (rise e) (level e) r (at_ e)) by nia.
    (* The first line of the rest is in force there, as those after it begin later. *)
    destruct r as [|x r]; cbn [line_at]; [lia|].
    cbn in C3. rewrite !andb_true_iff in C3. destruct C3 as [_ [[C4 _] _]]. apply Z.ltb_lt in C4.
    rewrite (proj2 (Z.leb_gt (at_ x) (at_ e))) by lia. lia.
Qed.

Lemma least_is_least f : In f (flows l) -> least <= due f.
Proof.
  unfold least. intros H. destruct (flows l) as [|g r]; [destruct H|].
  assert (fold_right (fun f m => Z.min (due f) m) (due g) r <= due g) by (clear H; induction r; simpl; lia).
  destruct H as [<-|H]; [assumption|].
  clear H0. induction r as [|x r IH]; [destruct H|]. simpl. destruct H as [->|H]; [lia|]. specialize (IH H). lia.
Qed.

(** ** Theorem: what passes the check proves the premises of admission

    The facts are the buckets, periods and deadlines of the flows, and the largest packets. *)
Theorem certificate_is_sound c :
  sound c = true -> (forall f, In f (flows l) -> bounds f /\ has_deadline f) ->
  let bound t := (rt_demand (map id (flows l)) A d t + Z.to_nat (nanobits (backlog l)))%nat in
  let s_be := Z.to_nat (nanobits (best_effort l)) in
  admitted bound s_be (blocking c) (Z.to_nat least) /\
  residual bound (blocking c) (residual_curve c) 0 /\
  monotone (residual_curve c) /\
  (forall k, In k (map id (flows l)) -> (Z.to_nat least <= d k)%nat) /\
  (forall f t, In f (flows l) -> (t < d (id f))%nat -> (Z.to_nat (nanobits (packet f)) <= blocking c t)%nat).
Proof.
  intros C H bound s_be. unfold sound, below_all, demand in C. rewrite !andb_true_iff, !app_nil_r in C.
  destruct C as [[[[[[[[[[[QP B0] E0] Fs] Bo] M0] Mr] Co] Cu] C1] C2] C3].
  apply Z.ltb_lt in QP. apply Z.leb_le in B0, E0, M0.
  set (D := all_events (flows l) (corners c) (followed c)) in *.
  assert (Above : forall t, rate l * Z.of_nat (rt_demand (map id (flows l)) A d t) <= value D (Z.of_nat t)).
  { intros t. apply all_events_above; assumption. }
  assert (Block : forall t, rate l * Z.of_nat (blocking c t) <=
                  value (block_events (blocks c) (then_blocks c)) (Z.of_nat t)).
  { intros t. rewrite (block_value c t Bo). unfold blocking.
    pose proof (block_not_negative c t QP M0 Mr). set (x := line_at _ _ _ _) in *.
    pose proof (Z.mul_div_le x (rate l) QP). pose proof (Z.div_pos x (rate l) ltac:(assumption) QP).
    rewrite Z2Nat.id by lia. lia. }
  pose proof (sweep_bounds_the_sum _ _ _ _ C1) as S1.
  pose proof (sweep_bounds_the_sum _ _ _ _ C2) as S2.
  pose proof (sweep_bounds_the_sum _ _ _ _ C3) as S3.
  assert (NB : 0 <= nanobits (backlog l) /\ 0 <= nanobits (best_effort l)) by (unfold nanobits; lia).
  repeat split.
  - intros t Ht. specialize (S1 (Z.of_nat t) ltac:(lia)). specialize (S2 (Z.of_nat t) ltac:(lia)).
    rewrite value_app in S2. specialize (Above t). specialize (Block t). unfold bound, s_be.
    enough (rate l * Z.of_nat (rt_demand (map id (flows l)) A d t + Z.to_nat (nanobits (backlog l))
              + Nat.max (Z.to_nat (nanobits (best_effort l))) (blocking c t)) <= rate l * Z.of_nat t) by nia.
    rewrite !Nat2Z.inj_add, Nat2Z.inj_max, !Z2Nat.id by lia.
    destruct (Z.max_spec (nanobits (best_effort l)) (Z.of_nat (blocking c t))) as [[_ ->]|[_ ->]]; nia.
  - intros t _ Pos. specialize (S3 (Z.of_nat t) ltac:(lia)). rewrite !value_app in S3.
    specialize (Above t). specialize (Block t). unfold bound. unfold residual_curve in *.
    unfold curve_sound, curve_events in *. destruct (curve c) as [|e r]; [lia|].
    rewrite !andb_true_iff in Cu. destruct Cu as [[Ce Or] Ri]. apply Z.eqb_eq in Ce.
    cbn [value] in S3. rewrite Ce in S3. rewrite (proj2 (Z.leb_le 0 (Z.of_nat t))) in S3 by lia.
    pose proof (replaced_value r (rise e) (level e) 0 (Z.of_nat t) Or) as R.
    set (x := line_at _ _ _ _) in *. pose proof (Z.mul_div_le x (rate l) QP).
    enough (rate l * Z.of_nat (Z.to_nat (x / rate l) + (rt_demand (map id (flows l)) A d t
              + Z.to_nat (nanobits (backlog l))) + blocking c t) <= rate l * Z.of_nat t) by nia.
    assert (0 < x / rate l) by lia.
    rewrite !Nat2Z.inj_add, !Z2Nat.id by lia.
    nia.
  - intros s t ST. unfold residual_curve, curve_sound in *. destruct (curve c) as [|e r]; [lia|].
    rewrite !andb_true_iff in Cu. destruct Cu as [[Ce Or] Ri].
    pose proof (rising_monotone r 0 (rise e) (level e) (Z.of_nat s) (Z.of_nat t) Ri ltac:(lia) ltac:(lia)) as M.
    pose proof (Z.div_le_mono _ _ (rate l) QP M). lia.
  - intros k Hk. apply in_map_iff in Hk. destruct Hk as (f & <- & Hf).
    destruct (H f Hf) as [_ Df]. rewrite Df. pose proof (least_is_least f Hf). lia.
  - intros f t Hf Ht. destruct (H f Hf) as [_ Df]. rewrite forallb_forall in Co.
    assert (T : Z.of_nat t < due f) by (rewrite Df in Ht; lia).
    pose proof (covered f (then_blocks c) (blocks c) t QP (Co f Hf) T) as Cv. unfold blocking.
    assert (nanobits (packet f) <= line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t) / rate l).
    { apply Z.div_le_lower_bound; assumption. }
    lia.
Qed.

(** ** The canonical form

    Each number of a certificate follows from the facts and the others. No theorem needs this. *)

(** The next bucket binds from the first tick at which it is not above the one before. *)
Fixpoint corners_are (f : flow) (before : event) (cs : list Z) (more : list (Z * Z)) : bool :=
  match cs, more with
  | [], [] => true
  | c :: cs', (b, r) :: more' =>
      let next := bucket_line f c b r in
      (line next c <=? line before c) && (line before (c - 1) <? line next (c - 1)) &&
      corners_are f next cs' more'
  | _, _ => false
  end.

Definition flow_canonical (h : Z) (f : flow) (cs : list Z) (n : Z) : bool :=
  match sends f with
  | Buckets b r more => corners_are f (bucket_line f (due f) b r) cs more && (n =? 0)
  | Periodic _ period jitter =>
      match cs with [] => true | _ => false end && (n =? steps_before (due f) (rate l * period) (rate l * jitter) h)
  end.

Fixpoint flows_canonical (h : Z) (fs : list flow) (cs : list (list Z)) (ns : list Z) : bool :=
  match fs, cs, ns with
  | f :: fs', c :: cs', n :: ns' => flow_canonical h f c n && flows_canonical h fs' cs' ns'
  | _, _, _ => true
  end.

(** The horizon is just after the last step that is followed. *)
Fixpoint horizon_is (h : Z) (fs : list flow) (ns : list Z) : bool :=
  match fs, ns with
  | f :: fs', n :: ns' =>
      match sends f with
      | Periodic _ period jitter => (0 <? n) && steps_at (due f) (rate l * period) (rate l * jitter) h
      | Buckets _ _ _ => false
      end || horizon_is h fs' ns'
  | _, _ => false
  end.

(** Each level is that of a packet that blocks until then. *)
Fixpoint blocks_are (most : Z) (more : list (Z * Z)) : bool :=
  match more with
  | [] => most =? 0
  | (until, next) :: r =>
      existsb (fun f => (packet f =? most) && (deadline f =? until)) (flows l) && (next <? most) && blocks_are next r
  end.

Definition canonical (c : certificate) : bool :=
  flows_canonical (horizon c) (flows l) (corners c) (followed c) &&
  ((horizon c =? 0) || horizon_is (horizon c) (flows l) (followed c)) &&
  (if paper l
   then (blocks c =? fold_right (fun f m => Z.max (packet f) m) (best_effort l) (flows l)) &&
        match then_blocks c with [] => true | _ => false end
   else blocks_are (blocks c) (then_blocks c)) &&
  (let demand := EventSort.sort (demand c) in
   let with_blocks := EventSort.sort (demand ++ block_events (blocks c) (then_blocks c)) in
   let left more := remainder 0 (rate l) (- rate l * (nanobits (backlog l) + more)) in
   let beside_best_effort := left (nanobits (best_effort l)) demand in
   let beside_blocks := left 0 with_blocks in
   match lowest least (lowest least None beside_best_effort) beside_blocks with
   | Some (t, v) => (binding c =? t) && (residual_there c =? v)
   | None => false
   end &&
   same_events (curve c) (joined (fst (least_to_come beside_blocks)))).

Definition accepts (c : certificate) : bool := sound c && canonical c.
End Link.

(** ** Theorem: a link with an accepted certificate keeps every real-time deadline

    Sizes are nanobits, times ticks; the rule for best effort is any that is safe for the certified curve. *)
Theorem certified_link_keeps_real_time (l : link) (c : certificate) {packet : Type}
    (arr size dl start : packet -> nat) (rt be : list packet) (flow_of : packet -> nat)
    (A : nat -> nat -> nat) (d : nat -> nat) assign resets :
  accepts l c = true ->
  (forall f, In f (flows l) -> bounds l A f /\ has_deadline l d f) ->
  edf_run arr size dl start (rt ++ be) ->
  conforming arr size dl rt (map id (flows l)) flow_of A d ->
  (forall p, In p be -> (size p <= Z.to_nat (nanobits (best_effort l)))%nat) ->
  (forall p f, In p rt -> In f (flows l) -> id f = flow_of p ->
     (size p <= Z.to_nat (nanobits (Certificate.packet f)))%nat) ->
  safe_assigner (residual_curve l c) assign ->
  released_in_order arr be -> resets_when_idle arr size start rt be resets ->
  assigned arr size dl assign resets [] 0 be ->
  forall p, In p rt -> (fin size start p <= dl p)%nat.
Proof.
  intros Acc Facts Run Conf Be Rt Safe Ord RI As p Hp.
  apply andb_true_iff in Acc. destruct Acc as [S _].
  destruct (certificate_is_sound l A d c S Facts) as (Adm & Res & Mono & Least & Block).
  apply (safe_assigner_keeps_real_time arr size dl start rt be assign resets (residual_curve l c)
           (fun t => rt_demand (map id (flows l)) A d t + Z.to_nat (nanobits (backlog l)))%nat
           (Z.to_nat (least l)) (Z.to_nat (nanobits (best_effort l))) (blocking l c) Run); try eassumption.
  - intros a D _ _. pose proof (conforming_flows_are_bounded _ _ _ _ _ _ _ _ a D Conf). lia.
  - intros x a D Hx LD B Inside Dx.
    assert (SR : forall p t, In p rt -> (t < d (flow_of p))%nat -> (size p <= blocking l c t)%nat).
    { intros q t Hq T. pose proof (of_a_flow _ _ _ _ _ _ _ _ Conf q Hq) as Of. apply in_map_iff in Of.
      destruct Of as (f & Id & Hf). specialize (Rt q f Hq Hf Id). specialize (Block f t Hf).
      rewrite Id in Block. specialize (Block T). lia. }
    pose proof (conforming_flows_block _ _ _ start rt be _ _ _ _ _ Conf SR x a D Hx LD B Inside Dx). lia.
  - eapply conforming_flows_least; eassumption.
  - intros t L. specialize (Res t). intros Pos. apply Res; [lia|assumption].
  - rewrite (deadline_is _ _ _ _ _ _ _ _ Conf p Hp). lia.
Qed.
