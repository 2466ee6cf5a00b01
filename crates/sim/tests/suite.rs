//! One program: its files share the code that the compiler makes of generic policies.

mod common;
mod cpu_common;

mod cpu_chains;
mod cpu_clusters;
mod cpu_clusters_no_panic;
mod cpu_clusters_reference_model;
mod cpu_dwcs;
mod cpu_figures;
mod cpu_hard;
mod cpu_locks;
mod cpu_overheads;
mod cpu_policy_contract;
mod cpu_promises;
mod cpu_recorded;
mod cpu_reference_model;
mod cpu_sched_deadline;
mod cpu_table;
mod cpu_transitions;
mod end_of_run;
mod engine;
mod fit;
mod flow_keys;
mod hfsc_convex;
mod reference_model;
mod replay;
mod soak;
mod source;
mod streams;
mod tcp;
mod tcp_linux;
