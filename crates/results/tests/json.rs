//! The JSON of results: the examples under `tests/examples` read, and write back to the same JSON.

use laxity_results::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads an example and writes it again. Fails when a field is renamed, is lost, or appears where
/// the contract has none.
fn round_trip<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(text: &str) -> T {
    let value: Versioned<T> = serde_json::from_str(text).unwrap();
    assert_eq!(value.version, VERSION);
    let json = serde_json::to_value(&value).unwrap();
    assert_eq!(json, serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(serde_json::from_value::<Versioned<T>>(json).unwrap(), value);
    value.result
}

fn example(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join("tests/examples").join(name)).unwrap()
}

#[test]
fn simulate() {
    let result: SimulationResult = round_trip(&example("simulate.json"));
    assert_eq!((result.scenario.as_str(), result.seed), ("access-link", Some(1)));
    let policies: Vec<&String> = result.policies.keys().collect();
    assert_eq!(policies, ["exact", "background"]);
    let exact = &result.policies["exact"];
    let flows: Vec<&String> = exact.flows.keys().collect();
    assert_eq!(flows, ["voice", "ftp"]);
    assert_eq!(exact.flows["voice"].kind, FlowKind::Realtime);
    assert_eq!(exact.flows["ftp"].kind, FlowKind::BestEffort);
    assert_eq!(exact.flows["ftp"].drop_reasons["buffer full"], 2);
    let aqm = |flow: &str| (exact.flows[flow].aqm_drops, exact.flows[flow].ecn_marks);
    assert_eq!((aqm("ftp"), aqm("voice")), ((Some(3), Some(7)), (None, None)));
    let tcp = exact.flows["ftp"].tcp.unwrap();
    assert_eq!((tcp.goodput_mbit_s, tcp.completed), (3.25, 4));
    assert_eq!((tcp.completion_mean_ms, tcp.completion_max_ms), (Some(512.5), Some(801.0)));
    assert_eq!(exact.flows["voice"].tcp, None);
}

#[test]
fn simulate_with_several_seeds() {
    let result: SimulationRuns = round_trip(&example("simulate-seeds.json"));
    assert_eq!((result.runs.len(), result.runs[1].seed), (2, Some(2)));
    let mean = result.summary["exact"].flows["ftp"].mean_ms.unwrap();
    assert!(mean.min <= mean.mean && mean.mean <= mean.max);
}

#[test]
fn check() {
    let result: CheckResult = round_trip(&example("check.json"));
    assert!(result.admitted && result.slack_bytes == Some(1536));
    assert_eq!(result.residual[0], (0, -1536.0, 1_250_000.0));
    let refused: CheckResult = round_trip(&example("check-refused.json"));
    assert!(!refused.admitted && refused.slack_bytes == Some(-1336));
    assert_eq!(refused.flows["voice"].max_burst, None);
}

#[test]
fn reproduce() {
    let result: Reproduction = round_trip(&example("reproduce.json"));
    let rows = &result.experiments[0].rows;
    let verdicts: Vec<_> = rows.iter().map(|r| r.verdict).collect();
    use ReproductionVerdict::*;
    assert_eq!(verdicts, [Reproduced, Differs, NotStated]);
    assert_eq!((rows[0].published, rows[2].published), (Some(1.8), None));
}

#[test]
fn bench() {
    let result: BenchResult = round_trip(&example("bench.json"));
    assert_eq!(result.results[1].ratio, Some(3.5));
}

// The fields of the contract, with others beside them.
#[test]
fn simulate_streams() {
    let result: StreamSimulationResult = round_trip(&example("stream-simulate.json"));
    let classes = &result.policies["dwcs"].classes;
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["speech", "bulk"]);
    assert_eq!(
        (classes["speech"].tumbling_violations, classes["bulk"].sliding_violations),
        (2, None)
    );
    let runs: StreamSimulationRuns = round_trip(&example("stream-simulate-seeds.json"));
    assert_eq!((runs.runs.len(), runs.summary["dwcs"].classes["bulk"].p99_ms), (2, None));
}

#[test]
fn check_streams() {
    let result: StreamCheckResult = round_trip(&example("stream-check.json"));
    assert!(result.admitted && !result.guaranteed);
    assert_eq!(result.classes["video"].max_streams, 101);
}

// Fails when whole numbers lose digits on the way through JSON.
#[test]
fn counts_are_exact() {
    let text = example("check.json").replace(
        "\"binding_interval_ns\": 5000000",
        "\"binding_interval_ns\": 18446744073709551615",
    );
    let result: CheckResult = round_trip(&text);
    assert_eq!(result.binding_interval_ns, Some(u64::MAX));
}

#[test]
fn cpu_simulate() {
    let result: CpuSimulationResult = round_trip(&example("cpu-simulate.json"));
    let tasks = &result.policies["bebs"].tasks;
    let kinds: Vec<TaskKind> = tasks.values().map(|t| t.kind).collect();
    assert_eq!(kinds, [TaskKind::Hard, TaskKind::BestEffort, TaskKind::Soft]);
    assert_eq!((tasks["compile"].max_tardiness_ms, tasks["sound"].refused.as_ref()), (None, None));
    let runs: CpuSimulationRuns = round_trip(&example("cpu-simulate-seeds.json"));
    assert_eq!(runs.runs[0].policies["eevdf"].migrations, Some(1));
    assert_eq!(runs.summary["eevdf"].tasks["editor"].share.map(|s| s.max), Some(0.6));
}

#[test]
fn cpu_check() {
    let result: CpuCheckResult = round_trip(&example("cpu-check.json"));
    let admitted: Vec<bool> = result.requests.iter().map(|r| r.admitted).collect();
    assert_eq!((admitted, result.best_effort_share), (vec![true, false], Some(0.6)));
    assert_eq!(result.requests[1].max_budget_ns, Some(55_000_000));
}

#[test]
fn tc_plan() {
    let result: TcPlan = round_trip(&example("tc-plan.json"));
    assert!(result.guaranteed && result.flows[0].met);
    assert_eq!((result.target.as_str(), result.losses[0].code.as_str()), ("htb", "late"));
    assert!(result.commands[0].starts_with("tc qdisc add dev eth0 root"));
    assert_eq!(result.best_effort[0].delay_ns, None);
}

#[test]
fn tc_check() {
    let result: TcChecks = round_trip(&example("tc-check.json"));
    let device = &result.devices[0];
    assert_eq!((device.guaranteed, device.link_rate_bit_s), (false, 10_000_000));
    let [real_time, shared] = device.classes.as_slice() else { panic!("two classes") };
    assert_eq!((real_time.rate_bit_s, real_time.delay_ns), (Some(800_000), Some(9_211_200)));
    assert!(shared.rate_bit_s.is_none() && shared.reason.is_some());
    assert_eq!((device.flows[0].flow.as_str(), device.flows[0].met), ("voice", true));
    assert_eq!(device.findings[0].code, "default-missing");
}

/// Results of earlier builds call the verdict `not judged`.
///
/// Fails when its former name is no longer read, or still written.
#[test]
fn the_former_name_of_inconclusive_is_read() {
    let claim: ClaimVerdict = serde_json::from_str("\"not judged\"").unwrap();
    let row: ReproductionVerdict = serde_json::from_str("\"not judged\"").unwrap();
    assert_eq!(serde_json::to_string(&claim).unwrap(), "\"inconclusive\"");
    assert_eq!(serde_json::to_string(&row).unwrap(), "\"inconclusive\"");
}
