(** * A certificate that a link admits its flows

    Admission asks for infinitely many intervals: demand(t) + s(t) <= t for all t >= d_min. A short list of
    numbers shows it: the corner points of each flow's demand, the blocking term, and the residual curve E
    for best effort. Between two corner points everything is a line, so [sound] decides on them alone
    (common/Sweep.v). It does not know how the numbers were found. [canonical] asks besides that each of them
    is the only one possible, so that a certificate with any one changed is refused.

    The facts are those of a scenario: rates in bit/s, packets and bursts in bytes on the wire, deadlines,
    periods and jitters in nanoseconds, service curves as lines of fractions. A tick is the time in which the
    link sends a nanobit, so that nothing is rounded but the slopes of such lines: a nanosecond has as many ticks
    as the link's rate is in bit/s. Lines have whole numbers of 1/rate nanobit. Code: crates/certify/src/link.rs,
    crates/certify/src/service.rs, crates/curve/src/admission.rs, crates/curve/src/service/admission.rs. *)
From Coq Require Import List ZArith Lia Bool.
From Laxity Require Import link.Lines link.ServiceCurve common.Sums common.Sweep link.Edf link.Deadlines
  link.Envelopes link.Assigner.
Import ListNotations.
Open Scope Z_scope.

(** From [from_n / from_d] ns on the line [(p_level + p_rise * t) / p_over], in nanobits after [t] ns. *)
Record piece := { from_n : Z; from_d : Z; p_level : Z; p_rise : Z; p_over : Z }.

(** An envelope, or a service curve with the smallest packet, and the buckets of a flow that is policed. *)
Inductive envelope :=
| Buckets (burst rate : Z) (more : list (Z * Z))
| Periodic (size period jitter : Z)
| Served (smallest : Z) (first : piece) (more : list piece) (limits : list (Z * Z)).

Record flow := { id : nat; deadline : Z; packet : Z; sends : envelope }.

(** [paper]: the largest packet of all blocks in every interval. *)
Record link := {
  rate : Z; best_effort : Z; backlog : Z; paper : bool; flows : list flow
}.

