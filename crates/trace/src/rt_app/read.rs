//! Keys of rt-app's files and what they mean.

use super::json::{self, Kind, Value};
use super::{MAX_STEPS, RtApp, RtAppError, RtPolicy, RtStep, RtThread};

type Checked<T> = Result<T, RtAppError>;

/// Keys that hardly change a schedule; they are ignored.
const IGNORED: &[&str] = &[
    "lock",
    "unlock",
    "signal",
    "broad",
    "yield",
    "nodes_membind",
    "numa",
    "taskgroup",
    "util_min",
    "util_max",
    "stats",
    "comment",
];
/// Unsupported keys, with the reason.
const REFUSED: &[(&str, &str)] = &[
    ("memrun", "work in bytes has no known duration: give it as `run`"),
    ("mem", "work in bytes has no known duration: give it as `run`"),
    ("iorun", "work in bytes has no known duration: give it as `run`"),
    ("wait", "condition variables are not played: use `suspend` and `resume`, or semaphores"),
    ("sync", "condition variables are not played: use `suspend` and `resume`, or semaphores"),
    ("barrier", "barriers are not played: use semaphores"),
    ("fork", "threads cannot make others: list them under `tasks`, with `delay`"),
];
const EVENTS: &[&str] =
    &["runtime", "run", "sleep", "timer", "suspend", "resume", "sem_wait", "sem_post"];

/// A place in the file.
#[derive(Clone, Copy)]
struct Place<'a> {
    path: &'a str,
    value: &'a Value,
}

impl Place<'_> {
    fn wrong<T>(&self, problem: impl Into<String>) -> Checked<T> {
        let (line, path) = (self.value.line, self.path.to_string());
        Err(RtAppError { line, path, problem: problem.into() })
    }

    fn whole(&self, least: i64, most: i64) -> Checked<i64> {
        match self.value.kind {
            Kind::Number(n) if (least..=most).contains(&n) => Ok(n),
            Kind::Number(n) => self.wrong(format!("{n} is not within {least} to {most}")),
            ref other => self.wrong(format!("{} where a whole number is due", other.name())),
        }
    }

    /// A length in microseconds, as ns. A day at most.
    fn micros(&self) -> Checked<u64> {
        Ok(self.whole(0, 86_400_000_000)? as u64 * 1000)
    }

    fn text(&self) -> Checked<&str> {
        match &self.value.kind {
            Kind::Text(text) => Ok(text),
            other => self.wrong(format!("{} where a text is due", other.name())),
        }
    }

    fn object(&self) -> Checked<&[(String, Value)]> {
        match &self.value.kind {
            Kind::Object(entries) => Ok(entries),
            other => self.wrong(format!("{} where an object is due", other.name())),
        }
    }
}

/// Reads a workload.
///
/// # Errors
/// With line and key of a value that is invalid or unsupported.
pub fn read(text: &str) -> Result<RtApp, RtAppError> {
    let root = json::parse(text).map_err(|(line, problem)| RtAppError {
        line,
        path: String::new(),
        problem,
    })?;
    let root = Place { path: "", value: &root };
    let mut reader = Reader::default();
    let (mut tasks, mut default) = (None, "SCHED_OTHER".to_string());
    for (key, value) in root.object()? {
        let place = Place { path: key, value };
        match key.as_str() {
            "tasks" => tasks = Some(place),
            "global" => reader.global(place, &mut default)?,
            _ => reader.ignore(place),
        }
    }
    let Some(tasks) = tasks else { return root.wrong("no object `tasks`: give the threads there") };
    reader.names = tasks.object()?.iter().map(|(name, _)| name.clone()).collect();
    for (name, value) in tasks.object()? {
        let path = format!("tasks.{name}");
        let thread = reader.thread(name, Place { path: &path, value }, &default)?;
        reader.found.threads.push(thread);
    }
    if reader.found.threads.is_empty() {
        return tasks.wrong("no threads: give one at least");
    }
    Ok(reader.found)
}

#[derive(Default)]
struct Reader {
    found: RtApp,
    names: Vec<String>,
    /// Semaphores that are waited for, and by which thread.
    waits: Vec<(String, usize)>,
}

