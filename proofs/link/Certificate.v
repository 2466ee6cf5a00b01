(** * A certificate that a link admits its flows

    Admission asks for infinitely many intervals: demand(t) + s <= t for all t >= d_min. For envelopes
    that are minima of token buckets a short list of numbers shows it: intervals [x_0, x_1),
    [x_1, x_2), ..., [x_n, oo) that begin at d_min, and for each of them and each flow one of the flow's
    buckets. Each bucket bounds the envelope, so their sum is a line above the demand, and a line below
    another one at both ends of an interval is below it in between. This is why admission may work on
    corner points alone (crates/curve/src/admission.rs).

    Rates and bursts are whole numbers of 1/[Q]; nothing is rounded. The check does not know how the
    certificate was found: corner points are the best choice, any others are as safe. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums link.Edf link.Deadlines link.Envelopes.
Import ListNotations.

Section Certificate.
Variables (Q s : nat) (flows : list nat) (d : nat -> nat).
(** The buckets (burst, rate) of a flow, in units of 1/Q. *)
Variable buckets : nat -> list (nat * nat).

(** The sum of the chosen lines at [x], on an interval that begins at [lo]. *)
Fixpoint total (lo x : nat) (ks : list nat) (ls : list (nat * nat)) : nat :=
  match ks, ls with
  | k :: ks', (burst, rate) :: ls' =>
      (if d k <=? lo then burst + rate * (x - d k) else 0) + total lo x ks' ls'
  | _, _ => 0
  end.

Fixpoint slope (lo : nat) (ks : list nat) (ls : list (nat * nat)) : nat :=
  match ks, ls with
  | k :: ks', (_, rate) :: ls' => (if d k <=? lo then rate else 0) + slope lo ks' ls'
  | _, _ => 0
  end.

(** Every line is a bucket of its flow; flows that come later have no part in the interval. *)
Fixpoint lines_ok (lo : nat) (hi : option nat) (ks : list nat) (ls : list (nat * nat)) : bool :=
  match ks, ls with
  | [], [] => true
  | k :: ks', l :: ls' =>
      (if d k <=? lo
       then existsb (fun b => (fst b =? fst l) && (snd b =? snd l)) (buckets k)
       else match hi with Some h => h <=? d k | None => false end)
      && lines_ok lo hi ks' ls'
  | _, _ => false
  end.

Definition check_piece (lo : nat) (hi : option nat) (ls : list (nat * nat)) : bool :=
  lines_ok lo hi flows ls && (total lo lo flows ls + Q * s <=? Q * lo) &&
  match hi with
  | Some h => total lo h flows ls + Q * s <=? Q * h
  | None => slope lo flows ls <=? Q
  end.

(** A certificate: where an interval begins, and its lines; the next one begins where it ends. *)
Fixpoint check (lo : nat) (ls : list (nat * nat)) (rest : list (nat * list (nat * nat))) : bool :=
  match rest with
  | [] => check_piece lo None ls
  | (next, ls') :: r => (lo <=? next) && check_piece lo (Some next) ls && check next ls' r
  end.

Definition check_certificate (least : nat) (c : list (nat * list (nat * nat))) : bool :=
  match c with
  | (lo, ls) :: r => (lo <=? least) && check lo ls r
  | [] => false
  end.

(** Any envelopes that the buckets bound. *)
Variable A : nat -> nat -> nat.
Definition within_buckets : Prop :=
  forall k, In k flows -> forall burst rate, In (burst, rate) (buckets k) ->
    forall y, Q * A k y <= burst + rate * y.

Lemma total_line lo x t ks : forall ls,
  lo <= x -> x <= t -> total lo t ks ls = total lo x ks ls + slope lo ks ls * (t - x).
Proof.
  induction ks as [|k ks IH]; intros [|[b r] ls] H1 H2; simpl; try lia.
  rewrite (IH ls H1 H2). destruct (Nat.leb_spec (d k) lo); nia.
Qed.

Lemma demand_below lo hi t ks : forall ls,
  (forall k, In k ks -> forall burst rate, In (burst, rate) (buckets k) ->
     forall y, Q * A k y <= burst + rate * y) ->
  lo <= t -> (forall h, hi = Some h -> t < h) -> lines_ok lo hi ks ls = true ->
  Q * sumf (fun k => on (d k <=? t) (A k (t - d k))) ks <= total lo t ks ls.
Proof.
  induction ks as [|k ks IH]; intros [|[b r] ls] WB Lo Hi Ok; simpl in *; try discriminate; [lia|].
  apply andb_true_iff in Ok. destruct Ok as [O1 O2].
  specialize (IH ls (fun k' Hk => WB k' (or_intror Hk)) Lo Hi O2).
  destruct (Nat.leb_spec (d k) lo) as [L|L].
  - apply existsb_exists in O1. destruct O1 as ([b' r'] & Hin & E). simpl in E.
    apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.eqb_eq in E1, E2. subst.
    rewrite (proj2 (Nat.leb_le (d k) t)) by lia. cbn [on].
    specialize (WB k (or_introl eq_refl) b r Hin (t - d k)). lia.
  - destruct hi as [h|]; [|discriminate]. apply Nat.leb_le in O1. specialize (Hi h eq_refl).
    rewrite (proj2 (Nat.leb_gt (d k) t)) by lia. cbn [on]. lia.
Qed.

Lemma piece_holds lo hi ls t :
  within_buckets -> check_piece lo hi ls = true -> lo <= t -> (forall h, hi = Some h -> t < h) ->
  Q * rt_demand flows A d t + Q * s <= Q * t.
Proof.
  intros WB C Lo Hi. unfold check_piece in C. rewrite !andb_true_iff in C. destruct C as [[Ok C1] C2].
  apply Nat.leb_le in C1.
  pose proof (demand_below lo hi t flows ls WB Lo Hi Ok) as B.
  unfold rt_demand, flow_demand.
  pose proof (total_line lo lo t flows ls ltac:(lia) Lo) as T.
  set (m := slope lo flows ls) in *.
  destruct hi as [h|]; apply Nat.leb_le in C2.
  - specialize (Hi h eq_refl). pose proof (total_line lo t h flows ls Lo ltac:(lia)) as T2. fold m in T2.
    destruct (le_lt_dec m Q); nia.
  - nia.
Qed.

(** ** Theorem: a certificate that passes the check proves admission. *)
Theorem certificate_is_sound least c :
  0 < Q -> within_buckets -> check_certificate least c = true ->
  forall t, least <= t -> rt_demand flows A d t + s <= t.
Proof.
  intros QP WB C t Ht. unfold check_certificate in C. destruct c as [|[lo ls] r]; [discriminate|].
  apply andb_true_iff in C. destruct C as [C0 C]. apply Nat.leb_le in C0.
  assert (Lo : lo <= t) by lia. clear C0 Ht.
  enough (Q * rt_demand flows A d t + Q * s <= Q * t) by nia.
  revert lo ls C Lo. induction r as [|[next ls'] r IH]; intros lo ls C Lo; cbn [check] in C.
  - apply (piece_holds lo None ls t WB C Lo). discriminate.
  - rewrite !andb_true_iff in C. destruct C as [[C1 C2] C3]. apply Nat.leb_le in C1.
    destruct (le_lt_dec next t) as [L|L].
    + apply (IH next ls' C3 L).
    + apply (piece_holds lo (Some next) ls t WB C2 Lo). intros h [= <-]. assumption.
Qed.

(** As the theorems about assigners want it, with [s] the largest packet ([blocking = "paper"]). *)
Corollary certificate_admits least c :
  0 < Q -> within_buckets -> check_certificate least c = true ->
  admitted (rt_demand flows A d) s (fun _ => s) least.
Proof.
  intros QP WB C t Ht. rewrite Nat.max_id. apply (certificate_is_sound least c); assumption.
Qed.
End Certificate.

(** For example, with Q = 4: voice sends 1 at once and 1/4 a tick, due within 12; video
    min(2 + t/2, 8 + t/4), due within 40; packets up to 3. (Beyond 40 video's first bucket will do.) *)
Example a_certificate :
  let d := fun k => match k with 0 => 12 | _ => 40 end in
  let buckets := fun k => match k with 0 => [(4, 1)] | _ => [(8, 2); (32, 1)] end in
  check_certificate 4 3 [0; 1] d buckets 12 [(12, [(4, 1); (0, 0)]); (40, [(4, 1); (8, 2)])] = true.
Proof. vm_compute. reflexivity. Qed.
