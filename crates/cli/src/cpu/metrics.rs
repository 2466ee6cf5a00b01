//! The page for Prometheus.

use laxity_broker::Counts;
use laxity_live::exposition::Text;

use super::status::{Cpu, Reserved, Status};

/// What the scheduler did, where one is up, and what the server was asked.
pub fn page(status: Option<&Status>, counts: &Counts) -> String {
    let mut text = Text::default();
    text.family("laxity_cpu_up", "gauge", "1 while a policy schedules the CPUs.");
    match status {
        Some(status) => {
            text.sample("laxity_cpu_up", &[("policy", &*status.policy)], 1);
            scheduler(&mut text, status);
        }
        None => text.sample("laxity_cpu_up", &[], 0),
    }
    let name = "laxity_cpu_requests_total";
    text.family(name, "counter", "Requests of programs by what became of them.");
    for count in counts.requests() {
        let labels = [("request", count.request), ("outcome", count.outcome)];
        text.sample(name, &labels, count.count);
    }
    let name = "laxity_cpu_turned_away_total";
    text.family(name, "counter", "Connections that were one too many.");
    text.sample(name, &[], counts.turned_away());
    text.page()
}

fn scheduler(text: &mut Text, status: &Status) {
    let mut of_cpu = |name: &str, kind: &str, help: &str, of: &dyn Fn(&Cpu) -> String| {
        let name = format!("laxity_cpu_{name}");
        text.family(&name, kind, help);
        for cpu in &status.cpus {
            text.line(&name, &[("cpu", &*cpu.cpu.to_string())], &of(cpu));
        }
    };
    let seconds = |us: f64| format!("{:.9}", us / 1e6);
    of_cpu("reserved_ratio", "gauge", "Share that is reserved.", &|c| c.reserved.to_string());
    of_cpu("servers", "gauge", "Servers that there are.", &|c| c.servers.to_string());
    of_cpu("switches_total", "counter", "Tasks that began to run.", &|c| c.switches.to_string());
    let help = "Tasks that other CPUs took from it.";
    of_cpu("taken_tasks_total", "counter", help, &|c| c.taken.to_string());
    let help = "By how much a budget was overrun at most.";
    of_cpu("overrun_max_seconds", "gauge", help, &|c| seconds(c.overrun_max_us));
    let help = "By how much a reservation was released late at most.";
    of_cpu("release_late_max_seconds", "gauge", help, &|c| seconds(c.release_late_max_us));
    let help =
        "Periods of reservations, also ended ones, in which work within the runtime ended later.";
    of_cpu("late_periods_total", "counter", help, &|c| c.late.to_string());
    of_cpu("late_max_seconds", "gauge", "By how much at most.", &|c| seconds(c.late_max_us));

    let mut of_task = |name: &str, kind: &str, help: &str, of: &dyn Fn(&Reserved) -> String| {
        let name = format!("laxity_cpu_reservation_{name}");
        text.family(&name, kind, help);
        for (at, r) in status.reservations.iter().enumerate() {
            // No two lines may be of the same name: a task that reserved, passed that on and released
            // may have reserved again.
            let earlier = &status.reservations[..at];
            let taken = earlier.iter().any(|e| e.task() == r.task());
            let known = r.pid.is_some() && !taken;
            let task = if known { r.task() } else { format!("{} {at}", r.task()) };
            let [user, cpu] = [r.user, r.cpu].map(|n| n.to_string());
            text.line(&name, &[("task", &*task), ("user", &*user), ("cpu", &*cpu)], &of(r));
        }
    };
    let help = "CPU time in each period.";
    of_task("runtime_seconds", "gauge", help, &|r| seconds(r.runtime_ms * 1e3));
    of_task("period_seconds", "gauge", "The period.", &|r| seconds(r.period_ms * 1e3));
    of_task("tasks", "gauge", "Tasks that share it.", &|r| r.tasks.to_string());
    let help = "Periods in which work within the runtime ended after the period.";
    of_task("late_periods_total", "counter", help, &|r| r.late.to_string());
    of_task("late_max_seconds", "gauge", "By how much at most.", &|r| seconds(r.late_max_us));

    let mut total = |name: &str, help: &str, value: u64| {
        text.family(name, "counter", help);
        text.sample(name, &[], value);
    };
    let help = "Services of tasks beyond those that it has places for.";
    total("laxity_cpu_unaccounted_total", help, status.unaccounted);
    let help = "Times that a reserved task could not run where its reservation is.";
    total("laxity_cpu_elsewhere_total", help, status.elsewhere);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::status::tests::sample;

    /// Fails when a family has no head, a sample no family, times are in another unit, or two samples have
    /// the same name and labels.
    #[test]
    fn the_page_holds_what_the_status_does() {
        let mut status = sample();
        // Of the same task, which gave the first one to a child.
        status.reservations.append(&mut sample().reservations);
        let page = super::page(Some(&status), &Counts::default());
        for line in [
            "laxity_cpu_up{policy=\"bebs\"} 1",
            "laxity_cpu_reserved_ratio{cpu=\"1\"} 0.45",
            "laxity_cpu_overrun_max_seconds{cpu=\"1\"} 0.000007250",
            "laxity_cpu_reservation_runtime_seconds{task=\"369\",user=\"1000\",cpu=\"1\"} 0.004500000",
            "laxity_cpu_reservation_late_periods_total{task=\"369\",user=\"1000\",cpu=\"1\"} 1",
            "laxity_cpu_elsewhere_total 3",
            "laxity_cpu_turned_away_total 0",
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
        let down = super::page(None, &Counts::default());
        assert!(down.contains("\nlaxity_cpu_up 0\n") && !down.contains("ratio"), "{down}");
    }
}
