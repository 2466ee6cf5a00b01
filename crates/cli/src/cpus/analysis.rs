//! From a CPU scenario to a verdict: the policy itself is asked for everything that tasks ask for,
//! in order of time, and nothing runs.

use laxity_core::{Span, Time};
use laxity_cpu::clusters;
use laxity_cpu::registry::{self, Options};
use laxity_cpu::{
    Attributes, GroupId, LONGEST_PERIOD, Policy, Refusal, Reservation, Service, Share, TaskId,
    Value, reserved_bandwidth,
};
use laxity_scenario::cpus::CpuScenario;
use laxity_scenario::cpus::model::{TaskClass, TaskServer, Work};
use laxity_scenario::result::{CpuCheckResult, CpuRequest, TaskKind};
use laxity_sim::cpu::Task;
use laxity_sim::cpus::{attributes, readings};

/// What a policy does about reservations, as it shows when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reserves {
    /// It refuses hard ones that do not fit.
    hard: bool,
    /// And soft ones.
    soft: bool,
    /// Tasks of a group share one.
    groups: bool,
}

impl Reserves {
    fn of(policy: &str, options: &Options) -> Reserves {
        // Two of this do not fit a CPU.
        let most = Reservation::new(Span::from_millis(6), Span::from_millis(10));
        let takes_two = |wanted: Attributes| {
            let Ok(mut policy) = registry::build(policy, options) else { return true };
            let mut join = |task| policy.join(Time::ZERO, TaskId(task), &wanted).is_ok();
            join(0) && join(1)
        };
        let together = Attributes::hard(most).in_group(GroupId(0));
        let hard = !takes_two(Attributes::hard(most));
        let soft = !takes_two(Attributes::soft(most));
        Reserves { hard, soft, groups: takes_two(together) }
    }

    fn any(self) -> bool {
        self.hard || self.soft
    }
}

/// The admission test of a scenario under a policy, with what would fit. `tasks` are those of the
/// scenario and of the files that it names.
pub fn check(scenario: &CpuScenario, tasks: &[Task], policy: &str) -> CpuCheckResult {
    let options = &scenario.policy.options;
    let reserves = Reserves::of(policy, options);
    let counts = reserves.any();
    let peak = Peak::default();
    let mut replay = Replay { scenario, reserves, rows: Vec::new(), peak, refused: Vec::new() };
    let requests = match build(scenario, policy) {
        Some(mut policy) if counts => replay.play(tasks, &mut *policy),
        _ => all_requests(tasks),
    };
    let mut obstacles = obstacles(scenario, tasks, policy, reserves, options);
    let admitted = requests.iter().all(|r| r.admitted) && replay.refused.is_empty();
    obstacles.append(&mut replay.refused);
    let cpus = f64::from(scenario.cpu.cpus);
    let demand = (replay.peak.need / cpus).min(1.0);
    CpuCheckResult {
        policy: policy.to_owned(),
        options: readings(options, policy),
        cpus: scenario.cpu.cpus,
        admitted,
        promised: admitted && obstacles.is_empty(),
        utilisation: replay.peak.utilisation / cpus,
        demand,
        best_effort: counts.then_some(1.0 - demand),
        obstacles,
        requests,
    }
}

