//! Figures as Vega-Lite.

mod data;

use laxity_report::*;
use serde_json::Value;

fn specifications() -> Vec<(String, Value)> {
    let (result, details) = data::simulation(&data::POLICIES, 20);
    let (check, residual) = (data::check(true), data::residual());
    let link = simulation_page(&result, &details, Some(&check), Some(&residual), &data::meta());
    let (result, details) = data::cpus::simulation(&["bebs", "bebs-credit"], 1);
    let cpu = cpu_simulation_page(CpuOutcome::One(&result), &details, None, &Meta::default());
    let (result, details) = data::streams::simulation(&["edf", "dwcs"], 1);
    let stream = stream_simulation_page(StreamOutcome::One(&result), &details, None, &data::meta());
    let all = [link, cpu, stream].into_iter().flat_map(|page| page.vegas());
    all.map(|(name, text)| (name, serde_json::from_str(&text).unwrap())).collect()
}

// Fails when a layer names a field that none of its values has, or has no values.
#[test]
fn every_field_of_a_layer_is_in_its_values() {
    let all = specifications();
    assert!(all.len() > 12);
    for (name, figure) in all {
        assert!(name.ends_with(".vl.json"), "{name}");
        assert_eq!(figure["$schema"], "https://vega.github.io/schema/vega-lite/v5.json");
        let panels = figure["concat"].as_array().unwrap();
        assert!(!panels.is_empty(), "{name}");
        for layer in panels.iter().flat_map(|p| p["layer"].as_array().unwrap()) {
            let values = layer["data"]["values"].as_array().unwrap();
            assert!(!values.is_empty(), "{name}: {layer}");
            for (channel, of) in layer["encoding"].as_object().unwrap() {
                let Some(field) = of["field"].as_str() else { continue };
                let has = |v: &Value| v.get(field).is_some_and(|v| !v.is_null());
                assert!(values.iter().all(has), "{name}: {channel} has no {field}");
            }
        }
    }
}

// Fails when lines that look alike become one, or a legend's entry has no line.
#[test]
fn each_policy_has_its_line() {
    let all = specifications();
    let (_, tails) = all.iter().find(|(name, _)| name == "ccdf.vl.json").unwrap();
    for panel in tails["concat"].as_array().unwrap() {
        let layers = panel["layer"].as_array().unwrap();
        let lines = layers.iter().filter(|l| l["mark"]["type"] == "line");
        let names: Vec<&str> =
            lines.map(|l| l["encoding"]["color"]["datum"].as_str().unwrap()).collect();
        assert_eq!(names, data::POLICIES, "{panel}");
    }
}
