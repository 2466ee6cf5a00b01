(* certify FILE [changed]: exits with 0 if the checks that Coq extracts accept each block of the certificates in FILE,
   of the format that docs/reference/certificate.md describes; with `changed`, if they refuse each block.
   certify FILE FACTS: likewise, and the facts must be those of FACTS, which `laxity certify --facts` prints. *)
open Certificates

exception Wrong of int * string

(* A line without spaces around, and without what ends lines elsewhere. *)
let trimmed line =
  let n = String.length line in
  let last = if n > 0 && line.[n - 1] = '\r' then n - 1 else n in
  let rec first i = if i < last && line.[i] = ' ' then first (i + 1) else i in
  let rec past i = if i > 0 && line.[i - 1] = ' ' then past (i - 1) else i in
  let from = first 0 in
  String.sub line from (max 0 (past last - from))

(* Lines with their numbers. *)
let lines_of file =
  let channel = open_in_bin file in
  let rec read number lines =
    match input_line channel with
    | line -> read (number + 1) ((number, trimmed line) :: lines)
    | exception End_of_file -> close_in channel; List.rev lines
  in
  read 1 []

let rec small n = if n = 0 then Z0 else Z.add (small (n - 1)) (Zpos XH)
let digits = Array.init 10 small
let ten = small 10

(* As numbers are printed: no sign or zero in front. *)
let number at word =
  let negative = String.length word > 1 && word.[0] = '-' in
  let sign = if negative then 1 else 0 in
  if String.length word > sign && word.[sign] = '0' && word <> "0" then raise (Wrong (at, word));
  let value = ref Z0 in
  String.iteri
    (fun i c ->
      if c >= '0' && c <= '9' then value := Z.add (Z.mul !value ten) digits.(Char.code c - Char.code '0')
      else if not (i = 0 && negative) then raise (Wrong (at, word)))
    word;
  if word = "" then raise (Wrong (at, word)) else if negative then Z.opp !value else !value

let rest = ref []

(* What follows a keyword in the next line, if it begins with that. *)
let after keyword =
  match !rest with
  | (at, line) :: more ->
    let k = String.length keyword and n = String.length line in
    if n >= k && String.sub line 0 k = keyword && (n = k || line.[k] = ' ') then begin
      rest := more;
      let words = String.split_on_char ' ' (String.sub line k (n - k)) in
      Some (at, List.filter (fun word -> word <> "") words)
    end
    else None
  | [] -> None

let place () = match !rest with (at, _) :: _ -> at | [] -> 0
let numbers keyword = Option.map (fun (at, words) -> List.map (number at) words) (after keyword)

let one keyword =
  match numbers keyword with Some [ n ] -> n | _ -> raise (Wrong (place (), keyword))

(* Whether the next line is a keyword alone. *)
let alone keyword =
  match after keyword with
  | Some (_, []) -> true
  | Some (at, _) -> raise (Wrong (at, keyword))
  | None -> false

let word keyword = if not (alone keyword) then raise (Wrong (place (), keyword))

(* A keyword with a number at most. *)
let numbered keyword =
  match numbers keyword with Some ([] | [ _ ]) -> () | _ -> raise (Wrong (place (), keyword))

let rec many keyword read =
  match numbers keyword with Some list -> let item = read list in item :: many keyword read | None -> []

let wrong () = raise (Wrong (place (), "as many numbers"))
let two = function [ a; b ] -> (a, b) | _ -> wrong ()
let piece = function [ n; d; level; rise; over ] -> link_piece n d level rise over | _ -> wrong ()
let three = function [ a; b; c ] -> starting_line a b c | _ -> wrong ()

(* The checks make a list of all steps of a block. More than crates/certify follows are refused without that. *)
let max_steps = 1 lsl 18
let followed = ref 0
let too_many = ref false

let steps_of at = function
  | [ word ] ->
    let read = number at word in
    if word.[0] = '-' then read
    else begin
      followed := !followed + (if String.length word > 9 then max_steps + 1 else int_of_string word);
      if !followed > max_steps then (too_many := true; Z0) else read
    end
  | _ -> wrong ()

