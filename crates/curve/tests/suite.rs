//! One program: its files share the code that the compiler makes of generic policies.

mod common;
#[path = "common/curves.rs"]
mod curves;
#[path = "common/sced.rs"]
mod sced;
#[path = "common/slow.rs"]
mod slow;

mod admission;
mod anchored;
mod best_effort_delay;
mod curve_convolve;
mod curve_deviation;
mod curve_extremum;
mod curve_inverse;
mod curve_pointwise;
mod effective;
mod envelope;
mod gps;
mod response_time;
mod service_admission;
mod service_edf;
mod service_reference;
mod service_suggest;
mod suggest;
mod table3;
mod trace;
