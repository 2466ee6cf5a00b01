"""Periodic tasks under EDF on one CPU, by Laxity and by SimSo: the same jobs at the same instants, and how long either
takes.

    python python/peers/edf_simso.py [SETS] [SECONDS]

Needs `laxity` and `simso`. Random sets by UUniFast (Bini and Buttazzo 2005), periods of 2 to 100 ms, all times in whole
nanoseconds, which are the cycles of SimSo.
"""

import random
import sys
import time
from typing import Dict, List, Tuple

import laxity
from simso.configuration import Configuration
from simso.core import Model

Task = Tuple[str, int, int]
Jobs = Dict[str, List[Tuple[int, int]]]
CYCLES_PER_MS = 1_000_000


def random_set(seed: int) -> List[Task]:
    """Tasks (name, period, cost) in ns; the last periods of any two differ, so that no deadlines are equal for long."""
    draw = random.Random(seed)
    count, left = draw.randint(3, 10), draw.uniform(0.4, 0.9)
    tasks = []
    for i in range(count):
        rest = left * draw.random() ** (1 / (count - i - 1)) if i < count - 1 else 0.0
        period = draw.randint(2_000_000, 100_000_000)
        tasks.append((f"t{i}", period, max(1_000, int(period * (left - rest)))))
        left = rest
    return tasks


def by_laxity(tasks: List[Task], duration: int) -> Tuple[Jobs, float]:
    """Release and end of each job that ended, and how long the run itself took."""
    scenario = laxity.Scenario.from_dict({
        "cpu": {},
        "policy": {"use": "edf"},
        "task": [{"name": name, "reservation": {"budget": f"{cost} ns", "period": f"{period} ns"},
                  "work": {"period": f"{period} ns", "cost": f"{cost} ns"}} for name, period, cost in tasks],
    })
    began = time.process_time()
    runs = scenario.simulate(duration=f"{duration} ns", record=True)
    took = time.process_time() - began
    table = runs.record("jobs")
    jobs: Jobs = {name: [] for name, _, _ in tasks}
    for name, release, end, outcome in zip(table["task"], table["release_ns"], table["end_ns"], table["outcome"]):
        if outcome != "unfinished":
            jobs[name].append((release, end))
    return jobs, took


def by_simso(tasks: List[Task], duration: int) -> Tuple[Jobs, float]:
    """The same, and how long the run itself took."""
    configuration = Configuration()
    configuration.cycles_per_ms = CYCLES_PER_MS
    configuration.duration = duration
    for i, (name, period, cost) in enumerate(tasks):
        # Half a cycle more, because it rounds down what a float has made of a whole number.
        period_ms, cost_ms = (period + 0.5) / CYCLES_PER_MS, (cost + 0.5) / CYCLES_PER_MS
        configuration.add_task(name=name, identifier=i, period=period_ms, activation_date=0, wcet=cost_ms,
                               deadline=period_ms, abort_on_miss=False)
    configuration.add_processor(name="CPU", identifier=0)
    configuration.scheduler_info.clas = "simso.schedulers.EDF_mono"
    configuration.check_all()
    model = Model(configuration)
    began = time.process_time()
    model.run_model()
    took = time.process_time() - began
    jobs: Jobs = {}
    for task in model.results.tasks.values():
        ended = [job for job in task.jobs if job.end_date is not None]
        jobs[task.name] = [(job.activation_date, job.end_date)
                           for job in ended]
    return jobs, took


def main() -> int:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    duration = round(float(sys.argv[2]) * 1e9) if len(sys.argv) > 2 else 2_000_000_000
    jobs = differing = 0
    ours = theirs = 0.0
    for seed in range(sets):
        tasks = random_set(seed)
        own, took = by_laxity(tasks, duration)
        ours += took
        other, took = by_simso(tasks, duration)
        theirs += took
        for name, _, _ in tasks:
            jobs += len(own[name])
            # A run of SimSo ends before what happens at its last instant.
            both = list(zip(own[name], other[name]))
            if abs(len(own[name]) - len(other[name])) > 1 or any(a != b for a, b in both):
                differing += 1
                where = next(((a, b) for a, b in both if a != b), (len(own[name]), len(other[name])))
                print(f"set {seed}, task {name}: {where[0]} and {where[1]}")
    print(f"{sets} sets of {duration / 1e9:g} s: {jobs} jobs, {differing} tasks with another schedule")
    print(f"CPU time of the runs: Laxity {ours:.3f} s with all jobs recorded, SimSo {theirs:.3f} s: {theirs / ours:.0f} times")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
