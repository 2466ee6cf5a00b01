//! From a CPU scenario to a verdict: the policy itself is asked for everything that tasks ask for,
//! in order of time, and nothing runs.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{self, Options};
use laxity_cpu::{
    Attributes, LONGEST_PERIOD, Policy, Refusal, Reservation, Service, Share, TaskId, Value, needed,
};
use laxity_scenario::cpus::CpuScenario;
use laxity_scenario::cpus::model::{TaskClass, TaskServer, Work};
use laxity_scenario::result::{CpuCheckResult, CpuRequest, TaskKind};
use laxity_sim::cpus::{attributes, readings};

/// What a policy does about reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reserves {
    /// It has servers, hard and soft ones, and groups share them.
    Servers,
    /// It admits hard ones, a task each.
    Hard,
    /// It knows of hard ones and admits all.
    Priorities,
    /// Every task is best effort.
    Nothing,
}

fn reserves(policy: &str) -> Reserves {
    match policy {
        "bebs" | "bebs-credit" | "edf" | "cbs" | "iris" | "iris-naive" => Reserves::Servers,
        "sched-deadline" => Reserves::Hard,
        "posix" => Reserves::Priorities,
        _ => Reserves::Nothing,
    }
}

/// The admission test of a scenario under a policy, with what would fit.
pub fn check(scenario: &CpuScenario, policy: &str) -> CpuCheckResult {
    let options = &scenario.policy.options;
    let reserves = reserves(policy);
    let counts = matches!(reserves, Reserves::Servers | Reserves::Hard);
    let mut replay = Replay { scenario, reserves, rows: Vec::new(), peak: Peak::default() };
    let requests = match registry::build(policy, options) {
        Ok(mut policy) if counts => replay.play(&mut *policy),
        _ => all_requests(scenario),
    };
    let obstacles = obstacles(scenario, policy, reserves, options);
    let admitted = requests.iter().all(|r| r.admitted);
    CpuCheckResult {
        policy: policy.to_owned(),
        options: readings(options, policy),
        cpus: scenario.cpu.cpus,
        admitted,
        promised: admitted && obstacles.is_empty(),
        utilisation: replay.peak.utilisation,
        demand: fraction(replay.peak.need),
        best_effort: counts.then(|| fraction(Share::ONE.minus(replay.peak.need))),
        obstacles,
        requests,
    }
}

fn fraction(share: Share) -> f64 {
    share.0 as f64 / Share::ONE.0 as f64
}

fn utilisation(r: &Reservation) -> f64 {
    r.budget.0 as f64 / r.period.0.max(1) as f64
}

/// Something that a task asks of a policy.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Join(Attributes),
    Change(Attributes),
    Leave,
}

/// When a task asks for something.
struct Event {
    at: Time,
    name: String,
    task: TaskId,
    ask: Ask,
}

/// Everything that is asked, in the order in which an engine asks it.
fn script(scenario: &CpuScenario) -> Vec<Event> {
    let mut script = Vec::new();
    for (task, (name, class)) in (0..).map(TaskId).zip(scenario.each()) {
        for (i, (at, wanted)) in attributes(scenario, class).into_iter().enumerate() {
            let ask = if i == 0 { Ask::Join(wanted) } else { Ask::Change(wanted) };
            script.push(Event { at, name: name.clone(), task, ask });
        }
        script.extend(class.leave.map(|at| Event { at, name, task, ask: Ask::Leave }));
    }
    // Joins come first at an instant; they were known first.
    script.sort_by_key(|event| (event.at, !matches!(event.ask, Ask::Join(_))));
    script
}

/// A reservation that a policy counts.
struct Row {
    task: TaskId,
    /// Members of a group share one.
    group: Option<laxity_cpu::GroupId>,
    reservation: Reservation,
}

#[derive(Default)]
struct Peak {
    utilisation: f64,
    need: Share,
}

struct Replay<'a> {
    scenario: &'a CpuScenario,
    reserves: Reserves,
    /// In force.
    rows: Vec<Row>,
    peak: Peak,
}

