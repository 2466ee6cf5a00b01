//! Many runs on as many threads as there are processors.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::Control;

/// Does every job; the results come in the order of the jobs, independent of their completion. A
/// stopped run leaves what was done; after an error none is begun.
///
/// # Errors
/// The first error in the order of the jobs.
pub fn all<J: Sync, T: Send, E: Send>(
    jobs: &[J],
    control: &Control,
    work: impl Fn(&J) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let done: Mutex<Vec<(usize, Result<T, E>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // A job that is taken is done, so that the first error in order is found.
                while !(control.stopped() || failed.load(Ordering::Relaxed)) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(i) else { break };
                    let result = work(job);
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    if let Ok(mut done) = done.lock() {
                        done.push((i, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when jobs go on after one has failed, or another error than the first in order is returned.
    #[test]
    fn no_job_begins_after_an_error() {
        let done = AtomicUsize::new(0);
        let jobs: Vec<usize> = (0..100_000).collect();
        let result = all(&jobs, &Control::default(), |job| {
            done.fetch_add(1, Ordering::Relaxed);
            if *job >= 50 { Err(*job) } else { Ok(()) }
        });
        assert_eq!(result, Err(50));
        let done = done.into_inner();
        assert!((51..10_000).contains(&done), "{done} jobs");
    }
}
