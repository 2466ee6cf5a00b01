//! The tree as a configuration, as commands of `tc` and as a model.

use std::collections::BTreeMap;

use laxity_core::{Bytes, Span};
use laxity_curve::Rational;
use laxity_link::config::Aqm;
use laxity_scenario::link::Scenario;
use laxity_sim::link::disciplines::{self, CbsClass, Discipline, HfscClass, LeafQueue, Tree};
use laxity_tc::{
    Class, ClassOptions, Config, Handle, HtbClass, Limit, Place, Qdisc, QdiscOptions, SizeTable,
    Tbf, TwoPiece,
};

use super::cbs::{Group, Slopes};
use super::htb::Leaf;
use super::{Device, PlanError, PlanRequest, RealTime, filters, grain, room, shares};

/// The first number of a leaf class.
const FIRST: u16 = 0x10;

/// What waits in a best-effort class without limits of its own.
const BUFFER: u64 = 512 * 1024;

/// A tree that is complete.
pub struct Finished {
    pub config: Config,
    /// The class of each flow.
    pub classes: BTreeMap<String, Handle>,
    pub commands: Vec<String>,
    /// Bit/s reserved for real time.
    pub reserved: u64,
    pub model: Tree,
}

/// A tree in the making.
pub struct Assembly<'a> {
    scenario: &'a Scenario,
    device: &'a Device,
    name: &'a str,
    config: Config,
    classes: BTreeMap<String, Handle>,
    commands: Vec<String>,
    /// The discipline at the root of the tree, below the shaper.
    tree: Handle,
    reserved: u64,
    /// How filters name the target of a flow, where not by its class.
    targets: BTreeMap<String, String>,
    /// What filters are attached to.
    filter_parent: String,
    /// The model's discipline, and its queues in the order of the leaf classes.
    discipline: Discipline,
    queues: Vec<LeafQueue>,
    /// The leaf class of each flow in the model.
    leaf_of: BTreeMap<String, usize>,
}

fn slopes(c: &TwoPiece) -> disciplines::Slopes {
    disciplines::Slopes { m1: c.m1, d: c.d, m2: c.m2 }
}

fn place() -> Place {
    Place { input: "plan".to_owned(), line: 1 }
}

fn handle(major: u16, minor: u16) -> Handle {
    Handle { major, minor }
}

fn curve(c: &TwoPiece) -> String {
    format!("m1 {}bit d {}us m2 {}bit", c.m1, c.d / 1000, c.m2)
}

