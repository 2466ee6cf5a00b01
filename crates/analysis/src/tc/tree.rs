//! The tree of disciplines from the root down: which service each class has.

use std::collections::BTreeMap;

use laxity_curve::{Curve, CurveError, Rational};
use laxity_tc::{Class, ClassOptions, Config, Handle, HtbClass, Qdisc, QdiscOptions};

use super::service::{Device, Offered, Reason, Service};
use super::{bands, gates, hfsc, htb, shaper};

/// Most levels of disciplines that are followed.
const MAX_DEPTH: usize = 16;

/// A class, or a discipline without classes, with its service.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its handle.
    pub handle: Handle,
    /// The kind of its discipline.
    pub kind: String,
    /// Its service.
    pub service: Offered,
    /// Why packets of the class have no bound on their delay although it has a rate.
    pub order: Option<Reason>,
    /// Whether packets queue here, not in a discipline below.
    pub leaf: bool,
}

/// Computes the services of a configuration. `envelopes` bound the traffic of classes where it is known.
pub struct Walk<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The device.
    pub device: &'a Device,
    /// Bounds of the traffic of classes.
    pub envelopes: &'a BTreeMap<Handle, Curve>,
    /// The result.
    pub nodes: Vec<Node>,
    /// The link that each discipline sees: rate in bit/s and latency in ns.
    pub links: BTreeMap<Handle, (Rational, Rational)>,
}

