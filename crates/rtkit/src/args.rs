//! The command line. Options that RealtimeKit has are named as there.

use std::time::Duration;

use clap::Parser;
use laxity_rtkit::{Config, Limits};

/// Serve org.freedesktop.RealtimeKit1 on the system bus: threads that ask for real-time priority get CPU
/// reservations.
///
/// LAXITY_CPU_SOCKET names another socket of `laxity cpu serve`, DBUS_SYSTEM_BUS_ADDRESS another bus.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Args {
    /// The greatest priority.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=99))]
    max_realtime_priority: u32,
    /// The least nice value.
    #[arg(long, value_name = "N", default_value_t = -15, allow_negative_numbers = true,
          value_parser = clap::value_parser!(i32).range(-20..=19))]
    min_nice_level: i32,
    /// Threads that compute for longer without blocking have the runtime that they start with.
    #[arg(long, value_name = "USEC", default_value_t = 200_000)]
    rttime_usec_max: u32,
    /// The period of the greatest priority.
    #[arg(long, value_name = "USEC", default_value_t = 5_000, value_parser = period())]
    shortest_period_usec: u32,
    /// The period of priority 1.
    #[arg(long, value_name = "USEC", default_value_t = 10_000, value_parser = period())]
    longest_period_usec: u32,
    /// The runtime that a thread starts with, in percent of the period.
    #[arg(long, value_name = "PERCENT", default_value_t = 10, value_parser = percent())]
    start_percent: u32,
    /// The greatest runtime, in percent of the period.
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = percent())]
    max_percent: u32,
    /// Users at a time.
    #[arg(long, value_name = "N", default_value_t = 2048)]
    users_max: usize,
    /// Processes of a user at a time.
    #[arg(long, value_name = "N", default_value_t = 15)]
    processes_per_user_max: usize,
    /// Threads of a user at a time.
    #[arg(long, value_name = "N", default_value_t = 25)]
    threads_per_user_max: usize,
    /// The length of a burst of requests.
    #[arg(long, value_name = "SEC", default_value_t = 20)]
    actions_burst_sec: u32,
    /// Requests of a user in a burst.
    #[arg(long, value_name = "N", default_value_t = 25)]
    actions_per_burst_max: u32,
}

/// At least ten of the shortest runtimes that users may reserve, at most their longest period.
fn period() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1_000..=1_000_000)
}

fn percent() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=95)
}

impl Args {
    pub fn config(&self) -> Config {
        let usec = |usec: u32| Duration::from_micros(usec.into());
        Config {
            max_priority: self.max_realtime_priority,
            min_nice: self.min_nice_level,
            rttime_max: usec(self.rttime_usec_max),
            shortest_period: usec(self.shortest_period_usec),
            longest_period: usec(self.longest_period_usec.max(self.shortest_period_usec)),
            start_percent: self.start_percent,
            max_percent: self.max_percent.max(self.start_percent),
            limits: Limits {
                users: self.users_max,
                processes_per_user: self.processes_per_user_max,
                threads_per_user: self.threads_per_user_max,
                requests_per_burst: self.actions_per_burst_max,
                burst: Duration::from_secs(self.actions_burst_sec.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a default here is another one than that of the library, or an option goes to the wrong place.
    #[test]
    fn options_are_the_configuration() {
        let parsed = |options: &[&str]| Args::try_parse_from([&["laxity-rtkit"], options].concat());
        assert_eq!(parsed(&[]).expect("no options").config(), Config::default());
        let options = ["--min-nice-level", "-5", "--actions-burst-sec=3", "--max-percent=40"];
        let config = parsed(&options).expect("options").config();
        assert_eq!((config.min_nice, config.max_percent), (-5, 40));
        assert_eq!(config.limits.burst, Duration::from_secs(3));
        for wrong in ["--max-realtime-priority=0", "--min-nice-level=-21", "--start-percent=96"] {
            assert!(parsed(&[wrong]).is_err(), "{wrong}");
        }
    }
}
