//! What the queues are measured against: the usual structures, written with the same care.

pub mod deadline_queues;
pub mod wfq_btree;
