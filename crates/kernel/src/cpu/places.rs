//! The order of CPUs in which those that share a NUMA node, a cache and a core are next to each other
//! (`bpf/include/laxity/nearness.h`).

use crate::layout::cpu::{LX_LEVELS, lx_place};

/// Levels of sharing: the CPU itself, core, cache, node, machine.
const LEVELS: usize = LX_LEVELS as usize;

/// Core, cache and NUMA node of a CPU, each by a number of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuLocation {
    /// The NUMA node.
    pub node: u32,
    /// The last cache.
    pub cache: u32,
    /// The core.
    pub core: u32,
}

/// The `struct lx_place` of each CPU, given the location of each. CPUs of several nodes that share a cache
/// count as if they did not.
pub fn places(locations: &[CpuLocation]) -> Vec<[u8; lx_place::SIZEOF]> {
    let mut order: Vec<usize> = (0..locations.len()).collect();
    order.sort_by_key(|cpu| (locations[*cpu], *cpu));
    let key = |cpu: usize| locations[cpu];
    let shares = |a: usize, b: usize, level: usize| match level {
        0 => a == b,
        1 => key(a) == key(b),
        2 => (key(a).node, key(a).cache) == (key(b).node, key(b).cache),
        3 => key(a).node == key(b).node,
        _ => true,
    };
    let mut place_of = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, cpu)| place_of[*cpu] = place);
    let describe = |cpu: usize| {
        let mut place = [0; lx_place::SIZEOF];
        lx_place::CPU.set_u32(&mut place, order[cpu] as u32);
        let (mut first, mut end) = (place_of[cpu], place_of[cpu] + 1);
        for level in 0..LEVELS {
            while first > 0 && shares(cpu, order[first - 1], level) {
                first -= 1;
            }
            while end < order.len() && shares(cpu, order[end], level) {
                end += 1;
            }
            for (field, value) in [(lx_place::FIRST, first), (lx_place::END, end)] {
                let bytes = &mut field.of_mut(&mut place)[level * 4..][..4];
                bytes.copy_from_slice(&(value as u32).to_ne_bytes());
            }
        }
        place
    };
    (0..locations.len()).map(describe).collect()
}
