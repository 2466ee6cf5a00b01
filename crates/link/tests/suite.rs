//! One program: its files share the code that the compiler makes of generic policies.

mod common;

mod algorithm_3;
mod background;
mod best_effort_delay;
mod dual_queue;
mod exact_oracles;
mod fair_service_curve;
mod flow_queues;
mod order;
mod pass_refused;
mod random_systems;
mod release_idle;
mod restart;
mod rounding;
mod safety_exhaustive;
mod service_curves;
mod slack_reference_model;
mod slack_service_curves;
mod slack_states;
mod stalls;
mod tightness;