impl Replay<'_> {
    fn play(&mut self, policy: &mut dyn Policy) -> Vec<CpuRequest> {
        let mut requests = Vec::new();
        let mut absent = Vec::new();
        for Event { at: now, name, task, ask } in script(self.scenario) {
            settle(policy, now);
            if absent.contains(&task) {
                continue;
            }
            let (wanted, answer) = match ask {
                Ask::Join(wanted) => (wanted, policy.join(now, task, &wanted)),
                Ask::Change(wanted) => (wanted, policy.change(now, task, &wanted)),
                Ask::Leave => {
                    policy.leave(now, task, Span::ZERO);
                    self.rows.retain(|r| r.task != task);
                    continue;
                }
            };
            let shared = self.is_shared(&wanted);
            if let (Err(_), Ask::Join(_)) = (&answer, ask) {
                absent.push(task);
            }
            let refused = answer.as_ref().err().copied();
            if let Some((kind, reservation)) = self.counted(&wanted) {
                if !shared {
                    let from = answer.ok().map(|a| a.from).filter(|from| *from > now);
                    let others = self.others(task);
                    requests.push(request(&name, now, kind, reservation, refused, from, &others));
                }
            }
            if refused.is_none() {
                self.enter(task, &wanted);
            }
        }
        requests
    }

    /// What a policy counts of what a task asks for.
    fn counted(&self, wanted: &Attributes) -> Option<(TaskKind, Reservation)> {
        match wanted.service {
            Service::Hard(reservation) => Some((TaskKind::Hard, reservation)),
            Service::Soft(reservation) if self.reserves == Reserves::Servers => {
                Some((TaskKind::Soft, reservation))
            }
            _ => None,
        }
    }

    /// Whether another member of the group has the server already.
    fn is_shared(&self, wanted: &Attributes) -> bool {
        let group = wanted.group.filter(|_| self.reserves == Reserves::Servers);
        group.is_some() && self.rows.iter().any(|r| r.group == group)
    }

    fn others(&self, task: TaskId) -> Vec<Reservation> {
        self.rows.iter().filter(|r| r.task != task).map(|r| r.reservation).collect()
    }

    fn enter(&mut self, task: TaskId, wanted: &Attributes) {
        self.rows.retain(|r| r.task != task);
        if let (Some((_, reservation)), false) = (self.counted(wanted), self.is_shared(wanted)) {
            self.rows.push(Row { task, group: wanted.group, reservation });
        }
        let all: Vec<Reservation> = self.rows.iter().map(|r| r.reservation).collect();
        self.peak.need = self.peak.need.max(needed(&all));
        self.peak.utilisation = self.peak.utilisation.max(all.iter().map(utilisation).sum());
    }
}

/// Lets a policy do what is due by `now`; nobody runs, so that is little.
fn settle(policy: &mut dyn Policy, now: Time) {
    for _ in 0..1000 {
        match policy.next_event().filter(|at| *at <= now) {
            Some(at) => policy.timer(at),
            None => return,
        }
    }
}

/// The reservations of a policy that admits everything, or nothing: none is refused.
fn all_requests(scenario: &CpuScenario) -> Vec<CpuRequest> {
    let wanted = |Event { at, name, ask, .. }: Event| {
        let (Ask::Join(wanted) | Ask::Change(wanted)) = ask else { return None };
        let (kind, reservation) = match wanted.service {
            Service::Hard(reservation) => (TaskKind::Hard, reservation),
            Service::Soft(reservation) => (TaskKind::Soft, reservation),
            Service::BestEffort => return None,
        };
        Some(request(&name, at, kind, reservation, None, None, &[]))
    };
    script(scenario).into_iter().filter_map(wanted).collect()
}

