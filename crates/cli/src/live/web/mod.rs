//! `laxity web`: a page on loopback that watches every live part, tries admissions, and applies a change that was
//! confirmed.

mod admission;
mod change;
pub mod gain;
mod target;

use std::collections::VecDeque;
use std::io::Read as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use laxity_scenario::link::model::Scenario;
use laxity_telemetry::http::{Action, Actions, Events, Limits, Page, Server};
use serde::Serialize;

use crate::args::WebArgs;
use crate::failure::Failure;
use crate::live::confine::{Bpf, Capabilities, OF_KERNEL, confine, keep};
use crate::live::link;
use crate::live::top::app::App;
use crate::live::top::parts::{PARTS_VERSION, Part, Parts};
use crate::live::top::watch;
use crate::{interrupt, warning};
use change::Changes;
use gain::GainMeter;
use target::KernelLinks;

/// The longest request, in bytes: a scenario of half as many, whose characters JSON may write as two.
const LONGEST_REQUEST: usize = 128 << 10;
/// Pages and streams of events at a time.
const CLIENTS: usize = 32;

/// Fields of every answer: nothing but this server's own files takes effect, and no other site shows or keeps
/// the page.
const FIELDS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; \
style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n";

/// One part in an event: with the rates of the last interval.
#[derive(Serialize)]
struct Moment<'a> {
    #[serde(flatten)]
    part: &'a Part,
    per_second: Option<f64>,
    bits_per_second: Option<f64>,
    /// Mean delay of the last interval in ms; of parts without delays, the rate.
    latest: Option<f64>,
}

/// An event.
#[derive(Serialize)]
struct Moments<'a> {
    version: u32,
    parts: Vec<Moment<'a>>,
    notes: &'a [String],
}

/// The newest state, between the thread that samples and the one that serves.
type Shared = Arc<Mutex<App>>;

/// Runs the command.
pub fn run(args: &WebArgs) -> Result<ExitCode, Failure> {
    let interval = link::duration("--interval", &args.interval)?;
    let scenario = match &args.scenario {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|e| Failure::input(format!("{}: {e}", path.display())))?,
        None => String::new(),
    };
    let secret = secret()?;
    interrupt::control();
    let shared: Shared = Arc::new(Mutex::new(App::new()));
    let of_page = Scenario::parse(&scenario, "").ok();
    let mut gains = GainMeter::new(move |link| running(link).or_else(|| of_page.clone()));
    let server = serve(args, interval, scenario, &secret, &shared)?;
    confine(OF_KERNEL, Bpf::Allowed);
    let mut at = Instant::now();
    watch(None, interval, move |parts| {
        let mut parts = parts.unwrap_or_else(|failure| Parts {
            version: PARTS_VERSION,
            parts: Vec::new(),
            notes: failure.text().lines().map(str::to_owned).collect(),
        });
        let seconds = at.elapsed().as_secs_f64();
        at = Instant::now();
        gains.update(&mut parts, seconds);
        shared.lock().unwrap_or_else(PoisonError::into_inner).update(parts, seconds);
        true
    });
    warning::say(format!("open http://{}/#{secret}; Ctrl-C stops it", server.address()));
    interrupt::wait(None);
    Ok(ExitCode::SUCCESS)
}

fn serve(
    args: &WebArgs,
    interval: Duration,
    scenario: String,
    secret: &str,
    shared: &Shared,
) -> Result<Server, Failure> {
    let fixed = |path, kind, text: &'static str| {
        Page::new(path, kind, move || Ok(text.to_owned())).with_fields(FIELDS)
    };
    let html = "text/html; charset=utf-8";
    let script = concat!(
        include_str!("script/table.js"),
        include_str!("script/change.js"),
        include_str!("script/live.js")
    );
    let pages = vec![
        fixed("/", html, include_str!("page.html")),
        fixed("/style.css", "text/css; charset=utf-8", include_str!("style.css")),
        fixed("/script.js", "text/javascript; charset=utf-8", script),
        Page::new("/scenario", "text/plain; charset=utf-8", move || Ok(scenario.clone()))
            .with_fields(FIELDS),
    ];
    let state = Arc::clone(shared);
    let events = Events::new("/events", interval, move || {
        event(&state.lock().unwrap_or_else(PoisonError::into_inner))
    });
    let changes = Arc::new(Mutex::new(Changes::new(KernelLinks)));
    let applied = Arc::clone(&changes);
    let check = Action::new("/check", LONGEST_REQUEST, move |body| {
        changes.lock().unwrap_or_else(PoisonError::into_inner).check(body)
    });
    let apply = Action::new("/apply", LONGEST_REQUEST, move |body| {
        applied.lock().unwrap_or_else(PoisonError::into_inner).apply(body)
    });
    let actions = Actions::new(secret.to_owned(), vec![check, apply], || keep(OF_KERNEL));
    let limits = Limits { connections: CLIENTS, ..Limits::default() };
    let no_privileges = || keep(Capabilities::empty());
    Server::live(args.listen, pages, Some(events), Some(actions), limits, no_privileges)
        .map_err(|e| Failure::input(format!("--listen {}: {e}; choose another", args.listen)))
}

fn event(app: &App) -> Result<String, String> {
    let rows = app.rows();
    let latest = |history: &VecDeque<f64>| history.back().copied();
    let parts = rows.iter().map(|shown| Moment {
        part: &shown.part,
        per_second: shown.per_second,
        bits_per_second: shown.bits_per_second,
        latest: latest(&shown.history),
    });
    let moments = Moments { version: PARTS_VERSION, parts: parts.collect(), notes: &app.notes };
    serde_json::to_string(&moments).map_err(|e| e.to_string())
}

/// The scenario of a link in the kernel.
fn running(link: &Part) -> Option<Scenario> {
    let device = link.of.split(',').next().filter(|_| link.process.is_none())?;
    Scenario::parse(&link::backend::running(device).ok()?.scenario, "").ok()
}

/// What a page has to say to change anything: 128 random bits of the kernel.
fn secret() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|e| Failure::Internal(format!("/dev/urandom: {e}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
