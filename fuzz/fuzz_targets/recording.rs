//! Recorded schedules and workloads of rt-app: read, or refused with a line.
#![no_main]

use laxity_trace::{rt_app, sched::Recorded};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = Recorded::read(data);
    if let Ok(workload) = rt_app::read(&String::from_utf8_lossy(data)) {
        assert!(workload.threads.iter().all(|t| t.steps.len() <= rt_app::MAX_STEPS));
    }
});
