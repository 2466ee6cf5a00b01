//! Results as JSON, of every kind: read or refused; what is read is written and read again.
#![no_main]

use laxity_results::{
    BenchResult, CheckResult, CpuCheckResult, CpuSimulationResult, SimulationResult,
    StreamCheckResult, StreamSimulationResult, Versioned,
};
use libfuzzer_sys::fuzz_target;
use serde::{Serialize, de::DeserializeOwned};

fn of<T: Serialize + DeserializeOwned>(data: &[u8]) {
    let Ok(result) = serde_json::from_slice::<Versioned<T>>(data) else { return };
    let written = serde_json::to_vec(&result).expect("results have a form");
    serde_json::from_slice::<Versioned<T>>(&written).expect("written results parse");
}

fuzz_target!(|data: &[u8]| {
    of::<BenchResult>(data);
    of::<CheckResult>(data);
    of::<CpuCheckResult>(data);
    of::<CpuSimulationResult>(data);
    of::<SimulationResult>(data);
    of::<StreamCheckResult>(data);
    of::<StreamSimulationResult>(data);
});