impl<'a> Assembly<'a> {
    pub fn new(
        scenario: &'a Scenario,
        request: &'a PlanRequest,
        device: &'a Device,
    ) -> Assembly<'a> {
        let mut assembly = Assembly {
            scenario,
            device,
            name: request.device,
            config: Config { device: Some(request.device.to_owned()), ..Config::default() },
            classes: BTreeMap::new(),
            commands: Vec::new(),
            tree: handle(1, 0),
            reserved: 0,
            targets: BTreeMap::new(),
            filter_parent: String::new(),
            discipline: Discipline::Hfsc(Vec::new()),
            queues: Vec::new(),
            leaf_of: BTreeMap::new(),
        };
        if request.shape {
            assembly.shaper();
        }
        assembly
    }

    fn shaper(&mut self) {
        let rate = grain::rate_down(self.device.rate.0.into());
        let burst = grain::burst_up(self.device.max_packet.0, rate);
        let tbf = Tbf { rate, burst, peak: None, overhead: 0, mpu: 0 };
        let text = format!("tbf rate {rate}bit burst {burst}b limit {BUFFER}b");
        self.qdisc(handle(1, 0), None, QdiscOptions::Tbf(tbf), &text);
        self.class(handle(1, 1), None, "tbf", ClassOptions::Plain);
        self.tree = handle(2, 0);
    }

    /// Adds a discipline; the first has the size table.
    fn qdisc(&mut self, own: Handle, parent: Option<Handle>, options: QdiscOptions, text: &str) {
        let mqprio = matches!(options, QdiscOptions::Mqprio { .. });
        let cbs = matches!(options, QdiscOptions::Cbs { .. });
        let table = if (parent.is_none() && !mqprio) || cbs { self.size_table() } else { None };
        let stab = table.as_ref().map(|t| stab(t, self.device.max_packet)).unwrap_or_default();
        let at = parent.map_or_else(|| "root".to_owned(), |p| format!("parent {p}"));
        let command = format!("tc qdisc add dev {} {at} handle {own} {stab}{text}", self.name);
        self.commands.push(command);
        let size_table = table;
        let qdisc = Qdisc { handle: own, parent, options, size_table, drops: 0, place: place() };
        self.config.qdiscs.push(qdisc);
    }

    fn size_table(&self) -> Option<SizeTable> {
        let wire = self.scenario.link.wire();
        (wire.overhead > 0 || wire.min_frame > 0).then(|| SizeTable {
            overhead: wire.overhead.into(),
            mpu: wire.min_frame.into(),
            cells: false,
        })
    }

    fn class(&mut self, own: Handle, parent: Option<Handle>, kind: &str, options: ClassOptions) {
        let class = Class {
            kind: kind.to_owned(),
            handle: own,
            parent,
            options,
            inner: false,
            place: place(),
        };
        self.config.classes.push(class);
    }

    /// The discipline of the tree, below the shaper if there is one.
    fn root(&mut self, options: QdiscOptions, text: &str) {
        let parent = (self.tree.major == 2).then(|| handle(1, 1));
        self.qdisc(self.tree, parent, options, text);
        self.filter_parent = format!("parent {}", self.tree);
    }

    fn leaf(&self, index: usize) -> Handle {
        self.tree.class(FIRST + index as u16)
    }

    /// The class of the last best-effort class, which is `other`.
    fn default_minor(&self) -> u16 {
        self.leaf(self.scenario.flow_count() - 1).minor
    }

    /// HFSC: a root class, real-time leaves, best effort by weight.
    pub fn hfsc(&mut self, curves: &[TwoPiece], flows: &[RealTime]) -> Result<(), PlanError> {
        let default = self.default_minor();
        self.root(QdiscOptions::Hfsc { default }, &format!("hfsc default {default:x}"));
        let top = self.tree.class(1);
        let whole = TwoPiece { m1: 0, d: 0, m2: self.device.rate.0 };
        self.hfsc_class(top, self.tree, None, whole);
        let mut model = Vec::with_capacity(self.scenario.flow_count());
        let rates = flows.iter().try_fold(Rational::ZERO, |sum, f| sum.plus(f.arrivals.rate()))?;
        for (i, rt) in curves.iter().enumerate() {
            self.reserved = self.reserved.saturating_add(rt.m1.max(rt.m2));
            let ls = self.sharing_beside_real_time(&flows[i], rates)?;
            self.hfsc_class(self.leaf(i), top, Some(*rt), ls);
            model.push(HfscClass { rt: Some(slopes(rt)), ls: Some(slopes(&ls)) });
            self.real_time_queue(i, &flows[i])?;
        }
        let from = curves.len();
        for (i, share) in shares(self.scenario)?.into_iter().enumerate() {
            let m2 = grain::rate_down(share.times(self.device.rate.0.into())?).max(8);
            // A class that comes back sends its first packets at up to four times its share.
            let m1 = grain::rate_down(self.device.rate.0.min(m2.saturating_mul(4)).into());
            let four = self.device.packet().times(Rational::whole(4))?;
            let d = grain::time_up(four.over(m1.into())?);
            let steep = m1 > m2 && d / 1000 <= u64::from(u32::MAX);
            let ls = if steep { TwoPiece { m1, d, m2 } } else { TwoPiece { m1: 0, d: 0, m2 } };
            self.hfsc_class(self.leaf(from + i), top, None, ls);
            model.push(HfscClass { rt: None, ls: Some(slopes(&ls)) });
            self.best_effort_queue(i, self.leaf(from + i))?;
        }
        self.discipline = Discipline::Hfsc(model);
        Ok(())
    }

    /// The share of a real-time leaf in what is left. What it gets by its real-time curve counts as well, and a leaf
    /// whose virtual time runs ahead of best effort's puts classes that come back behind all that wait: the
    /// virtual time of a new one is midway between the least and the greatest. So a burst costs no more virtual time
    /// than it takes on the link, and the rate no more than best effort's.
    fn sharing_beside_real_time(
        &self,
        flow: &RealTime,
        rates: Rational,
    ) -> Result<TwoPiece, PlanError> {
        let link = Rational::from(self.device.rate.0);
        let left = link.minus(rates)?.greatest(link.over(Rational::whole(100))?);
        let m2 = grain::rate_up(flow.arrivals.rate().times(link)?.over(left)?);
        let m2 = m2.clamp(8, self.device.rate.0);
        let burst = flow.arrivals.corners()?.into_iter().map(|c| c.1).max();
        let d = grain::time_up(burst.unwrap_or(Rational::ZERO).over(link)?);
        let steep = m2 < self.device.rate.0 && d / 1000 <= u64::from(u32::MAX);
        let m1 = grain::rate_down(link);
        Ok(if steep { TwoPiece { m1, d, m2 } } else { TwoPiece { m1: 0, d: 0, m2 } })
    }

    fn hfsc_class(&mut self, own: Handle, parent: Handle, rt: Option<TwoPiece>, ls: TwoPiece) {
        let real = rt.map(|c| format!("rt {} ", curve(&c))).unwrap_or_default();
        let share = format!("ls {}", curve(&ls));
        self.add_class(own, parent, &format!("hfsc {real}{share}"));
        let above = (parent.minor != 0).then_some(parent);
        self.class(own, above, "hfsc", ClassOptions::Hfsc { rt, ls: Some(ls), ul: None });
    }

    /// HTB: real-time leaves held to their rates, best effort borrowing what is left.
    pub fn htb(
        &mut self,
        leaves: &[Leaf],
        rest: &[Leaf],
        flows: &[RealTime],
    ) -> Result<(), PlanError> {
        let default = self.default_minor();
        let options = QdiscOptions::Htb { default, direct_packets: 0 };
        self.root(options, &format!("htb default {default:x}"));
        let top = self.tree.class(1);
        let rate = grain::rate_down(self.device.rate.0.into());
        let burst = grain::burst_up(self.device.max_packet.0.max(rate / 8000), rate);
        self.htb_class(top, self.tree, None, (rate, rate, burst), None);
        let largest = self.device.max_packet.0;
        let bytes = |rounds: u32| largest.saturating_mul(rounds.into()).min(200_000) as u32;
        let mut model = Vec::with_capacity(self.scenario.flow_count());
        let mut add = |leaf: &Leaf, ceil, quantum| {
            let Leaf { prio, rate, burst } = *leaf;
            model.push(disciplines::HtbClass { prio, rate, ceil, burst, quantum });
            Some(quantum)
        };
        for (i, leaf) in leaves.iter().enumerate() {
            self.reserved = self.reserved.saturating_add(leaf.rate);
            let shape = (leaf.rate, leaf.rate, leaf.burst);
            let quantum = add(leaf, leaf.rate, bytes(1));
            self.htb_class(self.leaf(i), top, Some(leaf.prio), shape, quantum);
            self.real_time_queue(i, &flows[i])?;
        }
        let least = self.scenario.best_effort.iter().map(|c| c.weight.0).min().unwrap_or(1).max(1);
        for (i, leaf) in rest.iter().enumerate() {
            let own = self.leaf(leaves.len() + i);
            let rounds = (self.scenario.best_effort[i].weight.0 / least).clamp(1, 64);
            let shape = (leaf.rate, rate, leaf.burst);
            let quantum = add(leaf, rate, bytes(rounds));
            self.htb_class(own, top, Some(leaf.prio), shape, quantum);
            self.best_effort_queue(i, own)?;
        }
        self.discipline = Discipline::Htb(model);
        Ok(())
    }

    fn htb_class(
        &mut self,
        own: Handle,
        parent: Handle,
        prio: Option<u64>,
        (rate, ceil, burst): (u64, u64, u64),
        quantum: Option<u32>,
    ) {
        let order = prio.map(|p| format!("prio {p} ")).unwrap_or_default();
        let quantum = quantum.map(|q| format!(" quantum {q}")).unwrap_or_default();
        let text = format!(
            "htb {order}rate {rate}bit ceil {ceil}bit burst {burst}b cburst {burst}b{quantum}"
        );
        self.add_class(own, parent, &text);
        let above = (parent.minor != 0).then_some(parent);
        let class =
            HtbClass { prio, rate, ceil, burst, cburst: burst, overhead: 0, mpu: 0, cells: false };
        self.class(own, above, "htb", ClassOptions::Htb(class));
    }

    /// CBS: a queue of the device for each group, the last for best effort.
    pub fn cbs(&mut self, groups: &[Group], slopes: &[Slopes]) -> Result<(), PlanError> {
        let queues = groups.len() + 1;
        let rest = groups.len();
        let map: Vec<String> = (0..16usize)
            .map(|priority| match priority {
                3 => 0,
                2 if rest > 1 => 1,
                _ => rest,
            })
            .map(|class: usize| class.to_string())
            .collect();
        let each: Vec<String> = (0..queues).map(|q| format!("1@{q}")).collect();
        let text =
            format!("mqprio num_tc {queues} map {} queues {} hw 0", map.join(" "), each.join(" "));
        let options = QdiscOptions::Mqprio { queues: (0..queues as u64).map(|q| (q, 1)).collect() };
        self.root(options, &text);
        for queue in 0..queues {
            self.class(self.tree.class(queue as u16 + 1), None, "mqprio", ClassOptions::Plain);
        }
        let mut model = Vec::with_capacity(queues);
        for (i, (group, s)) in groups.iter().zip(slopes).enumerate() {
            model.push(Some(CbsClass {
                idle: s.idle.unsigned_abs(),
                hicredit: s.hicredit.unsigned_abs(),
                locredit: s.locredit,
            }));
            self.queues.push(LeafQueue::Fifo { limit: room(&group.flow, self.device.packet())?.0 });
            let own = handle(FIRST + i as u16, 0);
            let (idle, send) = (s.idle / 1000, s.send / 1000);
            let text = format!(
                "cbs idleslope {idle} sendslope {send} hicredit {} locredit {} offload 0",
                s.hicredit, s.locredit
            );
            let options = QdiscOptions::Cbs {
                idle: s.idle,
                send: s.send,
                hicredit: s.hicredit,
                offload: false,
            };
            self.qdisc(own, Some(self.tree.class(i as u16 + 1)), options, &text);
            self.class(own.class(1), None, "cbs", ClassOptions::Plain);
            self.reserved = self.reserved.saturating_add(s.idle.unsigned_abs());
            let limit = room(&group.flow, self.device.packet())?;
            let queue = handle(0x20 + i as u16, 0);
            self.qdisc(queue, Some(own), fifo(limit), &format!("bfifo limit {}", limit.0));
            for name in &group.members {
                self.classes.insert(name.clone(), own.class(1));
                self.leaf_of.insert(name.clone(), i);
                self.targets.insert(name.clone(), format!("action skbedit priority {}", 3 - i));
            }
        }
        let last = self.tree.class(queues as u16);
        let (text, queue) = self.fq_codel();
        self.qdisc(handle(0x30, 0), Some(last), QdiscOptions::FqCodel, &text);
        model.push(None);
        self.queues.push(queue);
        self.discipline = Discipline::Cbs(model);
        for class in &self.scenario.best_effort {
            self.classes.insert(class.name.clone(), last);
            self.leaf_of.insert(class.name.clone(), rest);
            self.targets.insert(class.name.clone(), "action skbedit priority 0".to_owned());
        }
        self.commands.push(format!("tc qdisc add dev {} clsact", self.name));
        self.filter_parent = "egress".to_owned();
        Ok(())
    }

    fn add_class(&mut self, own: Handle, parent: Handle, text: &str) {
        let command =
            format!("tc class add dev {} parent {parent} classid {own} {text}", self.name);
        self.commands.push(command);
    }

    /// A FIFO that holds what may wait of a flow that keeps its envelope.
    fn real_time_queue(&mut self, index: usize, flow: &RealTime) -> Result<(), PlanError> {
        let class = self.leaf(index);
        self.classes.insert(flow.name.clone(), class);
        let limit = room(flow, self.device.packet())?;
        self.leaf_of.insert(flow.name.clone(), index);
        self.queues.push(LeafQueue::Fifo { limit: limit.0 });
        let text = format!("bfifo limit {}", limit.0);
        self.qdisc(handle(class.minor, 0), Some(class), fifo(limit), &text);
        Ok(())
    }

    fn fq_codel(&self) -> (String, LeafQueue) {
        // RFC 8290, 5.2.1: the target is at least the time of a packet.
        let packet = self.device.max_packet.0.saturating_mul(8_000_000) / self.device.rate.0.max(1);
        let target = (packet * 3 / 2).max(5000);
        let interval = target.saturating_mul(20);
        let quantum = self.device.max_packet.0;
        let text = format!(
            "fq_codel limit 10240 quantum {quantum} target {target}us interval {interval}us ecn"
        );
        let span = |us: u64| Span(us.saturating_mul(1000));
        (text, LeafQueue::FqCodel { target: span(target), interval: span(interval) })
    }

    fn best_effort_queue(&mut self, index: usize, class: Handle) -> Result<(), PlanError> {
        let own = &self.scenario.best_effort[index];
        self.classes.insert(own.name.clone(), class);
        let queue = handle(class.minor, 0);
        self.leaf_of.insert(own.name.clone(), self.scenario.realtime.len() + index);
        if own.flows.is_some() || own.aqm != Aqm::None {
            let (text, model) = self.fq_codel();
            self.queues.push(model);
            self.qdisc(queue, Some(class), QdiscOptions::FqCodel, &text);
            return Ok(());
        }
        let of_link = self.scenario.link.buffer.map(|b| b.best_effort);
        let bytes = own.buffer.or(of_link).unwrap_or(Bytes(BUFFER));
        let limit = Bytes(grain::size_up(bytes.0.clamp(1, u32::MAX.into())));
        self.queues.push(LeafQueue::Fifo { limit: limit.0 });
        self.qdisc(queue, Some(class), fifo(limit), &format!("bfifo limit {}", limit.0));
        Ok(())
    }

    /// Adds the filters, in the order in which flows are matched.
    pub fn finish(mut self) -> Result<Finished, PlanError> {
        let parents: Vec<Handle> = self.config.classes.iter().filter_map(|c| c.parent).collect();
        for class in &mut self.config.classes {
            class.inner = parents.contains(&class.handle);
        }
        let realtime = self.scenario.realtime.iter().map(|f| (&f.name, &f.matches));
        let rest = self.scenario.best_effort.iter().map(|c| (&c.name, &c.matches));
        let mut number = 0;
        for (name, selection) in realtime.chain(rest) {
            let Some(selection) = selection else { continue };
            let target = match self.targets.get(name) {
                Some(target) => target.clone(),
                None => self.classes.get(name).map(|h| format!("classid {h}")).unwrap_or_default(),
            };
            for (protocol, text) in filters::selections(name, selection)? {
                number += 1;
                self.commands.push(format!(
                    "tc filter add dev {} {} protocol {protocol} pref {number} {text} {target}",
                    self.name, self.filter_parent
                ));
            }
        }
        let classes = self.scenario.flow_names().map(|name| self.leaf_of[name]).collect();
        Ok(Finished {
            config: self.config,
            classes: self.classes,
            commands: self.commands,
            reserved: self.reserved,
            model: Tree { classes, queues: self.queues, discipline: self.discipline },
        })
    }
}

fn fifo(limit: Bytes) -> QdiscOptions {
    QdiscOptions::Fifo(Limit::Bytes(limit.0))
}

/// The size table as options. With a smallest packet it has an entry a byte, so that no size is rounded.
fn stab(table: &SizeTable, largest: Bytes) -> String {
    let entries = largest.0.saturating_add(1).next_power_of_two().clamp(2048, 16384);
    let minimum = match table.mpu {
        0 => String::new(),
        mpu => format!(" mpu {mpu} mtu {} tsize {entries}", entries - 1),
    };
    format!("stab overhead {}{minimum} linklayer ethernet ", table.overhead)
}
