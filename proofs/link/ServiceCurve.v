(** * Flows with service curves (SCED) beside flows with envelopes and best effort

    A flow [k] with a service curve [S k] needs no envelope. A *start* is a packet at whose arrival none
    of its flow waits or is being sent. The packet that ends [w] bytes after start [f] is due no earlier
    than arr f + Sinv(w), for each start before it (since the link was idle, when starts are forgotten).
    Code: crates/curve/src/service/deadlines.rs, crates/link/src/pipeline/served.rs; the admission test
    in crates/curve/src/service/admission.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Envelopes link.Assigner link.Lines.
Import ListNotations.

(** ** Whole packets: the largest sum of sizes in [m, s] that is not above [v], or more *)
Definition whole (m s v : nat) : nat :=
  let n := div_up v s in if n * m <=? v then v else (n - 1) * s.

Lemma whole_sum {packet} (size : packet -> nat) (m s v : nat) (c : packet -> bool) (l : list packet) :
  0 < s -> (forall p, In p l -> m <= size p <= s) ->
  sumf (fun p => on (c p) (size p)) l <= v -> sumf (fun p => on (c p) (size p)) l <= whole m s v.
Proof.
  intros SP Sz Le.
  assert (Count : exists j, j * m <= sumf (fun p => on (c p) (size p)) l <= j * s).
  { clear Le. induction l as [|x r IH]; [exists 0; simpl; lia|].
    destruct IH as (j & Hj); [intros; apply Sz; right; assumption|].
    specialize (Sz x (or_introl eq_refl)). simpl. destruct (c x); cbn [on].
    - exists (S j). simpl. lia.
    - exists j. lia. }
  destruct Count as (j & Hj). unfold whole. set (n := div_up v s).
  destruct (Nat.leb_spec (n * m) v) as [|N]; [assumption|].
  assert (j < n) by nia. assert (j * s <= (n - 1) * s) by (apply Nat.mul_le_mono_r; lia). lia.
Qed.

(** The packets that count lie between the first and the last of them, and none before the first. *)
Lemma counted_stretch {packet} (size : packet -> nat) (c : packet -> bool) (l : list packet) :
  sumf (fun q => on (c q) (size q)) l = 0 \/
  exists u f v w, l = u ++ (f :: v) ++ w /\ c f = true /\ c (last v f) = true /\
    (forall g, In g u -> c g = false \/ size g = 0) /\
    sumf (fun q => on (c q) (size q)) l <= sumf size (f :: v).
Proof.
  induction l as [|x r IH]; [left; reflexivity|]. simpl. destruct (c x) eqn:Cx; cbn [on].
  - right. destruct IH as [Z|(u & f & v & w & -> & Cf & Cl & _ & Le)].
    + exists [], x, [], r. simpl. repeat split; try assumption; try tauto. lia.
    + exists [], x, (u ++ f :: v), w. simpl. repeat split; try tauto.
      * rewrite <- app_assoc. reflexivity.
      * assert (Last : forall (l : list packet) z, last (l ++ f :: v) z = last v f).
        { clear. intros l. induction l as [|y l IHl]; intros z; cbn [app]; rewrite last_cons;
            [reflexivity|apply IHl]. }
        rewrite Last. assumption.
      * rewrite (sumf_app size). cbn [sumf app] in *. lia.
  - destruct IH as [Z|(u & f & v & w & -> & Cf & Cl & Fi & Le)]; [left; assumption|right].
    exists (x :: u), f, v, w. repeat split; try assumption.
    intros g [<-|Hg]; [left; assumption|apply Fi; assumption].
Qed.

Section ServiceCurve.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Notation fin := (Edf.fin size start).
Variables (rt be : list packet).
Notation busy_since := (Deadlines.busy_since arr size dl start rt be).
Notation no_idle_between := (Deadlines.no_idle_between arr size start rt be).
Notation demand := (Edf.demand arr size dl).

(** ** One flow

    [queue]: its packets in the order in which they are accepted and sent. *)
Variables (queue : list packet) (S Sinv : nat -> nat) (m s : nat).

(** Of the packets [u] before [f] none waits or is being sent at the arrival of [f]. *)
Definition is_start (u : list packet) (f : packet) : Prop := forall g, In g u -> fin g <= arr f.

Record served_by_curve : Prop := {
  in_run : forall p, In p queue -> In p (rt ++ be);
  sizes : forall p, In p queue -> m <= size p <= s;
  s_positive : 0 < s;
  fifo : released_in_order arr queue;
  (** Deadlines of a flow do not fall, between idle instants. *)
  deadlines_in_order : forall u i v n w, queue = u ++ i :: v ++ n :: w ->
    no_idle_between (arr i) (arr n) -> dl i <= dl n;
  (** The deadline of each packet from each start before it on, or later. *)
  deadline_from_starts : forall u f v w, queue = u ++ (f :: v) ++ w -> is_start u f ->
    no_idle_between (arr f) (arr (last v f)) ->
    arr f + Sinv (sumf size (f :: v)) <= dl (last v f);
  curve_monotone : monotone S;
  inverse : forall w, w <= S (Sinv w)
}.

(** A busy interval, as far as this flow is concerned. *)
Definition flow_busy (a D : nat) : Prop :=
  no_idle_between a D /\ forall q, In q queue -> dl q <= D -> arr q < a -> fin q <= a.

Lemma busy_for_the_flow a D : served_by_curve -> busy_since a D -> flow_busy a D.
Proof. intros C [NI B]. split; [assumption|]. intros q Hq. apply B. apply (in_run C). assumption. Qed.

(** A packet that is unfinished at [t] keeps the link from being idle. *)
Lemma unfinished_is_not_idle g t :
  In g (rt ++ be) -> t < fin g -> no_idle_between (arr g) t.
Proof. intros Hg Late u Hu I. specialize (I g Hg ltac:(lia)). lia. Qed.

Lemma no_idle_join a b c : no_idle_between a b -> no_idle_between b c -> no_idle_between a c.
Proof. intros H1 H2 t Ht. destruct (le_lt_dec t b); [apply H1|apply H2]; lia. Qed.

(** The first packet of the flow that counts in a busy interval is a start: what came before it is due
    earlier, so it is finished. *)
Lemma first_that_counts_is_start a D u f w :
  served_by_curve -> flow_busy a D -> queue = u ++ f :: w -> a <= arr f <= D -> dl f <= D ->
  (forall g, In g u -> a <= arr g -> dl g <= D -> False) -> is_start u f.
Proof.
  intros C [NI Before] Eq [Ha HD] Df First g Hg.
  destruct (le_lt_dec (fin g) (arr f)) as [|Late]; [assumption|exfalso].
  destruct (in_split g u Hg) as (u1 & u2 & ->).
  assert (Eq' : queue = u1 ++ g :: u2 ++ f :: w) by (rewrite Eq, <- app_assoc; reflexivity).
  assert (In_g : In g queue) by (rewrite Eq'; apply in_or_app; right; left; reflexivity).
  pose proof (fifo C u1 g u2 f w Eq') as Ar.
  pose proof (deadlines_in_order C u1 g u2 f w Eq'
                (unfinished_is_not_idle g (arr f) (in_run C g In_g) Late)) as Dg.
  destruct (le_lt_dec a (arr g)) as [L|L].
  - apply (First g Hg L). lia.
  - specialize (Before g In_g ltac:(lia) L). lia.
Qed.

Lemma served_flow_within_curve a D :
  served_by_curve -> link_run arr size start (rt ++ be) -> flow_busy a D -> a <= D ->
  demand queue a D <= S (D - a).
Proof.
  intros C Run BS LD. unfold Edf.demand.
  pose proof BS as [NI Before].
  destruct (counted_stretch size (fun q => (a <=? arr q) && (max (arr q) (dl q) <=? D)) queue)
    as [->|(u & f & v & w & Eq & Cf & Cl & First & Le)]; [lia|].
  apply andb_true_iff in Cf, Cl. destruct Cf as [Af Df], Cl as [Al Dl]. apply Nat.leb_le in Af, Df, Al, Dl.
  eapply Nat.le_trans; [exact Le|].
  assert (St : is_start u f).
  { apply (first_that_counts_is_start a D u f (v ++ w) C BS Eq); try lia.
    intros g Hg Ag Dg. assert (Hq : In g queue) by (rewrite Eq; apply in_or_app; left; assumption).
    destruct (in_split g u Hg) as (u1 & u2 & ->).
    pose proof (fifo C u1 g u2 f (v ++ w) ltac:(rewrite Eq, <- app_assoc; reflexivity)).
    destruct (First g Hg) as [F|F].
    - rewrite (proj2 (Nat.leb_le a (arr g)) Ag), (proj2 (Nat.leb_le (max (arr g) (dl g)) D)) in F by lia.
      discriminate.
    - pose proof (positive _ _ _ _ Run g (in_run C g Hq)). lia. }
  assert (NI' : no_idle_between (arr f) (arr (last v f))) by (intros t Ht; apply NI; lia).
  pose proof (deadline_from_starts C u f v w Eq St NI') as Dead.
  eapply Nat.le_trans; [apply (inverse C)|]. apply (curve_monotone C). lia.
Qed.

(** ** Theorem: the curve bounds what a flow has due in an interval *)
Theorem served_flow_is_bounded a D :
  served_by_curve -> link_run arr size start (rt ++ be) -> flow_busy a D -> a <= D ->
  demand queue a D <= whole m s (S (D - a)).
Proof.
  intros C Run BS LD. apply whole_sum; [apply (s_positive C)|apply (sizes C)|].
  apply (served_flow_within_curve a D C Run BS LD).
Qed.

(** No interval shorter than the time in which the curve reaches a smallest packet has any of it due. *)
Lemma served_flow_least a D :
  served_by_curve -> link_run arr size start (rt ++ be) -> flow_busy a D -> a <= D ->
  (forall w t, w <= S t -> Sinv w <= t) ->
  0 < demand queue a D -> Sinv m <= D - a.
Proof.
  intros C Run BS LD Least Pos.
  pose proof (served_flow_is_bounded a D C Run BS LD) as B. apply Least.
  destruct (le_lt_dec m (S (D - a))) as [|L]; [assumption|exfalso].
  unfold whole in B. set (v := S (D - a)) in *.
  destruct (Nat.leb_spec (div_up v s * m) v) as [H|H].
  - assert (div_up v s = 0 \/ 1 <= div_up v s) as [Z|Z] by lia.
    + pose proof (div_up_enough v s (s_positive C)). rewrite Z in *. lia.
    + nia.
  - assert (m <= s).
    { destruct queue as [|x r] eqn:Q; [simpl in Pos; unfold Edf.demand in Pos; simpl in Pos; lia|].
      rewrite <- Q in *. pose proof (sizes C x ltac:(rewrite Q; left; reflexivity)). lia. }
    assert (div_up v s <= 1).
    { unfold div_up. pose proof (s_positive C).
      assert ((v + (s - 1)) / s < 2); [|lia]. apply Nat.div_lt_upper_bound; lia. }
    assert ((div_up v s - 1) * s = 0) by nia. lia.
Qed.

(** A packet of the flow that blocks an interval has all packets of its flow behind it, which are due
    later still: the flow asks nothing of the interval beside its blocker. *)
Lemma blocking_flow_asks_nothing x a D :
  served_by_curve -> flow_busy a D -> In x queue -> arr x < a < fin x -> D < dl x ->
  demand queue a D = 0.
Proof.
  intros C [NI _] Hx Ax Dx. unfold Edf.demand. apply sumf_zero. intros q Hq.
  destruct (Nat.leb_spec a (arr q)), (Nat.leb_spec (max (arr q) (dl q)) D); cbn [on andb]; try lia.
  exfalso. destruct (in_split x queue Hx) as (u & w & Eq).
  assert (Hq' : In q w).
  { rewrite Eq in Hq. apply in_app_or in Hq. destruct Hq as [Hq|[->|Hq]]; [|lia|assumption].
    destruct (in_split q u Hq) as (u1 & u2 & ->).
    pose proof (fifo C u1 q u2 x w ltac:(rewrite Eq, <- app_assoc; reflexivity)). lia. }
  destruct (in_split q w Hq') as (w1 & w2 & ->).
  pose proof (deadlines_in_order C u x w1 q w2 Eq) as O.
  enough (dl x <= dl q) by lia. apply O. apply (no_idle_join _ a).
  - intros t Ht. apply (unfinished_is_not_idle x (fin x - 1) (in_run C x Hx)); lia.
  - intros t Ht. apply NI. lia.
Qed.

(** A packet is due after its arrival, if the packets of its flow before it are in time: it is a start,
    or one of them was unfinished when it came. *)
Lemma due_after_arrival u p w :
  served_by_curve -> queue = u ++ p :: w -> (forall g, In g u -> fin g <= dl g) -> arr p <= dl p.
Proof.
  intros C Eq In_time.
  destruct (existsb (fun g => arr p <? fin g) u) eqn:Ex.
  - apply existsb_exists in Ex. destruct Ex as (g & Hg & L). apply Nat.ltb_lt in L.
    specialize (In_time g Hg). destruct (in_split g u Hg) as (u1 & u2 & ->).
    assert (Eq' : queue = u1 ++ g :: u2 ++ p :: w) by (rewrite Eq, <- app_assoc; reflexivity).
    assert (Hq : In g queue) by (rewrite Eq'; apply in_or_app; right; left; reflexivity).
    pose proof (deadlines_in_order C u1 g u2 p w Eq'
                  (unfinished_is_not_idle g (arr p) (in_run C g Hq) L)). lia.
  - assert (St : is_start u p).
    { intros g Hg. destruct (le_lt_dec (fin g) (arr p)) as [|L]; [assumption|exfalso].
      enough (existsb (fun g => arr p <? fin g) u = true) by congruence.
      apply existsb_exists. exists g. split; [assumption|apply Nat.ltb_lt; assumption]. }
    pose proof (deadline_from_starts C u p [] w Eq St) as Dead. simpl in Dead.
    assert (no_idle_between (arr p) (arr p)) by (intros t Ht; lia). specialize (Dead H). lia.
Qed.
End ServiceCurve.

(** ** Theorem: flows with curves and with envelopes, and best effort by any safe rule, on one link

    [curves]: the flows with curves, each its packets, curve, inverse, least and largest packet, and its envelope;
    of a flow that is not policed that is whatever it sends.
    [env]: the packets of flows with envelopes. Admission counts whole packets of each curve, the
    envelopes, and as blocker a best-effort packet, a packet of an envelope flow with a longer deadline,
    or a packet of a curve flow less what this flow is counted with itself. *)
Record curve_flow (packet : Type) :=
  { c_queue : list packet; c_curve : nat -> nat; c_inverse : nat -> nat; c_least : nat; c_most : nat;
    c_limit : nat -> nat }.
Arguments c_queue {packet} _.
Arguments c_curve {packet} _ _.
Arguments c_inverse {packet} _ _.
Arguments c_least {packet} _.
Arguments c_most {packet} _.
Arguments c_limit {packet} _ _.

Definition curve_demand {packet} (f : curve_flow packet) (t : nat) : nat :=
  whole (c_least f) (c_most f) (min (c_curve f t) (c_limit f t)).

Section Together.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Variables (env be : list packet) (curves : list (curve_flow packet)).
Let rt := env ++ flat_map c_queue curves.

Lemma demand_of_curves a D (cs : list (curve_flow packet)) :
  demand arr size dl (flat_map c_queue cs) a D = sumf (fun f => demand arr size dl (c_queue f) a D) cs.
Proof.
  induction cs as [|f r IH]; [reflexivity|]. simpl. rewrite demand_app, IH. reflexivity.
Qed.

(** What both kinds of flows together ask of an interval, alone and beside a real-time blocker. [every_flow]
    says that the interval is busy for each flow with a curve. *)
Section Both.
Variables (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat).
Variables (least : nat) (s_rt : nat -> nat).
Definition bound_of_both (t : nat) : nat :=
  rt_demand flows A d t + sumf (fun f => curve_demand f t) curves.
Definition served (f : curve_flow packet) : Prop :=
  served_by_curve arr size dl start rt be (c_queue f) (c_curve f) (c_inverse f) (c_least f) (c_most f) /\
  forall a b, a <= b -> sumf (fun q => on ((a <=? arr q) && (arr q <=? b)) (size q)) (c_queue f) <= c_limit f (b - a).
Definition every_flow (a D : nat) : Prop :=
  forall f, In f curves -> flow_busy arr size dl start rt be (c_queue f) a D.

Hypothesis Run : link_run arr size start (rt ++ be).
Hypothesis Conf : conforming arr size dl env flows flow A d.
Hypothesis Curves : forall f, In f curves -> served f.

Lemma split_demand a D : demand arr size dl rt a D =
  demand arr size dl env a D + sumf (fun f => demand arr size dl (c_queue f) a D) curves.
Proof. unfold rt. rewrite demand_app, demand_of_curves. reflexivity. Qed.

Lemma served_demand f a D : In f curves -> a <= D -> every_flow a D ->
  demand arr size dl (c_queue f) a D <= curve_demand f (D - a).
Proof.
  intros Hf LD BS. destruct (Curves f Hf) as [C Lim]. unfold curve_demand.
  apply whole_sum; [apply (s_positive _ _ _ _ _ _ _ _ _ _ _ C)|apply (sizes _ _ _ _ _ _ _ _ _ _ _ C)|].
  apply Nat.min_glb.
  - apply (served_flow_within_curve arr size dl start rt be _ _ _ _ _ a D C Run (BS f Hf) LD).
  - eapply Nat.le_trans; [|apply (Lim a D LD)]. apply sumf_le. intros q _.
    destruct (Nat.leb_spec a (arr q)), (Nat.leb_spec (max (arr q) (dl q)) D), (Nat.leb_spec (arr q) D);
      cbn [on andb]; lia.
Qed.

Lemma both_are_bounded a D : a <= D -> every_flow a D -> demand arr size dl rt a D <= bound_of_both (D - a).
Proof.
  intros LD BS. rewrite split_demand. unfold bound_of_both. apply Nat.add_le_mono.
  - apply (conforming_flows_are_bounded _ _ _ _ _ flow). assumption.
  - apply sumf_le. intros f Hf. apply served_demand; assumption.
Qed.

Lemma both_beside_a_blocker x a D :
  (forall p t, In p env -> t < d (flow p) -> size p <= s_rt t) ->
  (forall f t, In f curves -> c_most f <= curve_demand f t + s_rt t) ->
  In x rt -> a <= D -> every_flow a D -> arr x < a < fin size start x -> D < dl x ->
  demand arr size dl rt a D + size x <= bound_of_both (D - a) + s_rt (D - a).
Proof.
  intros Block_env Block_curve Hx LD BS Ax Dx. unfold rt in Hx. apply in_app_or in Hx. destruct Hx as [Hx|Hx].
  - pose proof (both_are_bounded a D LD BS). rewrite (deadline_is _ _ _ _ _ _ _ _ Conf x Hx) in Dx.
    specialize (Block_env x (D - a) Hx ltac:(lia)). lia.
  - apply in_flat_map in Hx. destruct Hx as (f & Hf & Hx).
    pose proof (conforming_flows_are_bounded _ _ _ _ _ _ _ _ a D Conf) as Be.
    pose proof (blocking_flow_asks_nothing arr size dl start rt be _ _ _ _ _ x a D
                  (proj1 (Curves f Hf)) (BS f Hf) Hx Ax Dx) as Zero.
    pose proof (sizes _ _ _ _ _ _ _ _ _ _ _ (proj1 (Curves f Hf)) x Hx) as Sx.
    specialize (Block_curve f (D - a) Hf).
    rewrite split_demand. unfold bound_of_both.
    enough (sumf (fun f => demand arr size dl (c_queue f) a D) curves + curve_demand f (D - a)
            <= sumf (fun f => curve_demand f (D - a)) curves) by lia.
    assert (Each : forall g, In g curves ->
              demand arr size dl (c_queue g) a D <= curve_demand g (D - a)).
    { intros g Hg. apply served_demand; assumption. }
    clear -Hf Each Zero. induction curves as [|g r IH]; [destruct Hf|].
    cbn [sumf]. destruct Hf as [->|Hf].
    + pose proof (sumf_le _ _ r (fun g Hg => Each g (or_intror Hg))). lia.
    + specialize (IH Hf (fun g Hg => Each g (or_intror Hg))).
      pose proof (Each g (or_introl eq_refl)). lia.
Qed.

Lemma both_least a D :
  (forall f w t, In f curves -> w <= c_curve f t -> c_inverse f w <= t) ->
  (forall k, In k flows -> least <= d k) ->
  (forall f, In f curves -> least <= c_inverse f (c_least f)) ->
  a <= D -> every_flow a D -> 0 < demand arr size dl rt a D -> least <= D - a.
Proof.
  intros Least_inv Least_env Least_curve LD BS Pos. rewrite split_demand in Pos.
  destruct (Nat.eq_dec (demand arr size dl env a D) 0) as [Z|NZ].
  - assert (Ex : exists f, In f curves /\ 0 < demand arr size dl (c_queue f) a D).
    { rewrite Z in Pos. clear -Pos. induction curves as [|g r IH]; simpl in Pos; [lia|].
      destruct (Nat.eq_dec (demand arr size dl (c_queue g) a D) 0) as [Zg|].
      - rewrite Zg in Pos. destruct (IH Pos) as (f & Hf & Pf). exists f. split; [right|]; assumption.
      - exists g. split; [left; reflexivity|lia]. }
    destruct Ex as (f & Hf & Pf).
    pose proof (served_flow_least arr size dl start rt be _ _ _ _ _ a D (proj1 (Curves f Hf)) Run (BS f Hf) LD
                  (fun w t => Least_inv f w t Hf) Pf) as L.
    specialize (Least_curve f Hf). lia.
  - unfold demand in NZ.
    destruct (le_lt_dec least (D - a)) as [|L]; [assumption|exfalso]. apply NZ. apply sumf_zero.
    intros p Hp. rewrite (deadline_is _ _ _ _ _ _ _ _ Conf p Hp).
    specialize (Least_env (flow p) (of_a_flow _ _ _ _ _ _ _ _ Conf p Hp)).
    destruct (Nat.leb_spec a (arr p)), (Nat.leb_spec (max (arr p) (arr p + d (flow p))) D);
      cbn [on andb]; lia.
Qed.

(** If each packet that is due after its arrival is in time, all are: one of a flow after the other. *)
Lemma in_time_one_after_the_other :
  (forall p, In p rt -> arr p <= dl p -> fin size start p <= dl p) ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros Key p Hp. apply Key; [assumption|]. unfold rt in Hp. apply in_app_or in Hp. destruct Hp as [Hp|Hp].
  - rewrite (deadline_is _ _ _ _ _ _ _ _ Conf p Hp). lia.
  - apply in_flat_map in Hp. destruct Hp as (f & Hf & Hp).
    destruct (in_split p (c_queue f) Hp) as (u & w & Eq).
    apply (due_after_arrival arr size dl start rt be _ _ _ _ _ u p w (proj1 (Curves f Hf)) Eq).
    assert (G : forall u', (exists v, u = u' ++ v) -> forall g, In g u' -> fin size start g <= dl g).
    { intros u'. induction u' as [|x u' IH] using rev_ind; intros (v & Ev) g Hg; [destruct Hg|].
      assert (IH' : forall g, In g u' -> fin size start g <= dl g).
      { apply IH. exists (x :: v). rewrite Ev, <- app_assoc. reflexivity. }
      apply in_app_or in Hg. destruct Hg as [Hg|[<-|[]]]; [apply IH'; assumption|].
      assert (Eq' : c_queue f = u' ++ x :: v ++ p :: w).
      { rewrite Eq, Ev, <- !app_assoc. reflexivity. }
      apply Key.
      - unfold rt. apply in_or_app. right. apply in_flat_map. exists f. split; [assumption|].
        rewrite Eq'. apply in_or_app. right. left. reflexivity.
      - apply (due_after_arrival arr size dl start rt be _ _ _ _ _ u' x _ (proj1 (Curves f Hf)) Eq' IH'). }
    apply (G u). exists []. rewrite app_nil_r. reflexivity.
Qed.
End Both.

Theorem service_curves_keep_deadlines
    (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat)
    (E : nat -> nat) (assign : history -> nat) (resets : packet -> bool)
    (least s_be : nat) (s_rt : nat -> nat) :
  let bound := bound_of_both flows A d in
  edf_run arr size dl start (rt ++ be) ->
  (* the flows *)
  conforming arr size dl env flows flow A d ->
  (forall f, In f curves -> served f) ->
  (forall f w t, In f curves -> w <= c_curve f t -> c_inverse f w <= t) ->
  (* blocking and the shortest interval that counts *)
  (forall p t, In p env -> t < d (flow p) -> size p <= s_rt t) ->
  (forall f t, In f curves -> c_most f <= curve_demand f t + s_rt t) ->
  (forall x, In x be -> size x <= s_be) ->
  (forall k, In k flows -> least <= d k) ->
  (forall f, In f curves -> least <= c_inverse f (c_least f)) ->
  (* admission and the rule for best effort *)
  admitted bound s_be s_rt least -> residual bound s_rt E least -> monotone E ->
  safe_assigner E assign -> released_in_order arr be ->
  resets_when_idle arr size start rt be resets -> assigned arr size dl assign resets [] 0 be ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros bound Run Conf Curves Least_inv Block_env Block_curve Block_be Least_env Least_curve
    Adm Res ME SA Ord RI As.
  pose proof (edf_link _ _ _ _ _ Run) as LR.
  assert (Busy : forall a D, busy_since arr size dl start rt be a D -> every_flow a D).
  { intros a D BS f Hf. eapply busy_for_the_flow; [apply (Curves f Hf)|assumption]. }
  apply (in_time_one_after_the_other flows flow A d Conf Curves).
  apply (safe_assigner_keeps_real_time arr size dl start rt be assign resets E bound least s_be s_rt);
    try assumption.
  - intros a D LD BS. apply (both_are_bounded flows flow); auto.
  - intros x a D Hx LD BS Ax Dx. apply (both_beside_a_blocker flows flow A d s_rt LR Conf Curves); auto.
  - intros a D LD BS Pos. apply (both_least flows flow A d least LR Conf Curves a D); auto.
Qed.
End Together.
