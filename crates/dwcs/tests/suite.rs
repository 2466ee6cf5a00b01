//! One program: its files share the code that the compiler makes of generic policies.

mod common;
mod play;

mod counterexamples;
mod extremes;
mod guarantee;
mod paper;
mod special_cases;
mod structures;
mod structures_buckets;
mod structures_fastest;
mod structures_wheel;
mod traces;
