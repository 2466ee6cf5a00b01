//! The metrics page for Prometheus.

use laxity_broker::RequestCounters;
use laxity_telemetry::exposition::{Text, Value};
use laxity_telemetry::table::cpu as table;

use super::status::{CpuStatus, ReservationStatus, Status};

/// The metrics of the scheduler, if it is running, and of the server.
pub fn page(status: Option<&Status>, counters: &RequestCounters) -> String {
    let mut text = Text::default();
    let mut up = text.family(&table::UP);
    match status {
        Some(status) => {
            up.sample(&[&status.policy], 1);
            scheduler(&mut text, status);
        }
        None => up.sample(&[], 0),
    }
    let mut requests = text.family(&table::REQUESTS_TOTAL);
    for count in counters.requests() {
        requests.sample(&[count.request, count.outcome], count.count);
    }
    text.family(&table::REJECTED_CONNECTIONS_TOTAL).sample(&[], counters.rejected_connections());
    text.page()
}

fn scheduler(text: &mut Text, status: &Status) {
    use Value::{Count, Nanoseconds, Number};

    let mut of_cpu = |metric, value: &dyn Fn(&CpuStatus) -> Value| {
        let mut family = text.family(metric);
        for cpu in &status.cpus {
            family.sample(&[&cpu.cpu.to_string()], value(cpu));
        }
    };
    of_cpu(&table::RESERVED_RATIO, &|c| Number(c.reserved));
    of_cpu(&table::SERVERS, &|c| Count(c.servers));
    of_cpu(&table::SWITCHES_TOTAL, &|c| Count(c.switches));
    of_cpu(&table::STEALS_TOTAL, &|c| Count(c.steals));
    of_cpu(&table::MAX_OVERRUN_SECONDS, &|c| Nanoseconds(c.max_overrun_ns));
    of_cpu(&table::MAX_RELEASE_LATENESS_SECONDS, &|c| Nanoseconds(c.max_release_lateness_ns));
    of_cpu(&table::DEADLINE_MISSES_TOTAL, &|c| Count(c.deadline_misses));
    of_cpu(&table::MAX_LATENESS_SECONDS, &|c| Nanoseconds(c.max_lateness_ns));

    let mut of_task = |metric, value: &dyn Fn(&ReservationStatus) -> Value| {
        let mut family = text.family(metric);
        for (index, r) in status.reservations.iter().enumerate() {
            // Samples of a family need distinct labels: a task that reserved and whose children share the
            // reservation, and that released, may have reserved again.
            let earlier = &status.reservations[..index];
            let is_duplicate = earlier.iter().any(|e| e.task() == r.task());
            let is_unique = r.pid.is_some() && !is_duplicate;
            let task = if is_unique { r.task() } else { format!("{} {index}", r.task()) };
            let [user, cpu] = [r.user, r.cpu].map(|n| n.to_string());
            family.sample(&[&task, &user, &cpu], value(r));
        }
    };
    of_task(&table::RESERVATION_RUNTIME_SECONDS, &|r| Nanoseconds(r.runtime_ns));
    of_task(&table::RESERVATION_PERIOD_SECONDS, &|r| Nanoseconds(r.period_ns));
    of_task(&table::RESERVATION_TASKS, &|r| Count(r.tasks));
    of_task(&table::RESERVATION_DEADLINE_MISSES_TOTAL, &|r| Count(r.deadline_misses));
    of_task(&table::RESERVATION_MAX_LATENESS_SECONDS, &|r| Nanoseconds(r.max_lateness_ns));

    text.family(&table::UNACCOUNTED_TOTAL).sample(&[], status.unaccounted);
    text.family(&table::MISPLACED_RUNS_TOTAL).sample(&[], status.misplaced_runs);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::cpu::status::tests::sample;

    /// Fails when a sample has no family, times have another unit, or two samples have the same name and
    /// labels.
    #[test]
    fn the_page_matches_the_status() {
        let mut status = sample();
        // A second reservation of the same task.
        status.reservations.append(&mut sample().reservations);
        let page = super::page(Some(&status), &RequestCounters::default());
        for line in [
            "laxity_cpu_up{policy=\"bebs\"} 1",
            "laxity_cpu_reserved_ratio{cpu=\"1\"} 0.45",
            "laxity_cpu_max_overrun_seconds{cpu=\"1\"} 0.000007250",
            "laxity_cpu_reservation_runtime_seconds{task=\"369\",user=\"1000\",cpu=\"1\"} 0.004500000",
            "laxity_cpu_reservation_deadline_misses_total{task=\"369\",user=\"1000\",cpu=\"1\"} 1",
            "laxity_cpu_misplaced_runs_total 3",
            "laxity_cpu_rejected_connections_total 0",
        ] {
            assert!(page.lines().any(|l| l == line), "no {line} in {page}");
        }
        let samples = || page.lines().filter(|l| !l.starts_with('#'));
        let mut names: Vec<&str> = samples().filter_map(|l| Some(l.rsplit_once(' ')?.0)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{page}");
        for line in samples() {
            let name = line.split(['{', ' ']).next().unwrap_or_default();
            assert!(page.contains(&format!("# TYPE {name} ")), "{line}");
        }
        let down = super::page(None, &RequestCounters::default());
        assert!(down.contains("\nlaxity_cpu_up 0\n") && !down.contains("ratio"), "{down}");
    }
}
