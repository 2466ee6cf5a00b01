//! The links of the kernel, as changes from the page reach them: by the means of `laxity link set`.

use std::path::Path;
use std::time::Duration;

use laxity_scenario::{Document, quantity};
use laxity_telemetry::http::Refusal;

use super::admission;
use super::change::{Change, Target, Verdict};
use crate::failure::Failure;
use crate::live::link::{Admitted, backend, rate};

/// How long an instant without queued real-time packets is waited for, as `laxity link set` does.
const TIMEOUT: Duration = Duration::from_secs(5);

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Refusal {
        let text = failure.text().to_owned();
        match failure {
            Failure::Refused(_) => Refusal::Denied(text),
            Failure::Input(_) => Refusal::Input(text),
            Failure::Lacking(_) => Refusal::Lacking(text),
            Failure::Internal(_) | Failure::Closed => Refusal::Internal(text),
        }
    }
}

/// The links of the kernel in this network namespace.
pub struct KernelLinks;

impl Target for KernelLinks {
    fn state(&mut self, device: &str) -> Result<String, Refusal> {
        let rate::Running { scenario, policy, rate, shed } = backend::running(device)?;
        Ok(format!("{policy}\n{rate}\n{shed:?}\n{scenario}"))
    }

    fn check(&mut self, change: &Change) -> Result<Verdict, Refusal> {
        let Change { device, scenario, rate } = change;
        if let (Some(device), Some(rate)) = (device, rate) {
            let (admitted, text) = rate::preview(device, parse_rate(rate)?)?;
            return Ok(Verdict { admitted, text });
        }
        let mut verdict = admission::try_scenario(scenario.as_deref().unwrap_or_default())?;
        if let Some(device) = device.as_ref().filter(|_| verdict.admitted) {
            let admitted = admitted(scenario.as_deref().unwrap_or_default())?;
            for notice in admitted.notices() {
                verdict.text.push_str(&format!("\nOn {device}: {notice}\n"));
            }
        }
        Ok(verdict)
    }

    fn apply(&mut self, device: &str, change: &Change) -> Result<String, Refusal> {
        if let Some(rate) = &change.rate {
            return Ok(rate::change(device, parse_rate(rate)?, TIMEOUT)?);
        }
        let admitted = admitted(change.scenario.as_deref().unwrap_or_default())?;
        let with_next_packet = backend::set(&admitted, device, TIMEOUT)?;
        let when = if with_next_packet { " from its next packet on" } else { "" };
        Ok(admitted.sentence(device, when))
    }
}

fn parse_rate(text: &str) -> Result<laxity_core::Rate, Refusal> {
    let rate = quantity::rate(text).map_err(|e| Failure::quantity("rate", text, &e))?;
    Ok(rate)
}

/// A scenario of a link with its plan for the kernel.
fn admitted(text: &str) -> Result<Admitted, Refusal> {
    let document = Document::parse_with(text, "scenario", &mut admission::no_files);
    let document = document.map_err(Failure::input)?;
    Ok(Admitted::of(document, Path::new("scenario"), None)?)
}
