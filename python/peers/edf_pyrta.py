"""Admission to a link beside response times under non-preemptive EDF by pyRTA, the Python package of MPI-SWS.

    python python/peers/edf_pyrta.py [SETS]

Needs `laxity` and `response-time-analysis`. A link of one byte a nanosecond is a processor whose jobs take as many
units as their packets have bytes, and best effort is a job that comes once and is never due.

Flows are periodic with jitter, which both describe exactly, or packets of one size within a leaky bucket. Of the second
kind pyRTA knows that packets are whole; the envelope of Laxity is a line through the corners of that staircase, so there
Laxity may refuse what pyRTA admits, never the reverse. In pyRTA a job that blocks began at least one unit before, here any
time before: all sizes and times are even, so that this unit decides nothing.
"""

import random
import sys
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import laxity
from response_time_analysis import edf
from response_time_analysis.model import WCET, Deadline, FullyNonPreemptive, IdealProcessor, PeriodicWithJitter, Task, taskset

HORIZON = 1_000_000
NEVER = 1_000_000_000


@dataclass(frozen=True)
class Flow:
    """Packets of `size` bytes, one a `period`, up to `jitter` late; times in ns."""

    size: int
    period: int
    jitter: int
    deadline: int
    # A leaky bucket of so many packets, in place of the jitter.
    bucket: Optional[int] = None


Set = Tuple[int, List[Flow]]


def random_set(seed: int) -> Set:
    """The largest best-effort packet, and one to five flows; half of the sets have leaky buckets."""
    draw = random.Random(seed)

    def even(low: int, high: int) -> int:
        return 2 * draw.randint(low, high)

    count = draw.randint(1, 5)
    flows = []
    for _ in range(count):
        size = even(1, 10)
        deadline = even(size // 2, 20 * count)
        if seed % 2:
            # So that the rate is a whole number of bytes a second.
            period = size * draw.choice([count, 2 * count, 4 * count, 8 * count, 10 * count])
            period = next(p for p in range(period, 20 * period, size) if 10**9 * size % p == 0)
            bucket = draw.randint(1, 3)
            flows.append(Flow(size, period, (bucket - 1) * period, deadline, bucket))
        else:
            period = even(count * size // 2, 3 * count * size)
            jitter = even(0, period) if draw.random() < 0.5 else 0
            flows.append(Flow(size, period, jitter, deadline))
    return even(1, 10), flows


def admitted(packet: int, flows: List[Flow]) -> bool:
    """Whether Laxity admits the flows beside best-effort packets of this length."""

    def envelope(flow: Flow) -> Dict[str, Any]:
        if flow.bucket is None:
            return {"period": f"{flow.period} ns", "size": flow.size, "jitter": f"{flow.jitter} ns"}
        return {"burst": flow.bucket * flow.size, "rate": f"{10**9 * flow.size // flow.period} B/s", "packet": flow.size}

    scenario = laxity.Scenario.from_dict({
        "link": {"rate": "8 Gbit/s", "max_packet": packet},
        "policy": {"blocking": "exact"},
        "realtime": [{"name": f"flow{i}", "deadline": f"{flow.deadline} ns", "envelope": envelope(flow)}
                     for i, flow in enumerate(flows)],
    })
    return scenario.check().admitted


def in_time(packet: int, flows: List[Flow]) -> Optional[bool]:
    """Whether no response time exceeds its deadline, by pyRTA; None where it finds no bound."""
    tasks = [Task(PeriodicWithJitter(flow.period, flow.jitter), FullyNonPreemptive(WCET(flow.size)),
                  Deadline(flow.deadline)) for flow in flows]
    best_effort = Task(PeriodicWithJitter(NEVER, 0), FullyNonPreemptive(WCET(packet)), Deadline(NEVER))
    every = taskset([*tasks, best_effort])
    in_time = True
    for task, flow in zip(tasks, flows):
        bound = edf.rta(every, task, IdealProcessor(), horizon=HORIZON).response_time_bound
        if bound is None:
            return None
        in_time &= bound <= flow.deadline
    return in_time


def compare(sets: int) -> Tuple[Dict[str, int], List[str]]:
    """How many sets fall where, and descriptions of differences that nothing explains."""
    counts = {"both admit": 0, "both refuse": 0, "no bound": 0, "whole packets": 0}
    unexplained = []
    for seed in range(sets):
        packet, flows = random_set(seed)
        # A task does not interfere with its equals there, so sets with equal flows are left out.
        if len(set(flows)) < len(flows):
            continue
        laxity_admits, pyrta_admits = admitted(packet, flows), in_time(packet, flows)
        if pyrta_admits is None:
            # A busy interval without end: the load is one or more.
            counts["no bound"] += 1
        elif laxity_admits == pyrta_admits:
            counts["both admit" if laxity_admits else "both refuse"] += 1
        elif pyrta_admits and flows[0].bucket is not None:
            counts["whole packets"] += 1
        else:
            unexplained.append(f"set {seed}: Laxity {laxity_admits}, pyRTA {pyrta_admits}: {packet} {flows}")
    return counts, unexplained


def main() -> int:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    counts, unexplained = compare(sets)
    print(*unexplained, sep="\n")
    print(f"{sets} sets: " + ", ".join(f"{name} {count}" for name, count in counts.items())
          + f", unexplained {len(unexplained)}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
