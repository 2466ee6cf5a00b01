//! The table of all metrics: type, unit, labels, name, help.
//!
//! Each module is one page; its `ALL` has the order of that page and of `docs/reference/metrics.md`.
//! `docs/how-to/add-a-metric.md` shows how to add an entry.

/// Declares a constant for each entry, and `ALL` of them.
macro_rules! metrics {
    ($($id:ident: $kind:ident, $unit:ident, [$($label:literal),*], $name:literal, $help:literal;)*) => {
        use crate::metric::{Kind, Metric, Unit};

        $(
            #[doc = $help]
            pub const $id: Metric = Metric {
                name: $name,
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: &[$($label),*],
                help: $help,
            };
        )*

        /// All entries of this module.
        pub const ALL: &[Metric] = &[$($id),*];
    };
}

/// Links, in the kernel and in user space.
pub mod link {
    metrics! {
        ATTACHED: Gauge, Flag, ["device", "policy"],
            "laxity_link_attached",
            "1 while the interface has the qdisc.";
        RATE_BITS_PER_SECOND: Gauge, BitsPerSecond, ["device", "policy"],
            "laxity_link_rate_bits_per_second",
            "Rate of the link, bit/s.";
        CHANGES_TOTAL: Counter, Count, ["device", "policy"],
            "laxity_link_changes_total",
            "How often another scenario took over.";
        BACKLOG_PACKETS: Gauge, Count, ["device", "policy"],
            "laxity_link_backlog_packets",
            "Packets that wait.";
        BACKLOG_BYTES: Gauge, Bytes, ["device", "policy"],
            "laxity_link_backlog_bytes",
            "Bytes that wait.";
        STALLS_TOTAL: Counter, Count, ["device", "policy"],
            "laxity_link_stalls_total",
            "Times at which packets waited and the link sent nothing, beyond the credit.";
        STALL_SECONDS_TOTAL: Counter, Seconds, ["device", "policy"],
            "laxity_link_stall_seconds_total",
            "Time lost in stalls.";
        MAX_STALL_SECONDS: Gauge, Seconds, ["device", "policy"],
            "laxity_link_max_stall_seconds",
            "The longest stall.";
        LATE_RATE_CHANGE_TOTAL: Counter, Count, ["device", "policy"],
            "laxity_link_late_rate_change_total",
            "Real-time packets late because the rate fell after they were accepted.";
        RESERVED: Gauge, Flag, ["device", "flow"],
            "laxity_link_reserved",
            "0 while a real-time flow is best effort because the rate fell.";
        PACKETS_TOTAL: Counter, Count, ["device", "flow", "outcome"],
            "laxity_link_packets_total",
            "Packets by outcome: sent, or the reason of a drop.";
        SENT_BYTES_TOTAL: Counter, Bytes, ["device", "flow"],
            "laxity_link_sent_bytes_total",
            "Bytes of packets sent.";
        DEADLINE_MISSES_TOTAL: Counter, Count, ["device", "flow"],
            "laxity_link_deadline_misses_total",
            "Real-time packets sent late.";
        DEMOTED_PACKETS_TOTAL: Counter, Count, ["device", "flow"],
            "laxity_link_demoted_packets_total",
            "Real-time packets beyond their envelope that travelled as best effort.";
        ECN_MARKS_TOTAL: Counter, Count, ["device", "flow"],
            "laxity_link_ecn_marks_total",
            "Packets marked with congestion experienced by an AQM.";
        DELAY_SECONDS: Histogram, Seconds, ["device", "flow"],
            "laxity_link_delay_seconds",
            "From arrival to the end of transmission; without demoted packets.";
    }
}

