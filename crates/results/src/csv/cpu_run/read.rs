//! Reads records of runs of CPUs.

use laxity_core::{Span, Time};

use super::super::RecordError;
use super::super::read::fields;
use super::{
    CpuRunRecord, HigherClass, LiveRun, RequestRow, ResetRow, RunCharge, RunEvent, RunJob, RunKind,
    RunRow, RunSlice, RunState, ServerRow, VERSION_LINE,
};

/// A bound of the memory that a record asks for: more servers than tasks that a kernel runs.
const MOST_SERVERS: u64 = 1 << 20;

/// The runs of a record, in its order.
///
/// # Errors
/// The first line that is not as it should be.
pub fn read_cpu_runs(text: &str) -> Result<Vec<CpuRunRecord>, RecordError> {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, line)| line != VERSION_LINE) {
        return Err(RecordError { line: 1, expected: VERSION_LINE.to_owned() });
    }
    let mut runs: Vec<CpuRunRecord> = Vec::new();
    let mut open = false;
    let mut places = Places::default();
    let mut last = 1;
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        last = index + 1;
        let wrong = |expected: String| RecordError { line: last, expected };
        let fields = fields(line).ok_or_else(|| wrong("closed quotes".to_owned()))?;
        let row = Fields { fields: &fields, line: last };
        if row.text(0)? == "policy" {
            if open {
                return Err(wrong("end of the run before".to_owned()));
            }
            let clusters = row.clusters()?;
            places = Places::of(&clusters);
            let policy = row.text(1)?.to_owned();
            let (tasks, rows, end) = (Vec::new(), Vec::new(), Time::ZERO);
            runs.push(CpuRunRecord { policy, clusters, live: None, tasks, rows, end });
            open = true;
            continue;
        }
        let run = runs.last_mut().filter(|_| open);
        let run = run.ok_or_else(|| wrong("policy, which begins a run".to_owned()))?;
        match row.text(0)? {
            "task" => {
                row.count(3)?;
                if row.number(1, "the number of a task")? != run.tasks.len() as u64 {
                    return Err(wrong(format!("task {}", run.tasks.len())));
                }
                run.tasks.push(row.text(2)?.to_owned());
            }
            "live" => {
                row.count(4)?;
                run.live = Some(LiveRun {
                    cpu: row.narrow(1, "the CPU")?,
                    lost: row.number(2, "the number of lost events")?,
                    wakeup_granularity: Span(row.number(3, "the wakeup granularity")?),
                });
            }
            "end" => {
                row.count(2)?;
                run.end = Time(row.number(1, "the end")?);
                open = false;
            }
            _ => {
                let read = row.row()?;
                let (task, cpu) = match read {
                    RunRow::Request(r) => (Some(r.task), 0),
                    RunRow::Slice(r) => (Some(r.task), r.cpu),
                    RunRow::Job(r) => (Some(r.task), 0),
                    RunRow::Server(_) | RunRow::Reset(_) | RunRow::HigherClass(_) => (None, 0),
                };
                if task.is_some_and(|task| task as usize >= run.tasks.len()) {
                    return Err(wrong("the number of a task above".to_owned()));
                }
                if cpu as usize >= run.clusters.len() {
                    return Err(wrong(format!("a CPU below {}", run.clusters.len())));
                }
                if let RunRow::Server(r) = read {
                    places.see(&r).map_err(wrong)?;
                }
                run.rows.push(read);
            }
        }
    }
    match open {
        true => Err(RecordError { line: last + 1, expected: "end of the run".to_owned() }),
        false => Ok(runs),
    }
}

/// How many places for servers the rows of a run name.
#[derive(Default)]
struct Places {
    of_cluster: Vec<u64>,
    all: u64,
}

impl Places {
    /// Without any, for the clusters of CPUs.
    fn of(clusters: &[u32]) -> Places {
        let count = clusters.iter().max().map_or(0, |last| *last as usize + 1);
        Places { of_cluster: vec![0; count], all: 0 }
    }