impl Walk<'_> {
    /// Walks from the root.
    pub fn run(&mut self) -> Result<(), CurveError> {
        if let Some(root) = self.config.qdiscs.iter().find(|q| q.parent.is_none()) {
            self.qdisc(root, &Ok(Service::of_device(self.device)), 0)?;
        }
        Ok(())
    }

    fn qdisc(&mut self, q: &Qdisc, offered: &Offered, depth: usize) -> Result<(), CurveError> {
        let kind = q.options.kind();
        if depth > MAX_DEPTH {
            self.push(q.handle, kind, Err(Reason::NotAnalysed("deeper levels".into())), None, true);
            return Ok(());
        }
        let service = match offered {
            Ok(service) => service,
            Err(reason) => {
                for handle in self.handles(q) {
                    self.push(handle, kind, Err(reason.clone()), None, true);
                }
                return Ok(());
            }
        };
        // A size table counts packets for all disciplines below; L is a size at the first that queues.
        let below_queues = q.parent.is_none_or(|p| self.is_mqprio(p));
        if q.size_table.is_some_and(|table| table.cells || !below_queues) {
            for handle in self.handles(q) {
                self.push(handle, kind, Err(Reason::SizeTable), None, true);
            }
            return Ok(());
        }
        if let Some(link) = service.link {
            self.links.insert(q.handle, link);
        }
        match &q.options {
            QdiscOptions::Hfsc { .. } => self.hfsc(q, service, depth),
            QdiscOptions::Htb { default, .. } => self.htb(q, *default, service, depth),
            QdiscOptions::Prio { bands, .. } => {
                let bands: Vec<_> = (1..=*bands as u16).map(|b| q.handle.class(b)).collect();
                self.strict(q, &bands, service, depth).map(|_| ())
            }
            QdiscOptions::Ets { bands, strict, quanta, .. } => {
                let all: Vec<_> = (1..=*bands as u16).map(|b| q.handle.class(b)).collect();
                let (first, rest) = all.split_at(*strict as usize);
                let left = match self.strict(q, first, service, depth)? {
                    above if above.is_empty() => Ok(service.clone()),
                    above => bands::strict(&above, service, self.device)?,
                };
                for (handle, quantum) in rest.iter().zip(quanta) {
                    let own = match &left {
                        Ok(left) => bands::round_robin(*quantum, quanta, left, self.device)?,
                        Err(reason) => Err(reason.clone()),
                    };
                    self.class(*handle, kind, own, true, depth)?;
                }
                Ok(())
            }
            QdiscOptions::Drr => {
                let classes: Vec<_> = self.classes(q).filter_map(quantum).collect();
                let quanta: Vec<_> = classes.iter().map(|(_, q)| *q).collect();
                for (handle, quantum) in classes {
                    let own = bands::round_robin(quantum, &quanta, service, self.device)?;
                    self.class(handle, kind, own, true, depth)?;
                }
                Ok(())
            }
            QdiscOptions::Tbf(tbf) => {
                let own = shaper::tbf(tbf, service, self.device)?;
                self.class(q.handle.class(1), kind, own, true, depth)
            }
            QdiscOptions::Cbs { idle, send, hicredit, offload } => {
                let slopes = (*idle, *send, *hicredit);
                let own = shaper::cbs(slopes, *offload, service, self.device)?;
                self.class(q.handle.class(1), kind, own, false, depth)
            }
            QdiscOptions::Taprio { queues, gates, cycle, flags } => {
                for (class, (first, count)) in queues.iter().enumerate() {
                    let own = match (flags & 1, service.link) {
                        _ if *count != 1 => Err(Reason::SeveralQueues),
                        (0, Some(link)) => {
                            gates::traffic_class(class, gates, *cycle, link, self.device)?
                        }
                        (0, None) => Err(Reason::NeedsConstantRate("taprio".into())),
                        _ => Err(Reason::TxTimeAssist),
                    };
                    for queue in *first..first.saturating_add((*count).min(64)) {
                        let minor = u16::try_from(queue + 1).unwrap_or(u16::MAX);
                        self.class(q.handle.class(minor), kind, own.clone(), false, depth)?;
                    }
                }
                Ok(())
            }
            QdiscOptions::Mqprio { queues } => self.mqprio(q, queues, service, depth),
            QdiscOptions::Fifo(_) | QdiscOptions::Noqueue => {
                self.push(q.handle, kind, Ok(service.clone()), None, true);
                Ok(())
            }
            other => {
                let reason = order(other).unwrap_or(Reason::NotAnalysed(kind.to_owned()));
                self.push(q.handle, kind, Err(reason), None, true);
                Ok(())
            }
        }
    }

    fn hfsc(&mut self, q: &Qdisc, service: &Service, depth: usize) -> Result<(), CurveError> {
        let classes: Vec<Class> = self.classes(q).cloned().collect();
        let leaves = classes.iter().filter(|c| !c.inner);
        let curves: Vec<_> = leaves
            .filter_map(|c| match c.options {
                ClassOptions::Hfsc { rt, .. } => rt,
                _ => None,
            })
            .collect();
        for class in classes.iter().filter(|c| c.handle.minor != 0) {
            let rt = match class.options {
                ClassOptions::Hfsc { rt, .. } => rt,
                _ => None,
            };
            if class.inner {
                self.push(class.handle, "hfsc", Err(Reason::Inner), None, false);
                continue;
            }
            let own = match service.link {
                Some(link) => hfsc::leaf(rt, &curves, link, self.device)?,
                None => Err(Reason::NeedsConstantRate("hfsc".into())),
            };
            self.class(class.handle, "hfsc", own, false, depth)?;
        }
        Ok(())
    }

    fn htb(
        &mut self,
        q: &Qdisc,
        default: u16,
        service: &Service,
        depth: usize,
    ) -> Result<(), CurveError> {
        let classes: Vec<Class> = self.classes(q).cloned().collect();
        let leaf = |c: &&Class| !c.inner;
        let leaves: Vec<(Handle, HtbClass)> = classes
            .iter()
            .filter(leaf)
            .filter_map(|c| match c.options {
                ClassOptions::Htb(htb) => Some((c.handle, htb)),
                _ => None,
            })
            .collect();
        let direct = direct_packets(self.config, q, default);
        for class in &classes {
            let Some((_, own)) = leaves.iter().find(|(h, _)| *h == class.handle) else {
                self.push(class.handle, "htb", Err(Reason::Inner), None, false);
                continue;
            };
            let prio = |c: &HtbClass| c.prio.unwrap_or(0);
            let ahead = leaves.iter().filter(|(h, c)| *h != class.handle && prio(c) <= prio(own));
            let ahead: Vec<_> = ahead.map(|(_, c)| *c).collect();
            let service = match (direct, service.link) {
                (true, _) => Err(Reason::DirectPackets),
                (false, Some(link)) => htb::leaf(own, &ahead, link, self.device)?,
                (false, None) => Err(Reason::NeedsConstantRate("htb".into())),
            };
            self.class(class.handle, "htb", service, true, depth)?;
        }
        Ok(())
    }

    /// Strict bands; what bounds the traffic of each.
    fn strict(
        &mut self,
        q: &Qdisc,
        handles: &[Handle],
        service: &Service,
        depth: usize,
    ) -> Result<Vec<Result<Curve, String>>, CurveError> {
        let mut above: Vec<Result<Curve, String>> = Vec::new();
        for handle in handles {
            let own = bands::strict(&above, service, self.device)?;
            self.class(*handle, q.options.kind(), own, true, depth)?;
            above.push(self.bound(*handle)?.ok_or_else(|| handle.to_string()));
        }
        Ok(above)
    }

    /// Bound of the traffic of a band: its flows, and the buckets of a TBF below.
    fn bound(&self, handle: Handle) -> Result<Option<Curve>, CurveError> {
        let shaped = self.config.qdiscs.iter().find_map(|q| match &q.options {
            QdiscOptions::Tbf(tbf) if q.parent == Some(handle) && tbf.overhead >= 0 => Some(tbf),
            _ => None,
        });
        let shaped = shaped.map(shaper::buckets).transpose()?;
        Ok(match (self.envelopes.get(&handle), shaped) {
            (Some(flows), Some(buckets)) => Some(flows.min(&buckets)?),
            (Some(flows), None) => Some(flows.clone()),
            (None, shaped) => shaped,
        })
    }

    fn mqprio(
        &mut self,
        q: &Qdisc,
        queues: &[(u64, u64)],
        service: &Service,
        depth: usize,
    ) -> Result<(), CurveError> {
        let mut above: Vec<Result<Curve, String>> = Vec::new();
        for (first, count) in queues {
            for queue in *first..first.saturating_add((*count).min(64)) {
                let handle = q.handle.class(u16::try_from(queue + 1).unwrap_or(u16::MAX));
                let child = self.child(handle).cloned();
                let shaped = match child.as_ref().map(|c| &c.options) {
                    Some(QdiscOptions::Cbs { idle, hicredit, .. }) => {
                        Ok(shaper::credit_bounded((*idle, *hicredit), self.device)?)
                    }
                    _ => Err(handle.to_string()),
                };
                match child {
                    Some(child) if shaped.is_ok() => {
                        // The device serves its queues in their order.
                        let own = match above.is_empty() {
                            true => Ok(service.clone()),
                            false => bands::strict(&above, service, self.device)?,
                        };
                        self.qdisc(&child, &own, depth + 1)?;
                    }
                    Some(child) if matches!(child.options, QdiscOptions::Etf) => {
                        self.push(handle, "mqprio", Err(Reason::DropsLate), None, true);
                    }
                    _ => self.push(handle, "mqprio", Err(Reason::Driver), None, true),
                }
                above.push(shaped);
            }
        }
        Ok(())
    }

    /// A class and the discipline below it. `strict`: whether that one may count on the curve.
    fn class(
        &mut self,
        handle: Handle,
        kind: &str,
        own: Offered,
        strict: bool,
        depth: usize,
    ) -> Result<(), CurveError> {
        let Some(child) = self.child(handle).cloned() else {
            self.push(handle, kind, own, None, true);
            return Ok(());
        };
        match &child.options {
            QdiscOptions::Fifo(_) | QdiscOptions::Noqueue => {
                self.push(handle, kind, own, None, true);
                Ok(())
            }
            // The kernel gives no handle to what it attaches itself, which is never classful.
            other if child.handle.major == 0 && order(other).is_none() => {
                let reason = Reason::NotAnalysed(other.kind().to_owned());
                self.push(handle, kind, own, Some(reason), true);
                Ok(())
            }
            options => match order(options) {
                Some(reason) => {
                    self.push(handle, kind, own, Some(reason), true);
                    Ok(())
                }
                None => {
                    let below = match (strict, &own) {
                        (false, Ok(_)) => Err(Reason::Parent),
                        (true, Ok(service)) => Ok(service.below()?),
                        (_, Err(reason)) => Err(reason.clone()),
                    };
                    self.push(handle, kind, own, None, false);
                    self.qdisc(&child, &below, depth + 1)
                }
            },
        }
    }

    fn push(
        &mut self,
        handle: Handle,
        kind: &str,
        service: Offered,
        order: Option<Reason>,
        leaf: bool,
    ) {
        self.nodes.push(Node { handle, kind: kind.to_owned(), service, order, leaf });
    }

    /// The discipline attached to a class. Those with one class are parents as a whole.
    fn child(&self, handle: Handle) -> Option<&Qdisc> {
        let whole = (handle.minor == 1).then(|| handle.qdisc());
        let single = self.config.qdiscs.iter().any(|q| {
            Some(q.handle) == whole
                && matches!(q.options, QdiscOptions::Tbf(_) | QdiscOptions::Cbs { .. })
        });
        self.config
            .qdiscs
            .iter()
            .find(|q| q.parent == Some(handle) || (single && q.parent == whole))
    }

    /// Whether a class is a queue of the device.
    fn is_mqprio(&self, class: Handle) -> bool {
        let of = |q: &&Qdisc| q.handle == class.qdisc();
        let parent = self.config.qdiscs.iter().find(of);
        parent.is_some_and(|q| matches!(q.options, QdiscOptions::Mqprio { .. }))
    }

    fn classes(&self, q: &Qdisc) -> impl Iterator<Item = &Class> {
        let major = q.handle.major;
        self.config.classes.iter().filter(move |c| c.handle.major == major)
    }

    fn handles(&self, q: &Qdisc) -> Vec<Handle> {
        let all: Vec<_> = self.classes(q).map(|c| c.handle).filter(|h| h.minor != 0).collect();
        if all.is_empty() { vec![q.handle] } else { all }
    }
}

