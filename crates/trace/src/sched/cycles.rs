//! Cycles of threads that wake each other.

use std::collections::BTreeSet;

/// Strongly connected groups of more than one node, each sorted, in order of their first: Tarjan's
/// algorithm without recursion.
pub(super) fn groups(nodes: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let next = |node: usize| edges.range((node, 0)..(node + 1, 0)).map(|(_, to)| *to);
    let mut index = vec![usize::MAX; nodes];
    let mut low = vec![0; nodes];
    let mut open = vec![false; nodes];
    let (mut stack, mut count, mut found) = (Vec::new(), 0, Vec::new());
    for root in 0..nodes {
        if index[root] != usize::MAX {
            continue;
        }
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut enter = Some(root);
        loop {
            if let Some(node) = enter.take() {
                (index[node], low[node], open[node]) = (count, count, true);
                count += 1;
                stack.push(node);
                path.push((node, next(node).collect()));
            }
            let Some((node, rest)) = path.last_mut() else { break };
            let node = *node;
            match rest.pop() {
                Some(to) if index[to] == usize::MAX => enter = Some(to),
                Some(to) if open[to] => low[node] = low[node].min(index[to]),
                Some(_) => {}
                None => {
                    path.pop();
                    if let Some((parent, _)) = path.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                    if low[node] == index[node] {
                        let at = stack.iter().rposition(|n| *n == node).unwrap_or(0);
                        let mut group = stack.split_off(at);
                        group.iter().for_each(|n| open[*n] = false);
                        group.sort_unstable();
                        if group.len() > 1 {
                            found.push(group);
                        }
                    }
                }
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_detected() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5), (6, 0)];
        assert_eq!(groups(7, &edges.into_iter().collect()), [vec![0, 1, 2], vec![3, 4]]);
        assert!(groups(3, &[(0, 1), (1, 2)].into_iter().collect()).is_empty());
        // Deep chains need no stack.
        let chain = (0..100_000).map(|i| (i, (i + 1) % 100_000)).collect();
        assert_eq!(groups(100_000, &chain)[0].len(), 100_000);
    }
}
