(** * A certificate that reservations fit CPUs which share a queue

    Goossens, Funk and Baruah ("Priority-driven scheduling of periodic task systems on multiprocessors", 2003): on [m]
    CPUs under global EDF no deadline is missed while the sum of densities and [m - 1] times the greatest are together
    at most [m]. That theorem is cited, not proved here. Proved is that a certificate which [sound] accepts has its
    premise, in exact fractions, beside the share of each CPU that best effort keeps.

    Times are nanoseconds, densities whole numbers of a CPU's [pieces], rounded up. Code:
    crates/certify/src/cluster.rs, crates/cpu/src/gfb.rs. *)
From Coq Require Import List ZArith QArith Lqa Lia Bool.
From Laxity Require Import common.Sweep cpu.Certificate.
Import ListNotations.
Open Scope Z_scope.

Record cluster := { cpus : Z; whole : Z; kept : Z; members : list asked }.
Record densities := { pieces : Z; total : Z; largest : Z }.

(** Budget over deadline, exactly. *)
Definition density (r : asked) : Q := (inject_Z (run_time r) / inject_Z (within r))%Q.
Definition sum_of_densities (rs : list asked) : Q := fold_right (fun r sum => (density r + sum)%Q) 0%Q rs.

Section Cluster.
Variables (f : cluster) (c : densities).

(** A density, rounded up to whole pieces. *)
Definition piece (r : asked) : Z := up (pieces c * run_time r) (within r).
Definition sum_of_pieces (rs : list asked) : Z := fold_right (fun r sum => piece r + sum) 0 rs.
Definition greatest (rs : list asked) : Z := fold_right (fun r most => Z.max (piece r) most) 0 rs.

Definition sound : bool :=
  (0 <? cpus f) && (0 <? whole f) && (0 <? pieces c) && (pieces c mod whole f =? 0) &&
  forallb (fun r => (0 <? within r) && (within r <=? every r)) (members f) &&
  (total c =? sum_of_pieces (members f)) && (largest c =? greatest (members f)) &&
  (total c + (cpus f - 1) * largest c + cpus f * (kept f * (pieces c / whole f)) <=? cpus f * pieces c).

Lemma piece_is_enough r : 0 < within r ->
  (inject_Z (pieces c) * density r <= inject_Z (piece r))%Q.
Proof.
  intros W. pose proof (up_above (pieces c * run_time r) (within r) W) as U. fold (piece r) in U.
  unfold density, Qdiv. rewrite Qmult_assoc. apply Qle_shift_div_r.
  - change 0%Q with (inject_Z 0). rewrite <- Zlt_Qlt. assumption.
  - rewrite <- !inject_Z_mult, <- Zle_Qle. lia.
Qed.

Lemma pieces_are_enough rs : (forall r, In r rs -> 0 < within r) ->
  (inject_Z (pieces c) * sum_of_densities rs <= inject_Z (sum_of_pieces rs))%Q.
Proof.
  induction rs as [|r rs IH]; intros W; cbn [sum_of_densities sum_of_pieces fold_right].
  - rewrite Qmult_0_r. apply Qle_refl.
  - specialize (IH (fun x Hx => W x (or_intror Hx))).
    pose proof (piece_is_enough r (W r (or_introl eq_refl))) as P.
    unfold sum_of_densities, sum_of_pieces in IH. rewrite inject_Z_plus. lra.
Qed.

Lemma greatest_is_above rs : forall r, In r rs -> piece r <= greatest rs.
Proof.
  induction rs as [|x rs IH]; intros r Hr; [destruct Hr|]. cbn [greatest fold_right].
  destruct Hr as [->|Hr]; [lia|]. specialize (IH r Hr). unfold greatest in IH. lia.
Qed.

(** ** Theorem: what is accepted passes the test of Goossens, Funk and Baruah

    For the greatest density, as for each: with [m - 1] times it, the sum and what best effort keeps of each CPU, all
    [m] CPUs suffice. *)
Theorem certified_cluster_passes_the_density_test : sound = true -> forall r, In r (members f) ->
  (sum_of_densities (members f) + (inject_Z (cpus f) - 1) * density r
   + inject_Z (cpus f) * (inject_Z (kept f) / inject_Z (whole f)) <= inject_Z (cpus f))%Q.
