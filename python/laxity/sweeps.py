"""Sweeps over the executors of `concurrent.futures`, and statistics of their results.

    laxity.sweep("sweep.toml", "results")                                # processes
    laxity.sweep("sweep.toml", "results", executor=client.get_executor())  # Dask: a client of `distributed`

A part of the dataset is computed by any free worker, from the sweep and its number alone, so the files are the same
whatever the executor, and a second call goes on with what is missing.
"""

import math
import sys
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from os import PathLike
from statistics import NormalDist, fmean, stdev
from typing import Any, Callable, Dict, Iterable, Optional, Sequence, Set, Union

from ._laxity import Sweep

__all__ = ["Interval", "interval", "paired", "sweep"]

# So many parts wait at an executor for each that it has finished lately: enough for any number of workers that a
# scheduler of Dask serves, and few enough for the memory of the client.
WAITING = 4096


def _run(sweep: Sweep, part: int) -> bytes:
    return sweep.run(part)


def _bar(done: int, parts: int) -> None:
    width = 40
    full = width * done // max(parts, 1)
    end = "\n" if done == parts else ""
    sys.stderr.write(f"\r[{'#' * full}{'.' * (width - full)}] {done}/{parts} parts{end}")
    sys.stderr.flush()


def sweep(grid: Union[str, "PathLike[str]", Dict[str, Any], Sweep], output: Union[str, "PathLike[str]"], *,
          executor: Optional[Executor] = None,
          progress: Union[bool, Callable[[int, int], None]] = False) -> Sweep:
    """Runs the parts of a sweep that the folder `output` lacks, on an executor, by default a pool of processes.

    `grid` is the file of a sweep, or a dictionary with its keys. `progress` draws a bar, or is called with the
    parts that are there and all of them. An exception of a part, or a broken pool, ends the sweep; the parts that
    are written stay, and the same call goes on.
    """
    if isinstance(grid, dict):
        grid = Sweep.from_dict(grid)
    elif not isinstance(grid, Sweep):
        grid = Sweep.read(grid)
    report: Callable[[int, int], None] = (lambda done, parts: None)
    if callable(progress):
        report = progress
    elif progress:
        report = _bar
    missing = grid.missing(output)
    report(grid.parts - len(missing), grid.parts)
    if executor is None:
        with ProcessPoolExecutor() as pool:
            _drain(grid, output, missing, pool, report)
    else:
        _drain(grid, output, missing, executor, report)
    return grid


def _drain(sweep: Sweep, output: Union[str, "PathLike[str]"], missing: Sequence[int], executor: Executor,
           report: Callable[[int, int], None]) -> None:
    numbers: "Dict[Future[bytes], int]" = {}
    ahead = iter(missing)
    done = sweep.parts - len(missing)
    try:
        while True:
            while len(numbers) < WAITING and (part := next(ahead, None)) is not None:
                numbers[executor.submit(_run, sweep, part)] = part
            if not numbers:
                return
            finished: "Set[Future[bytes]]" = wait(numbers, return_when=FIRST_COMPLETED).done
            for future in finished:
                sweep.write(output, numbers.pop(future), future.result())
                done += 1
                report(done, sweep.parts)
    finally:
        for future in numbers:
            future.cancel()


@dataclass(frozen=True)
class Interval:
    """A mean over seeds, with the confidence interval of Student's t."""

    mean: float
    low: float
    high: float
    count: int


def _t_quantile(p: float, freedom: int) -> float:
    """The quantile of Student's t, by the expansion of Abramowitz and Stegun, 26.7.5; exact for one and two."""
    if freedom == 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        return (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))
    z = NormalDist().inv_cdf(p)
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    g4 = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160
    return z + g1 / freedom + g2 / freedom**2 + g3 / freedom**3 + g4 / freedom**4


def interval(values: Iterable[float], confidence: float = 0.95) -> Interval:
    """The mean of independent values, at least two, with its confidence interval."""
    numbers = [float(value) for value in values]
    if len(numbers) < 2 or not 0 < confidence < 1:
        raise ValueError(f"{len(numbers)} values, confidence {confidence}: give at least two values, and a confidence "
                         "between 0 and 1")
    if not all(map(math.isfinite, numbers)):
        raise ValueError("a value is infinite or no number: leave such values out")
    mean = fmean(numbers)
    half = _t_quantile((1 + confidence) / 2, len(numbers) - 1) * stdev(numbers) / math.sqrt(len(numbers))
    return Interval(mean, mean - half, mean + half, len(numbers))


def paired(first: "Dict[Any, float]", second: "Dict[Any, float]", confidence: float = 0.95) -> Interval:
    """The mean of `first - second` over their common keys, which are seeds: two policies see the same arrivals under
    a seed, so the difference varies less than each."""
    common = first.keys() & second.keys()
    return interval((first[key] - second[key] for key in sorted(common)), confidence)
