(** * [slack] beside flows with service curves

    What such a flow can still have due follows from its starts: from each that is remembered, and while
    nothing of it waits from a start now. Starts are forgotten when the link is idle, so these bounds hold up
    to the next idle instant, which is all that [slack] needs.
    Code: crates/link/src/slack/service.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Envelopes link.Lines link.ServiceCurve
  link.Slack link.Policers.
Import ListNotations.

Section Flow.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Notation fin := (Edf.fin size start).
Variables (rt be : list packet).
Notation no_idle_between := (Deadlines.no_idle_between arr size start rt be).
Variables (queue : list packet) (S Sinv : nat -> nat) (m s : nat).
Notation served_by_curve := (ServiceCurve.served_by_curve arr size dl start rt be queue S Sinv m s).
Notation is_start := (ServiceCurve.is_start arr size start).

(** The packets of the flow: [came] up to [t], [later] after it. *)
Variables (t D : nat) (came later : list packet).
Hypothesis queue_is : queue = came ++ later.
Hypothesis later_is : forall q, In q later -> t < arr q.

(** What of the flow comes after [t], up to [D], and is due by [D]. *)
Definition still_due : nat := sumf (fun q => on (max (arr q) (dl q) <=? D) (size q)) later.

(** ** Theorem: from a start that is remembered, whole packets of S(D - a) less what came since *)
Theorem curve_flow_still_demands u f v :
  served_by_curve -> came = u ++ f :: v -> is_start u f ->
  no_idle_between (arr f) t -> no_idle_between t D ->
  still_due <= whole m s (S (D - arr f) - sumf size (f :: v)).
Proof.
  intros C Came St NI1 NI2. unfold still_due. apply whole_sum.
  - apply (s_positive _ _ _ _ _ _ _ _ _ _ _ C).
  - intros p Hp. apply (sizes _ _ _ _ _ _ _ _ _ _ _ C). rewrite queue_is. apply in_or_app. right. assumption.
  - destruct (counted_stretch size (fun q => max (arr q) (dl q) <=? D) later)
      as [->|(u2 & f2 & v2 & w2 & Eq & _ & Cl & _ & Le)]; [lia|].
    apply Nat.leb_le in Cl. eapply Nat.le_trans; [exact Le|].
    assert (Last : forall (l : list packet) z, last (l ++ f2 :: v2) z = last v2 f2).
    { intros l. induction l as [|y l IH]; intros z; cbn [app]; rewrite last_cons; [reflexivity|apply IH]. }
    pose proof (deadline_from_starts _ _ _ _ _ _ _ _ _ _ _ C u f ((v ++ u2) ++ f2 :: v2) w2) as Dead.
    rewrite Last in Dead.
    specialize (Dead ltac:(rewrite queue_is, Came, Eq; repeat (rewrite <- !app_assoc; cbn [app]); reflexivity) St).
    assert (NI : no_idle_between (arr f) (arr (last v2 f2))).
    { intros z Hz. destruct (le_lt_dec z t); [apply NI1; lia|apply NI2; lia]. }
    specialize (Dead NI).
    assert (Sum : sumf size (f :: (v ++ u2) ++ f2 :: v2)
              = sumf size (f :: v) + sumf size u2 + sumf size (f2 :: v2)).
    { cbn [sumf]. rewrite !sumf_app. cbn [sumf]. lia. }
    rewrite Sum in Dead.
    pose proof (inverse _ _ _ _ _ _ _ _ _ _ _ C (sumf size (f :: v) + sumf size u2 + sumf size (f2 :: v2))) as I.
    pose proof (curve_monotone _ _ _ _ _ _ _ _ _ _ _ C
                  (Sinv (sumf size (f :: v) + sumf size u2 + sumf size (f2 :: v2))) (D - arr f) ltac:(lia)) as M.
    lia.
Qed.

(** ** Theorem: while nothing of the flow waits, also whole packets of S(D - t) *)
Theorem idle_curve_flow_still_demands :
  served_by_curve -> (forall q, In q came -> fin q <= t) -> no_idle_between t D ->
  still_due <= whole m s (S (D - t)).
Proof.
  intros C Idle NI. destruct later as [|h rest] eqn:El; [unfold still_due; rewrite El; simpl; lia|].
  rewrite <- El in *. unfold still_due. apply whole_sum.
  - apply (s_positive _ _ _ _ _ _ _ _ _ _ _ C).
  - intros p Hp. apply (sizes _ _ _ _ _ _ _ _ _ _ _ C). rewrite queue_is. apply in_or_app. right. assumption.
  - destruct (counted_stretch size (fun q => max (arr q) (dl q) <=? D) later)
      as [->|(u2 & f2 & v2 & w2 & Eq & _ & Cl & _ & Le)]; [lia|].
    apply Nat.leb_le in Cl. eapply Nat.le_trans; [exact Le|].
    (* The next packet is a start. *)
    assert (St : is_start came h).
    { intros g Hg. specialize (Idle g Hg). specialize (later_is h ltac:(rewrite El; left; reflexivity)). lia. }
    assert (Th : t < arr h) by (apply later_is; rewrite El; left; reflexivity).
    assert (From : exists v w, queue = came ++ (h :: v) ++ w /\ last v h = last v2 f2 /\
              sumf size (f2 :: v2) <= sumf size (h :: v)).
    { destruct u2 as [|y u2].
      - exists v2, w2. cbn [app] in Eq. rewrite El in Eq. injection Eq as -> Er.
        rewrite queue_is, El, Er. repeat split. lia.
      - cbn [app] in Eq. rewrite El in Eq. injection Eq as <- Er.
        exists (u2 ++ f2 :: v2), w2. rewrite queue_is, El, Er. split; [|split].
        + cbn [app]. rewrite <- app_assoc. reflexivity.
        + clear. revert h. induction u2 as [|y l IH]; intros z; cbn [app]; rewrite last_cons; [reflexivity|apply IH].
        + cbn [sumf]. rewrite sumf_app. cbn [sumf]. lia. }
    destruct From as (v & w & Eq' & El' & Le').
    pose proof (deadline_from_starts _ _ _ _ _ _ _ _ _ _ _ C came h v w Eq' St) as Dead. rewrite El' in Dead.
    assert (NI' : no_idle_between (arr h) (arr (last v2 f2))) by (intros z Hz; apply NI; lia).
    specialize (Dead NI').
    pose proof (inverse _ _ _ _ _ _ _ _ _ _ _ C (sumf size (h :: v))) as I.
    pose proof (curve_monotone _ _ _ _ _ _ _ _ _ _ _ C (Sinv (sumf size (h :: v))) (D - t) ltac:(lia)) as M.
    lia.
Qed.

(** ** Theorem: from when on a search must look

    No packet that comes later is due before the curve reaches a smallest packet beyond what came since a
    remembered start; for a flow that waits this may be sooner than any first packet. *)
Theorem curve_flow_next_deadline u f v q :
  served_by_curve -> monotone Sinv -> came = u ++ f :: v -> is_start u f -> In q later ->
  no_idle_between (arr f) (arr q) ->
  arr f + Sinv (sumf size (f :: v) + m) <= dl q.
Proof.
  intros C MI Came St Hq NI. destruct (in_split q later Hq) as (l1 & l2 & El).
  pose proof (deadline_from_starts _ _ _ _ _ _ _ _ _ _ _ C u f (v ++ l1 ++ [q]) l2) as Dead.
  assert (Last : last (v ++ l1 ++ [q]) f = q) by (rewrite app_assoc; apply last_last).
  rewrite Last in Dead.
  specialize (Dead ltac:(rewrite queue_is, Came, El; repeat (rewrite <- !app_assoc; cbn [app]); reflexivity) St NI).
  assert (Hm : m <= size q).
  { apply (sizes _ _ _ _ _ _ _ _ _ _ _ C). rewrite queue_is. apply in_or_app. right. assumption. }
  pose proof (MI (sumf size (f :: v) + m) (sumf size (f :: v ++ l1 ++ [q]))) as M.
  cbn [sumf] in M. rewrite !sumf_app in M. cbn [sumf] in M. specialize (M ltac:(lia)).
  cbn [sumf] in *. rewrite !sumf_app in Dead. cbn [sumf] in Dead. lia.
Qed.
End Flow.

(** ** Theorem: [slack] keeps the deadlines of flows with envelopes and of flows with curves

    [Fk] bounds what an envelope flow still sends, [Fc] what a curve flow still has due, up to the next idle
    instant. [known]: the deadlines that a search looks at. *)
Theorem slack_keeps_service_curves {packet : Type}
    (arr size dl start : packet -> nat) (env be : list packet) (curves : list (curve_flow packet))
    (flows : list nat) (flow : packet -> nat) (A : nat -> nat -> nat) (d : nat -> nat)
    (Fk : nat -> nat -> nat -> nat) (Fc : curve_flow packet -> nat -> nat -> nat)
    (known : nat -> nat -> Prop) (least s_be : nat) (s_rt : nat -> nat) :
  let rt := env ++ flat_map c_queue curves in
  let F t D := still_to_come flows d Fk t D + sumf (fun f => Fc f t D) curves in
  (forall p, In p rt -> In p be -> False) ->
  slack_run arr size dl start rt be ->
  (* the flows *)
  conforming arr size dl env flows flow A d ->
  (forall f, In f curves -> served arr size dl start env be curves f) ->
  (forall f w t, In f curves -> w <= c_curve f t -> c_inverse f w <= t) ->
  (* what may still come, and what a search looks at *)
  (forall k t u, In k flows -> t <= u -> sent_in arr size env flow k (t + 1) u <= Fk k t u) ->
  (forall f t D, In f curves -> Deadlines.no_idle_between arr size start rt be t D ->
     to_come arr size dl (c_queue f) t D <= Fc f t D) ->
  knows_deadlines arr size dl start rt be known ->
  checked arr size dl start rt be F known ->
  (* admission *)
  (forall p t, In p env -> t < d (flow p) -> size p <= s_rt t) ->
  (forall f t, In f curves -> c_most f <= curve_demand f t + s_rt t) ->
  (forall x, In x be -> size x <= s_be) ->
  (forall k, In k flows -> least <= d k) ->
  (forall f, In f curves -> least <= c_inverse f (c_least f)) ->
  admitted (bound_of_both curves flows A d) s_be s_rt least ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros rt F Apart Run Conf Curves Least_inv HFk HFc Knows Ck Block_env Block_curve Block_be Least_env
    Least_curve Adm.
  pose proof Run as [LR _ _].
  assert (Busy : forall a D, interval arr size dl start rt a D ->
            every_flow arr size dl start env be curves a D).
  { intros a D (_ & [NI Before] & _) f Hf. split.
    - intros t Ht I. apply (NI t Ht). intros q Hq Aq. rewrite app_nil_r in Hq. apply I; [|assumption].
      apply in_or_app. left. assumption.
    - intros q Hq. apply Before. rewrite app_nil_r. unfold rt. apply in_or_app. right.
      apply in_flat_map. exists f. split; assumption. }
  assert (Fits : forall a D, interval arr size dl start rt a D ->
            bound_of_both curves flows A d (D - a) + max s_be (s_rt (D - a)) <= D - a).
  { intros a D I. apply Adm. destruct I as (LD & BS & Pos).
    apply (both_least arr size dl start env be curves flows flow A d least LR Conf Curves a D Least_inv Least_env
             Least_curve LD); [apply Busy; exact (conj LD (conj BS Pos))|exact Pos]. }
  apply (in_time_one_after_the_other arr size dl start env be curves flows flow A d Conf Curves).
  apply (slack_keeps_known_deadlines arr size dl start rt be Apart F known Run); try assumption.
  - intros t D NI. unfold F, rt, to_come. rewrite sumf_app. apply Nat.add_le_mono.
    + apply (policers_bound_arrivals arr size dl env flows flow A d Fk Conf HFk).
    + assert (Each : forall f, In f curves -> to_come arr size dl (c_queue f) t D <= Fc f t D).
      { intros f Hf. apply HFc; assumption. }
      unfold to_come in Each. clear -Each. induction curves as [|f r IH]; [simpl; lia|].
      simpl. rewrite sumf_app. specialize (IH (fun g Hg => Each g (or_intror Hg))).
      specialize (Each f (or_introl eq_refl)). lia.
  - intros a D I. specialize (Fits a D I). pose proof I as (LD & _ & _). split.
    + pose proof (both_are_bounded arr size dl start env be curves flows flow A d LR Conf Curves a D LD (Busy a D I)).
      unfold rt. lia.
    + intros x Hx Ax Dx.
      pose proof (both_beside_a_blocker arr size dl start env be curves flows flow A d s_rt LR Conf Curves x a D
                    Block_env Block_curve Hx LD (Busy a D I) Ax Dx). unfold rt. lia.
  - intros a D x I Hx. specialize (Fits a D I). pose proof I as (LD & _ & _).
    pose proof (both_are_bounded arr size dl start env be curves flows flow A d LR Conf Curves a D LD (Busy a D I)).
    specialize (Block_be x Hx). unfold rt. lia.
Qed.
