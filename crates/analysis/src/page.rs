//! What pages show of scenarios and finished runs, as the `report` crate takes it.

use laxity_cpu::TaskId;
use laxity_report::{
    CpuJob, CpuPolicyDetail, CpuSlice, CpuTaskDetail, FlowDetail, Meta, PolicyDetail, ResidualPlot,
    StreamClassDetail, StreamPolicyDetail,
};
use laxity_scenario::link::model::{RealtimeFlow, Scenario};
use laxity_scenario::stream::StreamScenario;
use laxity_sim::cpu::{CpuRun, Job, Slice, Task, Workload};
use laxity_sim::link::PolicyRun;
use laxity_sim::stream::StreamRun;

use crate::link;

/// The footer of a page about a link; the rest of it is that of `meta`.
pub fn link_meta(scenario: &Scenario, meta: Meta) -> Meta {
    let bound = |f: &RealtimeFlow| Some((f.name.clone(), f.delay_bound()?.0));
    Meta {
        link_rate: Some(scenario.link.rate.0),
        max_packet: Some(scenario.link.max_packet.0),
        deadlines: scenario.realtime.iter().filter_map(bound).collect(),
        ..meta
    }
}

/// The capacity that real-time flows leave, as far as there is any.
pub fn residual_plot(scenario: &Scenario) -> Option<ResidualPlot> {
    let curves = link::residual(scenario)?;
    Some(ResidualPlot {
        residual: curves.residual,
        effective: curves.effective,
        approximations: curves.approximations,
        near_ns: None,
        whole_ns: Some(curves.end_ns),
    })
}

/// Delays of flows that had packets, of the first seed.
pub fn link_details(scenario: &Scenario, runs: &[PolicyRun]) -> Vec<PolicyDetail> {
    let detail = |run: &PolicyRun| {
        let seen = run.flows(scenario).filter(|(_, _, _, m)| m.packets > 0);
        let flows = seen.map(|(name, kind, deadline, m)| FlowDetail {
            flow: name.to_owned(),
            kind,
            deadline_ns: deadline.map(|d| d.0),
            series: m.series.clone(),
            excerpt: Vec::new(),
            distribution: m.delay.iter().collect(),
        });
        PolicyDetail { policy: run.policy.clone(), flows: flows.collect() }
    };
    let first = runs.first().map_or(0, |r| r.seed);
    runs.iter().filter(|r| r.seed == first).map(detail).collect()
}

/// Delays of the classes of a media server, of the first seed.
pub fn stream_details(scenario: &StreamScenario, runs: &[StreamRun]) -> Vec<StreamPolicyDetail> {
    let detail = |run: &StreamRun| {
        let classes = scenario.streams.iter().zip(&run.classes).map(|(class, m)| {
            let distribution = m.delay.iter().collect();
            StreamClassDetail { class: class.name.clone(), distribution }
        });
        StreamPolicyDetail { policy: run.policy.clone(), classes: classes.collect() }
    };
    let first = runs.first().map_or(0, |r| r.seed);
    runs.iter().filter(|r| r.seed == first).map(detail).collect()
}

/// The schedule of one run on CPUs: its slices, and the jobs that ended or were still open; `left_out` entries were
/// not kept.
pub fn cpu_detail<'a>(
    tasks: &[Task],
    run: &CpuRun,
    slices: &[Slice],
    jobs: impl Iterator<Item = &'a (TaskId, Job)>,
    left_out: u64,
) -> CpuPolicyDetail {
    let mut tasks: Vec<CpuTaskDetail> = tasks
        .iter()
        .zip(&run.measure.tasks)
        .map(|(task, measure)| CpuTaskDetail {
            task: task.name.clone(),
            deadline_ns: match task.workload {
                Workload::Frames { deadline, .. } => Some(deadline.0),
                _ => None,
            },
            response: measure.response.iter().collect(),
            tardiness: measure.tardiness.iter().collect(),
            slices: Vec::new(),
            jobs: Vec::new(),
        })
        .collect();
    for slice in slices {
        let row = CpuSlice { cpu: slice.cpu.0, from: slice.from.0, to: slice.to.0 };
        tasks[slice.task.index()].slices.push(row);
    }
    for (id, job) in jobs {
        let deadline = job.deadline.map(|deadline| deadline.0);
        let row = CpuJob { release: job.release.0, deadline, end: job.end.0 };
        tasks[id.index()].jobs.push(row);
    }
    CpuPolicyDetail { policy: run.policy.clone(), tasks, left_out }
}