/// The CPU scheduler, its reservations, and the server of reservations.
pub mod cpu {
    metrics! {
        UP: Gauge, Flag, ["policy"],
            "laxity_cpu_up",
            "1 while the scheduler is running.";
        RESERVED_RATIO: Gauge, Ratio, ["cpu"],
            "laxity_cpu_reserved_ratio",
            "The reserved share.";
        SERVERS: Gauge, Count, ["cpu"],
            "laxity_cpu_servers",
            "The number of servers.";
        SWITCHES_TOTAL: Counter, Count, ["cpu"],
            "laxity_cpu_switches_total",
            "Times that a task started to run.";
        STEALS_TOTAL: Counter, Count, ["cpu"],
            "laxity_cpu_steals_total",
            "Tasks that other CPUs stole from this one.";
        MAX_OVERRUN_SECONDS: Gauge, Seconds, ["cpu"],
            "laxity_cpu_max_overrun_seconds",
            "The greatest overrun of a budget.";
        MAX_RELEASE_LATENESS_SECONDS: Gauge, Seconds, ["cpu"],
            "laxity_cpu_max_release_lateness_seconds",
            "The greatest lateness of a reservation's release.";
        DEADLINE_MISSES_TOTAL: Counter, Count, ["cpu"],
            "laxity_cpu_deadline_misses_total",
            "Periods of present and past reservations in which work within the runtime ended late.";
        MAX_LATENESS_SECONDS: Gauge, Seconds, ["cpu"],
            "laxity_cpu_max_lateness_seconds",
            "The greatest lateness of such work.";
        RESERVATION_RUNTIME_SECONDS: Gauge, Seconds, ["task", "user", "cpu"],
            "laxity_cpu_reservation_runtime_seconds",
            "CPU time in each period.";
        RESERVATION_PERIOD_SECONDS: Gauge, Seconds, ["task", "user", "cpu"],
            "laxity_cpu_reservation_period_seconds",
            "The period.";
        RESERVATION_TASKS: Gauge, Count, ["task", "user", "cpu"],
            "laxity_cpu_reservation_tasks",
            "The number of tasks that share it.";
        RESERVATION_DEADLINE_MISSES_TOTAL: Counter, Count, ["task", "user", "cpu"],
            "laxity_cpu_reservation_deadline_misses_total",
            "Periods in which work within the runtime ended after the period.";
        RESERVATION_MAX_LATENESS_SECONDS: Gauge, Seconds, ["task", "user", "cpu"],
            "laxity_cpu_reservation_max_lateness_seconds",
            "The greatest lateness of such work.";
        UNACCOUNTED_TOTAL: Counter, Count, [],
            "laxity_cpu_unaccounted_total",
            "Times that a task without a table entry was served.";
        MISPLACED_RUNS_TOTAL: Counter, Count, [],
            "laxity_cpu_misplaced_runs_total",
            "Times that a reserved task ran on another CPU than that of its reservation.";
        REQUESTS_TOTAL: Counter, Count, ["request", "outcome"],
            "laxity_cpu_requests_total",
            "Requests of programs by outcome.";
        REJECTED_CONNECTIONS_TOTAL: Counter, Count, [],
            "laxity_cpu_rejected_connections_total",
            "Connections rejected because of a limit.";
    }
}

