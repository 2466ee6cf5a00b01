(** * The premises can be met: a small system to which the CPU theorem applies

    One server with budget 1 every 2 ticks, always ready and recharged at once, beside one hard job
    of cost 1 due at 2. The server's deadline runs ahead of time. *)
From Coq Require Import List Arith Lia Bool.
From Laxity Require Import common.Sums cpu.Shares cpu.Cbs.
Import ListNotations.

Definition ready (e t : nat) : bool := match e with 0 => true | _ => t =? 0 end.
Definition due (j : nat) : nat := 2.
Definition dl (e t : nat) : nat := match e with 0 => 2 + 2 * (t - 1) | _ => 2 end.
Definition run (t : nat) : option nat := Some (if t =? 0 then 1 else 0).

Lemma served_job t : served run 1 t = if t =? 0 then 0 else 1.
Proof.
  induction t as [|t IH]; [reflexivity|]. unfold served in *. rewrite over_last by lia. rewrite IH.
  destruct t; reflexivity.
Qed.

Lemma is_edf : edf_run [0] [1] ready dl run (fun _ => 0) (fun _ => 1) due.
Proof.
  constructor.
  - intros t x [= <-]. destruct t; simpl; auto.
  - intros t e [<-|[<-|[]]] R.
    + exists (if t =? 0 then 1 else 0). split; [reflexivity|]. destruct t; simpl; lia.
    + destruct t; [exists 1; split; [reflexivity|simpl; lia]|discriminate].
  - intros j t [<-|[]]. rewrite served_job. destruct t; simpl; split; intros; try lia; try discriminate; reflexivity.
  - intros j t [<-|[]]. reflexivity.
Qed.

Lemma is_cbs till : cbs ready run 2 1 2 1 0 (fun _ => 1) (dl 0) 0 till.
Proof.
  constructor.
  - intros _. simpl. lia.
  - simpl. lia.
  - intros t _ _. simpl. lia.
  - intros t _ _. destruct t as [|t].
    + left. simpl. lia.
    + right. unfold runs, run. simpl. lia.
  - intros t _ [=].
  - intros t _ [=].
Qed.

Example the_hard_job_is_in_time : served run 1 2 = 1.
Proof.
  apply (no_hard_job_late [0] [1] ready dl run (fun _ => 0) (fun _ => 1) due 2 ltac:(lia)
           (fun _ _ => 1) (fun _ => used_up 2 1 (fun _ => 1) (dl 0)) (fun _ => 1) 0 2 is_edf);
    try (simpl; unfold due; lia).
  - intros j _ H. lia.
  - intros e [<-|[]].
    pose proof (cbs_keeps_share ready run 2 1 2 1 ltac:(lia) 0 (fun _ => 1) (dl 0) 0 2 (is_cbs 2)) as K.
    destruct K as [K1 K2 K3 K4]. constructor; assumption.
  - intros a D _ Le _. unfold hard_demand, due. simpl. rewrite over_one.
    destruct a, D as [|[|D]]; cbn; lia.
Qed.
