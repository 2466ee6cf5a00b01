(** * Deadlines shorter than periods: the demand of sporadic jobs, and admission by it

    Code: [reserved_bw] in crates/cpu/src/admission.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares.
Import ListNotations.

(** The demand bound function of jobs of cost up to [b], [p] apart or more, due [d] after their release. *)
Definition demand_bound (b p d t : nat) : nat := on (d <=? t) (b * ((t - d) / p + 1)).

(** The jobs of a reservation, in the order of their releases; the first is released at [from] or later. *)
Fixpoint constrained (rel cost due : nat -> nat) (b p d from : nat) (jobs : list nat) : Prop :=
  match jobs with
  | [] => True
  | j :: rest =>
      from <= rel j /\ cost j <= b /\ due j = rel j + d /\ constrained rel cost due b p d (rel j + p) rest
  end.

Section Constrained.
Variables (rel cost due : nat -> nat).

Lemma later_jobs_ask_nothing b p d jobs : forall from a D,
  constrained rel cost due b p d from jobs -> D < from + d -> hard_demand jobs rel cost due a D = 0.
Proof.
  induction jobs as [|j r IH]; intros from a D H L; [reflexivity|]. destruct H as (H1 & _ & H3 & H4).
  unfold hard_demand in *. cbn [sumf]. rewrite (IH _ a D H4) by lia. rewrite H3.
  rewrite (proj2 (Nat.leb_gt (rel j + d) D)) by lia. rewrite andb_false_r. reflexivity.
Qed.

(** ** Theorem: the demand bound function bounds what jobs released and due in [a, D] ask for *)
Theorem constrained_demand b p d jobs : 0 < p -> forall from a D,
  constrained rel cost due b p d from jobs -> a <= D ->
  hard_demand jobs rel cost due a D <= demand_bound b p d (D - a).
Proof.
  intros PP.
  (* From the first job that counts on. *)
  assert (From : forall jobs from D, constrained rel cost due b p d from jobs ->
            hard_demand jobs rel cost due from D <= demand_bound b p d (D - from) /\
            forall a, a <= from -> hard_demand jobs rel cost due a D = hard_demand jobs rel cost due from D).
  { clear jobs. induction jobs as [|j r IH]; intros from D H.
    - unfold hard_demand. simpl. split; [lia|reflexivity].
    - pose proof H as (H1 & H2 & H3 & H4). destruct (IH (rel j + p) D H4) as [IH1 IH2].
      assert (Low : forall a, a <= from -> hard_demand (j :: r) rel cost due a D =
                on (rel j + d <=? D) (cost j) + hard_demand r rel cost due (rel j + p) D).
      { intros a La. rewrite <- (IH2 a) by lia. unfold hard_demand. cbn [sumf]. rewrite H3.
        rewrite (proj2 (Nat.leb_le a (rel j))) by lia. reflexivity. }
      split.
      + rewrite (Low from (Nat.le_refl _)).
        destruct (Nat.leb_spec (rel j + d) D) as [L|L]; cbn [on].
        * unfold demand_bound in *. rewrite (proj2 (Nat.leb_le d (D - from))) by lia. cbn [on].
          destruct (Nat.leb_spec d (D - (rel j + p))) as [M|M]; cbn [on] in IH1.
          -- destruct (le_lt_dec (rel j + p + d) D) as [Q|Q].
             ++ assert ((D - from - d) / p >= (D - (rel j + p) - d) / p + 1).
                { replace ((D - (rel j + p) - d) / p + 1) with ((D - (rel j + p) - d + 1 * p) / p)
                    by (rewrite Nat.div_add by lia; reflexivity).
                  apply Nat.div_le_mono; lia. }
                nia.
             ++ rewrite (later_jobs_ask_nothing b p d r (rel j + p) (rel j + p) D H4) by lia. nia.
          -- nia.
        * rewrite (later_jobs_ask_nothing b p d r (rel j + p) (rel j + p) D H4) by lia. lia.
      + intros a La. rewrite (Low a La), (Low from (Nat.le_refl _)). reflexivity. }
  induction jobs as [|j r IH]; intros from a D H Le; [unfold hard_demand; simpl; lia|].
  destruct (le_lt_dec a (rel j)) as [L|L].
  - destruct H as (H1 & H2). destruct (From (j :: r) (rel j) D) as [F1 F2]; [split; [lia|assumption]|].
    rewrite (F2 a L). eapply Nat.le_trans; [exact F1|]. unfold demand_bound.
    destruct (Nat.leb_spec d (D - rel j)), (Nat.leb_spec d (D - a)); cbn [on]; try lia.
    apply Nat.mul_le_mono_l. apply Nat.add_le_mono_r. apply Nat.div_le_mono; lia.
  - destruct H as (H1 & H2 & H3 & H4). specialize (IH _ a D H4 Le).
    unfold hard_demand in *. cbn [sumf]. rewrite (proj2 (Nat.leb_gt a (rel j)) L). cbn [andb on]. assumption.
Qed.
End Constrained.

(** ** Theorem: admission by demand bounds keeps hard deadlines, short ones too

    [reservations]: budget, period, deadline and jobs of each. Best effort has the shares of [servers], at
    most [N - reserved] in all at every tick, and the demand bounds of the reservations stay below the line
    of slope [reserved]. *)
Record reservation := { budget : nat; period : nat; deadline : nat; released : list nat }.

Theorem constrained_deadlines_are_kept
    (servers : list nat) (reservations : list reservation)
    (ready : nat -> nat -> bool) (dl : nat -> nat -> nat) (run : nat -> option nat)
    (rel cost due : nat -> nat) (N reserved : nat) (s X : nat -> nat -> nat) (till : nat) :
  0 < N ->
  let jobs := flat_map released reservations in
  edf_run servers jobs ready dl run rel cost due ->
  (forall e, In e servers -> keeps_share ready dl run N (s e) (X e) 0 till e) ->
  (forall r, In r reservations ->
     0 < period r /\ constrained rel cost due (budget r) (period r) (deadline r) 0 (released r)) ->
  (forall t, N * sumf (fun r => demand_bound (budget r) (period r) (deadline r) t) reservations
             <= reserved * t) ->
  (forall t, t < till -> sumf (fun e => s e t) servers + reserved <= N) ->
  forall j, In j jobs -> rel j <= due j -> due j <= till -> served run j (due j) = cost j.
Proof.
  intros NP jobs R Keeps Res Adm Sum j Hj RD DT.
  apply (no_hard_job_late servers jobs ready dl run rel cost due N NP s X (fun _ => reserved) 0 till R);
    try assumption; try lia.
  - intros k _ H. lia.
  - intros a D _ Le _.
    assert (C : over a D (fun _ => reserved) = reserved * (D - a)).
    { rewrite <- (over_one a D), <- over_mult. apply Nat.le_antisymm; apply over_le; intros; lia. }
    rewrite C. eapply Nat.le_trans; [|apply Adm]. apply Nat.mul_le_mono_l.
    unfold jobs. clear -Res Le. induction reservations as [|r rest IH]; [unfold hard_demand; simpl; lia|].
    simpl. unfold hard_demand in *. rewrite sumf_app. specialize (IH (fun r' Hr => Res r' (or_intror Hr))).
    destruct (Res r (or_introl eq_refl)) as [PP H].
    pose proof (constrained_demand rel cost due _ _ _ _ PP 0 a D H Le) as B. unfold hard_demand in B. lia.
  - intros t Ht. apply Sum. lia.
Qed.
