(** The check of Record.v as an OCaml program. Numbers become OCaml's of 63 bits: nanoseconds of 146 years. This
    mapping, OCaml, and the reader of the records (proofs/replay.ml) are trusted; the check is proved. *)
From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlNatInt.
From Laxity Require Import link.Record.
Extraction Language OCaml.
Extraction "checker.ml" check_run.