Proof.
  unfold sound. rewrite !andb_true_iff. intros [[[[[[[M U] P] D] V] S] G] Fit] r Hr.
  apply Z.ltb_lt in M, U, P. apply Z.eqb_eq in D, S, G. apply Z.leb_le in Fit. rewrite forallb_forall in V.
  assert (W : forall x, In x (members f) -> 0 < within x).
  { intros x Hx. apply V in Hx. rewrite andb_true_iff, Z.ltb_lt in Hx. tauto. }
  pose proof (pieces_are_enough (members f) W) as Sum.
  pose proof (piece_is_enough r (W r Hr)) as Piece.
  pose proof (greatest_is_above (members f) r Hr) as Most. rewrite <- S in Sum. rewrite <- G in Most.
  set (k := pieces c / whole f) in *.
  assert (K : pieces c = whole f * k) by (unfold k; rewrite (Z.div_mod (pieces c) (whole f)) at 1 by lia; lia).
  rewrite Zle_Qle in Most. rewrite Zle_Qle in Fit.
  rewrite !inject_Z_plus, !inject_Z_mult in Fit. unfold Z.sub in Fit. rewrite inject_Z_plus in Fit.
  change (inject_Z (-(1))) with (- (1))%Q in Fit.
  assert (PQ : (0 < inject_Z (pieces c))%Q) by (change 0%Q with (inject_Z 0); rewrite <- Zlt_Qlt; assumption).
  assert (UQ : (0 < inject_Z (whole f))%Q) by (change 0%Q with (inject_Z 0); rewrite <- Zlt_Qlt; assumption).
  assert (MQ : (0 <= inject_Z (cpus f) - 1)%Q).
  { assert (H : (inject_Z 1 <= inject_Z (cpus f))%Q) by (rewrite <- Zle_Qle; lia). change (inject_Z 1) with 1%Q in H. lra. }
  assert (Keeps : (inject_Z (pieces c) * (inject_Z (kept f) / inject_Z (whole f)) == inject_Z (kept f) * inject_Z k)%Q).
  { rewrite K, inject_Z_mult. field. intros E. rewrite E in UQ. apply (Qlt_irrefl _ UQ). }
  apply (Qmult_le_l _ _ (inject_Z (pieces c)) PQ).
  assert (Times : ((inject_Z (cpus f) - 1) * (inject_Z (pieces c) * density r)
                   <= (inject_Z (cpus f) - 1) * inject_Z (largest c))%Q).
  { rewrite !(Qmult_comm (inject_Z (cpus f) - 1)). apply Qmult_le_compat_r; [|assumption].
    eapply Qle_trans; eassumption. }
  setoid_replace (inject_Z (pieces c) * (sum_of_densities (members f) + (inject_Z (cpus f) - 1) * density r
                    + inject_Z (cpus f) * (inject_Z (kept f) / inject_Z (whole f))))%Q
    with (inject_Z (pieces c) * sum_of_densities (members f)
          + (inject_Z (cpus f) - 1) * (inject_Z (pieces c) * density r)
          + inject_Z (cpus f) * (inject_Z (pieces c) * (inject_Z (kept f) / inject_Z (whole f))))%Q by ring.
  rewrite Keeps, (Qmult_comm (inject_Z (pieces c)) (inject_Z (cpus f))).
  eapply Qle_trans; [|exact Fit].
  apply Qplus_le_compat; [|apply Qle_refl]. apply Qplus_le_compat; [exact Sum|exact Times].
Qed.

(** ** The canonical form

    Each number of a certificate follows from the facts and the others. No theorem needs this. *)

(** The fewest pieces in which densities are whole; units if these are too many. *)
Definition fewest_pieces : Z :=
  let most := 18446744073709551616 in
  let multiple a r := match a with
    | Some a => let m := a / Z.gcd a (within r) * within r in if m <=? most then Some m else None
    | None => None
    end in
  match fold_left multiple (members f) (Some (whole f)) with Some m => m | None => whole f end.

Definition canonical : bool :=
  (pieces c =? fewest_pieces) && match members f with [] => false | _ => true end.

Definition accepts : bool := sound && canonical.
End Cluster.