(** [corners]: for each flow the ticks at which the next bucket binds, or the first tick at which a service
    curve reaches the smallest packet. [followed]: for each flow how many steps of a periodic envelope, or
    lines of a demand in whole packets, are followed one by one, all before [horizon]. [blocks]: the largest
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

(** ** Demand in whole packets

    [served_lines] computes lines, [segments] checks them against the curve; only the check is proved. *)

Definition work (bytes : Z) : Z := rate l * nanobits bytes.
Definition begins (p : piece) : Z := up (rate l * from_n p) (from_d p).
(** [p_over] times the value on ticks. *)
Definition scaled (p : piece) (t : Z) : Z := rate l * p_level p + p_rise p * t.

Fixpoint in_force (p : piece) (r : list piece) (t : Z) : piece :=
  match r with
  | [] => p
  | q :: r' => if begins q <=? t then in_force q r' t else p
  end.

Definition piece_line (p : piece) : event :=
  let a := begins p in
  let m := up (p_rise p) (p_over p) in
  {| at_ := a; rise := m; level := up (scaled p a) (p_over p) - m * a |}.
Definition limit_line (b : Z * Z) : event := {| at_ := 0; rise := snd b; level := work (fst b) |}.
Definition asked (p : piece) (more : list piece) (limits : list (Z * Z)) : list event :=
  fold_left (fun lines b => least_of lines [limit_line b]) limits (map piece_line (p :: more)).

Fixpoint stretches (small large : Z) (fuel : nat) (t : Z) (e : event) (until : option Z) : list event * nat :=
  if negb (is_before t until) then ([], fuel)
  else match fuel with
  | O => ([from_on t e], O)
  | S k =>
      let full := line e t / large in
      if line e t <? (full + 1) * small then
        let flat := {| at_ := t; rise := 0; level := full * large |} in
        if rise e <=? 0 then ([flat], k)
        else let (r, left) := stretches small large k (up ((full + 1) * small - level e) (rise e)) e until in
             (flat :: r, left)
      else if (rise e <=? 0) || ((full + 2) * small <=? (full + 1) * large) then ([from_on t e], k)
      else let (r, left) := stretches small large k (up ((full + 1) * large - level e) (rise e)) e until in
           (from_on t e :: r, left)
  end.

Fixpoint whole_lines (small large : Z) (fuel : nat) (lines : list event) : list event :=
  match lines with
  | [] => []
  | e :: r =>
      let (s, left) := stretches small large fuel (at_ e) e (begin_of r) in
      s ++ whole_lines small large left r
  end.

Definition served_lines (f : flow) (n : Z) : list event :=
  match sends f with
  | Served m p more limits => whole_lines (work m) (work (packet f)) (Z.to_nat n) (asked p more limits)
  | _ => []
  end.

(** Whether a line is above a piece from [lo] on, before [hi]. *)
Definition above_at (e : event) (p : piece) (t : Z) : bool := scaled p t <=? p_over p * line e t.
Definition above (e : event) (p : piece) (lo : Z) (hi : option Z) : bool :=
  above_at e p lo &&
  match hi with Some h => above_at e p (h - 1) | None => p_rise p <=? p_over p * rise e end.

Fixpoint above_all (e : event) (lo : Z) (hi : option Z) (p : piece) (r : list piece) : bool :=
  match r with
  | [] => above e p lo hi
  | q :: r' =>
      if begins q <=? lo then above_all e lo hi q r'
      else if is_before (begins q) hi
      then above e p lo (Some (begins q)) && above_all e (begins q) hi q r'
      else above e p lo hi
  end.

Definition limit_piece (b : Z * Z) : piece :=
  {| from_n := 0; from_d := 1; p_level := nanobits (fst b); p_rise := snd b; p_over := 1 |}.

(** Whether a piece is below a number of nanobits times the rate. *)
Definition under (p : piece) (t w : Z) : bool := scaled p t <? p_over p * w.

(** A line is above the curve, or a bucket; or it is flat, and no packet more fits below one of them. *)
Definition segment (f : flow) (m : Z) (p : piece) (more : list piece) (limits : list (Z * Z))
    (e : event) (hi : option Z) : bool :=
  above_all e (at_ e) hi p more ||
  existsb (fun b => above e (limit_piece b) (at_ e) hi) limits ||
  match hi with
  | None => false
  | Some h =>
      let j := level e / work (packet f) in
      (rise e =? 0) && (level e =? j * work (packet f)) && (0 <=? j) &&
      (under (in_force p more (h - 1)) (h - 1) ((j + 1) * work m) ||
       existsb (fun b => under (limit_piece b) (h - 1) ((j + 1) * work m)) limits)
  end.

Fixpoint segments f m p more limits (e : event) (r : list event) : bool :=
  match r with
  | [] => segment f m p more limits e None
  | x :: r' => segment f m p more limits e (Some (at_ x)) && segments f m p more limits x r'
  end.

(** ** The events of a flow *)

Definition curve_events (c : list event) : list event :=
  match c with
  | [] => []
  | e :: r => e :: replaced (rise e) (level e) r
  end.

Definition flow_events (f : flow) (cs : list Z) (n : Z) : list event :=
  match sends f with
  | Buckets b r more =>
      let first := bucket_line f (due f) b r in
      first :: replaced (rise first) (level first) (bucket_lines f cs more)
  | Periodic size period jitter =>
      stair_events (due f) (rate l * nanobits size) (rate l * period) (rate l * jitter) (Z.to_nat n)
  | Served _ _ _ _ => curve_events (served_lines f n)
  end.

Definition flow_sound (f : flow) (cs : list Z) (n : Z) : bool :=
  (0 <=? deadline f) &&
  match sends f with
  | Buckets b r more => ascending (due f) (bucket_lines f cs more)
  | Periodic size period jitter => (0 <? period) && (0 <=? size) && (0 <=? jitter)
  | Served m p more limits =>
      (0 <? m) && (m <=? packet f) &&
      forallb (fun q => (0 <? p_over q) && (0 <? from_d q)) (p :: more) &&
      forallb (fun b => 0 <=? snd b) limits &&
      match cs with
      | [first] => (0 <? first) && under (in_force p more (first - 1)) (first - 1) (work m)
      | _ => false
      end &&
      match served_lines f n with
      | [] => false
      | e :: r => (at_ e =? 0) && ascending 0 r && segments f m p more limits e r
      end
  end.

Definition is_served (f : flow) : bool := match sends f with Served _ _ _ _ => true | _ => false end.

(** Each flow with its events. *)
Fixpoint each (fs : list flow) (cs : list (list Z)) (ns : list Z) : list (flow * list event) :=
  match fs, cs, ns with
  | f :: fs', c :: cs', n :: ns' => (f, flow_events f c n) :: each fs' cs' ns'
  | _, _, _ => []
  end.
Definition events_of (l : list (flow * list event)) : list event := flat_map snd l.

(** The flows with service curves, each with the events of all others. *)
Fixpoint without (before : list event) (l : list (flow * list event)) : list (flow * list event) :=
  match l with
  | [] => []
  | (f, es) :: r =>
      (if is_served f then [(f, before ++ events_of r)] else []) ++ without (before ++ es) r
  end.

Fixpoint all_sound (fs : list flow) (cs : list (list Z)) (ns : list Z) : bool :=
  match fs, cs, ns with
  | [], [], [] => true
  | f :: fs', c :: cs', n :: ns' => flow_sound f c n && all_sound fs' cs' ns'
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

(** Whether they cover them in all. *)
Definition covers_always (f : flow) (most : Z) (more : list (Z * Z)) : bool :=
  (packet f <=? most) && forallb (fun p => packet f <=? snd p) more.

(** ** The residual curve *)

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

(** The first tick at which anything of a flow can be due. *)
Definition first_of (f : flow) (cs : list Z) : Z :=
  if is_served f then match cs with first :: _ => first | [] => 0 end else due f.
Fixpoint firsts (fs : list flow) (cs : list (list Z)) : list Z :=
  match fs, cs with
  | f :: fs', c :: cs' => first_of f c :: firsts fs' cs'
  | _, _ => []
  end.
Definition least (c : certificate) : Z :=
  match firsts (flows l) (corners c) with
  | [] => 0
  | t :: r => fold_right Z.min t r
  end.

Definition all_flows (c : certificate) : list (flow * list event) := each (flows l) (corners c) (followed c).
Definition demand (c : certificate) : list event := events_of (all_flows c).
(** What packets of flows with service curves take the place of, with [blocking exact]. *)
Definition ahead (c : certificate) : list (flow * list event) := if paper l then [] else without [] (all_flows c).
Definition below_these (from more : Z) (events : list event) : bool :=
  below from (- rate l) (rate l * (nanobits (backlog l) + more)) (EventSort.sort events).

Definition sound (c : certificate) : bool :=
  (0 <? rate l) && (0 <=? backlog l) && (0 <=? best_effort l) &&
  all_sound (flows l) (corners c) (followed c) &&
  ascending 0 (block_lines (then_blocks c)) &&
  (0 <=? blocks c) && forallb (fun p => 0 <=? snd p) (then_blocks c) &&
  forallb (fun f => if is_served f then negb (paper l) || covers_always f (blocks c) (then_blocks c)
                    else covers f (blocks c) (then_blocks c)) (flows l) &&
  curve_sound (curve c) &&
  below_these (least c) (nanobits (best_effort l)) (demand c) &&
  below_these (least c) 0 (demand c ++ block_events (blocks c) (then_blocks c)) &&
  below_these 0 0 (demand c ++ block_events (blocks c) (then_blocks c) ++ curve_events (curve c)) &&
  forallb (fun o => below_these (least c) (nanobits (packet (fst o))) (snd o) &&
                    below_these 0 (nanobits (packet (fst o))) (snd o ++ curve_events (curve c))) (ahead c).

(** ** What the facts say about flows *)

(** [A k]: an envelope in nanobits over ticks; [S f]: a service curve, [L f] what a policer lets through. *)
Variable A : nat -> nat -> nat.
Variables (S L : flow -> nat -> nat).
Definition bounds (f : flow) : Prop :=
  match sends f with
  | Buckets b r more => forall burst r', In (burst, r') ((b, r) :: more) -> forall y,
      Q * Z.of_nat (A (id f) y) <= Q * nanobits burst + r' * Z.of_nat y
  | Periodic size period jitter => forall y,
      Z.of_nat (A (id f) y) <= nanobits size * ((Z.of_nat y + Q * jitter) / (Q * period) + 1)
  | Served m p more limits =>
      monotone (S f) /\
      (forall t, p_over (in_force p more (Z.of_nat t)) * (Q * Z.of_nat (S f t))
                 <= scaled (in_force p more (Z.of_nat t)) (Z.of_nat t)) /\
      (forall b, In b limits -> forall t, Q * Z.of_nat (L f t) <= Q * nanobits (fst b) + snd b * Z.of_nat t)
  end.

Variable d : nat -> nat.
Definition has_deadline (f : flow) : Prop := is_served f = true \/ d (id f) = Z.to_nat (due f).

(** Demand of a flow with a service curve, in whole packets, and of any flow. *)
Definition smallest (f : flow) : Z := match sends f with Served m _ _ _ => m | _ => 0 end.
Definition whole_demand (f : flow) (t : nat) : nat :=
  whole (Z.to_nat (nanobits (smallest f))) (Z.to_nat (nanobits (packet f))) (Nat.min (S f t) (L f t)).
Definition own (f : flow) (t : nat) : nat :=
  if is_served f then whole_demand f t else on (d (id f) <=? t)%nat (A (id f) (t - d (id f))).

