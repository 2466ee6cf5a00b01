(** * [slack]: best effort is sent when no deadline could suffer from it

    Real-time packets [rt] have deadlines; best-effort packets [be] have none. The scheduler is EDF
    among real-time packets and may start a best-effort packet at any decision instant, under a
    condition on what waits and on what may still arrive. Code: crates/link/src/slack/mod.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines.
Import ListNotations.

Section Slack.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat).
Notation fin := (Edf.fin size start).
Variables (rt be : list packet).
Hypothesis apart : forall p, In p rt -> In p be -> False.

(** The link never idles while a real-time packet waits, and sends them in EDF order. *)
Record slack_run : Prop := {
  sr_link : Edf.link_run arr size start (rt ++ be);
  sr_non_idling : Edf.non_idling arr size start rt (rt ++ be);
  sr_order : Edf.edf_among arr dl start rt rt
}.

(** B: real-time work that waits at [t] and is due by [D]. *)
Definition queued (t D : nat) : nat :=
  sumf (fun q => on ((arr q <=? t) && (t <? start q) && (dl q <=? D)) (size q)) rt.
(** What still comes after [t], up to [D], and is due by [D]. *)
Definition to_come (t D : nat) : nat :=
  sumf (fun q => on ((t <? arr q) && (max (arr q) (dl q) <=? D)) (size q)) rt.

(** [F t D] is any bound, known at [t], on what still comes and is due by [D] (from the state of
    the policers); its form does not matter here. *)
Variable F : nat -> nat -> nat.
(** The bound need only hold if the link does not become idle before [D]: then the past of the flows
    counts. *)
Notation no_idle_between := (Deadlines.no_idle_between arr size start rt be).
Definition bounds_arrivals : Prop := forall t D, no_idle_between t D -> to_come t D <= F t D.

(** [known t D]: a search at [t] looks at the deadline [D]. It must look at the deadlines of what waits and
    at all that packets which come later may have. *)
Variable known : nat -> nat -> Prop.
Definition knows_deadlines : Prop :=
  (forall t q, In q rt -> arr q <= t < start q -> known t (dl q)) /\
  (forall t q, In q rt -> t < arr q -> no_idle_between t (dl q) -> known t (dl q)).

(** The check for a packet of [w] at [t]: w <= (D - t) - B - F for every [D] that is looked at. *)
Definition check (t w : nat) : Prop := forall D, known t D -> w + queued t D + F t D <= D - t.

Definition rt_waits (t : nat) : Prop := exists q, In q rt /\ arr q <= t < start q.

(** Best effort passes the check whenever a real-time packet waits. *)
Definition checked : Prop :=
  forall x, In x be -> rt_waits (start x) -> check (start x) (size x).
(** Option [always-check]: also when none waits. *)
Definition always_checked : Prop := forall x, In x be -> check (start x) (size x).

(** Static admission looks at intervals in which real-time work is due, at whose begin earlier work due in
    them is finished, and in which some is always pending. *)
Definition interval (a D : nat) : Prop :=
  a <= D /\ busy_since arr size dl start rt [] a D /\ 0 < Edf.demand arr size dl rt a D.

(** The demand of each such interval fits, also beside a real-time blocker. *)
Definition fits_beside_real_time : Prop :=
  forall a D, interval a D ->
    Edf.demand arr size dl rt a D <= D - a /\
    forall x, In x rt -> arr x < a < fin x -> D < dl x ->
      Edf.demand arr size dl rt a D + (size x - 1) <= D - a.
(** And beside a best-effort packet. *)
Definition fits_beside_best_effort : Prop :=
  forall a D x, interval a D -> In x be -> Edf.demand arr size dl rt a D + (size x - 1) <= D - a.

(** If a best-effort packet that passed the check starts at [t], and from its end on only
    real-time packets are sent that are due by [D] and started after [t], then none of these is
    unfinished at [D]. *)
Lemma check_covers x p D from :
  slack_run -> to_come (start x) D <= F (start x) D -> In x be -> check (start x) (size x) ->
  In p rt -> arr p <= D -> dl p <= D -> start x < start p -> D < fin p -> from <= D -> from <= fin x ->
  known (start x) D ->
  (forall t, from <= t < D -> exists q, In q rt /\ dl q <= D /\ start x < start q /\ start q <= t < fin q) ->
  False.
