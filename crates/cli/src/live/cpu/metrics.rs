//! The metrics page for Prometheus.

use laxity_broker::RequestCounters;
use laxity_live::exposition::Text;

use super::status::{CpuStatus, ReservationStatus, Status};

/// The metrics of the scheduler, if it is running, and of the server.
pub fn page(status: Option<&Status>, counters: &RequestCounters) -> String {
    let mut text = Text::default();
    text.family("laxity_cpu_up", "gauge", "1 while the scheduler is running.");
    match status {
        Some(status) => {
            text.sample("laxity_cpu_up", &[("policy", &*status.policy)], 1);
            scheduler(&mut text, status);
        }
        None => text.sample("laxity_cpu_up", &[], 0),
    }
    let name = "laxity_cpu_requests_total";
    text.family(name, "counter", "Requests of programs by outcome.");
    for count in counters.requests() {
        let labels = [("request", count.request), ("outcome", count.outcome)];
        text.sample(name, &labels, count.count);
    }
    let name = "laxity_cpu_rejected_connections_total";
    text.family(name, "counter", "Connections rejected because of a limit.");
    text.sample(name, &[], counters.rejected_connections());
    text.page()
}

fn scheduler(text: &mut Text, status: &Status) {
    let mut of_cpu = |name: &str, kind: &str, help: &str, value: &dyn Fn(&CpuStatus) -> String| {
        let name = format!("laxity_cpu_{name}");
        text.family(&name, kind, help);
        for cpu in &status.cpus {
            text.line(&name, &[("cpu", &*cpu.cpu.to_string())], &value(cpu));
        }
    };
    let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    of_cpu("reserved_ratio", "gauge", "The reserved share.", &|c| c.reserved.to_string());
    of_cpu("servers", "gauge", "The number of servers.", &|c| c.servers.to_string());
    of_cpu("switches_total", "counter", "Times that a task started to run.", &|c| {
        c.switches.to_string()
    });
    let help = "Tasks that other CPUs stole from this one.";
    of_cpu("steals_total", "counter", help, &|c| c.steals.to_string());
    let help = "The greatest overrun of a budget.";
    of_cpu("max_overrun_seconds", "gauge", help, &|c| seconds(c.max_overrun_ns));
    let help = "The greatest lateness of a reservation's release.";
    of_cpu("max_release_lateness_seconds", "gauge", help, &|c| seconds(c.max_release_lateness_ns));
    let help =
        "Periods of present and past reservations in which work within the runtime ended late.";
    of_cpu("deadline_misses_total", "counter", help, &|c| c.deadline_misses.to_string());
    let help = "The greatest lateness of such work.";
    of_cpu("max_lateness_seconds", "gauge", help, &|c| seconds(c.max_lateness_ns));

    type Value<'a> = &'a dyn Fn(&ReservationStatus) -> String;
    let mut of_task = |name: &str, kind: &str, help: &str, value: Value<'_>| {
        let name = format!("laxity_cpu_reservation_{name}");
        text.family(&name, kind, help);
        for (index, r) in status.reservations.iter().enumerate() {
            // Samples of a family need distinct labels: a task that reserved and whose children share the
            // reservation, and that released, may have reserved again.
            let earlier = &status.reservations[..index];
            let is_duplicate = earlier.iter().any(|e| e.task() == r.task());
            let is_unique = r.pid.is_some() && !is_duplicate;
            let task = if is_unique { r.task() } else { format!("{} {index}", r.task()) };
            let [user, cpu] = [r.user, r.cpu].map(|n| n.to_string());
            text.line(&name, &[("task", &*task), ("user", &*user), ("cpu", &*cpu)], &value(r));
        }
    };
    let help = "CPU time in each period.";
    of_task("runtime_seconds", "gauge", help, &|r| seconds(r.runtime_ns));
    of_task("period_seconds", "gauge", "The period.", &|r| seconds(r.period_ns));
    of_task("tasks", "gauge", "The number of tasks that share it.", &|r| r.tasks.to_string());
    let help = "Periods in which work within the runtime ended after the period.";
    of_task("deadline_misses_total", "counter", help, &|r| r.deadline_misses.to_string());
    let help = "The greatest lateness of such work.";
    of_task("max_lateness_seconds", "gauge", help, &|r| seconds(r.max_lateness_ns));

    let mut total = |name: &str, help: &str, value: u64| {
        text.family(name, "counter", help);
        text.sample(name, &[], value);
    };
    let help = "Times that a task without a table entry was served.";
    total("laxity_cpu_unaccounted_total", help, status.unaccounted);
    let help = "Times that a reserved task ran on another CPU than that of its reservation.";
    total("laxity_cpu_elsewhere_total", help, status.elsewhere);
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
            "laxity_cpu_elsewhere_total 3",
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
