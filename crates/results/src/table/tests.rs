use super::*;
use crate::{CpuSimulationResult, SimulationResult, StreamSimulationResult};

/// Keys of the JSON of one row that are no column: they hold tables, or other results do.
const NESTED: &[&str] = &["drop_reasons", "tcp"];

fn columns_of<T: Tabular + serde::de::DeserializeOwned>(json: &str, rows: &str, row: &str) {
    let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let policy = &value["policies"]["p"];
    let table = T::table(&[serde_json::from_str(json).expect("a result")]);
    assert_eq!(table.rows(), 1);
    for (key, _) in policy[rows]["name"].as_object().expect("a row") {
        let column = table.column(key);
        assert!(column.is_some() || NESTED.contains(&key.as_str()), "no column {key}");
    }
    assert_eq!(table.column("seed"), Some(&Column::Whole(vec![Some(7)])));
    assert_eq!(table.column("policy"), Some(&Column::Text(vec![Some("p".to_owned())])));
    assert_eq!(table.column(row), Some(&Column::Text(vec![Some("name".to_owned())])));
    assert!(table.columns.iter().all(|(_, column)| column.len() == 1));
}

// Fails when a number of the JSON is in no column, or a column has the numbers of another.
#[test]
fn each_number_of_a_flow_has_a_column() {
    let json = r#"{"scenario":"s","seed":7,"duration_ns":9,"policies":{"p":{"utilisation":0.5,
        "best_effort_mean_ms":null,"realtime_deadline_misses":0,"flows":{"name":{"kind":"realtime",
        "packets":1,"bytes":2,"mean_ms":3.0,"p50_ms":4.0,"p99_ms":5.0,"max_ms":6.0,"deadline_ms":7.0,
        "max_lateness_ms":8.0,"deadline_misses":9,"dropped":10,"demoted":11,"demoted_mean_ms":12.0,
        "demoted_max_ms":13.0,"aqm_drops":14,"ecn_marks":15,"tcp":{"goodput_mbit_s":16.0,
        "completed":17,"completion_mean_ms":18.0,"completion_max_ms":19.0},"drop_reasons":{}}}}}}"#;
    columns_of::<SimulationResult>(json, "flows", "flow");
    let table = SimulationResult::table(&[serde_json::from_str(json).expect("a result")]);
    let first = table.columns.iter().position(|(name, _)| *name == "packets").expect("a column");
    for (i, (name, column)) in (1u32..).zip(&table.columns[first..]) {
        let found = match column {
            Column::Float(values) => values[0],
            Column::Whole(values) => values[0].map(|value| value as f64),
            Column::Text(_) => None,
        };
        assert_eq!(found, Some(f64::from(i)), "{name}");
    }
}

// Fails likewise.
#[test]
fn each_number_of_a_task_has_a_column() {
    let json = r#"{"scenario":"s","seed":7,"duration_ns":9,"cpus":1,"policies":{"p":{"options":{},
        "utilisation":0.5,"switches":3,"tasks":{"name":{"kind":"hard","share":0.1,"cpu_ms":1.0,
        "switches":2,"jobs":3,"deadline_misses":0,"mean_response_ms":null,"p50_response_ms":null,
        "p99_response_ms":null,"max_response_ms":null,"mean_tardiness_ms":null,
        "p99_tardiness_ms":null,"max_tardiness_ms":null,"mean_latency_ms":null,
        "p99_latency_ms":null,"max_wait_ms":0.0,"refused":"why"}}}}}"#;
    columns_of::<CpuSimulationResult>(json, "tasks", "task");
}

// Fails likewise.
#[test]
fn each_number_of_a_class_has_a_column() {
    let json = r#"{"scenario":"s","seed":7,"duration_ns":9,"policies":{"p":{"streams":1,
        "utilisation":0.5,"classes":{"name":{"streams":1,"tolerance":"1/2","gap_ns":5,"packets":1,
        "served":1,"deadlines_met":1,"deadline_misses":0,"dropped":0,"sent_late":0,"overflows":0,
        "backlog":0,"tumbling_violations":0,"sliding_violations":null,"violations_at_miss":null,
        "max_consecutive_misses":0,"violated_streams":0,"mean_ms":null,"p50_ms":null,
        "p99_ms":null,"max_ms":null}}}}}"#;
    columns_of::<StreamSimulationResult>(json, "classes", "class");
}