Proof.
  intros [LR NI EO] BA Hx Ck Hp Ap Dp Sp Late LD LF Known Fill.
  specialize (Ck D Known).
  set (Q := fun q => (start x <? start q) && (max (arr q) (dl q) <=? D)).
  assert (LRrt : Edf.link_run arr size start rt).
  { destruct LR as [Po Ca Ex]. constructor; intros.
    - apply Po. apply in_or_app. left. assumption.
    - apply Ca. apply in_or_app. left. assumption.
    - apply Ex; try assumption; apply in_or_app; left; assumption. }
  assert (QI : forall q, start x < start q -> arr q <= D -> dl q <= D -> Q q = true).
  { intros q H1 H2 H3. unfold Q. apply andb_true_iff. split; [apply Nat.ltb_lt|apply Nat.leb_le]; lia. }
  assert (L : D - from < sumf (fun q => on (Q q) (size q)) rt).
  { apply (Edf.filled arr size start rt Q from D p); try assumption; [apply QI; assumption|].
    intros t Ht. destruct (Fill t Ht) as (q & Hq & Dq & Sq & Rq).
    exists q. split; [assumption|]. split; [apply QI; try assumption|assumption].
    pose proof (Edf.causal arr size start rt LRrt q Hq). lia. }
  assert (Sum : sumf (fun q => on (Q q) (size q)) rt <= queued (start x) D + to_come (start x) D).
  { unfold queued, to_come. rewrite <- sumf_plus. apply sumf_le. intros q Hq. unfold Q.
    destruct (Nat.ltb_spec (start x) (start q)), (Nat.leb_spec (dl q) D), (Nat.leb_spec (max (arr q) (dl q)) D),
             (Nat.leb_spec (arr q) (start x)), (Nat.ltb_spec (start x) (arr q)); cbn [on andb]; lia. }
  unfold Edf.fin in *. lia.
Qed.

(** ** Theorem: with the check, no real-time packet is late *)

Lemma late_is_impossible p :
  slack_run -> bounds_arrivals -> knows_deadlines -> checked -> fits_beside_real_time ->
  (fits_beside_best_effort \/ always_checked) ->
  In p rt -> arr p <= dl p -> dl p < fin p -> False.