fn quantum(class: &Class) -> Option<(Handle, u64)> {
    match class.options {
        ClassOptions::Drr { quantum } => Some((class.handle, quantum)),
        _ => None,
    }
}

/// Why packets in a queue of a kind have no bound, whatever its rate; `None` for other kinds.
fn order(options: &QdiscOptions) -> Option<Reason> {
    Some(match options {
        QdiscOptions::Fq => Reason::UnboundedFlows,
        QdiscOptions::FqCodel | QdiscOptions::Cake { .. } => {
            Reason::DropsByDesign(options.kind().to_owned())
        }
        QdiscOptions::Etf => Reason::DropsLate,
        QdiscOptions::Qfq | QdiscOptions::PfifoFast | QdiscOptions::Other(_) => {
            Reason::NotAnalysed(options.kind().to_owned())
        }
        _ => return None,
    })
}

/// Whether unclassified packets can reach HTB: no leaf is the default, and no filter takes all.
pub fn direct_packets(config: &Config, q: &Qdisc, default: u16) -> bool {
    let leaf = |handle: Handle| config.classes.iter().any(|c| c.handle == handle && !c.inner);
    let caught = config.filters.iter().any(|f| f.kind == "matchall" && leaf(f.class));
    !(caught || (default != 0 && leaf(q.handle.class(default))))
}