/// The media server.
pub mod stream {
    metrics! {
        STREAMS: Gauge, Count, [],
            "laxity_streams",
            "Streams.";
        PACKETS_TOTAL: Counter, Count, ["stream", "outcome"],
            "laxity_stream_packets_total",
            "Packets taken from rings, by outcome.";
        PRODUCED_PACKETS_TOTAL: Counter, Count, ["stream"],
            "laxity_stream_produced_packets_total",
            "Packets put into the ring.";
        OVERFLOWS_TOTAL: Counter, Count, ["stream"],
            "laxity_stream_overflows_total",
            "Packets offered to a full ring.";
        OVERSIZE_TOTAL: Counter, Count, ["stream"],
            "laxity_stream_oversize_total",
            "Access units and packets too large to be sent.";
        SENT_BYTES_TOTAL: Counter, Bytes, ["stream"],
            "laxity_stream_sent_bytes_total",
            "UDP payload given to the kernel.";
        BACKLOG_PACKETS: Gauge, Count, ["stream"],
            "laxity_stream_backlog_packets",
            "Packets that wait.";
        DEADLINE_MISSES_TOTAL: Counter, Count, ["stream"],
            "laxity_stream_deadline_misses_total",
            "Deadlines missed.";
        TUMBLING_VIOLATIONS_TOTAL: Counter, Count, ["stream"],
            "laxity_stream_tumbling_violations_total",
            "Back-to-back windows with more misses than tolerated.";
        ENDED: Gauge, Flag, ["stream"],
            "laxity_stream_ended",
            "1 when the producer is gone.";
        ICMP_ERRORS_TOTAL: Counter, Count, ["stream"],
            "laxity_stream_icmp_errors_total",
            "ICMP errors about the destination.";
        REPORTED_LOST_PACKETS: Gauge, Count, ["stream"],
            "laxity_stream_reported_lost_packets",
            "Packets lost as the receiver reports.";
        NETWORK_EVENTS_TOTAL: Counter, Count, ["kind"],
            "laxity_stream_network_events_total",
            "Reports and errors from the network, and sender reports.";
        SEND_LATENESS_SECONDS: Histogram, Seconds, [],
            "laxity_stream_send_lateness_seconds",
            "From the instant at which a packet could go to the system call that sends it.";
        SEND_CALLS_TOTAL: Counter, Count, [],
            "laxity_stream_send_calls_total",
            "System calls that sent packets.";
        QUEUE_FULL_TOTAL: Counter, Count, ["queue"],
            "laxity_stream_queue_full_total",
            "Sends cut short by a full socket buffer or device queue.";
        THREAD_CPU_SECONDS_TOTAL: Counter, Seconds, ["thread"],
            "laxity_stream_thread_cpu_seconds_total",
            "CPU time, kernel included.";
    }
}
#[cfg(test)]
mod tests {
    use crate::{Kind, Metric, Unit};

    fn all() -> impl Iterator<Item = &'static Metric> {
        [super::link::ALL, super::cpu::ALL, super::stream::ALL].into_iter().flatten()
    }

    /// Fails when a name lacks the suffix of its type or unit, or has that of another: tried with
    /// `laxity_link_stall_total` in seconds.
    #[test]
    fn names_end_with_unit_and_type() {
        for metric in all() {
            let name = metric.name;
            let total = name.strip_suffix("_total");
            assert_eq!(total.is_some(), metric.kind == Kind::Counter, "{name}");
            let suffixes = [
                ("_seconds", Unit::Seconds),
                ("_bytes", Unit::Bytes),
                ("_bits_per_second", Unit::BitsPerSecond),
                ("_ratio", Unit::Ratio),
            ];
            let base = total.unwrap_or(name);
            let of_name = suffixes.iter().find(|(suffix, _)| base.ends_with(suffix));
            match of_name {
                Some((_, unit)) => assert_eq!(metric.unit, *unit, "{name}"),
                None => assert!(matches!(metric.unit, Unit::Count | Unit::Flag), "{name}"),
            }
            assert!(metric.unit != Unit::Flag || metric.kind == Kind::Gauge, "{name}");
        }
    }

    /// Fails when two entries have one name, or a name, label or help is none that the text format can
    /// hold: tried with an entry doubled, and with a line feed in a help.
    #[test]
    fn entries_are_valid_and_distinct() {
        let valid = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        };
        let mut names: Vec<&str> = all().map(|metric| metric.name).collect();
        assert!(names.len() > 40, "{names:?}");
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
        for metric in all() {
            let name = metric.name;
            assert!(name.starts_with("laxity_") && valid(name), "{name}");
            assert!(metric.labels.iter().all(|l| valid(l) && *l != "le"), "{name}");
            assert!(metric.help.ends_with('.') && !metric.help.contains(['\n', '\\']), "{name}");
        }
    }
}
