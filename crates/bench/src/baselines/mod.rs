//! Baselines: the usual structures, written with the same care.

pub mod channels;
pub mod deadline_queues;
pub mod heap_edf;
pub mod quadratic;
pub mod slack_recomputed;
pub mod wfq_btree;
