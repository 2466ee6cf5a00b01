//! Whether the shares of all servers fit the CPUs at every instant.

use std::collections::BTreeMap;

use super::promise::{CPU, Share, WORK};

/// Shorter steps, in ns, separate instants that differ by rounding only.
const SHORTEST: u64 = 200;

/// The first instant at which the shares do not fit `cpus` CPUs, and their sum there in thousandths of a CPU. On
/// several CPUs that share a queue `cpus - 1` times the greatest share counts too (Goossens, Funk and Baruah
/// 2003). Each server has steps in order of time, and the share after them.
pub(super) fn exceeded(
    servers: &[(Vec<(u64, Share)>, Share)],
    cpus: u32,
    end: u64,
) -> Option<(u64, u64)> {
    let cpus = u128::from(cpus);
    let mut changes: Vec<(u64, usize, Share)> = Vec::new();
    let mut now: Vec<Share> = Vec::new();
    let mut greatest: BTreeMap<Share, usize> = BTreeMap::new();
    let mut sum: Share = 0;
    for (i, (steps, rest)) in servers.iter().enumerate() {
        let first = steps.first().map_or(*rest, |(_, share)| *share);
        now.push(first);
        *greatest.entry(first).or_default() += 1;
        sum += first;
        let after = steps.iter().skip(1).map(|(_, share)| *share).chain([*rest]);
        changes.extend(steps.iter().zip(after).map(|((until, _), share)| (*until, i, share)));
    }
    // Stable: a server may have several changes at an instant, of which the last one counts.
    changes.sort_by_key(|(at, ..)| *at);
    // Shares are rounded to 2^-40 of a CPU where they are added up.
    let most = CPU * cpus + ((servers.len() as u128 + 2) << 17);
    let total = |sum: Share, greatest: &BTreeMap<Share, usize>| {
        sum + greatest.last_key_value().map_or(0, |(share, _)| *share) * (cpus - 1)
    };
    // As budgets are whole, a period may have had up to a nanosecond more, for which no other server waits; so
    // an excess counts as work.
    let (mut excess, mut since, mut t) = (0u128, 0, 0);
    let mut changes = changes.into_iter().peekable();
    loop {
        let until = changes.peek().map_or(end.max(t), |(at, ..)| *at);
        let sum_here = total(sum, &greatest);
        let above = sum_here.saturating_sub(most);
        if above == 0 {
            (excess, since) = (0, until);
        } else if until - t >= SHORTEST {
            excess = excess.saturating_add(above.saturating_mul((until - t).into()));
            if excess >> 56 >= WORK.into() {
                let thousandths = u64::try_from(sum_here * 1000 / CPU).unwrap_or(u64::MAX);
                return Some((since, thousandths));
            }
        }
        changes.peek()?;
        t = until;
        while let Some((_, i, share)) = changes.next_if(|(at, ..)| *at == t) {
            let before = std::mem::replace(&mut now[i], share);
            sum = sum + share - before;
            *greatest.entry(share).or_default() += 1;
            if let Some(count) = greatest.get_mut(&before) {
                *count -= 1;
                if *count == 0 {
                    greatest.remove(&before);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a step is added up a step too early or late, or the greatest share is not counted.
    #[test]
    fn the_first_excess_is_found() {
        let half = CPU / 2;
        let one = (vec![(1_000, 0), (5_000, half)], half);
        let two = (vec![(2_000, half), (4_000, CPU * 3 / 4)], half);
        assert_eq!(exceeded(&[one.clone(), two.clone()], 1, 9_000), Some((2_000, 1_250)));
        assert_eq!(exceeded(&[one.clone(), one.clone()], 1, 9_000), None);
        assert_eq!(exceeded(&[one.clone(), two.clone()], 2, 9_000), None);
        let three = [one.clone(), one, two];
        assert_eq!(exceeded(&three, 2, 9_000), Some((2_000, 2_500)));
    }
}