Lemma linear_between x y lo hi t : x * lo + y <= 0 -> x * hi + y <= 0 -> lo <= t <= hi -> x * t + y <= 0.
Proof. intros. destruct (Z.le_gt_cases x 0); nia. Qed.

Lemma above_between e p lo hi t : above e p lo hi = true -> lo <= t ->
  (match hi with Some h => t < h | None => True end) -> above_at e p t = true.
Proof.
  unfold above, above_at, scaled, line. intros H L1 L2. apply andb_true_iff in H. destruct H as [H1 H2].
  apply Z.leb_le in H1. apply Z.leb_le.
  set (c := p_over p * rise e) in *.
  assert (E : forall x, p_over p * (rise e * x + level e) = c * x + p_over p * level e) by (intros; unfold c; ring).
  rewrite E in *. set (k := p_over p * level e) in *. set (a := rate l * p_level p) in *. set (b := p_rise p) in *.
  destruct hi as [h|].
  - apply Z.leb_le in H2. rewrite E in H2.
    pose proof (linear_between (b - c) (a - k) lo (h - 1) t) as Lb. nia.
  - apply Z.leb_le in H2. nia.
Qed.

Lemma above_all_at e r : forall p lo hi t, above_all e lo hi p r = true -> lo <= t ->
  (match hi with Some h => t < h | None => True end) -> above_at e (in_force p r t) t = true.
Proof.
  induction r as [|q r IH]; intros p lo hi t H L1 L2; cbn [above_all in_force] in *.
  - eapply above_between; eassumption.
  - destruct (Z.leb_spec (begins q) lo) as [B|B].
    + rewrite (proj2 (Z.leb_le (begins q) t)) by lia. eapply IH; eassumption.
    + destruct (is_before (begins q) hi) eqn:Bf.
      * apply andb_true_iff in H. destruct H as [H1 H2].
        destruct (Z.leb_spec (begins q) t) as [T|T].
        -- eapply IH; eassumption.
        -- eapply above_between; [exact H1|assumption|assumption].
      * destruct hi as [h|]; cbn [is_before] in Bf; [|discriminate]. apply Z.ltb_ge in Bf.
        rewrite (proj2 (Z.leb_gt (begins q) t)) by lia. eapply above_between; eassumption.
Qed.

(** No more than [j] packets are in a sum below [j + 1] of the smallest. *)
Lemma whole_at_most (m s v j : nat) : (m <= s)%nat -> (v < (j + 1) * m)%nat -> (whole m s v <= j * s)%nat.
Proof.
  intros MS V. destruct (Nat.eq_dec s 0) as [->|NZ].
  { assert (m = 0)%nat by lia. subst m. lia. }
  unfold whole. set (n := div_up v s).
  pose proof (div_up_enough v s ltac:(lia)) as En. fold n in En.
  assert (N1 : (n = 0 \/ (n - 1) * s < v)%nat).
  { unfold n, div_up. destruct (Nat.eq_dec v 0) as [->|].
    - left. rewrite Nat.div_small; lia.
    - right. pose proof (Nat.mul_div_le (v + (s - 1)) s ltac:(lia)). nia. }
  destruct (Nat.leb_spec (n * m) v).
  - assert (n <= j)%nat by nia. nia.
  - destruct N1 as [->|N1]; [lia|]. assert (n - 1 <= j)%nat; [|nia]. nia.
Qed.

Lemma whole_below (m s v : nat) : (0 < s)%nat -> (whole m s v <= v)%nat.
Proof.
  intros SP. unfold whole. set (n := div_up v s). destruct (Nat.leb_spec (n * m) v); [lia|].
  unfold n, div_up. destruct (Nat.eq_dec v 0) as [->|]; [rewrite Nat.div_small; lia|].
  pose proof (Nat.mul_div_le (v + (s - 1)) s ltac:(lia)). nia.
Qed.

Section OneCurve.
Variables (f : flow) (m : Z) (p : piece) (more : list piece) (limits : list (Z * Z)).
Hypothesis QP : 0 < Q.
Hypothesis Is : sends f = Served m p more limits.
Hypothesis B : bounds f.
Hypothesis M0 : 0 < m.
Hypothesis MS : m <= packet f.
Hypothesis Over : forall q, In q (p :: more) -> 0 < p_over q.
Hypothesis Rises : forall b, In b limits -> 0 <= snd b.

Lemma in_force_in r : forall q t, In (in_force q r t) (q :: r).
Proof.
  induction r as [|x r IH]; intros q t; cbn [in_force]; [left; reflexivity|].
  destruct (begins x <=? t); [right; apply IH|left; reflexivity].
Qed.

Lemma under_bounds t w : under (in_force p more (Z.of_nat t)) (Z.of_nat t) w = true -> Q * Z.of_nat (S f t) < w.
Proof.
  unfold under. intros U. apply Z.ltb_lt in U. unfold bounds in B. rewrite Is in B. destruct B as (_ & B2 & _).
  specialize (B2 t). pose proof (Over _ (in_force_in more p (Z.of_nat t))). nia.
Qed.

Lemma whole_demand_is : forall t, whole_demand f t =
  whole (Z.to_nat (nanobits m)) (Z.to_nat (nanobits (packet f))) (Nat.min (S f t) (L f t)).
Proof. intros t. unfold whole_demand, smallest. rewrite Is. reflexivity. Qed.

Lemma whole_demand_below t : (whole_demand f t <= Nat.min (S f t) (L f t))%nat.
Proof. rewrite whole_demand_is. apply whole_below. unfold nanobits. lia. Qed.

Lemma segment_above e hi t : segment f m p more limits e hi = true ->
  at_ e <= Z.of_nat t -> (match hi with Some h => Z.of_nat t < h | None => True end) ->
  Q * Z.of_nat (whole_demand f t) <= line e (Z.of_nat t).
