(** The checks of link/Certificate.v, cpu/Certificate.v and cpu/Cluster.v as an OCaml program. Whole numbers stay those
    of Coq, of any size, apart from counts. OCaml and the reader of the files (proofs/certify.ml) are trusted; that a
    certificate that is accepted proves admission is proved, for clusters that it has the premise of a cited theorem. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt ZArith.
From Laxity Require common.Sweep link.Certificate cpu.Certificate cpu.Cluster.
Extraction Language OCaml.

Definition link_flow := link.Certificate.Build_flow.
Definition link_piece := link.Certificate.Build_piece.
Definition link_facts := link.Certificate.Build_link.
Definition link_proof := link.Certificate.Build_certificate.
Definition link_accepts := link.Certificate.accepts.
Definition cpu_asked := cpu.Certificate.Build_asked.
Definition cpu_facts := cpu.Certificate.Build_cpu.
Definition cpu_proof := cpu.Certificate.Build_certificate.
Definition cpu_accepts := cpu.Certificate.accepts.
Definition cluster_facts := cpu.Cluster.Build_cluster.
Definition cluster_proof := cpu.Cluster.Build_densities.
Definition cluster_accepts := cpu.Cluster.accepts.
Definition starting_line := common.Sweep.Build_event.

Extraction "certificates.ml" Z.add Z.mul Z.opp starting_line
  link_flow link_piece link_facts link_proof link_accepts cpu_asked cpu_facts cpu_proof cpu_accepts
  cluster_facts cluster_proof cluster_accepts.
