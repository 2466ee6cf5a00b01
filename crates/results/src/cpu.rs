//! Results of CPU scenarios.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::Spread;

/// `laxity simulate --json` of a CPU scenario for one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuSimulationResult {
    /// The scenario's name.
    pub scenario: String,
    /// Seed of what tasks draw.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seed: Option<u64>,
    /// Simulated time.
    pub duration_ns: u64,
    /// How many CPUs there are.
    pub cpus: u32,
    /// By policy, in the requested order.
    pub policies: IndexMap<String, CpuPolicyResult>,
}

/// The results of one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuPolicyResult {
    /// Every option of the policy with its value: which reading of its paper this is.
    pub options: IndexMap<String, String>,
    /// Busy time of the CPUs over simulated time.
    pub utilisation: f64,
    /// Times a CPU went from one task to another.
    pub switches: u64,
    /// Times a task got another CPU than the one it had last; absent on one CPU.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub migrations: Option<u64>,
    /// By task name, in file order.
    pub tasks: IndexMap<String, CpuTaskResult>,
}

/// The results of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuTaskResult {
    /// Its initial request.
    pub kind: TaskKind,
    /// CPU time over the time from its joining to its leaving or the end.
    pub share: f64,
    /// CPU time.
    pub cpu_ms: f64,
    /// Times it got a CPU that another task had last.
    pub switches: u64,
    /// Jobs that ended, or were late already at the end.
    pub jobs: u64,
    /// Jobs that ended after their deadline, or had not ended by it.
    pub deadline_misses: u64,
    /// Mean time from the release of a job to its end; null without any.
    pub mean_response_ms: Option<f64>,
    /// Median.
    pub p50_response_ms: Option<f64>,
    /// 99th percentile.
    pub p99_response_ms: Option<f64>,
    /// Largest.
    pub max_response_ms: Option<f64>,
    /// By how much jobs were late, mean over all jobs; null without jobs that have deadlines.
    pub mean_tardiness_ms: Option<f64>,
    /// 99th percentile over the late jobs alone; null when none was.
    pub p99_tardiness_ms: Option<f64>,
    /// Largest; null without jobs that have deadlines.
    pub max_tardiness_ms: Option<f64>,
    /// Mean time from a wake-up to the CPU, or of a poller from an event to seeing it.
    pub mean_latency_ms: Option<f64>,
    /// 99th percentile.
    pub p99_latency_ms: Option<f64>,
    /// The longest time that it was runnable and did not run.
    pub max_wait_ms: f64,
    /// Why it was not admitted, or a change was not: the last refusal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
}

/// The request of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A guarantee, held to its budget.
    Hard,
    /// A server of fixed budget and period.
    Soft,
    /// The capacity that is left.
    BestEffort,
}

/// `laxity simulate --json` of a CPU scenario for several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuSimulationRuns {
    /// One result a seed, in rising order of seed.
    pub runs: Vec<CpuSimulationResult>,
    /// By policy and task: mean over seeds and its spread.
    pub summary: IndexMap<String, CpuPolicySummary>,
}

/// One policy over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuPolicySummary {
    /// Of context switches.
    pub switches: Option<Spread>,
    /// By task name.
    pub tasks: IndexMap<String, CpuTaskSummary>,
}

/// One task over several seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuTaskSummary {
    /// Of the share.
    pub share: Option<Spread>,
    /// Of deadlines missed.
    pub deadline_misses: Option<Spread>,
    /// Of the mean response time.
    pub mean_response_ms: Option<Spread>,
    /// Of the largest tardiness.
    pub max_tardiness_ms: Option<Spread>,
    /// Of the longest time runnable without running.
    pub max_wait_ms: Option<Spread>,
}

/// `laxity check --json` of a CPU scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuCheckResult {
    /// The policy that answered.
    pub policy: String,
    /// Every option of the policy with its value.
    pub options: IndexMap<String, String>,
    /// How many CPUs there are.
    pub cpus: u32,
    /// Whether every reservation is admitted at its request.
    pub admitted: bool,
    /// Whether the policy guarantees that no job of a task with a hard reservation is late.
    pub guaranteed: bool,
    /// The greatest sum of budgets, with their overheads, over periods that is in force at any time, of all CPUs.
    pub utilisation: f64,
    /// The greatest share of all CPUs that reservations need, deadlines shorter than periods
    /// included.
    pub demand: f64,
    /// The share of all CPUs that best effort has then; null where the policy reserves nothing.
    pub best_effort_share: Option<f64>,
    /// What admission adds to each job of a reservation; null where the scenario has no overheads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overheads: Option<CpuOverheads>,
    /// What locks add to the jobs of reserved tasks, by class.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub locks: Vec<CpuLockWait>,
    /// Why nothing is guaranteed, a sentence each.
    pub obstacles: Vec<String>,
    /// All requests, in order of time.
    pub requests: Vec<CpuRequest>,
}

/// What scheduling costs each job of a reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuOverheads {
    /// A switch, of which a job has two.
    pub switch_ns: u64,
    /// Its release.
    pub release_ns: u64,
    /// A migration; zero where each CPU has its own queue.
    pub migration_ns: u64,
    /// The sum that admission adds to each budget.
    pub per_job_ns: u64,
}

/// What locks add to a job of a reserved task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuLockWait {
    /// The class of tasks.
    pub task: String,
    /// Hard or soft.
    pub kind: TaskKind,
    /// Its longest job.
    pub execution_ns: u64,
    /// The most that other tasks execute on its server during one job; null without inheritance, where nothing bounds
    /// its waits.
    pub interference_ns: Option<u64>,
    /// That by lock; empty without inheritance.
    #[serde(skip_serializing_if = "IndexMap::is_empty", default)]
    pub by_lock_ns: IndexMap<String, u64>,
}

/// A request of a reservation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuRequest {
    /// The task.
    pub task: String,
    /// When.
    pub at_ns: u64,
    /// Hard or soft.
    pub kind: TaskKind,
    /// CPU time.
    pub budget_ns: u64,
    /// In every such time.
    pub period_ns: u64,
    /// From the start of a period to the latest instant by which it is given.
    pub deadline_ns: u64,
    /// Budget over period.
    pub utilisation: f64,
    /// Whether it is admitted.
    pub admitted: bool,
    /// From when on it is in force, when that is later.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from_ns: Option<u64>,
    /// The share that it needs beside the reservations in force; null where it is admitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub required_share: Option<f64>,
    /// The share that is free beside them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub available_share: Option<f64>,
    /// The greatest budget that would fit with this period and deadline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_budget_ns: Option<u64>,
    /// The shortest period, with a deadline as long, in which this budget would fit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub min_period_ns: Option<u64>,
    /// The reason of a refusal, as text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
}