/// The policy as it runs on the CPUs of the scenario.
fn build(scenario: &CpuScenario, policy: &str) -> Option<Box<dyn Policy + Send>> {
    let options = &scenario.policy.options;
    match scenario.cpu.layout().ok()? {
        None => registry::build(policy, options).ok(),
        Some(layout) => {
            let built = clusters::build(policy, options, &layout, scenario.cpu.options()).ok()?;
            Some(Box::new(built))
        }
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
fn script(tasks: &[Task]) -> Vec<Event> {
    let mut script = Vec::new();
    for (id, task) in (0..).map(TaskId).zip(tasks) {
        let event = |at, ask| Event { at, name: task.name.clone(), task: id, ask };
        script.push(event(task.joins, Ask::Join(task.attributes)));
        script.extend(task.changes.iter().map(|c| event(c.at, Ask::Change(c.attributes))));
        script.extend(task.leaves.map(|at| event(at, Ask::Leave)));
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
    need: f64,
}

struct Replay<'a> {
    scenario: &'a CpuScenario,
    reserves: Reserves,
    /// In force.
    rows: Vec<Row>,
    peak: Peak,
    /// Why tasks that reserve nothing are refused.
    refused: Vec<String>,
}

impl Replay<'_> {
    fn play(&mut self, tasks: &[Task], policy: &mut dyn Policy) -> Vec<CpuRequest> {
        let mut requests = Vec::new();
        let mut absent = Vec::new();
        for Event { at: now, name, task, ask } in script(tasks) {
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
            match self.counted(&wanted) {
                Some((kind, reservation)) if !shared || refused.is_some() => {
                    let from = answer.ok().map(|a| a.from).filter(|from| *from > now);
                    requests.push(request(&name, now, kind, reservation, refused, from));
                }
                _ => self.refused.extend(refused.map(|why| format!("{name} is refused: {why}"))),
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
            Service::Hard(reservation) if self.reserves.hard => Some((TaskKind::Hard, reservation)),
            Service::Soft(reservation) if self.reserves.soft => Some((TaskKind::Soft, reservation)),
            _ => None,
        }
    }

    /// Whether another member of the group has the server already.
    fn is_shared(&self, wanted: &Attributes) -> bool {
        let group = wanted.group.filter(|_| self.reserves.groups);
        group.is_some() && self.rows.iter().any(|r| r.group == group)
    }

    fn enter(&mut self, task: TaskId, wanted: &Attributes) {
        self.rows.retain(|r| r.task != task);
        if let (Some((_, reservation)), false) = (self.counted(wanted), self.is_shared(wanted)) {
            self.rows.push(Row { task, group: wanted.group, reservation });
        }
        let all: Vec<Reservation> = self.rows.iter().map(|r| r.reservation).collect();
        // Which cluster has which the policy knows; each by itself needs no more than this.
        let need = match self.scenario.cpu.cpus {
            1 => fraction(reserved_bandwidth(&all)),
            _ => all.iter().map(|r| fraction(reserved_bandwidth(&[*r]))).sum(),
        };
        self.peak.need = self.peak.need.max(need);
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
fn all_requests(tasks: &[Task]) -> Vec<CpuRequest> {
    let wanted = |Event { at, name, ask, .. }: Event| {
        let (Ask::Join(wanted) | Ask::Change(wanted)) = ask else { return None };
        let (kind, reservation) = match wanted.service {
            Service::Hard(reservation) => (TaskKind::Hard, reservation),
            Service::Soft(reservation) => (TaskKind::Soft, reservation),
            Service::BestEffort => return None,
        };
        Some(request(&name, at, kind, reservation, None, None))
    };
    script(tasks).into_iter().filter_map(wanted).collect()
}

fn request(
    task: &str,
    at: Time,
    kind: TaskKind,
    asked: Reservation,
    refused: Option<Refusal>,
    from: Option<Time>,
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
    if let Some(
        Refusal::Overload { needs, free, fits, .. } | Refusal::NoCluster { needs, free, fits, .. },
    ) = refused
    {
        request.needs = Some(fraction(needs));
        request.free = Some(fraction(free));
        request.max_budget_ns = Some(fits.0).filter(|ns| *ns > 0);
        request.min_period_ns = shortest_period(asked.budget, free).map(|p| p.0);
    }
    request
}

/// The shortest period, with a deadline as long, in which a budget fits into a free share: such a
/// reservation needs just its utilisation beside others.
fn shortest_period(budget: Span, free: Share) -> Option<Span> {
    let period = free.time_for(budget);
    (free > Share::ZERO && period <= LONGEST_PERIOD).then(|| period.max(budget))
}

/// Why a policy does not promise that no hard job is late.
fn obstacles(
    scenario: &CpuScenario,
    tasks: &[Task],
    policy: &str,
    reserves: Reserves,
    options: &Options,
) -> Vec<String> {
    let hard = |class: &&TaskClass| {
        attributes(scenario, class).iter().any(|(_, a)| matches!(a.service, Service::Hard(_)))
    };
    let classes: Vec<&TaskClass> = scenario.tasks.iter().filter(hard).collect();
    if tasks.iter().all(|t| !matches!(t.attributes.service, Service::Hard(_))) && classes.is_empty()
    {
        return Vec::new();
    }
    let mut all = Vec::new();
    let keeps = registry::find(policy).is_some_and(|p| p.keeps_deadlines);
    match (reserves.hard, keeps) {
        (true, true) => {}
        (true, false) => all.push(format!(
            "{policy} keeps budgets; it does not promise that a job which may need reclaimed \
             bandwidth, or is due before its period ends, is in time"
        )),
        (false, _) => all.push(format!(
            "{policy} takes no reservations: it neither admits hard tasks nor holds them to their \
             budgets"
        )),
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
