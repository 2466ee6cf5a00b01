(** * [slack] refuses nothing that could go without risk

    Let the check fail for a packet at an instant: for some deadline [D] the packet, what waits and what
    may still come do not fit. If it is sent all the same and what may come does come, a real-time packet
    is late, however the link is scheduled from then on. (That what the bound counts can come is in
    Policers.v for token buckets.) *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Slack.
Import ListNotations.

Section Greedy.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Notation fin := (Edf.fin size start).

(** Packets that are sent within [lo, hi] are no more work than its length. *)
Lemma packed (pk l : list packet) (Q : packet -> bool) lo hi :
  link_run arr size start pk -> NoDup l -> (forall q, In q l -> In q pk) ->
  (forall q, In q l -> Q q = true -> lo <= start q /\ fin q <= hi) ->
  sumf (fun q => on (Q q) (size q)) l <= hi - lo.
Proof.
  intros LR ND Sub Within.
  apply Nat.le_trans with (over lo hi (fun t => sumf (fun q => on (Q q) (on ((start q <=? t) && (t <? fin q)) 1)) l)).
  - rewrite over_sumf. apply sumf_le. intros q Hq. destruct (Q q) eqn:E; cbn [on]; [|lia].
    specialize (Within q Hq E). rewrite (over_running lo hi (start q) (fin q)). unfold Edf.fin in *. lia.
  - rewrite <- over_one. apply over_le. intros t _. clear Within.
    induction l as [|x r IH]; [simpl; lia|]. inversion ND as [|? ? Nin ND']; subst. cbn [sumf].
    specialize (IH ND' (fun q Hq => Sub q (or_intror Hq))).
    destruct (Q x); cbn [on]; [|assumption].
    destruct ((start x <=? t) && (t <? fin x)) eqn:E; cbn [on]; [|assumption].
    rewrite sumf_zero; [lia|]. intros y Hy. destruct (Q y); cbn [on]; [|reflexivity].
    destruct ((start y <=? t) && (t <? fin y)) eqn:E'; cbn [on]; [|reflexivity]. exfalso.
    apply andb_true_iff in E, E'. destruct E as [E1 E2], E' as [E3 E4].
    apply Nat.leb_le in E1, E3. apply Nat.ltb_lt in E2, E4.
    apply (one_at_a_time arr size start pk x y t LR); try lia.
    + apply Sub. left. reflexivity.
    + apply Sub. right. assumption.
    + intros ->. contradiction.
Qed.

(** ** Theorem: a packet that [slack] refuses cannot go without risk *)
Theorem refused_packets_are_a_risk (rt be : list packet) (F : nat -> nat -> nat) x D :
  link_run arr size start (rt ++ be) -> NoDup rt -> (forall p, In p rt -> In p be -> False) ->
  In x be ->
  (* the check fails at [D], by which something waits or may come *)
  D - start x < size x + queued arr size dl start rt (start x) D + F (start x) D ->
  0 < queued arr size dl start rt (start x) D + F (start x) D ->
  (* what may come does come *)
  to_come arr size dl rt (start x) D = F (start x) D ->
  exists p, In p rt /\ start x < start p /\ dl p < fin p.
Proof.
  intros LR ND Apart Hx Refused Some_work Comes. set (t := start x) in *.
  set (Q := fun q => ((arr q <=? t) && (t <? start q) || (t <? arr q) && (arr q <=? D)) && (dl q <=? D)).
  assert (Sum : sumf (fun q => on (Q q) (size q)) rt = queued arr size dl start rt t D + F t D).
  { rewrite <- Comes. unfold queued, to_come. rewrite <- sumf_plus. apply sumf_ext. intros q Hq. unfold Q.
    destruct (Nat.leb_spec (arr q) t), (Nat.ltb_spec t (start q)), (Nat.ltb_spec t (arr q)),
      (Nat.leb_spec (arr q) D), (Nat.leb_spec (dl q) D), (Nat.leb_spec (max (arr q) (dl q)) D);
      cbn [on andb orb]; lia. }
  assert (After : forall q, In q rt -> Q q = true -> t < start q /\ fin x <= start q).
  { intros q Hq E. unfold Q in E. apply andb_true_iff in E. destruct E as [E _].
    assert (S : t < start q).
    { apply orb_true_iff in E. destruct E as [E|E].
      - apply andb_true_iff in E. destruct E as [_ E]. apply Nat.ltb_lt in E. assumption.
      - apply andb_true_iff in E. destruct E as [E _]. apply Nat.ltb_lt in E. pose proof (causal arr size start _ LR q ltac:(apply in_or_app; left; assumption)). lia. }
    split; [assumption|].
    assert (N : x <> q) by (intros ->; exact (Apart q Hq Hx)).
    pose proof (positive arr size start _ LR q ltac:(apply in_or_app; left; assumption)).
    destruct (exclusive arr size start _ LR x q ltac:(apply in_or_app; right; assumption)
                ltac:(apply in_or_app; left; assumption) N) as [H'|H']; [assumption|].
    unfold Edf.fin, t in *. lia. }
  destruct (existsb (fun q => Q q && (dl q <? fin q)) rt) eqn:Ex.
  - apply existsb_exists in Ex. destruct Ex as (p & Hp & E). apply andb_true_iff in E. destruct E as [E1 E2].
    apply Nat.ltb_lt in E2. exists p. split; [assumption|]. split; [|assumption]. apply After; assumption.
  - exfalso.
    assert (In_time : forall q, In q rt -> Q q = true -> fin x <= start q /\ fin q <= D).
    { intros q Hq E. split; [apply After; assumption|].
      assert (dl q <= D) by (unfold Q in E; apply andb_true_iff in E; apply Nat.leb_le; apply E).
      destruct (le_lt_dec (fin q) (dl q)) as [|L]; [lia|exfalso].
      enough (existsb (fun q => Q q && (dl q <? fin q)) rt = true) by congruence.
      apply existsb_exists. exists q. split; [assumption|]. rewrite E. apply Nat.ltb_lt. assumption. }
    pose proof (packed (rt ++ be) rt Q (fin x) D LR ND ltac:(intros; apply in_or_app; left; assumption) In_time) as P.
    (* Something is due by [D] and sent after the packet, so the packet ends before [D]. *)
    assert (Room : fin x <= D).
    { destruct (le_lt_dec (fin x) D) as [|L]; [assumption|exfalso].
      rewrite sumf_zero in Sum; [lia|]. intros q Hq. destruct (Q q) eqn:E; cbn [on]; [|reflexivity].
      pose proof (positive arr size start _ LR q ltac:(apply in_or_app; left; assumption)).
      destruct (In_time q Hq E). unfold Edf.fin in *. lia. }
    unfold Edf.fin, t in *. lia.
Qed.
End Greedy.
