(** * When earlier packets may be forgotten: histories that begin in a busy period

    A history may begin whenever a packet [y] starts and no other real-time packet waits; best effort that
    waits then counts as released at that instant, and [y] as the first packet of the history, where
    blocking is counted exactly. [exact] begins a new history when that gives the head an earlier
    deadline, so deadlines may fall from one history to the next. (crates/link/src/assign/mod.rs has this
    argument in prose; the code is crates/link/src/assign/history.rs.) *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Assigner.
Import ListNotations.

(** The packets for which [c] holds lie between the first and the last of them, in a stretch that holds
    them all. *)
Lemma stretch_all {packet} (size : packet -> nat) (c : packet -> bool) (l : list packet) :
  (forall x, In x l -> c x = false) \/
  exists before i m after, l = before ++ (i :: m) ++ after /\ c i = true /\ c (last m i) = true /\
    sumf (fun q => on (c q) (size q)) l <= sumf size (i :: m) /\
    (forall x, In x l -> c x = true -> In x (i :: m)).
Proof.
  induction l as [|x r IH]; [left; intros ? []|].
  destruct (c x) eqn:Cx.
  - right. destruct IH as [Z|(bf & i & m & af & -> & Ci & Cl & Le & All)].
    + exists [], x, [], r. cbn [app sumf last]. rewrite Cx. cbn [on]. repeat split; try assumption.
      * rewrite sumf_zero; [lia|]. intros y Hy. rewrite (Z y Hy). reflexivity.
      * intros y [->|Hy] Cy; [left; reflexivity|]. rewrite (Z y Hy) in Cy. discriminate.
    + exists [], x, (bf ++ i :: m), af. cbn [app]. repeat split.
      * rewrite <- app_assoc. reflexivity.
      * assumption.
      * assert (Last : forall (u : list packet) z, last (u ++ i :: m) z = last m i).
        { clear. intros u. induction u as [|y u IHu]; intros z; cbn [app]; rewrite last_cons;
            [reflexivity|apply IHu]. }
        rewrite Last. assumption.
      * cbn [sumf]. rewrite Cx, (sumf_app size). cbn [sumf app on] in *. lia.
      * intros y [->|Hy] Cy; [left; reflexivity|right]. apply in_or_app. right. apply All; assumption.
  - destruct IH as [Z|(bf & i & m & af & -> & Ci & Cl & Le & All)].
    + left. intros y [<-|Hy]; [assumption|apply Z; assumption].
    + right. exists (x :: bf), i, m, af. repeat split; try assumption.
      * cbn [app sumf]. rewrite Cx. cbn [on]. exact Le.
      * intros y [<-|Hy] Cy; [congruence|apply All; assumption].
Qed.

(** An element of [i :: m] is the last, or the last comes after it. *)
Lemma last_or_before {T} (m : list T) : forall i x, In x (i :: m) ->
  x = last m i \/ exists l1 v, i :: m = l1 ++ x :: v ++ [last m i].
Proof.
  induction m as [|y m IH]; intros i x Hx.
  - destruct Hx as [->|[]]. left. reflexivity.
  - rewrite last_cons. destruct Hx as [->|Hx].
    + right. exists [], (removelast (y :: m)). cbn [app]. f_equal.
      rewrite <- (last_cons m y y). apply app_removelast_last. discriminate.
    + destruct (IH y x Hx) as [->|(l1 & v & E)]; [left; reflexivity|right].
      exists (i :: l1), v. cbn [app]. rewrite E. reflexivity.
Qed.

Section Restart.
Context {packet : Type}.
Variables (rel size dl start : packet -> nat).
Notation fin := (Edf.fin size start).
Variables (rt be : list packet).

(** [opens n = Some y]: the history that gave [n] its deadline began at the start of [y]; [None]: when the
    link was idle. [counted y]: the bytes of [y] that this history counts, 0 with the paper's blocking. *)
Variable opens : packet -> option packet.
Variable counted : packet -> nat.

(** From when on a packet waits under its final deadline: a packet that waited when its history began,
    from the next tick on. *)
Definition since (n : packet) : nat :=
  match opens n with Some y => max (rel n) (S (start y)) | None => rel n end.

(** The link is idle, by releases. *)
Definition busy (first last : nat) : Prop :=
  forall t, first < t <= last -> ~ Edf.idle_at rel size start (rt ++ be) t.

(** [i] is in the history of [n], if it stands before [n]. *)
Definition in_history (i n : packet) : Prop :=
  match opens n with Some y => start y < start i | None => True end.

Record restarts : Prop := {
  (** Best effort is served in the order in which it stands. *)
  in_service_order : forall u i v n w, be = u ++ i :: v ++ n :: w -> start i < start n;
  (** When a history begins no real-time packet waits but the one that starts. *)
  nothing_waits : forall n y, In n be -> opens n = Some y ->
    In y (rt ++ be) /\ start y < start n /\
    forall q, In q rt -> rel q <= start y -> start q <= start y;
  (** Histories only move forward, between idle instants. *)
  forward : forall u i v n w y, be = u ++ i :: v ++ n :: w -> opens i = Some y ->
    busy (start y) (since n) -> exists x, opens n = Some x /\ start y <= start x;
  (** Within a history deadlines do not fall. *)
  history_in_order : forall u i v n w, be = u ++ i :: v ++ n :: w -> in_history i n ->
    busy (since i) (since n) -> dl i <= dl n;
  (** No deadline is before the instant from which it holds. *)
  due_later : forall n, In n be -> since n <= dl n
}.

(** The deadlines of a history are safe: the work from a packet to a later one fits into the time from the
    release of the first, or from the begin of the history if that is later; and all work since the begin
    of a history, with what it counts of the packet that began it, fits into the time since then. *)
Definition safe_histories (E : nat -> nat) : Prop :=
  forall u i m w, be = u ++ (i :: m) ++ w ->
    match opens (last m i) with
    | None => busy (rel i) (since (last m i)) -> sumf size (i :: m) <= E (dl (last m i) - rel i)
    | Some y => start y < start i ->
        (busy (max (rel i) (start y)) (since (last m i)) ->
         sumf size (i :: m) <= E (dl (last m i) - max (rel i) (start y))) /\
        (busy (start y) (since (last m i)) ->
         counted y + sumf size (i :: m) <= E (dl (last m i) - start y))
    end.

Variables (bound E : nat -> nat) (least s_be : nat) (s_rt : nat -> nat).

(** ** Theorem: restarts keep every real-time deadline

    Flows with envelopes ([bound] holds for any interval); the largest packet that may block is counted in
    [s_rt], or a packet that begins a history is counted in it. *)
Theorem restarts_keep_real_time :
  (forall p, In p rt -> In p be -> False) ->
  (forall p, In p rt -> opens p = None) ->
  edf_run since size dl start (rt ++ be) ->
  (forall a D, demand rel size dl rt a D <= bound (D - a)) -> monotone bound ->
  (forall p, In p rt -> rel p + least <= dl p) ->
  (forall x a D, In x rt -> rel x < a -> D < dl x -> size x <= s_rt (D - a)) ->
  (forall x, In x be -> size x <= s_be) ->
  (forall n y t, In n be -> opens n = Some y -> size y <= counted y + s_rt t) ->
  monotone E -> admitted bound s_be s_rt least -> residual bound s_rt E least ->
  restarts -> safe_histories E ->
  forall p, In p rt -> fin p <= dl p.
Proof.
  intros Apart Plain Run RB MB Least SR SB Count ME Adm Res [Service Waits Forward Order Later] Safe p Hp.
  destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  set (pk := rt ++ be) in *.
  assert (InL : forall q, In q rt -> In q pk) by (intros; apply in_or_app; left; assumption).
  assert (InR : forall q, In q be -> In q pk) by (intros; apply in_or_app; right; assumption).
  assert (Rel : forall q, In q rt -> since q = rel q) by (intros q Hq; unfold since; rewrite (Plain q Hq); reflexivity).
  assert (RelLe : forall q, rel q <= since q) by (intros q; unfold since; destruct (opens q); lia).
  pose proof (Least p Hp) as Lp.
  pose proof Run as [LR NonIdling EO].
  destruct (late_packet_overload_before since size dl start pk p Run (InL p Hp) ltac:(rewrite Rel by assumption; lia) Late)
    as (a & b & Ha & NI & Before & Sent & Hb & Over).
  set (D := dl p) in *. rewrite (Rel p Hp) in Ha.
  assert (NIr : forall t, a < t <= D -> ~ Edf.idle_at rel size start pk t).
  { intros t Ht I. apply (NI t Ht). intros q Hq Aq. apply I; [assumption|]. pose proof (RelLe q). lia. }
  set (Q := fun q => ((a <=? since q) && (max (since q) (dl q) <=? D)) && (start q <=? start p)).
  assert (QE : forall q, Q q = true <-> (a <= since q /\ since q <= D /\ dl q <= D /\ start q <= start p)).
  { intros q. unfold Q. rewrite !andb_true_iff, !Nat.leb_le. lia. }
  (* What the real-time packets ask of an interval. *)
  assert (RtQ : sumf (fun q => on (Q q) (size q)) rt <= bound (D - a)).
  { eapply Nat.le_trans; [|apply (RB a D)]. apply sumf_le. intros q Hq. unfold Q. rewrite (Rel q Hq).
    destruct (_ && (max _ _ <=? _)), (start q <=? start p); cbn [on andb]; lia. }
  assert (Split : demand_before since size dl start pk p a D =
            sumf (fun q => on (Q q) (size q)) rt + sumf (fun q => on (Q q) (size q)) be).
  { unfold demand_before, pk. rewrite sumf_app. reflexivity. }
  rewrite Split in Over.
  (* A packet that is unfinished keeps the link busy. *)
  assert (Unfinished : forall q t, In q pk -> t < fin q -> busy (rel q) t).
  { intros q t Hq L v Hv I. specialize (I q Hq ltac:(lia)). lia. }
  assert (Admit : forall t, least <= t -> bound t + max s_be (s_rt t) <= t) by exact Adm.
  assert (Blockers : forall x, In x pk -> start x < a < fin x -> D < dl x ->
            (In x rt /\ size x <= s_rt (D - a)) \/ (In x be /\ size x <= s_be)).
  { intros x Hx Sx Dx. apply in_app_or in Hx. destruct Hx as [Hx|Hx]; [left|right]; split; try assumption.
    - apply (SR x a D Hx); [|assumption]. pose proof (causal since size start pk LR x (InL x Hx)).
      rewrite (Rel x Hx) in *. lia.
    - apply SB. assumption. }
  destruct (stretch_all size Q be) as [None|(bf & i & m & af & Eq & Qi & Qn & Le & All)].
  { (* No best effort counts: admission alone. *)
    rewrite (sumf_zero _ be) in Over by (intros q Hq; rewrite (None q Hq); reflexivity).
    specialize (Admit (D - a) ltac:(lia)).
    destruct Hb as [->|(x & Hx & Sx & Dx & Bx)]; [lia|].
    destruct (Blockers x Hx Sx Dx) as [[_ B]|[_ B]]; lia. }
  set (n := last m i) in *.
  assert (Hin : forall x, In x (i :: m) -> In x be).
  { intros x Hx. rewrite Eq. apply in_or_app. right. apply in_or_app. left. assumption. }
  assert (Hn : In n be) by (apply Hin; apply last_in).
  assert (Hi : In i be) by (apply Hin; left; reflexivity).
  apply QE in Qi. pose proof (proj1 (QE n) Qn) as Qn'. destruct Qi as (Ai & Ci & Di & Si).
  destruct Qn' as (An & Cn & Dn & Sn).
  pose proof (causal since size start pk LR i (InR i Hi)) as Ki.
  pose proof (causal since size start pk LR n (InR n Hn)) as Kn.
  pose proof (positive since size start pk LR i (InR i Hi)) as Pi.
  assert (Positive : 0 < sumf size (i :: m)) by (cbn [sumf]; lia).
  (* [i] is [n], or stands before it. *)
  assert (Pos_i : i = n \/ exists v, be = bf ++ i :: v ++ n :: af).
  { destruct m as [|z m']; [left; reflexivity|right].
    exists (removelast (z :: m')). rewrite Eq. unfold n. rewrite last_cons.
    rewrite <- (last_cons m' z z).
    rewrite (app_removelast_last z (l := z :: m')) at 1 by discriminate.
    cbn [app]. rewrite <- app_assoc. reflexivity. }
  (* If the release of [i] is before [a], then a history that it is in began just then. *)
  assert (Began : rel i < a -> busy (a - 1) (since n) ->
            exists y, opens n = Some y /\ a <= S (start y)).
  { intros Ri Bn. unfold since in Ai. destruct (opens i) as [y'|] eqn:Oi; [|lia].
    destruct Pos_i as [Ei|(v & Ei)].
    - exists y'. rewrite <- Ei. split; [assumption|lia].
    - destruct (Forward _ _ _ _ _ _ Ei Oi) as (x & Ox & L); [|exists x; split; [assumption|lia]].
      intros t Ht. apply Bn. lia. }
  assert (Busy_before : rel i < a -> busy (a - 1) (since n)).
  { intros Ri t Ht. destruct (Nat.eq_dec t a) as [->|]; [|apply NIr; lia].
    apply (Unfinished i a (InR i Hi)); [unfold Edf.fin; lia|lia]. }
  pose proof (Safe bf i m af Eq) as Safe_n. fold n in Safe_n.
  destruct (opens n) as [y|] eqn:On.
  2:{ (* The history of [n] began at an idle instant, before [a]. *)
    assert (Ri : a <= rel i).
    { destruct (le_lt_dec a (rel i)) as [|L]; [assumption|exfalso].
      destruct (Began L (Busy_before L)) as (y & Oy & _). congruence. }
    assert (Fit : sumf size (i :: m) <= E (D - a)).
    { eapply Nat.le_trans; [apply Safe_n; intros t Ht; apply NIr; lia|]. apply ME. lia. }
    specialize (Res (D - a) ltac:(lia) ltac:(lia)).
    destruct Hb as [->|(x & Hx & Sx & Dx & Bx)]; [lia|].
    destruct (Blockers x Hx Sx Dx) as [[_ B]|[Hbe _]]; [lia|].
    (* A best-effort blocker is in the history of [n], so it is due no later. *)
    enough (dl x <= dl n) by lia. destruct (in_split x be Hbe) as (u & w & Ex).
    assert (Hnw : In n w).
    { rewrite Ex in Hn. apply in_app_or in Hn. destruct Hn as [H|[<-|H]]; [exfalso|lia|assumption].
      destruct (in_split n u H) as (u1 & u2 & ->).
      pose proof (Service u1 n u2 x w ltac:(rewrite Ex, <- app_assoc; reflexivity)). lia. }
    destruct (in_split n w Hnw) as (w1 & w2 & ->).
    apply (Order u x w1 n w2 Ex); [unfold in_history; rewrite On; trivial|].
    intros t Ht. destruct (le_lt_dec t a) as [L|L]; [|apply NIr; lia].
    pose proof (RelLe x). apply (Unfinished x a Hx); lia. }
  destruct (Waits n y Hn On) as (Hy & Sy & Quiet).
  destruct (le_lt_dec a (start y)) as [Inside|Outside].
  - (* The history of [n] began within the interval, when nothing else of real time waited. *)
    clear Le Positive Pi Ki Si Di Ci Ai Pos_i Began Busy_before Safe_n Hi.
    assert (Np : n <> p) by (intros Enp; apply (Apart p Hp); rewrite <- Enp; assumption).
    assert (Snp : start n < start p).
    { pose proof (positive since size start pk LR n (InR n Hn)).
      pose proof (positive since size start pk LR p (InL p Hp)).
      destruct (exclusive since size start pk LR n p (InR n Hn) (InL p Hp) Np); unfold Edf.fin in *; lia. }
    assert (Ap : start y < rel p).
    { destruct (le_lt_dec (rel p) (start y)) as [L|]; [|assumption].
      specialize (Quiet p Hp L). lia. }
    set (Q2 := fun q => (start y <? start q) && Q q).
    assert (Q2E : forall q, Q2 q = true <-> (start y < start q /\ Q q = true)).
    { intros q. unfold Q2. rewrite andb_true_iff, Nat.ltb_lt. tauto. }
    assert (Full : D - min (fin y) D < sumf (fun q => on (Q2 q) (size q)) pk).
    { apply (filled since size start pk Q2 (min (fin y) D) D p LR); try assumption; try lia.
      - apply InL. assumption.
      - apply Q2E. split; [lia|]. apply QE. rewrite (Rel p Hp). unfold D. lia.
      - intros t Ht. assert (start y < fin y) by (pose proof (positive since size start pk LR y Hy); unfold Edf.fin; lia).
        destruct (Sent t ltac:(lia)) as (z & Hz & Rz & Kz).
        assert (Nz : z <> y) by (intros ->; lia).
        assert (Sz : fin y <= start z).
        { destruct (exclusive since size start pk LR z y Hz Hy Nz); lia. }
        destruct Kz as [[Dz Az]|[Dz Az]]; [|lia].
        exists z. split; [assumption|]. split; [|assumption]. apply Q2E. split; [lia|]. apply QE.
        pose proof (causal since size start pk LR z Hz).
        repeat split; try assumption; try lia.
        destruct (le_lt_dec (start z) (start p)) as [|L]; [assumption|exfalso].
        assert (z <> p) by (intros ->; lia).
        destruct (exclusive since size start pk LR z p Hz (InL p Hp) ltac:(assumption)); unfold Edf.fin in *; lia. }
    unfold pk in Full. rewrite sumf_app in Full.
    assert (Rt2 : sumf (fun q => on (Q2 q) (size q)) rt <= bound (D - start y)).
    { eapply Nat.le_trans; [|apply (RB (start y) D)]. apply sumf_le. intros q Hq.
      destruct (Q2 q) eqn:E2; cbn [on]; [|lia]. apply Q2E in E2. destruct E2 as [S2 E2]. apply QE in E2.
      rewrite (Rel q Hq) in E2.
      destruct (le_lt_dec (rel q) (start y)) as [L|L]; [specialize (Quiet q Hq L); lia|].
      rewrite (proj2 (Nat.leb_le (start y) (rel q))), (proj2 (Nat.leb_le (max (rel q) (dl q)) D)) by lia.
      cbn [on andb]. lia. }
    destruct (stretch_all size Q2 be) as [None|(bf2 & i2 & m2 & af2 & Eq2 & Qi2 & Qn2 & Le2 & All2)].
    { specialize (None n Hn). assert (Q2 n = true) by (apply Q2E; split; [lia|assumption]). congruence. }
    (* The last of them is [n]. *)
    assert (Last : last m2 i2 = n).
    { assert (In_n : In n (i2 :: m2)).
      { apply All2; [assumption|]. apply Q2E. split; [lia|assumption]. }
      destruct (last_or_before m2 i2 n In_n) as [->|(l1 & v & El)]; [reflexivity|exfalso].
      assert (Ord2 : start n < start (last m2 i2)).
      { apply (Service (bf2 ++ l1) n v (last m2 i2) af2). rewrite Eq2, El.
        repeat (rewrite <- !app_assoc; cbn [app]). reflexivity. }
      assert (In2 : In (last m2 i2) (i :: m)).
      { apply Q2E in Qn2. apply All; [|apply Qn2]. rewrite Eq2. apply in_or_app. right.
        apply in_or_app. left. apply last_in. }
      destruct (last_or_before m i _ In2) as [E'|(l2 & v2 & E')]; fold n in E'; [rewrite E' in Ord2; lia|].
      assert (start (last m2 i2) < start n); [|lia].
      apply (Service (bf ++ l2) (last m2 i2) v2 n af). rewrite Eq, E'.
      repeat (rewrite <- !app_assoc; cbn [app]). reflexivity. }
    specialize (Safe bf2 i2 m2 af2 Eq2). rewrite Last, On in Safe.
    apply Q2E in Qi2. destruct Qi2 as [Si2 Qi2].
    destruct (Safe Si2) as [_ Fit]. clear Safe.
    specialize (Fit ltac:(intros t Ht; apply NIr; lia)).
    pose proof (ME (dl n - start y) (D - start y) ltac:(lia)) as M.
    assert (Hi2 : In i2 be).
    { rewrite Eq2. apply in_or_app. right. left. reflexivity. }
    pose proof (positive since size start pk LR i2 (InR i2 Hi2)) as Pi2. cbn [sumf] in Fit, Le2.
    specialize (Res (D - start y) ltac:(unfold D; lia) ltac:(lia)).
    specialize (Count n y (D - start y) Hn On). unfold Edf.fin in Full. lia.
  - (* It began before the interval. *)
    destruct (Safe_n ltac:(lia)) as [Fit_rel Fit_begin]. clear Safe_n.
    (* The bound since the begin of the history, where the blocker, if any, is what began it. *)
    assert (Via_begin : busy (start y) (since n) -> b + (a - start y) <= size y -> False).
    { intros B Hb'. specialize (Fit_begin B).
      pose proof (ME (dl n - start y) (D - start y) ltac:(lia)) as M.
      pose proof (MB (D - a) (D - start y) ltac:(lia)) as M2.
      specialize (Res (D - start y) ltac:(lia) ltac:(lia)).
      specialize (Count n y (D - start y) Hn On). lia. }
    destruct (le_lt_dec a (rel i)) as [Ri|Ri].
    + assert (Fit : sumf size (i :: m) <= E (D - a)).
      { eapply Nat.le_trans; [apply Fit_rel; intros t Ht; apply NIr; lia|]. apply ME. lia. }
      pose proof (Res (D - a) ltac:(lia) ltac:(lia)) as Res_a.
      destruct Hb as [->|(x & Hx & Sx & Dx & Bx)]; [lia|].
      destruct (Blockers x Hx Sx Dx) as [[_ B]|[Hbe _]]; [lia|].
      pose proof (RelLe x) as Rx. pose proof (causal since size start pk LR x Hx) as Kx.
      destruct (Nat.eq_dec (start x) (start y)) as [E1|N1].
      * (* It is the packet that began the history. *)
        apply Via_begin; [|].
        -- intros t Ht. destruct (le_lt_dec t a) as [L|L]; [|apply NIr; lia].
           apply (Unfinished x a Hx); lia.
        -- assert (Same : size x = size y \/ x <> y) by
             (destruct (Nat.eq_dec (size x) (size y)); [left; assumption|right; intros ->; lia]).
           destruct Same as [<-|Nxy]; [lia|exfalso].
           pose proof (positive since size start pk LR y Hy). pose proof (positive since size start pk LR x Hx).
           destruct (exclusive since size start pk LR x y Hx Hy Nxy); unfold Edf.fin in *; lia.
      * destruct (le_lt_dec (start y) (start x)) as [L|L].
        -- (* It is in the history, so it is due no later. *)
           enough (dl x <= dl n) by lia. destruct (in_split x be Hbe) as (u & w & Ex).
           assert (Hnw : In n w).
           { rewrite Ex in Hn. apply in_app_or in Hn. destruct Hn as [H|[<-|H]]; [exfalso|lia|assumption].
             destruct (in_split n u H) as (u1 & u2 & ->).
             pose proof (Service u1 n u2 x w ltac:(rewrite Ex, <- app_assoc; reflexivity)). lia. }
           destruct (in_split n w Hnw) as (w1 & w2 & ->).
           apply (Order u x w1 n w2 Ex); [unfold in_history; rewrite On; lia|].
           intros t Ht. destruct (le_lt_dec t a) as [La|La]; [|apply NIr; lia].
           apply (Unfinished x a Hx); lia.
        -- (* It would be on the link at the start of [y]. *)
           pose proof (positive since size start pk LR y Hy).
           destruct (exclusive since size start pk LR x y Hx Hy ltac:(intros ->; lia)); unfold Edf.fin in *; lia.
    + destruct (Began Ri (Busy_before Ri)) as (y' & Oy' & Ly). injection Oy' as <-.
      assert (Ey : start y = a - 1) by lia.
      apply Via_begin; [rewrite Ey; apply Busy_before; assumption|].
      pose proof (positive since size start pk LR y Hy) as Py.
      destruct Hb as [->|(x & Hx & Sx & Dx & Bx)]; [lia|].
      assert (Same : size x = size y /\ start x = start y \/ x <> y) by
        (destruct (Nat.eq_dec (size x) (size y)), (Nat.eq_dec (start x) (start y));
           [left; split; assumption|right; intros ->; lia..]).
      destruct Same as [[<- <-]|Nxy]; [lia|exfalso].
      destruct (exclusive since size start pk LR x y Hx Hy Nxy); unfold Edf.fin in *; lia.
Qed.

(** ** A rule that is safe makes safe histories

    The history that began with [y] is a list of (release, size) with (start y, counted y) as its oldest
    entry, and no release before start y; so [covers] gives both bounds. *)
Lemma one_history_suffices assign newer r s older e c D :
  safe_assigner E assign -> monotone E -> (forall x, In x newer -> r <= fst x) ->
  (forall x, In x (newer ++ (r, s) :: older) -> e <= fst x) ->
  assign (newer ++ (r, s) :: older ++ [(e, c)]) <= D ->
  work newer + s <= E (D - r) /\ c + (work newer + s) <= E (D - e).
Proof.
  intros [Cov _ _] ME Ord Begin Le. split.
  - eapply Nat.le_trans; [apply (Cov newer r s (older ++ [(e, c)]) Ord)|]. apply ME. lia.
  - pose proof (Cov (newer ++ (r, s) :: older) e c [] Begin) as C.
    rewrite <- app_assoc in C. cbn [app] in C. rewrite work_app in C. unfold work in *. cbn [sumf snd] in C.
    eapply Nat.le_trans; [|apply ME; apply Nat.sub_le_mono_r; exact Le]. lia.
Qed.
End Restart.
