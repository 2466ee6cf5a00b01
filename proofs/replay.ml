(* replay FILE NS_PER_BYTE: exits with 0 if the packets of `laxity simulate --packets FILE`, sent at this speed, are a
   legal run of non-preemptive EDF, and with 1 if not. *)
let () =
  let ns_per_byte = int_of_string Sys.argv.(2) in
  let file = open_in Sys.argv.(1) in
  ignore (input_line file);
  let sent = ref [] in
  (try
     while true do
       match String.split_on_char ',' (input_line file) with
       | _policy :: _seq :: _flow :: bytes :: arrival :: departure :: deadline :: "sent" :: _ ->
         let duration = int_of_string bytes * ns_per_byte in
         sent :=
           { Checker.arrival = int_of_string arrival;
             duration;
             deadline = int_of_string deadline;
             started = int_of_string departure - duration }
           :: !sent
       | _ -> ()
     done
   with End_of_file -> ());
  let order (p : Checker.sent) (q : Checker.sent) = compare (p.started, p.arrival) (q.started, q.arrival) in
  let record = List.sort order !sent in
  let legal = record <> [] && Checker.check_run record in
  Printf.printf "%d packets, %s\n" (List.length record) (if legal then "a legal run" else "not a legal run");
  exit (if legal then 0 else 1)