Proof.
  intros Run BA Knows Ck Fits FB Hp AD Late. pose proof Run as [LR NI EO].
  set (D := dl p) in *. set (pk := rt ++ be) in *.
  assert (InL : forall q, In q rt -> In q pk) by (intros; apply in_or_app; left; assumption).
  assert (InR : forall q, In q be -> In q pk) by (intros; apply in_or_app; right; assumption).
  assert (LRrt : Edf.link_run arr size start rt).
  { destruct LR as [Po Ca Ex]. constructor; intros; auto. }
  destruct (Edf.busy_from arr size start rt (fun q => dl q <=? D) p D Hp
              (proj2 (Nat.leb_le _ _) (Nat.le_refl _)) Late) as (a & Ha & Before & Busy).
  assert (LD : interval a D).
  { split; [unfold D; lia|]. split; [split|].
    - intros t Ht I. destruct (Busy (t - 1) ltac:(lia)) as (q & Hq & _ & Aq & Fq).
      specialize (I q ltac:(apply in_or_app; left; assumption) ltac:(lia)). lia.
    - intros q Hq Dq Aq. rewrite app_nil_r in Hq. apply Before; try assumption. apply Nat.leb_le. assumption.
    - unfold Edf.demand. set (g := fun q => on ((a <=? arr q) && (max (arr q) (dl q) <=? D)) (size q)).
      apply Nat.lt_le_trans with (g p); [|apply (sumf_member g); assumption].
      unfold g. rewrite (proj2 (Nat.leb_le _ _) Ha), (proj2 (Nat.leb_le (max (arr p) (dl p)) D)) by (unfold D; lia).
      apply (Edf.positive arr size start rt LRrt p Hp). }
  (* At every tick of [a, D) a real-time packet due by D is there; what is sent? *)
  assert (Sent : forall t, a <= t < D -> exists x, In x pk /\ start x <= t < fin x /\
     ((In x rt /\ dl x <= D /\ a <= arr x) \/ (In x rt /\ D < dl x /\ start x < a) \/ In x be)).
  { intros t Ht. destruct (Busy t Ht) as (q & Hq & Sq & Aq & Fq). apply Nat.leb_le in Sq.
    assert (Ex : exists x, In x pk /\ start x <= t < fin x).
    { destruct (le_lt_dec (start q) t) as [L|L].
      - exists q. split; [apply InL; assumption|]. lia.
      - apply (NI q t); [assumption|lia]. }
    destruct Ex as (x & Hx & Rx). exists x. split; [assumption|]. split; [assumption|].
    apply in_app_or in Hx. destruct Hx as [Hx|Hx]; [|right; right; assumption].
    destruct (le_lt_dec (dl x) D) as [L|L].
    - left. split; [assumption|]. split; [assumption|].
      destruct (le_lt_dec a (arr x)) as [|A]; [assumption|exfalso].
      specialize (Before x Hx (proj2 (Nat.leb_le _ _) L) A). lia.
    - right. left. split; [assumption|]. split; [assumption|].
      destruct (le_lt_dec a (start x)) as [A|]; [exfalso|assumption].
      destruct (Busy (start x) ltac:(lia)) as (r & Hr & Sr & Ar & Fr). apply Nat.leb_le in Sr.
      assert (N : r <> x) by (intros ->; lia).
      pose proof (Edf.positive arr size start rt LRrt x Hx).
      pose proof (Edf.waits arr size start rt r x (start x) LRrt Hr Hx N
                    ltac:(unfold Edf.fin; lia) Fr Ar) as W.
      specialize (EO r x Hr Hx ltac:(lia)). lia. }
  (* The last tick of [a, D) in which best effort is sent, if any. *)
  set (B := fun t => existsb (fun x => (start x <=? t) && (t <? fin x)) be).
  assert (Bspec : forall t, B t = true <-> exists x, In x be /\ start x <= t < fin x).
  { intros t. unfold B. rewrite existsb_exists. split; intros (x & Hx & E); exists x; split; try assumption.
    - apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.leb_le in E1. apply Nat.ltb_lt in E2. lia.
    - apply andb_true_iff. split; [apply Nat.leb_le|apply Nat.ltb_lt]; lia. }
  (* A best-effort packet that is sent last, and started at [a] or later or passed the check. *)
  assert (Last : forall v x, a <= v < D -> In x be -> start x <= v < fin x -> check (start x) (size x) ->
            (forall t, v < t < D -> B t = false) -> False).
  { intros v x Hv Hx Rx Cx Later.
    assert (LateStart : forall q, In q rt -> dl q <= D -> a <= arr q -> v < fin q -> start x < start q).
    { intros q Hq Dq Aq Fq. destruct (le_lt_dec (start q) (start x)) as [L|]; [exfalso|assumption].
      assert (N : q <> x) by (intros ->; exact (apart x Hq Hx)).
      destruct (Edf.exclusive arr size start pk LR q x (InL q Hq) (InR x Hx) N); lia. }
    assert (Sp : start x < start p).
    { apply LateStart; try assumption; unfold D in *; try lia. }
    assert (Busy_link : no_idle_between (start x) D).
    { intros u Hu I. destruct (le_lt_dec (fin x) u) as [L|L].
      - destruct (Busy (u - 1) ltac:(lia)) as (q & Hq & _ & Aq & Fq).
        specialize (I q (InL q Hq) ltac:(lia)). lia.
      - pose proof (Edf.causal arr size start pk LR x (InR x Hx)). specialize (I x (InR x Hx) ltac:(lia)). lia. }
    apply (check_covers x p D (min (fin x) D) Run (BA _ _ Busy_link) Hx Cx Hp ltac:(unfold D; lia)
             ltac:(unfold D; lia) Sp Late); try lia.
    - destruct (le_lt_dec (arr p) (start x)) as [L|L].
      + apply (proj1 Knows); [assumption|lia].
      + apply (proj2 Knows); try assumption.
    - intros t Ht. destruct (Sent t ltac:(lia)) as (y & Hy & Ry & [(Iy & Dy & Ay)|[(Iy & Dy & Sy)|Iy]]).
      + exists y. repeat split; try assumption; try lia. apply LateStart; try assumption. lia.
      + exfalso. assert (N : y <> x) by (intros ->; exact (apart x Iy Hx)).
        destruct (Edf.exclusive arr size start pk LR y x Hy (InR x Hx) N); lia.
      + exfalso. destruct (Nat.eq_dec (start y) (start x)) as [E|NE].
        * destruct (le_lt_dec t v) as [L|L]; [lia|].
          assert (B t = true) by (apply Bspec; exists y; split; assumption).
          rewrite (Later t) in H; [discriminate|lia].
        * assert (B t = true) by (apply Bspec; exists y; split; assumption).
          rewrite (Later t) in H; [discriminate|lia]. }
  (* Best effort that starts within [a, D) passed the check, as a real-time packet waits then. *)
  assert (Within : forall x, In x be -> a <= start x < D -> check (start x) (size x)).
  { intros x Hx Sx. destruct (Busy (start x) Sx) as (q & Hq & Sq & Aq & Fq).
    apply Ck; [assumption|]. exists q. split; [assumption|]. split; [assumption|].
    assert (N : q <> x) by (intros ->; exact (apart x Hq Hx)).
    pose proof (Edf.positive arr size start pk LR x (InR x Hx)).
    apply (Edf.waits arr size start pk q x (start x) LR (InL q Hq) (InR x Hx) N
             ltac:(unfold Edf.fin; lia) Fq Aq). }
  destruct (first_last B a D) as [None|(u & v & Hu & Hv & Bu & Bv & _ & Later)].
  - (* No best effort in [a, D): as under EDF, at most one real-time packet due later goes before. *)
    set (Q := fun q => (a <=? arr q) && (max (arr q) (dl q) <=? D)).
    assert (QS : forall q, dl q <= D -> a <= arr q -> arr q <= D -> Q q = true).
    { intros q H1 H2 H3. unfold Q. apply andb_true_iff. split; apply Nat.leb_le; lia. }
    assert (Qp : Q p = true) by (apply QS; unfold D; lia).
    assert (NoBe : forall t y, a <= t < D -> In y be -> start y <= t < fin y -> False).
    { intros t y Ht Iy Ry. assert (B t = true) by (apply Bspec; exists y; split; assumption).
      rewrite (None t Ht) in H. discriminate. }
    destruct (Fits a D LD) as [F0 F1].
    destruct (le_lt_dec D a) as [L|L].
    { pose proof (Edf.filled arr size start rt Q a D p LRrt ltac:(lia) Hp Qp Late ltac:(intros; lia)).
      unfold Edf.demand in F0. fold Q in F0. unfold Q in *. lia. }
    destruct (Sent a ltac:(lia)) as (x & Hx & Rx & [(Ix & Dx & Ax)|[(Ix & Dx & Sx)|Ix]]);
      [| |exfalso; apply (NoBe a x); try assumption; lia].
    + enough (D - a < sumf (fun q => on (Q q) (size q)) rt) by (unfold Edf.demand, Q in *; lia).
      apply (Edf.filled arr size start rt Q a D p); try assumption; [lia|].
      intros t Ht. destruct (Sent t Ht) as (y & Hy & Ry & [(Iy & Dy & Ay)|[(Iy & Dy & Sy)|Iy]]).
      * exists y. split; [assumption|]. split; [apply QS; try assumption; pose proof (Edf.causal arr size start pk LR y Hy); lia|assumption].
      * exfalso. apply (Edf.one_at_a_time arr size start pk y x a LR Hy Hx); [intros ->; lia|lia|lia].
      * exfalso. apply (NoBe t y Ht Iy Ry).
    + enough (D - min (fin x) D < sumf (fun q => on (Q q) (size q)) rt).
      { pose proof (Edf.causal arr size start pk LR x Hx).
        specialize (F1 x Ix ltac:(lia) Dx). unfold Edf.fin, Edf.demand, Q in *. lia. }
      apply (Edf.filled arr size start rt Q (min (fin x) D) D p); try assumption; [lia|].
      intros t Ht. destruct (Sent t ltac:(lia)) as (y & Hy & Ry & [(Iy & Dy & Ay)|[(Iy & Dy & Sy)|Iy]]).
      * exists y. split; [assumption|]. split; [apply QS; try assumption; pose proof (Edf.causal arr size start pk LR y Hy); lia|assumption].
      * exfalso. apply (Edf.one_at_a_time arr size start pk y x a LR Hy Hx); [intros ->; lia|lia|lia].
      * exfalso. apply (NoBe t y ltac:(lia) Iy Ry).
  - apply Bspec in Bv. destruct Bv as (x & Hx & Rx).
    destruct (le_lt_dec a (start x)) as [L|L].
    + apply (Last v x ltac:(lia) Hx Rx (Within x Hx ltac:(lia)) Later).
    + destruct FB as [FB|AC]; [|apply (Last v x ltac:(lia) Hx Rx (AC x Hx) Later)].
      (* It started before [a], unchecked: it blocks, and static admission counted it. *)
      specialize (FB a D x LD Hx).
      set (Q := fun q => (a <=? arr q) && (max (arr q) (dl q) <=? D)).
      assert (QS : forall q, dl q <= D -> a <= arr q -> arr q <= D -> Q q = true).
      { intros q H1 H2 H3. unfold Q. apply andb_true_iff. split; apply Nat.leb_le; lia. }
      assert (Qp : Q p = true) by (apply QS; unfold D; lia).
      enough (D - min (fin x) D < sumf (fun q => on (Q q) (size q)) rt).
      { unfold Edf.fin, Edf.demand, Q in *. lia. }
      apply (Edf.filled arr size start rt Q (min (fin x) D) D p); try assumption; [lia|].
      intros t Ht. destruct (Sent t ltac:(lia)) as (y & Hy & Ry & [(Iy & Dy & Ay)|[(Iy & Dy & Sy)|Iy]]).
      * exists y. split; [assumption|]. split; [apply QS; try assumption; pose proof (Edf.causal arr size start pk LR y Hy); lia|assumption].
      * exfalso. assert (N : y <> x) by (intros ->; exact (apart x Iy Hx)).
        apply (Edf.one_at_a_time arr size start pk y x a LR Hy (InR x Hx) N); lia.
      * exfalso. assert (B t = true) by (apply Bspec; exists y; split; assumption).
        rewrite (Later t) in H; [discriminate|lia].
