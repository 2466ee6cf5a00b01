(** * Fixed-point shares: rounding on the safe side

    The scheduler counts shares in units of 2^-40 of a CPU ([ONE] here, any number will do): those of
    reservations rounded up, the rest of the CPU down, and periods from shares up. The theorems about
    shares want exact ones. Here the exact shares of what the scheduler admits add up to at most the whole.
    Code: crates/cpu/src/share.rs, crates/cpu/src/servers/bandwidth.rs. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Lines.
Import ListNotations.

Section Rounding.
Variables (ONE N : nat).
Hypothesis ONE_positive : 0 < ONE.

(** A budget every period, and its exact share as a whole number of [N], a common multiple of periods. *)
Record bandwidth := { budget : nat; period : nat; share : nat }.
Definition exact_share (e : bandwidth) : Prop := 0 < period e /\ share e * period e = N * budget e.

(** Share::up: budget / period in units of 1/ONE, rounded up. *)
Definition share_up (e : bandwidth) : nat := div_up (budget e * ONE) (period e).

Lemma share_up_is_enough e : exact_share e -> ONE * share e <= N * share_up e.
Proof.
  intros [PP E]. pose proof (div_up_enough (budget e * ONE) (period e) PP) as U.
  fold (share_up e) in U. assert (share e * period e * ONE = N * (budget e * ONE)) by (rewrite E; lia).
  assert (share e * period e * ONE <= N * (period e * share_up e)) by nia.
  apply (Nat.mul_le_mono_pos_l _ _ (period e)); [lia|]. nia.
Qed.

(** ** Theorem: if shares that were rounded up fit, so do the exact ones

    [rest] is what best effort has of the CPU, in units of 1/ONE. *)
Theorem rounded_shares_fit (es : list bandwidth) rest :
  (forall e, In e es -> exact_share e) ->
  sumf share_up es + rest <= ONE ->
  ONE * sumf share es + N * rest <= ONE * N.
Proof.
  intros Ex Fit.
  enough (ONE * sumf share es <= N * sumf share_up es) by nia.
  clear Fit. induction es as [|e r IH]; [simpl; lia|]. cbn [sumf].
  specialize (IH (fun x Hx => Ex x (or_intror Hx))).
  pose proof (share_up_is_enough e (Ex e (or_introl eq_refl))). nia.
Qed.

(** A period computed from a share of [g] units and rounded up gives a bandwidth of at most [g]. *)
Theorem period_from_share_is_safe b g :
  0 < g -> ONE * b <= g * div_up (b * ONE) g.
Proof. intros GP. pose proof (div_up_enough (b * ONE) g GP). lia. Qed.

(** A remaining budget that is stretched to a smaller share, the deadline rounded up, is due no earlier
    than the smaller share gives it from the zero-lag time [z] on: with [old] and [new] shares, what is
    left at the old share by [dl] is left at the new one by the new deadline. *)
Definition stretched (z dl old new : nat) : nat := z + div_up (old * (dl - z)) new.

Theorem stretched_deadline_gives_the_rest z dl old new :
  0 < new -> z <= dl -> old * dl <= old * z + new * (stretched z dl old new - z).
Proof.
  intros P L. unfold stretched. pose proof (div_up_enough (old * (dl - z)) new P).
  replace (z + div_up (old * (dl - z)) new - z) with (div_up (old * (dl - z)) new) by lia. nia.
Qed.
End Rounding.
