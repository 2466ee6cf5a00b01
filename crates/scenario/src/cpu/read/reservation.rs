//! Reservations: named ones, and those of single tasks.

use laxity_cpu::{LONGEST_PERIOD, Reservation};

use super::sections;
use crate::cpu::model::{NamedReservation, Reserved, TaskServer};
use crate::keys::nearest;
use crate::problem::Problems;
use crate::quantity::print_span;
use crate::read::flows;
use crate::read::walk::{Section, shown};

/// Keys in place of a reservation.
pub(crate) const NONE: &str = "none";

/// The reservations that have a name, and whether a task has named them.
pub(super) struct Names<'a> {
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    section: Section<'a>,
    /// Its index; tasks may refer to it even when it has other problems.
    name: Option<String>,
    reserved: Option<Reserved>,
    used: bool,
}

impl<'a> Names<'a> {
    /// Reads every `[[reservation]]`.
    pub(super) fn read(root: &Section<'a>, out: &mut Problems<'_>) -> Names<'a> {
        let mut names = flows::Names::of("reservation");
        let mut rows = Vec::new();
        for section in sections(root, "reservation", out).into_iter().flatten() {
            let name = names.claim(&section, out);
            if name.as_deref() == Some(NONE) {
                let what = "\"none\" means no reservation";
                section.wrong("name", out, what, "give it another name");
            }
            let reserved = own(&section, out);
            rows.push(Row { section, name, reserved, used: false });
        }
        Names { rows }
    }

    /// The reservation of a task or change.
    pub(super) fn server(
        &mut self,
        section: &Section<'_>,
        out: &mut Problems<'_>,
    ) -> Option<TaskServer> {
        let (_, value) = section.get("reservation")?;
        if !value.get_ref().is_str() {
            let (_, inner) = section.form("reservation", out)?;
            return own(&inner, out).map(TaskServer::Own);
        }
        let name = section.text("reservation", out)?;
        if name == NONE {
            return Some(TaskServer::BestEffort);
        }
        if let Some(place) = self.rows.iter().position(|r| r.name.as_deref() == Some(name)) {
            self.rows[place].used = true;
            return Some(TaskServer::Shared(place));
        }
        let known = || self.rows.iter().filter_map(|r| r.name.as_deref());
        let remedy = match nearest(name, known()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("add a section [[reservation]] with name = \"{}\"", shown(name)),
        };
        let what = format!("there is no reservation \"{}\"", shown(name));
        section.wrong("reservation", out, what, remedy);
        None
    }

    /// The reservation of an index, where it is valid.
    pub(super) fn reserved(&self, server: &TaskServer) -> Option<Reserved> {
        match server {
            TaskServer::Own(reserved) => Some(*reserved),
            TaskServer::Shared(place) => self.rows.get(*place)?.reserved,
            TaskServer::BestEffort | TaskServer::Group(_) => None,
        }
    }

    /// All of them; those that no task named are reported.
    pub(super) fn finish(self, out: &mut Problems<'_>) -> Vec<NamedReservation> {
        let mut done = Vec::new();
        for Row { section, name, reserved, used } in self.rows {
            let Some(name) = name else { continue };
            if !used {
                let what = format!("no task names the reservation \"{}\"", shown(&name));
                let path = section.key_path("name");
                let remedy = format!("write reservation = \"{}\" in a task", shown(&name));
                out.structure(section.span_of("name"), &path, what, remedy);
            }
            done.extend(reserved.map(|reserved| NamedReservation { name, reserved }));
        }
        done
    }
}

fn own(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Reserved> {
    let budget = section.positive_time("budget", out);
    let period = section.positive_time("period", out);
    let deadline = match section.has("deadline") {
        true => section.positive_time("deadline", out),
        false => period,
    };
    let hard = section.choice("kind", out) != Some(1);
    let reservation = Reservation { budget: budget?, period: period?, deadline: deadline? };
    if let Err(fault) = reservation.check() {
        use laxity_cpu::ReservationFault as Fault;
        let key = match fault {
            Fault::ZeroBudget | Fault::BudgetBeyondDeadline { .. } => "budget",
            Fault::ZeroPeriod | Fault::PeriodTooLong { .. } => "period",
            Fault::DeadlineBeyondPeriod { .. } => "deadline",
        };
        if let Fault::PeriodTooLong { period } = fault {
            let what = format!("a period of {} is too long", print_span(period));
            section.wrong(key, out, what, format!("give at most {}", print_span(LONGEST_PERIOD)));
            return None;
        }
        let text = fault.to_string();
        let (what, remedy) = text.split_once(": ").unwrap_or((&text, ""));
        section.wrong(key, out, what, remedy);
        return None;
    }
    Some(Reserved { reservation, hard })
}