    /// Counts the place of a row. Answers what the row should have instead.
    fn see(&mut self, row: &ServerRow) -> Result<(), String> {
        let clusters = self.of_cluster.len();
        let known = self.of_cluster.get_mut(row.cluster as usize);
        let known = known.ok_or_else(|| format!("a cluster below {clusters}"))?;
        let places = u64::from(row.slot) + 1;
        self.all += places.saturating_sub(*known);
        *known = places.max(*known);
        match self.all > MOST_SERVERS {
            true => Err(format!("at most {MOST_SERVERS} places for servers in all clusters")),
            false => Ok(()),
        }
    }
}

/// The fields of a line.
struct Fields<'a> {
    fields: &'a [String],
    line: usize,
}

impl Fields<'_> {
    fn wrong(&self, expected: &str) -> RecordError {
        RecordError { line: self.line, expected: expected.to_owned() }
    }

    fn count(&self, fields: usize) -> Result<(), RecordError> {
        match self.fields.len() == fields {
            true => Ok(()),
            false => Err(self.wrong(&format!("{fields} fields"))),
        }
    }

    fn text(&self, i: usize) -> Result<&str, RecordError> {
        self.fields.get(i).map(String::as_str).ok_or_else(|| self.wrong("another field"))
    }

    fn number(&self, i: usize, what: &str) -> Result<u64, RecordError> {
        let number = self.text(i)?.parse();
        number.map_err(|_| self.wrong(&format!("a whole number as {what}")))
    }

    fn narrow(&self, i: usize, what: &str) -> Result<u32, RecordError> {
        u32::try_from(self.number(i, what)?).map_err(|_| self.wrong(what))
    }

    /// The cluster of each CPU, after the policy. Clusters are counted from 0, and each has a CPU.
    fn clusters(&self) -> Result<Vec<u32>, RecordError> {
        let all = (2..self.fields.len()).map(|i| self.narrow(i, "the cluster of a CPU"));
        let all: Vec<u32> = all.collect::<Result<_, _>>()?;
        let cpus = all.len();
        let Some(greatest) = all.iter().max().map(|cluster| *cluster as usize) else {
            return Err(self.wrong("the cluster of each CPU"));
        };
        if greatest >= cpus {
            return Err(self.wrong(&format!("clusters below {cpus}, the number of CPUs")));
        }
        let mut has_cpus = vec![false; greatest + 1];
        all.iter().for_each(|cluster| has_cpus[*cluster as usize] = true);
        match has_cpus.iter().position(|has| !has) {
            Some(cluster) => Err(self.wrong(&format!("a CPU of cluster {cluster}"))),
            None => Ok(all),
        }
    }

    fn optional(&self, i: usize, what: &str) -> Result<Option<Time>, RecordError> {
        match self.text(i)? {
            "" => Ok(None),
            _ => Ok(Some(Time(self.number(i, what)?))),
        }
    }

    fn named<T: Copy>(
        &self,
        i: usize,
        all: &[T],
        name: impl Fn(T) -> &'static str,
    ) -> Result<T, RecordError> {
        let text = self.text(i)?;
        let found = all.iter().copied().find(|value| name(*value) == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|value| name(*value)).collect();
            self.wrong(&format!("one of {}", names.join(" ")))
        })
    }

    fn row(&self) -> Result<RunRow, RecordError> {
        let time = |i, what| self.number(i, what).map(Time);
        let span = |i, what| self.number(i, what).map(Span);
        Ok(match self.text(0)? {
            "request" => {
                self.count(8)?;
                let hard =
                    self.named(3, &[true, false], |hard| if hard { "hard" } else { "other" });
                RunRow::Request(RequestRow {
                    at: time(1, "the time")?,
                    task: self.narrow(2, "the task")?,
                    hard: hard?,
                    budget: span(4, "the budget")?,
                    period: span(5, "the period")?,
                    deadline: span(6, "the deadline")?,
                    from: self.optional(7, "when it is in force")?,
                })
            }
            "reset" => {
                self.count(4)?;
                RunRow::Reset(ResetRow {
                    at: time(1, "the time")?,
                    call: self.number(2, "the number of the call")?,
                    cluster: self.narrow(3, "the cluster")?,
                })
            }
            "server" => {
                self.count(18)?;
                let step = |i| Ok((time(i, "the end of a step")?, self.number(i + 1, "a share")?));
                RunRow::Server(ServerRow {
                    at: time(1, "the time")?,
                    call: self.number(2, "the number of the call")?,
                    event: self.named(3, RunEvent::ALL, RunEvent::name)?,
                    cluster: self.narrow(4, "the cluster")?,
                    slot: self.narrow(5, "the server")?,
                    state: self.named(6, RunState::ALL, RunState::name)?,
                    kind: self.named(7, RunKind::ALL, RunKind::name)?,
                    replenished: self.number(8, "how often it was replenished")?,
                    remaining: span(9, "the remaining budget")?,
                    deadline: time(10, "the deadline")?,
                    release: self.optional(11, "the release")?,
                    from: time(12, "the zero-lag time")?,
                    steps: [step(13)?, step(15)?],
                    rest: self.number(17, "a share")?,
                })
            }
            "slice" => {
                self.count(6)?;
                let charge = match self.text(5)? {
                    "unserved" => RunCharge::Unserved,
                    "background" => RunCharge::Background,
                    server => {
                        let parts = server.split_once('.');
                        let parts =
                            parts.and_then(|(c, s)| Some((c.parse().ok()?, s.parse().ok()?)));
                        let (cluster, slot) = parts
                            .ok_or_else(|| self.wrong("CLUSTER.SERVER, unserved or background"))?;
                        RunCharge::Server(cluster, slot)
                    }
                };
                let (from, to) = (time(1, "the begin")?, time(2, "the end")?);
                if to < from {
                    return Err(self.wrong("an end at the begin or later"));
                }
                let (cpu, task) = (self.narrow(3, "the CPU")?, self.narrow(4, "the task")?);
                RunRow::Slice(RunSlice { from, to, cpu, task, charge })
            }
            "job" => {
                self.count(6)?;
                let ended = |ended| if ended { "ended" } else { "unfinished" };
                let (release, end) = (time(2, "the release")?, time(4, "the end")?);
                if end < release {
                    return Err(self.wrong("an end at the release or later"));
                }
                RunRow::Job(RunJob {
                    task: self.narrow(1, "the task")?,
                    release,
                    deadline: self.optional(3, "the deadline")?,
                    end,
                    ended: self.named(5, &[true, false], ended)?,
                })
            }
            "higher-class" => {
                self.count(3)?;
                let (from, until) = (time(1, "the begin")?, time(2, "the end")?);
                if until < from {
                    return Err(self.wrong("an end at the begin or later"));
                }
                RunRow::HigherClass(HigherClass { from, until })
            }
            _ => {
                let all =
                    "policy, live, task, request, reset, server, slice, job, higher-class or end";
                return Err(self.wrong(all));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::CpuRunWriter;
    use super::*;

    fn rows() -> Vec<RunRow> {
        let request = RequestRow {
            at: Time(1),
            task: 1,
            hard: true,
            budget: Span(2),
            period: Span(9),
            deadline: Span(8),
            from: None,
        };
        let server = ServerRow {
            at: Time(1),
            call: 7,
            event: RunEvent::Wake,
            cluster: 1,
            slot: 3,
            state: RunState::Expired,
            kind: RunKind::Constrained,
            replenished: 3,
            remaining: Span(4),
            deadline: Time(u64::MAX),
            release: Some(Time(12)),
            from: Time(11),
            steps: [(Time(0), 0), (Time(20), 5)],
            rest: 6,
        };
        let slice = RunSlice {
            from: Time(1),
            to: Time(3),
            cpu: 1,
            task: 0,
            charge: RunCharge::Server(1, 3),
        };
        let job = RunJob { task: 1, release: Time(1), deadline: None, end: Time(3), ended: false };
        vec![
            RunRow::Request(request),
            RunRow::Request(RequestRow { hard: false, from: Some(Time(1)), ..request }),
            RunRow::Reset(ResetRow { at: Time(1), call: 7, cluster: 1 }),
            RunRow::Server(server),
            RunRow::Slice(slice),
            RunRow::Slice(RunSlice { charge: RunCharge::Unserved, ..slice }),
            RunRow::Slice(RunSlice { charge: RunCharge::Background, ..slice }),
            RunRow::Job(job),
            RunRow::Job(RunJob { deadline: Some(Time(9)), ended: true, ..job }),
            RunRow::HigherClass(HigherClass { from: Time(2), until: Time(3) }),
        ]
    }

    // Fails when a column is written in another place than it is read from, or an absent time becomes 0.
    #[test]
    fn reads_what_is_written() {
        let mut writer = CpuRunWriter::new(Vec::new());
        let tasks = ["a,\"b\"".to_owned(), "c".to_owned()];
        let live = LiveRun { cpu: 3, lost: 7, wakeup_granularity: Span(5) };
        for (policy, live) in [("bebs", None), ("cbs", Some(live))] {
            writer.begin(policy, &[0, 1], live, &tasks).unwrap();
            rows().iter().for_each(|row| writer.write(row).unwrap());
            writer.end(Time(30)).unwrap();
        }
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let runs = read_cpu_runs(&text).unwrap();
        let of = |policy: &str, live| CpuRunRecord {
            policy: policy.to_owned(),
            clusters: vec![0, 1],
            live,
            tasks: tasks.to_vec(),
            rows: rows(),
            end: Time(30),
        };
        assert_eq!(runs, [of("bebs", None), of("cbs", Some(live))]);
    }

    // Fails when a broken line is skipped, or a record that was cut off is taken for a whole one.
    #[test]
    fn broken_lines_are_errors() {
        let error = |text: &str| read_cpu_runs(text).unwrap_err().to_string();
        assert_eq!(error("laxity-cpu-run,2\n"), "line 1: expected laxity-cpu-run,1");
        let begun = "laxity-cpu-run,1\npolicy,bebs,0\ntask,0,a\n";
        assert_eq!(error(begun), "line 4: expected end of the run");
        let says = |line: &str| error(&format!("{begun}{line}\nend,9\n"));
        assert_eq!(says("slice,1,2,0,0"), "line 4: expected 6 fields");
        assert_eq!(says("slice,1,2,1,0,0.0"), "line 4: expected a CPU below 1");
        assert_eq!(says("slice,1,2,0,1,0.0"), "line 4: expected the number of a task above");
        assert_eq!(says("slice,2,1,0,0,0.0"), "line 4: expected an end at the begin or later");
        let server = "server,1,1,join,0,1048576,blocked,shared,0,0,0,,1,0,0,0,1,1";
        let most = "line 4: expected at most 1048576 places for servers in all clusters";
        assert_eq!(says(server), most);
        let elsewhere = server.replace(",0,1048576,", ",1,0,");
        assert_eq!(says(&elsewhere), "line 4: expected a cluster below 1");
        assert_eq!(says("task,2,b"), "line 4: expected task 1");
        assert_eq!(says("job,0,x,,1,ended"), "line 4: expected a whole number as the release");
        assert_eq!(says("job,0,1,,1,gone"), "line 4: expected one of ended unfinished");
        assert_eq!(says("live,0,0"), "line 4: expected 4 fields");
        assert_eq!(says("higher-class,2,1"), "line 4: expected an end at the begin or later");
        assert_eq!(says("policy,cbs,0"), "line 4: expected end of the run before");
        let clusters = error("laxity-cpu-run,1\npolicy,bebs,0,4294967295\nend,9\n");
        assert_eq!(clusters, "line 2: expected clusters below 2, the number of CPUs");
        let gap = error("laxity-cpu-run,1\npolicy,bebs,1,1\nend,9\n");
        assert_eq!(gap, "line 2: expected a CPU of cluster 0");
        let nobody = error("laxity-cpu-run,1\npolicy,bebs,0\nslice,1,2,0,0,0.0\nend,9\n");
        assert_eq!(nobody, "line 3: expected the number of a task above");
        let odd = error("laxity-cpu-run,1\nslice,1,2,0,0,0.0\n");
        assert_eq!(odd, "line 2: expected policy, which begins a run");
    }
}