fn request(
    task: &str,
    at: Time,
    kind: TaskKind,
    asked: Reservation,
    refused: Option<Refusal>,
    from: Option<Time>,
    others: &[Reservation],
) -> CpuRequest {
    let mut request = CpuRequest {
        task: task.to_owned(),
        at_ns: at.0,
        kind,
        budget_ns: asked.budget.0,
        period_ns: asked.period.0,
        deadline_ns: asked.deadline.0,
        utilisation: utilisation(&asked),
        admitted: refused.is_none(),
        from_ns: from.map(|from| from.0),
        needs: None,
        free: None,
        max_budget_ns: None,
        min_period_ns: None,
        refused: refused.map(|r| r.to_string()),
    };
    if let Some(Refusal::Overload { needs, free, fits, .. }) = refused {
        request.needs = Some(fraction(needs));
        request.free = Some(fraction(free));
        request.max_budget_ns = Some(fits.0).filter(|ns| *ns > 0);
        request.min_period_ns = shortest_period(asked.budget, free, others).map(|p| p.0);
    }
    request
}

/// The shortest period, with a deadline as long, in which a budget fits beside others.
fn shortest_period(budget: Span, free: Share, others: &[Reservation]) -> Option<Span> {
    let limit = needed(others).plus(free);
    let fits = |period: u64| {
        let mut all = others.to_vec();
        all.push(Reservation::new(budget, Span(period)));
        needed(&all) <= limit
    };
    let (mut least, mut most) = (budget.0.saturating_sub(1), LONGEST_PERIOD.0);
    if budget > LONGEST_PERIOD || !fits(most) {
        return None;
    }
    while least + 1 < most {
        let middle = least + (most - least) / 2;
        if fits(middle) {
            most = middle;
        } else {
            least = middle;
        }
    }
    Some(Span(most))
}

/// Why a policy does not promise that no hard job is late.
fn obstacles(
    scenario: &CpuScenario,
    policy: &str,
    reserves: Reserves,
    options: &Options,
) -> Vec<String> {
    let hard = |class: &&TaskClass| {
        attributes(scenario, class).iter().any(|(_, a)| matches!(a.service, Service::Hard(_)))
    };
    let classes: Vec<&TaskClass> = scenario.tasks.iter().filter(hard).collect();
    if classes.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    match reserves {
        Reserves::Servers => {}
        Reserves::Hard => all.push(format!(
            "{policy} keeps budgets; it does not promise that a job which may need reclaimed \
             bandwidth, or is due before its period ends, is in time"
        )),
        Reserves::Priorities => {
            all.push(format!("{policy} neither admits hard tasks nor holds them to their budgets"));
        }
        Reserves::Nothing => {
            all.push(format!("{policy} takes no reservations: every task is best effort there"));
        }
    }
    let is = |option, name| options.get(policy, option) == Some(Value::Choice(name));
    for (option, name) in
        [("transition", "stretch"), ("transition", "neither"), ("period", "average")]
    {
        if is(option, name) {
            all.push(format!("With {option} = \"{name}\" hard jobs can be late"));
        }
    }
    for class in classes {
        all.extend(misfits(scenario, class));
        let shares = |other: &&TaskClass| {
            matches!(class.server, TaskServer::Shared(_)) && other.server == class.server
        };
        let tasks: u64 = scenario.tasks.iter().filter(shares).map(|c| u64::from(c.count)).sum();
        if tasks > 1 {
            let name = &class.name;
            all.push(format!("{name} shares its reservation: the others decide when its jobs end"));
        }
    }
    all
}

/// What of a task's work does not fit its reservations.
fn misfits(scenario: &CpuScenario, class: &TaskClass) -> Vec<String> {
    let name = &class.name;
    let Work::Periodic { period, cost, deadline, .. } = &class.work else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for (at, attributes) in attributes(scenario, class) {
        let Service::Hard(r) = attributes.service else {
            all.push(format!("{name} has no hard reservation from {at} on"));
            continue;
        };
        match cost.most() {
            None => all.push(format!(
                "{name} draws its jobs without a limit, and one beyond the budget of {} can be late",
                r.budget
            )),
            Some(most) if most > r.budget => {
                all.push(format!("{name} has jobs of {most}, beyond its budget of {}", r.budget));
            }
            Some(_) => {}
        }
        if *period < r.period {
            all.push(format!("{name} has a job every {period} and a budget every {}", r.period));
        }
        if *deadline < r.deadline {
            all.push(format!(
                "{name} wants jobs done within {deadline} and reserves them within {}",
                r.deadline
            ));
        }
    }
    all.dedup();
    all
}
