//! The execution of recorded threads, to be repeated under other policies.

use std::path::Path;

use laxity_trace::sched::{Recorded, Rest};

/// A thread, awake from `appears` on.
pub struct Thread {
    pub appears: u64,
    /// CPU time, and the sleep after it unless that was the last of the thread.
    pub bursts: Vec<(u64, Option<u64>)>,
}

/// Those of `captures/sched-ftrace.txt` with the most bursts, in the order in which they appear.
pub fn threads(most: usize) -> Vec<Thread> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/sched-ftrace.txt");
    let text = std::fs::read_to_string(path).expect("a file of the repository");
    let recorded = Recorded::read(text.as_bytes()).expect("sound");
    // Other execution on the machine was only recorded as busy.
    let mut threads = recorded.only(|thread| !thread.name.starts_with("other/")).threads;
    threads.sort_by_key(|thread| std::cmp::Reverse(thread.bursts.len()));
    threads.truncate(most);
    threads.sort_by_key(|thread| (thread.appears_ns, thread.tid));
    let sleep = |rest| match rest {
        Rest::Sleep { length_ns, .. } => Some(length_ns),
        Rest::Open | Rest::Exit => None,
    };
    let again = |thread: laxity_trace::sched::RecordedThread| Thread {
        appears: thread.appears_ns,
        bursts: thread.bursts.iter().map(|b| (b.cpu_ns.max(1), sleep(b.rest))).collect(),
    };
    threads.into_iter().map(again).collect()
}
