(** * Finite sums over lists and over intervals of ticks

    [sumf f l] adds [f x] over a list; [over a b f] adds [f t] over the ticks of [a, b); [on c x] is
    [x] if the condition holds and 0 otherwise. Nothing here is about scheduling. *)
From Coq Require Import List Arith Lia Bool.
Import ListNotations.

(** [sumf f l]: the sum of [f x] over the elements [x] of [l]. *)
Fixpoint sumf {A : Type} (f : A -> nat) (l : list A) : nat :=
  match l with [] => 0 | x :: r => f x + sumf f r end.

(** [ticks a n f]: the sum of [f t] over the [n] ticks [a, a+1, ...]. *)
Fixpoint ticks (a n : nat) (f : nat -> nat) : nat :=
  match n with 0 => 0 | S m => f a + ticks (S a) m f end.

(** [over a b f]: the sum of [f t] over the ticks [t] of the interval [a, b). *)
Definition over (a b : nat) (f : nat -> nat) : nat := ticks a (b - a) f.

(** [on c x]: [x] if the condition holds, else 0. *)
Definition on (c : bool) (x : nat) : nat := if c then x else 0.

Section Lists.
Context {A : Type}.
Implicit Types (f g : A -> nat) (l : list A).

Lemma sumf_le f g l : (forall x, In x l -> f x <= g x) -> sumf f l <= sumf g l.
Proof.
  induction l as [|y r IH]; simpl; intros H; [lia|].
  pose proof (H y (or_introl eq_refl)). specialize (IH (fun x Hx => H x (or_intror Hx))). lia.
Qed.

Lemma sumf_ext f g l : (forall x, In x l -> f x = g x) -> sumf f l = sumf g l.
Proof.
  induction l as [|y r IH]; simpl; intros H; [reflexivity|].
  rewrite (H y (or_introl eq_refl)), (IH (fun x Hx => H x (or_intror Hx))). reflexivity.
Qed.

Lemma sumf_zero f l : (forall x, In x l -> f x = 0) -> sumf f l = 0.
Proof.
  induction l as [|y r IH]; simpl; intros H; [reflexivity|].
  rewrite (H y (or_introl eq_refl)), (IH (fun x Hx => H x (or_intror Hx))). reflexivity.
Qed.

Lemma sumf_plus f g l : sumf (fun x => f x + g x) l = sumf f l + sumf g l.
Proof. induction l; simpl; lia. Qed.

Lemma sumf_mult k f l : sumf (fun x => k * f x) l = k * sumf f l.
Proof. induction l; simpl; lia. Qed.

Lemma sumf_app f l m : sumf f (l ++ m) = sumf f l + sumf f m.
Proof. induction l; simpl; lia. Qed.

Lemma sumf_member f l x : In x l -> f x <= sumf f l.
Proof. induction l as [|y r IH]; simpl; [tauto|]. intros [->|H]; [lia|]. specialize (IH H). lia. Qed.

(** One element may be strictly smaller. *)
Lemma sumf_lt f g l x :
  (forall y, In y l -> f y <= g y) -> In x l -> f x < g x -> sumf f l < sumf g l.
Proof.
  induction l as [|y r IH]; simpl; [tauto|]. intros H [->|Hx] Hlt.
  - pose proof (sumf_le f g r (fun z Hz => H z (or_intror Hz))). lia.
  - pose proof (H y (or_introl eq_refl)). specialize (IH (fun z Hz => H z (or_intror Hz)) Hx Hlt). lia.
Qed.

Lemma sumf_filter f (p : A -> bool) l : sumf f (filter p l) = sumf (fun x => on (p x) (f x)) l.
Proof. induction l as [|y r IH]; simpl; [reflexivity|]. destruct (p y); simpl; lia. Qed.

End Lists.

Lemma sumf_swap {A B} (f : A -> B -> nat) (l : list A) (m : list B) :
  sumf (fun x => sumf (f x) m) l = sumf (fun y => sumf (fun x => f x y) l) m.
Proof.
  induction l as [|x r IH]; simpl.
  - symmetry. apply sumf_zero. reflexivity.
  - rewrite IH, <- sumf_plus. reflexivity.
Qed.

Section Intervals.
Implicit Types f g : nat -> nat.

Lemma ticks_le a n f g : (forall t, a <= t < a + n -> f t <= g t) -> ticks a n f <= ticks a n g.
Proof.
  revert a. induction n as [|n IH]; simpl; intros a H; [lia|].
  pose proof (H a ltac:(lia)). specialize (IH (S a) (fun t Ht => H t ltac:(lia))). lia.
Qed.

Lemma over_le a b f g : (forall t, a <= t < b -> f t <= g t) -> over a b f <= over a b g.
Proof. intros H. apply ticks_le. intros t Ht. apply H. lia. Qed.

Lemma ticks_const a n k : ticks a n (fun _ => k) = n * k.
Proof. revert a. induction n; simpl; intros; [lia|]. rewrite IHn. lia. Qed.