let rec flows id =
  match after "flow" with
  | None -> []
  | Some _ ->
    let flow =
      match numbers "packets" with
      | Some [ smallest; packet ] ->
        let first, more = match many "piece" piece with p :: more -> (p, more) | [] -> wrong () in
        let limits = many "bucket" two in
        link_flow id Z0 packet (Served (smallest, first, more, limits))
      | Some _ -> wrong ()
      | None ->
        let deadline = one "deadline" in
        let packet = one "packet" in
        let sends =
          match (many "bucket" two, numbers "periodic") with
          | (burst, rate) :: more, None -> Buckets (burst, rate, more)
          | [], Some [ size; period; jitter ] -> Periodic (size, period, jitter)
          | _ -> wrong ()
        in
        link_flow id deadline packet sends
    in
    flow :: flows (id + 1)

let link () =
  let rate = one "rate" in
  let best_effort = one "best-effort" in
  let backlog = one "backlog" in
  let paper =
    match after "blocking" with Some (_, [ "paper" ]) -> true | Some (_, [ "exact" ]) -> false | _ -> wrong ()
  in
  let facts = link_facts rate best_effort backlog paper (flows 0) in
  word "proof";
  let steps corners =
    match after "steps" with
    | Some (at, words) -> Some (corners, steps_of at words)
    | None -> None
  in
  let rec shapes () =
    match numbers "corners" with
    | Some corners -> (corners, Z0) :: shapes ()
    | None ->
      (match numbers "first" with
       | Some first ->
         let shape = match steps first with Some shape -> shape | None -> wrong () in
         shape :: shapes ()
       | None -> (match steps [] with Some shape -> shape :: shapes () | None -> []))
  in
  let corners, followed = List.split (shapes ()) in
  let horizon = one "horizon" in
  let blocks = one "blocks" in
  let then_blocks = many "until" two in
  let curve = many "curve" three in
  let binding, residual = match numbers "binding" with Some list -> two list | None -> wrong () in
  link_accepts facts (link_proof corners followed horizon blocks then_blocks curve binding residual)

let rec reservations id =
  match after "reservation" with
  | None -> []
  | Some _ ->
    let budget = one "budget" in
    let period = one "period" in
    let deadline = one "deadline" in
    let asked = cpu_asked id budget period deadline in
    asked :: reservations (id + 1)

let cpu () =
  let _from = one "from" in
  let share = one "unit" in
  let keeps = one "best-effort" in
  let facts = cpu_facts share keeps (reservations 0) in
  word "proof";
  let parts = one "parts" in
  let short = one "short" in
  let rec steps () =
    match after "steps" with
    | Some (at, words) ->
      let count = steps_of at words in
      count :: steps ()
    | None -> []
  in
  let followed = steps () in
  cpu_accepts facts (cpu_proof parts short followed (one "horizon"))

let cluster () =
  let cpus = one "cpus" in
  let _from = one "from" in
  let share = one "unit" in
  let keeps = one "best-effort" in
  let facts = cluster_facts cpus share keeps (reservations 0) in
  word "proof";
  let parts = one "parts" in
  let sum = one "sum" in
  cluster_accepts facts (cluster_proof parts sum (one "largest"))

(* The lines that are no proofs. *)
let rec facts proof = function
  | (_, "proof") :: more -> facts true more
  | (_, "end") :: more -> facts false more
  | (_, line) :: more -> if proof then facts proof more else line :: facts proof more
  | [] -> []

let () =
  try
    let all = lines_of Sys.argv.(1) in
    let option = if Array.length Sys.argv > 2 then Some Sys.argv.(2) else None in
    let changed = option = Some "changed" in
    let same =
      match option with None | Some "changed" -> true | Some file -> facts false all = facts false (lines_of file)
    in
    if not same then (print_endline "a certificate of something else"; exit 1);
    rest := all;
    (match after "laxity-certificate" with Some (_, [ "1" ]) -> () | _ -> raise (Wrong (1, "laxity-certificate 1")));
    let accepted = ref 0 and refused = ref 0 in
    while !rest <> [] do
      followed := 0;
      too_many := false;
      let good =
        if alone "link" then link ()
        else
          match numbers "cluster" with
          | Some ([] | [ _ ]) -> cluster ()
          | Some _ -> wrong ()
          | None -> numbered "cpu"; cpu ()
      in
      let good = good && not !too_many in
      word "end";
      incr (if good then accepted else refused)
    done;
    Printf.printf "%d accepted, %d refused\n" !accepted !refused;
    exit (if !accepted + !refused > 0 && (if changed then !accepted else !refused) = 0 then 0 else 1)
  with Wrong (at, expected) -> Printf.printf "line %d: expected %s\n" at expected; exit 1