Qed.

(** [slack] as coded: checked while real time waits, and admission includes best effort. *)
Theorem slack_keeps_known_deadlines :
  slack_run -> bounds_arrivals -> knows_deadlines ->
  checked -> fits_beside_real_time -> fits_beside_best_effort ->
  forall p, In p rt -> arr p <= dl p -> fin p <= dl p.
Proof.
  intros Run BA Knows Ck F1 F2 p Hp AD.
  destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  exact (late_is_impossible p Run BA Knows Ck F1 (or_introl F2) Hp AD Late).
Qed.

(** [always-check]: admission need not count best effort. *)
Theorem always_check_keeps_known_deadlines :
  slack_run -> bounds_arrivals -> knows_deadlines ->
  always_checked -> fits_beside_real_time ->
  forall p, In p rt -> arr p <= dl p -> fin p <= dl p.
Proof.
  intros Run BA Knows AC F1 p Hp AD.
  destruct (le_lt_dec (fin p) (dl p)) as [|Late]; [assumption|exfalso].
  assert (Ck : checked) by (intros x Hx _; apply AC; assumption).
  exact (late_is_impossible p Run BA Knows Ck F1 (or_intror AC) Hp AD Late).
Qed.
End Slack.

(** ** Flows with deadlines: all that are d_min away or more are looked at

    [least] is d_min, the least relative deadline of real-time packets. *)