/// Properties of a thread, which its phases inherit unless they override them.
#[derive(Default)]
struct Scheduling {
    policy: Option<String>,
    priority: Option<i64>,
    runtime: Option<u64>,
    period: Option<u64>,
    deadline: Option<u64>,
    cpus: Option<Vec<u32>>,
}

impl Reader {
    fn ignore(&mut self, place: Place) {
        let entry = format!("line {}: {}", place.value.line, place.path);
        if self.found.ignored.len() < 1000 && !self.found.ignored.contains(&entry) {
            self.found.ignored.push(entry);
        }
    }

    fn global(&mut self, global: Place, default: &mut String) -> Checked<()> {
        for (key, value) in global.object()? {
            let path = format!("global.{key}");
            let place = Place { path: &path, value };
            match key.as_str() {
                "duration" => {
                    let seconds = place.whole(-1, 86_400 * 365)?;
                    self.found.duration_ns = (seconds >= 0).then(|| seconds as u64 * 1_000_000_000);
                }
                "default_policy" => *default = place.text()?.to_string(),
                _ => self.ignore(place),
            }
        }
        Ok(())
    }

    /// A property of threads and phases; whether the key is one.
    fn scheduling(
        &mut self,
        key: &str,
        place: Place,
        scheduling: &mut Scheduling,
    ) -> Checked<bool> {
        match key {
            "policy" => scheduling.policy = Some(place.text()?.to_string()),
            "priority" => scheduling.priority = Some(place.whole(-20, 99)?),
            "dl-runtime" => scheduling.runtime = Some(place.micros()?),
            "dl-period" => scheduling.period = Some(place.micros()?),
            "dl-deadline" => scheduling.deadline = Some(place.micros()?),
            "cpus" => {
                let Kind::List(list) = &place.value.kind else {
                    return place.wrong("give a list of CPUs, such as [0, 2]");
                };
                let cpu =
                    |value| Place { path: place.path, value }.whole(0, 4095).map(|n| n as u32);
                scheduling.cpus = Some(list.iter().map(cpu).collect::<Checked<_>>()?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn thread(&mut self, name: &str, place: Place, default: &str) -> Checked<RtThread> {
        let (mut instances, mut delay_ns, mut rounds) = (1, 0, -1);
        let (mut scheduling, mut phases) = (Scheduling::default(), None);
        let mut own: Vec<(String, Value)> = Vec::new();
        for (key, value) in place.object()? {
            let path = format!("{}.{key}", place.path);
            let at = Place { path: &path, value };
            match key.as_str() {
                "instance" => instances = at.whole(0, 100_000)? as u32,
                "delay" => delay_ns = at.micros()?,
                "loop" => rounds = at.whole(-1, i64::from(u32::MAX))?,
                "phases" => phases = Some(value),
                _ if self.scheduling(key, at, &mut scheduling)? => {}
                _ => own.push((key.clone(), value.clone())),
            }
        }
        let own = Value { line: place.value.line, kind: Kind::Object(own) };
        let mut timers = Vec::new();
        let (mut steps, mut for_ever) = (Vec::new(), false);
        match phases {
            None => {
                self.events(Place { path: place.path, value: &own }, &mut timers, &mut steps)?
            }
            Some(value) => {
                let path = format!("{}.phases", place.path);
                let phases = Place { path: &path, value };
                let list = phases.object()?;
                for (i, (key, value)) in list.iter().enumerate() {
                    let path = format!("{path}.{key}");
                    let phase = Place { path: &path, value };
                    if for_ever {
                        return phase.wrong("comes after a phase that loops for ever");
                    }
                    let one = self.phase(phase, &mut scheduling, &mut timers, &mut steps)?;
                    for_ever = one;
                    if one && i > 0 {
                        return phase
                            .wrong("loops for ever after other phases: give it a number of loops");
                    }
                }
                self.leftovers(Place { path: place.path, value: &own })?;
            }
        }
        let repeat = for_ever || rounds < 0;
        if !repeat {
            repeated(place, &mut steps, 0, rounds as u64)?;
        }
        let busy = |step: &RtStep| !matches!(step, RtStep::Wake(_) | RtStep::Run(0));
        if repeat && instances > 0 && !steps.iter().any(busy) {
            return place.wrong("neither computes nor sleeps: give it `run`, `sleep` or `timer`");
        }
        let policy = policy(place, &scheduling, default)?;
        let cpus = scheduling.cpus.unwrap_or_default();
        Ok(RtThread { name: name.into(), instances, delay_ns, policy, cpus, steps, repeat })
    }

    /// Appends the steps of a phase; whether it loops for ever.
    fn phase(
        &mut self,
        phase: Place,
        thread: &mut Scheduling,
        timers: &mut Vec<String>,
        steps: &mut Vec<RtStep>,
    ) -> Checked<bool> {
        let (mut rounds, mut events) = (1, Vec::new());
        for (key, value) in phase.object()? {
            let path = format!("{}.{key}", phase.path);
            let at = Place { path: &path, value };
            // Attributes of the first phase that has them hold throughout.
            let mut own = Scheduling::default();
            match key.as_str() {
                "loop" => rounds = at.whole(-1, i64::from(u32::MAX))?,
                _ if self.scheduling(key, at, &mut own)? => {
                    let same = |old: bool| !old;
                    let first = match key.as_str() {
                        "cpus" => same(thread.cpus.is_some()),
                        "policy" => same(thread.policy.is_some()),
                        "priority" => same(thread.priority.is_some()),
                        "dl-runtime" => same(thread.runtime.is_some()),
                        "dl-period" => same(thread.period.is_some()),
                        _ => same(thread.deadline.is_some()),
                    };
                    if !first || !steps.is_empty() {
                        self.ignore(at);
                        continue;
                    }
                    thread.cpus = own.cpus.or(thread.cpus.take());
                    thread.policy = own.policy.or(thread.policy.take());
                    thread.priority = own.priority.or(thread.priority);
                    thread.runtime = own.runtime.or(thread.runtime);
                    thread.period = own.period.or(thread.period);
                    thread.deadline = own.deadline.or(thread.deadline);
                }
                _ => events.push((key.clone(), value.clone())),
            }
        }
        let from = steps.len();
        let events = Value { line: phase.value.line, kind: Kind::Object(events) };
        self.events(Place { path: phase.path, value: &events }, timers, steps)?;
        if rounds >= 0 {
            repeated(phase, steps, from, rounds as u64)?;
        }
        Ok(rounds < 0)
    }

    /// Keys beside `phases` that are not properties.
    fn leftovers(&mut self, place: Place) -> Checked<()> {
        for (key, value) in place.object()? {
            let path = format!("{}.{key}", place.path);
            let at = Place { path: &path, value };
            if EVENTS.iter().any(|event| key.starts_with(event)) {
                return at.wrong("an event beside `phases`: put it into one of them");
            }
            self.ignore(at);
        }
        Ok(())
    }

    fn events(
        &mut self,
        place: Place,
        timers: &mut Vec<String>,
        steps: &mut Vec<RtStep>,
    ) -> Checked<()> {
        for (key, value) in place.object()? {
            let path = format!("{}.{key}", place.path);
            let at = Place { path: &path, value };
            if let Some((_, why)) = REFUSED.iter().find(|(event, _)| key.starts_with(event)) {
                return at.wrong(*why);
            }
            // As rt-app does, a key is an event by how it begins: `run1` is a `run`.
            let event = EVENTS.iter().find(|event| key.starts_with(**event));
            match event.copied() {
                Some("run" | "runtime") => steps.push(RtStep::Run(at.micros()?)),
                Some("sleep") => steps.push(RtStep::Sleep(at.micros()?)),
                Some("timer") => steps.push(timer(at, timers)?),
                Some("suspend") => steps.push(RtStep::Await),
                Some("resume") => {
                    let name = at.text()?;
                    let Some(waiter) = self.names.iter().position(|n| n == name) else {
                        return at.wrong(format!("there is no thread {name:?} under `tasks`"));
                    };
                    steps.push(RtStep::Wake(waiter));
                }
                Some("sem_wait") => {
                    let (name, me) = (at.text()?.to_string(), self.found.threads.len());
                    if !self.waits.contains(&(name.clone(), me)) {
                        self.waits.push((name, me));
                    }
                    steps.push(RtStep::Await);
                }
                Some("sem_post") => steps.push(self.post(at)?),
                _ if IGNORED.iter().any(|event| key.starts_with(event)) => self.ignore(at),
                _ => {
                    return at.wrong(format!(
                        "is no event that is played; those are {}",
                        EVENTS.join(" ")
                    ));
                }
            }
            if steps.len() > MAX_STEPS {
                return at.wrong(format!("more than {MAX_STEPS} steps"));
            }
        }
        Ok(())
    }

    /// A semaphore belongs to its waiter, which the file has to name first.
    fn post(&mut self, at: Place) -> Checked<RtStep> {
        let name = at.text()?;
        let mut waiters = self.waits.iter().filter(|(n, _)| n == name);
        match (waiters.next(), waiters.next()) {
            (Some((_, waiter)), None) => Ok(RtStep::Wake(*waiter)),
            (None, _) => at.wrong(format!(
                "no earlier thread waits for semaphore {name:?}: put the thread that waits first"
            )),
            _ => at.wrong(format!("several threads wait for semaphore {name:?}: use one for each")),
        }
    }
}

fn timer(at: Place, timers: &mut Vec<String>) -> Checked<RtStep> {
    let (mut name, mut period_ns, mut relative) = (String::new(), None, true);
    for (key, value) in at.object()? {
        let path = format!("{}.{key}", at.path);
        let part = Place { path: &path, value };
        match key.as_str() {
            "ref" => name = part.text()?.to_string(),
            "period" => period_ns = Some(part.micros()?),
            "mode" => match part.text()? {
                "relative" => relative = true,
                "absolute" => relative = false,
                other => return part.wrong(format!("{other:?} is neither relative nor absolute")),
            },
            _ => return part.wrong("timers have `ref`, `period` and `mode`"),
        }
    }
    let Some(period_ns) = period_ns.filter(|p| *p > 0) else {
        return at.wrong("a timer needs a `period` in microseconds");
    };
    let timer = timers.iter().position(|t| *t == name).unwrap_or_else(|| {
        timers.push(name);
        timers.len() - 1
    });
    Ok(RtStep::Timer { timer: timer as u32, period_ns, relative })
}

/// Writes steps from a place on so many times altogether.
fn repeated(place: Place, steps: &mut Vec<RtStep>, from: usize, rounds: u64) -> Checked<()> {
    let once: Vec<RtStep> = steps.split_off(from);
    let all = (once.len() as u64).saturating_mul(rounds);
    if all.saturating_add(from as u64) > MAX_STEPS as u64 {
        return place.wrong(format!(
            "{rounds} loops of {} steps are more than {MAX_STEPS}: loop less often, or for ever (-1)",
            once.len()
        ));
    }
    (0..rounds).for_each(|_| steps.extend_from_slice(&once));
    Ok(())
}

fn policy(place: Place, scheduling: &Scheduling, default: &str) -> Checked<RtPolicy> {
    let name = scheduling.policy.as_deref().unwrap_or(default);
    let priority = scheduling.priority;
    Ok(match name {
        "SCHED_OTHER" | "SCHED_BATCH" => match i8::try_from(priority.unwrap_or(0)) {
            Ok(nice @ -20..=19) => RtPolicy::Other { nice },
            _ => return place.wrong("the priority of SCHED_OTHER is a nice value, -20 to 19"),
        },
        "SCHED_IDLE" => RtPolicy::Idle,
        "SCHED_FIFO" | "SCHED_RR" => match u8::try_from(priority.unwrap_or(10)) {
            Ok(priority @ 1..=99) => RtPolicy::Realtime { priority },
            _ => return place.wrong(format!("the priority of {name} is 1 to 99")),
        },
        "SCHED_DEADLINE" => {
            let runtime_ns = scheduling.runtime.unwrap_or(0);
            let period_ns = scheduling.period.unwrap_or(runtime_ns);
            let deadline_ns = scheduling.deadline.unwrap_or(period_ns);
            if runtime_ns == 0 || runtime_ns > deadline_ns || deadline_ns > period_ns {
                return place
                    .wrong("SCHED_DEADLINE needs 0 < dl-runtime <= dl-deadline <= dl-period");
            }
            RtPolicy::Deadline { runtime_ns, period_ns, deadline_ns }
        }
        _ => {
            return place.wrong(format!(
                "{name:?} is no policy; those are SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_RR, \
                 SCHED_FIFO and SCHED_DEADLINE"
            ));
        }
    })
}