Lemma over_one a b : over a b (fun _ => 1) = b - a.
Proof. unfold over. rewrite ticks_const. lia. Qed.

Lemma ticks_app a n m f : ticks a (n + m) f = ticks a n f + ticks (a + n) m f.
Proof.
  revert a. induction n as [|n IH]; simpl; intros a; [rewrite Nat.add_0_r; lia|].
  rewrite IH. replace (S a + n) with (a + S n) by lia. lia.
Qed.

Lemma over_split a b c f : a <= b -> b <= c -> over a c f = over a b f + over b c f.
Proof.
  intros. unfold over. replace (c - a) with ((b - a) + (c - b)) by lia.
  rewrite ticks_app. f_equal. f_equal; lia.
Qed.

Lemma over_empty a b f : b <= a -> over a b f = 0.
Proof. intros. unfold over. replace (b - a) with 0 by lia. reflexivity. Qed.

Lemma over_last a b f : a <= b -> over a (S b) f = over a b f + f b.
Proof.
  intros. rewrite (over_split a b (S b)) by lia. f_equal. unfold over.
  replace (S b - b) with 1 by lia. simpl. lia.
Qed.

Lemma over_zero a b f : (forall t, a <= t < b -> f t = 0) -> over a b f = 0.
Proof.
  intros H. enough (over a b f <= over a b (fun _ => 0)) as E.
  - unfold over in E at 2. rewrite ticks_const in E. lia.
  - apply over_le. intros t Ht. rewrite (H t Ht). lia.
Qed.

Lemma over_plus a b f g : over a b (fun t => f t + g t) = over a b f + over a b g.
Proof.
  unfold over. generalize (b - a) as n. intros n. revert a.
  induction n; simpl; intros; [lia|]. rewrite IHn. lia.
Qed.

Lemma over_mult a b k f : over a b (fun t => k * f t) = k * over a b f.
Proof.
  unfold over. generalize (b - a) as n. intros n. revert a.
  induction n; simpl; intros; [lia|]. rewrite IHn. lia.
Qed.

(** Exchanging a sum over a list with one over ticks. *)
Lemma over_sumf {A} a b (f : A -> nat -> nat) l :
  over a b (fun t => sumf (fun x => f x t) l) = sumf (fun x => over a b (f x)) l.
Proof.
  induction l as [|x r IH]; simpl.
  - apply over_zero. reflexivity.
  - rewrite over_plus, IH. reflexivity.
Qed.

Lemma over_within a b c d f : c <= a -> b <= d -> over a b f <= over c d f.
Proof.
  intros. destruct (le_lt_dec b a) as [L|L]; [rewrite (over_empty a b); lia|].
  rewrite (over_split c a d) by lia. rewrite (over_split a b d) by lia. lia.
Qed.

End Intervals.

(** The last instant of [lo, hi] with a property that holds at [lo]. *)
Lemma last_such (P : nat -> bool) lo hi :
  lo <= hi -> P lo = true ->
  exists a, lo <= a <= hi /\ P a = true /\ forall t, a < t <= hi -> P t = false.
Proof.
  intros H0 Hlo. induction hi as [|hi IH].
  - exists lo. repeat split; try lia; try assumption.
  - destruct (P (S hi)) eqn:E.
    + exists (S hi). repeat split; try lia; try assumption.
    + destruct (le_lt_dec lo hi) as [L|L].
      * destruct (IH L) as (a & Ha & Pa & Hl). exists a. repeat split; try lia; try assumption.
        intros t Ht. destruct (Nat.eq_dec t (S hi)) as [->|]; [assumption|]. apply Hl. lia.
      * assert (lo = S hi) by lia. subst lo. congruence.
Qed.

(** The first and the last tick of [a, b) with a property, if there is any. *)
Lemma first_last (P : nat -> bool) a b :
  (forall t, a <= t < b -> P t = false) \/
  (exists u v, a <= u <= v /\ v < b /\ P u = true /\ P v = true /\
     (forall t, a <= t < u -> P t = false) /\ (forall t, v < t < b -> P t = false)).
Proof.
  induction b as [|b IH].
  - left. lia.
  - destruct (le_lt_dec a b) as [L|L]; [|left; intros; lia].
    destruct (P b) eqn:E.
    + right. destruct IH as [IH|(u & v & Hu & Hv & Pu & Pv & Hb & Ha)].
      * exists b, b. repeat split; try lia; try assumption.
      * exists u, b. repeat split; try lia; try assumption.
    + destruct IH as [IH|(u & v & Hu & Hv & Pu & Pv & Hb & Ha)].
      * left. intros t Ht. destruct (Nat.eq_dec t b) as [->|]; [assumption|]. apply IH. lia.
      * right. exists u, v. repeat split; try lia; try assumption.
        intros t Ht. destruct (Nat.eq_dec t b) as [->|]; [assumption|]. apply Ha. lia.
Qed.