Section Least.
Context {packet : Type}.
Variables (arr size dl start : packet -> nat) (rt be : list packet).
Hypothesis apart : forall p, In p rt -> In p be -> False.
Variables (F : nat -> nat -> nat) (least : nat).

Definition least_deadline : Prop := forall p, In p rt -> arr p + least <= dl p.
Definition waiting_or_later (t D : nat) : Prop :=
  (exists q, In q rt /\ arr q <= t < start q /\ dl q = D) \/ t + least <= D.

Lemma least_deadlines_are_known :
  least_deadline -> knows_deadlines arr size dl start rt be waiting_or_later.
Proof.
  intros Least. split; intros t q Hq A.
  - left. exists q. repeat split; try assumption; lia.
  - intros _. right. specialize (Least q Hq). lia.
Qed.

Theorem slack_keeps_real_time :
  slack_run arr size dl start rt be -> bounds_arrivals arr size dl start rt be F -> least_deadline ->
  checked arr size dl start rt be F waiting_or_later ->
  fits_beside_real_time arr size dl start rt -> fits_beside_best_effort arr size dl start rt be ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros Run BA Least Ck F1 F2 p Hp.
  apply (slack_keeps_known_deadlines arr size dl start rt be apart F waiting_or_later); try assumption.
  - apply least_deadlines_are_known. assumption.
  - specialize (Least p Hp). lia.
Qed.

Theorem always_check_keeps_real_time :
  slack_run arr size dl start rt be -> bounds_arrivals arr size dl start rt be F -> least_deadline ->
  always_checked arr size dl start rt be F waiting_or_later -> fits_beside_real_time arr size dl start rt ->
  forall p, In p rt -> fin size start p <= dl p.
Proof.
  intros Run BA Least AC F1 p Hp.
  apply (always_check_keeps_known_deadlines arr size dl start rt be apart F waiting_or_later); try assumption.
  - apply least_deadlines_are_known. assumption.
  - specialize (Least p Hp). lia.
Qed.
End Least.