Proof.
  unfold segment. intros H L1 L2. pose proof (whole_demand_below t) as Le.
  pose proof B as B'. unfold bounds in B'. rewrite Is in B'. destruct B' as (Mono & B2 & B3).
  rewrite !orb_true_iff in H. destruct H as [[H|H]|H].
  - pose proof (above_all_at _ _ _ _ _ _ H L1 L2) as Ab. unfold above_at in Ab. apply Z.leb_le in Ab.
    specialize (B2 t). pose proof (Over _ (in_force_in more p (Z.of_nat t))).
    assert (Q * Z.of_nat (S f t) <= line e (Z.of_nat t)) by nia. nia.
  - apply existsb_exists in H. destruct H as (b & Hb & H).
    pose proof (above_between _ _ _ _ _ H L1 L2) as Ab. unfold above_at, scaled, limit_piece in Ab.
    cbn [p_over p_level p_rise] in Ab. apply Z.leb_le in Ab. specialize (B3 b Hb t). unfold Q in *. nia.
  - destruct hi as [h|]; [|discriminate]. rewrite !andb_true_iff in H. destruct H as [[[R E] J] U].
    set (j := level e / work (packet f)) in *. apply Z.eqb_eq in R, E. apply Z.leb_le in J.
    assert (Flat : line e (Z.of_nat t) = j * work (packet f)) by (unfold line; nia). rewrite Flat.
    assert (HP : (whole_demand f t <= Z.to_nat j * Z.to_nat (nanobits (packet f)))%nat).
    { rewrite whole_demand_is. apply whole_at_most; [unfold nanobits; lia|].
      assert (V : Q * Z.of_nat (Nat.min (S f t) (L f t)) < (j + 1) * work m).
      { apply orb_true_iff in U. destruct U as [U|U].
        - assert (H0 : Z.of_nat (Z.to_nat (h - 1)) = h - 1) by lia. rewrite <- H0 in U.
          apply under_bounds in U. pose proof (Mono t (Z.to_nat (h - 1)) ltac:(lia)). nia.
        - apply existsb_exists in U. destruct U as (b & Hb & U). unfold under, limit_piece, scaled in U.
          cbn [p_over p_level p_rise] in U. apply Z.ltb_lt in U. specialize (B3 b Hb t). specialize (Rises b Hb).
          assert (snd b * Z.of_nat t <= snd b * (h - 1)) by nia. unfold Q in *. nia. }
      unfold work in V. fold Q in V.
      assert (V' : Z.of_nat (Nat.min (S f t) (L f t)) < (j + 1) * nanobits m) by nia.
      enough (Z.of_nat (Nat.min (S f t) (L f t)) < Z.of_nat ((Z.to_nat j + 1) * Z.to_nat (nanobits m))) by lia.
      rewrite Nat2Z.inj_mul, Nat2Z.inj_add, !Z2Nat.id by (unfold nanobits; lia). lia. }
    assert (HZ : Z.of_nat (whole_demand f t) <= j * nanobits (packet f)).
    { apply Nat2Z.inj_le in HP. rewrite Nat2Z.inj_mul, !Z2Nat.id in HP by (unfold nanobits; lia). exact HP. }
    unfold work. fold Q. nia.
Qed.

Lemma segments_above r : forall e t, segments f m p more limits e r = true -> at_ e <= Z.of_nat t ->
  Q * Z.of_nat (whole_demand f t) <= line_at (rise e) (level e) r (Z.of_nat t).
Proof.
  induction r as [|x r IH]; intros e t H T; cbn [segments line_at] in *.
  - apply (segment_above e None t H T I).
  - apply andb_true_iff in H. destruct H as [H1 H2].
    destruct (Z.leb_spec (at_ x) (Z.of_nat t)); [apply IH; assumption|].
    apply (segment_above e (Some (at_ x)) t H1 T). assumption.
Qed.
End OneCurve.

Lemma curve_value e r t : at_ e = 0 -> ascending 0 r = true -> 0 <= t ->
  value (curve_events (e :: r)) t = line_at (rise e) (level e) r t.
Proof.
  intros E0 O T. cbn [curve_events value]. rewrite E0, (proj2 (Z.leb_le 0 t)) by assumption.
  rewrite <- (replaced_value _ _ _ 0 t O). lia.
Qed.

Lemma flow_events_above f cs n t :
  0 < Q -> flow_sound f cs n = true -> bounds f -> has_deadline f ->
  Q * Z.of_nat (own f t) <= value (flow_events f cs n) (Z.of_nat t).
Proof.
  intros QP H B D. unfold flow_sound in H. apply andb_true_iff in H. destruct H as [H0 H]. apply Z.leb_le in H0.
  assert (D0 : 0 <= due f) by (unfold due; fold Q; nia).
  unfold has_deadline in D. pose proof B as B'. unfold bounds in B. unfold flow_events, own.
  destruct (sends f) as [b r more|size period jitter|m p more limits] eqn:Is;
    unfold is_served in *; rewrite Is in *.
  - destruct D as [D|D]; [discriminate|].
    assert (Cases : (d (id f) <=? t)%nat = (due f <=? Z.of_nat t)).
    { destruct (Nat.leb_spec (d (id f)) t), (Z.leb_spec (due f) (Z.of_nat t)); try reflexivity; lia. }
    cbn [value bucket_line at_ rise level]. rewrite Cases.
    destruct (Z.leb_spec (due f) (Z.of_nat t)) as [Lt|Lt]; cbn [on].
    + set (b0 := rate l * nanobits b - r * due f).
      rewrite (replaced_value _ r b0 (due f) (Z.of_nat t) H).
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
    + rewrite value_before; [lia|]. intros e He. pose proof (replaced_from _ _ _ _ H e He). lia.
  - destruct D as [D|D]; [discriminate|].
    assert (Cases : (d (id f) <=? t)%nat = (due f <=? Z.of_nat t)).
    { destruct (Nat.leb_spec (d (id f)) t), (Z.leb_spec (due f) (Z.of_nat t)); try reflexivity; lia. }
    rewrite !andb_true_iff in H. destruct H as [[P1 P2] P3]. apply Z.ltb_lt in P1. apply Z.leb_le in P2, P3.
    assert (PP : 0 < rate l * period) by (fold Q; nia).
    assert (SS : 0 <= rate l * nanobits size) by (unfold nanobits; fold Q; nia).
    destruct (stair_events_above (due f) _ _ (rate l * jitter) PP SS (Z.to_nat n) (Z.of_nat t)
                ltac:(fold Q; nia)) as [V1 V2].
    rewrite Cases. destruct (Z.leb_spec (due f) (Z.of_nat t)) as [Lt|Lt]; cbn [on].
    + specialize (V1 Lt). eapply Z.le_trans; [|exact V1].
      specialize (B (t - d (id f))%nat).
      replace (Z.of_nat (t - d (id f))) with (Z.of_nat t - due f) in B by lia. unfold Q in *. nia.
    + rewrite (V2 Lt). lia.
  - rewrite !andb_true_iff in H. destruct H as [[[[[H1 H2] H3] H4] _] H5].
    apply Z.ltb_lt in H1. apply Z.leb_le in H2. rewrite forallb_forall in H3, H4.
    destruct (served_lines f n) as [|e r]; [discriminate|]. rewrite !andb_true_iff in H5.
    destruct H5 as [[E0 O] Sg]. apply Z.eqb_eq in E0.
    rewrite (curve_value e r _ E0 O) by lia.
    apply (segments_above f m p more limits QP Is B' H1 H2); try assumption.
    + intros q Hq. specialize (H3 q Hq). apply andb_true_iff in H3. apply Z.ltb_lt, H3.
    + intros b Hb. specialize (H4 b Hb). apply Z.leb_le, H4.
    + lia.
Qed.

(** What all flows demand. *)
Definition all_demand (fs : list flow) (t : nat) : nat := sumf (fun f => own f t) fs.

Lemma each_above fs : forall cs ns,
  0 < Q -> all_sound fs cs ns = true -> (forall f, In f fs -> bounds f /\ has_deadline f) ->
  map fst (each fs cs ns) = fs /\
  forall x, In x (each fs cs ns) -> forall t, Q * Z.of_nat (own (fst x) t) <= value (snd x) (Z.of_nat t).
Proof.
  induction fs as [|f fs IH]; intros [|c cs] [|n ns] QP H Facts; cbn in H; try discriminate.
  - split; [reflexivity|]. intros x [].
  - apply andb_true_iff in H. destruct H as [H1 H2].
    destruct (IH cs ns QP H2 (fun f' Hf => Facts f' (or_intror Hf))) as [E Ab]. cbn [each map fst]. rewrite E.
    split; [reflexivity|]. intros x [<-|Hx] t; [|apply Ab; assumption]. cbn [fst snd].
    destruct (Facts f (or_introl eq_refl)) as [B D]. apply flow_events_above; assumption.
Qed.

Lemma events_above (fl : list (flow * list event)) t :
  (forall x, In x fl -> Q * Z.of_nat (own (fst x) t) <= value (snd x) (Z.of_nat t)) ->
  Q * Z.of_nat (all_demand (map fst fl) t) <= value (events_of fl) (Z.of_nat t).
Proof.
  unfold all_demand. induction fl as [|x fl IH]; intros H; [cbn; lia|].
  cbn [events_of flat_map map sumf]. rewrite value_app.
  specialize (IH (fun y Hy => H y (or_intror Hy))). specialize (H x (or_introl eq_refl)). unfold events_of in IH. lia.
Qed.

(** The events of the others are above what they demand. *)
Lemma without_above (fl : list (flow * list event)) : forall before t w,
  (forall x, In x fl -> Q * Z.of_nat (own (fst x) t) <= value (snd x) (Z.of_nat t)) ->
  Q * w <= value before (Z.of_nat t) ->
  forall f, In f (map fst fl) -> is_served f = true -> exists o, In (f, o) (without before fl) /\
    Q * (w + Z.of_nat (all_demand (map fst fl) t) - Z.of_nat (own f t)) <= value o (Z.of_nat t).
Proof.
  induction fl as [|[g es] fl IH]; intros before t w H W f Hf Sf; [destruct Hf|].
  cbn [map fst] in Hf. cbn [without map fst]. unfold all_demand. cbn [sumf]. fold (all_demand (map fst fl) t).
  pose proof (H (g, es) (or_introl eq_refl)) as Hg. cbn [fst snd] in Hg.
  assert (Rest : forall x, In x fl -> Q * Z.of_nat (own (fst x) t) <= value (snd x) (Z.of_nat t)).
  { intros x Hx. apply H. right. assumption. }
  destruct Hf as [->|Hf].
  - rewrite Sf. exists (before ++ events_of fl). split; [left; reflexivity|]. rewrite value_app.
    pose proof (events_above fl t Rest). lia.
  - destruct (IH (before ++ es) t (w + Z.of_nat (own g t)) Rest ltac:(rewrite value_app; lia) f Hf Sf)
      as (o & Ho & Le).
    exists o. split; [apply in_or_app; right; assumption|]. lia.
Qed.

(** Flows with deadlines, and those with service curves. *)
Definition with_deadlines : list flow := filter (fun f => negb (is_served f)) (flows l).
Definition with_curves : list flow := filter is_served (flows l).

Lemma all_demand_is t : all_demand (flows l) t
  = (rt_demand (map id with_deadlines) A d t + sumf (fun f => whole_demand f t) with_curves)%nat.
Proof.
  unfold all_demand, rt_demand, with_deadlines, with_curves. induction (flows l) as [|f r IH]; [reflexivity|].
  cbn [sumf filter]. rewrite IH. unfold own at 1. unfold flow_demand.
  destruct (is_served f); cbn [negb map sumf]; unfold flow_demand; lia.
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
  - destruct (Z.leb_spec (rate l * until) (Z.of_nat t)) as [Lt|Lt]; [|unfold Q in *; nia].
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

(** What may block an interval, of all flows: a packet of a flow that was served ahead takes the place of what the
    flow demands. *)
Definition blockers (c : certificate) (t : nat) : nat :=
  Nat.max (blocking c t)
    (fold_right (fun f m => Nat.max (Z.to_nat (nanobits (packet f)) - whole_demand f t) m) 0%nat with_curves).

Lemma blockers_are c t : blockers c t = blocking c t \/
  exists f, In f with_curves /\ blockers c t = (Z.to_nat (nanobits (packet f)) - whole_demand f t)%nat.
Proof.
  unfold blockers. generalize (blocking c t) as b. intros b. induction with_curves as [|f r IH]; cbn [fold_right].
  - left. lia.
  - set (x := fold_right _ _ r) in *. set (y := (_ - _)%nat) in *.
    destruct (Nat.max_spec b (Nat.max y x)) as [[_ E]|[_ E]]; [|left; exact E].
    destruct (Nat.max_spec y x) as [[_ E2]|[_ E2]].
    + destruct IH as [IH|(g & Hg & IH)]; [left; lia|]. right. exists g. split; [right; assumption|]. lia.
    + right. exists f. split; [left; reflexivity|]. lia.
Qed.

Lemma blockers_cover c t f : In f with_curves ->
  (Z.to_nat (nanobits (packet f)) <= whole_demand f t + blockers c t)%nat.
Proof.
  unfold blockers. induction with_curves as [|g r IH]; intros H; [destruct H|]. cbn [fold_right].
  destruct H as [->|H]; [lia|].
  specialize (IH H). lia.
Qed.

Lemma always_covered f c t :
  0 < Q -> covers_always f (blocks c) (then_blocks c) = true ->
  Q * nanobits (packet f) <= line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t).
Proof.
  intros QP H. unfold covers_always in H. apply andb_true_iff in H. destruct H as [H1 H2]. apply Z.leb_le in H1.
  rewrite forallb_forall in H2. unfold nanobits, Q in *.
  destruct (line_at_one (block_lines (then_blocks c)) 0 (rate l * (8000000000 * blocks c)) (Z.of_nat t))
    as [->|(e & He & _ & ->)]; [nia|].
  apply in_map_iff in He. destruct He as (p & <- & Hp). specialize (H2 p Hp). apply Z.leb_le in H2.
  cbn [rise level]. unfold nanobits. nia.
Qed.

Lemma sound_of fs : forall cs ns f, all_sound fs cs ns = true -> In f fs ->
  exists k n, In (first_of f k) (firsts fs cs) /\ flow_sound f k n = true.
Proof.
  induction fs as [|g fs IH]; intros [|c cs] [|n ns] f H Hf; cbn in H; try discriminate; [destruct Hf|].
  apply andb_true_iff in H. destruct H as [H1 H2]. cbn [firsts]. destruct Hf as [->|Hf].
  - exists c, n. split; [left; reflexivity|assumption].
  - destruct (IH cs ns f H2 Hf) as (k & m & Hk & Sk). exists k, m. split; [right|]; assumption.
Qed.

Lemma least_is_least c x : In x (firsts (flows l) (corners c)) -> least c <= x.
Proof.
  unfold least. intros H. destruct (firsts (flows l) (corners c)) as [|t r]; [destruct H|].
  assert (G : forall y, In y r -> fold_right Z.min t r <= y).
  { clear. induction r as [|z r IH]; intros y []; simpl; [subst; lia|]. specialize (IH y H). lia. }
  destruct H as [<-|H]; [|apply G; assumption]. clear. induction r; simpl; lia.
Qed.

(** ** Theorem: what passes the check proves the premises of admission

    The facts are the buckets, periods and deadlines of the flows, their service curves, and the packets. *)
Theorem certificate_is_sound c :
  sound c = true -> (forall f, In f (flows l) -> bounds f /\ has_deadline f) ->
  let bound t := (all_demand (flows l) t + Z.to_nat (nanobits (backlog l)))%nat in
  let s_be := Z.to_nat (nanobits (best_effort l)) in
  admitted bound s_be (blockers c) (Z.to_nat (least c)) /\
  residual bound (blockers c) (residual_curve c) 0 /\
  monotone (residual_curve c) /\
  (forall k, In k (map id with_deadlines) -> (Z.to_nat (least c) <= d k)%nat) /\
  (forall f t, In f with_curves -> (Z.to_nat (nanobits (smallest f)) <= S f t)%nat -> (Z.to_nat (least c) <= t)%nat) /\
  (forall f t, In f with_deadlines -> (t < d (id f))%nat -> (Z.to_nat (nanobits (packet f)) <= blockers c t)%nat) /\
  (forall f t, In f with_curves -> (Z.to_nat (nanobits (packet f)) <= whole_demand f t + blockers c t)%nat).
Proof.
  intros C H bound s_be. unfold sound, below_these in C. rewrite !andb_true_iff in C.
  destruct C as [[[[[[[[[[[[QP B0] E0] Fs] Bo] M0] Mr] Co] Cu] C1] C2] C3] C4].
  apply Z.ltb_lt in QP. apply Z.leb_le in B0, E0, M0. fold Q in QP.
  destruct (each_above _ _ _ QP Fs H) as [Fst Each]. fold (all_flows c) in Fst, Each.
  set (D := demand c) in *.
  assert (Above : forall t, Q * Z.of_nat (all_demand (flows l) t) <= value D (Z.of_nat t)).
  { intros t. rewrite <- Fst. apply events_above. intros x Hx. apply Each. assumption. }
  assert (Block : forall t, Q * Z.of_nat (blocking c t) <=
                  value (block_events (blocks c) (then_blocks c)) (Z.of_nat t)).
  { intros t. rewrite (block_value c t Bo). unfold blocking.
    pose proof (block_not_negative c t QP M0 Mr). set (x := line_at _ _ _ _) in *.
    pose proof (Z.mul_div_le x (rate l) QP). pose proof (Z.div_pos x (rate l) ltac:(assumption) QP).
    rewrite Z2Nat.id by lia. unfold Q. lia. }
  pose proof (sweep_bounds_the_sum _ _ _ _ C1) as S1.
  pose proof (sweep_bounds_the_sum _ _ _ _ C2) as S2.
  pose proof (sweep_bounds_the_sum _ _ _ _ C3) as S3.
  rewrite forallb_forall in Co, C4.
  assert (NB : 0 <= nanobits (backlog l) /\ 0 <= nanobits (best_effort l)) by (unfold nanobits; lia).
  assert (Sizes : forall f, In f with_curves -> In f (flows l) /\ is_served f = true).
  { intros f Hf. apply filter_In in Hf. exact Hf. }
  (* A packet that was served ahead blocks no more than others, or in the place of its flow. *)
  assert (Paper : forall f t, In f with_curves -> paper l = true ->
            (Z.to_nat (nanobits (packet f)) <= blocking c t)%nat).
  { intros f t Hf P. destruct (Sizes f Hf) as [Hl Sf]. specialize (Co f Hl). rewrite Sf, P in Co.
    cbn [negb orb] in Co. pose proof (always_covered f c t QP Co) as Cv. unfold blocking.
    assert (nanobits (packet f) <= line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t) / rate l).
    { apply Z.div_le_lower_bound; assumption. }
    lia. }
  assert (Ahead : forall f t, In f with_curves -> paper l = false -> exists o, In (f, o) (ahead c) /\
            Q * (Z.of_nat (all_demand (flows l) t) - Z.of_nat (whole_demand f t)) <= value o (Z.of_nat t)).
  { intros f t Hf P. destruct (Sizes f Hf) as [Hl Sf]. unfold ahead. rewrite P.
    destruct (without_above (all_flows c) [] t 0 (fun x Hx => Each x Hx t) ltac:(cbn; lia) f
                ltac:(rewrite Fst; assumption) Sf) as (o & Ho & Le).
    exists o. split; [assumption|]. rewrite Fst in Le. unfold own in Le. rewrite Sf in Le. lia. }
  assert (Curve : forall t, (0 < residual_curve c t)%nat ->
            Q * Z.of_nat (residual_curve c t) <= value (curve_events (curve c)) (Z.of_nat t)).
  { intros t Pos. unfold residual_curve, curve_sound in *. destruct (curve c) as [|e r]; [lia|].
    rewrite !andb_true_iff in Cu. destruct Cu as [[Ce Or] _]. apply Z.eqb_eq in Ce.
    rewrite (curve_value e r _ Ce Or) by lia. set (x := line_at _ _ _ _) in *.
    pose proof (Z.mul_div_le x (rate l) QP). rewrite Z2Nat.id by lia. unfold Q. lia. }
  split; [|split; [|split; [|split; [|split; [|split]]]]].
  - intros t Ht. unfold bound, s_be.
    assert (One : (all_demand (flows l) t + Z.to_nat (nanobits (backlog l)) + Z.to_nat (nanobits (best_effort l)) <= t)%nat).
    { specialize (S1 (Z.of_nat t) ltac:(lia)). specialize (Above t).
      apply Nat2Z.inj_le. rewrite !Nat2Z.inj_add, !Z2Nat.id by lia. unfold Q in *. nia. }
    enough (all_demand (flows l) t + Z.to_nat (nanobits (backlog l)) + blockers c t <= t)%nat by lia.
    assert (Two : (all_demand (flows l) t + Z.to_nat (nanobits (backlog l)) + blocking c t <= t)%nat).
    { specialize (S2 (Z.of_nat t) ltac:(lia)). rewrite value_app in S2. specialize (Above t). specialize (Block t).
      apply Nat2Z.inj_le. rewrite !Nat2Z.inj_add, !Z2Nat.id by lia. unfold Q in *. nia. }
    destruct (blockers_are c t) as [->|(f & Hf & ->)]; [assumption|].
    destruct (paper l) eqn:P; [specialize (Paper f t Hf eq_refl); lia|].
    destruct (Ahead f t Hf eq_refl) as (o & Ho & Le). specialize (C4 (f, o) Ho). cbn [fst snd] in C4.
    apply andb_true_iff in C4. destruct C4 as [C4 _].
    pose proof (sweep_bounds_the_sum _ _ _ _ C4 (Z.of_nat t) ltac:(lia)) as S4.
    destruct (Nat.le_gt_cases (Z.to_nat (nanobits (packet f))) (whole_demand f t)) as [G|G]; [lia|].
    apply Nat2Z.inj_le. rewrite !Nat2Z.inj_add, Nat2Z.inj_sub, !Z2Nat.id by lia. unfold Q in *. nia.
  - intros t _ Pos. unfold bound.
    pose proof (Curve t Pos) as Cv.
    assert (Two : (residual_curve c t + (all_demand (flows l) t + Z.to_nat (nanobits (backlog l))) + blocking c t <= t)%nat).
    { specialize (S3 (Z.of_nat t) ltac:(lia)). rewrite !value_app in S3. specialize (Above t). specialize (Block t).
      apply Nat2Z.inj_le. rewrite !Nat2Z.inj_add, !Z2Nat.id by lia. unfold Q in *. nia. }
    destruct (blockers_are c t) as [->|(f & Hf & ->)]; [assumption|].
    destruct (paper l) eqn:P; [specialize (Paper f t Hf eq_refl); lia|].
    destruct (Ahead f t Hf eq_refl) as (o & Ho & Le). specialize (C4 (f, o) Ho). cbn [fst snd] in C4.
    apply andb_true_iff in C4. destruct C4 as [_ C4].
    pose proof (sweep_bounds_the_sum _ _ _ _ C4 (Z.of_nat t) ltac:(lia)) as S4. rewrite value_app in S4.
    destruct (Nat.le_gt_cases (Z.to_nat (nanobits (packet f))) (whole_demand f t)) as [G|G]; [lia|].
    apply Nat2Z.inj_le. rewrite !Nat2Z.inj_add, Nat2Z.inj_sub, !Z2Nat.id by lia. unfold Q in *. nia.
  - intros s t ST. unfold residual_curve, curve_sound in *. destruct (curve c) as [|e r]; [lia|].
    rewrite !andb_true_iff in Cu. destruct Cu as [[Ce Or] Ri].
    pose proof (rising_monotone r 0 (rise e) (level e) (Z.of_nat s) (Z.of_nat t) Ri ltac:(lia) ltac:(lia)) as M.
    pose proof (Z.div_le_mono _ _ (rate l) QP M). lia.
  - intros k Hk. apply in_map_iff in Hk. destruct Hk as (f & <- & Hf). apply filter_In in Hf. destruct Hf as [Hf Nf].
    destruct (H f Hf) as [_ Df]. unfold has_deadline in Df. destruct (is_served f) eqn:Sf; [discriminate|].
    destruct Df as [Df|Df]; [discriminate|]. rewrite Df.
    destruct (sound_of _ _ _ f Fs Hf) as (k & n & Hk & _). pose proof (least_is_least c _ Hk) as Lk.
    unfold first_of in Lk. rewrite Sf in Lk. lia.
  - intros f t Hf Reach. destruct (Sizes f Hf) as [Hl Sf].
    destruct (sound_of _ _ _ f Fs Hl) as (k & n & Hk & Sk). pose proof (least_is_least c _ Hk) as Lk.
    unfold first_of in Lk. rewrite Sf in Lk. destruct (H f Hl) as [B _].
    unfold flow_sound in Sk. pose proof B as B'. unfold bounds in B. unfold is_served in Sf. unfold smallest in Reach.
    destruct (sends f) as [| |m p more limits] eqn:Is; try discriminate.
    rewrite !andb_true_iff in Sk. destruct Sk as [_ [[[[[K1 K2] K3] K4] K5] _]].
    destruct k as [|first [|x k]]; try discriminate. apply andb_true_iff in K5. destruct K5 as [F0 U].
    apply Z.ltb_lt in F0, K1. destruct (Nat.le_gt_cases (Z.to_nat (least c)) t) as [|G]; [assumption|exfalso].
    rewrite forallb_forall in K3.
    assert (Over : forall q, In q (p :: more) -> 0 < p_over q).
    { intros q Hq. specialize (K3 q Hq). apply andb_true_iff in K3. apply Z.ltb_lt, K3. }
    assert (F1 : Z.of_nat (Z.to_nat (first - 1)) = first - 1) by lia. rewrite <- F1 in U.
    pose proof (under_bounds f m p more limits Is B' Over _ _ U) as V.
    destruct B as (Mono & _). pose proof (Mono t (Z.to_nat (first - 1)) ltac:(lia)) as Mt.
    unfold work in V. fold Q in V. assert (Z.of_nat (S f (Z.to_nat (first - 1))) < nanobits m) by nia. lia.
  - intros f t Hf Ht. apply filter_In in Hf. destruct Hf as [Hf Nf].
    destruct (H f Hf) as [_ Df]. unfold has_deadline in Df. destruct (is_served f) eqn:Sf; [discriminate|].
    destruct Df as [Df|Df]; [discriminate|]. specialize (Co f Hf). rewrite Sf in Co.
    assert (T : Z.of_nat t < due f) by lia.
    pose proof (covered f (then_blocks c) (blocks c) t QP Co T) as Cv. unfold blockers, blocking.
    assert (nanobits (packet f) <= line_at 0 (rate l * nanobits (blocks c)) (block_lines (then_blocks c)) (Z.of_nat t) / rate l).
    { apply Z.div_le_lower_bound; assumption. }
    lia.
  - intros f t Hf. apply blockers_cover. assumption.
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

Definition last_followed (f : flow) (n : Z) : option event := nth_error (served_lines f n) (Z.to_nat (n - 1)).

Definition flow_canonical (h : Z) (f : flow) (cs : list Z) (n : Z) : bool :=
  match sends f with
  | Buckets b r more => corners_are f (bucket_line f (due f) b r) cs more && (n =? 0)
  | Periodic _ period jitter =>
      match cs with [] => true | _ => false end && (n =? steps_before (due f) (rate l * period) (rate l * jitter) h)
  | Served m p more _ =>
      (* The first tick at which the smallest packet is reached; all lines that begin before the horizon. *)
      match cs with
      | [first] => let q := in_force p more first in p_over q * work m <=? scaled q first
      | _ => false
      end &&
      (0 <=? n) && (n <=? Z.of_nat (length (served_lines f n))) &&
      ((n =? 0) || match last_followed f n with Some e => at_ e <? h | None => false end) &&
      match nth_error (served_lines f n) (Z.to_nat n) with Some e => h <=? at_ e | None => true end
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
      | Served _ _ _ _ =>
          (0 <? n) && match last_followed f n with Some e => h =? at_ e + 1 | None => false end
      end || horizon_is h fs' ns'
  | _, _ => false
  end.

(** Each level is that of a packet that blocks until then. *)
Fixpoint blocks_are (most : Z) (more : list (Z * Z)) : bool :=
  match more with
  | [] => most =? 0
  | (until, next) :: r =>
      existsb (fun f => negb (is_served f) && (packet f =? most) && (deadline f =? until)) (flows l) &&
      (next <? most) && blocks_are next r
  end.

Definition canonical (c : certificate) : bool :=
  flows_canonical (horizon c) (flows l) (corners c) (followed c) &&
  ((horizon c =? 0) || horizon_is (horizon c) (flows l) (followed c)) &&
  (if paper l
   then (blocks c =? fold_right (fun f m => Z.max (packet f) m) (best_effort l) (flows l)) &&
        match then_blocks c with [] => true | _ => false end
   else blocks_are (blocks c) (then_blocks c)) &&
  (let left more events := remainder 0 (rate l) (- rate l * (nanobits (backlog l) + more)) (EventSort.sort events) in
   let beside_best_effort := left (nanobits (best_effort l)) (demand c) in
   let beside_blocks := left 0 (demand c ++ block_events (blocks c) (then_blocks c)) in
   let beside_ahead := map (fun o => left (nanobits (packet (fst o))) (snd o)) (ahead c) in
   let curve_of lines := joined (fst (least_to_come lines)) in
   match fold_left (lowest (least c)) (beside_best_effort :: beside_blocks :: beside_ahead) None with
   | Some (t, v) => (binding c =? t) && (residual_there c =? v)
   | None => false
   end &&
   same_events (curve c) (fold_left least_of (map curve_of beside_ahead) (curve_of beside_blocks))).

Definition accepts (c : certificate) : bool := sound c && canonical c.
End Link.

(** ** Theorem: a link with an accepted certificate keeps every real-time deadline

    Sizes are nanobits, times ticks; the rule for best effort is any that is safe for the certified curve. [env]: the
    packets of flows with deadlines. [curves f]: the packets of a flow with a service curve, its curve, and what a
    policer lets through, which without one is whatever it sends. *)
Theorem certified_link_keeps_real_time (l : link) (c : certificate) {packet : Type}
    (arr size dl start : packet -> nat) (env be : list packet) (curves : flow -> curve_flow packet)
    (flow_of : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat) assign resets :
  let served_flows := map curves (with_curves l) in
  let rt := env ++ flat_map c_queue served_flows in
  accepts l c = true ->
  (forall f, In f (flows l) ->
     bounds l A (fun f => c_curve (curves f)) (fun f => c_limit (curves f)) f /\ has_deadline l d f) ->
  edf_run arr size dl start (rt ++ be) ->
  conforming arr size dl env (map id (with_deadlines l)) flow_of A d ->
  (forall f, In f (with_curves l) ->
     served arr size dl start env be served_flows (curves f) /\
     (forall w t, (w <= c_curve (curves f) t)%nat -> (c_inverse (curves f) w <= t)%nat) /\
     c_least (curves f) = Z.to_nat (nanobits (smallest f)) /\
     c_most (curves f) = Z.to_nat (nanobits (Certificate.packet f))) ->
  (forall p, In p be -> (size p <= Z.to_nat (nanobits (best_effort l)))%nat) ->
  (forall p f, In p env -> In f (with_deadlines l) -> id f = flow_of p ->
     (size p <= Z.to_nat (nanobits (Certificate.packet f)))%nat) ->
  safe_assigner (residual_curve l c) assign ->
  released_in_order arr be -> resets_when_idle arr size start rt be resets ->
  assigned arr size dl assign resets [] 0 be ->
  forall p, In p rt -> (fin size start p <= dl p)%nat.
Proof.
  intros served_flows rt Acc Facts Run Conf Curves Be Env Safe Ord RI As.
  apply andb_true_iff in Acc. destruct Acc as [Snd _].
  set (S := fun f => c_curve (curves f)) in *. set (L := fun f => c_limit (curves f)) in *.
  destruct (certificate_is_sound l A S L d c Snd Facts) as (Adm & Res & Mono & Least & Reach & Block & Cover).
  assert (Demand : forall f t, In f (with_curves l) -> curve_demand (curves f) t = whole_demand S L f t).
  { intros f t Hf. destruct (Curves f Hf) as (_ & _ & Lo & Hi). unfold curve_demand, whole_demand.
    rewrite Lo, Hi. reflexivity. }
  assert (Bound : forall t, (bound_of_both served_flows (map id (with_deadlines l)) A d t
                             <= all_demand A S L d (flows l) t + Z.to_nat (nanobits (backlog l)))%nat).
  { intros t. rewrite all_demand_is. unfold bound_of_both, served_flows.
    assert (E : sumf (fun f => curve_demand f t) (map curves (with_curves l))
                = sumf (fun f => whole_demand S L f t) (with_curves l)).
    { clear -Demand. induction (with_curves l) as [|f r IH]; [reflexivity|]. cbn [map sumf].
      rewrite IH by (intros g s Hg; apply Demand; right; assumption).
      rewrite (Demand f t (or_introl eq_refl)). reflexivity. }
    rewrite E. lia. }
  assert (Of : forall f, In f served_flows -> exists g, f = curves g /\ In g (with_curves l)).
  { intros f Hf. apply in_map_iff in Hf. destruct Hf as (g & <- & Hg). exists g. split; [reflexivity|assumption]. }
  apply (service_curves_keep_deadlines arr size dl start env be served_flows (map id (with_deadlines l)) flow_of A d
           (residual_curve l c) assign resets (Z.to_nat (least l c)) (Z.to_nat (nanobits (best_effort l)))
           (blockers l S L c)); try assumption.
  - intros f Hf. destruct (Of f Hf) as (g & -> & Hg). apply (Curves g Hg).
  - intros f w t Hf. destruct (Of f Hf) as (g & -> & Hg). apply (Curves g Hg).
  - intros p t Hp T. pose proof (of_a_flow _ _ _ _ _ _ _ _ Conf p Hp) as In_flow. apply in_map_iff in In_flow.
    destruct In_flow as (f & Id & Hf). specialize (Env p f Hp Hf Id). specialize (Block f t Hf).
    rewrite Id in Block. specialize (Block T). lia.
  - intros f t Hf. destruct (Of f Hf) as (g & -> & Hg). rewrite (Demand g t Hg).
    destruct (Curves g Hg) as (_ & _ & _ & ->). apply Cover. assumption.
  - intros f Hf. destruct (Of f Hf) as (g & -> & Hg). destruct (Curves g Hg) as (Sv & _ & Lo & _).
    apply (Reach g _ Hg). rewrite <- Lo. apply (inverse _ _ _ _ _ _ _ _ _ _ _ (proj1 Sv)).
  - intros t Ht. specialize (Adm t Ht). specialize (Bound t). cbv beta in Adm. lia.
  - intros t _ Pos. specialize (Res t ltac:(lia) Pos). specialize (Bound t). cbv beta in Res. lia.
Qed.
